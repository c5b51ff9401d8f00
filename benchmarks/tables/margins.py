"""Margins: known counts, and decomposable models with the hypergeometric law."""

from __future__ import annotations

import numpy as np

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
    """Sum up the hypergeometric law of some decomposable models of czech6, and draw from it."""
    source = owned("czech6", plan.data)
    names = source.table.domain.names
    possible = list(decomposable_models(source.counts.ndim))
    rng = np.random.default_rng(plan.seed)
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
                    plan.seed,
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
        "seed": plan.seed,
    }
