"""Reshapes of Table 9: how many tables, their posterior and exact draws, each question apart."""

from __future__ import annotations

import cellbounds as cb
from benchmarks.errors import Mismatch
from benchmarks.measuring.apart import apart
from benchmarks.measuring.measurement import best_of
from benchmarks.problems.cases import reshaped
from benchmarks.problems.instances import Instance
from benchmarks.profiles import Profile
from benchmarks.results import Record
from benchmarks.sections.counting import direct, questions

GAMMA = cb.priors.GammaPoisson(2, "1/2")
"""With a shape of 1 and a known N it would be the uniform prior."""


def measure(instance: Instance, profile: Profile) -> Record:
    """Ask everything of one reshape, each question in a process of its own.

    Raises
    ------
    Mismatch
        If the number of tables is not what the definition gives.
    """
    plan = profile.counting
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
        profile.seed,
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
        "seed": profile.seed,
        "gamma": str(GAMMA),
    }
