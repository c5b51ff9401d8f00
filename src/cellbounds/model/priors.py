"""What somebody believes of the cells before anything is published: priors over tables.

Every prior here gives a table the product of one weight for each cell,

    w(n) = a (a + 1) ... (a + n - 1) / n! * f**n    or    f**n / n!,

with a shape a and a factor f of its own for each cell. A count that is Poisson with a Gamma rate
has the first kind (the rate is integrated out: a negative binomial), a Poisson or multinomial
count the second. The uniform prior is the first kind with a = f = 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.model.likelihoods import Law
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray, ScaledFloats, normalised, rounded
from cellbounds.statements.numbers import exact_number

PRECISION = 128
"""Bits in which weights are computed before they are rounded to doubles."""

MOST_WEIGHTS = 10_000_000
"""Weights that are held at once: some hundred megabytes with what sums make of them."""

DIGITS = 50
"""Elementary steps that one weight in many digits costs; those of a uniform prior cost one."""

CHUNK = 1 << 16
"""Weights in many digits at a time: they take ten times the room of doubles."""

Kind = tuple[Fraction | None, Fraction]
"""The shape (None: no shape, the second kind) and the factor of one cell."""

FLAT: Kind = (Fraction(1), Fraction(1))
"""The same weight for every count."""

AnyKind = Kind | Law
"""The weight of a cell, or of a sum of cells that figures made by chance tell of."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The weights of all cells of a domain, in its order (flat).

    `needs_total` says that they mean what they should only if N is known. At most `most` weights
    are kept, and `chunk` are made at a time.
    """

    kinds: tuple[Kind, ...]
    needs_total: bool = False
    most: int = MOST_WEIGHTS
    chunk: int = CHUNK
    _made: dict[tuple[AnyKind, int, int], ScaledFloats] = field(default_factory=dict, repr=False)

    @property
    def uniform(self) -> bool:
        """Whether every table has the same weight."""
        return all(shape == 1 and factor == 1 for shape, factor in self.kinds)

    def sequence(self, cell: int, most: int, effort: float = math.inf) -> ScaledFloats:
        """The weights of the counts 0 to `most` of one cell, each to one rounding."""
        return self.sequence_of(self.kinds[cell], most, effort)

    def sequence_of(self, kind: Kind, most: int, effort: float = math.inf) -> ScaledFloats:
        """The weights of the counts 0 to `most` of a kind of cell.

        Raises
        ------
        TooMuchWork
            If they are too many for the memory, or would take more steps than the effort.
        """
        return self.between(kind, 0, most, effort)

    def between(self, kind: AnyKind, low: int, high: int, effort: float = math.inf) -> ScaledFloats:
        """The weights of the counts from `low` to `high`, as multiples of the weight of `low`.

        All are zero if that is zero; but those of a law are as they are. Raises as `sequence_of`.
        """
        key = (kind, low, high)
        weights = self._made.get(key)
        if weights is None:
            size = high - low + 1
            check_weights(size, weight_steps(kind, size), effort)
            if size + sum(len(made.mantissa) for made in self._made.values()) > self.most:
                self._made.clear()
            weights = self._made[key] = _sequence(kind, low, high, self.chunk)
        return weights

    def scattered(self, kind: Kind, counts: Sequence[int]) -> ScaledFloats:
        """The weights of some counts of any size, as multiples of the weight of the first."""
        if kind[1] == 0:
            return normalised(np.array([float(count == 0) for count in counts]))
        with _many_digits():
            start = _logarithm(kind, counts[0])
            return rounded([(_logarithm(kind, count) - start).exp() for count in counts])

    def log_unit(self, kind: AnyKind, low: int) -> float:
        """The logarithm of what `between` gives multiples of."""
        return 0.0 if isinstance(kind, Law) else self.log_weight_of(kind, low)

    def exact(self, cell: int, count: int, low: int = 0) -> Fraction:
        """The weight of a count as a fraction of the weight of `low`, which is no larger."""
        shape, factor = self.kinds[cell]
        weight = factor ** (count - low) / math.perm(count, count - low)
        if shape is None:
            return weight
        top, bottom = shape.numerator, shape.denominator
        rising = math.prod(range(top + low * bottom, top + count * bottom, bottom))
        return weight * Fraction(rising, bottom ** (count - low))

    def log_weight(self, cell: int, count: int) -> float:
        """The logarithm of one weight, for counts of any size; minus infinity for zero."""
        return self.log_weight_of(self.kinds[cell], count)

    def log_weight_of(self, kind: Kind, count: int) -> float:
        """The same for a kind of cell."""
        if count == 0:
            return 0.0
        if kind[1] == 0:
            return -math.inf
        with _many_digits():
            return float(_logarithm(kind, count))

    def logs(self, tables: IntArray) -> FloatArray:
        """The logarithms of the weights of whole tables (tables, cells), up to rounding."""
        from scipy.special import gammaln, xlogy

        counts = np.asarray(tables, dtype=np.float64)
        factors = np.array([float(factor) for _, factor in self.kinds])
        logs_of_cells = xlogy(counts, factors) - gammaln(counts + 1)
        rising = [cell for cell, (shape, _) in enumerate(self.kinds) if shape is not None]
        shapes = np.array([float(self.kinds[cell][0] or 0) for cell in rising])
        logs_of_cells[:, rising] += gammaln(counts[:, rising] + shapes) - gammaln(shapes)
        return np.asarray(logs_of_cells.sum(axis=1))

    def merged(self, cells: Sequence[int]) -> Kind | None:
        """The kind of the sum of some cells, or None if it is of neither kind."""
        shapes = {self.kinds[cell][0] is None for cell in cells}
        factors = {self.kinds[cell][1] for cell in cells}
        if shapes == {True}:
            return None, sum((self.kinds[cell][1] for cell in cells), Fraction(0))
        if shapes == {False} and len(factors) == 1:
            total = sum((self.kinds[cell][0] or Fraction(0) for cell in cells), Fraction(0))
            return total, factors.pop()
        return None


def weight_steps(kind: AnyKind, size: int) -> float:
    """What it costs to make so many weights of a kind, in elementary steps."""
    each = DIGITS * len(kind.figures) if isinstance(kind, Law) else DIGITS
    return float(size) if kind == FLAT else each * float(size)


def check_weights(size: int, steps: float, effort: float) -> None:
    """Refuse to make weights before room is taken for them.

    Raises
    ------
    TooMuchWork
        Saying how many they are, the limit and the remedy.
    """
    if size > MOST_WEIGHTS:
        raise TooMuchWork(
            f"the cells may hold about {float(size):.1e} different counts, each with a weight of "
            f"its own, and {MOST_WEIGHTS:.0e} weights are held at most; publish more, or draw a "
            "sample instead"
        )
    if steps > effort:
        raise TooMuchWork(
            f"the weights of about {float(size):.1e} counts would take {steps:.1e} steps, and the "
            f"limit is {effort:.1e}; raise effort=, or draw a sample instead"
        )


@contextmanager
def _many_digits() -> Iterator[None]:
    """Have flint compute in the precision of weights."""
    from flint import ctx

    before, ctx.prec = ctx.prec, PRECISION
    try:
        yield
    finally:
        ctx.prec = before


def _ball(number: Fraction) -> Any:
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))


def _logarithm(kind: Kind, count: int) -> Any:
    """The logarithm of a positive weight, in the digits that are set."""
    from flint import arb

    shape, factor = kind
    log = count * _ball(factor).log() - arb(count + 1).lgamma()
    if shape is None:
        return log
    return log + (_ball(shape) + count).lgamma() - _ball(shape).lgamma()


def law_weights(law: Law, counts: Iterable[int]) -> ScaledFloats:
    """The weights of some counts by the figures that were made of them, each to one rounding."""
    from flint import arb

    with _many_digits():
        made = []
        for count in counts:
            weight = arb(1)
            for mechanism, shown in law.figures:
                base, power = mechanism.chance(count, shown)
                weight *= _ball(base) ** power
            made.append(weight)
        return rounded(made)


def _sequence(kind: AnyKind, low: int, high: int, chunk: int) -> ScaledFloats:
    if isinstance(kind, Law):
        return law_weights(kind, range(low, high + 1))
    shape, factor = kind
    if shape == 1 and factor == 1:
        return normalised(np.ones(high - low + 1))
    if factor == 0:
        return normalised(np.arange(low, high + 1) == 0)
    from flint import arb

    with _many_digits():
        ratio, grows = _ball(factor), None if shape is None else _ball(shape)
        last, pieces = arb(1), []
        for begin in range(low, high + 1, chunk):
            made = [last]
            for n in range(begin, min(begin + chunk, high + 1)):
                step = ratio if grows is None else ratio * (grows + n)
                made.append(made[-1] * step / (n + 1))
            last = made.pop()
            pieces.append(rounded(made))
        return ScaledFloats(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every consistent table is as likely as every other.

    Examples
    --------
    >>> Uniform().weights(Domain({"sex": ["f", "m"]})).uniform
    True
    """

    name = "uniform over tables"

    def weights(self, domain: Domain) -> Weights:
        """One for every count of every cell."""
        _check_listable(domain)
        return Weights(((Fraction(1), Fraction(1)),) * domain.size)


@dataclass(frozen=True, slots=True)
class Multinomial:
    """N records fall into the cells independently, with fixed probabilities (equal by default).

    Given margins this is the (generalised) hypergeometric law. Probabilities may be given as any
    positive numbers in the shape of the domain; only their ratios matter.

    Examples
    --------
    >>> Multinomial(["1/4", "3/4"]).weights(Domain({"sex": ["f", "m"]})).kinds[1]
    (None, Fraction(3, 4))
    """

    probabilities: Any = None
    name = "multinomial"

    def weights(self, domain: Domain) -> Weights:
        """Factors in the ratio of the probabilities."""
        given = 1 if self.probabilities is None else self.probabilities
        factors = _numbers(given, domain, "Multinomial probabilities", zero=True)
        if not any(factors):
            raise InvalidInput("Multinomial probabilities are all 0; give one that is positive")
        return Weights(tuple((None, factor) for factor in factors), needs_total=True)


@dataclass(frozen=True, slots=True)
class Poisson:
    """Cells are independent Poisson counts with given means (one number: the same for all).

    Examples
    --------
    >>> Poisson("2.5").weights(Domain({"sex": ["f", "m"]})).kinds[0]
    (None, Fraction(5, 2))
    """

    means: Any
    name = "Poisson with given means"

    def weights(self, domain: Domain) -> Weights:
        """Factors that are the means."""
        factors = _numbers(self.means, domain, "Poisson means", zero=True)
        return Weights(tuple((None, factor) for factor in factors))


@dataclass(frozen=True, slots=True)
class GammaPoisson:
    """Poisson cells whose means are Gamma(shape, scale), independent; document 002's model.

    Each of the two is one number, or an array in the shape of the domain. The prior mean of a
    cell is shape times scale.

    Examples
    --------
    >>> GammaPoisson(193, "1/4").weights(Domain({"sex": ["f", "m"]})).kinds[0]
    (Fraction(193, 1), Fraction(1, 5))
    """

    shape: Any
    scale: Any
    name = "Poisson with Gamma means"

    def weights(self, domain: Domain) -> Weights:
        """Negative binomial weights: the means are integrated out."""
        shapes, scales = self.parameters(domain)
        return Weights(
            tuple((shape, scale / (1 + scale)) for shape, scale in zip(shapes, scales, strict=True))
        )

    def parameters(self, domain: Domain) -> tuple[list[Fraction], list[Fraction]]:
        """Shape and scale of each cell."""
        return (
            _numbers(self.shape, domain, "GammaPoisson shape"),
            _numbers(self.scale, domain, "GammaPoisson scale"),
        )


Belief = Uniform | Multinomial | Poisson | GammaPoisson

NAMED: Mapping[str, Belief] = {
    "uniform": Uniform(),
    "multinomial": Multinomial(),
    "hypergeometric": Multinomial(),
}
"""Priors that need nothing but their name."""


def belief_of(prior: Belief | str) -> Belief:
    """A prior, or the one of a name."""
    if isinstance(prior, str) and prior in NAMED:
        return NAMED[prior]
    if isinstance(prior, Belief):
        return prior
    raise InvalidInput(
        f"prior {prior!r} is not known; give one of {', '.join(map(repr, NAMED))}, or "
        "cb.priors.Multinomial(probabilities), cb.priors.Poisson(means), "
        "cb.priors.GammaPoisson(shape, scale)"
    )


def _check_listable(domain: Domain) -> None:
    if domain.size > DENSE_LIMIT:
        raise TooMuchWork(
            f"a prior has a weight for each of {domain.size} cells, and up to {DENSE_LIMIT} are "
            "listed; state the release over fewer variables: "
            "Release(release.domain.project([...]), release.statements), or read a table of fewer "
            "(variables=[...], --variables)"
        )


def _numbers(given: Any, domain: Domain, what: str, *, zero: bool = False) -> list[Fraction]:
    """One exact number for each cell of a domain, flat."""
    _check_listable(domain)
    listed = np.array(given, dtype=object)
    if listed.ndim == 0:
        listed = np.full(domain.shape, listed.item(), dtype=object)
    if listed.shape != domain.shape:
        raise InvalidInput(
            f"{what} have the shape {listed.shape}; give one number, or an array in the shape of "
            f"the table, {domain.shape}"
        )
    seen: dict[Any, Fraction] = {}
    for value in listed.flat:
        if value in seen:
            continue
        number = exact_number(value, what)
        if number < 0 or (number == 0 and not zero):
            rule = "at least 0" if zero else "above 0"
            raise InvalidInput(f"{what} contain {value}; give numbers {rule}")
        seen[value] = number
    return [seen[value] for value in listed.flat]
