"""The real-valued relaxation of one row, in exact fractions.

A row with sum n has cells with lo_j n <= x_j <= hi_j n and l_j <= x_j <= u_j that add to n. The
sums n for which such reals exist form an interval, found here by Newton steps on piecewise
linear convex functions, which end after finitely many exact steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from cellbounds.model.rates.problem import RowProblem

__all__ = ["RealRow", "real_row"]


@dataclass(frozen=True, slots=True)
class RealRow:
    """Rates (clipped to 0..1) with open ends marked, and bounds of one row; None: no bound."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    low_open: tuple[bool, ...]
    high_open: tuple[bool, ...]
    lower: tuple[int, ...]
    upper: tuple[int | None, ...]
    sum_lower: int
    sum_upper: int | None

    def smallest_sum(self) -> Fraction | None:
        """The smallest real sum that the closed constraints allow, None if there is none.

        Upper bounds on cells are not looked at: they never forbid a small sum that the other
        constraints allow without forbidding all of them.
        """
        least = Fraction(self.sum_lower)
        for lower, high in zip(self.lower, self.high, strict=True):
            if lower > 0 and high <= 0:
                return None
            if lower > 0:
                least = max(least, lower / high)
        while True:
            # sum max(lo n, l) <= n: solve with the pieces that are active at `least`.
            slack, fixed = Fraction(1), 0
            for low, lower in zip(self.low, self.lower, strict=True):
                if low * least >= lower:
                    slack -= low
                else:
                    fixed += lower
            if fixed <= slack * least:
                return least
            if slack <= 0:
                return None
            least = fixed / slack

    def largest_sum(self) -> Fraction | None:
        """The largest real sum that upper bounds allow; None without limit."""
        most: Fraction | None = None if self.sum_upper is None else Fraction(self.sum_upper)
        for low, upper in zip(self.low, self.upper, strict=True):
            if upper is not None and low > 0:
                most = upper / low if most is None else min(most, upper / low)
        if most is None:
            # Far out, capped cells count their cap and the others their highest rate.
            slack = 1 - sum(
                (high for high, upper in zip(self.high, self.upper, strict=True) if upper is None),
                Fraction(0),
            )
            if slack <= 0:
                return None
            most = sum(upper for upper in self.upper if upper is not None) / slack
        while True:
            # n <= sum min(hi n, u): solve with the pieces that are active at `most`.
            slack, fixed = Fraction(1), 0
            for high, upper in zip(self.high, self.upper, strict=True):
                if upper is not None and high * most > upper:
                    fixed += upper
                else:
                    slack -= high
            if slack * most <= fixed:
                return most
            most = fixed / slack

    def allows(self, total: Fraction) -> bool:
        """Whether reals with this sum satisfy all constraints, open ends included."""
        if total < self.sum_lower or (self.sum_upper is not None and total > self.sum_upper):
            return False
        least, most, low_strict, high_strict = Fraction(0), Fraction(0), False, False
        for j in range(len(self.low)):
            below, above = self.low[j] * total, self.high[j] * total
            below_open, above_open = self.low_open[j], self.high_open[j]
            if self.lower[j] > below:
                below, below_open = Fraction(self.lower[j]), False
            upper = self.upper[j]
            if upper is not None and upper < above:
                above, above_open = Fraction(upper), False
            if below > above or (below == above and (below_open or above_open)):
                return False
            least, most = least + below, most + above
            low_strict, high_strict = low_strict or below_open, high_strict or above_open
        return (
            least <= total <= most
            and not (least == total and low_strict)
            and not (most == total and high_strict)
        )


def real_row(problem: RowProblem, row: int) -> RealRow:
    """Take one row of a problem into fractions."""
    scale = int(problem.scale[row])
    lows = [int(value) for value in problem.low[row]]
    highs = [int(value) for value in problem.high[row]]
    caps = [int(value) for value in problem.cell_upper[row]]
    sum_upper = int(problem.row_upper[row])
    return RealRow(
        low=tuple(Fraction(max(value, 0), scale) for value in lows),
        high=tuple(Fraction(min(value, scale), scale) for value in highs),
        low_open=tuple(
            bool(problem.low_open[row, j]) and value >= 0 for j, value in enumerate(lows)
        ),
        high_open=tuple(
            bool(problem.high_open[row, j]) and value <= scale for j, value in enumerate(highs)
        ),
        lower=tuple(int(value) for value in problem.cell_lower[row]),
        upper=tuple(cap if cap >= 0 else None for cap in caps),
        sum_lower=int(problem.row_lower[row]),
        sum_upper=sum_upper if sum_upper >= 0 else None,
    )
