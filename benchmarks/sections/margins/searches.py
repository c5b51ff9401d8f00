"""How a search went: which step settled how many bounds, and what proved them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.arrays import BoolArray, IntArray
from benchmarks.results import Record
from cellbounds.disclosure.policies import DEFAULT, policy_of
from cellbounds.results import Bounds
from cellbounds.solvers.general.search import Proof


def searches(answer: Bounds) -> list[Any]:
    """Return the searches behind an answer: one, or those of its parts, or none."""

    def within(worked: Any, depth: int) -> Iterator[Any]:
        if hasattr(worked, "search"):
            yield worked.search
        elif depth and hasattr(worked, "__dict__"):
            for inner in vars(worked).values():
                if type(inner).__module__.startswith("cellbounds.solvers"):
                    yield from within(inner, depth - 1)

    return list(within(answer._source, 40))


def used_integer_programs(answer: Bounds) -> bool:
    """Whether an integer program proved any bound of an answer."""
    solver = Proof.NAMES.index("solver")
    return any(bool((search.proofs == solver).any()) for search in searches(answer))


def outcome(answer: Bounds, counts: IntArray) -> Record:
    """Gather what an answer settled, by which steps, and the verdicts on small counts."""
    low, high = answer.settled
    inner = answer.attained_lower, answer.attained_upper
    moved = (inner[0] < counts), (inner[1] > counts)
    small = counts <= policy_of(DEFAULT).small
    disclosed, open_to_doubt = verdicts(answer)
    record: Record = {
        "method": answer.method,
        "evidence": answer.evidence.value,
        "seconds": answer.seconds,
        "cells": int(counts.size),
        "bounds": 2 * int(counts.size),
        "settled": int(low.sum() + high.sum()),
        "settled_lower": int(low.sum()),
        "settled_upper": int(high.sum()),
        "exact_cells": int((low & high).sum()),
        "moved": int(moved[0].sum() + moved[1].sum()),
        "open_moved": int((moved[0] & ~low).sum() + (moved[1] & ~high).sum()),
        "small_cells": int(small.sum()),
        "small_undecided": int((small & open_to_doubt).sum()),
        "small_disclosed": int((small & disclosed).sum()),
        "open_gap": gap_sizes(answer),
        "steps": [],
        "proofs": {},
    }
    for search in searches(answer):
        record["steps"] += [[step, seconds, left] for step, seconds, left in search.history]
        settled = np.stack([low.ravel(), high.ravel()])
        if settled.shape != search.proofs.shape:
            continue
        for number, name in enumerate(Proof.NAMES):
            here = search.proofs == number
            record["proofs"][name] = [int((here & settled).sum()), int((here & ~settled).sum())]
    return record


def verdicts(answer: Bounds) -> tuple[BoolArray, BoolArray]:
    """Mark the cells with one attainable count, and those of which that is not decided.

    The rule of the audit: two tables with different counts acquit a cell, a proof that lower
    and upper bound are equal convicts it.
    """
    disclosed: BoolArray = np.asarray(answer.lower == answer.upper, dtype=np.bool_)
    acquitted = np.asarray(answer.attained_lower < answer.attained_upper, dtype=np.bool_)
    return disclosed, ~disclosed & ~acquitted


def gap_sizes(answer: Bounds) -> list[int]:
    """Return the median and the largest distance from proven to attained among open bounds."""
    gaps = np.concatenate(
        [
            np.asarray(answer.attained_lower - answer.lower, dtype=np.int64).ravel(),
            np.asarray(answer.upper - answer.attained_upper, dtype=np.int64).ravel(),
        ]
    )
    gaps = gaps[gaps > 0]
    return [int(np.median(gaps)), int(gaps.max())] if gaps.size else [0, 0]
