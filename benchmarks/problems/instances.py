"""The test problems of document 004 (its Tables 9, 10 and 11) as two-way tables of counts.

An instance is a confidential table; what gets published about it is its total and its row
conditionals, *consistently rounded* (every row of rates adds exactly to one), each within
one unit of the last digit: ``eps = 10**-digits``, weak. That is the document's convention.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.arrays import IntArray
from benchmarks.problems import lookalikes

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY.parent / "shared" / "data"
KOCH4 = REPOSITORY / "src" / "cellbounds" / "datasets" / "koch4.csv"

SMALLEST = np.array([[5, 3], [2, 4]])

TABLE9_DIGITS = (1, 2, 3, 4)
TABLE10_SHAPES = ((50, 2), (100, 2), (20, 10), (50, 10), (10, 50), (5, 100))
TABLE11_SHAPES = ((20, 20), (50, 20), (50, 50), (100, 20), (100, 50))


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A two-way table of counts and the number of digits its rates are published with.

    Parameters
    ----------
    name : str
        What to call the table in a report, without the digits.
    counts : IntArray
        Counts, one row per combination of predictors; no row is all zeros.
    digits : int
        Decimals of the published rates.

    Examples
    --------
    >>> instance = Instance("document 004, Table 1, row 2", np.array([[5, 3]]), digits=2)
    >>> instance.rates.tolist(), instance.scale
    ([[63, 37]], 100)
    """

    name: str
    counts: IntArray
    digits: int

    @property
    def scale(self) -> int:
        """The common denominator of the published rates, ``10**digits``."""
        return int(10**self.digits)

    @property
    def eps(self) -> Fraction:
        """The weak tolerance around every rate: one unit of the last digit."""
        return Fraction(1, self.scale)

    @property
    def total(self) -> int:
        """The published number of people, N."""
        return int(self.counts.sum())

    @property
    def rows(self) -> int:
        """The number of rows, I."""
        return int(self.counts.shape[0])

    @property
    def columns(self) -> int:
        """The number of columns, J."""
        return int(self.counts.shape[1])

    @property
    def rates(self) -> IntArray:
        """Published rates as numerators over `scale`, rounded by largest remainder.

        Ties go to the leftmost column. Every rate is off by less than one unit, so the true
        table is always consistent with what is published.
        """
        row_sums = self.counts.sum(axis=1, keepdims=True)
        rates, remainders = np.divmod(self.counts * self.scale, row_sums)
        missing = self.scale - rates.sum(axis=1, keepdims=True)
        # A stable sort of the negated remainders ranks equal ones from left to right.
        order = np.argsort(-remainders, axis=1, kind="stable")
        rank = np.argsort(order, axis=1, kind="stable")
        rounded: IntArray = rates + (rank < missing)
        return rounded


def read_counts(path: Path) -> IntArray:
    """Read a tidy CSV (variable columns, then ``count``) as an array over its levels.

    Levels are numbered in order of first appearance; cells that are not listed are zero.
    """
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    variables = len(lines[0]) - 1
    levels: list[dict[str, int]] = [{} for _ in range(variables)]
    cells = {
        tuple(levels[k].setdefault(line[k], len(levels[k])) for k in range(variables)): int(
            line[-1]
        )
        for line in lines[1:]
    }
    counts = np.zeros([len(labels) for labels in levels], dtype=np.int64)
    for cell, count in cells.items():
        counts[cell] = count
    return counts


def two_way(counts: IntArray, predictors: Sequence[int], response: int) -> IntArray:
    """Reshape a k-way table: predictors become rows, the response columns, the rest is summed.

    Dimensions are numbered from 1, as the document numbers them. Rows without anybody are
    dropped, for they have no conditionals to publish.
    """
    kept = [dimension - 1 for dimension in (*predictors, response)]
    omitted = tuple(axis for axis in range(counts.ndim) if axis not in kept)
    margin = counts.sum(axis=omitted)
    # Summing keeps the remaining axes in their old order: bring them into the order asked for.
    order = [sorted(kept).index(axis) for axis in kept]
    table = margin.transpose(order).reshape(-1, counts.shape[response - 1])
    return without_empty_rows(table)


def without_empty_rows(table: IntArray) -> IntArray:
    """Drop the rows whose counts are all zero."""
    return np.ascontiguousarray(table[table.sum(axis=1) > 0])


def table9(data: Path, digits: Sequence[int] = TABLE9_DIGITS) -> list[Instance]:
    """Return the five real tables of Table 9, each with every number of digits asked for.

    Tables that are not in the data folder are replaced by look-alikes and named so.

    Notes
    -----
    The copy of document 004 that we have lost the body of its Table 9, and with it the
    authors' own choice of digits for each table. We run them all.
    """
    tables: dict[str, IntArray] = {}
    for name, predictors, response in (
        ("haberman3", (1, 2), 3),
        ("koch4", (1, 2, 3), 4),
        ("czech6", (1, 2, 3, 4, 5), 6),
        ("cps8", (4, 6, 7), 8),
        ("nltcs16", (1, 2, 3), 4),
    ):
        path = KOCH4 if name == "koch4" else data / f"{name}.csv"
        if name == "koch4" or path.exists():
            label, counts = name, read_counts(path)
        else:
            label, counts = f"{name} look-alike", lookalikes.table(name)
        tables[label] = two_way(counts, predictors, response)
    return [Instance(label, table, d) for label, table in tables.items() for d in digits]


def table10(seed: int, shapes: Sequence[tuple[int, int]] = TABLE10_SHAPES) -> list[Instance]:
    """Return random tables like those of Table 10: counts uniform on 1..25, two digits."""
    rng = np.random.default_rng(seed)
    return [
        Instance(f"uniform {rows}x{columns}", rng.integers(1, 26, size=(rows, columns)), digits=2)
        for rows, columns in shapes
    ]


def table11(seed: int, shapes: Sequence[tuple[int, int]] = TABLE11_SHAPES) -> list[Instance]:
    """Return random tables like those of Table 11: mostly large counts, two digits."""
    rng = np.random.default_rng(seed)
    return [
        Instance(f"mixed {rows}x{columns}", mostly_large_counts(rng, rows, columns), digits=2)
        for rows, columns in shapes
    ]


def mostly_large_counts(rng: np.random.Generator, rows: int, columns: int) -> IntArray:
    """Draw counts as Table 11 does: 5% of the cells uniform on 0..4, the rest on 5..499."""
    size = (rows, columns)
    small = rng.random(size) < 0.05
    counts = np.where(small, rng.integers(0, 5, size=size), rng.integers(5, 500, size=size))
    return without_empty_rows(counts)
