"""The sections of a run: what each measures, as tasks by the name of their record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from benchmarks import instances
from benchmarks.margins.records import Record
from benchmarks.tables import (
    cases,
    counting,
    documents_chain,
    drawing,
    estimating,
    growing,
    margins,
)
from benchmarks.tables.apart import apart
from benchmarks.tables.cases import Case
from benchmarks.tables.plan import Plan

Task: TypeAlias = Callable[[], Record]
Tasks: TypeAlias = dict[str, Task]

COMPARED_DIGITS = 2


def document002(plan: Plan) -> Tasks:
    """Document 002's examples, each in a process of its own."""

    def of(case: Case) -> Task:
        given = (case, plan.documents_draws, plan.seed, plan.repeat_seconds)
        return lambda: apart(documents_chain.measure, *given, limit=plan.limit)

    return numbered({case.name: of(case) for case in cases.document002()})


def table9(plan: Plan) -> Tasks:
    """The reshapes of Table 9 at several numbers of digits."""

    def of(instance: instances.Instance) -> Task:
        return lambda: counting.measure(instance, plan)

    return numbered(
        {
            f"{instance.name}, {instance.digits}": of(instance)
            for instance in instances.table9(plan.digits)
            if instance.name.startswith(plan.reshapes)
        }
    )


def published_margins(plan: Plan) -> Tasks:
    """Margins whose tables are counted, decomposable models, and growing two-way tables."""

    def of(case: Case) -> Task:
        return lambda: margins.measure(case, plan)

    chosen = among(cases.margins(plan.data, plan.seed), plan.compared)
    tasks: Tasks = {case.name: of(case) for case in chosen}
    tasks["models"] = lambda: margins.measure_models(plan)
    return numbered(tasks)


def growth(plan: Plan) -> Tasks:
    """Two-way tables that grow."""

    def of(shape: tuple[int, int]) -> Task:
        title = " x ".join(map(str, shape))
        return lambda: growing.measure(title, growing.larger(shape, plan.doublings), plan)

    tasks: Tasks = {"2 x J": lambda: growing.measure("2 x J", growing.wider(plan.doublings), plan)}
    return numbered(tasks | {str(shape): of(shape) for shape in plan.shapes})


def draws(plan: Plan) -> Tasks:
    """Exact draws, chains and importance sampling."""

    def of(case: Case) -> Task:
        given = (case, plan.compared_draws, plan.seed, plan.repeat_seconds)
        return lambda: apart(drawing.measure, *given, limit=plan.limit)

    compared = [
        *cases.document002(),
        cases.delinquent(),
        *cases.reshapes([COMPARED_DIGITS]),
        *cases.margins(plan.data, plan.seed),
        cases.czech6_chain(plan.data),
    ]
    return numbered({case.name: of(case) for case in among(compared, plan.compared)})


def estimates(plan: Plan) -> Tasks:
    """Estimated counts beside exact ones, and where there are no exact ones."""

    def of(case: Case, exact: bool) -> Task:
        given = (case, plan.estimate_draws, plan.seed, plan.repeat_seconds, exact)
        return lambda: apart(estimating.measure, *given, limit=plan.limit)

    counted = [
        *cases.document002(),
        cases.delinquent(),
        *cases.reshapes([COMPARED_DIGITS]),
        *cases.margins(plan.data, plan.seed),
    ]
    tasks = {case.name: of(case, True) for case in among(counted, plan.estimated)}
    alone = [cases.czech6_all(plan.data, ways) for ways in (2, 3)]
    tasks |= {case.name: of(case, False) for case in among(alone, plan.estimated)}
    return numbered(tasks)


def among(found: Sequence[Case], names: Sequence[str] | None) -> list[Case]:
    """Keep the cases with these names."""
    return [case for case in found if names is None or case.name in names]


def numbered(tasks: Tasks) -> Tasks:
    """Put a number before each name: records are kept in the order of their names."""
    return {f"{number:02d} {name}": task for number, (name, task) in enumerate(tasks.items())}


SECTIONS: dict[str, Callable[[Plan], Tasks]] = {
    "document002": document002,
    "counting": table9,
    "margins": published_margins,
    "growth": growth,
    "draws": draws,
    "estimates": estimates,
}
"""In the order of a run."""
