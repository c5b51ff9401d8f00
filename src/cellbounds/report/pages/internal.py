"""The part of a report for the owner only: everything that leans on the confidential counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.disclosure.auditing import Audit, CellRisk
from cellbounds.disclosure.policies import Outcome
from cellbounds.errors import CellboundsError, TooMuchWork
from cellbounds.model.effort import Effort
from cellbounds.report.pages.findings import blamed, plain_verdict
from cellbounds.report.pages.posteriors import MOST_PLOTS, Chances, plotted
from cellbounds.report.pages.public import plain_cell
from cellbounds.results import Unbounded
from cellbounds.utility.distances import as_floats, distance_of
from cellbounds.utility.retained import kept

__all__ = ["internal_part"]

WARNING = "this part holds confidential counts and what follows from them: keep it to yourself"

MOST_MEANS = 200
"""Cells of a table whose posterior means are compared with the counts."""


def internal_part(
    audit: Audit,
    chances: Chances,
    *,
    seed: int | None,
    source: str | None,
    made: str | None,
    effort: Effort,
) -> dict[str, Any]:
    """Verdict, findings, counts, blame, posteriors of the cells at risk, utility, the input."""
    verdict = audit.verdict
    said: dict[str, Any] = {
        "warning": WARNING,
        "verdict": plain_verdict(verdict),
        "cells": [_counted(cell) for cell in audit.cells],
        "blame": blamed(audit, effort),
        "posteriors": _at_risk(audit, chances),
        "utility": _utility(audit, chances),
        "input": {"digest": audit.table.digest, "source": source, "seed": seed},
        "method": {"name": audit.answer.method, "evidence": audit.answer.evidence.value},
    }
    if made is not None:
        said["clock"] = {
            "made": made,
            "attainable_seconds": round(audit.answer.seconds, 3),
            "judging_seconds": round(verdict.seconds, 3),
        }
    return said


def _counted(cell: CellRisk) -> dict[str, Any]:
    return plain_cell(cell, judged=True) | {"count": cell.count}


def _at_risk(audit: Audit, chances: Chances) -> dict[str, Any]:
    """The cells that break a rule or may; then those with few attainable counts."""
    risky = [
        cell
        for cell in audit.cells
        if not cell.disclosed and (cell.outcome is not Outcome.SAFE or cell.narrow)
    ]
    risky.sort(key=lambda cell: (_RANK[cell.outcome], _size(cell)))
    chosen = [(cell.labels, cell.count) for cell in risky[:MOST_PLOTS]]
    return plotted(
        chances,
        chosen,
        len(risky) - len(chosen),
        "the cells that break a rule or may, and the narrow ones; a cell with a single attainable "
        "count needs no plot",
    )


_RANK = {Outcome.UNSAFE: 0, Outcome.UNDECIDED: 1, Outcome.SAFE: 2}


def _size(cell: CellRisk) -> float:
    size = cell.values.possible.size
    return float("inf") if isinstance(size, Unbounded) else float(size)


def _utility(audit: Audit, chances: Chances) -> dict[str, Any]:
    """What a reader gets from the release: its figures, and the best guess of the table."""
    try:
        own = kept(audit.table, audit.release).to_dict()
    except CellboundsError as problem:
        return {"said": f"not worked out: {problem}"}
    return {
        "said": (
            "share kept: 1 if a reader comes as close as the exact figures would bring him, 0 if "
            "he does no better than by an even guess; distances are the mean over people of the "
            "total variation distance in their row"
        ),
        "figures": own,
        "posterior_mean_hellinger": _hellinger(audit, chances),
    }


def _hellinger(audit: Audit, chances: Chances) -> float | None:
    """The distance of the expected table from the true one; None if it is not worked out."""
    if chances.at is None or len(audit.cells) > MOST_MEANS or audit.table.total == 0:
        return None
    try:
        means = np.array([chances.at(cell.labels).mean for cell in audit.cells])
    except TooMuchWork:
        return None
    true = as_floats(audit.table.margin(*audit.answer.over)).ravel()
    return float(f"{distance_of(true, means):.6g}")
