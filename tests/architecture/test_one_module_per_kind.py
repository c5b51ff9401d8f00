"""A new kind of statement is one class and one line in a list; everything else asks the class."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.data.cell_groups import cells_behind
from cellbounds.disclosure.policies import SmallCounts
from cellbounds.ledger.serialization import plain_release, read_plain_release
from cellbounds.statements import KINDS, Statement
from cellbounds.statements.inequalities import NO_UPPER, LinearRows

SOURCES = Path(cb.__file__).parent


class Ratio(Statement):
    """One count of a margin is at least so many times another one."""

    kind = "ratio"
    variables = ()

    def __init__(self, variable, more, less, times):
        self.variables, self.labels, self.times = (variable,), (more, less), times

    @property
    def notation(self):
        return f"{self.labels[0]} >= {self.times} x {self.labels[1]}"

    def description(self, domain):
        del domain
        return f"there are {self.times} times as many {self.labels[0]} as {self.labels[1]}, or more"

    def check(self, domain):
        for label in self.labels:
            domain.position(self.variables[0], label)

    def inequalities(self, domain, *, closed=False):
        del closed  # its end is closed
        groups = cells_behind(domain, self.variables)
        more, less = (
            groups.cells_of(domain.position(self.variables[0], label)) for label in self.labels
        )
        yield LinearRows(
            np.array([len(more) + len(less)]),
            np.concatenate([more, less]),
            np.array([1] * len(more) + [-self.times] * len(less)),
            np.array([0]),
            np.array([NO_UPPER]),
            np.array([0]),
        )

    def to_dict(self):
        return {self.kind: [self.variables[0], *self.labels, self.times]}

    @classmethod
    def from_plain(cls, values, domain):
        del domain
        return cls(*values)

    def to_entry(self, domain, figures):
        del domain, figures
        more, less = self.labels
        said = {"of": self.variables[0], "more": more, "less": less, "times": self.times}
        return said, (), None

    @classmethod
    def from_entry(cls, entry, file):
        file.only(entry, {"of", "more", "less", "times"}, "[[ratio]]")
        return cls(entry["of"], entry["more"], entry["less"], entry["times"])


@pytest.fixture
def ratio():
    KINDS.append(Ratio)  # all that a new kind needs, besides its class
    yield Ratio("education", "Low", "High", 2)
    KINDS.remove(Ratio)


@pytest.fixture
def table():
    domain = cb.Domain({"county": ["A", "B"], "education": ["Low", "High"]})
    return cb.Table(domain, [[6, 2], [9, 3]])


@pytest.fixture
def release(table, ratio):
    return cb.Release(table.domain, [cb.Margin(["county"], [8, 12]), ratio])


def consistent(low_a, low_b):
    """The brute force of the release: low + low >= 2 (high + high)."""
    return low_a + low_b >= 2 * (8 - low_a + 12 - low_b)


def test_bounds_and_every_attainable_value(release):
    tables = [(a, b) for a in range(9) for b in range(13) if consistent(a, b)]
    bounds = cb.bounds(release)
    for place, name in enumerate(("A", "B")):
        values = sorted({table[place] for table in tables})
        assert bounds.lower[place, 0] == values[0]
        assert bounds.upper[place, 0] == values[-1]
        assert list(cb.attainable(release)[name, "Low"]) == values
    assert cb.count_tables(release) == len(tables)


def test_a_table_satisfies_it_or_not(release, table):
    assert cb.violations(table, release) == []
    turned = cb.Table(table.domain, [[2, 6], [3, 9]])
    assert cb.violations(turned, release) == ["Low >= 2 x High"]


def test_it_is_blamed(release):
    explained = cb.bounds(release).explain("B", "Low")
    assert "Low >= 2 x High" in str(explained)


def test_it_is_printed_and_has_a_digest(release, ratio):
    assert str(release).splitlines()[-1] == "  Low >= 2 x High"
    other = cb.Release(
        release.domain, [*release.statements[:1], Ratio("education", "Low", "High", 3)]
    )
    assert other.digest != release.digest
    with pytest.raises(cb.InvalidInput, match="unknown level"):
        cb.Release(release.domain, [Ratio("education", "Low", "Middle", 2)])


def test_judging_suggesting_and_the_report(release, table):
    policy = cb.policies.Policy("strict", rules=[SmallCounts(at_most=3, values=8)])
    verdict = cb.judge(table, release, policy=policy)
    assert verdict.outcome is cb.Outcome.UNSAFE
    assert "Low >= 2 x High" in str(verdict.to_dict())
    suggested = cb.suggest(table, release, policy=policy, independent=False)
    sentences = [one.sentence for one in suggested]
    assert any("withhold Low >= 2 x High" in one for one in sentences), sentences
    report = cb.audit(table, release, policy=policy).report()
    assert "there are 2 times as many Low as High, or more" in report.to_html()


def test_files_and_ledgers_hold_it(release, tmp_path):
    release.write(tmp_path / "out.toml")
    assert "times = 2" in (tmp_path / "out.toml").read_text()
    assert cb.read_release(tmp_path / "out.toml").digest == release.digest
    assert (
        read_plain_release(json.loads(json.dumps(plain_release(release)))).digest == release.digest
    )


KIND_NAMES = {"Total", "Margin", "Conditional", "Linear", "Known"}

ALLOWED = {
    "statements/release.py": "N is given once, and a release says what it knows of it",
    "statements/printing.py": "a printed table has margins and N, and no other statement",
}
"""Where a class of statements is asked for by name, and why; a method for one kind may."""


def kinds_told_apart():
    """Files of the rooms that every statement passes through and that test for a class."""
    rooms = (
        "statements",
        "model/constraints.py",
        "disclosure/suggesting",
        "report",
        "certificates/making.py",
    )
    for room in rooms:
        path = SOURCES / room
        for file in [path] if path.suffix else sorted(path.rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                called = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"
                if called and KIND_NAMES & set(re.findall(r"\w+", ast.unparse(node.args[1]))):
                    yield file.relative_to(SOURCES).as_posix()


def test_rooms_that_every_statement_passes_ask_no_class():
    assert set(kinds_told_apart()) <= set(ALLOWED)
