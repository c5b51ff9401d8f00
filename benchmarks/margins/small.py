"""Small tables: the whole call beside one CP-SAT search per bound, with equal answers."""

from __future__ import annotations

import numpy as np

import cellbounds as cb
from benchmarks.comparison import Mismatch
from benchmarks.margins.records import Record
from benchmarks.margins.searches import searches, used_integer_programs
from benchmarks.margins.solvers import cpsat_bounds, equations_of
from benchmarks.margins.tables import Owned, all_margins
from benchmarks.measurement import best_of
from benchmarks.peers.per_bound import UNKNOWN


def measure(source: Owned, ways: int, *, repeat_seconds: float, solver_seconds: float) -> Record:
    """Bound every cell of a table from all its margins of one size, by ours and by CP-SAT.

    Raises
    ------
    Mismatch
        If the bounds differ, or ours are not all attained.
    """
    release = all_margins(source.table, ways)
    answer, seconds = best_of(lambda: cb.bounds(release), budget=repeat_seconds)
    theirs = cpsat_bounds(equations_of(release), seconds=solver_seconds)
    if answer.evidence is not cb.Evidence.EXACT:
        msg = f"{source.label}: bounds without a budget are {answer.evidence.name}"
        raise Mismatch(msg)
    for side, own, other in (
        ("lower", answer.lower, theirs.lower),
        ("upper", answer.upper, theirs.upper),
    ):
        claimed = other.reshape(own.shape)
        for cell in np.argwhere((claimed != UNKNOWN) & (own != claimed)).tolist():
            at = tuple(cell)
            msg = (
                f"{source.label}, {ways}-way margins, cell {at}: our {side} bound is {own[at]}, "
                f"CP-SAT gives {claimed[at]}"
            )
            raise Mismatch(msg)
    return {
        "table": source.label,
        "ways": ways,
        "cells": int(answer.lower.size),
        "zeros": int((source.counts == 0).sum()),
        "total": source.table.total,
        "method": answer.method,
        "seconds": seconds,
        "cpsat_seconds": theirs.seconds,
        "cpsat_unsolved": theirs.unsolved,
        "limit": solver_seconds,
        "integer_programs": used_integer_programs(answer),
        "steps": [list(step) for search in searches(answer) for step in search.history],
    }
