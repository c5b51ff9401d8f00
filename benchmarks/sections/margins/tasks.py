"""Small tables, decomposable and other models, and large tables under a budget."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.problems.owned import Owned, cubes, owned
from benchmarks.profiles import Profile
from benchmarks.running import Task, Tasks, part
from benchmarks.sections.margins import asked_solvers, budgeted, decomposable, models, small

SMALL, CHAIN, MODELS, BUDGETED, ASKED = "small", "chain", "models", "budgeted", "solvers"
HOUR = "hour"


def margins(profile: Profile) -> Tasks:
    """Everything that takes minutes."""
    return {
        **part(SMALL, small_tables(profile)),
        **part(CHAIN, decomposable_chain(profile)),
        **part(MODELS, czech6_models(profile)),
        **part(BUDGETED, cps8(profile, profile.margins.budgets)),
    }


def hour(profile: Profile) -> Tasks:
    """All margins of one size of cps8 and of nltcs16, and what the solvers make of cps8."""
    seconds = profile.hour.nltcs16_budget
    tasks = cps8(profile, profile.hour.budgets)
    if seconds is not None:
        tasks["nltcs16, 2-way"] = lambda _: budgeted.measure(
            "nltcs16", 2, seconds, profile.data, profile.seed
        )
    return {
        **part(BUDGETED, tasks),
        **part(ASKED, cps8_solvers(profile)),
    }


def small_tables(profile: Profile) -> Tasks:
    """Every three-way margin of czech6, every two-way margin of random 4 x 4 x 4 tables."""
    plan = profile.margins

    def of(source: Owned, ways: int) -> Task:
        return lambda _: small.measure(source, ways, plan, profile.seed)

    tasks = {"czech6": of(owned("czech6", profile.data), 3)}
    for source in cubes(profile.seed, *plan.cubes):
        tasks[source.label] = of(source, 2)
    return tasks


def decomposable_chain(profile: Profile) -> Tasks:
    """A chain of three-way margins of nltcs16."""
    seconds = profile.margins.repeat_seconds
    return {
        "nltcs16": lambda _: decomposable.measure(
            owned("nltcs16", profile.data), repeat_seconds=seconds
        ),
    }


def czech6_models(profile: Profile) -> Tasks:
    """Decomposable and other hierarchical models of czech6."""
    plan, data, seed = profile.margins, profile.data, profile.seed
    return {
        "decomposable": lambda _: models.measure_decomposable(
            "czech6", data, plan.decomposable, seed
        ),
        "other": lambda _: models.measure_others("czech6", data, plan.others, seed),
    }


def cps8(profile: Profile, budgets: Mapping[int, float]) -> Tasks:
    """All margins of one size of the eight-way table, under a budget."""

    def of(ways: int, seconds: float) -> Task:
        return lambda _: budgeted.measure("cps8", ways, seconds, profile.data, profile.seed)

    return {f"cps8, {ways}-way": of(ways, seconds) for ways, seconds in budgets.items()}


def cps8_solvers(profile: Profile) -> Tasks:
    """Three cells of the eight-way table, one optimisation per bound."""
    plan = profile.hour
    name = f"cps8, {plan.peer_ways}-way"
    return {
        name: lambda results: asked_solvers.measure(
            "cps8",
            plan.peer_ways,
            plan.solver_seconds,
            profile.data,
            profile.seed,
            results.get(HOUR, f"{BUDGETED}: {name}"),
        )
    }
