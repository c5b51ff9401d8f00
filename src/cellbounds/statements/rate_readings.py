"""What published rates stand for: what their rounding rule makes of counts, and their tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, whole_array
from cellbounds.statements.intervals import RateIntervals
from cellbounds.statements.largest_remainder import LargestRemainder
from cellbounds.statements.numbers import Figures
from cellbounds.statements.rounding import INTERVAL, LAST_DIGIT, ROUNDINGS, RULE, WHOLE_ROWS


@dataclass(frozen=True, slots=True, eq=False)
class RateReading:
    """Figures, the rule that rounded them, and the tolerance that is announced with them.

    `interval`: figures stand for intervals, whatever the rule would have printed. `nobody` marks
    rows that are said to hold nobody.
    """

    figures: Figures
    digits: int | None
    rounding: str | None
    eps: tuple[Fraction, ...] | None
    strict: bool
    interval: bool
    nobody: BoolArray
    notation: str

    def intervals(self) -> RateIntervals:
        """Intervals of all rates, with what rows say together.

        A missing rate that does not mark a row of zeros was suppressed: anything from 0 to 1.
        """
        eps = self.eps
        if eps is not None and self.rounding is None:
            return self._within(eps)
        if self.rounding is None or self.digits is None:
            return self._around(1, [0], [0])
        unit = 10**self.digits
        if self.rounding == WHOLE_ROWS and not self.interval:
            return self._shared_out(unit)
        ends = ROUNDINGS[self.rounding]
        reaches = [int(2 * ends.below)], [int(2 * ends.above)]
        rounded = self._around(2 * unit, *reaches, open_ends=(ends.low_open, ends.high_open))
        if self.rounding == LAST_DIGIT and not self.interval:
            odd = np.asarray(self._units(unit) % 2 == 1, dtype=bool) & ~self.figures.missing
            rounded = replace(rounded, low_open=odd, high_open=odd)
        return rounded if eps is None else rounded.met(self._within(eps))

    def _within(self, eps: tuple[Fraction, ...]) -> RateIntervals:
        """Intervals by a tolerance."""
        step = math.lcm(*(value.denominator for value in eps))
        reach = [value.numerator * (step // value.denominator) for value in eps]
        return self._around(step, reach, reach, open_ends=(self.strict, self.strict))

    def _around(
        self,
        step: int,
        reach_below: list[int],
        reach_above: list[int],
        open_ends: tuple[bool, bool] = (False, False),
    ) -> RateIntervals:
        """Intervals from ``rate - below/step`` to ``rate + above/step``."""
        numerators, denominators = self.figures.numerators, self.figures.denominators
        missing = self.figures.missing
        shape = (1, 1) if len(reach_below) == 1 else missing.shape
        below, above = (whole_array(reach, shape) for reach in (reach_below, reach_above))
        if step * int(max(denominators.max(), below.max(), above.max(), 1)) >= SAFE // 4:
            numerators, denominators = numerators.astype(object), denominators.astype(object)
            below, above = below.astype(object), above.astype(object)
        scale: IntArray = np.lcm(denominators, step)
        if scale.dtype == object and max(scale) < SAFE // 4:
            scale = scale.astype(np.int64)
        stretch, unit = (scale // denominators)[:, None], (scale // step)[:, None]
        low, high = numerators * stretch - below * unit, numerators * stretch + above * unit
        lows_open, highs_open = (np.full(low.shape, is_open) for is_open in open_ends)
        intervals = RateIntervals(low, high, scale, lows_open, highs_open, self.nobody)
        return intervals.withheld(missing) if missing.any() else intervals

    def _units(self, unit: int) -> IntArray:
        """The figures in units of the last decimal."""
        figures = self.figures
        bottoms = np.repeat(figures.denominators, figures.missing.shape[1]).tolist()
        units = []
        for place, pair in enumerate(
            zip(figures.numerators.ravel().tolist(), bottoms, strict=True)
        ):
            whole, rest = divmod(unit * pair[0], pair[1])
            if rest and not figures.missing.flat[place]:
                raise InvalidInput(
                    f"{self.notation}: the rate {figures.text(place)} is no multiple of 1/{unit}, "
                    f"so {self.rounding} rounding did not print it; give the figures as printed, "
                    f"or rule={INTERVAL!r}"
                )
            units.append(whole)
        return whole_array(units, figures.missing.shape)

    def _shared_out(self, unit: int) -> RateIntervals:
        """Rows that add to one by the largest remainder; one suppressed figure is what they lack.

        Raises
        ------
        InvalidInput
            If more are suppressed, but not the whole row, or a tolerance is below one unit.
        """
        if self.eps is not None and min(self.eps) * unit < 1:
            raise InvalidInput(
                f"{self.notation}: eps {min(self.eps)} with rounding={WHOLE_ROWS!r}, which moves a "
                f"rate by up to one unit; give at least 1/{unit}, or another rule"
            )
        missing = self.figures.missing
        width, gone = missing.shape[1], np.asarray(missing.sum(axis=1))
        unclear = np.flatnonzero((gone > 1) & (gone < width))
        if len(unclear):
            raise InvalidInput(
                f"{self.notation}: row {int(unclear[0]) + 1} was rounded so that it adds to one, "
                f"and {int(gone[unclear[0]])} of its {width} figures are suppressed; what the "
                "others then say is not worked out: show all but one, suppress the row, or give "
                f"rule={INTERVAL!r}"
            )
        figures = np.where(missing, 0, self._units(unit))
        lacking = np.maximum(unit - figures.sum(axis=1), 0)[:, None]
        figures = np.where(missing & (gone == 1)[:, None], lacking, figures)
        # A row of one column holds everybody, shown or not.
        shown = np.asarray((gone < width) | (width == 1), dtype=bool) & ~self.nobody
        remainders = LargestRemainder(unit, figures, shown)
        low, high, scale = remainders.hull()
        scales = whole_array([scale] * len(shown), shown.shape)
        closed = np.zeros(low.shape, dtype=bool)
        return RateIntervals(
            low=low,
            high=high,
            scale=scales,
            low_open=closed,
            high_open=closed,
            zero=self.nobody,
            remainders=remainders,
        )


def plain_rule(values: dict[str, Any]) -> str:
    """How plain values are to be read: without a rule, as they were before there was one.

    A tolerance beside a rounding rule came with the rules.
    """
    both = values["eps"] is not None and values["rounding"] is not None
    return str(values.get("rule", RULE if both else INTERVAL))
