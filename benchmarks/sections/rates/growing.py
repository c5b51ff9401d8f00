"""How our own cost grows: with the number of people, of rows, of columns, and of digits.

Every series varies one thing only. Document 004's algorithm comes along in N as far as its
cost allows, with equal answers checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.measuring.measurement import (
    KERNEL,
    PAPER,
    WHOLE_CALL,
    Measurement,
    best_of,
    measured,
)
from benchmarks.measuring.memory import peak_memory
from benchmarks.peers import paper
from benchmarks.plans.rates import GrowthPlan
from benchmarks.problems import publications
from benchmarks.problems.instances import Instance, mostly_large_counts
from benchmarks.sections.rates.comparing import require_equal

IN_PEOPLE, IN_ROWS, IN_COLUMNS, IN_DIGITS, LARGE = (
    "Growth with N",
    "Growth with I",
    "Growth with J",
    "Growth with 1/eps",
    "A large table",
)
BASELINE = 10**6  # people that larger numbers are compared with
SMALLEST_TOTAL = 10**4


def growing_total(seed: int, factors: Sequence[int]) -> list[Instance]:
    """Multiply a 20 x 10 table of 10^4 people: the published rates remain the same."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(SMALLEST_TOTAL, rng.dirichlet(np.ones(200))).reshape(20, 10)
    return [Instance(f"N = {SMALLEST_TOTAL * k:.0e}", counts * k, digits=2) for k in factors]


def growing_rows(seed: int, rows: Sequence[int]) -> list[Instance]:
    """Take the first rows of one table of 10 columns, drawn as for Table 11."""
    largest = mostly_large_counts(np.random.default_rng(seed), max(rows), 10)
    return [Instance(f"I = {i}", largest[:i], digits=2) for i in rows]


def growing_columns(seed: int, columns: Sequence[int]) -> list[Instance]:
    """Take the first columns of one table of 10 rows, drawn as for Table 11."""
    largest = mostly_large_counts(np.random.default_rng(seed), 10, max(columns))
    return [Instance(f"J = {j}", largest[:, :j], digits=2) for j in columns]


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


def points(plan: GrowthPlan, seed: int) -> list[tuple[str, Instance]]:
    """Return the instances of every series, and the large table, by the title of the series."""
    return [
        *((IN_PEOPLE, instance) for instance in growing_total(seed, plan.factors)),
        *((IN_ROWS, instance) for instance in growing_rows(seed, plan.rows)),
        *((IN_COLUMNS, instance) for instance in growing_columns(seed, plan.columns)),
        *((IN_DIGITS, instance) for instance in growing_digits(seed, plan.digits)),
        (LARGE, large_table(seed)),
    ]


def measure_point(section: str, instance: Instance, plan: GrowthPlan) -> list[Measurement]:
    """Measure our time and memory on one instance; document 004 goes along as far as it can."""
    repeat_seconds = plan.repeat_seconds
    publication = publications.publish(instance)
    release = publications.build_release(publication)
    mine, kernel_seconds = best_of(lambda: publications.kernel(release), budget=repeat_seconds)
    _, whole_seconds = best_of(lambda: publications.whole_call(publication), budget=repeat_seconds)
    memory = peak_memory(instance)
    whole = replace(
        measured(section, instance, WHOLE_CALL, whole_seconds),
        peak_bytes=memory.after,
        call_bytes=memory.after - memory.before,
    )
    rows = [measured(section, instance, KERNEL, kernel_seconds), whole]
    if section == IN_PEOPLE and instance.total <= plan.paper_up_to:
        rates, scale, total = instance.rates, instance.scale, instance.total
        theirs, seconds = best_of(lambda: paper.bounds(rates, scale, total), budget=repeat_seconds)
        require_equal(instance, PAPER, mine, (theirs.lower, theirs.upper))
        rows.append(measured(section, instance, PAPER, seconds))
    return rows
