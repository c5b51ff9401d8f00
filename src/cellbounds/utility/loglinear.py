"""Hierarchical log-linear models: margins, parameters, iterative proportional fitting; two fits."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arguments import checked_whole
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements.notation import names_text, parse
from cellbounds.text import label_keys
from cellbounds.utility.display import Section, Shown, columns_of, picked
from cellbounds.utility.distances import as_floats, both_occupied, distance_of, occupied, summed

Margins = str | Iterable[str | Iterable[str]]
"""A model: ``"[A,B][B,C]"``, ``["[A,B]", "[B,C]"]`` or ``[["A", "B"], ["B", "C"]]``."""

Model = tuple[tuple[str, ...], ...]
"""The largest margins of a model."""

MOST_PARAMETERS = 1500
"""Parameters up to which they are counted among the cells that may be occupied."""

PRIME = 2**61 - 1
"""Ranks are found modulo this; it would have to divide a determinant to mislead."""

BLOCK = 4096
"""Cells whose part of the design is held at once."""

_PIECES = re.compile(r'\s*((?:"[^"]*(?:"|$)|[^"\]])*\]?)')
"""The bracketed parts of a model; brackets in quotes belong to a name."""


def generators(domain: Domain, margins: Margins) -> Model:
    """The largest margins of a model, in the order given."""
    wanted: list[tuple[str, ...]] = []
    parts = filter(None, _PIECES.findall(margins)) if isinstance(margins, str) else margins
    for part in parts if isinstance(parts, Iterable) else [None]:
        if not isinstance(part, Iterable):
            raise InvalidInput(
                f"the model is {margins!r}; write it like '[A,B][B,C]', or list its margins as "
                "[['A', 'B'], ['B', 'C']]"
            )
        names = _margin(part) if isinstance(part, str) else tuple(part)
        if not names:
            raise InvalidInput(f"the model {margins!r} has a margin of no variables; name them")
        wanted.append(domain.distinct(names))
    if not wanted:
        raise InvalidInput(f"the model {margins!r} names no margin; write it like '[A,B][B,C]'")
    sets = [frozenset(names) for names in wanted]
    return tuple(
        names
        for place, names in enumerate(wanted)
        if not any(sets[place] < other for other in sets) and sets[place] not in sets[:place]
    )


def _margin(text: str) -> tuple[str, ...]:
    spoken = parse(text)
    if not spoken.is_margin or spoken.base is not None or spoken.below is not None:
        raise InvalidInput(
            f"{text!r} is not a margin of a model; write margins without anything after them, "
            "like '[A,B][B,C]'"
        )
    return spoken.responses


def model_text(margins: Sequence[Sequence[str]]) -> str:
    """A model in the notation."""
    return "".join(f"[{names_text(names)}]" for names in margins)


def _terms(domain: Domain, margins: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Every set of variables that a model has parameters for, as axes; the constant first."""
    terms = {
        axes
        for names in margins
        for size in range(len(names) + 1)
        for axes in itertools.combinations(sorted(domain.axes(names)), size)
    }
    return sorted(terms, key=lambda axes: (len(axes), axes))


def count_parameters(domain: Domain, margins: Sequence[Sequence[str]]) -> int:
    """The parameters of a model, the constant included, if no cell is left out.

    A term has the product over its variables of their numbers of levels less one; a model has
    the terms that are contained in one of its margins.
    """
    shape = domain.shape
    return sum(math.prod(shape[axis] - 1 for axis in axes) for axes in _terms(domain, margins))


def _design(shape: Sequence[int], terms: Sequence[Sequence[int]], cells: np.ndarray) -> FloatArray:
    """Columns of zeros and ones: whether a cell has given levels, none of them the first."""
    ones = np.ones((len(cells), 1))
    levels = [cells[:, [axis]] == np.arange(1, size) for axis, size in enumerate(shape)]
    blocks = []
    for axes in terms:
        block = ones
        for axis in axes:
            block = (block[:, :, None] * levels[axis][:, None, :]).reshape(len(cells), -1)
        blocks.append(block)
    return np.hstack(blocks)


TESTS = ("statistic", "value", "degrees", "p")


class Tested(Shown):
    """What results of tests have in common: two statistics with their p-values."""

    __slots__ = ()

    chi_squared: float
    chi_squared_p: float
    g: float
    g_p: float
    degrees: int

    @property
    def statistics(self) -> list[tuple[str, float, float]]:
        """Each statistic with its value and its p-value."""
        return [("chi-squared", self.chi_squared, self.chi_squared_p), ("G", self.g, self.g_p)]

    def _lines(self) -> list[tuple[str, float, int | None, float | None]]:
        return [(name, value, self.degrees, p) for name, value, p in self.statistics]

    def _sections(self) -> list[Section]:
        return [Section(self._title(), TESTS, self._lines(), frozenset({"statistic"}))]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoglinearFit(Tested):
    """A log-linear model fitted to a table by maximum likelihood.

    Attributes
    ----------
    margins
        The margins that the fit shares with the table.
    domain
        The variables of the model; the table was summed over the others.
    fitted
        The expected counts, an array over `domain`.
    chi_squared, g
        Pearson's statistic, and twice the log-likelihood ratio to the table itself.
    chi_squared_p, g_p
        Their p-values, from the chi-squared distribution.
    degrees, parameters
        Cells that may be occupied less parameters, and the parameters (the constant included).
    aic, bic
        ``g - 2 degrees`` and ``g - log(N) degrees``: zero for the table itself, the smaller the
        better.
    passes, error, converged
        How often all margins were fitted, the largest error of a margin before the last pass
        (relative to the margin, in people below one), and whether that met the tolerance.
    notes
        What to know before reading the numbers.
    """

    margins: tuple[tuple[str, ...], ...]
    domain: Domain
    fitted: FloatArray
    chi_squared: float
    chi_squared_p: float
    g: float
    g_p: float
    degrees: int
    parameters: int
    aic: float
    bic: float
    passes: int
    error: float
    converged: bool
    notes: tuple[str, ...]

    @property
    def terms(self) -> FloatArray:
        """The parameters, relative to the first level of every variable, over `domain`.

        At a cell stands the parameter of those of its levels that are not the first: a log odds
        ratio if they are two, the constant at the first cell. NaN where a fitted count of zero
        leaves it undefined; terms outside of the model are zero but for rounding.
        """
        # A fitted count of zero has no logarithm; whatever needs it is undefined.
        logs = np.log(np.where(self.fitted > 0, self.fitted, math.nan))
        for axis in range(logs.ndim):
            first = logs.take([0], axis=axis)
            others = logs.take(range(1, logs.shape[axis]), axis=axis)
            logs = np.concatenate([first, others - first], axis=axis)
        return logs

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: labels and fitted counts."""
        keys = label_keys(self.domain.names, ("fitted",))
        labels = zip(*self.domain.cells(), strict=True)
        columns = dict(zip(keys.values(), map(list, labels), strict=True))
        return frame_of({**columns, "fitted": self.fitted.ravel().tolist()}, backend)

    def entries(self) -> dict[str, Any]:
        """Plain values: how well the model fits."""
        return {
            "model": model_text(self.margins),
            **picked(self, *(field.name for field in fields(self)[3:])),  # but for the arrays
        }

    def _title(self) -> str:
        return f"log-linear model {model_text(self.margins)}"

    def _lines(self) -> list[tuple[str, float, int | None, float | None]]:
        criteria = [("AIC", self.aic, None, None), ("BIC", self.bic, None, None)]
        return [*Tested._lines(self), *criteria]

    def __repr__(self) -> str:
        return f"<{self._title()}: {self.degrees} degrees of freedom>"


def fit_loglinear(
    table: Table, margins: Margins, *, tolerance: float = 1e-9, passes: int = 1000
) -> LoglinearFit:
    """Fit a hierarchical log-linear model to a table by iterative proportional fitting.

    The fit is the table with the given margins that has no interaction beyond them: the maximum
    likelihood estimate for Poisson and for multinomial counts. Decomposable models need two
    passes. Structural zeros stay empty; cells behind a margin of zero are empty in the fit, and
    neither they nor the parameters that only they tell apart count for the degrees of freedom.

    Parameters
    ----------
    table
        Counts; variables that the model does not name are summed over.
    margins
        The model: ``"[A,B][B,C]"``, or a list of lists of names.
    tolerance
        The largest error of a margin that is accepted, relative to the margin (in people if the
        margin is below one).
    passes
        Passes after which fitting stops; the result then is marked as not converged, and its
        notes say so. That happens if the estimate lies on the boundary (a cell tends to zero
        though none of its margins is).

    Examples
    --------
    >>> from cellbounds import datasets
    >>> from cellbounds.utility import fit_loglinear
    >>> trial = datasets.read("analgesic")
    >>> fit = fit_loglinear(trial, "[status,response][treatment,response]")
    >>> print(fit)
    log-linear model [status,response][treatment,response]
    statistic     value  degrees       p
    chi-squared  0.3836        2  0.8255
    G            0.3863        2  0.8244
    AIC          -3.614
    BIC          -10.14
    >>> fit.fitted.round(2).tolist()[0]
    [[14.13, 38.0], [22.87, 31.0]]
    """
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not tolerance > 0:
        raise InvalidInput(f"tolerance={tolerance!r}; give a positive number, such as 1e-9")
    checked_whole("passes", passes)
    model = generators(occupied(table, "the table").domain, margins)
    named = {name for names in model for name in names}
    own = [name for name in table.domain.names if name in named]
    derived = [name for name in table.domain.groupings if name in named]
    part = summed(table, [*own, *derived])
    counts = as_floats(part)
    axes = [part.domain.axes(names) for names in model]
    # Cells of which no margin in the model is zero.
    occupied_cells = reduce(np.logical_and, [_sums(counts, own) > 0 for own in axes])
    live = np.asarray(~part.structural & occupied_cells, dtype=bool)
    fitted, done, error = _proportional(counts, axes, live, tolerance, passes)
    parameters, notes = _parameters(part, model, live)
    degrees = int(live.sum()) - parameters
    if error > tolerance:
        notes.append(
            f"not converged: after {done} passes a margin was still off by {error:.2g}; the "
            "estimate may lie on the boundary, where cells tend to zero, and the degrees of "
            "freedom would be fewer"
        )
    tests = goodness(counts, fitted, degrees)
    aic, bic = (tests[2] - factor * degrees for factor in (2, math.log(part.total)))
    size, how = (degrees, parameters, aic, bic), (done, error, error <= tolerance)
    return LoglinearFit(model, part.domain, fitted, *tests, *size, *how, tuple(notes))


def goodness(
    counts: FloatArray, expected: FloatArray, degrees: int
) -> tuple[float, float, float, float]:
    """Pearson's statistic and its p-value, the G statistic and its p-value."""
    from scipy.special import chdtrc, kl_div

    possible = expected > 0
    seen, fitted = counts[possible], expected[possible]
    chi_squared = float(np.sum((seen - fitted) ** 2 / fitted))
    # Each term is at least zero, unlike those of the usual sum of n log(n/m): nothing cancels.
    g = 2 * float(np.sum(kl_div(seen, fitted)))
    if not degrees:
        return chi_squared, 1.0, g, 1.0
    return chi_squared, float(chdtrc(degrees, chi_squared)), g, float(chdtrc(degrees, g))


def _sums(values: FloatArray, own: tuple[int, ...]) -> FloatArray:
    """Sums over all axes but `own`, which stay where they are.

    One axis after the other: the first sums are long and leave little, which is several times
    faster than numpy's sum over many short axes at once.
    """
    for axis in range(values.ndim):
        if axis not in own:
            values = values.sum(axis=axis, keepdims=True)
    return values


def _proportional(
    counts: FloatArray, axes: list[tuple[int, ...]], kept: BoolArray, tolerance: float, passes: int
) -> tuple[FloatArray, int, float]:
    """Scale a table of ones to each margin in turn, until none of them moves any more."""
    targets = [_sums(counts, own) for own in axes]
    fitted = kept.astype(np.float64)
    error, done = math.inf, 0
    while error > tolerance and done < passes:
        error = 0.0
        done += 1
        for own, target in zip(axes, targets, strict=True):
            now = _sums(fitted, own)
            error = max(error, float(np.max(np.abs(now - target) / np.maximum(target, 1))))
            fitted *= np.divide(target, now, out=np.zeros_like(now), where=now > 0)
    return fitted, done, error


def _parameters(part: Table, model: Model, kept: BoolArray) -> tuple[int, list[str]]:
    """The parameters of a model that the cells in `kept` tell apart, and what to say of them.

    The rank of the design is that of its matrix of products, whose entries are counts of cells:
    whole numbers, so that the rank can be found without rounding.
    """
    empty = int((~kept & ~part.structural).sum())
    note = f"{empty} cells are empty in the fit, since a margin in the model is zero"
    notes = [note] if empty else []
    size, cells = count_parameters(part.domain, model), np.argwhere(kept)
    if bool(kept.all()) or len(model) == 1:
        return size if bool(kept.all()) else len(cells), notes
    if size > MOST_PARAMETERS:
        notes.append(
            "too many parameters to tell which of them the cells left out take with them: the "
            "degrees of freedom count all of them, and are at most the true ones"
        )
        return min(size, len(cells)), notes
    from flint import nmod_mat

    terms = _terms(part.domain, model)
    products = np.zeros((size, size))
    for start in range(0, len(cells), BLOCK):
        design = _design(part.domain.shape, terms, cells[start : start + BLOCK])
        products += design.T @ design
    entries = products.astype(np.int64).ravel().tolist()
    return int(nmod_mat(size, size, entries, PRIME).rank()), notes


HEADER = ("measure", "true", "other", "difference")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoglinearComparison(Shown):
    """What a model says of the true table and of another one.

    Attributes
    ----------
    true, other
        The two fits.
    g_difference, chi_squared_difference
        The other table's statistic less the true one's.
    largest_log_ratio
        The largest absolute logarithm of the ratio between fitted shares of one cell; infinite if
        a cell is empty in one fit only.
    largest_term_difference, term
        The largest absolute difference between parameters (log odds ratios and the like, without
        the constant), and the levels that it belongs to by variable. Parameters that are
        undefined in one of the fits are left out; None if there are no others.
    hellinger
        The Hellinger distance between the fits.
    notes
        What to know before reading the numbers.
    """

    true: LoglinearFit
    other: LoglinearFit
    largest_log_ratio: float
    largest_term_difference: float | None
    term: dict[str, Label]
    hellinger: float
    notes: tuple[str, ...]

    @property
    def g_difference(self) -> float:
        """The other table's G less the true one's."""
        return self.other.g - self.true.g

    @property
    def chi_squared_difference(self) -> float:
        """The other table's chi-squared less the true one's."""
        return self.other.chi_squared - self.true.chi_squared

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame: measure, true, other, difference."""
        return frame_of(columns_of(HEADER, self._lines()), backend)

    def entries(self) -> dict[str, Any]:
        """Plain values: both fits and the differences."""
        return {
            "model": model_text(self.true.margins),
            "true": self.true.entries(),
            "other": self.other.entries(),
            **picked(self, "chi_squared_difference", "g_difference", "largest_log_ratio"),
            **picked(self, "largest_term_difference", "term", "hellinger", "notes"),
        }

    def _lines(self) -> list[tuple[str, float | None, float | None, float | None]]:
        lines: list[tuple[str, float | None, float | None, float | None]] = []
        both = zip(self.true.statistics, self.other.statistics, strict=True)
        for (name, value, p), (_, its_value, its_p) in both:
            lines += [(name, value, its_value, its_value - value), (f"{name} p", p, its_p, None)]
        apart = {
            "largest log ratio of fitted shares": self.largest_log_ratio,
            "largest difference of a parameter": self.largest_term_difference,
            "Hellinger distance of the fits": self.hellinger,
        }
        return lines + [(name, None, None, distance) for name, distance in apart.items()]

    def _title(self) -> str:
        return f"log-linear model {model_text(self.true.margins)}, fitted to two tables"

    def _sections(self) -> list[Section]:
        title = f"log-linear model {model_text(self.true.margins)}, fitted to both tables"
        return [Section(title, HEADER, self._lines(), frozenset({"measure"}))]


def compare_loglinear(
    true: Table, other: Table, margins: Margins, *, tolerance: float = 1e-9, passes: int = 1000
) -> LoglinearComparison:
    """Fit the same log-linear model to the true table and to another one.

    Parameters as for :func:`fit_loglinear`. The other table may have its variables and levels in
    another order; structural zeros are those of the true table.

    Examples
    --------
    >>> from cellbounds import Table, datasets
    >>> from cellbounds.utility import compare_loglinear
    >>> survey = datasets.read("mp3")
    >>> found = compare_loglinear(survey, Table(survey.domain, [[16, 9], [6, 19]]), "[gender][mp3]")
    >>> print(found)
    log-linear model [gender][mp3], fitted to both tables
    measure                                 true     other  difference
    chi-squared                            8.333     8.117     -0.2165
    chi-squared p                       0.003892  0.004385
    G                                       8.63     8.368     -0.2624
    G p                                 0.003306  0.003819
    largest log ratio of fitted shares                         0.09531
    largest difference of a parameter                           0.1643
    Hellinger distance of the fits                             0.02866
    """
    both = both_occupied(true, other)
    return compared(
        *(fit_loglinear(table, margins, tolerance=tolerance, passes=passes) for table in both)
    )


def compared(true: LoglinearFit, other: LoglinearFit) -> LoglinearComparison:
    """Two fits of one model over the same cells."""
    both, domain = (true.fitted, other.fitted), true.domain
    possible, its_possible = (fitted > 0 for fitted in both)
    log_ratio = math.inf
    if bool((possible == its_possible).all()):
        logs = [np.log(fitted[possible] / fitted.sum()) for fitted in both]
        log_ratio = float(np.max(np.abs(logs[0] - logs[1])))
    gaps = np.abs(true.terms - other.terms)
    # The constant only says how many people there are.
    gaps.flat[0] = math.nan
    largest, term = None, dict[str, Label]()
    if not bool(np.isnan(gaps).all()):
        place = np.unravel_index(int(np.nanargmax(gaps)), gaps.shape)
        named = zip(domain.names, place, strict=True)
        largest = float(gaps[place])
        term = {name: domain.levels(name)[at] for name, at in named if at}
    notes = [f"true table: {note}" for note in true.notes]
    notes += [f"other table: {note}" for note in other.notes]
    apart = distance_of(*both)
    return LoglinearComparison(
        true=true,
        other=other,
        largest_log_ratio=log_ratio,
        largest_term_difference=largest,
        term=term,
        hellinger=apart,
        notes=tuple(notes),
    )
