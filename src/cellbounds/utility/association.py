"""Two variables: odds ratios with confidence intervals, and tests of independence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.results.distribution import checked_probability
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements.numbers import exact_number
from cellbounds.text import label_keys
from cellbounds.utility.display import Section, Shown, columns_of, json_float, picked
from cellbounds.utility.distances import as_floats, occupied, two_way
from cellbounds.utility.loglinear import TESTS, Tested, fit_loglinear, goodness


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OddsRatios(Shown):
    """Odds ratios relative to the first row and the first column.

    Attributes
    ----------
    rows, columns, given
        The variables, and those that stratify.
    domain
        The levels of `given`, `rows` and `columns`, in that order.
    level
        The confidence level of the intervals.
    add
        What was added to every count before anything else.
    ratios, lower, upper
        Arrays over the strata, the rows but the first, and the columns but the first: the ratio
        and the ends of its interval. A ratio with a zero among its four counts is 0, infinite or
        undefined (NaN), and its interval is (0, infinity).
    notes
        What to know before reading them.
    """

    rows: str
    columns: str
    given: tuple[str, ...]
    domain: Domain
    level: float
    add: Fraction
    ratios: FloatArray
    lower: FloatArray
    upper: FloatArray
    notes: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """The odds ratio of a table of two by two."""
        return self._only[0]

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the odds ratio of a table of two by two."""
        return self._only[1:]

    @property
    def log_ratios(self) -> FloatArray:
        """Natural logarithms of the ratios."""
        return _log(self.ratios)

    @property
    def log_intervals(self) -> tuple[FloatArray, FloatArray]:
        """Natural logarithms of the ends of the intervals."""
        return _log(self.lower), _log(self.upper)

    @property
    def _only(self) -> tuple[float, float, float]:
        if self.ratios.size != 1:
            raise InvalidInput(
                f"there are {self.ratios.size} odds ratios, not one; ask for one by its labels, or "
                "take the arrays `ratios`, `lower` and `upper`"
            )
        return self.numbers()[0]

    def __getitem__(self, labels: tuple[Label, ...]) -> tuple[float, float, float]:
        """Ratio, lower and upper end for the labels of the strata, the row and the column."""
        *strata, row, column = self.domain.index(labels)
        if not row or not column:
            raise InvalidInput(
                f"{tuple(labels)!r} names a reference level ({self._references()}); odds ratios "
                "are relative to it: name another level"
            )
        place = (*strata, row - 1, column - 1)
        return float(self.ratios[place]), float(self.lower[place]), float(self.upper[place])

    def cells(self) -> list[tuple[Label, ...]]:
        """The labels of each ratio, in the order of the arrays."""
        levels = [self.domain.levels(name) for name in self.domain.names]
        return [*itertools.product(*levels[:-2], *(others[1:] for others in levels[-2:]))]

    def numbers(self) -> list[tuple[float, float, float]]:
        """Ratio, lower and upper end of each ratio, in the order of `cells`."""
        flat = (ends.ravel().tolist() for ends in (self.ratios, self.lower, self.upper))
        return [*zip(*flat, strict=True)]

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: labels, ratio, lower, upper, level."""
        fixed = ("ratio", "lower", "upper", "level")
        header = (*label_keys(self.domain.names, fixed).values(), *fixed)
        pairs = zip(self.cells(), self.numbers(), strict=True)
        lines = [(*labels, *numbers, self.level) for labels, numbers in pairs]
        return frame_of(columns_of(header, lines), backend)

    def entries(self) -> dict[str, Any]:
        """Plain values: undefined ratios as None, infinite ones as text."""
        ratios = []
        for (*given, row, column), numbers in zip(self.cells(), self.numbers(), strict=True):
            ends = dict(zip(("ratio", "lower", "upper"), map(json_float, numbers), strict=True))
            ratios.append({"given": given, "row": row, "column": column, **ends})
        row, column = (self.domain.levels(name)[0] for name in (self.rows, self.columns))
        return {
            **picked(self, "rows", "columns", "given"),
            "reference": {"row": row, "column": column},
            "level": self.level,
            "add": str(self.add),
            "odds_ratios": ratios,
            "notes": list(self.notes),
        }

    def _references(self) -> str:
        variables = (self.rows, self.columns)
        return " and ".join(f"{name} {self.domain.levels(name)[0]}" for name in variables)

    def _title(self) -> str:
        given = f" given {', '.join(self.given)}" if self.given else ""
        added = f", {float(self.add):g} added to every count" if self.add else ""
        return (
            f"odds ratios of {self.columns} by {self.rows}{given}, "
            f"{percent(self.level)} intervals{added}"
        )

    def _sections(self) -> list[Section]:
        pairs = zip(self.cells(), self.numbers(), strict=True)
        lines = [[*map(str, labels), ratio, ends] for labels, (ratio, *ends) in pairs]
        header = [*self.domain.names, "odds ratio", f"{percent(self.level)} interval"]
        title = f"{self._title()}\nrelative to {self._references()}"
        return [Section(title, header, lines, frozenset(self.domain.names))]

    def __repr__(self) -> str:
        return f"<{self._title()}: {self.ratios.size}>"


def odds_ratios(
    table: Table,
    rows: str,
    columns: str,
    *,
    level: object = "0.95",
    given: Iterable[str] | None = None,
    add: object = 0,
) -> OddsRatios:
    """Odds ratios of two variables relative to their first levels.

    For row i and column j it is n(1,1) n(i,j) / (n(1,j) n(i,1)); a table of two by two has one.
    Its logarithm is taken to be normal with the variance 1/n(1,1) + 1/n(i,j) + 1/n(1,j) + 1/n(i,1)
    (Woolf 1955), as ``scipy.stats.contingency.odds_ratio(kind="sample")`` does.

    Parameters
    ----------
    table
        Counts; what is not named is summed over.
    rows, columns
        The two variables.
    level
        The confidence level of the intervals, between 0 and 1.
    given
        Variables to stratify by: the ratios of each combination of their levels.
    add
        Added to every count first, as text such as ``"0.5"`` (Haldane and Anscombe), so that
        zeros do not matter; cells that cannot hold anybody stay out.

    Examples
    --------
    >>> from cellbounds import datasets
    >>> from cellbounds.utility import odds_ratios
    >>> trial = datasets.read("analgesic")
    >>> found = odds_ratios(trial, "treatment", "response", level="0.9")
    >>> round(found.ratio, 4), [round(end, 4) for end in found.interval]
    (0.5039, [0.2947, 0.8615])
    >>> print(odds_ratios(trial, "treatment", "response", given=["status"]))
    odds ratios of response by treatment given status, 95% intervals
    relative to treatment 1 and response poor
    status  treatment  response  odds ratio     95% interval
    1       2          good          0.5897  (0.2626, 1.324)
    2       2          good          0.3846  (0.1294, 1.143)
    """
    from scipy.special import ndtri

    two = two_way(table, rows, columns, given)
    wanted = checked_level(level)
    added = exact_number(add, "add")
    if added < 0:
        raise InvalidInput(f"add={add!r} is below 0; give '0.5', or 0 to add nothing")
    a, b, c, d = _corners(as_floats(two) + float(added))
    possible = ~np.logical_or.reduce(_corners(two.structural))
    zero, infinite = (a == 0) | (d == 0), (b == 0) | (c == 0)
    full = possible & ~zero & ~infinite
    ratios = np.full(full.shape, math.nan)
    ratios[possible & zero & ~infinite] = 0
    ratios[possible & infinite & ~zero] = math.inf
    lower, upper = np.zeros(full.shape), np.full(full.shape, math.inf)
    a, b, c, d = (corner[full] for corner in (a, b, c, d))
    reach = -ndtri((1 - wanted) / 2) * np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    # Ratios and ends beyond the largest double are infinite, and are meant to be.
    with np.errstate(over="ignore"):
        ratios[full] = (a / b) * (d / c)
        logs = np.log(a) - np.log(b) + np.log(d) - np.log(c)
        lower[full], upper[full] = np.exp(logs - reach), np.exp(logs + reach)
    reasons = {
        "a cell that cannot hold anybody: undefined": ~possible,
        "a count of zero: 0, inf or undefined, with the interval (0, inf); add='0.5' to every "
        "count avoids this": possible & ~full,
    }
    notes = tuple(
        f"{int(odd.sum())} of {full.size} odds ratios involve {what}"
        for what, odd in reasons.items()
        if odd.any()
    )
    strata = two.domain.names[:-2]
    return OddsRatios(
        rows=rows,
        columns=columns,
        given=strata,
        domain=two.domain,
        level=wanted,
        add=added,
        ratios=ratios,
        lower=lower,
        upper=upper,
        notes=notes,
    )


def _corners(cells: Any) -> tuple[Any, ...]:
    """The four cells behind each ratio: both references, row only, column only, neither."""
    first, others = cells[..., :1, :], cells[..., 1:, :]
    parts = (first[..., :1], first[..., 1:], others[..., :1], others[..., 1:])
    return tuple(np.broadcast_arrays(*parts))


def checked_level(level: object) -> float:
    """A confidence level: strictly between 0 and 1."""
    confidence = checked_probability(level)
    if not 0 < confidence < 1:
        raise InvalidInput(f"level={level!r}; give a number between 0 and 1, such as '0.95'")
    return confidence


def percent(level: float) -> str:
    """A confidence level as people say it."""
    return f"{100 * level:.10g}%"


def _log(values: FloatArray) -> FloatArray:
    # The logarithm of a ratio of zero is minus infinity, and is meant to be.
    with np.errstate(divide="ignore"):
        return np.log(values)


FEW = 5
"""Below so many expected people the p-values are rough (Cochran's rule)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Independence(Tested):
    """Tests of whether rows and columns are independent, within each stratum if there are any.

    Attributes
    ----------
    rows, columns, given
        The variables, and those that stratify.
    chi_squared, g
        Pearson's statistic, and twice the log-likelihood ratio; with strata, their sums.
    degrees
        Degrees of freedom of both.
    chi_squared_p, g_p
        The probabilities of such a statistic or a larger one under independence, from the
        chi-squared distribution.
    correction
        Whether Yates' continuity correction was made, in tables of two by two.
    smallest_expected
        The smallest count expected under independence.
    notes
        What was left out, and what to know before reading the numbers.
    """

    rows: str
    columns: str
    given: tuple[str, ...]
    chi_squared: float
    chi_squared_p: float
    g: float
    g_p: float
    degrees: int
    correction: bool
    smallest_expected: float
    notes: tuple[str, ...]

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame with one line for each statistic."""
        return frame_of(columns_of(TESTS, self._lines()), backend)

    def entries(self) -> dict[str, Any]:
        """Plain values."""
        return picked(self, *(field.name for field in fields(self)))

    def _title(self) -> str:
        given = f" given {', '.join(self.given)}" if self.given else ""
        how = ", with continuity correction" if self.correction else ""
        return f"independence of {self.rows} and {self.columns}{given}{how}"


def independence(
    table: Table,
    rows: str,
    columns: str,
    *,
    given: Iterable[str] | None = None,
    correction: bool = False,
) -> Independence:
    """Pearson's chi-squared test and the G test of independence.

    Rows and columns without people are left out, and the notes say so. With `given`, of
    independence within each stratum: statistics and degrees of freedom are summed over the
    strata. Tables with cells that cannot hold anybody are tested for quasi-independence: the
    other cells are products of a row's and a column's factor.

    Parameters
    ----------
    table
        Counts; what is not named is summed over.
    rows, columns
        The two variables.
    given
        Variables to stratify by.
    correction
        Whether to make Yates' continuity correction in tables of two by two, as
        ``scipy.stats.chi2_contingency`` does by default.

    Examples
    --------
    >>> from cellbounds import datasets
    >>> from cellbounds.utility import independence
    >>> print(independence(datasets.read("analgesic"), "treatment", "response"))
    independence of treatment and response
    statistic    value  degrees        p
    chi-squared  4.488        1  0.03413
    G             4.52        1  0.03351
    >>> trial = datasets.read("koch4")
    >>> tested = independence(trial, "treatment", "recovery", given=["center"])
    >>> round(tested.chi_squared, 3), tested.degrees
    (6.953, 4)
    """
    two = two_way(occupied(table, "the table"), rows, columns, given)
    strata = two.domain.names[:-2]
    counts = as_floats(two).reshape(-1, *two.domain.shape[-2:])
    by_row, by_column = counts.sum(axis=2), counts.sum(axis=1)
    totals = by_row.sum(axis=1)
    shares = by_column / np.where(totals > 0, totals, 1)[:, None]
    expected = by_row[:, :, None] * shares[:, None, :]
    left = np.stack([(by_row > 0).sum(axis=1), (by_column > 0).sum(axis=1)])
    each = np.prod(np.maximum(left - 1, 0), axis=0)
    notes = _left_out(two, by_row, by_column)
    if bool((two.structural.reshape(counts.shape) & (expected > 0)).any()):
        if correction:
            raise InvalidInput(
                "correction=True for a table with structural zeros; the continuity correction is "
                "made for tables of two by two without them: leave it out"
            )
        fit = fit_loglinear(two, [[*strata, rows], [*strata, columns]])
        notes += ["some cells cannot hold anybody: the test is of quasi-independence"]
        notes += [note for note in fit.notes if note not in notes]
        expected, degrees = fit.fitted, fit.degrees
        tests = (fit.chi_squared, fit.chi_squared_p, fit.g, fit.g_p)
    else:
        degrees = int(each.sum())
        # Yates: counts move towards what is expected, by half a person at most.
        nearer = counts + np.clip(expected - counts, -0.5, 0.5)
        corrected = correction & (each == 1)[:, None, None]
        tests = goodness(np.where(corrected, nearer, counts), expected, degrees)
    smallest = float(expected[expected > 0].min())
    if not degrees:
        notes.append("there is nothing to test: no table has two rows and two columns with people")
    elif smallest < FEW:
        notes.append(f"some expected counts are below {FEW}: the p-values are rough")
    return Independence(
        rows, columns, strata, *tests, degrees, bool(correction), smallest, tuple(notes)
    )


def _left_out(two: Table, by_row: FloatArray, by_column: FloatArray) -> list[str]:
    """What is said of levels that nobody has."""
    notes = []
    for name, sums in zip(two.domain.names[-2:], (by_row, by_column), strict=True):
        nowhere = np.flatnonzero(sums.sum(axis=0) == 0)
        levels = ", ".join(repr(two.domain.levels(name)[place]) for place in nowhere)
        if levels:
            notes.append(f"nobody has {name} {levels}: left out")
        somewhere = np.delete(sums, nowhere, axis=1)
        strata = int((somewhere == 0).any(axis=1).sum())
        if strata:
            notes.append(
                f"in {strata} of {math.prod(two.domain.shape[:-2])} strata nobody has some level "
                f"of {name}: left out there"
            )
    return notes
