"""Sums over the vectors of one row, for all its feasible sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellbounds.inference.rows.counting import row_counts
from cellbounds.inference.rows.lines import Line
from cellbounds.inference.rows.magnitudes import kernel_ready, masked
from cellbounds.inference.rows.splitting import SummedCell
from cellbounds.model.priors import DIGITS
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray, ScaledFloats, wide_of

__all__ = ["Vectors", "WeighedRow"]


@dataclass(frozen=True, eq=False)
class Vectors:
    """A row laid out for the compiled sums: ranges of cells for each sum, weights by column.

    The weights of column j, for the counts from 0, begin at ``starts[j]``. `span` is the number
    of sums that some columns can make, at most.
    """

    sums: IntArray
    lower: IntArray
    upper: IntArray
    starts: IntArray
    weights: ScaledFloats
    span: int
    steps: float

    @classmethod
    def of(
        cls, line: Line, sequences: Sequence[ScaledFloats], lower: IntArray, upper: IntArray
    ) -> Vectors:
        """Lay a row out; ranges have the columns first."""
        pieces = []
        for column, sequence in enumerate(sequences):
            mask = line.mask(column, len(sequence.mantissa) - 1)
            pieces.append(sequence if mask is None else masked(sequence, mask))
        sizes = [len(one.mantissa) for one in pieces]
        spans = _spans(line.sums, lower, upper)
        widths = upper - lower + 1
        return cls(
            line.sums,
            np.ascontiguousarray(lower.T),
            np.ascontiguousarray(upper.T),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            ScaledFloats(
                np.concatenate([one.mantissa for one in pieces]),
                np.concatenate([one.exponent for one in pieces]),
            ),
            int(spans.max(initial=1)),
            float((spans[:-1].astype(float) * np.minimum(widths, spans[1:])).sum()),
        )

    def totals(self, *, largest: bool = False) -> ScaledFloats:
        """The sum (or the largest) of the weights of all vectors, for each row sum."""
        from cellbounds.inference.rows.sum_kernel import totals

        ground = (self.sums, self.lower, self.upper, self.starts, *self.weights, self.span)
        return ScaledFloats(*totals(*ground, largest))

    def masses(self, outer: ScaledFloats, chosen: IntArray) -> list[ScaledFloats]:
        """For each column the weights of all vectors by its count; `outer` weighs the row sums.

        Only the sums at the chosen places are looked at.
        """
        from cellbounds.inference.rows.sum_kernel import masses

        ends = self._ends
        turned = [np.concatenate([one[a:b][::-1] for a, b in ends]) for one in self.weights]
        ranges = self.sums[chosen], self.lower[chosen], self.upper[chosen]
        weighed = outer.mantissa[chosen], outer.exponent[chosen]
        ground = (*ranges, self.starts, *self.weights, *turned)
        mantissa, exponent = masses(*ground, *weighed, self.span)
        return [ScaledFloats(mantissa[a:b], exponent[a:b]) for a, b in ends]

    @property
    def _ends(self) -> list[tuple[int, int]]:
        return list(zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True))

    def possible(self) -> list[BoolArray]:
        """For each column the counts in its range under some sum, all weights being positive."""
        found = []
        for column, (a, b) in enumerate(self._ends):
            changes = np.zeros(b - a + 1, dtype=np.int64)
            np.add.at(changes, self.lower[:, column], 1)
            np.add.at(changes, self.upper[:, column] + 1, -1)
            found.append(np.cumsum(changes[:-1]) > 0)
        return found

    def draw(self, place: int, uniforms: FloatArray) -> IntArray:
        """Vectors of the row sum at a place, one for each line of uniform numbers."""
        from cellbounds.inference.rows.choice_kernel import draw_vectors

        return np.asarray(draw_vectors(*self._one(place), self.span, uniforms))

    def best(self, place: int) -> list[int]:
        """The first vector of largest weight for the row sum at a place."""
        from cellbounds.inference.rows.choice_kernel import best_vector

        return [int(count) for count in best_vector(*self._one(place), self.span)]

    def _one(self, place: int) -> tuple[int, IntArray, IntArray, IntArray, FloatArray, IntArray]:
        total = int(self.sums[place])
        return total, self.lower[place], self.upper[place], self.starts, *self.weights


def _spans(sums: IntArray, lower: IntArray, upper: IntArray) -> IntArray:
    """How many sums the columns before each can make (first axis: columns, and one past them)."""
    before_low = np.vstack([np.zeros_like(sums), np.cumsum(lower, axis=0)])
    before_high = np.vstack([np.zeros_like(sums), np.cumsum(upper, axis=0)])
    low = np.maximum(before_low, sums - (before_high[-1] - before_high))
    high = np.minimum(before_high, sums - (before_low[-1] - before_low))
    return np.asarray(np.maximum(high - low + 1, 1))


@dataclass(frozen=True, eq=False)
class WeighedRow:
    """A line with weights for its cells; rows that agree in both share one."""

    line: Line
    cells: tuple[SummedCell, ...]
    offsets: IntArray
    effort: float

    @cached_property
    def _ranges(self) -> tuple[IntArray, IntArray]:
        return self.line.ranges(self.line.sums)

    @property
    def numbers(self) -> float:
        """How many weights its columns and their parts have in all, before any is made."""
        most = self._ranges[1].max(axis=1).tolist()
        return float(
            sum((top + 1) * cell.sequences for cell, top in zip(self.cells, most, strict=True))
        )

    @property
    def making(self) -> float:
        """Steps that it takes to make them."""
        return self.numbers * (1 if all(cell.uniform for cell in self.cells) else DIGITS)

    @cached_property
    def vectors(self) -> Vectors:
        """For sums over its vectors."""
        lower, upper = self._ranges
        most = upper.max(axis=1).tolist()
        sequences = [cell.sequence(top) for cell, top in zip(self.cells, most, strict=True)]
        return Vectors.of(self.line, sequences, lower, upper)

    @cached_property
    def best_vectors(self) -> Vectors:
        """For the largest weight of its vectors: each cell split in the best way."""
        lower, upper = self._ranges
        most = upper.max(axis=1).tolist()
        sequences = [cell.best_after(-1, top) for cell, top in zip(self.cells, most, strict=True)]
        return Vectors.of(self.line, sequences, lower, upper)

    @property
    def steps(self) -> float:
        """What the sums over its vectors cost; most terms are too faint to be added."""
        return 0.0 if self._counted else self.vectors.steps / 4

    @property
    def _counted(self) -> bool:
        """Whether all vectors weigh the same, so that counting them is enough."""
        return self.line.plain and all(cell.uniform for cell in self.cells)

    @cached_property
    def totals(self) -> ScaledFloats:
        """The weights of all vectors, for each feasible sum."""
        if self._counted:
            return kernel_ready(wide_of(row_counts(self.line, self.effort)))
        return self.vectors.totals()

    @property
    def roundings(self) -> int:
        """The relative error of the totals, in units."""
        from cellbounds.inference.rows.sum_kernel import CHAIN

        return sum(cell.roundings + CHAIN + 2 for cell in self.cells)
