"""How the cost of bounds from margins grows with the number of cells."""

from __future__ import annotations

import numpy as np

import cellbounds as cb
from benchmarks.measuring.apart import apart
from benchmarks.problems.lookalikes import Recipe, weights_of
from benchmarks.problems.owned import SKEW, SKEWED_MEAN, Owned, all_margins
from benchmarks.profiles import Profile
from benchmarks.results import Record
from benchmarks.running import Task, Tasks, part
from benchmarks.sections.counting.questions import timed
from benchmarks.sections.margins import decomposable
from benchmarks.sections.scale.sparse import chain

CHAIN, CUBES, SPARSE = "chain, dense", "cubes, dense", "chain, sparse"
PEOPLE = 20_000
SPREAD = 0.6, 0.3
LEVELS = 10


def cells(profile: Profile) -> Tasks:
    """Three series: a decomposable chain, cubes, and sparse tables."""
    plan, seed = profile.cells, profile.seed

    def chained(variables: int) -> Task:
        return lambda _: decomposable.measure(
            binary(variables, seed), repeat_seconds=plan.repeat_seconds
        )

    def cubed(levels: int) -> Task:
        given = (levels, seed, plan.repeat_seconds)
        return lambda _: {"cells": levels**3, **apart(cube, *given, limit=plan.limit)}

    def listed(power: int) -> Task:
        shape = (LEVELS,) * power
        given = (shape, plan.occupied, seed, plan.asked)
        return lambda _: apart(chain, *given, limit=plan.limit)

    return {
        **part(CHAIN, {f"2^{k} cells": chained(k) for k in plan.variables}),
        **part(CUBES, {f"{k}x{k}x{k}": cubed(k) for k in plan.cubes}),
        **part(SPARSE, {f"10^{k} cells": listed(k) for k in plan.powers}),
    }


def binary(variables: int, seed: int) -> Owned:
    """Draw a table of so many binary variables with main and pairwise effects."""
    rng = np.random.default_rng([seed, variables])
    recipe = Recipe((2,) * variables, PEOPLE, *SPREAD)
    counts = rng.multinomial(PEOPLE, weights_of(recipe, rng)).reshape(recipe.shape)
    return Owned(f"2^{variables}", cb.read_table(counts))


def cube(levels: int, seed: int, repeat_seconds: float) -> Record:
    """Bound every cell of a skewed cube from all its two-way margins."""
    rng = np.random.default_rng([seed, levels])
    shape = (levels,) * 3
    weights = np.exp(rng.normal(scale=SKEW, size=shape))
    table = cb.read_table(rng.poisson(SKEWED_MEAN * weights / weights.mean()))
    release = all_margins(table, 2)
    answer, times = timed(lambda: cb.bounds(release), repeat_seconds)
    return {
        "method": answer.method,
        "evidence": answer.evidence.value,
        **times,
    }
