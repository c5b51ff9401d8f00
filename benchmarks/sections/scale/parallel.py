"""A study of designs of rates by one process and by several, in the library and as a command."""

from __future__ import annotations

import json
import subprocess
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import cellbounds as cb
from benchmarks.errors import Mismatch
from benchmarks.problems import lookalikes
from benchmarks.problems.owned import owned
from benchmarks.profiles import Profile
from benchmarks.results import Record
from benchmarks.running import Tasks
from benchmarks.sections.scale.starting import command

TABLE = "cps8"
LIBRARY, COMMAND = "executor=", "--jobs"
VERDICTS = {0, 1, 3}  # exit codes of a study that was carried out


def parallel(profile: Profile) -> Tasks:
    """The study through the library, and as a command."""
    return {
        LIBRARY: lambda _: measure_library(profile),
        COMMAND: lambda _: measure_command(profile),
    }


def givens_of(profile: Profile, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the sets of predictors that are tried; the last variable is the response."""
    most = profile.parallel.most_givens
    sizes = range(len(names) if most is None else most + 1)
    return [chosen for size in sizes for chosen in combinations(names[:-1], size)]


def measure_library(profile: Profile) -> Record:
    """Run the study by one process and by several, in turn; starting them is part of the time.

    Raises
    ------
    Mismatch
        If a design is judged differently.
    """
    plan = profile.parallel
    source = owned(TABLE, profile.data)
    names = source.table.domain.names
    givens = givens_of(profile, names)

    def study(workers: int) -> tuple[cb.disclosure.exploring.Frontier, float]:
        started = perf_counter()
        if workers == 1:
            found = cb.explore(source.table, response=names[-1], givens=givens, digits=plan.digits)
        else:
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
                found = cb.explore(
                    source.table,
                    response=names[-1],
                    givens=givens,
                    digits=plan.digits,
                    budget=cb.Budget(workers=executor),
                )
        return found, perf_counter() - started

    times: dict[int, list[float]] = {1: [], plan.workers: []}
    judged = None
    for _ in range(plan.rounds):
        for workers, taken in times.items():
            found, seconds = study(workers)
            taken.append(seconds)
            judged = judged or found.designs
            if found.designs != judged:
                msg = f"{source.label}: {workers} processes judge designs differently"
                raise Mismatch(msg)
    return recorded(source.label, len(judged or ()), profile, times)


def measure_command(profile: Profile) -> Record:
    """Run the study as a command with one job and with several, in turn.

    Raises
    ------
    Mismatch
        If the answers differ.
    """
    plan = profile.parallel
    source = owned(TABLE, profile.data)
    names = source.table.domain.names
    givens = givens_of(profile, names)
    times: dict[int, list[float]] = {1: [], plan.workers: []}
    answers: list[list[Record]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = profile.data / f"{TABLE}.csv"
        if not path.exists():
            path = Path(folder) / f"{TABLE}.csv"
            lookalikes.write_csv(lookalikes.table(TABLE), path)
            names = tuple(f"v{k}" for k in range(1, len(names) + 1))
            givens = givens_of(profile, names)
        call = [*command(), "explore", str(path), "--response", names[-1], "--format", "json"]
        call += ["--digits", ",".join(map(str, plan.digits))]
        call += [part for chosen in givens for part in ("--given", ",".join(chosen))]
        for _ in range(plan.rounds):
            for jobs, taken in times.items():
                started = perf_counter()
                answers.append(designs_of([*call, "--jobs", str(jobs)]))
                taken.append(perf_counter() - started)
                if answers[-1] != answers[0]:
                    msg = f"{source.label}: {jobs} jobs judge designs differently"
                    raise Mismatch(msg)
    return recorded(source.label, len(answers[0]), profile, times)


def designs_of(call: list[str]) -> list[Record]:
    """Run a study as a command; returns its designs without the time they took."""
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode not in VERDICTS:
        msg = f"cellbounds explore ended with status {done.returncode}: {done.stderr.strip()}"
        raise RuntimeError(msg)
    designs: list[Record] = json.loads(done.stdout)["designs"]
    return [{key: one[key] for key in one if key != "seconds"} for one in designs]


def recorded(label: str, designs: int, profile: Profile, times: dict[int, list[float]]) -> Record:
    """Write the shortest times down."""
    return {
        "table": label,
        "designs": designs,
        "digits": list(profile.parallel.digits),
        "all_subsets": profile.parallel.most_givens is None,
        "workers": profile.parallel.workers,
        "rounds": profile.parallel.rounds,
        "seconds": {str(workers): min(taken) for workers, taken in times.items()},
    }
