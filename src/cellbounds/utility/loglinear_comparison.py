"""The same log-linear model fitted to the true table and to another one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.utility.display import Section, Shown, columns_of, number_text, picked
from cellbounds.utility.distances import distance_of, matched, occupied
from cellbounds.utility.loglinear import LoglinearFit, Margins, fit_loglinear, model_text

__all__ = ["LoglinearComparison", "compare_loglinear"]

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
        true, other = self.true, self.other
        return [
            ("chi-squared", true.chi_squared, other.chi_squared, self.chi_squared_difference),
            ("chi-squared p", true.chi_squared_p, other.chi_squared_p, None),
            ("G", true.g, other.g, self.g_difference),
            ("G p", true.g_p, other.g_p, None),
            ("largest log ratio of fitted shares", None, None, self.largest_log_ratio),
            ("largest difference of a parameter", None, None, self.largest_term_difference),
            ("Hellinger distance of the fits", None, None, self.hellinger),
        ]

    def _sections(self) -> list[Section]:
        lines = [
            [name, *("" if value is None else number_text(value) for value in values)]
            for name, *values in self._lines()
        ]
        title = f"log-linear model {model_text(self.true.margins)}, fitted to both tables"
        return [Section(title, HEADER, lines, frozenset({"measure"}))]

    def __repr__(self) -> str:
        return f"<log-linear model {model_text(self.true.margins)}, fitted to two tables>"


def compare_loglinear(
    true: Table, other: Table, margins: Margins, *, tolerance: float = 1e-9, passes: int = 1000
) -> LoglinearComparison:
    """Fit the same log-linear model to the true table and to another one.

    Parameters as for :func:`fit_loglinear`. The other table may have its variables and levels in
    another order; structural zeros are those of the true table.

    Examples
    --------
    >>> from cellbounds import Table, example_table
    >>> from cellbounds.utility import compare_loglinear
    >>> survey = example_table("mp3")
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
    occupied(true, "the true table")
    second = occupied(matched(true, other), "the other table")
    fits = [
        fit_loglinear(table, margins, tolerance=tolerance, passes=passes)
        for table in (true, second)
    ]
    return compared(*fits)


def compared(true: LoglinearFit, other: LoglinearFit) -> LoglinearComparison:
    """Two fits of one model over the same cells."""
    difference, term = _largest_term(true, other)
    notes = [
        f"{which} table: {note}"
        for which, fit in (("true", true), ("other", other))
        for note in fit.notes
    ]
    return LoglinearComparison(
        true,
        other,
        _largest_log_ratio(true.fitted, other.fitted),
        difference,
        term,
        distance_of(true.fitted, other.fitted),
        tuple(notes),
    )


def _largest_log_ratio(true: FloatArray, other: FloatArray) -> float:
    if bool(((true > 0) != (other > 0)).any()):
        return math.inf
    both = true > 0
    return float(
        np.max(np.abs(np.log(true[both] / true.sum()) - np.log(other[both] / other.sum())))
    )


def _largest_term(true: LoglinearFit, other: LoglinearFit) -> tuple[float | None, dict[str, Label]]:
    gaps = np.abs(true.terms - other.terms)
    # The constant only says how many people there are.
    gaps.flat[0] = math.nan
    if bool(np.isnan(gaps).all()):
        return None, {}
    place = np.unravel_index(int(np.nanargmax(gaps)), gaps.shape)
    domain = true.domain
    levels = {
        name: domain.levels(name)[level]
        for name, level in zip(domain.names, place, strict=True)
        if level
    }
    return float(gaps[place]), levels
