"""The counter that the other files lean on, against the definition asked of every table."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from counting import Rule, count_tables, fits, list_tables

RULES = [
    Rule(Fraction(eps), strict, lower)
    for eps in ("0", "0.05", "0.1")
    for strict in (False, True)
    for lower in (0, 1)
]
RATES = [
    [["0.2", "0.8"], ["0.4", "0.6"]],
    [["0.5", "0.5"], ["1", "0"]],
    [["0.3", "0.3", "0.4"]],
    [["1/3", "2/3"], ["0.45", "0.45"]],
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_counts_of_a_cell(rule):
    for n, rate in itertools.product(range(1, 41), map(Fraction, ("0", "0.37", "5/8", "1"))):
        assert list(rule.counts(rate, n)) == [m for m in range(n + 1) if rule.allows(rate, m, n)]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("rates", RATES, ids=str)
def test_tables(rates, rule):
    cells = sum(map(len, rates))
    width = len(rates[0])
    for total in (9, 12):
        tables = [
            [list(counts[start : start + width]) for start in range(0, cells, width)]
            for counts in itertools.product(range(total + 1), repeat=cells)
            if sum(counts) == total
        ]
        expected = [table for table in tables if fits(table, rates, total, rule)]
        assert sorted(list_tables(rates, total, rule)) == expected
        assert count_tables(rates, total, rule) == len(expected)


def test_cells_made_of_parts():
    """Tables (2, 4), (3, 3) and (4, 2); a cell of m in two parts can be split in m + 1 ways."""
    rule = Rule(Fraction(1, 6))
    assert list_tables([["1/2", "1/2"]], 6, rule) == [[[2, 4]], [[3, 3]], [[4, 2]]]
    assert count_tables([["1/2", "1/2"]], 6, rule, parts=2) == 3 * 5 + 4 * 4 + 5 * 3
