"""Exact conditional tests: how often tables with the same margins lie as far from a model.

Under a log-linear model the counts, given the model's margins, have a law without parameters:
each table of the fibre has a weight of 1 / prod n! (the hypergeometric law). So the p-value of any
statistic is a sum over the fibre. ``docs/theory/exact-tests.md`` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput, TooMuchWork, UnsupportedRelease
from cellbounds.inference.chooser import checked_effort, exact_fibre
from cellbounds.inference.hypergeometric import matched_tables
from cellbounds.inference.posterior import sample, trusted
from cellbounds.model.constraints import violations
from cellbounds.model.likelihoods import factors_of
from cellbounds.model.priors import Multinomial
from cellbounds.model.structure import gather
from cellbounds.results.draws import Draws
from cellbounds.results.evidence import Evidence
from cellbounds.runtime.arguments import checked_generator, checked_whole
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.statements import Release, publish
from cellbounds.utility.display import Section, Shown, picked
from cellbounds.utility.distances import occupied, summed
from cellbounds.utility.loglinear import Margins, fit_loglinear, generators, model_text
from cellbounds.utility.orderings import (
    Ordering,
    improbability,
    likelihood_ratio,
    of_tables,
    pearson,
)

Statistic = str | Callable[[Table], Any]

STATISTICS = ("chi-squared", "G", "probability")

MOST_LISTED = 200_000
"""Tables up to which every one is asked."""

MOST_NUMBERS = 20_000_000
"""Counts of all of them together."""

LISTING_EFFORT = 50_000_000
"""Steps that may be spent before the first table is listed."""

MOST_DRAWS = 20_000

TOLERANCE, PASSES = 1e-13, 20_000
"""How closely expected counts without a closed form are fitted."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExactTest(Shown):
    """How likely a table as far from a model as the observed one is, given what is known.

    Attributes
    ----------
    given
        What all tables share: a model's margins, or a release.
    statistic, value
        The statistic, and what it is for the observed table.
    p
        The probability of the tables at least as far from the model.
    exact
        The same as a fraction, if every table was asked; None if tables were drawn.
    tied
        The probability, included in `p`, of the tables just as far as the observed one.
    error
        The Monte Carlo standard error of `p`; 0 if it is exact.
    tolerance
        Statistics closer than this part of themselves count as tied; 0 if ties are told exactly.
    tables
        How many tables there are, if all were asked; else None.
    draws
        How many were drawn, 0 if all were asked.
    evidence, method
        ``EXACT`` or ``ESTIMATED``, and by what.
    notes
        What to know before reading the numbers.
    """

    given: str
    statistic: str
    value: float
    p: float
    exact: Fraction | None
    tied: float
    error: float
    tolerance: float
    tables: int | None
    draws: int
    evidence: Evidence
    method: str
    notes: tuple[str, ...] = ()

    def entries(self) -> dict[str, Any]:
        """Plain values."""
        plain = picked(self, *(field.name for field in fields(self)))
        plain["exact"] = None if self.exact is None else str(self.exact)
        return {**plain, "evidence": self.evidence.name}

    def _title(self) -> str:
        return f"exact conditional test given {self.given}"

    def _sections(self) -> list[Section]:
        over = f"all {self.tables:,} tables" if self.tables else f"{self.draws:,} tables drawn"
        header = ["statistic", "value", "p", "error", "of which tied"]
        row = [self.statistic, self.value, self.p, self.error, self.tied]
        title = f"{self._title()}\n{over}: {self.method}"
        return [Section(title, header, [row], frozenset({"statistic"}))]


@budgeted
def exact_test(
    table: Table,
    given: Margins | Release,
    statistic: Statistic = "chi-squared",
    *,
    most_tables: int = MOST_LISTED,
    draws: int = MOST_DRAWS,
    rng: int | np.random.Generator = 0,
    effort: float | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> ExactTest:
    """Test a log-linear model given its margins, exactly; or any statistic given a release.

    Of all tables with the same margins, each with its probability under the model, how many lie
    at least as far from it? Tables are all asked if they are few, in exact arithmetic; otherwise
    they are drawn, independently for decomposable models and by a Markov chain from the observed
    table for others, and the error of the p-value is given with it.

    Parameters
    ----------
    table
        The observed counts; variables that a model does not name are summed over.
    given
        The model, ``"[A,B][B,C]"`` or a list of lists of names; or a release that the table fits:
        then records are taken to fall into all cells alike, given what was released.
    statistic
        ``"chi-squared"`` (Pearson's), ``"G"`` (likelihood ratio), ``"probability"`` (Fisher,
        Freeman and Halton: less probable tables are further), or a function of a
        :class:`Table`, the larger the further. Whole numbers and fractions that it gives are
        compared exactly, floating-point numbers count as tied if they differ by less than 1e-7
        of themselves; so does Pearson's statistic of models that are not decomposable.
    most_tables
        How many tables are asked one by one.
    draws, rng
        Otherwise: how many are drawn, with which seed or generator. The p-value is (1 + those as
        far) / (1 + draws), which is valid for any number of independent draws.
    effort
        Steps that exact work may take (2e9 by default).
    budget, seconds
        What drawing may cost: a :class:`Budget`, or seconds alone.

    References
    ----------
    Fisher 1935; Freeman and Halton, Biometrika 38 (1951) 141-149; Agresti, Statistical Science 7
    (1992) 131-153; Diaconis and Sturmfels, Annals of Statistics 26 (1998) 363-397.

    Examples
    --------
    Fisher's lady tasting tea: three of her four cups of each kind were right.

    >>> import cellbounds as cb
    >>> cups = cb.Domain({"poured": ["milk", "tea"], "said": ["milk", "tea"]})
    >>> tasting = cb.Table(cups, [[3, 1], [1, 3]])
    >>> cb.utility.exact_test(tasting, "[poured][said]", "probability").exact
    Fraction(17, 35)
    >>> right = lambda table: int(table.counts[0, 0])
    >>> cb.utility.exact_test(tasting, "[poured][said]", right).exact  # one-sided
    Fraction(17, 70)

    Whether a drug acts alike for both statuses (no interaction of all three):

    >>> trial = cb.datasets.read("analgesic")
    >>> model = "[status,treatment][status,response][treatment,response]"
    >>> print(cb.utility.exact_test(trial, model, "G"))
    exact conditional test given [status,treatment][status,response][treatment,response]
    all 19 tables: every table listed
    statistic   value       p  error  of which tied
    G          0.3849  0.7327      0         0.2256
    """
    most = checked_whole("most_tables", most_tables, 0)
    size = checked_whole("draws", draws, 100)
    steps, generator = checked_effort(effort), checked_generator(rng)
    release, observed, model = _fibre(occupied(table, "the table"), given)
    notes: list[str] = []
    ordering = _ordering(observed, release, model, statistic, steps, notes)
    text = (
        model_text(model)
        if model
        else ", ".join(statement.notation for statement in release.statements)
    )
    listed = _listed(release, most, min(steps, LISTING_EFFORT))
    flat = observed.counts.ravel().astype(np.int64)
    about = (text, ordering.name, ordering.value(flat))
    if listed is not None:
        p, tied = _shares(listed, *ordering.compared(listed, flat))
        return ExactTest(
            *about, float(p), p, float(tied), 0.0, ordering.tolerance, len(listed), 0,
            Evidence.EXACT, "every table listed", tuple(notes),
        )  # fmt: skip
    drawn = sample(
        release, size, prior=Multinomial(), rng=generator, effort=effort, start=observed,
        budget=budget,
    )  # fmt: skip
    tables = drawn.counts.reshape(len(drawn), -1)
    p_value, tied_share, error = _estimated(drawn, *ordering.compared(tables, flat))
    connected = (f"connected: {drawn.connected}",) if drawn.connected else ()
    return ExactTest(
        *about, p_value, None, tied_share, error, ordering.tolerance, None, len(drawn),
        Evidence.ESTIMATED, drawn.method, (*notes, *connected, *drawn.notes),
    )  # fmt: skip


def _fibre(
    table: Table, given: Margins | Release
) -> tuple[Release, Table, tuple[tuple[str, ...], ...]]:
    """What all tables share, the observed one, and the margins if they are those of a model."""
    if isinstance(given, Release):
        broken = violations(table, given)
        if broken:
            raise InvalidInput(f"the table does not fit what is given: {broken[0]}")
        if factors_of(given):
            raise UnsupportedRelease(
                "figures that were made by chance have a law of their own, which a test given them "
                "would mix up with the model's; leave them out"
            )
        margins = [
            statement
            for statement in given.statements
            if statement.fixed_counts(given.domain) is not None
        ]
        exact = len(margins) == len(given.statements) and not given.domain.groupings
        return (
            given,
            table,
            tuple(margin.variables for margin in margins if margin.variables) * exact,
        )
    model = generators(table.domain, given)
    names = {name for margin in model for name in margin}
    order = [*table.domain.names, *table.domain.groupings]
    part = summed(table, [name for name in order if name in names])
    return publish(part, *(model_text([margin]) for margin in model)), part, model


def _ordering(
    observed: Table,
    release: Release,
    model: tuple[tuple[str, ...], ...],
    statistic: Statistic,
    effort: float,
    notes: list[str],
) -> Ordering:
    flat = observed.counts.ravel()
    if callable(statistic):
        return of_tables(statistic, observed.domain, flat)
    if statistic not in STATISTICS:
        raise InvalidInput(
            f"statistic={statistic!r}; give one of {', '.join(map(repr, STATISTICS))}, or a "
            "function of a table"
        )
    if statistic == "probability":
        return improbability()
    if not model:
        raise InvalidInput(
            f"statistic={statistic!r} measures the distance from a log-linear model, and what is "
            "given is not made of exact margins; give statistic='probability' or a function"
        )
    matched = matched_tables(gather(release), Multinomial().weights(release.domain), effort)
    if matched is not None:
        fractions = matched.means()
        expected = np.array([float(mean) for mean in fractions])
    else:
        fit = fit_loglinear(observed, model, tolerance=TOLERANCE, passes=PASSES)
        fractions, expected = None, fit.fitted.ravel()
        notes += fit.notes
    if statistic == "G":
        return likelihood_ratio(expected, flat)
    return pearson(expected, fractions, observed.total)


def _listed(release: Release, most: int, effort: float) -> IntArray | None:
    """Every table of the fibre, if they are few."""
    cells = release.domain.size
    try:
        fibre = exact_fibre(release, effort)
        if fibre.count() > min(most, MOST_NUMBERS // cells):
            return None
        return np.array(list(islice(fibre.listed(), most)), dtype=np.int64).reshape(-1, cells)
    except TooMuchWork:
        return None


def _shares(tables: IntArray, *chosen: Any) -> list[Fraction]:
    """The probability of some of the tables, exactly, each weighing 1 / prod n!."""
    weights = np.ones(len(tables), dtype=object)
    for counts in tables.T:
        most = int(counts.max())
        # Multiples of 1 / most!, so that they are whole.
        perms = [math.perm(most, most - n) for n in range(most + 1)]
        weights = weights * np.array(perms, dtype=object)[counts]
    whole = int(weights.sum())
    return [Fraction(int(weights[places].sum()), whole) for places in chosen]


def _estimated(drawn: Draws, further: Any, tied: Any) -> tuple[float, float, float]:
    """The p-value by draws, that of ties, and the error of the first."""
    p = (1 + int(further.sum())) / (1 + len(further))
    independent = math.sqrt(p * (1 - p) / len(further))
    dependent = float(trusted(drawn, further[:, None].astype(np.int64)).error[0])
    # Not 0 even if none of the draws was as far.
    return p, float(tied.mean()), max(independent, dependent)
