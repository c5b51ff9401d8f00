"""Budgets of 0, less, or no number are refused by every function and command that takes one."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest
from click.testing import CliRunner
from reliability.budgets.hard_inputs import COMMANDS, QUESTIONS, written

import cellbounds as cb
from cellbounds.cli import commands

WRONG = ["0", "-1", "nan", "inf"]

DOMAIN = cb.Domain({"a": ["a0", "a1"], "b": ["b0", "b1"]})
TABLE = cb.Table(DOMAIN, np.array([[5, 6], [7, 8]]))

FUNCTIONS = [
    name
    for name in cb.__all__
    if inspect.isfunction(getattr(cb, name))
    and "seconds" in inspect.signature(getattr(cb, name)).parameters
]


def timed_commands(*path):
    """Every command whose help speaks of --seconds."""
    shown = CliRunner().invoke(commands, [*path, "--help"]).output
    _, _, listed = shown.partition("\nCommands:\n")
    for line in itertools.takewhile(str.strip, listed.splitlines()):
        if line.startswith("  ") and line[2] != " ":
            yield from timed_commands(*path, line.split()[0])
    if not listed and "--seconds" in shown:
        yield " ".join(path)


def test_every_function_and_command_is_tried():
    assert len(FUNCTIONS) >= 14
    assert set(FUNCTIONS) <= {name.partition(",")[0] for name in QUESTIONS}
    assert set(timed_commands()) == {name.partition(",")[0] for name in COMMANDS}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_refuse_it_before_anything_else(name, wrong):
    with pytest.raises(cb.InvalidInput, match="seconds="):
        getattr(cb, name)(seconds=float(wrong))


@pytest.mark.parametrize("wrong", WRONG)
def test_methods_refuse_it(tmp_path, wrong):
    seconds, release = float(wrong), cb.publish(TABLE, "[a]")
    ledger = cb.Ledger.create(tmp_path / "a.ledger", TABLE, who="ann")
    answer = cb.attainable(release)
    signed = {"table": TABLE, "why": "tried", "seconds": seconds}
    asked = [
        lambda: ledger.ask("[a]", table=TABLE, seconds=seconds),
        lambda: ledger.commit("[a]", **signed),
        lambda: ledger.refuse("[a]", **signed),
        lambda: ledger.set_policy("strict", **signed),
        lambda: ledger.grow(TABLE, why="tried", seconds=seconds),
        lambda: ledger.revise(TABLE, why="tried", seconds=seconds),
        lambda: ledger.refine(TABLE, why="tried", seconds=seconds),
        lambda: ledger.frontier(table=TABLE, seconds=seconds),
        lambda: answer.certificate(seconds=seconds),
        lambda: cb.audit(TABLE, release).report(seconds=seconds),
        lambda: cb.synthesize(release).compare(TABLE, seconds=seconds),
    ]
    for ask in asked:
        with pytest.raises(cb.InvalidInput, match="seconds="):
            ask()
    assert len(ledger.history()) == 1


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return written(TABLE, ["[a]"], tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_refuse_it(run, files, name, wrong):
    words = [word.format(**files) for word in COMMANDS[name].split()]
    code, _, error = run(*words, "--seconds", wrong)
    assert code == 2, error
    assert "seconds" in error
