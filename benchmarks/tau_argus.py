"""What optimal suppression gives away: `python -m benchmarks.tau_argus --python PYTHON`.

Optional: PYTHON is an interpreter with pytauargus, in an environment of its own. Random two- and
three-way tables are protected by tau-ARGUS's OPT and audited by the tool; its file is read and
attacked here, linear intervals are compared with its audit's, and then zeros are taken to be shown,
as they are.

The attacker of the audit knows the smallest count s of the table: a hidden count n is at least s,
or n - 1 if that is less, so that it can be one lower. Where there is a zero, he knows nothing. This
was found by comparing files; intervals are compared for just this attacker, on tables with zeros
and on tables without.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cellbounds as cb
from benchmarks.peers import tau_argus
from cellbounds.disclosure.policies.intruder import Intruder
from cellbounds.disclosure.published_cells import work_out
from cellbounds.statements.published import Published

SHAPES = ((6, 5), (10, 8), (4, 3, 3), (5, 4, 3))
THRESHOLD = 3
TOLERANCE = 0.011
"""The audit prints two decimals."""


@dataclass(slots=True)
class Tally:
    """What was found on the tables of one shape, with or without zeros."""

    shape: tuple[int, ...]
    zeros: bool
    tables: int = 0
    primaries: int = 0
    secondaries: int = 0
    compared: int = 0
    differing: int = 0
    unsafe_by_audit: int = 0
    exact: int = 0
    exact_shown: int = 0
    small_shown: int = 0
    unsettled: int = 0
    tool_seconds: float = 0.0
    our_seconds: float = 0.0


def random_counts(
    shape: tuple[int, ...], rng: np.random.Generator
) -> tuple[dict[str, list[str]], dict[tuple[str, ...], int]]:
    """Skewed counts with zeros, as frequency tables have them; every level holds somebody."""
    levels = {
        f"v{axis}": [f"{'abc'[axis]}{k:02d}" for k in range(size)]
        for axis, size in enumerate(shape)
    }
    means = np.full(shape, 12.0)
    for axis, size in enumerate(shape):
        weights = rng.lognormal(0.0, 0.8, size)
        means *= weights.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    counts = rng.poisson(means)
    cells = dict(zip(itertools.product(*levels.values()), counts.ravel().tolist(), strict=True))
    for axis, name in enumerate(levels):
        for code in levels[name]:
            inside = [cell for cell in cells if cell[axis] == code]
            if not any(cells[cell] for cell in inside):
                cells[inside[0]] = 7
    return levels, cells


def linear_intervals(
    published: Published, counts: Mapping[Any, int]
) -> dict[tuple[object, ...], tuple[float, float]]:
    """The interval of the linear relaxation for each hidden cell, for the audit's attacker."""
    smallest, statements = min(counts.values()), list(published.release.statements)
    for _, question in published.questions():
        least = {}
        for cell, place in zip(question.cells, question.places, strict=True):
            inside = (
                count
                for labels, count in counts.items()
                if all(code in ("Total", label) for code, label in zip(place, labels, strict=True))
            )
            least[cell] = min(sum(inside) - 1, smallest)
        if smallest:
            statements.append(cb.Known(list(question.over), lower=least))
    release = cb.Release(published.release.domain, statements)
    found: dict[tuple[object, ...], tuple[float, float]] = {}
    for _, question in published.questions():
        if question.over:
            answer = cb.bounds(release, kind="linear", over=question.over)
            for cell, place in zip(question.cells, question.places, strict=True):
                lower, upper = answer[cell if len(cell) > 1 else cell[0]]
                found[place] = float(lower), float(upper)
    return found


def measure(python: str, shape: tuple[int, ...], tables: int, seed: int, *, zeros: bool) -> Tally:
    """Protect, read, compare and attack some tables of one shape."""
    tally = Tally(shape, zeros)
    rng = np.random.default_rng([seed, *shape])
    while tally.tables < tables:
        levels, counts = random_counts(shape, rng)
        if not zeros:
            counts = {cell: max(count, 1) for cell, count in counts.items()}
        if (0 in counts.values()) != zeros or not {1, 2} & set(counts.values()):
            continue
        with tempfile.TemporaryDirectory() as name:
            _one(python, Path(name), levels, counts, tally)
        tally.tables += 1
    return tally


def _one(
    python: str,
    folder: Path,
    levels: dict[str, list[str]],
    counts: dict[tuple[str, ...], int],
    tally: Tally,
) -> None:
    begun = time.perf_counter()
    path = tau_argus.protect(python, folder, levels, counts, THRESHOLD)
    tally.tool_seconds += time.perf_counter() - begun
    begun = time.perf_counter()
    told: dict[str, Any] = {"totals": {f"V{k}": "Total" for k in range(1, len(levels) + 1)}}
    published = cb.read_published(path, **told)
    flags = published.tables[0].flags
    primaries = {cell for cell, flag in flags.items() if flag == "primary"}
    tally.primaries += len(primaries)
    tally.secondaries += len(flags) - len(primaries)
    ours = linear_intervals(published, counts)
    theirs = tau_argus.audited(path, len(levels))
    for cell, (lower, upper) in theirs.items():
        if cell in ours:
            tally.compared += 1
            mine = ours[cell]
            same = abs(mine[0] - lower) < TOLERANCE and abs(mine[1] - upper) < TOLERANCE
            tally.differing += not same
            tally.unsafe_by_audit += cell in primaries and upper - lower < TOLERANCE
    for shown in (False, True):
        intruder = Intruder(zeros="always" if shown else "never")
        risk = work_out(published, intruder=intruder, seconds=60)
        for found in risk.tables[0].cells:
            tally.unsettled += not found.values.settled
            if found.labels in primaries:
                known = found.disclosed is True
                largest = found.values.possible.largest
                tally.exact += known and not shown
                tally.exact_shown += known and shown
                tally.small_shown += shown and largest is not None and largest < THRESHOLD
    tally.our_seconds += time.perf_counter() - begun


def line(tally: Tally) -> str:
    """A line of the table."""
    shape = " x ".join(map(str, tally.shape)) + ("" if tally.zeros else ", no zeros")
    return (
        f"| {shape} | {tally.tables} | {tally.primaries} | {tally.secondaries} | "
        f"{tally.compared - tally.differing} of {tally.compared} | {tally.unsafe_by_audit} | "
        f"{tally.exact} | {tally.exact_shown} | {tally.small_shown} | {tally.unsettled} | "
        f"{tally.tool_seconds:.1f} / {tally.our_seconds:.1f} |"
    )


def main() -> int:
    """Measure every shape, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="an interpreter with pytauargus")
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if not tau_argus.is_there(given.python):
        sys.stderr.write(f"{given.python} has no pytauargus; `pip install pytauargus` there\n")
        return 2
    print(
        "| table | tables | primaries | secondaries | intervals as in its audit | unsafe by its "
        "audit | exactly known | exactly known, zeros shown | known to be small, zeros shown | "
        "unsettled | seconds, tool / here |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    differing = 0
    for shape, zeros in itertools.product(SHAPES, (True, False)):
        tally = measure(given.python, shape, given.tables, given.seed, zeros=zeros)
        differing += tally.differing
        print(line(tally), flush=True)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
