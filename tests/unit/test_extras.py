"""What a plain install does not have: every command says so before any work starts."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import click
import pytest

from cellbounds import cli

PROJECT = Path(__file__).parents[2] / "pyproject.toml"

UNREADABLE = "absent.csv"
"""A table that is not there: whoever begins to read says so, and not what is asked here."""


def commands():
    """Every command, with the words that lead to it."""
    for name, later in cli.commands.commands.items():
        command = later.load()
        if isinstance(command, click.Group):
            for below, inner in command.commands.items():
                yield (name, below), inner
        else:
            yield (name,), command


def takes(*names):
    """The commands with such a parameter, and which it is."""
    return [
        pytest.param(words, command, name, id="-".join((*words, name)))
        for words, command in commands()
        for name in names
        if name in [parameter.name for parameter in command.params]
    ]


def words_for(command, **chosen):
    """Arguments and options that the command cannot do without, and those that are chosen."""
    words = []
    for parameter in command.params:
        needed = "1" if isinstance(parameter.type, click.types.IntParamType) else UNREADABLE
        value = chosen.get(parameter.name, needed if parameter.required else None)
        if value is None:
            continue
        option = isinstance(parameter, click.Option)
        words += [parameter.opts[0], value] if option else [value]
    return words


def refused(run, monkeypatch, library, extra, words):
    # Parts of it that other tests have loaded would be found by themselves.
    for name in [library, *(name for name in sys.modules if name.startswith(f"{library}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert f"pip install 'cellbounds[{extra}]'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("words", "command", "name"), takes("scheduler"))
def test_a_cluster_needs_dask(run, monkeypatch, words, command, name):
    chosen = words_for(command, scheduler="tcp://127.0.0.1:9", tables=UNREADABLE)
    refused(run, monkeypatch, "distributed", "dask", [*words, *chosen])


@pytest.mark.parametrize(("words", "command", "name"), takes("place"))
def test_a_ledger_on_a_server_needs_its_driver(run, monkeypatch, words, command, name):
    chosen = {"place": "postgresql://nobody@nowhere/nothing"}
    if "tables" in [parameter.name for parameter in command.params]:
        chosen["tables"] = UNREADABLE
    refused(run, monkeypatch, "psycopg", "postgres", [*words, *words_for(command, **chosen)])


@pytest.mark.parametrize("kind", ["file", "folder", "pattern"])
@pytest.mark.parametrize(("words", "command", "name"), takes("table", "source", "tables", "later"))
def test_parquet_needs_arrow(run, monkeypatch, tmp_path, words, command, name, kind):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "part.parquet").write_bytes(b"PAR1 and so on PAR1")
    path = {"file": "below/part.parquet", "folder": "below", "pattern": "below/*.parquet"}[kind]
    words = [*words, *words_for(command, **{name: path})]
    refused(run, monkeypatch, "pyarrow", "parquet", words)


def test_everything_is_in_one_extra():
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    for_users = set(extras) - {"all", "bench", "test", "lint", "docs"}
    for_users -= {"torch"}  # larger than everything else together
    assert extras["all"] == [f"cellbounds[{','.join(sorted(for_users, key=list(extras).index))}]"]
