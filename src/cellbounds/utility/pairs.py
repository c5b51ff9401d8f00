"""Two variables in the true table and in copies of it: odds ratios and tests side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.utility.display import json_float
from cellbounds.utility.odds import OddsRatios, odds_ratios
from cellbounds.utility.tests_of_independence import Independence, independence

__all__ = ["PairComparison", "compare_pair", "interval_overlap", "mean_and_spread"]


@dataclass(frozen=True, slots=True, eq=False)
class PairComparison:
    """Two variables in the true table and in each copy.

    Attributes
    ----------
    rows, columns
        The variables.
    true_odds, odds
        Odds ratios in the true table, and in each copy.
    true_test, tests
        Tests of independence in the true table, and in each copy.
    overlaps
        How far the intervals of the log odds ratios overlap: one line for each copy, one column
        for each ratio; NaN where both have no ends.
    """

    rows: str
    columns: str
    true_odds: OddsRatios
    odds: tuple[OddsRatios, ...]
    true_test: Independence
    tests: tuple[Independence, ...]
    overlaps: FloatArray

    @property
    def every_odds(self) -> tuple[OddsRatios, ...]:
        """Odds ratios in the true table, then in the copies."""
        return self.true_odds, *self.odds

    @property
    def every_test(self) -> tuple[Independence, ...]:
        """Tests in the true table, then in the copies."""
        return self.true_test, *self.tests

    @property
    def log_ratios(self) -> FloatArray:
        """Log odds ratios of the copies: one line for each copy, one column for each ratio."""
        return np.array([one.log_ratios.ravel() for one in self.odds])

    def lines(self, place: int) -> list[tuple[str, str, str, float, float]]:
        """One copy beside the true table: measure, variables, levels, true value, other value."""
        what = f"{self.rows}, {self.columns}"
        true, other = self.true_test, self.tests[place]
        lines = [
            ("chi-squared", what, "", true.chi_squared, other.chi_squared),
            ("chi-squared p", what, "", true.chi_squared_p, other.chi_squared_p),
            ("G", what, "", true.g, other.g),
            ("G p", what, "", true.g_p, other.g_p),
            ("degrees", what, "", float(true.degrees), float(other.degrees)),
        ]
        cells = zip(
            self.true_odds.cells(),
            self.true_odds.numbers(),
            self.odds[place].numbers(),
            self.overlaps[place].tolist(),
            strict=True,
        )
        for labels, ours, theirs, overlap in cells:
            levels = ", ".join(map(str, labels))
            measures = ("odds ratio", "lower end", "upper end")
            lines += [
                (name, what, levels, first, second)
                for name, first, second in zip(measures, ours, theirs, strict=True)
            ]
            lines.append(("interval overlap", what, levels, math.nan, overlap))
        return lines

    def entries(self, copies: Sequence[str]) -> dict[str, Any]:
        """Plain values."""
        others = [
            {
                "copy": copy,
                "odds": odds.entries(),
                "test": test.entries(),
                "overlap": [json_float(value) for value in overlaps],
            }
            for copy, odds, test, overlaps in zip(
                copies, self.odds, self.tests, self.overlaps.tolist(), strict=True
            )
        ]
        true = {"odds": self.true_odds.entries(), "test": self.true_test.entries()}
        return {"rows": self.rows, "columns": self.columns, "true": true, "copies": others}


def compare_pair(
    true: Table, others: Sequence[Table], rows: str, columns: str, level: object
) -> PairComparison:
    """Odds ratios and tests of two variables in tables over the same domain."""
    ratios = [odds_ratios(table, rows, columns, level=level) for table in (true, *others)]
    tests = [independence(table, rows, columns) for table in (true, *others)]
    overlaps = np.array([interval_overlap(ratios[0], other) for other in ratios[1:]])
    return PairComparison(
        rows, columns, ratios[0], tuple(ratios[1:]), tests[0], tuple(tests[1:]), overlaps
    )


def interval_overlap(true: OddsRatios, other: OddsRatios) -> FloatArray:
    """How much the intervals of the log odds ratios have in common, from 0 to 1.

    The length of what two intervals share, as a share of the one and as a share of the other,
    and the average of both (after Karr et al. 2006; 0 if they share nothing). An interval without
    ends has nothing in common with one that has them, of its own length, and all of the other's:
    one half. Two intervals without ends say nothing: NaN.
    """
    (low, high), (other_low, other_high) = (one.log_intervals for one in (true, other))
    # Ends beyond the largest double are infinite on one side: such an interval has no length.
    with np.errstate(invalid="ignore"):
        lengths = high - low, other_high - other_low
        shared = np.minimum(high, other_high) - np.maximum(low, other_low)
    first, second = (np.isfinite(length) for length in lengths)
    found = np.full(shared.shape, math.nan)
    found[first ^ second] = 0.5
    both = first & second
    shares = [_share(shared[both], length[both]) for length in lengths]
    found[both] = (shares[0] + shares[1]) / 2
    return found.ravel()


def _share(shared: FloatArray, length: FloatArray) -> FloatArray:
    """What is shared of an interval; one too short for doubles is shared or it is not."""
    whole = (shared >= 0).astype(np.float64)
    np.divide(shared, length, out=whole, where=length > 0)
    return np.clip(whole, 0, 1)


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of the finite values; NaN where there are too few."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return math.nan, math.nan
    mean = math.fsum(finite) / len(finite)
    if len(finite) < 2:
        return mean, math.nan
    squares = math.fsum((value - mean) ** 2 for value in finite)
    return mean, math.sqrt(squares / (len(finite) - 1))
