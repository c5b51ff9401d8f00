"""Every table of a small release at once, as rows of one array.

The same slow and obvious way as in `bruteforce.py`, for more tables: what a statement says of one
number is asked once for each number that a small table can hold, and looked up for all tables.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from bruteforce import cell_index_of, count_fits, looked_up, rate_fits, reprinted, total_holds
from cellbounds import Conditional, Known, Linear, Margin, Release, Total


@functools.lru_cache(maxsize=32)
def all_tables(size: int, largest: int) -> np.ndarray:
    """Every table with `size` cells and at most `largest` records, one in each row."""
    if size == 1:
        return np.arange(largest + 1)[:, None]
    shorter = all_tables(size - 1, largest)
    left = largest - shorter.sum(axis=1)
    grown = np.repeat(shorter, left + 1, axis=0)
    last = np.concatenate([np.arange(rest + 1) for rest in left])
    return np.column_stack([grown, last])


def listed(release: Release, largest: int) -> np.ndarray:
    """The consistent tables with at most `largest` records, flat, one in each row."""
    tables = all_tables(release.domain.size, largest)
    for statement in release.statements:
        tables = tables[fitting(statement, release, tables)]
    return tables


def belongs(release: Release, names: tuple[str, ...]) -> np.ndarray:
    """Cells of the domain by cells of a margin: 1 where one is part of the other."""
    domain = release.domain
    shape = [len(domain.levels(name)) for name in names]
    inside = np.zeros((domain.size, math.prod(shape)), dtype=np.int64)
    for cell, labels in enumerate(domain.cells()):
        for index in cell_index_of(release, labels, names):
            inside[cell, np.ravel_multi_index(index, shape)] = 1
    return inside


def sums(release: Release, tables: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """The margin of each table, flat."""
    return tables @ belongs(release, names)


def fitting(statement: object, release: Release, tables: np.ndarray) -> np.ndarray:
    """Which tables a statement is true of."""
    if isinstance(statement, Total):
        return table_of(lambda n: total_holds(statement, n), tables)[tables.sum(axis=1)]
    margin = sums(release, tables, statement.variables)
    fits = np.ones(len(tables), dtype=bool)
    match statement:
        case Margin():
            for place, entry in enumerate(statement.entries.flat):
                allowed = table_of(lambda n, e=entry: count_fits(statement, e, n), tables)
                fits &= allowed[margin[:, place]]
        case Known():
            for place, rule in enumerate(prior_rules(statement, release)):
                fits &= table_of(rule, tables)[margin[:, place]]
        case Linear():
            fits = weighted_fits(statement, release, margin)
        case Conditional():
            fits = rates_fit(statement, margin)
    return fits


def table_of(rule, tables: np.ndarray) -> np.ndarray:
    most = int(tables.sum(axis=1).max(initial=0))
    return np.array([bool(rule(n)) for n in range(most + 1)])


def prior_rules(statement: Known, release: Release):
    domain = release.domain.project(statement.variables)
    for index, labels in zip(np.ndindex(domain.shape), domain.cells(), strict=True):
        low = looked_up(statement.lower, index, labels)
        high = looked_up(statement.upper, index, labels)
        listed_values = looked_up(statement.values, index, labels)

        def rule(n, low=low, high=high, values=listed_values):
            return (
                (low is None or n >= low)
                and (high is None or n <= high)
                and (values is None or n in values)
            )

        yield rule


def weights_of(statement: Linear, release: Release) -> list:
    domain = release.domain.project(statement.variables)
    return [
        looked_up(statement.coefficients, index, labels) or 0
        for index, labels in zip(np.ndindex(domain.shape), domain.cells(), strict=True)
    ]


def weighted_fits(statement: Linear, release: Release, margin: np.ndarray) -> np.ndarray:
    weights = weights_of(statement, release)
    ends = [end for end in (statement.lower, statement.upper) if end is not None]
    scale = math.lcm(*(weight.denominator for weight in weights), *(e.denominator for e in ends))
    weighted = margin @ np.array([int(weight * scale) for weight in weights])
    fits = np.ones(len(margin), dtype=bool)
    if statement.lower is not None:
        fits &= weighted >= int(statement.lower * scale)
    if statement.upper is not None:
        fits &= weighted <= int(statement.upper * scale)
    return fits


def rates_fit(statement: Conditional, margin: np.ndarray) -> np.ndarray:
    rows = math.prod(statement.shape[: len(statement.given)])
    rates = statement.rates.reshape(rows, -1)
    margin = margin.reshape(len(margin), rows, rates.shape[1])
    tolerances = statement.eps or (Fraction(0),)
    if len(tolerances) == 1:
        tolerances *= rates.size
    eps = np.array(tolerances, dtype=object).reshape(rates.shape)
    fits = np.ones(len(margin), dtype=bool)
    for i in range(rows):
        total = margin[:, i].sum(axis=1)
        if statement.missing == "zero" and all(rate is None for rate in rates[i]):
            fits &= total == 0
            continue
        fits &= total >= 1
        if statement.rounding is not None and not statement.interval:
            fits &= printed_so(statement, margin[:, i], list(rates[i]))
        most = int(total.max(initial=0))
        for j in range(rates.shape[1]):
            allowed = np.zeros((most + 1, most + 1), dtype=bool)
            for n in range(1, most + 1):
                for x in range(n + 1):
                    allowed[x, n] = rate_fits(statement, rates[i, j], eps[i, j], Fraction(x, n))
            fits &= allowed[margin[:, i, j], total]
    return fits


def printed_so(statement: Conditional, rows: np.ndarray, figures: list) -> np.ndarray:
    """Which rows, each rounded again by the rule, show the same figures."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    again = [bool(sum(row)) and reprinted(statement, row, figures) for row in distinct.tolist()]
    return np.array(again, dtype=bool)[place.ravel()]


def most_records(release: Release, limit: int) -> int | None:
    """How many records the statements allow at most, from totals, margins and priors alone.

    None if that is more than `limit`, or there is no limit.
    """
    caps = []
    for statement in release.statements:
        if isinstance(statement, Total):
            caps.append(math.inf if statement.upper is None else statement.upper)
            continue
        if isinstance(statement, Conditional | Linear):
            continue
        inside = belongs(release, statement.variables)
        if not inside.any(axis=1).all():
            continue  # some cells are in no group
        if isinstance(statement, Margin):
            rules = [
                lambda n, e=entry, s=statement: count_fits(s, e, n)
                for entry in statement.entries.flat
            ]
        else:
            rules = list(prior_rules(statement, release))
        most = [max((n for n in range(limit + 2) if rule(n)), default=0) for rule in rules]
        caps.append(math.inf if max(most) > limit else sum(most))
    smallest = min(caps, default=math.inf)
    return None if smallest > limit else int(smallest)
