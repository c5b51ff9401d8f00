"""How the attainable counts of each cell became fewer, release by release."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.auditing import CellRisk
from cellbounds.disclosure.policies.scenarios import empty_rows, margin_of
from cellbounds.errors import TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.ledger import Entry
from cellbounds.ledger.lifting import Piece, Target, joined
from cellbounds.ledger.state import State
from cellbounds.model.effort import Effort
from cellbounds.report.pages.plain import label_text, labels_text
from cellbounds.report.pages.public import plain_cell
from cellbounds.report.pages.rendering import BANDS, shown_cell
from cellbounds.results import Unbounded, ValueSet
from cellbounds.solvers.solve import attainable
from cellbounds.statements import Release

__all__ = ["LIMITS", "MOST_ROWS", "views_of"]

MOST_ROWS = 60
"""Cells that the page follows one by one; of larger tables those that narrowed most."""

LEAST = 0.05
"""Seconds for the state after a release even if the budget is spent: cheap methods come first."""

LIMITS = tuple(most for most, _, _ in BANDS if most is not None)
"""Numbers of attainable counts at which the colours change."""

CHART_WIDTH, CHART_HEIGHT = 300, 150
SPARK_HEIGHT = 30


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """What anybody could work out after a release; no cells if that was not worked out."""

    number: int
    entry: Entry
    cells: tuple[CellRisk, ...]
    said: str


def views_of(
    state: State,
    targets: Sequence[Target],
    numbers: Sequence[tuple[int, Entry]],
    whole: Table | None,
    effort: Effort,
) -> list[dict[str, Any]]:
    """For each kind of cells, what was attainable after each release."""
    if not numbers:
        return []
    shares = itertools.count(len(targets) * len(numbers), -1)
    views = []
    for place, target in enumerate(targets, 1):
        stages = []
        for count, (number, entry) in enumerate(numbers, 1):
            pieces = [Piece.recorded(one) for _, one in numbers[:count]]
            left = effort.left
            budget = None if left is None else max(left / next(shares), LEAST)
            stages.append(
                _stage(number, entry, joined(state, pieces), target.over, whole, state, budget)
            )
        views.append({"key": f"v{place}", "said": target.said, **_view(state, target, stages)})
    return views


def _stage(
    number: int,
    entry: Entry,
    release: Release,
    over: tuple[str, ...] | None,
    whole: Table | None,
    state: State,
    seconds: float | None,
) -> Stage:
    domain, names = release.domain, over or release.domain.names
    structural = np.broadcast_to(state.structural, domain.shape)
    counts = np.zeros(domain.shape, dtype=int) if whole is None else whole.counts
    table = Table(domain, counts, structural=structural)
    margin = margin_of(release, table, names)
    try:
        found = attainable(
            release, over=over, seconds=seconds, start=None if whole is None else table
        )
        sets = [values for _, values in found.items()]
    except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
        return Stage(number, entry, (), f"not worked out: {problem}")
    known = margin.counts.ravel().tolist() if whole is not None else [None] * len(sets)
    cells = zip(
        margin.domain.cells(),
        sets,
        known,
        margin.structural.ravel().tolist(),
        empty_rows(release, names).ravel().tolist(),
        strict=True,
    )
    said = f"{found.method}, {found.evidence.value}"
    return Stage(number, entry, tuple(CellRisk(*one) for one in cells), said)


def _view(state: State, target: Target, stages: Sequence[Stage]) -> dict[str, Any]:
    """Everything that the page shows of one kind of cells."""
    worked = [stage for stage in stages if stage.cells]
    last = worked[-1].cells if worked else ()
    counted = [k for k, cell in enumerate(last) if not (cell.structural or cell.empty_row)]
    rows = list(range(len(last))) if len(last) <= MOST_ROWS else _narrowed(worked, counted)
    names = [name for name in target.over or state.domain.names if name in state.domain.names]
    lines = [_row(worked, place, len(names)) for place in rows]
    after = [f"entry {one.number}, {', '.join(one.entry.statements)}" for one in worked]
    levels = [[name, [label_text(label) for label in state.domain.levels(name)]] for name in names]
    return {
        "names": names,
        "cells": len(last),
        "empty": len(last) - len(counted),
        "states": [_numbers_after(stage, counted) for stage in stages],
        "worked": [stage.number for stage in worked],
        "chart": _chart(worked, counted),
        "rows": lines,
        "left_out": len(last) - len(rows),
        "open": any(not cell.values.settled for stage in worked for cell in stage.cells),
        "marks": {cell["mark"] for line in lines for cell in line["cells"]},
        "data": json.dumps([*levels, ["after", after]]),
        "counts": any(cell.count is not None for cell in last),
    }


def _size(values: ValueSet) -> float | int:
    """How many counts are attainable at most, as far as that is proven."""
    size = values.possible.size
    return math.inf if isinstance(size, Unbounded) else size


def _band(size: float | int) -> int:
    return next(k for k, (most, _, _) in enumerate(BANDS) if most is None or size <= most)


def _numbers_after(stage: Stage, counted: Iterable[int]) -> dict[str, Any]:
    cells = [stage.cells[place] for place in counted] if stage.cells else []
    sizes = [_size(cell.values) for cell in cells]
    return {
        "number": stage.number,
        "statements": stage.entry.statements,
        "upto": [sum(size <= most for size in sizes) for most in LIMITS],
        "settled": sum(cell.values.settled for cell in cells),
        "worked": bool(stage.cells),
        "said": stage.said,
    }


def _narrowed(worked: Sequence[Stage], counted: Sequence[int]) -> list[int]:
    """The places of the cells whose attainable counts became fewer by the largest factor."""

    def rank(place: int) -> tuple[bool, Fraction, float | int, int]:
        first, last = (_size(one.cells[place].values) for one in (worked[0], worked[-1]))
        endless = math.isinf(first) and not math.isinf(last)
        factor = Fraction(1) if math.isinf(first) else Fraction(int(first), int(last))
        return not endless, -factor, last, place

    return sorted(sorted(counted, key=rank)[:MOST_ROWS])


def _row(worked: Sequence[Stage], place: int, names: int) -> dict[str, Any]:
    cells = [stage.cells[place] for stage in worked]
    shown = [shown_cell(plain_cell(cell, judged=False)) for cell in cells]
    for number, cell in enumerate(shown):
        cell["place"] = place * len(worked) + number
    # A part of the records stands before the variables of the table; the heading tells it.
    labels = labels_text(cells[0].labels[-names:])
    return {"labels": labels, "count": cells[0].count, "cells": shown, "spark": _spark(cells)}


# Drawings: coordinates; the template has the rest.


def _spark(cells: Sequence[CellRisk]) -> dict[str, Any]:
    """Bars from the smallest to the largest attainable count, one for each release."""
    ends = [(one.values.possible.smallest, one.values.possible.largest) for one in cells]
    finite = [high for _, high in ends if not isinstance(high, Unbounded)]
    top = max([1, *finite, *(2 * low for low, _ in ends)] if len(finite) < len(ends) else finite)
    wide = max(2, min(16, 120 // len(cells)))

    def level(count: int | Unbounded) -> float:
        shown = top if isinstance(count, Unbounded) else count
        return round(float((SPARK_HEIGHT - 4) * (1 - Fraction(shown, max(top, 1)))) + 2, 2)

    bars = [
        {
            "x": wide * number + 0.5,
            "y": level(high) - 1,
            "height": round(level(low) - level(high) + 2, 2),
        }
        for number, (low, high) in enumerate(ends)
    ]
    return {
        "bars": bars,
        "wide": wide,
        "width": wide * len(cells),
        "truth": None if cells[0].count is None else level(cells[0].count),
    }


def _chart(worked: Sequence[Stage], counted: Sequence[int]) -> dict[str, Any]:
    """Columns of cells by how many counts are attainable, the fewest at the foot."""
    scale = CHART_HEIGHT / max(len(counted), 1)
    wide = round(min(90.0, CHART_WIDTH / max(len(worked), 1)), 2)
    bars: list[dict[str, Any]] = []
    lines: list[list[str]] = [[] for _ in LIMITS]
    for number, stage in enumerate(worked):
        held = [_band(_size(stage.cells[place].values)) for place in counted]
        left, below = round(wide * number, 2), 0
        for band, (_, name, words) in enumerate(BANDS):
            count = held.count(band)
            below += count
            top = round(CHART_HEIGHT - scale * below, 2)
            if band < len(LIMITS):
                lines[band] += [f"{left},{top}", f"{round(left + wide, 2)},{top}"]
            if count:
                said = f"after entry {stage.number}: {count:,} with {words} attainable"
                tall = round(scale * count, 2)
                bars.append({"x": left, "y": top, "height": tall, "band": name, "said": said})
    every = math.ceil(len(worked) / 12)
    ticks = [
        (round(wide * (number + 0.5), 2), stage.number)
        for number, stage in enumerate(worked)
        if number % every == 0
    ]
    width = round(wide * len(worked), 2)
    return {"bars": bars, "wide": wide, "width": width, "lines": lines, "ticks": ticks}
