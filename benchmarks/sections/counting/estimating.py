"""Estimated numbers of tables beside the exact ones."""

from __future__ import annotations

import math

import cellbounds as cb
from benchmarks.problems.cases import Case
from benchmarks.results import Record
from benchmarks.sections.counting import questions

ROUNDING = 1e-9  # of an estimate, relative to it


def measure(
    case: Case, draws: int, seed: int, budget: float, patience: float, exact: bool
) -> Record:
    """Estimate the number of tables for so many seconds, and count them if that is to be done."""
    try:
        found, times = questions.timed(
            lambda: cb.estimate_tables(case.release, draws=draws, rng=seed, seconds=patience),
            budget,
        )
    except (cb.TooMuchWork, cb.Unsettled) as problem:
        return {"case": case.name, "draws": draws, "seed": seed, "refused": str(problem)}
    record = {
        "case": case.name,
        "cells": case.table.domain.size,
        "draws": found.draws,
        "seed": seed,
        "patience": patience,
        "said": str(found),
        "log_estimate": found.log_value,
        "stated": found.relative_error,
        "effective": found.effective_size,
        "dead_ends": found.dead_ends,
        **times,
    }
    if not exact:
        return record
    counted = questions.count(case.release, budget)
    if "count" in counted:
        ratio = math.exp(found.log_value - math.log(int(counted["count"])))
        # Draws that all weigh the same have no error but rounding.
        error = max(found.relative_error, ROUNDING)
        record |= {"ratio": ratio, "apart": abs(ratio - 1) / error}
    return {**record, "count": counted}
