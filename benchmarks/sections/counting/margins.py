"""Margins: known counts, and decomposable models with the hypergeometric law."""

from __future__ import annotations

import numpy as np

from benchmarks.errors import Mismatch
from benchmarks.measuring.apart import apart
from benchmarks.problems.cases import Case
from benchmarks.problems.graphs import decomposable_models
from benchmarks.problems.owned import owned, publish
from benchmarks.profiles import Profile
from benchmarks.results import Record
from benchmarks.sections.counting import questions


def measure(case: Case, profile: Profile) -> Record:
    """Count the tables of one release, sum up their posterior and draw.

    Raises
    ------
    Mismatch
        If the number of tables is known, and another.
    """
    plan = profile.counting
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
            profile.seed,
            budget,
            limit=limit,
        ),
        "drawn": plan.exact_draws,
        "seed": profile.seed,
    }


def measure_models(profile: Profile) -> Record:
    """Sum up the hypergeometric law of some decomposable models of czech6, and draw from it."""
    plan = profile.counting
    source = owned("czech6", profile.data)
    names = source.table.domain.names
    possible = list(decomposable_models(source.counts.ndim))
    rng = np.random.default_rng(profile.seed)
    chosen = rng.choice(len(possible), size=plan.models, replace=False)
    answers = []
    for place in chosen.tolist():
        cliques = [[names[axis] for axis in clique] for clique in possible[place][0]]
        release = publish(source.table, cliques)
        given = (release, "hypergeometric")
        answers.append(
            {
                "cliques": ["".join(str(axis + 1) for axis in one) for one in possible[place][0]],
                "posterior": apart(
                    questions.posterior, *given, plan.repeat_seconds, limit=plan.model_limit
                ),
                "draws": apart(
                    questions.draws,
                    *given,
                    plan.exact_draws,
                    profile.seed,
                    plan.repeat_seconds,
                    limit=plan.model_limit,
                ),
            }
        )
    return {
        "table": source.label,
        "models": answers,
        "possible": len(possible),
        "drawn": plan.exact_draws,
        "seed": profile.seed,
    }
