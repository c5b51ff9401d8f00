"""Document 003's open questions: when rates pin a table down, and when linear bounds will do.

Its authors did "not fully understand the underlying characteristics of a table that would produce
a unique specification", and asked for a "more precise mathematical definition of reasonable
approximation". Here thousands of random tables are published as rates of a row and N, and asked:

- is the whole table determined, each row with people, each small count (1 to 3)?
- of the small counts whose sharp bounds are less than `WIDTH` apart, how many have linear bounds
  (rounded inwards) that are wider? Linear bounds are a *reasonable approximation* for a rule if
  they come to the same verdict; this is how often they call safe what is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.solve import bounds
from cellbounds.statements import publish

SHAPES = ((2, 2), (4, 4), (16, 4), (4, 16))
PEOPLE = (30, 100, 300, 1000, 3000, 10_000)
SPREADS = {"even": 0.0, "skewed": 1.5}
"""Standard deviation of the logarithms of the cells' weights: the larger, the sparser."""

DIGITS = (1, 2, 3, 4, None)
"""Decimals of the rates; None: exact fractions."""

SMALL = 3
WIDTH = 3
"""Counts up to the first are small; bounds less than the second apart are narrow."""

TABLES = 40
"""Random tables of each kind."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What rates of one table give away: numbers of tables, rows and counts, and how many of them.

    `rows` have people, `small` are counts from 1 to 3, `narrow` those of them with narrow sharp
    bounds, `missed` those of these whose linear bounds are wide.
    """

    tables: int = 1
    determined: int = 0
    rows: int = 0
    rows_determined: int = 0
    small: int = 0
    small_determined: int = 0
    narrow: int = 0
    missed: int = 0

    def __add__(self, other: Measured) -> Measured:
        mine, its = asdict(self).values(), asdict(other).values()
        return Measured(*(first + second for first, second in zip(mine, its, strict=True)))


SHARES: dict[str, Callable[[Measured], tuple[int, int]]] = {
    "table": lambda seen: (seen.determined, seen.tables),
    "row": lambda seen: (seen.rows_determined, seen.rows),
    "small count": lambda seen: (seen.small_determined, seen.small),
    "linear": lambda seen: (seen.missed, seen.narrow),
}
"""What the figures show: how many of how many."""


def measured(counts: IntArray, digits: int | None, rounding: str | None = None) -> Measured:
    """What rates of the rows of a table, with N, determine.

    Examples
    --------
    >>> from cellbounds import datasets
    >>> seen = measured(datasets.read("delinquent").counts, None)
    >>> seen.determined, seen.rows_determined, seen.small_determined, seen.missed
    (1, 4, 6, 6)
    """
    domain = Domain({"row": range(counts.shape[0]), "column": range(counts.shape[1])})
    text = "[column|row]" if digits is None else f"[column|row]@{digits}"
    rule = "interval" if rounding == "consistent" else "rounding"
    release = publish(Table(domain, counts), text, rounding=rounding, rule=rule)
    sharp, linear = bounds(release), bounds(release, kind="linear")
    low, high = sharp.lower, sharp.upper
    fixed, people = low == high, counts.sum(axis=1) > 0
    small = (counts > 0) & (counts <= SMALL)
    narrow = small & (high - low < WIDTH)
    # Exact fractions, rounded inwards: -(-x // 1) is the next whole number above.
    inner = np.asarray(linear.upper // 1 + (-linear.lower // 1), dtype=np.int64)
    return Measured(
        tables=1,
        determined=int(fixed.all()),
        rows=int(people.sum()),
        rows_determined=int((fixed.all(axis=1) & people).sum()),
        small=int(small.sum()),
        small_determined=int((small & fixed).sum()),
        narrow=int(narrow.sum()),
        missed=int((narrow & (inner >= WIDTH)).sum()),
    )


@dataclass(frozen=True, slots=True)
class Setting:
    """A kind of table and of rates, and what was seen of such tables together."""

    rows: int
    columns: int
    people: int
    spread: str
    digits: int | None
    seen: Measured

    @property
    def shape(self) -> str:
        """Rows by columns."""
        return f"{self.rows} x {self.columns}"

    @property
    def precision(self) -> str:
        """The rates' decimals, in words."""
        return "exact" if self.digits is None else f"{self.digits} decimal{'s' * (self.digits > 1)}"

    def share(self, what: str) -> float | None:
        """The share that a figure shows; None of nothing."""
        part, whole = SHARES[what](self.seen)
        return part / whole if whole else None


def random_counts(
    shape: tuple[int, int], people: int, spread: float, rng: np.random.Generator
) -> IntArray:
    """People who fall into cells with log-normal weights."""
    weights = rng.lognormal(0.0, spread, shape[0] * shape[1])
    return np.asarray(rng.multinomial(people, weights / weights.sum()).reshape(shape))


def study(tables: int = TABLES, seed: int = 3) -> Iterator[Setting]:
    """Every setting, one after the other: the same tables for all decimals."""
    rng = np.random.default_rng(seed)
    for shape, people, (spread, sigma) in itertools.product(SHAPES, PEOPLE, SPREADS.items()):
        made = [random_counts(shape, people, sigma, rng) for _ in range(tables)]
        for digits in DIGITS:
            seen = sum((measured(counts, digits) for counts in made), Measured(0))
            yield Setting(*shape, people, spread, digits, seen)


TITLES = {
    "table": "Tables that rates and N determine",
    "row": "Rows with people that rates and N determine",
    "small count": "Counts from 1 to 3 that rates and N determine",
    "linear": "Small counts with narrow sharp bounds whose linear bounds are wide",
}


def study_chart(settings: list[Setting], what: str) -> Any:
    """One figure of the study: shares against N, by decimals, shape and sparsity."""
    import altair as alt

    points = [
        {
            "N": setting.people,
            "share": setting.share(what),
            "rates": setting.precision,
            "table": setting.shape,
            "cells": setting.spread,
        }
        for setting in settings
        if setting.share(what) is not None
    ]
    shapes = [f"{rows} x {columns}" for rows, columns in SHAPES]
    return (
        alt.Chart(alt.Data(values=points))
        .mark_line(point=True)
        .encode(
            alt.X("N:Q", scale=alt.Scale(type="log"), title="N"),
            alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), title="share"),
            alt.Color("rates:N", title="rates"),
        )
        .properties(width=170, height=130)
        .facet(
            column=alt.Column("table:N", sort=shapes, title=None),
            row=alt.Row("cells:N", title=None),
        )
        .properties(title=TITLES[what])
    )
