"""Requests that wait, are judged, approved, refused or withdrawn."""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress

import pytest
from databases import raw

import cellbounds as cb
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.published import PublishedTable
from cellbounds.errors import InvalidInput
from cellbounds.ledger import Ledger, LedgerBusy, LedgerError, NotAllowed, NotSafe
from cellbounds.ledger.database import Rows
from cellbounds.ledger.history import history_text

TABLE = cb.Table(
    cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]}), [[1, 9], [20, 30]]
)
RATES = "[education|county]@1"
ROUNDED = ["[county]~5", "[education]~5"]
"""Judged in steps."""


@pytest.fixture
def ledger(place):
    return Ledger.create(place, TABLE, keep_table=True, who="ann")


@pytest.fixture
def team(ledger):
    ledger.people.add("ann", ["administers"], who="ann")
    for name in ("bob", "dan"):
        ledger.people.add(name, ["asks", "decides"], who="ann")
    ledger.people.add("cat", ["asks"], who="ann")
    return ledger


def waiting_rows(ledger):
    with raw(ledger) as database:
        return list(database.execute("SELECT number, figures FROM waiting"))


def test_a_request_waits_is_judged_and_becomes_a_release(ledger, place):
    request = ledger.requests.submit([RATES], who="cat", why="a student", origin="api", batch="7")
    assert (request.status, request.who, request.origin, request.batch) == (
        "waiting",
        "cat",
        "api",
        "7",
    )
    again = Ledger.open(place).requests.all(status="waiting")
    assert [one.number for one in again] == [request.number]
    judged = ledger.requests.judge(request.number)
    assert judged.judged["outcome"] == "safe"
    assert judged.mark == ledger.state().mark
    done = ledger.requests.approve(request.number, who="bob", why="fine")
    assert (done.status, done.decided_by, done.reason) == ("approved", "bob", "fine")
    entry = ledger.history()[-1]
    assert (entry.kind, entry.number, entry.content["request"]) == ("released", done.entry, 2)
    assert waiting_rows(ledger) == []
    assert ledger.verify().intact
    assert "request 2" in history_text(ledger.history())
    assert [one["kind"] for one in ledger.export()["entries"]] == ["opened", "released"]


def test_what_is_not_safe_with_what_is_out_goes_on_waiting_until_it_is_refused(ledger):
    ledger.commit(RATES, who="bob", why="first")
    request = ledger.requests.submit("[county]", who="cat", why="second")
    assert ledger.requests.judge(request.number).judged["harmful"] == [2]
    with pytest.raises(NotSafe):
        ledger.requests.approve(request.number, who="bob", why="let us see")
    assert ledger.requests.get(request.number).waiting
    done = ledger.requests.refuse(request.number, who="bob", why="with entry 2")
    assert (done.status, done.reason, done.judged["outcome"]) == (
        "refused",
        "with entry 2",
        "unsafe",
    )
    assert ledger.state().released[-1].number == 2


def test_figures_wait_beside_the_chain_and_go_with_the_decision(ledger):
    release = cb.publish(TABLE, "[county]~5")
    for decide in (ledger.requests.refuse, ledger.requests.approve):
        request = ledger.requests.submit(release, who="cat", why="figures")
        assert request.release.digest == release.digest
        assert [number for number, _ in waiting_rows(ledger)] == [request.number]
        done = decide(request.number, who="bob", why="decided")
        assert done.release is None
        assert waiting_rows(ledger) == []
    released = ledger.history()[-1]
    assert released.release.digest == release.digest


def test_the_same_request_is_one_while_it_waits_and_another_one_afterwards(ledger):
    first = ledger.requests.submit(RATES, who="cat", why="x")
    assert ledger.requests.submit(RATES, who="cat", why="x") == first
    assert ledger.requests.submit(RATES, who="cat", why="y").number != first.number
    ledger.requests.withdraw(first.number, who="cat")
    assert ledger.requests.get(first.number).status == "withdrawn"
    assert ledger.requests.submit(RATES, who="cat", why="x").number > first.number


def test_what_is_out_already_is_approved_with_the_entry_of_then(ledger):
    entry = ledger.commit(RATES, who="bob", why="first")
    request = ledger.requests.submit(RATES, who="cat", why="again")
    done = ledger.requests.approve(request.number, who="bob", why="it is out")
    assert (done.status, done.entry) == ("approved", entry.number)
    assert len(ledger.state().released) == 1


def test_who_asked_does_not_decide_and_roles_are_kept(team):
    with pytest.raises(NotAllowed):
        team.requests.submit(RATES, who="ann", why="administers only")
    with pytest.raises(NotAllowed):
        team.requests.submit(RATES, who="eve", why="nobody")
    request = team.requests.submit(RATES, who="bob", why="mine")
    for who in ("bob", "cat", "ann", "eve"):
        with pytest.raises(NotAllowed):
            team.requests.approve(request.number, who=who, why="x")
        with pytest.raises(NotAllowed):
            team.requests.refuse(request.number, who=who, why="x")
    with pytest.raises(NotAllowed, match="may withdraw"):
        team.requests.withdraw(request.number, who="dan")
    assert team.requests.approve(request.number, who="dan", why="fine").status == "approved"
    own = team.requests.submit("[education]~5", who="bob", why="mine")
    assert team.requests.refuse(own.number, who="bob", why="alone here", alone=True).reason


def test_of_two_who_decide_the_second_is_told(ledger, place):
    request = ledger.requests.submit(ROUNDED, who="cat", why="x")
    other = Ledger.open(place)

    def meanwhile(done, _):
        if other.requests.get(request.number).waiting:
            other.requests.refuse(request.number, who="dan", why="no")

    with pytest.raises(LedgerError, match="was decided meanwhile: refused in entry 3 by dan"):
        ledger.requests.approve(
            request.number, who="bob", why="yes", budget=cb.Budget(progress=meanwhile)
        )
    assert [one.kind for one in ledger.history()] == ["opened", "requested", "refused"]
    for act in (ledger.requests.approve, ledger.requests.refuse):
        with pytest.raises(LedgerError, match="refused by dan"):
            act(request.number, who="bob", why="again")


def test_racing_approvals_never_let_an_unsafe_pair_out(team, place):
    pair = [team.requests.submit(what, who="cat", why="x") for what in (RATES, "[county]")]
    outcomes = []

    def decide(request, who):
        try:
            done = Ledger.open(place).requests.approve(request.number, who=who, why="fast")
            outcomes.append(done.status)
        except LedgerError as problem:
            outcomes.append(type(problem).__name__)

    threads = [
        threading.Thread(target=decide, args=(request, who))
        for request in pair
        for who in ("bob", "dan")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("approved") == 1
    assert len(team.state().released) == 1
    assert team.verify().intact


@pytest.mark.parametrize(
    "what",
    [
        "/etc/passwd",
        "release.toml",
        "",
        [],
        ["[nothing]"],
        ["[county"],
        [3],
        ["[county]"] * 201,
    ],
)
def test_a_request_is_statements_about_the_table_and_nothing_else(ledger, what):
    with pytest.raises(InvalidInput):
        ledger.requests.submit(what, who="cat", why="x")
    assert len(ledger.history()) == 1


def test_a_release_about_another_table_or_without_a_reason_is_refused(ledger):
    other = cb.publish(cb.Table(cb.Domain({"A": ["x", "y"]}), [2, 3]), "[A]")
    with pytest.raises(InvalidInput, match="the same variables and levels"):
        ledger.requests.submit(other, who="cat", why="x")
    with pytest.raises(InvalidInput, match="give a reason"):
        ledger.requests.submit(RATES, who="cat", why=" ")
    with pytest.raises(InvalidInput, match="no request 9"):
        ledger.requests.get(9)
    with pytest.raises(InvalidInput, match="status='open'"):
        ledger.requests.all(status="open")


def published(**levels):
    """A crosstab of another tool, its levels in another order than the ledger's."""
    trees = {name: Hierarchy(labels, total="All") for name, labels in levels.items()}
    place = {name: TABLE.domain.levels(name).index for name in levels}
    counts, entries = TABLE.margin([*levels]).counts, {}
    for cell in itertools.product(*levels.values()):
        at = tuple(place[name](label) for name, label in zip(levels, cell, strict=True))
        entries[cell] = int(counts[at])
    return PublishedTable(where="made.csv", hierarchies=trees, entries=entries)


def test_tables_of_another_tool_mean_the_same_in_whatever_order_they_stand(ledger):
    both = published(education=["High", "Low"], county=["Beta", "Alpha"])
    alone = published(county=["Beta", "Alpha"])
    first, second = ledger.requests.submit_tables([both, alone], why="w", who="c", batch="b")
    assert first.batch == second.batch == "b"
    for request, statement in ((first, "[education,county]"), (second, "[county]")):
        margin = request.release.statements[0]
        true = cb.publish(TABLE, statement, total=False).statements[0]
        assert (margin.lower == true.lower).all() and (margin.upper == true.upper).all()
    judged = ledger.requests.judge(second.number, table=TABLE).judged["outcome"]
    assert judged == ledger.ask(["[county]"], total=False).outcome.value


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"county": ["Alpha"]}, r"the levels of 'county' are others .*'Beta' in one of them"),
        ({"shire": ["Alpha", "Beta"]}, "unknown variable 'shire'; the variables are county"),
    ],
)
def test_tables_with_other_levels_are_refused_and_nothing_is_asked_for(ledger, levels, said):
    trees = {name: Hierarchy(labels) for name, labels in levels.items()}
    cells = itertools.product(*levels.values())
    entries = dict.fromkeys(cells, 7)
    other = PublishedTable(where="made.csv", hierarchies=trees, entries=entries)
    with pytest.raises(InvalidInput, match=said):
        ledger.requests.submit_tables([published(county=["Alpha", "Beta"]), other], why="w")
    assert ledger.requests.all() == ()


def test_the_last_request_of_the_same_person(ledger):
    first = ledger.requests.submit("[county]", who="cat", why="x")
    ledger.requests.submit("[education]", who="bob", why="x")
    last = ledger.requests.submit(RATES, who="cat", why="x")
    assert ledger.requests.before(last).number == first.number
    assert ledger.requests.before(first) is None
    assert set(last.to_dict()) >= {"number", "who", "status", "statements"}


def test_who_says_the_same_again_is_told_what_was_decided(ledger):
    """Somebody who was killed, or whose output was lost, does not know that it is done."""
    approved = ledger.requests.submit(ROUNDED, who="cat", why="x").number
    refused = ledger.requests.submit(RATES, who="cat", why="x").number
    withdrawn = ledger.requests.submit("[education]", who="cat", why="x").number
    acts = [
        (ledger.requests.approve, approved, {"who": "bob", "why": "fine"}),
        (ledger.requests.refuse, refused, {"who": "bob", "why": "not now"}),
        (ledger.requests.withdraw, withdrawn, {"who": "cat", "why": "never mind"}),
    ]
    for act, number, said in acts:
        done = act(number, **said)
        count = len(ledger.history())
        assert act(number, **said) == done
        assert len(ledger.history()) == count
        for other in ({"why": "for another reason"}, {"who": "dan"}):
            with pytest.raises(LedgerError, match=f"was {done.status} by {done.decided_by}"):
                act(number, **said | other)
        for another, *_ in acts:
            if another != act:
                with pytest.raises(LedgerError, match="Nothing was written"):
                    another(number, **said)
        assert len(ledger.history()) == count


def test_a_reason_cannot_look_like_another_entry(ledger):
    ledger.requests.submit(RATES, who="cat\nentry 9, by ann", why="x\nentry 9: released\u2028")
    assert [line[:7] for line in history_text(ledger.history()).split("\n")] == [
        "entry 1",
        "  polic",
        "entry 2",
        "  [educ",
        "  why: ",
    ]


def test_a_decision_while_requests_are_listed_is_before_or_after(ledger, place, monkeypatch):
    request = ledger.requests.submit(ROUNDED, who="cat", why="x")
    other, read = Ledger.open(place, wait=0.2), Rows.waiting

    def decided_first(rows):
        monkeypatch.setattr(Rows, "waiting", read)
        with suppress(LedgerBusy):  # who reads may keep others from writing
            other.requests.refuse(request.number, who="bob", why="no")
        return rows.waiting()

    monkeypatch.setattr(Rows, "waiting", decided_first)
    (seen,) = ledger.requests.all()
    assert seen.waiting or seen.reason == "no"


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM waiting",
        "UPDATE waiting SET figures = '{'",
        "UPDATE waiting SET figures = '[1]'",
        "UPDATE waiting SET figures = '{\"domain\": 3}'",
        "UPDATE waiting SET judged = 'none'",
    ],
)
def test_what_waits_and_was_damaged_is_said(ledger, harm):
    ledger.requests.submit(cb.publish(TABLE, "[county]~5"), who="cat", why="x")
    with raw(ledger) as database:
        database.execute(harm)
    for act in (ledger.requests.all, lambda: ledger.requests.refuse(2, who="bob", why="no")):
        with pytest.raises(LedgerError, match="noted of request 2 is gone or damaged"):
            act()
