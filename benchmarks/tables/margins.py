"""Margins: known counts, and decomposable models with the hypergeometric law."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from time import perf_counter

import numpy as np

import cellbounds as cb
from benchmarks.comparison import Mismatch
from benchmarks.margins.graphs import decomposable_models
from benchmarks.margins.records import Record
from benchmarks.margins.tables import owned, publish
from benchmarks.tables import questions
from benchmarks.tables.apart import apart
from benchmarks.tables.cases import Case
from benchmarks.tables.plan import Plan


def measure(case: Case, plan: Plan) -> Record:
    """Count the tables of one release, sum up their posterior and draw.

    Raises
    ------
    Mismatch
        If the number of tables is known, and another.
    """
    budget, limit = plan.repeat_seconds, plan.limit
    counted = apart(questions.count, case.release, budget, limit=limit)
    if case.known is not None and "count" in counted and counted["count"] != str(case.known):
        msg = f"{case.name}: counted {counted['count']} tables, and there are {case.known}"
        raise Mismatch(msg)
    return {
        "case": case.name,
        "cells": case.table.domain.size,
        "total": case.table.total,
        "prior": str(case.prior),
        "count": counted,
        "posterior": apart(questions.posterior, case.release, case.prior, budget, limit=limit),
        "draws": apart(
            questions.draws,
            case.release,
            case.prior,
            plan.exact_draws,
            plan.seed,
            budget,
            limit=limit,
        ),
        "drawn": plan.exact_draws,
        "seed": plan.seed,
    }


def measure_models(plan: Plan) -> Record:
    """Sum up the hypergeometric law of decomposable models of czech6, and draw, in a process."""
    found = apart(models, plan.data, plan.models, plan.exact_draws, plan.seed, limit=plan.limit)
    return {"drawn": plan.exact_draws, "seed": plan.seed, **found}


def models(data: Path, count: int, drawn: int, seed: int) -> Record:
    """Ask a sample of all decomposable models for the posterior of all cells and for draws."""
    source = owned("czech6", data)
    names = source.table.domain.names
    possible = list(decomposable_models(source.counts.ndim))
    chosen = np.random.default_rng(seed).choice(len(possible), size=count, replace=False)
    exact = 0
    summing: list[float] = []
    drawing: list[float] = []
    for place in np.sort(chosen).tolist():
        cliques, _ = possible[place]
        release = publish(source.table, [[names[axis] for axis in one] for one in cliques])
        if not summing:
            questions.summed_up(release, "hypergeometric")  # the first call pays for imports
        started = perf_counter()
        answer = questions.summed_up(release, "hypergeometric")
        summing.append(perf_counter() - started)
        exact += answer.exact
        if not answer.exact:
            continue
        started = perf_counter()
        cb.sample(release, drawn, prior="hypergeometric", method="exact", rng=seed)
        drawing.append(perf_counter() - started)
    return {
        "table": source.label,
        "models": count,
        "possible": len(possible),
        "exact": exact,
        "posterior": spread(summing),
        "draws": spread(drawing),
    }


def spread(seconds: list[float]) -> Record:
    """Sum up times."""
    return {
        "seconds": math.fsum(seconds),
        "median": statistics.median(seconds),
        "longest": max(seconds),
    }
