"""Entries that are linked as they should be, but do not hold what an entry holds."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.ledger import BrokenChain, Ledger, LedgerError

TABLE = cb.Table(cb.Domain({"a": ["x", "y"], "b": ["p", "q"]}), [[15, 27], [31, 49]])


@pytest.fixture
def place(tmp_path):
    """A ledger that keeps its table, with something released."""
    ledger = Ledger.create(tmp_path / "l.ledger", TABLE, keep_table=True, who="ann")
    ledger.commit("[a]", who="ann", why="yearly")
    return tmp_path / "l.ledger"


def rewrite(place, change):
    """Change entries and link them anew, as whoever can write to the database could."""
    database = sqlite3.connect(place)
    for (name,) in database.execute(
        "SELECT name FROM sqlite_master WHERE type='trigger'"
    ).fetchall():
        database.execute(f"DROP TRIGGER {name}")
    bodies = database.execute("SELECT body FROM entries ORDER BY number").fetchall()
    entries = [json.loads(body) for (body,) in bodies]
    change(entries)
    previous = ""
    for number, values in enumerate(entries, 1):
        values["previous"] = previous
        body = json.dumps(values, sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(body.encode()).hexdigest()
        database.execute(
            "UPDATE entries SET body=?, hash=? WHERE number=?", (body, previous, number)
        )
    database.execute("UPDATE ledgers SET head=?", (previous,))
    database.commit()
    database.close()


def put(number, *path, value):
    """A change of one value of an entry."""

    def change(entries):
        here = entries[number - 1]
        for step in path[:-1]:
            here = here[step]
        here[path[-1]] = value

    return change


MALFORMED = [
    (1, put(1, "who", value=5)),
    (1, put(1, "content", value=[])),
    (1, put(1, "content", "domain", value={"variables": 5})),
    (1, put(1, "content", "policy", value={})),
    (1, put(1, "content", "protected", value=[1])),
    (1, put(1, "content", "structural", value=["x"])),
    (2, put(2, "kind", value=["released"])),
    (2, put(2, "content", "statements", value=[1])),
    (2, put(2, "content", "judged", value={"outcome": "fine"})),
    (2, put(2, "content", "version", value="1")),
    (2, put(2, "content", "release", "statements", 0, value={"margin": {}})),
    (2, put(2, "content", "release", "statements", 0, value={"no such kind": {}})),
    (2, put(2, "content", "release", value=None)),
]


@pytest.mark.parametrize("at", ["yesterday", "2026-03-01T00:00:00"])
def test_nothing_follows_an_entry_whose_time_is_none(place, at):
    rewrite(place, put(2, "at", value=at))
    with pytest.raises(LedgerError, match=r"entry 2 has the time .* which is none in UTC"):
        Ledger.open(place).commit("[b]", who="ann", why="yearly")


@pytest.mark.parametrize(("number", "change"), MALFORMED)
def test_a_malformed_entry_is_refused_by_its_number(run, place, number, change):
    rewrite(place, change)
    found = Ledger.open(place).verify()
    assert (found.intact, found.broken) == (False, number)
    with pytest.raises(BrokenChain, match=f"entry {number} is linked, but its part"):
        Ledger.open(place).ask("[b]")
    for arguments in (
        ["history", place],
        ["history", place, "--format", "html"],
        ["export", place],
        ["ask", place, "[b]", "--jobs", "1"],
        ["commit", place, "[b]", "--why", "w", "--jobs", "1"],
    ):
        code, out, err = run("ledger", *arguments)
        assert (code, out) == (2, "")
        said = [line for line in err.splitlines() if not line.startswith("cellbounds: ")]
        assert len(said) == 1 and said[0].startswith(f"error: entry {number} is linked")
    assert run("ledger", "verify", place)[0] == 1


KINDS = ["opened", "released", "asked", "refused", "policy", "grown", "revised", "refined"]


@pytest.fixture(scope="module")
def one_of_each(tmp_path_factory):
    """A ledger with one entry of each kind, in the order of `KINDS`."""
    place = tmp_path_factory.mktemp("ledgers") / "kinds.ledger"
    ledger = Ledger.create(place, TABLE, keep_table=True, who="ann")
    ledger.commit("[a]", who="ann", why="x", knows=[cb.Known(["b"], lower=[10, 10])])
    ledger.ask("[b]", who="ann", why="x", record=True)
    ledger.refuse("[b]", who="ann", why="x")
    ledger.set_policy("strict", who="ann", why="x")
    versions = [TABLE]
    for counts, change in (([[25, 27], [31, 59]], "grow"), ([[24, 27], [31, 61]], "revise")):
        versions.append(cb.Table(TABLE.domain, counts))
        getattr(ledger, change)(versions[-1], who="ann", why="x")
    domain = cb.Domain({"a": ["x", "y"], "b": ["p", "q"], "c": ["u", "v"]})
    halves = [(table.counts // 2, table.counts - table.counts // 2) for table in versions]
    finer = [cb.Table(domain, np.stack(both, axis=-1)) for both in halves]
    ledger.refine(finer, who="ann", why="x")
    assert [entry.kind for entry in ledger.history()] == KINDS
    return place


@pytest.fixture
def every(one_of_each, tmp_path):
    """The same, to be changed."""
    return shutil.copy(one_of_each, tmp_path / "every.ledger")


def refused_at(place, number, part):
    """Whether an entry is refused by its number and a part of it, and none before."""
    found = Ledger.open(place).verify()
    said = f"entry {number} is linked, but its part {part!r} is not"
    with pytest.raises(BrokenChain, match=said):
        Ledger.open(place).state()
    return (found.intact, found.broken) == (False, number) and said in found.problem


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_has_every_part_of_its_kind(every, kind):
    number = KINDS.index(kind) + 1
    optional = {"already_out", "knows", "knowledge"}  # not all have these, or nothing needs them
    for part in set(Ledger.open(every).history()[number - 1].content) - optional:
        whole = []

        def without(entries, part=part, whole=whole):
            whole.append(entries[number - 1]["content"].pop(part))

        rewrite(every, without)
        assert refused_at(every, number, part)
        rewrite(every, put(number, "content", part, value=whole[0]))
    assert len(Ledger.open(every).history()) == len(KINDS)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("opened", ("content",), 5),
        ("opened", ("content", "digest"), 5),
        ("opened", ("content", "independent"), "no"),
        ("opened", ("content", "kept"), 1),
        ("released", ("at",), 5),
        ("released", ("why",), None),
        ("released", ("content", "knows"), "all"),
        ("released", ("content", "knowledge"), {}),
        ("released", ("content", "knowledge", "statements"), [{"total": {"lower": 3, "upper": 3}}]),
        ("asked", ("content", "judged", "broken"), "3"),
        ("refused", ("content", "judged", "harmful"), [2.5]),
        ("policy", ("content", "judged", "rules"), [1]),
        ("policy", ("content", "policy", "rule"), "x"),
        ("grown", ("content", "judged", "outcome"), []),
        ("revised", ("content", "removed"), 5),
        ("revised", ("content", "removed"), [3, 1]),
        ("revised", ("content", "removed"), [-1, None]),
        ("revised", ("content", "added"), ["1", None]),
        ("revised", ("content", "added"), [1, "2"]),
        ("refined", ("content", "digests"), []),
        ("refined", ("content", "digests"), [1]),
        ("refined", ("content", "domain", "variables"), 5),
    ],
)
def test_parts_are_what_cellbounds_writes(every, kind, path, value):
    number = KINDS.index(kind) + 1
    rewrite(every, put(number, *path, value=value))
    assert refused_at(every, number, path[1] if len(path) > 1 else path[0])


@pytest.mark.parametrize(
    "body", ["{}", "[]", "5", "no JSON", '{"domain": 5}', "[" * 100_000, "without end"]
)
def test_a_kept_table_that_cannot_be_read_was_changed(run, place, body):
    database = sqlite3.connect(place)
    if body == "without end":
        ((kept,),) = database.execute("SELECT body FROM kept_tables").fetchall()
        body = kept.replace("49", "Infinity")
    for (name,) in database.execute(
        "SELECT name FROM sqlite_master WHERE type='trigger'"
    ).fetchall():
        database.execute(f"DROP TRIGGER {name}")
    database.execute("UPDATE kept_tables SET body=?", (body,))
    database.commit()
    database.close()
    with pytest.raises(LedgerError, match="was changed after it was written"):
        Ledger.open(place).ask("[b]")
    assert not Ledger.open(place).verify().intact
    assert run("ledger", "verify", place)[0] == 1
