"""The shipped examples work as their page says."""

from __future__ import annotations

from pathlib import Path

import pytest

import cellbounds as cb
from cellbounds.risk import audit

PUBLISHED = Path(__file__).parents[2] / "examples" / "published.toml"

TABLE_8 = [
    [(15, 63), (1, 5), (3, 13), (1, 5)],
    [(4, 28), (2, 14), (2, 14), (3, 21)],
    [(3, 11), (10, 36), (10, 36), (2, 8)],
    [(5, 27), (6, 32), (3, 16), (1, 5)],
]


def test_the_intruder_sees_table_8():
    answer = cb.bounds(cb.read_release(PUBLISHED))
    pairs = [
        [(int(low), int(high)) for low, high in zip(lows, highs, strict=True)]
        for lows, highs in zip(answer.lower, answer.upper, strict=True)
    ]
    assert pairs == TABLE_8


def test_the_owner_finds_it_safe():
    found = audit(cb.example_table("delinquent"), cb.read_release(PUBLISHED))
    assert found.safe
    assert not any(cell.disclosed for cell in found.cells)


@pytest.mark.parametrize("name", ["analgesic", "census3", "delinquent", "koch4", "mp3"])
def test_shipped_tables_have_the_totals_of_the_papers(name):
    totals = {"analgesic": 193, "census3": 742, "delinquent": 135, "koch4": 193, "mp3": 50}
    assert cb.example_table(name).total == totals[name]
