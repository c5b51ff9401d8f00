"""A rule is one class and one line in a list: a toy rule goes through everything that judges."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import cellbounds as cb
from cellbounds.disclosure.policies import RULES
from cellbounds.disclosure.policies.rule import CellRule

SOURCE = Path(cb.__file__).parent

TABLE = cb.Table(cb.Domain({"a": ["x", "y"], "b": ["p", "q", "r"]}), [[40, 20, 1], [30, 12, 9]])


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCertainCrowd(CellRule):
    """Nobody may be sure that so many people are in one cell."""

    name: ClassVar[str] = "no-certain-crowd"
    about_hidden: ClassVar[bool] = True

    crowd: int

    @property
    def sentence(self):
        return f"no cell may hold {self.crowd} people or more for certain (>= {self.crowd})"

    def broken(self, values, truths):
        if values.possible.smallest >= self.crowd:
            return True
        return False if values.known.progressions and values.known.smallest < self.crowd else None

    def lacks(self, values):
        return "a smaller attainable count"


@pytest.fixture
def policy(monkeypatch, tmp_path):
    """A policy file that names the rule, once it is in the list."""
    file = tmp_path / "crowds.toml"
    file.write_text('name = "crowds"\n[[rule]]\nrule = "no-certain-crowd"\ncrowd = 25\n')
    with pytest.raises(cb.InvalidInput, match="unknown rule 'no-certain-crowd'"):
        cb.policies.read(file)
    monkeypatch.setitem(RULES, NoCertainCrowd.name, NoCertainCrowd)
    return cb.policies.read(file)


def test_it_is_read_and_written(policy, tmp_path):
    assert policy.rules == (NoCertainCrowd(crowd=25),)
    assert policy.to_dict()["rule"] == [{"rule": "no-certain-crowd", "crowd": 25}]
    assert "no-certain-crowd: no cell may hold 25 people" in str(policy)
    short = tmp_path / "short.toml"
    short.write_text('name = "short"\n[[rule]]\nrule = "no-certain-crowd"\n')
    with pytest.raises(cb.InvalidInput, match="the rule no-certain-crowd needs crowd ="):
        cb.policies.read(short)


def test_it_judges(policy):
    unsafe = cb.judge(TABLE, cb.publish(TABLE, "[a,b]"), policy)
    assert {one.labels for one in unsafe.broken} == {("x", "p"), ("y", "p")}
    assert unsafe.broken[0].change.startswith("a smaller attainable count: coarser figures")
    assert unsafe.blame(unsafe.broken[0]) == ("[a,b]",)
    assert cb.judge(TABLE, cb.publish(TABLE, "[a]", "[b]"), policy).safe
    alone = cb.judge(None, cb.publish(TABLE, "[a,b]"), policy, independent=True)
    assert alone.outcome is cb.Outcome.UNSAFE
    assert (
        cb.judge(TABLE, cb.publish(TABLE, "[a]"), policy, over=["a"]).outcome is cb.Outcome.UNSAFE
    )


def test_respondents_are_tried(policy):
    inside = cb.policies.Policy("inside", rules=policy.rules, respondent=True)
    found = cb.judge(TABLE, cb.publish(TABLE, "[a]", "[b]"), inside)
    assert {one.respondent for one in found.cells} == {None, ("x", "r")}
    assert found.safe


def test_it_audits_and_reports(policy):
    audit = cb.audit(TABLE, cb.publish(TABLE, "[a,b]"), policy)
    outcomes = {cell.labels: cell.outcome for cell in audit.cells}
    assert outcomes["x", "p"] is cb.Outcome.UNSAFE
    assert outcomes["x", "q"] is cb.Outcome.SAFE
    report = audit.report()
    said = report.to_dict()["internal"]["verdict"]
    assert said["outcome"] == "unsafe"
    assert "no-certain-crowd" in report.to_html()


def test_it_explores(policy):
    policy = cb.policies.Policy("crowds", rules=[NoCertainCrowd(crowd=65)])
    found = cb.explore(TABLE, response="b", digits=[1, 3], policy=policy)
    # Rates to three decimals tell that a lot of people are in a cell; nothing carries over.
    assert {one.outcome for one in found.designs} == {cb.Outcome.SAFE, cb.Outcome.UNSAFE}
    assert found.best is not None
    assert cb.judge(TABLE, found.best_release(), policy).safe
    assert not policy.carries_over()


def test_it_finds_safe_sets(policy):
    found = cb.safe_margins(TABLE, policy=policy)
    assert found.maximal == (("[a]", "[b]"),)
    assert found.complete
    # What a rule does not say of itself is taken to be the worst: no set is skipped.
    assert "publishing more may mend what breaks the rule no-certain-crowd" in found.notes[0]


def test_it_suggests(policy):
    found = cb.suggest(TABLE, cb.publish(TABLE, "[a,b]"), policy, changes=1, independent=False)
    assert found.outcome is cb.Outcome.UNSAFE
    assert len(found)
    assert all(cb.judge(TABLE, one.release, policy).safe for one in found)


def kinds_told_apart(path: Path) -> set[str]:
    """The names of rules that a module asks objects about, or matches them with."""
    kinds = {kind.__name__ for kind in RULES.values()}
    asked = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            asked |= {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
        elif isinstance(node, ast.MatchClass):
            asked.add(ast.unparse(node.cls))
    return asked & kinds


def test_nobody_tells_rules_apart():
    told = {path.name: kinds_told_apart(path) for path in SOURCE.rglob("*.py")}
    assert {name for name, kinds in told.items() if kinds} == set()
