"""Tests of independence and of conditional independence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.utility.display import Section, Shown, columns_of, number_text, picked
from cellbounds.utility.distances import as_floats, occupied, two_way
from cellbounds.utility.loglinear import fit_loglinear, goodness

__all__ = ["Independence", "independence"]

HEADER = ("statistic", "value", "degrees", "p")

FEW = 5
"""Below so many expected people the p-values are rough (Cochran's rule)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Independence(Shown):
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
        lines = [(name, value, self.degrees, p) for name, value, p in self.statistics]
        return frame_of(columns_of(HEADER, lines), backend)

    def entries(self) -> dict[str, Any]:
        """Plain values."""
        return picked(self, *(field.name for field in fields(self)))

    @property
    def statistics(self) -> list[tuple[str, float, float]]:
        """Each statistic with its value and its p-value."""
        return [("chi-squared", self.chi_squared, self.chi_squared_p), ("G", self.g, self.g_p)]

    def _title(self) -> str:
        given = f" given {', '.join(self.given)}" if self.given else ""
        how = ", with continuity correction" if self.correction else ""
        return f"independence of {self.rows} and {self.columns}{given}{how}"

    def _sections(self) -> list[Section]:
        lines = [
            [name, number_text(value), str(self.degrees), number_text(p)]
            for name, value, p in self.statistics
        ]
        return [Section(self._title(), HEADER, lines, frozenset({"statistic"}))]

    def __repr__(self) -> str:
        # Statistics of a confidential table are not printed by accident.
        return f"<{self._title()}>"


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
    >>> from cellbounds import example_table
    >>> from cellbounds.utility import independence
    >>> print(independence(example_table("analgesic"), "treatment", "response"))
    independence of treatment and response
    statistic    value  degrees        p
    chi-squared  4.488        1  0.03413
    G             4.52        1  0.03351
    >>> trial = example_table("koch4")
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
        found = (fit.chi_squared, fit.chi_squared_p, fit.g, fit.g_p)
    else:
        degrees = int(each.sum())
        corrected = correction & (each == 1)[:, None, None]
        found = goodness(np.where(corrected, _nearer(counts, expected), counts), expected, degrees)
    smallest = float(expected[expected > 0].min())
    if not degrees:
        notes.append("there is nothing to test: no table has two rows and two columns with people")
    elif smallest < FEW:
        notes.append(f"some expected counts are below {FEW}: the p-values are rough")
    return Independence(
        rows, columns, strata, *found, degrees, bool(correction), smallest, tuple(notes)
    )


def _nearer(counts: FloatArray, expected: FloatArray) -> FloatArray:
    """The counts moved towards what is expected, by half a person at most (Yates)."""
    gap = expected - counts
    return counts + np.clip(gap, -0.5, 0.5)


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
