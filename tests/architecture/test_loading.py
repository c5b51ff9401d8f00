"""What loads when: the core with the package, commands when they run, names on demand."""

from __future__ import annotations

import ast
import operator
import pickle
import pydoc
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

import cellbounds
from cellbounds import cli

FRONT_DOOR = Path(cellbounds.__file__)

LATE = {
    "cellbounds.cli": "a program's own command line is not for those who import it",
    "cellbounds.inference": "counting, posteriors and chains: 0.06 s, for those who ask for them",
    "cellbounds.ledger": "0.05 s, and its database",
    "cellbounds.data.microdata": "engines for records are asked for when a table is read",
    "cellbounds.papers": "published results",
    "cellbounds.datasets": "the papers' tables",
    "cellbounds.policies": "a namespace, for those who name it",
    "cellbounds.priors": "likewise",
    "cellbounds.utility": "likewise, 0.02 s",
    "cellbounds.report": "writing comes after answering",
    "cellbounds.disclosure": "bounds are asked for without a policy",
    "cellbounds.synthetic": "another product",
    "cellbounds.data.formats": "formats of files: 0.01 s, for those who read or write one",
    "cellbounds.data.reading": "a release may be asked about without a table",
    "cellbounds.certificates.verifying": "it shares nothing with the solvers, nor loads with them",
    "cellbounds.results.charts": "drawing",
    "importlib.metadata": "0.01 s for a version that we know",
    "sqlalchemy": "0.4 s with alembic, for ledgers",
    "alembic": "for ledgers",
    "altair": "0.3 s, for charts",
    "vl_convert": "for charts",
    "openpyxl": "0.2 s, for Excel files",
    "yaml": "0.02 s, for policies in YAML",
    "numba": "0.4 s, for walks and counting",
    "ortools": "0.5 s, for integer programs",
    "scipy": "0.2 s, for utility",
}
"""What `import cellbounds` must not load, and why."""

NAMESPACES = {"datasets", "policies", "priors", "utility"}


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh process has loaded after running some code."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('|'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(run.stdout.splitlines()[-1].split("|"))


def test_importing_the_package_loads_the_core_only():
    loaded = loaded_after("import cellbounds")
    early = {name: why for name, why in LATE.items() if name in loaded}
    assert not early, f"loaded too early: {early}"
    assert {"cellbounds.solvers.solve", "cellbounds.data.table", "cellbounds.statements"} <= loaded


def test_what_is_late_exists():
    """A room that was renamed would never be found too early."""
    import importlib.util

    assert all(importlib.util.find_spec(name) for name in LATE)


def late_imports() -> dict[str, str]:
    """The names that a type checker sees in the front door, and where they are from."""
    for node in ast.parse(FRONT_DOOR.read_text("utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return {
                name.name: one.module
                for one in node.body
                if isinstance(one, ast.ImportFrom) and one.module != "cellbounds"
                for name in one.names
            }
    raise AssertionError("the front door has no block for type checkers")


def test_type_checkers_see_what_loads_later():
    assert late_imports() == cellbounds._LATER


def test_every_public_name_is_there_early_or_late():
    code = "import cellbounds; print('|'.join(vars(cellbounds)))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    early = set(run.stdout.strip().split("|"))
    assert not early & set(cellbounds._LATER)
    public = set(cellbounds.__all__)
    assert public == (early & public) | set(cellbounds._LATER) | NAMESPACES


@pytest.mark.parametrize("name", sorted(cellbounds._LATER))
def test_a_late_name_is_what_its_room_calls_so(name):
    room = __import__(cellbounds._LATER[name], fromlist=[name])
    assert getattr(cellbounds, name) is getattr(room, name)


def test_no_public_name_hides_a_room():
    rooms = {path.name.removesuffix(".py") for path in FRONT_DOOR.parent.iterdir()}
    assert rooms & set(cellbounds.__all__) == NAMESPACES


def test_rooms_are_found_through_the_package():
    code = (
        "import cellbounds as cb; print(cb.disclosure.policies.judge is cb.judge, "
        "cb.ledger.Ledger is cb.Ledger, "
        "hasattr(cb, 'nothing'), hasattr(cb, '_nothing'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == ["True", "True", "False", "False"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'bound'"):
        operator.attrgetter("bound")(cellbounds)


def test_everything_can_be_imported_at_once_and_listed():
    names: dict[str, object] = {}
    exec("from cellbounds import *", names)
    assert set(cellbounds.__all__) <= set(names)
    assert set(cellbounds.__all__) <= set(dir(cellbounds))
    assert "explore" in pydoc.render_doc(cellbounds)


def test_late_things_are_pickled_by_name():
    for name in ("explore", "Ledger", "judge"):
        value = getattr(cellbounds, name)
        assert pickle.loads(pickle.dumps(value)) is value


# --- the command line ----------------------------------------------------------------------


def test_help_loads_no_command():
    loaded = loaded_after(
        "from click.testing import CliRunner\nfrom cellbounds import cli\n"
        "assert 'ledger' in CliRunner().invoke(cli.commands, ['--help']).output"
    )
    places = {place for _, place, _ in cli.COMMANDS}
    assert not places & loaded


def test_a_command_loads_itself_only():
    loaded = loaded_after(
        "from click.testing import CliRunner\nfrom cellbounds import cli\n"
        "assert 'TABLE' in CliRunner().invoke(cli.commands, ['audit', '--help']).output"
    )
    places = {place for _, place, _ in cli.COMMANDS}
    assert places & loaded == {"cellbounds.cli.audits"}


@pytest.mark.parametrize("name", [name for name, _, _ in cli.COMMANDS])
def test_the_list_of_commands_says_what_the_commands_say(name):
    later = cli.commands.commands[name]
    command = later.load()
    assert command.name == name
    assert command.help is not None
    assert " ".join(command.help.split("\n\n")[0].split()) == later.help
    for width in (20, 45, 60, 200):
        assert later.get_short_help_str(width) == command.get_short_help_str(width)


def test_no_command_is_left_out_of_the_list():
    """Every top-level command that a module of the command line defines is there."""
    listed = {name for name, _, _ in cli.COMMANDS}
    found = set()
    for path in sorted(Path(cli.__file__).parent.glob("*.py")):
        if path.stem not in ("__init__", "__main__"):
            module = import_module(f"cellbounds.cli.{path.stem}")
            defined = (value for value in vars(module).values() if isinstance(value, click.Command))
            found |= {command.name for command in defined}
    ledger = cli.commands.commands["ledger"].load()
    assert listed <= found <= listed | set(ledger.commands)
