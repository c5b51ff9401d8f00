"""Exact draws, chains and importance sampling on the same releases."""

from __future__ import annotations

import cellbounds as cb
from benchmarks.problems.cases import Case
from benchmarks.results import Record
from benchmarks.sections.counting.questions import agreement, summed_up, timed
from cellbounds.results import Posterior

METHODS = ("exact", "chain", "importance")


def measure(case: Case, size: int, seed: int, budget: float, patience: float) -> Record:
    """Draw by each method for so many seconds at most, and compare its means with exact ones."""
    exact, _ = summed_up(case.release, case.prior)
    found: Record = {
        "case": case.name,
        "cells": case.table.domain.size,
        "prior": str(case.prior),
        "size": size,
        "seed": seed,
        "patience": patience,
    }
    if not exact.exact:
        return {**found, "refused": exact.notes[0]}
    drawn = {name: by_method(case, name, size, seed, budget, patience, exact) for name in METHODS}
    return {**found, **drawn}


def by_method(
    case: Case,
    method: str,
    size: int,
    seed: int,
    budget: float,
    patience: float,
    exact: Posterior,
) -> Record:
    """Time draws by one method; the diagnostics are part of the call."""
    try:
        drawn, times = timed(
            lambda: cb.sample(
                case.release,
                size,
                prior=case.prior,
                method=method,
                rng=seed,
                seconds=patience,
            ),
            budget,
        )
    except (cb.TooMuchWork, cb.Unsettled) as problem:
        return {"refused": str(problem)}
    return {
        **times,
        **agreement(drawn, exact.mean),
        "drawn": len(drawn),
        "connected": drawn.connected,
        "notes": list(drawn.notes),
    }
