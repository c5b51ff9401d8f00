"""The part of a report that anybody may read: what follows from the release.

Structural zeros go with it: everybody is taken to know them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cellbounds.disclosure.auditing import Audit, CellRisk
from cellbounds.disclosure.policies import Outcome, Verdict
from cellbounds.errors import TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.model.effort import Effort
from cellbounds.report.pages.findings import plain_verdict
from cellbounds.report.pages.layout import columns_of
from cellbounds.report.pages.plain import plain_label, plain_values
from cellbounds.report.pages.posteriors import MOST_PLOTS, Chances, plotted
from cellbounds.report.pages.published import published, responses_of
from cellbounds.results import Attainable, Unbounded
from cellbounds.solvers.solve import attainable
from cellbounds.statements import Release

__all__ = ["OWNER", "Open", "mark_of", "open_cells", "plain_cell", "public_part"]

AGAIN_SECONDS = 20.0
"""For working out anew what the owner's budget left open, if no other budget is given."""

OWNER = "judged by the owner of the table; the outcome depends on confidential counts"


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """Cells as everybody can work them out, without the owner's table; or why there are none."""

    cells: tuple[CellRisk, ...]
    method: str
    evidence: str
    said: str


def _tells_nothing(verdict: Verdict) -> bool:
    """Whether a verdict may be shown to anybody: it rests on what everybody knows."""
    return verdict.independent and not verdict.knows


def open_cells(source: Audit | Attainable, known: Release, effort: Effort) -> Open:
    """What everybody knows of each cell: `known` is the release with the structural zeros.

    A settled set is a fact of what it was found from, whoever found it and how. Where one is open,
    what is known of it leans on the table that the owner's search began with; and with private
    knowledge it is no fact that everybody has. Then everything is worked out anew.
    """
    if isinstance(source, Attainable):
        cells = tuple(CellRisk(labels, values) for labels, values in source.items())
        return _opened(source, cells)
    answer = source.answer
    sets = [cell.values for cell in source.cells]
    leans = source.start_used and not all(values.settled for values in sets)
    if leans or answer.digest != known.digest:
        left = AGAIN_SECONDS if effort.left is None else max(effort.left, 1.0)
        try:
            answer = attainable(known, over=answer.over, seconds=left)
        except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
            return Open((), "none", "none", f"not worked out: {problem}")
        sets = [values for _, values in answer.items()]
    told = _tells_nothing(source.verdict)
    cells = tuple(
        replace(cell, values=values, count=None, outcome=cell.outcome if told else Outcome.SAFE)
        for cell, values in zip(source.cells, sets, strict=True)
    )
    return _opened(answer, cells)


def _opened(answer: Attainable, cells: tuple[CellRisk, ...]) -> Open:
    open_ones = sum(not cell.values.settled for cell in cells)
    said = "every attainable count of every cell is settled"
    if open_ones:
        said = (
            f"{open_ones} of {len(cells)} cells are not settled: what is attainable includes the "
            "counts shown and perhaps more"
        )
    if any(cell.structural for cell in cells):
        said += "; structural zeros are taken to be known to everybody"
    return Open(cells, answer.method, answer.evidence.value, said)


def public_part(
    release: Release, over: tuple[str, ...], cells: Open, chances: Chances, verdict: Verdict | None
) -> dict[str, Any]:
    """Everything but where the report comes from.

    The verdict is told if it was made without the counts and without private knowledge.
    """
    domain = release.domain.project(over)
    told = verdict is not None and _tells_nothing(verdict)
    return {
        "verdict": _verdict(verdict if told else None, judged=verdict is not None),
        "published": published(release),
        "policy": None if verdict is None else verdict.policy.to_dict(),
        "over": list(over),
        "variables": [[name, [plain_label(x) for x in domain.levels(name)]] for name in over],
        "columns": list(columns_of(domain, responses_of(release))),
        "cells": [plain_cell(cell, judged=told) for cell in cells.cells],
        "summary": _summary(cells.cells),
        "posteriors": _few_counts(cells.cells, chances),
        "method": {"name": cells.method, "evidence": cells.evidence, "said": cells.said},
    }


MARKS = {Outcome.UNSAFE: "broken", Outcome.UNDECIDED: "open"}


def plain_cell(cell: CellRisk, *, judged: bool) -> dict[str, Any]:
    """One cell without its count; with what the rules say of it if it was judged."""
    said = {
        "labels": [plain_label(label) for label in cell.labels],
        **plain_values(cell.values),
        "mark": mark_of(cell),
    }
    if judged:
        said |= {"mark": MARKS.get(cell.outcome, said["mark"]), "outcome": cell.outcome.value}
    return said


def mark_of(cell: CellRisk) -> str:
    """A word for what the attainable counts give away."""
    if cell.structural or cell.empty_row:
        return "structural zero" if cell.structural else "empty row"
    if cell.disclosed:
        return "exact"
    if cell.narrow:
        return "narrow"
    return "" if cell.values.settled else "not settled"


def _verdict(verdict: Verdict | None, *, judged: bool) -> dict[str, Any]:
    if verdict is None:
        said = OWNER if judged else "nobody judged: this is what anybody can work out"
        return {"outcome": None, "said": said, "notes": []}
    return plain_verdict(verdict)


def _summary(cells: tuple[CellRisk, ...]) -> dict[str, int]:
    marks = [mark_of(cell) for cell in cells]
    return {
        "cells": len(cells),
        "exact": marks.count("exact"),
        "narrow": marks.count("narrow"),
        "known_empty": marks.count("structural zero") + marks.count("empty row"),
        "unsettled": sum(not cell.values.settled for cell in cells),
    }


def _few_counts(cells: tuple[CellRisk, ...], chances: Chances) -> dict[str, Any]:
    """Posteriors of the cells with the fewest attainable counts: a choice without the counts."""
    several = [
        (size, cell)
        for cell in cells
        if cell.values.settled and not isinstance(size := cell.values.size, Unbounded) and size > 1
    ]
    several.sort(key=lambda pair: pair[0])
    chosen = [(cell.labels, None) for _, cell in several[:MOST_PLOTS]]
    return plotted(
        chances,
        chosen,
        len(several) - len(chosen),
        "the cells with the fewest attainable counts, but more than one",
    )
