"""The chain of hashes: whatever is done to the rows is noticed, and where."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.ledger import BrokenChain, LedgerError
from cellbounds.ledger.chain import (
    ChainHead,
    StoredEntry,
    body_of,
    check,
    checked,
    digest_of_text,
    sealed,
)
from cellbounds.ledger.serialization import (
    plain_release,
    plain_table,
    read_plain_policy,
    read_plain_release,
    read_plain_table,
)
from mixtures import cases

JUDGED = {"outcome": "safe", "broken": 0, "open": 0, "rules": [], "harmful": []}


def chain(count=4):
    rows, head = [], None
    for number in range(count):
        row, entry = sealed(
            head,
            ledger="main",
            kind="asked",
            at=f"t{number}",
            who="é\x00",
            why="",
            content={"statements": ["[a]"], "digest": "ab", "version": 1, "judged": JUDGED},
        )
        rows.append(row)
        head = ChainHead(entry.number, entry.hash)
    return rows, head


ROWS, HEAD = chain()


def kept(_):
    raise AssertionError("nothing is kept here")


def guards():
    return ""


def test_a_chain_is_read_back_as_it_was_written():
    entries = checked(ROWS, HEAD, "main")
    assert [one.number for one in entries] == [1, 2, 3, 4]
    assert entries[0].previous == ""
    assert all(a.hash == b.previous for a, b in itertools.pairwise(entries))
    assert entries[0].who == "é\x00"


@given(st.data())
def test_any_change_of_a_body_is_noticed_at_its_entry(data):
    place = data.draw(st.integers(0, 3))
    body = ROWS[place].body
    at = data.draw(st.integers(0, len(body) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda one: one != body[at]))
    rows = list(ROWS)
    rows[place] = replace(rows[place], body=body[:at] + other + body[at + 1 :])
    with pytest.raises(BrokenChain) as broken:
        checked(rows, HEAD, "main")
    assert broken.value.number == place + 1


@given(st.data())
def test_a_body_changed_together_with_its_hash_is_noticed_at_the_next_entry(data):
    place = data.draw(st.integers(0, 3))
    body = ROWS[place].body.replace('"kind":"asked"', '"kind":"released"')
    rows = list(ROWS)
    rows[place] = StoredEntry(place + 1, body, digest_of_text(body))
    with pytest.raises(BrokenChain) as broken:
        checked(rows, HEAD, "main")
    assert broken.value.number == min(place + 2, 4)


@given(st.lists(st.sampled_from(ROWS), max_size=6).filter(lambda rows: rows != ROWS))
def test_rows_left_out_repeated_or_out_of_order_are_noticed(rows):
    with pytest.raises(BrokenChain):
        checked(rows, HEAD, "main")


def test_a_cut_end_with_its_head_is_noticed_by_a_copy_of_the_head_only():
    cut, head = ROWS[:3], ChainHead(3, ROWS[2].hash)
    assert len(checked(cut, head, "main")) == 3
    assert check(cut, head, "main", noted=None, count=None, kept=kept, guards=guards).intact
    found = check(cut, head, "main", noted=HEAD.hash, count=4, kept=kept, guards=guards)
    assert not found.intact
    assert found.broken == 4
    assert "cut off" in str(found)
    assert check(
        ROWS, HEAD, "main", noted=HEAD.hash.upper(), count=4, kept=kept, guards=guards
    ).compared
    grown = check(ROWS, HEAD, "main", noted=head.hash, count=3, kept=kept, guards=guards)
    assert grown.intact
    assert "continues the copy" in str(grown)


def test_a_rewritten_chain_is_noticed_by_a_copy_of_the_head():
    rows, head = chain(5)
    rewritten = check(rows, head, "main", noted="0" * 64, count=3, kept=kept, guards=guards)
    assert (rewritten.intact, rewritten.broken) == (False, 3)


def test_a_copy_needs_the_head_and_perhaps_the_number():
    with pytest.raises(cb.InvalidInput, match="give the head too"):
        check(ROWS, HEAD, "main", noted=None, count=4, kept=kept, guards=guards)
    with pytest.raises(cb.InvalidInput, match="at least one"):
        check(ROWS, HEAD, "main", noted=HEAD.hash, count=0, kept=kept, guards=guards)


def test_the_head_alone_tells_whether_the_ledger_continues_the_copy():
    for row in ROWS:
        assert check(
            ROWS, HEAD, "main", noted=row.hash, count=None, kept=kept, guards=guards
        ).compared
    for rows, noted in ((ROWS, "0" * 64), (ROWS[:3], HEAD.hash)):
        found = check(
            rows,
            ChainHead(len(rows), rows[-1].hash),
            "main",
            noted=noted,
            count=None,
            kept=kept,
            guards=guards,
        )
        assert (found.intact, found.broken, found.compared) == (False, None, True)
        assert "rewritten or its end cut off" in found.problem


def test_triggers_that_are_out_of_force_are_a_problem_though_every_link_holds():
    found = check(
        ROWS,
        HEAD,
        "main",
        noted=None,
        count=None,
        kept=kept,
        guards=lambda: "the trigger 'x' was dropped",
    )
    assert (found.intact, found.broken) == (False, None)
    assert "every link of 4 entries holds" in found.problem
    assert "'x' was dropped" in found.problem


def test_a_chain_of_another_ledger_is_noticed():
    with pytest.raises(BrokenChain):
        checked(ROWS, HEAD, "other")


@pytest.mark.parametrize("body", ["", "[]", "7", "{}", '{"format":"cellbounds-ledger/1"}', None])
def test_what_is_no_entry_is_noticed_even_with_its_hash(body):
    mark = digest_of_text(body or "")
    with pytest.raises(BrokenChain):
        checked([StoredEntry(1, body, mark)], ChainHead(1, mark), "main")


def test_a_newer_format_is_refused():
    body = body_of({**json.loads(ROWS[0].body), "format": "cellbounds-ledger/9"})
    mark = digest_of_text(body)
    with pytest.raises(LedgerError, match="newer version"):
        checked([StoredEntry(1, body, mark)], ChainHead(1, mark), "main")


# What is recorded is read back with the same meaning.


@given(cases(closed=False))
def test_every_release_is_recorded_without_loss(case):
    values = json.loads(body_of(plain_release(case.release)))
    again = read_plain_release(values)
    assert again.digest == case.release.digest
    assert again.domain == case.release.domain
    assert [one.notation for one in again.statements] == [
        one.notation for one in case.release.statements
    ]
    assert plain_release(again) == values


@pytest.mark.parametrize("name", cb.policies.profiles())
def test_every_profile_is_recorded_without_loss(name):
    policy = cb.policies.read(name)
    assert read_plain_policy(json.loads(body_of(policy.to_dict()))) == policy


def test_tables_are_recorded_without_loss():
    domain = cb.Domain({"a": ["ä,<script>", 'x"y'], "b": [1, 2]})
    table = cb.Table(domain, [[2**70, 0], [3, 0]], structural=[[False, True], [False, False]])
    again = read_plain_table(json.loads(body_of(plain_table(table))))
    assert again == table
    assert again.digest == table.digest


@pytest.mark.parametrize("label", [1.5, ("a", "b"), True, None])
def test_labels_that_json_would_change_are_refused(label):
    table = cb.Table(cb.Domain({"a": [label]}), [1])
    with pytest.raises(cb.InvalidInput, match="texts or whole numbers"):
        plain_table(table)
