"""Tables 9, 10 and 11 of document 004 beside the peers, and the series that grow."""

from __future__ import annotations

from dataclasses import asdict

from benchmarks.measuring.measurement import KERNEL, Measurement, best_of, measured
from benchmarks.plans.rates import Budget
from benchmarks.problems import instances, publications
from benchmarks.problems.instances import Instance
from benchmarks.profiles import Profile
from benchmarks.results import Record
from benchmarks.running import Task, Tasks
from benchmarks.sections.rates import growing
from benchmarks.sections.rates.comparing import compare

TABLE9, TABLE10, TABLE11, SMALLEST = (
    "Table 9: real tables",
    "Table 10: counts uniform on 1..25",
    "Table 11: mostly large counts",
    "The smallest table",
)


def comparisons(profile: Profile) -> Tasks:
    """Every instance, by every method."""
    plan, seed = profile.rates, profile.seed
    tasks: Tasks = {SMALLEST: lambda _: recorded(smallest(plan.table9.repeat_seconds))}

    def of(title: str, instance: Instance, effort: Budget) -> Task:
        return lambda _: recorded(compare(title, instance, effort, seed), effort)

    for title, tables, effort in (
        (TABLE9, instances.table9(profile.data, plan.table9_digits), plan.table9),
        (TABLE10, instances.table10(seed, plan.table10_shapes), plan.table10),
        (TABLE11, instances.table11(seed, plan.table11_shapes), plan.table11),
    ):
        for table in tables:
            tasks[f"{title}: {table.name}, {table.digits}"] = of(title, table, effort)
    return tasks


def smallest(repeat_seconds: float) -> list[Measurement]:
    """Measure a table of two rows and two columns: what a call costs whatever is asked."""
    publications.warm_up()
    instance = Instance("2x2", instances.SMALLEST, digits=1)
    release = publications.build_release(publications.publish(instance))
    _, seconds = best_of(lambda: publications.kernel(release), budget=repeat_seconds)
    return [measured(SMALLEST, instance, KERNEL, seconds)]


def series(profile: Profile) -> Tasks:
    """Every point of every series."""

    def of(title: str, instance: Instance) -> Task:
        return lambda _: recorded(growing.measure_point(title, instance, profile.growth))

    return {
        f"{title}: {instance.name}": of(title, instance)
        for title, instance in growing.points(profile.growth, profile.seed)
    }


def recorded(rows: list[Measurement], effort: Budget | None = None) -> Record:
    """Write measurements down, with the limits that the solvers had."""
    return {
        "measurements": [asdict(row) for row in rows],
        "solver_seconds": effort.solver_seconds if effort else None,
    }
