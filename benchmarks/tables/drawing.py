"""Exact draws, chains and importance sampling on the same releases."""

from __future__ import annotations

import cellbounds as cb
from benchmarks.margins.records import Record
from benchmarks.tables.cases import Case
from benchmarks.tables.questions import agreement, summed_up, timed

METHODS = ("exact", "chain", "importance")
PATIENCE = 20.0  # seconds; what was drawn by then counts


def measure(case: Case, size: int, seed: int, budget: float) -> Record:
    """Draw by each method, and compare its means with the exact ones."""
    exact, _ = summed_up(case.release, case.prior)
    found: Record = {
        "case": case.name,
        "cells": case.table.domain.size,
        "prior": str(case.prior),
        "size": size,
        "seed": seed,
    }
    if not exact.exact:
        return {**found, "refused": exact.notes[0]}
    return {**found, **{name: by_method(case, name, size, seed, budget, exact) for name in METHODS}}


def by_method(
    case: Case, method: str, size: int, seed: int, budget: float, exact: cb.Posterior
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
                seconds=PATIENCE,
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
