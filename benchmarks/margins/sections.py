"""The sections of a run: what each measures, as tasks by the name of their record.

A task is given what has been measured so far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from benchmarks.margins import asked_solvers, budgeted, decomposable, models, small
from benchmarks.margins.plan import Plan
from benchmarks.margins.records import Record, Records
from benchmarks.margins.tables import Owned, cubes, owned

Task: TypeAlias = Callable[[Records], Record]
Tasks: TypeAlias = dict[str, Task]


def small_tables(plan: Plan) -> Tasks:
    """Every three-way margin of czech6, every two-way margin of random 4 x 4 x 4 tables."""

    def of(source: Owned, ways: int) -> Task:
        return lambda _: small.measure(
            source,
            ways,
            repeat_seconds=plan.repeat_seconds,
            solver_seconds=plan.solver_seconds,
        )

    tasks = {"czech6": of(owned("czech6", plan.data), 3)}
    for source in cubes(plan.seed, *plan.cubes):
        tasks[source.label] = of(source, 2)
    return tasks


def decomposable_chain(plan: Plan) -> Tasks:
    """A chain of three-way margins of nltcs16."""
    seconds = plan.repeat_seconds
    return {
        "nltcs16": lambda _: decomposable.measure("nltcs16", plan.data, repeat_seconds=seconds),
    }


def czech6_models(plan: Plan) -> Tasks:
    """Decomposable and other hierarchical models of czech6."""
    data, seed = plan.data, plan.seed
    return {
        "decomposable": lambda _: models.measure_decomposable(
            "czech6", data, plan.decomposable, seed
        ),
        "other": lambda _: models.measure_others("czech6", data, plan.others, seed),
    }


def cps8(plan: Plan) -> Tasks:
    """All margins of one size of the eight-way table, under a budget."""

    def of(ways: int) -> Task:
        seconds = plan.budgets[ways]
        return lambda _: budgeted.measure("cps8", ways, seconds, plan.data, plan.seed)

    return {f"{ways}-way": of(ways) for ways in plan.ways}


def cps8_solvers(plan: Plan) -> Tasks:
    """Three cells of the eight-way table, one optimisation per bound."""

    def of(ways: int) -> Task:
        return lambda records: asked_solvers.measure(
            "cps8",
            ways,
            plan.solver_seconds,
            plan.data,
            plan.seed,
            records.get("cps8", f"{ways}-way"),
        )

    return {f"{ways}-way": of(ways) for ways in plan.peer_ways}


def nltcs16(plan: Plan) -> Tasks:
    """All two-way margins of the sixteen-way table, under a budget."""
    seconds = plan.nltcs16_budget
    return {"2-way": lambda _: budgeted.measure("nltcs16", 2, seconds, plan.data, plan.seed)}


SECTIONS: dict[str, Callable[[Plan], Tasks]] = {
    "small": small_tables,
    "decomposable": decomposable_chain,
    "czech6-models": czech6_models,
    "cps8": cps8,
    "cps8-solvers": cps8_solvers,
    "nltcs16-2way": nltcs16,
}
"""In the order of a run; the solvers' claims are compared with what cps8 found before."""
