"""Counting beside programs that list or count all tables: 4ti2's zsolve, LattE's count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import cellbounds as cb
from benchmarks.errors import Mismatch, NotThere
from benchmarks.measuring.measurement import best_of
from benchmarks.peers import listing, programs
from benchmarks.peers.listing import Listed
from benchmarks.peers.programs import Program
from benchmarks.problems import cases, instances
from benchmarks.problems.instances import Instance
from benchmarks.problems.owned import all_margins, cubes
from benchmarks.profiles import Profile
from benchmarks.results import Record
from cellbounds.results import Bounds

LISTED_RESHAPES = {("koch4", 3), ("koch4", 2), ("haberman3", 3)}
TINY = Instance("2x2 rates of 7 people", np.array([[2, 1], [1, 3]]), digits=1)
TWO_WAY = (((3, 3), 50), ((3, 4), 50), ((4, 4), 50))


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A release, and the same as a program for others to list the tables of."""

    name: str
    release: cb.Release
    program: Program


def questions(profile: Profile) -> list[Question]:
    """Return small releases: from a few tables to millions."""
    data, seed = profile.data, profile.seed
    asked = [
        Question(case.name, case.release, programs.of_margins(case.release))
        for case in (cases.document002()[0], *cases.margins(data, seed)[:2])
    ]
    for shape, total in TWO_WAY:
        table = cb.read_table(cases.random_table(shape, total, seed))
        release = all_margins(table, 1)
        name = f"{shape[0]}x{shape[1]} margins, N = {total}"
        asked.append(Question(name, release, programs.of_margins(release)))
    cube = cubes(seed, 0, 1)[0]
    release = all_margins(cube.table, 2)
    asked.append(Question(f"{cube.label}, 2-way", release, programs.of_margins(release)))
    reshapes = [
        instance
        for instance in instances.table9(data, (2, 3))
        if (instance.name, instance.digits) in LISTED_RESHAPES
    ]
    for instance in (TINY, *reshapes):
        case = cases.reshaped(instance)
        asked.append(Question(case.name, case.release, programs.of_rates(instance)))
    names = profile.counting.listed
    return [one for one in asked if names is None or one.name in names]


def measure(question: Question, profile: Profile) -> Record:
    """Count the tables and bound the cells, by ours and by each program.

    Raises
    ------
    Mismatch
        If a number of tables or a bound differs.
    """
    plan = profile.counting
    found: Record = {"case": question.name, "cells": question.program.cells}
    try:
        counted, seconds = best_of(
            lambda: cb.count_tables(question.release), budget=plan.repeat_seconds
        )
        found |= {"count": str(counted), "count_seconds": seconds}
    except cb.TooMuchWork as problem:
        found["refused"] = str(problem)
    answer, seconds = best_of(lambda: cb.bounds(question.release), budget=plan.repeat_seconds)
    found |= {"bounds_seconds": seconds, "limit": plan.listing_limit, "peers": {}}
    peers: dict[str, Callable[[Program, float], Listed]] = {
        "4ti2": listing.zsolve,
        "LattE": listing.latte_count,
    }
    for name, peer in peers.items():
        try:
            listed = peer(question.program, plan.listing_limit)
        except NotThere as remark:
            found["peers"][name] = {"missing": str(remark)}
            continue
        require_equal(question.name, name, found.get("count"), answer, listed)
        found["peers"][name] = {
            "seconds": listed.seconds,
            "tables": None if listed.tables is None else str(listed.tables),
        }
    return found


def require_equal(
    label: str, peer: str, counted: str | None, answer: Bounds, listed: Listed
) -> None:
    """Raise `Mismatch` if a program found another number of tables, or other bounds."""
    if listed.tables is None:
        return
    if counted is not None and counted != str(listed.tables):
        msg = f"{label}: counted {counted} tables, {peer} finds {listed.tables}"
        raise Mismatch(msg)
    if listed.lower is None or listed.upper is None:
        return
    for side, own, other in (
        ("lower", answer.lower, listed.lower),
        ("upper", answer.upper, listed.upper),
    ):
        if not np.array_equal(np.asarray(own).ravel(), other):
            msg = f"{label}: the {side} bounds differ from the extremes of what {peer} lists"
            raise Mismatch(msg)
