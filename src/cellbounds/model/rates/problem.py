"""The integer problem behind one conditional: rows, columns, priors and N as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.model.structure import ConditionalFacts
from cellbounds.runtime.arrays import BoolArray, IntArray, whole_array
from cellbounds.statements.margin_bounds import NO_LIMIT, MarginBounds

__all__ = ["RowProblem", "build_problem"]


@dataclass(frozen=True, slots=True, eq=False)
class RowProblem:
    """Rows i with rates between low/scale and high/scale, priors, and a total.

    Rows that hold nobody are left out; `rows` gives the place of each remaining row among all.
    Upper bounds hold -1 where nothing is known. `cell_values` and `row_values` list the possible
    counts of single cells and row sums.
    """

    low: IntArray
    high: IntArray
    scale: IntArray
    low_open: BoolArray
    high_open: BoolArray
    cell_lower: IntArray
    cell_upper: IntArray
    cell_values: Mapping[tuple[int, int], tuple[int, ...]]
    row_lower: IntArray
    row_upper: IntArray
    row_values: Mapping[int, tuple[int, ...]]
    total_lower: int
    total_upper: int | None
    rows: IntArray
    facts: ConditionalFacts

    @property
    def height(self) -> int:
        """The number of rows."""
        return int(self.low.shape[0])

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.low.shape[1])

    @property
    def bare(self) -> bool:
        """Whether nothing is known besides the rates and N."""
        facts = self.facts
        return not (facts.on_rows or facts.on_cells or facts.on_parts)

    def name(self, row: int) -> str:
        """The row's givens in words, for messages."""
        return _row_name(self.facts, int(self.rows[row]))

    @property
    def needs_objects(self) -> bool:
        """Whether products of rates and counts could leave int64 (after reduction by scale)."""
        return self.low.dtype == object or int(self.scale.max(initial=1)) >= 2**31


def build_problem(facts: ConditionalFacts, cells: MarginBounds, rows: MarginBounds) -> RowProblem:
    """Lay the problem out row by row; `cells` and `rows` are the priors on both.

    Raises
    ------
    InconsistentRelease
        If a row that is said to hold nobody is known to hold somebody.
    """
    ends = facts.conditional.intervals
    shape = ends.low.shape
    rows_kept = np.flatnonzero(~ends.zero)
    kept: Any = rows_kept if len(rows_kept) < shape[0] else slice(None)
    lower, upper = cells.lower.reshape(shape), cells.upper.reshape(shape)
    row_lower, row_upper = rows.lower.reshape(shape[0]), rows.upper.reshape(shape[0])
    known = bool(facts.on_rows or facts.on_cells or facts.on_parts)
    held = ends.zero & ((lower > 0).any(axis=1) | (row_lower > 0)) if known else ends.zero[:0]
    if held.any():
        raise InconsistentRelease(
            f"the row {_row_name(facts, int(np.argmax(held)))} is said to hold nobody, but prior "
            "knowledge puts somebody there; correct one of the two"
        )
    place_of = {row: place for place, row in enumerate(rows_kept.tolist())}
    cell_values = {
        (place_of[flat // shape[1]], flat % shape[1]): values
        for flat, values in cells.values.items()
        if flat // shape[1] in place_of
    }
    row_values = {place_of[i]: values for i, values in rows.values.items() if i in place_of}
    # A single row holds everybody: sums below N need not be looked at.
    least = max(facts.total.lower, 1) if len(rows_kept) == 1 else 1
    total_upper = facts.total.upper
    lower, upper, row_upper = lower[kept], upper[kept], row_upper[kept]
    if total_upper is not None and known:
        # A bound of N or more says nothing.
        upper = np.where(upper >= total_upper, NO_LIMIT, upper)
        row_upper = np.where(row_upper >= total_upper, NO_LIMIT, row_upper)
    return RowProblem(
        low=ends.low[kept],
        high=ends.high[kept],
        scale=ends.scale[kept],
        low_open=ends.low_open[kept],
        high_open=ends.high_open[kept],
        cell_lower=lower,
        cell_upper=upper,
        cell_values=cell_values,
        row_lower=np.maximum(row_lower[kept], whole_array([least], (1,))),
        row_upper=row_upper,
        row_values=row_values,
        total_lower=facts.total.lower,
        total_upper=total_upper,
        rows=rows_kept,
        facts=facts,
    )


def _row_name(facts: ConditionalFacts, row: int) -> str:
    given = facts.conditional.given
    if not given:
        return "(all)"
    margin = facts.domain.project(given)
    labels = margin.labels([int(place) for place in np.unravel_index(row, margin.shape)])
    return ", ".join(f"{name}={label}" for name, label in zip(given, labels, strict=True))
