"""Small tables: the whole call beside one optimisation per bound, with equal answers."""

from __future__ import annotations

import numpy as np

import cellbounds as cb
from benchmarks.errors import Mismatch
from benchmarks.measuring.measurement import best_of
from benchmarks.peers import programs
from benchmarks.peers.per_bound import UNKNOWN, SolverAnswer
from benchmarks.peers.solvers import SOLVERS, Solver
from benchmarks.plans.margins import MarginsPlan
from benchmarks.problems.owned import Owned, all_margins
from benchmarks.results import Record
from benchmarks.sections.margins.searches import searches, used_integer_programs
from cellbounds.results import Bounds


def measure(source: Owned, ways: int, plan: MarginsPlan, seed: int) -> Record:
    """Bound every cell of a table from all its margins of one size, by ours and by each solver.

    Raises
    ------
    Mismatch
        If the bounds differ, or ours are not all attained.
    """
    release = all_margins(source.table, ways)
    answer, seconds = best_of(lambda: cb.bounds(release), budget=plan.repeat_seconds)
    if answer.evidence is not cb.Evidence.EXACT:
        msg = f"{source.label}: bounds without a budget are {answer.evidence.name}"
        raise Mismatch(msg)
    program = programs.of_margins(release)
    peers = {}
    for solver in SOLVERS:
        if not solver.installed:
            continue
        theirs = solver.bounds(
            program, max_bounds=plan.bounds, seconds=plan.solver_seconds, seed=seed
        )
        wrong = count_wrong(f"{source.label}, {ways}-way margins", solver, answer, theirs)
        peers[solver.name] = {
            "seconds": theirs.seconds,
            "asked": theirs.asked,
            "possible": theirs.possible,
            "unsolved": theirs.unsolved,
            "wrong": wrong,
        }
    return {
        "table": source.label,
        "ways": ways,
        "cells": int(answer.lower.size),
        "zeros": int((source.counts == 0).sum()),
        "total": source.table.total,
        "method": answer.method,
        "seconds": seconds,
        "peers": peers,
        "limit": plan.solver_seconds,
        "integer_programs": used_integer_programs(answer),
        "steps": [list(step) for search in searches(answer) for step in search.history],
    }


def count_wrong(label: str, solver: Solver, answer: Bounds, theirs: SolverAnswer) -> int:
    """Count the claims that fall short of a bound that a table of ours attains.

    Raises
    ------
    Mismatch
        If a solver in integers differs, or any solver goes further than what is proven.
    """
    wrong = 0
    for side, own, other in (
        ("lower", answer.lower, theirs.lower),
        ("upper", answer.upper, theirs.upper),
    ):
        claimed = other.reshape(own.shape)
        for cell in np.argwhere((claimed != UNKNOWN) & (own != claimed)).tolist():
            at = tuple(cell)
            ours, others = int(own[at]), int(claimed[at])
            falls_short = others > ours if side == "lower" else others < ours
            if solver.exact or not falls_short:
                msg = (
                    f"{label}, cell {at}: our {side} bound is {ours}, {solver.name} gives {others}"
                )
                raise Mismatch(msg)
            wrong += 1
    return wrong
