"""Counting and listing the tables that agree with rates, from the definitions alone.

Nothing here uses the library. A row of rates p with row sum n >= 1 allows the counts m with
|p - m/n| <= eps (< eps if strict) and m >= lower. The number of rows with each sum is a generating
function; the number of tables with a given total is a coefficient of the product over the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce

Row = tuple[Fraction, ...]


@dataclass(frozen=True)
class Rule:
    """How closely counts must follow the rates, and the least count of every cell."""

    eps: Fraction = Fraction(0)
    strict: bool = False
    lower: int = 0

    def allows(self, rate: Fraction, count: int, n: int) -> bool:
        """The definition, word for word."""
        distance = abs(rate - Fraction(count, n))
        near = distance < self.eps if self.strict else distance <= self.eps
        return near and count >= self.lower

    def counts(self, rate: Fraction, n: int) -> range:
        """All counts of a cell that the definition allows in a row with sum n."""
        low, high = (rate - self.eps) * n, (rate + self.eps) * n
        least = math.floor(low) + 1 if self.strict else math.ceil(low)
        most = math.ceil(high) - 1 if self.strict else math.floor(high)
        return range(max(least, self.lower, 0), min(most, n) + 1)


def rows_of(rates: list[list[str]]) -> tuple[Row, ...]:
    return tuple(tuple(Fraction(rate) for rate in row) for row in rates)


def times(left: list[int], right: list[int], most: int) -> list[int]:
    """The product of two polynomials, up to the power `most`."""
    product = [0] * (most + 1)
    for i, a in enumerate(left):
        if a:
            for j, b in enumerate(right[: most + 1 - i]):
                if b:
                    product[i + j] += a * b
    return product


@cache
def row_counts(row: Row, total: int, rule: Rule, parts: int = 1) -> tuple[int, ...]:
    """For each n up to `total`, in how many ways the row can have the sum n.

    `parts`: each cell is itself the sum of so many cells that nothing is said about.
    """
    found = [0]
    for n in range(1, total + 1):
        ways = [1]
        for rate in row:
            cell = [0] * (n + 1)
            for m in rule.counts(rate, n):
                cell[m] = math.comb(m + parts - 1, parts - 1)
            ways = times(ways, cell, n)
            if not any(ways):
                break
        found.append(ways[n] if n < len(ways) else 0)
    return tuple(found)


def count_tables(rates: list[list[str]], total: int, rule: Rule, parts: int = 1) -> int:
    """The number of tables with this total that agree with the rates."""
    each = [list(row_counts(row, total, rule, parts)) for row in rows_of(rates)]
    return reduce(lambda left, right: times(left, right, total), each)[total]


def list_tables(rates: list[list[str]], total: int, rule: Rule) -> list[list[list[int]]]:
    """The tables themselves."""
    rows = rows_of(rates)
    admissible = [
        [n for n, ways in enumerate(row_counts(row, total, rule)) if ways] for row in rows
    ]
    # Totals that the rows from the i-th on can have together: the walk never enters a dead end.
    reach = [{0}]
    for sums in reversed(admissible):
        reach.insert(0, {n + rest for n in sums for rest in reach[0] if n + rest <= total})

    def below(i: int, left: int) -> Iterator[list[list[int]]]:
        if i == len(rows):
            yield []
            return
        for n in admissible[i]:
            if left - n in reach[i + 1]:
                for row in list_rows(rows[i], n, rule):
                    for rest in below(i + 1, left - n):
                        yield [row, *rest]

    return list(below(0, total)) if total in reach[0] else []


def list_rows(row: Row, n: int, rule: Rule) -> list[list[int]]:
    """The rows of counts with the sum n that agree with the rates."""
    spans = [rule.counts(rate, n) for rate in row]
    if not all(spans):
        return []

    def below(j: int, left: int) -> Iterator[list[int]]:
        if j == len(spans):
            if left == 0:
                yield []
            return
        if sum(span[0] for span in spans[j:]) <= left <= sum(span[-1] for span in spans[j:]):
            for m in spans[j]:
                for rest in below(j + 1, left - m):
                    yield [m, *rest]

    return list(below(0, n))


def fits(table: list[list[int]], rates: list[list[str]], total: int, rule: Rule) -> bool:
    """Whether a table agrees with the rates, asked of each cell by the definition."""
    return sum(map(sum, table)) == total and all(
        sum(counts) >= 1
        and all(
            rule.allows(rate, count, sum(counts)) for rate, count in zip(row, counts, strict=True)
        )
        for row, counts in zip(rows_of(rates), table, strict=True)
    )


def values_seen(tables: list[list[list[int]]]) -> list[list[list[int]]]:
    """For each cell, the sorted counts that it has in some table of the list."""
    return [
        [sorted(set(column)) for column in zip(*rows, strict=True)]
        for rows in zip(*tables, strict=True)
    ]


def sums_seen(tables: list[list[list[int]]]) -> list[list[int]]:
    """For each row, the sorted sums that it has in some table of the list."""
    return [sorted({sum(row) for row in rows}) for rows in zip(*tables, strict=True)]
