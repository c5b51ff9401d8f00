"""Using a ledger: asking, committing, refusing, policies; the same on every database."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import cellbounds as cb
from cellbounds.disclosure.policies import GroupDisclosure, Outcome, Policy, SmallCounts
from cellbounds.ledger import Ledger, LedgerError, NotSafe

TABLE = cb.Table(
    cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]}), [[1, 9], [20, 30]]
)
RATES, ROWS = "[education|county]@1", "[county]"
"""Each is safe alone, not both together."""


@pytest.fixture
def ledger(place, clock):
    return Ledger.create(place, TABLE, who="ann", clock=clock, user=lambda: "the user")


def kinds(ledger):
    return [entry.kind for entry in ledger.history()]


def test_a_release_that_is_safe_is_committed_with_who_when_and_why(ledger):
    entry = ledger.commit(RATES, table=TABLE, who="ann", why="yearbook")
    assert (entry.number, entry.kind, entry.who, entry.why) == (2, "released", "ann", "yearbook")
    assert entry.at == "2026-03-01T00:02:00+00:00"
    assert entry.statements == (RATES, "N")
    assert entry.outcome == "safe"
    assert ledger.history()[-1] == entry
    assert entry.release.digest == cb.publish(TABLE, RATES).digest
    assert ledger.state().released == (entry,)


def test_the_user_is_recorded_unless_somebody_is_named(ledger):
    assert ledger.commit("[education]", table=TABLE, why="x").who == "the user"


def test_a_user_without_a_name_must_be_named(tmp_path, monkeypatch):
    def nobody():
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", nobody)
    with pytest.raises(cb.InvalidInput, match="has no name"):
        Ledger.create(tmp_path / "l", TABLE)
    assert Ledger.create(tmp_path / "l", TABLE, who="ann").verify().intact


def test_the_second_of_two_is_refused_and_the_first_is_named(ledger):
    assert ledger.ask(ROWS, table=TABLE).outcome is Outcome.SAFE
    first = ledger.commit(RATES, table=TABLE, why="yearbook")
    before = ledger.history()
    with pytest.raises(NotSafe) as refused:
        ledger.commit(ROWS, table=TABLE, why="web page")
    answer = refused.value.answer
    assert answer.outcome is Outcome.UNSAFE
    assert answer.harmful == (first,)
    assert answer.smallest
    assert "entry 2" in str(refused.value)
    assert RATES in str(refused.value)
    assert ledger.history() == before


def test_asking_changes_nothing_unless_it_is_to_be_recorded(ledger):
    ledger.ask(RATES, table=TABLE)
    assert kinds(ledger) == ["opened"]
    ledger.ask(RATES, table=TABLE, record=True, who="bob", why="a request")
    assert kinds(ledger) == ["opened", "asked"]
    assert ledger.state().released == ()


def test_a_refusal_is_recorded_without_figures(ledger):
    ledger.commit(RATES, table=TABLE, why="yearbook")
    with pytest.raises(NotSafe):
        ledger.commit(ROWS, table=TABLE, why="web page", record=True)
    refused = ledger.history()[-1]
    assert refused.kind == "refused"
    assert refused.release is None
    assert refused.content["judged"]["harmful"] == [2]
    assert refused.statements == (ROWS, "N")
    assert set(refused.content) == {"statements", "digest", "version", "judged"}
    by_hand = ledger.refuse("[education]", table=TABLE, why="not wanted")
    assert (by_hand.kind, by_hand.outcome) == ("refused", "safe")
    assert [entry.number for entry in ledger.state().released] == [2]


def test_what_is_out_already_is_recorded_whatever_the_verdict(ledger):
    ledger.commit(RATES, table=TABLE, why="yearbook")
    entry = ledger.commit(ROWS, table=TABLE, why="it was on the web", already_out=True)
    assert entry.outcome == "unsafe"
    assert ledger.state().standing is Outcome.UNSAFE
    answer = ledger.ask("[education]", table=TABLE)
    assert answer.outcome is Outcome.UNSAFE
    assert "unsafe already" in answer.reason


def test_everything_out_is_one_release(ledger):
    ledger.commit("[education]", table=TABLE, why="x")
    ledger.commit(["[education]", "[county]~5"], table=TABLE, why="y")
    assert ledger.together().digest == cb.publish(TABLE, "[education]", "[county]~5").digest
    assert ledger.together(until=2).digest == cb.publish(TABLE, "[education]").digest
    with pytest.raises(cb.InvalidInput, match="entries 1 to 3"):
        ledger.together(until=4)


def test_totals_in_pieces_are_one_total(ledger):
    ledger.commit(cb.Release(TABLE.domain, [cb.Total(lower=40, upper=80)]), table=TABLE, why="x")
    ledger.commit(cb.Release(TABLE.domain, [cb.Total(lower=50)]), table=TABLE, why="y")
    assert ledger.together().total == cb.Total(lower=50, upper=80)


def test_the_table_must_be_supplied_and_match(ledger):
    with pytest.raises(cb.InvalidInput, match="need the table to be worked out from; supply it"):
        ledger.ask(RATES)
    other = TABLE.counts.copy()
    other[0, 0] += 1
    with pytest.raises(cb.InvalidInput, match="is not the ledger's"):
        ledger.ask(RATES, table=cb.Table(TABLE.domain, other))
    turned = TABLE.margin(["education", "county"])
    assert ledger.ask(RATES, table=turned).outcome is Outcome.SAFE
    with pytest.raises(cb.InvalidInput, match="no variable 'county'"):
        ledger.ask(RATES, table=TABLE.margin(["education"]))


def test_labels_that_are_numbers_match_the_texts_of_files(place, tmp_path):
    table = cb.Table(cb.Domain({"county": [1, 2], "education": [0, 1]}), TABLE.counts)
    ledger = Ledger.create(place, table, who="ann")
    table.write(tmp_path / "t.csv")
    read = cb.read_table(tmp_path / "t.csv")
    assert read != table
    assert ledger.commit(RATES, table=read, why="x").number == 2
    assert ledger.ask(ROWS, table=table).outcome is Outcome.UNSAFE
    assert ledger.ask(ROWS, table=read).outcome is Outcome.UNSAFE


def test_of_several_who_make_the_same_ledger_one_does(place):
    def make(number):
        try:
            Ledger.create(place, TABLE, who=f"person {number}")
        except LedgerError as problem:
            return str(problem)
        return "made"

    with ThreadPoolExecutor(6) as threads:
        said = list(threads.map(make, range(6)))
    assert said.count("made") == 1
    assert all("already" in one for one in said if one != "made")
    assert Ledger.open(place).verify().intact


def test_a_kept_table_need_not_be_supplied(place):
    ledger = Ledger.create(place, TABLE, keep_table=True, who="ann")
    assert ledger.commit(RATES, why="yearbook").number == 2
    assert ledger.table() == TABLE
    assert ledger.verify().intact


def test_a_ledger_without_the_counts_needs_no_table_for_a_release_file(place, tmp_path):
    ledger = Ledger.create(place, TABLE, independent=True, who="ann")
    file = tmp_path / "said.toml"
    cb.publish(TABLE, "[education|county]@1").write(file)
    assert ledger.ask(str(file)).outcome is ledger.ask(RATES, table=TABLE).outcome
    with pytest.raises(cb.InvalidInput, match="need the table"):
        ledger.ask(RATES)
    counted = cb.judge(None, cb.publish(TABLE, RATES), independent=True)
    assert ledger.ask(RATES, table=TABLE).outcome is counted.outcome


def test_groupings_come_with_the_release(ledger):
    west = TABLE.grouped("side", of="county", levels={"w": ["Alpha"], "e": ["Beta"]})
    ledger.commit("[side]", table=west, why="x")
    assert "side" in ledger.together().domain.groupings
    east = TABLE.grouped("side", of="county", levels={"w": ["Beta"], "e": ["Alpha"]})
    with pytest.raises(cb.InvalidInput, match="means something else"):
        ledger.ask("[side]", table=east)


def test_a_release_must_speak_of_the_ledgers_variables(ledger):
    strange = cb.Release(cb.Domain({"colour": ["red"]}), [cb.Margin(["colour"], [3])])
    with pytest.raises(cb.InvalidInput, match="'colour', which the ledger's table does not have"):
        ledger.ask(strange, table=TABLE)
    levels = cb.Release(cb.Domain({"county": ["Beta", "Alpha"]}), [cb.Margin(["county"], [1, 2])])
    with pytest.raises(cb.InvalidInput, match="levels of 'county'"):
        ledger.ask(levels, table=TABLE)
    wrong = cb.Release(TABLE.domain, [cb.Total(7)])
    with pytest.raises(cb.InvalidInput):
        ledger.commit(wrong, table=TABLE, why="x")
    assert kinds(ledger) == ["opened"]


def test_a_policy_is_an_entry_and_judges_what_is_out_again(ledger):
    ledger.commit(RATES, table=TABLE, why="yearbook")
    wide = Policy("wide", rules=[SmallCounts(at_most=3, values=50)])
    answer = ledger.set_policy(wide, table=TABLE, who="head", why="new law")
    assert answer.outcome is Outcome.UNSAFE
    entry = ledger.history()[-1]
    assert (entry.kind, entry.outcome) == ("policy", "unsafe")
    assert ledger.state().policy == wide
    assert ledger.state().standing is Outcome.UNSAFE
    again = ledger.set_policy("small-counts", table=TABLE, why="the law was repealed")
    assert again.outcome is Outcome.SAFE
    assert ledger.state().standing is Outcome.SAFE


def test_a_policy_about_other_variables_is_refused(ledger, tmp_path):
    other = Policy("other", rules=[GroupDisclosure(responses=("income",))])
    with pytest.raises(cb.InvalidInput, match="unknown variable 'income'"):
        ledger.set_policy(other, table=TABLE, why="x")
    with pytest.raises(cb.InvalidInput, match="unknown variable 'income'"):
        Ledger.create(tmp_path / "l", TABLE, other, who="ann")
    assert kinds(ledger) == ["opened"]


def test_a_total_that_contradicts_what_is_out_is_refused(ledger):
    ledger.commit("N", table=TABLE, why="x")
    with pytest.raises(cb.InvalidInput, match="another total") as problem:
        ledger.ask(cb.Release(TABLE.domain, [cb.Total(59)]), table=TABLE)
    assert "60" not in str(problem.value)


def test_margins_can_be_protected_too(place, tmp_path):
    table = cb.datasets.read("koch4")
    rates = "[recovery|center,status]@2"
    whole = Ledger.create(place, table, who="ann")
    assert whole.ask("[center,recovery]", table=table).outcome is Outcome.SAFE
    protecting = Ledger.create(
        str(tmp_path / "other.ledger"),
        table,
        protect=[["center", "status", "recovery"]],
        who="ann",
    )
    alone = cb.judge(table, cb.publish(table, rates), over=["center", "status", "recovery"])
    cells = cb.judge(table, cb.publish(table, rates))
    answer = protecting.ask(rates, table=table)
    assert [one.outcome for _, one in answer.judged] == [cells.outcome, alone.outcome]


def test_margins_can_be_protected_later(ledger):
    assert ledger.state().protected == (("county", "education"),)
    ledger.commit(ROWS, table=TABLE, why="x")
    answer = ledger.set_policy(protect=[["county"]], table=TABLE, why="a new promise")
    assert answer.outcome is Outcome.SAFE
    assert ledger.state().protected == (("county", "education"), ("county",))
    assert ledger.state().policy.name == "small-counts"
    with pytest.raises(cb.InvalidInput, match="unknown variable"):
        ledger.set_policy(protect=[["colour"]], table=TABLE, why="x")
    with pytest.raises(cb.InvalidInput, match="names no variable"):
        ledger.set_policy(protect=[[]], table=TABLE, why="x")


def test_a_small_margin_that_is_spoken_of_is_harmed_without_being_protected(place):
    table = cb.Table(TABLE.domain, [[1, 2], [20, 30]])
    ledger = Ledger.create(place, table, keep_table=True, who="ann")
    answer = ledger.ask(ROWS)
    assert answer.outcome is Outcome.UNSAFE
    assert [one.variables for _, verdict in answer.judged for one in verdict.broken] == [
        ("county",)
    ]


def test_a_margin_that_nobody_speaks_of_is_harmed_only_if_it_is_protected(place):
    # Both rates together tell the counties, which neither of them is about with N alone.
    table = cb.Table(TABLE.domain, [[1, 2], [20, 30]])
    ledger = Ledger.create(place, table, keep_table=True, who="ann")
    assert ledger.ask("N").outcome is Outcome.SAFE
    ledger.set_policy(protect=[["county"]], why="a promise")
    assert [target.over for target, _ in ledger.ask("N").judged] == [None, ("county",)]


def test_several_ledgers_share_a_database(place):
    url = place if "://" in place else f"sqlite:///{place}"
    joint = "&" if "?" in url else "?"
    first = Ledger.create(f"{url}{joint}ledger=one", TABLE, who="ann")
    koch = cb.datasets.read("koch4")
    second = Ledger.create(f"{url}{joint}ledger=two%20b", koch, who="ann")
    first.commit(RATES, table=TABLE, why="x")
    assert [len(one.history()) for one in (first, second)] == [2, 1]
    assert second.verify().intact
    assert "two b" in repr(second)
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(f"{url}{joint}ledger=one", TABLE, who="ann")
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger.open(f"{url}{joint}ledger=three")


@pytest.mark.parametrize("why", ["", "  ", None])
def test_a_reason_is_needed(ledger, why):
    with pytest.raises(cb.InvalidInput, match="give a reason"):
        ledger.commit(RATES, table=TABLE, why=why)


def test_a_name_is_needed(ledger):
    with pytest.raises(cb.InvalidInput, match="name the person"):
        ledger.commit(RATES, table=TABLE, why="x", who=" ")
    assert kinds(ledger) == ["opened"]


def test_budgets_leave_it_undecided_and_uncommitted(place):
    table = cb.datasets.read("koch4")
    ledger = Ledger.create(place, table, who="ann")
    ledger.commit("[center,status]", table=table, why="x")
    with pytest.raises(NotSafe) as refused:
        ledger.commit(
            ["[recovery|center,status,treatment]@1", "[center,treatment,recovery]"],
            table=table,
            why="y",
            seconds=1e-6,
        )
    assert refused.value.answer.outcome in (Outcome.UNDECIDED, Outcome.UNSAFE)
    assert len(ledger.history()) == 2


def test_answers_say_what_they_are(ledger):
    ledger.commit(RATES, table=TABLE, why="x")
    answer = ledger.ask(ROWS, table=TABLE)
    said = answer.to_dict()
    assert said["verdict"] == "unsafe"
    assert said["harmful"] == [{"entry": 2, "statements": [RATES, "N"]}]
    assert json.loads(json.dumps(said)) == said
    assert "UNSAFE" in str(answer)
    assert "<table" in answer._repr_html_()
    assert repr(answer).startswith("<UNSAFE under the policy small-counts")


def test_a_missing_library_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(cb.InvalidInput, match=r"pip install 'cellbounds\[postgres\]'"):
        Ledger.open("postgresql://nobody@nowhere/missing-library")


def test_importing_the_room_loads_no_database():
    code = (
        "import sys, cellbounds.ledger; "
        "print([m for m in ('sqlalchemy', 'alembic', 'psycopg', 'sqlite3') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"


def test_a_rule_that_leaves_no_response_in_a_protected_margin_is_kept_by_the_table(tmp_path):
    table = cb.datasets.read("delinquent")
    rule = GroupDisclosure(given=["county"])
    policy = cb.policies.Policy("rows", rules=[SmallCounts(at_most=3, values=2), rule])
    place = tmp_path / "rows.ledger"
    ledger = Ledger.create(place, table, policy, protect=[["county"]], who="ann")
    answer = ledger.ask("[county]", table=table)
    assert answer.safe
    judged = {target.said: [one.name for one in target.policy.rules] for target, _ in answer.judged}
    assert judged["[county]"] == ["small-counts"]
    assert judged["the cells of the table"] == ["small-counts", "group-disclosure"]
