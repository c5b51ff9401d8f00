"""Tables and releases that no method answers soon, and the functions that are asked about them."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import cellbounds as cb
from cellbounds.disclosure.policies import Policy, PosteriorChance

Question = Callable[[cb.Table, cb.Release, float], object]


def _domain(*sizes: int) -> cb.Domain:
    names = (chr(ord("a") + k) for k in range(len(sizes)))
    return cb.Domain(
        {name: [f"{name}{k}" for k in range(size)] for name, size in zip(names, sizes, strict=True)}
    )


def _skewed(*sizes: int, mean: float) -> cb.Table:
    """Counts of very different sizes, many of them zero."""
    rng = np.random.default_rng(1)
    domain = _domain(*sizes)
    if domain.size <= 1_000_000:
        return cb.Table(domain, rng.poisson(rng.gamma(0.4, mean / 0.4, domain.shape)))
    people = int(mean * 20_000)
    drawn = np.stack([rng.integers(0, k, people) * rng.integers(0, 2, people) for k in sizes], 1)
    cells, counts = np.unique(drawn, axis=0, return_counts=True)
    return cb.Table.from_cells(domain, cells, counts)


def _pairs(table: cb.Table) -> Iterator[str]:
    return (f"[{a},{b}]" for a, b in itertools.combinations(table.domain.names, 2))


HARD: dict[str, tuple[Callable[[], cb.Table], Callable[[cb.Table], Sequence[str]], float]] = {
    "4^12, all two-way": (lambda: _skewed(*[4] * 12, mean=1), lambda t: list(_pairs(t)), 5.0),
    "2^16, forty two-way": (
        lambda: _skewed(*[2] * 16, mean=0.3),
        lambda t: list(itertools.islice(_pairs(t), 40)),
        5.0,
    ),
    "20^3, two-way": (lambda: _skewed(20, 20, 20, mean=1), lambda t: list(_pairs(t)), 3.0),
    "10x10x4, rates": (
        lambda: _skewed(10, 10, 4, mean=10),
        lambda _: ["[c|a,b]@2", "[a|c]@2", "[b,c]"],
        1.0,
    ),
    "100,000 rows of rates": (lambda: _skewed(100_000, 2, mean=10), lambda _: ["[b|a]@2"], 2.0),
    "6^4, two-way": (lambda: _skewed(6, 6, 6, 6, mean=1), lambda t: list(_pairs(t)), 1.0),
}
"""What is published of which table, and a budget in seconds."""

CHANCE = Policy("chance", rules=(PosteriorChance(at_most=2, probability=Fraction(9, 10)),))


def _asked_of_a_ledger(table: cb.Table, release: cb.Release, seconds: float) -> object:
    with tempfile.TemporaryDirectory() as folder:
        ledger = cb.Ledger.create(f"{folder}/hard.ledger", table, who="nobody")
        return ledger.ask(release, table=table, seconds=seconds)


QUESTIONS: dict[str, Question] = {
    "bounds": lambda _t, r, s: cb.bounds(r, seconds=s),
    "bounds, owner": lambda t, r, s: cb.bounds(r, start=t, seconds=s),
    "linear bounds": lambda _t, r, s: cb.bounds(r, kind="linear", seconds=s),
    "attainable": lambda _t, r, s: cb.attainable(r, seconds=s),
    "judge": lambda t, r, s: cb.judge(t, r, seconds=s),
    "judge, strict": lambda t, r, s: cb.judge(t, r, "strict", seconds=s),
    "judge, chance": lambda t, r, s: cb.judge(t, r, CHANCE, seconds=s),
    "audit": lambda t, r, s: cb.audit(t, r, seconds=s),
    "explore": lambda t, _r, s: cb.explore(t, response=t.domain.names[-1], seconds=s),
    "safe_margins": lambda t, _r, s: cb.safe_margins(t, margins=2, seconds=s),
    "suggest": lambda t, r, s: cb.suggest(t, r, seconds=s),
    "posterior": lambda _t, r, s: cb.posterior(r, seconds=s),
    "sample": lambda _t, r, s: cb.sample(r, 1000, seconds=s),
    "sample, many chains": lambda _t, r, s: cb.sample(
        r, 100_000, method="chain", chains=1000, seconds=s
    ),
    "sample, importance": lambda _t, r, s: cb.sample(r, 1000, method="importance", seconds=s),
    "estimate_tables": lambda _t, r, s: cb.estimate_tables(r, seconds=s),
    "count_tables": lambda _t, r, s: cb.count_tables(r, seconds=s),
    "tables": lambda _t, r, s: next(cb.tables(r, seconds=s), None),
    "synthesize": lambda _t, r, s: cb.synthesize(r, seconds=s),
    "ledger": _asked_of_a_ledger,
}
"""Everything that takes a budget and can take long."""


def hard_input(name: str) -> tuple[cb.Table, cb.Release, float]:
    """A table, what is published of it, and the budget to ask about it with."""
    table_of, statements_of, seconds = HARD[name]
    table = table_of()
    return table, cb.publish(table, *statements_of(table)), seconds


def outcome(result: Any) -> str:
    """What came of a question, in a word or two."""
    if isinstance(result, cb.CellboundsError):
        return type(result).__name__
    verdict = getattr(result, "verdict", None)
    evidence = getattr(result, "evidence", None)
    shown = getattr(verdict, "verdict", verdict) or evidence
    return type(result).__name__ + (f": {shown}" if shown is not None else "")


def allowed(seconds: float) -> float:
    """How long a call with a budget may take."""
    return math.fsum((1.1 * seconds, 1.0))
