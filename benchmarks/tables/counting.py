"""Reshapes of Table 9: how many tables, their posterior and exact draws, each question apart."""

from __future__ import annotations

import cellbounds as cb
from benchmarks.comparison import Mismatch
from benchmarks.instances import Instance
from benchmarks.margins.records import Record
from benchmarks.measurement import best_of
from benchmarks.tables import direct, questions
from benchmarks.tables.apart import apart
from benchmarks.tables.cases import reshaped
from benchmarks.tables.plan import Plan

GAMMA = cb.GammaPoisson(2, "1/2")
"""With a shape of 1 and a known N it would be the uniform prior."""


def measure(instance: Instance, plan: Plan) -> Record:
    """Ask everything of one reshape, each question in a process of its own.

    Raises
    ------
    Mismatch
        If the number of tables is not what the definition gives.
    """
    case = reshaped(instance)
    release, budget = case.release, plan.repeat_seconds
    counted = apart(questions.count, release, budget, limit=plan.limit)
    right, seconds = best_of(lambda: direct.count_tables(instance), budget=budget)
    if "count" in counted and counted["count"] != str(right):
        msg = f"{case.name}: counted {counted['count']} tables, the definition gives {right}"
        raise Mismatch(msg)
    asked = {
        f"posterior, {name}": apart(questions.posterior, release, prior, budget, limit=plan.limit)
        for name, prior in (("uniform", "uniform"), ("Gamma", GAMMA))
    }
    drawn = apart(
        questions.draws,
        release,
        "uniform",
        plan.exact_draws,
        plan.seed,
        budget,
        limit=plan.limit,
    )
    return {
        "case": case.name,
        "rows": instance.rows,
        "columns": instance.columns,
        "total": instance.total,
        "right": str(right),
        "direct_seconds": seconds,
        "count": counted,
        **asked,
        "draws": drawn,
        "drawn": plan.exact_draws,
        "seed": plan.seed,
        "gamma": str(GAMMA),
    }
