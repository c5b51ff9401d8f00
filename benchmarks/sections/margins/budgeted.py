"""Large tables under a budget, with the owner's table as the first witness and two workers."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

import numpy as np

import cellbounds as cb
from benchmarks.arrays import IntArray
from benchmarks.measuring.memory import highest_resident_bytes
from benchmarks.problems.owned import all_margins, owned
from benchmarks.results import Record
from benchmarks.sections.margins.searches import outcome
from cellbounds.disclosure.policies import DEFAULT, policy_of
from cellbounds.results import Bounds

WORKERS = 2
PEER_CELLS = 3
SAY_EVERY = 30.0  # seconds between two lines about progress


def measure(name: str, ways: int, seconds: float, data: Path, seed: int) -> Record:
    """Bound every cell of a table from all its margins of one size, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(in_this_process, name, ways, seconds, data, seed).result()


def in_this_process(name: str, ways: int, seconds: float, data: Path, seed: int) -> Record:
    """Bound every cell and record how it went, with the peak memory of this process."""
    source = owned(name, data)
    release = all_margins(source.table, ways)
    before = highest_resident_bytes()
    started = monotonic()
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as executor:
        answer = cb.bounds(
            release,
            start=source.table,
            budget=cb.Budget(
                seconds=seconds,
                workers=executor,
                progress=said_now_and_then(f"{source.label}, {ways}-way"),
            ),
        )
        took = monotonic() - started
    # Children count once they have ended. On Linux a child's peak starts from its parent's.
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {
        "table": source.label,
        "ways": ways,
        "total": source.table.total,
        "margins": len(release.statements) - 1,
        "budget": seconds,
        "workers": WORKERS,
        **outcome(answer, source.counts),
        "seconds": took,
        "memory_before": before,
        "memory_self": highest_resident_bytes(),
        "memory_worker": children if sys.platform == "darwin" else children * 1024,
        "chosen": [bounds_at(answer, cell) for cell in chosen_cells(source.counts, seed)],
    }


def chosen_cells(counts: IntArray, seed: int) -> list[tuple[int, ...]]:
    """Choose the cells that the general solvers are asked about, among the small counts."""
    small = np.flatnonzero((counts.ravel() > 0) & (counts.ravel() <= policy_of(DEFAULT).small))
    drawn = np.random.default_rng(seed).choice(small, size=PEER_CELLS, replace=False)
    return [tuple(int(i) for i in np.unravel_index(int(c), counts.shape)) for c in np.sort(drawn)]


def bounds_at(answer: Bounds, cell: tuple[int, ...]) -> Record:
    """Return what is proven and what is attained of one cell."""
    return {
        "cell": list(cell),
        "lower": [int(answer.lower[cell]), int(answer.attained_lower[cell])],
        "upper": [int(answer.upper[cell]), int(answer.attained_upper[cell])],
    }


def said_now_and_then(title: str) -> Callable[[int, int], None]:
    """Return a listener that prints a line now and then."""
    last = begun = monotonic()

    def say(done: int, total: int) -> None:
        nonlocal last
        now = monotonic()
        if now - last >= SAY_EVERY:
            last = now
            print(f"{title}: {now - begun:.0f} s, {done} of {total}", file=sys.stderr, flush=True)

    return say
