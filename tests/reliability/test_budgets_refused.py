"""Budgets of 0, less, or no number are refused by every function and command that takes one."""

from __future__ import annotations

import inspect
import itertools
import pkgutil
from importlib import import_module
from operator import attrgetter

import numpy as np
import pytest
from click.testing import CliRunner
from reliability.budgets.hard_inputs import COMMANDS, QUESTIONS, written

import cellbounds as cb
from cellbounds.cli import commands

WRONG = ["0", "-1", "nan", "inf"]

DOMAIN = cb.Domain({"a": ["a0", "a1"], "b": ["b0", "b1"]})
TABLE = cb.Table(DOMAIN, np.array([[5, 6], [7, 8]]))

SERVED = {"serve": "serve {table} --no-open"}
"""What takes it and goes on until it is ended: there is nothing to wait for."""


def takes_seconds(value):
    return inspect.isfunction(value) and "seconds" in inspect.signature(value).parameters


def public_functions():
    """The name of every public function that takes it, of the namespaces too."""
    for place, names in (
        ("", cb.__all__),
        *((f"{n}.", getattr(cb, n).__all__) for n in NAMESPACES),
    ):
        for name in names:
            if takes_seconds(attrgetter(place + name)(cb)):
                yield place + name


def public_methods():
    """Every method with a budget of every class, wherever it is: what functions return has some."""
    for module in pkgutil.walk_packages(cb.__path__, "cellbounds."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        for kind in vars(import_module(module.name)).values():
            if inspect.isclass(kind) and kind.__module__ == module.name:
                for name, value in vars(kind).items():
                    budgeted = (
                        takes_seconds(value) and "budget" in inspect.signature(value).parameters
                    )
                    if budgeted and not name.startswith("_"):
                        yield f"{kind.__name__}.{name}"


NAMESPACES = ["datasets", "policies", "priors", "utility"]
FUNCTIONS = list(public_functions())


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
    assert set(timed_commands()) == {name.partition(",")[0] for name in {**COMMANDS, **SERVED}}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_refuse_it_before_anything_else(name, wrong):
    with pytest.raises(cb.InvalidInput, match="seconds="):
        attrgetter(name)(cb)(seconds=float(wrong))


@pytest.mark.parametrize("wrong", WRONG)
def test_methods_refuse_it(tmp_path, wrong):
    seconds, release = float(wrong), cb.publish(TABLE, "[a]")
    ledger = cb.Ledger.create(tmp_path / "a.ledger", TABLE, who="ann")
    ledger.requests.submit("[a]", who="bob", why="tried")
    table, signed = {"table": TABLE}, {"table": TABLE, "why": "tried"}
    asked = {
        "Ledger.ask": (ledger, ["[a]"], table),
        "Ledger.commit": (ledger, ["[a]"], signed),
        "Ledger.refuse": (ledger, ["[a]"], signed),
        "Ledger.set_policy": (ledger, ["strict"], signed),
        "Ledger.grow": (ledger, [TABLE], {"why": "tried"}),
        "Ledger.revise": (ledger, [TABLE], {"why": "tried"}),
        "Ledger.refine": (ledger, [TABLE], {"why": "tried"}),
        "Ledger.frontier": (ledger, [], table),
        "Requests.judge": (ledger.requests, [2], table),
        "Requests.approve": (ledger.requests, [2], signed),
        "Requests.refuse": (ledger.requests, [2], signed),
        "CertifiedAnswer.certificate": (cb.attainable(release), [], {}),
        "Audit.report": (cb.audit(TABLE, release), [], {}),
        "Synthetic.compare": (cb.synthesize(release), [TABLE], {}),
    }
    assert set(asked) == set(public_methods())
    for name, (value, given, named) in asked.items():
        with pytest.raises(cb.InvalidInput, match="seconds="):
            getattr(value, name.partition(".")[2])(*given, **named, seconds=seconds)
    assert len(ledger.history()) == 2


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return written(TABLE, ["[a]"], tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", [*COMMANDS, *SERVED])
def test_commands_refuse_it(run, files, name, wrong):
    words = [word.format(**files) for word in {**COMMANDS, **SERVED}[name].split()]
    code, _, error = run(*words, "--seconds", wrong)
    assert code == 2, error
    assert "seconds" in error
