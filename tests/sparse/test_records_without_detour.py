"""Sixteen variables given as records: questions about few of them make no array of all cells."""

from __future__ import annotations

import csv
import itertools
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import cellbounds as cb
import cellbounds.data.cell_groups as behind
from cellbounds import cli
from cellbounds.data.storage import Dense, Sparse

NAMES = [f"adl{k}" for k in range(1, 17)]
EVERYTHING = 2**16
NLTCS = Path(__file__).parents[3] / "shared" / "data" / "nltcs16.csv"


def records(number, seed=16):
    """Look-alikes of a survey of the elderly: few can do nothing, most can do nearly all."""
    rng = np.random.default_rng(seed)
    frailty = rng.gamma(0.6, 1.0, number)
    hardness = np.linspace(0.15, 1.1, len(NAMES))
    chances = 1 - np.exp(-frailty[:, None] * hardness[None, :])
    return np.where(rng.random((number, len(NAMES))) < chances, "yes", "no")


@pytest.fixture
def survey(tmp_path):
    """The records as a file and as a table."""
    path = tmp_path / "survey.csv"
    lines = records(4000)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *lines.tolist()])
    return path


@pytest.fixture
def watched(monkeypatch):
    """Everything that would make an array of all cells fails instead."""

    def to_dense(self):
        assert np.prod(self.occupied.shape) < EVERYTHING, "an array of all cells"
        return made(self)

    def checked(self):
        assert self.counts.size < EVERYTHING, "an array of all cells"
        frozen(self)

    def cells_behind(domain, names):
        assert domain.size < EVERYTHING, "all cells are numbered"
        return numbered(domain, names)

    made, frozen, numbered = Sparse.to_dense, Dense.__post_init__, behind.cells_behind
    monkeypatch.setattr(Sparse, "to_dense", to_dense)
    monkeypatch.setattr(Dense, "__post_init__", checked)
    for name, module in list(sys.modules.items()):
        if name.startswith("cellbounds.") and hasattr(module, "cells_behind"):
            monkeypatch.setattr(module, "cells_behind", cells_behind)


@pytest.fixture
def table(survey, watched):
    made = cb.read_table(survey, count=None)
    assert made.domain.size == EVERYTHING
    assert made.total == 4000
    return made


def test_the_watch_sees_what_it_should(table):
    with pytest.raises(AssertionError, match="an array of all cells"):
        table.counts  # noqa: B018  # asking is what is tested
    with pytest.raises(AssertionError, match="all cells are numbered"):
        behind.cells_behind(table.domain, ("adl1",))


def test_nothing_as_large_as_all_cells_is_allocated(table):
    over = ["adl1", "adl2", "adl3"]

    def ask():
        release = cb.publish(table, "[adl1|adl2,adl3]@2", "[adl2,adl3]")
        cb.bounds(release, over=over, start=table)
        return cb.judge(table, release, over=over)

    expected = ask()  # what is made once, such as modules, is made now
    tracemalloc.start()
    try:
        assert ask().outcome is expected.outcome
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * EVERYTHING


@pytest.mark.skipif(not NLTCS.exists(), reason="the survey itself is not part of the project")
def test_the_survey_itself_given_as_records(tmp_path, watched):
    with NLTCS.open(newline="") as file:
        header, *lines = csv.reader(file)
    path = tmp_path / "nltcs16.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header[:-1])
        for *labels, count in lines:
            writer.writerows([labels] * int(count))
    table = cb.read_table(path, count=None)
    assert table.domain.size == EVERYTHING
    assert table.total == sum(int(line[-1]) for line in lines)
    over = ["adl1", "iadl3", "iadl10"]
    release = cb.publish(table, "[adl1|iadl3,iadl10]@2")
    assert cb.bounds(release, over=over).evidence is cb.Evidence.EXACT
    assert cb.judge(table, release, over=over).outcome in cb.Outcome
    assert len(cb.audit(table, release, over=over).cells) == 8


@pytest.mark.parametrize(
    "said",
    [
        ["[adl1|adl2,adl3]@2"],
        ["[adl1|adl2,adl3]"],
        ["[adl1,adl2]", "[adl2,adl3]", "[adl1,adl3]"],
        ["[adl1,adl2]~3", "[adl3|adl1]@1", "[adl9]"],
    ],
)
def test_publishing_bounds_values_and_verdicts(table, said):
    over = ["adl1", "adl2", "adl3"]
    release = cb.publish(table, *said)
    small = table.margin(["adl1", "adl2", "adl3", "adl9"])
    alone = cb.publish(small, *said)
    answer, expected = cb.bounds(release, over=over), cb.bounds(alone, over=over)
    assert np.array_equal(answer.lower, expected.lower)
    assert np.array_equal(answer.upper, expected.upper)
    started = cb.bounds(release, over=over, start=table)
    assert np.array_equal(started.upper, expected.upper)
    sets, values = cb.attainable(release, over=over), cb.attainable(alone, over=over)
    assert all(sets[labels] == values[labels] for labels in sets.domain.cells())
    witness = answer.witness("yes", "no", "no", at="upper")
    assert witness.margin(over)["yes", "no", "no"] == answer["yes", "no", "no"][1]
    verdict = cb.judge(table, release, "strict", over=over)
    assert verdict.outcome is cb.judge(small, alone, "strict", over=over).outcome
    audited = cb.audit(table, release, over=over)
    assert sum(cell.count for cell in audited.cells) == table.total


def test_merging_reshaping_and_reports(table):
    over = ["adl1", "adl2", "adl3"]
    merged = table.merge("adl2", {"any": ["yes", "no"]})
    assert merged.margin(["adl1", "adl2"]).counts.shape == (2, 1)
    assert table.reshape(response=["adl1"], given=["adl2", "adl16"]).counts.sum() == table.total
    audited = cb.audit(table, cb.publish(table, "[adl1|adl2,adl3]@2"), over=over)
    page = audited.report().to_html()
    assert "adl16" in page


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["cellbounds", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code, capsys.readouterr()


def test_the_command_line(survey, watched, monkeypatch, capsys):
    code, shown = run(
        monkeypatch, capsys, "audit", survey, "[adl1|adl2,adl3]@2", "--records",
        "--over", "adl1,adl2,adl3", "--format", "csv",
    )  # fmt: skip
    assert code in (0, 1)
    assert len(shown.out.strip().splitlines()) >= 8


def test_the_command_line_refuses_a_huge_domain(tmp_path, monkeypatch, capsys):
    path = tmp_path / "wide.csv"
    rng = np.random.default_rng(1)
    names = [f"v{k}" for k in range(30)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rng.integers(0, 3, (200, 30)).tolist()])
    asked = ["audit", path, "[v0|v1]@1", "--records"]
    code, shown = run(monkeypatch, capsys, *asked)
    assert code == 3
    assert "--over v0,v1" in shown.err
    code, shown = run(monkeypatch, capsys, *asked, "--over", "v0,v1")
    assert code in (0, 1)


def test_attacking_some_cells(survey, watched, tmp_path, monkeypatch, capsys):
    table = cb.read_table(survey, count=None)
    path = tmp_path / "published.toml"
    pairs = itertools.pairwise(NAMES)
    cb.publish(table, *(f"[{a},{b}]" for a, b in pairs)).write(path)
    cell = ",".join(f"{name}=no" for name in NAMES)
    code, shown = run(monkeypatch, capsys, "attack", path, "--cell", cell, "--format", "csv")
    assert code == 0
    line = dict(zip(*csv.reader(shown.out.splitlines()), strict=True))
    answer = cb.bounds(cb.read_release(path), cells=[("no",) * 16])
    assert (int(line["lower"]), int(line["upper"])) == answer[("no",) * 16]
    code, shown = run(
        monkeypatch, capsys, "attack", path, "--cell", "adl2=yes, adl1=no",
        "--cell", "adl2=no,adl1=no", "--format", "csv",
    )  # fmt: skip
    assert code == 0
    header, *lines = csv.reader(shown.out.splitlines())
    assert header[:2] == ["adl2", "adl1"]
    assert [line[:2] for line in lines] == [["yes", "no"], ["no", "no"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cell", "adl1=no", "--cell", "adl2=no"], "has to name the variables adl1"),
        (["--cell", "adl1=no", "--over", "adl1,adl2"], "has to name the variables adl1, adl2"),
        (["--cell", "adl99=no"], "names no variable"),
        (["--cell", "adl1=no,adl1=yes"], "names no variable, or one that was named before"),
        (["--cell", ""], "names no variable"),
        (["--cell", "adl1=perhaps"], "unknown level 'perhaps'"),
        (["--cell", "adl1=no", "--cell", "adl1=no"], "twice"),
        (["--cell", "adl1=no", "--format", "html"], "--cell goes with"),
    ],
)
def test_cells_on_the_command_line_that_are_refused(
    survey, tmp_path, monkeypatch, capsys, arguments, said
):
    path = tmp_path / "published.toml"
    cb.publish(cb.read_table(survey, count=None), "[adl1,adl2]").write(path)
    code, shown = run(monkeypatch, capsys, "attack", path, *arguments)
    assert code == 2
    assert said in " ".join(shown.err.split())
