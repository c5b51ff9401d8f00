"""What an intruder knows besides: judged, recorded with what is out, and known from then on."""

from __future__ import annotations

import json

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.disclosure.policies import Outcome
from cellbounds.ledger import Ledger, NotSafe

DOMAIN = cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]})
TABLE = cb.Table(DOMAIN, [[1, 9], [20, 30]])
RATES, ROWS = "[education|county]@1", "[county]"
ALPHA = cb.Known(["county"], lower={"Alpha": 10}, upper={"Alpha": 10})
"""That ten live in Alpha: with the rates that gives the cells away."""

HARMLESS = cb.Known(["county"], lower={"Beta": 1})

TOML = """
[domain]
county = ["Alpha", "Beta"]
education = ["Low", "High"]

[[known]]
variables = ["county"]
lower = [10, 0]
upper = [10, 60]
"""


@pytest.fixture
def ledger(place):
    return Ledger.create(place, TABLE, keep_table=True, who="ann")


def test_an_answer_depends_on_what_an_intruder_knows(ledger):
    assert ledger.ask(RATES).outcome is Outcome.SAFE
    answer = ledger.ask(RATES, knows=[ALPHA])
    assert answer.outcome is Outcome.UNSAFE
    alone = cb.judge(TABLE, cb.publish(TABLE, RATES), knows=[ALPHA])
    assert answer.judged[0][1].outcome is alone.outcome
    assert answer.judged[0][1].knows[0].notation == "knowledge of [county]"
    with pytest.raises(NotSafe):
        ledger.commit(RATES, knows=ALPHA, why="x")
    assert len(ledger.history()) == 1


def test_what_was_recorded_is_known_from_then_on(ledger):
    first = ledger.commit("[education]~5", knows=[ALPHA], why="x")
    assert first.knows == ("knowledge of [county]",)
    answer = ledger.ask(RATES)
    assert answer.outcome is Outcome.UNSAFE
    # He knows it without the release with which it was recorded.
    assert (answer.harmful, answer.smallest) == ((), True)
    with pytest.raises(NotSafe):
        ledger.commit(RATES, why="y")
    assert "does harm alone, with what an intruder knows" in answer.reason
    with pytest.raises(cb.InvalidInput, match="knows more"):
        ledger.frontier(["N"], sets=True)
    assert RATES in ledger.frontier([RATES, "[education]~5"]).unsafe
    assert ledger.set_policy("small-counts", protect=[["county"]], why="z").outcome is (
        cb.judge(TABLE, cb.publish(TABLE, "[education]~5"), knows=[ALPHA], over=["county"]).outcome
    )


def test_questions_and_refusals_leave_no_knowledge_and_no_figures_of_it(ledger):
    ledger.ask(RATES, knows=[ALPHA], record=True, why="a thought")
    ledger.refuse(RATES, knows=[ALPHA], why="a fear")
    asked, refused = ledger.history()[1:]
    for entry in (asked, refused):
        assert entry.knows == ("knowledge of [county]",)
        assert set(entry.content) == {"statements", "digest", "version", "judged", "knows"}
    assert ledger.ask(RATES).outcome is Outcome.SAFE


def test_the_history_tells_its_owner_and_nobody_else(ledger, run):
    ledger.commit("[education]~5", knows=[HARMLESS], why="x")
    place = ledger.book.place
    if place.file is not None:
        _, out, _ = run("ledger", "history", place.file)
        assert "(he knows: knowledge of [county])" in out
        _, out, _ = run("ledger", "history", place.file, "--format", "html")
        assert "The intruder also knows" in out
        _, out, _ = run("ledger", "history", place.file, "--format", "html", "--public")
        assert "knowledge of" not in out
    text = json.dumps(ledger.export())
    assert "knowledge of" not in text
    assert "knows" not in text
    assert "knowledge" not in text
    assert "knowledge" in json.dumps(ledger.export(public=False))
    together = ledger.together()
    assert not any(isinstance(one, cb.Known) for one in together.statements)


def test_knowledge_of_other_variables_than_the_release_speaks_of(ledger):
    release = cb.Release(
        cb.Domain({"county": ["Alpha", "Beta"]}), [cb.Margin(["county"], [10, 50])]
    )
    known = cb.Known(["education"], lower={"Low": 20})
    entry = ledger.commit(release, knows=[known], why="x")
    assert entry.knows == ("knowledge of [education]",)
    assert ledger.ask("[education]~5").outcome is Outcome.SAFE


def test_knowledge_of_derived_variables(place):
    table = TABLE.grouped("side", of="county", levels={"w": ["Alpha"], "e": ["Beta"]})
    ledger = Ledger.create(place, TABLE, who="ann")
    known = cb.Known(["side"], lower={"w": 10}, upper={"w": 10})
    ledger.commit("[education]~5", table=table, knows=[known], why="x")
    assert ledger.ask(RATES, table=TABLE).outcome is Outcome.UNSAFE
    assert ledger.ask("[education]~5", table=TABLE).outcome is Outcome.SAFE


def test_knowledge_is_about_its_version(place):
    later = cb.Table(DOMAIN, TABLE.counts + np.array([[3, 4], [5, 6]]))
    ledger = Ledger.create(place, TABLE, keep_table=True, who="ann")
    ledger.grow(later, why="late")
    ledger.commit("[education]~5", version=1, knows=[ALPHA], why="x")
    assert ledger.ask(RATES, version=1).outcome is Outcome.UNSAFE
    assert ledger.ask(RATES, version=2).outcome is Outcome.SAFE
    with pytest.raises(cb.InvalidInput, match="contradicts the table"):
        ledger.ask(RATES, version=2, knows=[ALPHA])


def test_knowledge_stays_when_the_table_becomes_finer(place):
    finer = cb.Table(
        cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"], "sex": ["f", "m"]}),
        [[[1, 0], [4, 5]], [[9, 11], [14, 16]]],
    )
    ledger = Ledger.create(place, TABLE, keep_table=True, who="ann")
    ledger.commit("[education]~5", knows=[ALPHA], why="x")
    ledger.refine(finer, why="sex is known")
    assert ledger.ask(RATES).outcome is Outcome.UNSAFE


@pytest.mark.parametrize(
    ("knows", "says"),
    [
        (["Alpha has 10"], "give what the intruder knows as statements"),
        ([cb.Known(["colour"], lower=1)], "colour"),
        ([cb.Known(["county"], lower={"Alpha": 11})], "contradicts the table"),
    ],
)
def test_knowledge_is_true_and_about_the_table(ledger, knows, says):
    with pytest.raises(cb.InvalidInput, match=says):
        ledger.commit(RATES, knows=knows, why="x")
    assert len(ledger.history()) == 1


def test_another_intruder_for_one_question(ledger):
    hidden = "[county]<20"
    assert ledger.ask(hidden, total=False).safe
    found = ledger.ask(hidden, total=False, intruder={"total": "known"}, record=True)
    assert found.judged[0][1].intruder == ("N",)
    assert ledger.history()[-1].knows == ("total=known",)
    assert ledger.ask(hidden, total=False, knows=[cb.Total(TABLE.total)]).judged[0][1].knows
    with pytest.raises(cb.InvalidInput, match="unknown key"):
        ledger.ask(hidden, intruder={"nose": 1})


def test_knowledge_on_the_command_line(run, place, tmp_path):
    table, known = tmp_path / "table.csv", tmp_path / "known.toml"
    TABLE.write(table)
    known.write_text(TOML, encoding="utf-8")
    run("ledger", "init", place, "--table", table, "--who", "ann")
    ask = ("ledger", "ask", place, RATES, "--table", table)
    assert run(*ask)[0] == 0
    code, out, _ = run(*ask, "--knows", known)
    assert code == 1
    assert "the intruder also knows: knowledge of [county]" in out
    commit = ("ledger", "commit", place, "[education]~5", "--table", table, "--why", "x")
    code, _, err = run(*commit, "--knows", known)
    assert code == 0, err
    assert run(*ask)[0] == 1
    code, _, err = run(*ask, "--knows", tmp_path / "none.toml")
    assert code == 2
    code, _, err = run(*commit, "--knows", known, "--write", known)
    assert code == 2
    assert "an input" in err
    assert len(Ledger.open(place).history()) == 2
