"""What large tables are given (all cells at once, verdicts first) on tables that can be listed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.disclosure.policies import ExactDisclosure, Outcome, Policy, SmallCounts, attacker
from cellbounds.solvers.general import search
from listing import listed
from mixtures import Case, cases, margin_cases
from strategies import few
from test_mixtures_against_bruteforce import check


@contextmanager
def at_once() -> Iterator[None]:
    """Take every table for a large one."""
    with patch.object(search, "MANY", 1), patch.object(attacker, "LARGE", 1):
        yield


@few(2)
@given(cases())
def test_mixtures(case: Case) -> None:
    with at_once():
        check(case)


@few(2)
@given(margin_cases(), st.booleans())
def test_margins(case: Case, owned: bool) -> None:
    tables = listed(case.release, case.largest)
    owned = owned and bool((tables == case.counts.ravel()).all(axis=1).any())
    start = cb.Table(case.release.domain, case.counts) if owned else None
    with at_once():
        check(case, start=start)


@few(2)
@given(cases(), st.integers(0, 3), st.sampled_from(["values", "width", "exact"]))
def test_verdicts(case: Case, most: int, kind: str) -> None:
    tables = listed(case.release, case.largest)
    assume(len(tables) and (tables == case.counts.ravel()).all(axis=1).any())
    table = cb.Table(case.release.domain, case.counts)
    rule = ExactDisclosure()
    if kind != "exact":
        rule = SmallCounts(at_most=most, zeros=True, **{kind: 2})
    names, policy = case.release.domain.names, Policy("p", rules=[rule])
    # One by one, as test_verdicts_against_bruteforce.py compares them with every table.
    expected = cb.judge(table, case.release, policy, over=names)
    with at_once():
        verdict = cb.judge(table, case.release, policy, over=names)
    assert verdict.outcome is expected.outcome
    for found, wanted in zip(verdict.outcomes.flat, expected.outcomes.flat, strict=True):
        # Once something is broken for certain, the rest may be left open.
        assert found is wanted or (verdict.broken and found is Outcome.UNDECIDED)


def hidden_table(regions: int, places: int, least: int) -> tuple[cb.Table, cb.Release]:
    """A table of places in regions by age and sex: small counts hidden, all subtotals shown."""
    rng = np.random.default_rng(3)
    counts = rng.negative_binomial(0.8, 0.8 / 25.8, size=(regions * places, 6, 4))
    hidden = (counts < 5) & (counts > 0)
    names = [f"p{k}" for k in range(regions * places)]
    groups = {f"r{k}": names[k * places : (k + 1) * places] for k in range(regions)}
    levels = {"place": names, "age": [*"abcdef"], "sex": [*"uvwx"]}
    domain = cb.Domain(levels, groupings={"region": cb.Grouping("place", groups)})
    entries = counts.astype(object)
    entries[hidden] = f">={least}"
    by_region = counts.reshape(regions, places, 6, 4).sum(axis=1)
    statements = [
        cb.Margin(["place", "age", "sex"], entries),
        cb.Margin(["place", "age"], counts.sum(axis=2)),
        cb.Margin(["place", "sex"], counts.sum(axis=1)),
        cb.Margin(["region", "age", "sex"], by_region),
    ]
    return cb.Table(domain, counts), cb.Release(domain, statements)


@pytest.mark.parametrize("least", [0, 1])
def test_a_published_table_with_hidden_cells(least: int) -> None:
    table, release = hidden_table(4, 30, least)
    audit = cb.audit(table, release)
    assert audit.verdict.outcome is Outcome.UNSAFE
    assert len(audit.cells) == table.domain.size
    assert not audit.verdict.open
    sample = [cell for cell in audit.cells if cell.count in (1, 2, 3)][::25]
    for cell in sample:
        low, high = cb.bounds(release, cells=[cell.labels])[cell.labels]
        assert cell.disclosed is (low == high)
        assert low <= cell.values.possible.smallest <= cell.count


def test_an_audit_of_a_large_table_says_what_it_left_open() -> None:
    table, _ = hidden_table(4, 30, 0)
    audit = cb.audit(table, cb.publish(table, "[place,age]", "[place,sex]", "[age,sex]"))
    assert audit.verdict.outcome is not Outcome.UNDECIDED
    assert any("left open" in note for note in audit.verdict.notes)
    assert not all(cell.values.settled for cell in audit.cells)
    small, shown = hidden_table(1, 5, 0)
    assert not any("left open" in note for note in cb.audit(small, shown).verdict.notes)
