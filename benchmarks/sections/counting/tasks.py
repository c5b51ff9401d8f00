"""Document 002's posterior, counting, draws and estimates, each question in its own process."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measuring.apart import apart
from benchmarks.plans.counting import LARGE
from benchmarks.problems import cases, instances
from benchmarks.problems.cases import Case
from benchmarks.profiles import Profile
from benchmarks.running import Task, Tasks, part
from benchmarks.sections.counting import (
    documents_chain,
    drawing,
    estimating,
    growing,
    listing,
    margins,
    reshapes,
)
from benchmarks.sections.counting.listing import Question

RESHAPES, MARGINS, GROWTH, LISTING = "reshapes", "margins", "growth", "listing"
DRAWS, ESTIMATES = "draws", "estimates"
COMPARED_DIGITS = 2


def posterior(profile: Profile) -> Tasks:
    """Document 002's examples, each in a process of its own."""
    plan = profile.counting

    def of(case: Case) -> Task:
        given = (case, plan.documents_draws, profile.seed, plan.repeat_seconds)
        return lambda _: apart(documents_chain.measure, *given, limit=plan.limit)

    return {case.name: of(case) for case in among(cases.document002(), plan.documents)}


def counting(profile: Profile) -> Tasks:
    """Numbers of tables: of reshapes, of margins, of tables that grow, and beside programs."""
    return {
        **part(RESHAPES, table9(profile)),
        **part(MARGINS, published_margins(profile)),
        **part(GROWTH, growth(profile)),
        **part(LISTING, listed(profile)),
    }


def sampling(profile: Profile) -> Tasks:
    """Draws by each method, and estimated numbers of tables."""
    return {**part(DRAWS, draws(profile)), **part(ESTIMATES, estimates(profile))}


def table9(profile: Profile) -> Tasks:
    """The reshapes of Table 9 at several numbers of digits."""
    plan = profile.counting

    def of(instance: instances.Instance) -> Task:
        return lambda _: reshapes.measure(instance, profile)

    return {
        f"{instance.name}, {instance.digits}": of(instance)
        for instance in instances.table9(profile.data, plan.digits)
        if instance.name.startswith(plan.reshapes)
        and (instance.total <= LARGE or instance.digits in plan.long_digits)
    }


def published_margins(profile: Profile) -> Tasks:
    """Margins whose tables are counted, and decomposable models."""

    def of(case: Case) -> Task:
        return lambda _: margins.measure(case, profile)

    chosen = among(cases.margins(profile.data, profile.seed), profile.counting.compared)
    tasks: Tasks = {case.name: of(case) for case in chosen}
    return {**tasks, "models": lambda _: margins.measure_models(profile)}


def growth(profile: Profile) -> Tasks:
    """Two-way tables that grow."""
    plan = profile.counting

    def of(shape: tuple[int, int]) -> Task:
        title = " x ".join(map(str, shape))
        return lambda _: growing.measure(title, growing.larger(shape, plan.doublings), profile)

    wider: Tasks = {
        "2 x J": lambda _: growing.measure("2 x J", growing.wider(plan.doublings), profile)
    }
    return wider | {str(shape): of(shape) for shape in plan.shapes}


def listed(profile: Profile) -> Tasks:
    """Small releases, beside 4ti2 and LattE."""

    def of(question: Question) -> Task:
        return lambda _: listing.measure(question, profile)

    return {question.name: of(question) for question in listing.questions(profile)}


def draws(profile: Profile) -> Tasks:
    """Exact draws, chains and importance sampling."""
    plan = profile.counting

    def of(case: Case) -> Task:
        given = (case, plan.compared_draws, profile.seed, plan.repeat_seconds, plan.patience)
        return lambda _: apart(drawing.measure, *given, limit=plan.limit)

    compared = [
        *cases.document002(),
        cases.delinquent(),
        *cases.reshapes(profile.data, [COMPARED_DIGITS]),
        *cases.margins(profile.data, profile.seed),
        cases.czech6_chain(profile.data),
    ]
    return {case.name: of(case) for case in among(compared, plan.compared)}


def estimates(profile: Profile) -> Tasks:
    """Estimated counts beside exact ones, and where there are no exact ones."""
    plan = profile.counting

    def of(case: Case, exact: bool) -> Task:
        given = (case, plan.estimate_draws, profile.seed, plan.repeat_seconds, plan.patience)
        return lambda _: apart(estimating.measure, *given, exact, limit=plan.limit)

    counted = [
        *cases.document002(),
        cases.delinquent(),
        *cases.reshapes(profile.data, [COMPARED_DIGITS]),
        *cases.margins(profile.data, profile.seed),
    ]
    tasks = {case.name: of(case, True) for case in among(counted, plan.estimated)}
    alone = [cases.czech6_all(profile.data, ways) for ways in (2, 3)]
    return tasks | {case.name: of(case, False) for case in among(alone, plan.estimated)}


def among(found: Sequence[Case], names: Sequence[str] | None) -> list[Case]:
    """Keep the cases with these names."""
    return [case for case in found if names is None or case.name in names]
