"""How our own cost grows: with the number of people, of rows, and of digits.

Every series varies one thing only. Document 004's algorithm comes along in N as far as its
cost allows, with equal answers checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import ours
from benchmarks.comparison import require_equal
from benchmarks.instances import Instance, mostly_large_counts
from benchmarks.measurement import (
    KERNEL,
    PAPER,
    WHOLE_CALL,
    Measurement,
    best_of,
    measured,
)
from benchmarks.memory import peak_memory
from benchmarks.peers import paper

IN_PEOPLE, IN_ROWS, IN_DIGITS, LARGE = (
    "Growth with N",
    "Growth with I",
    "Growth with 1/eps",
    "A large table",
)
PAPER_UP_TO = 10**6  # people; its cost is proportional to N log N
SMALLEST_TOTAL = 10**4


@dataclass(frozen=True, slots=True)
class Series:
    """The points of each series.

    Parameters
    ----------
    factors : sequence of int
        What a table of 10^4 people is multiplied by.
    rows : sequence of int
        Numbers of rows.
    digits : sequence of int
        Numbers of digits.
    """

    factors: Sequence[int]
    rows: Sequence[int]
    digits: Sequence[int]


FULL = Series(
    factors=[10**k for k in range(9)],
    rows=[10, 20, 50, 100, 200, 500, 1000, 2000],
    digits=range(1, 7),
)
QUICK = Series(factors=[1, 10, 10**2, 10**5, 10**8], rows=[10, 100, 1000], digits=range(1, 5))


def growing_total(seed: int, factors: Sequence[int]) -> list[Instance]:
    """Multiply a 20 x 10 table of 10^4 people: the published rates remain the same."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(SMALLEST_TOTAL, rng.dirichlet(np.ones(200))).reshape(20, 10)
    return [Instance(f"N = {SMALLEST_TOTAL * k:.0e}", counts * k, digits=2) for k in factors]


def growing_rows(seed: int, rows: Sequence[int]) -> list[Instance]:
    """Take the first rows of one table of 10 columns, drawn as for Table 11."""
    largest = mostly_large_counts(np.random.default_rng(seed), max(rows), 10)
    return [Instance(f"I = {i}", largest[:i], digits=2) for i in rows]


def growing_digits(seed: int, digits: Sequence[int]) -> list[Instance]:
    """Publish a 20 x 10 table with more and more digits.

    Its counts are so large that N never cuts short what the digits would cost.
    """
    counts = np.random.default_rng(seed).integers(10**6, 10**8, size=(20, 10))
    return [Instance(f"{d} digits", counts, digits=d) for d in digits]


def large_table(seed: int) -> Instance:
    """Return a 2,000 x 20 table at three digits."""
    counts = mostly_large_counts(np.random.default_rng(seed), 2000, 20)
    return Instance("2000x20", counts, digits=3)


def measure_growth(seed: int, series: Series, repeat_seconds: float) -> list[Measurement]:
    """Measure every series and the large table."""
    points = [
        *((IN_PEOPLE, instance) for instance in growing_total(seed, series.factors)),
        *((IN_ROWS, instance) for instance in growing_rows(seed, series.rows)),
        *((IN_DIGITS, instance) for instance in growing_digits(seed, series.digits)),
        (LARGE, large_table(seed)),
    ]
    return [
        row
        for section, instance in points
        for row in measure_point(section, instance, repeat_seconds)
    ]


def measure_point(section: str, instance: Instance, repeat_seconds: float) -> list[Measurement]:
    """Measure our time and memory on one instance; document 004 goes along as far as it can."""
    publication = ours.publish(instance)
    release = ours.build_release(publication)
    mine, kernel_seconds = best_of(lambda: ours.kernel(release), budget=repeat_seconds)
    _, whole_seconds = best_of(lambda: ours.whole_call(publication), budget=repeat_seconds)
    memory = peak_memory(instance)
    whole = replace(
        measured(section, instance, WHOLE_CALL, whole_seconds),
        peak_bytes=memory.after,
        call_bytes=memory.after - memory.before,
    )
    rows = [measured(section, instance, KERNEL, kernel_seconds), whole]
    if section == IN_PEOPLE and instance.total <= PAPER_UP_TO:
        rates, scale, total = instance.rates, instance.scale, instance.total
        theirs, seconds = best_of(lambda: paper.bounds(rates, scale, total), budget=repeat_seconds)
        require_equal(instance, PAPER, mine, (theirs.lower, theirs.upper))
        rows.append(measured(section, instance, PAPER, seconds))
    return rows
