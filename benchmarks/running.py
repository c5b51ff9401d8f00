"""Running the sections one after the other: what fails is noted, and the next one goes on."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import TypeAlias

from benchmarks import machine
from benchmarks.errors import Mismatch, NotThere
from benchmarks.profiles import Profile
from benchmarks.results import Record, Results, Stamp

Task: TypeAlias = Callable[[Results], Record]
"""Measures one thing, given what has been measured so far."""

Tasks: TypeAlias = dict[str, Task]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the run.

    Parameters
    ----------
    name : str
        For ``--only``.
    title : str
        Its heading in the report.
    tasks : callable
        What it measures in a profile, by the names of the records.
    """

    name: str
    title: str
    tasks: Callable[[Profile], Tasks]


def stamp_of(profile: Profile) -> Stamp:
    """Say what a record is measured with: profile, seed, machine and versions."""
    return {
        "profile": profile.name,
        "seed": profile.seed,
        "machine": list(machine.described()),
        "versions": machine.versions(),
    }


def run(
    profile: Profile, results: Results, sections: Iterable[Section], *, resume: bool = False
) -> bool:
    """Measure sections, one record after the other; returns whether nothing failed.

    Parameters
    ----------
    profile : Profile
        What is measured, and how hard.
    results : Results
        Where the figures are kept.
    sections : iterable of Section
        In the order of the run.
    resume : bool, optional
        Leave what was measured with the same profile, machine and versions as it is.
    """
    stamp = stamp_of(profile)
    whole = True
    for section in sections:
        started = perf_counter()
        whole &= run_section(profile, results, section, stamp, resume=resume)
        took = perf_counter() - started
        print(f"{section.name}: {took:.1f} s", file=sys.stderr, flush=True)
    return whole


def run_section(
    profile: Profile, results: Results, section: Section, stamp: Stamp, *, resume: bool
) -> bool:
    """Measure one section; returns whether nothing in it failed."""
    try:
        tasks = section.tasks(profile)
    except Exception as problem:  # the other sections must not be lost; reported, and exit code 1
        results.begin(section.name, [], stamp)
        note(results, section.name, "the tables to measure", problem)
        return False
    results.begin(section.name, list(tasks), stamp)
    whole = True
    for name, task in tasks.items():
        if resume and results.is_fresh(section.name, name, stamp):
            continue
        print(f"{section.name}: {name}", file=sys.stderr, flush=True)
        started = perf_counter()
        try:
            record = task(results)
        except NotThere as remark:
            results.skip(section.name, name, str(remark))
        except Exception as problem:  # as above
            note(results, section.name, name, problem)
            whole = False
        else:
            took = perf_counter() - started
            results.put(section.name, name, record, took, stamp, load_average())
    return whole


def load_average() -> float | None:
    """Return the load of the last minute, where the system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def note(results: Results, section: str, name: str, problem: Exception) -> None:
    """Note a failure in the results, and print where it came from."""
    if isinstance(problem, Mismatch):
        said = f"the answers differ: {problem}"
    else:
        traceback.print_exception(problem, file=sys.stderr)
        said = f"{type(problem).__name__}: {problem}"
    print(f"{section}: {name} failed: {said}", file=sys.stderr, flush=True)
    results.fail(section, name, said)


def part(name: str, tasks: Tasks) -> Tasks:
    """Name a part of a section: its tasks begin with that name, and its records tell it."""

    def told(task: Task) -> Task:
        return lambda results: {"part": name, **task(results)}

    return {f"{name}: {key}": told(task) for key, task in tasks.items()}
