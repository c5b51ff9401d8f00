"""`cellbounds protect`: statuses, files, refusals."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import cellbounds as cb
from cellbounds.cli import commands


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cb.datasets.read("delinquent").write("t.csv")

    def run(*words: object):
        return CliRunner().invoke(commands, [str(word) for word in words], standalone_mode=False)

    return run


ALL = "[county+,education+]"


def test_a_safe_table_with_its_files(run, tmp_path):
    files = "--public", "p.csv", "--internal", "i.csv", "--release", "r.toml"
    ran = run("protect", "t.csv", ALL, *files, "--format", "json", "-o", "result.json")
    assert ran.return_value == 0
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["verdict"] == "safe"
    assert result["cost"] == result["bound"]
    public, internal = ((tmp_path / name).read_text() for name in ("p.csv", "i.csv"))
    assert public.count(",x") == len(result["hidden"]) == internal.count("ary\n")
    assert "primary" not in public
    assert "primary" in internal
    judged = cb.judge(cb.read_table("t.csv"), cb.read_release("r.toml"))
    assert judged.safe


def test_what_cannot_be_protected_is_unsafe(run):
    cb.Table(cb.Domain({"a": ["x", "y"]}), [1, 9]).write("two.csv")
    ran = run("protect", "two.csv", "[a]", "--keep", "a=y")
    assert ran.return_value == 1
    assert "cannot be protected: a=x" in ran.output


def test_options_reach_the_search(run, tmp_path):
    (tmp_path / "cost.toml").write_text('"[county]" = [0, 0, 0, 0]\n')
    options = "--cost", "cost.toml", "--work", 5, "--prefer", "[education]", "--no-total"
    ran = run("protect", "t.csv", ALL, *options, "--intruder", "zeros=never", "--format", "json")
    result = json.loads(ran.stdout)
    assert result["costing"] == "by the weights given"
    assert result["policy"]["intruder"] == {"zeros": "never"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--keep", "county"], "give a margin"),
        (["--cost", "people"], "neither 'counts' nor 'cells'"),
        (["--public", "p.doc"], "end its name with"),
        (["--public", "t.csv"], "an input"),
        (["--intruder", "zeros=perhaps"], "choose shown"),
    ],
)
def test_refusals(run, words, message):
    ran = run("protect", "t.csv", ALL, *words)
    assert isinstance(ran.exception, cb.InvalidInput)
    assert message in str(ran.exception)
