"""The house rules that a reader relies on: one direction of flow, short modules, honest errors."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import cellbounds

SOURCE = Path(cellbounds.__file__).parent

ROOMS = (
    "starting",
    "version",
    "text",
    "errors",
    "interrupting",
    "isolated",
    "sharing",
    "limits",
    "inputs",
    "checkpoints",
    "arrays",
    "compiling",
    "wide",
    "files",
    "frames",
    "spreadsheets",
    "table_files",
    "domain",
    "storage",
    "microdata",
    "table",
    "table_reading",
    "releases",
    "beliefs",
    "verification",
    "constraints",
    "structure",
    "results",
    "methods",
    "explaining",
    "contradicting",
    "certifying",
    "solve",
    "fibre",
    "risk",
    "synthetic",
    "papers",
    "ledger",
    "report",
    "cli",
)
"""Every room may import the rooms before it, and itself."""

FRONT_DOOR = "cellbounds"
"""The package itself: it opens every room, so no room may come in through it."""

HEAVY = (
    "scipy",
    "pandas",
    "polars",
    "pyarrow",
    "altair",
    "openpyxl",
    "arviz_stats",
    "jinja2",
    "sqlalchemy",
    "alembic",
    "psycopg",
    "ortools",
    "highspy",
    "numba",
    "flint",
    "click",
    "duckdb",
    "ibis",
    "distributed",
    "dask",
    "psutil",
    "narwhals",
)

MOST_LINES = 400

VAGUE = {"util", "utils", "common", "helper", "helpers", "manager", "managers", "misc"}

MODULES = sorted(SOURCE.rglob("*.py"))


def short(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return FRONT_DOOR if first == "__init__.py" else first.removesuffix(".py")


def imports_in(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported anywhere, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
            for name in node.names:
                yield node.lineno, f"{base}.{name.name}"


def rooms_imported(path: Path) -> Iterator[tuple[int, str]]:
    package = (FRONT_DOOR, *path.relative_to(SOURCE).parts[:-1])
    for line, name in imports_in(ast.parse(path.read_text("utf-8")), package):
        parts = name.split(".")
        if parts[0] != FRONT_DOOR:
            continue
        known = len(parts) > 1 and parts[1] in ROOMS
        yield line, parts[1] if known else FRONT_DOOR


def test_every_module_lives_in_a_known_room():
    unknown = {room_of(path) for path in MODULES} - {*ROOMS, FRONT_DOOR}
    assert not unknown, f"rooms that have no place in the order: {sorted(unknown)}"
    empty = set(ROOMS) - {room_of(path) for path in MODULES}
    assert not empty, f"rooms in the order that do not exist: {sorted(empty)}"


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_a_room_imports_only_rooms_before_it(path):
    room = room_of(path)
    if room == FRONT_DOOR:
        return
    allowed = ROOMS[: ROOMS.index(room) + 1]
    wrong = [(line, name) for line, name in rooms_imported(path) if name not in allowed]
    assert not wrong, f"{short(path)} imports {wrong}"


@pytest.mark.parametrize("path", sorted((SOURCE / "methods").rglob("*.py")), ids=short)
def test_methods_know_nothing_of_who_asks(path):
    asked = {name for _, name in rooms_imported(path)}
    assert not asked & {"solve", "explaining", "risk", "report", "cli", FRONT_DOOR}


def test_the_checker_sees_imports_inside_functions_and_relative_ones():
    tree = ast.parse(
        "def f():\n    from cellbounds.solvers.solve import bounds\n    import cellbounds.disclosure\n"
        "from . import registry\nfrom ..results import values\n"
    )
    found = {name for _, name in imports_in(tree, ("cellbounds", "methods"))}
    assert found == {
        "cellbounds.solvers.solve.bounds",
        "cellbounds.disclosure",
        "cellbounds.solvers.registry",
        "cellbounds.results.values",
    }


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_modules_are_short(path):
    lines = path.read_text("utf-8").count("\n")
    assert lines <= MOST_LINES, f"{short(path)} has {lines} lines"


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_no_module_has_a_vague_name(path):
    assert not VAGUE & {part.removesuffix(".py") for part in path.relative_to(SOURCE).parts}


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_errors_are_caught_by_name(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.ExceptHandler):
            continue
        assert node.type is not None, f"{short(path)}:{node.lineno}: bare except"
        caught = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)}
        broad = caught & {"Exception", "BaseException"}
        front = short(path) == "cli/__init__.py"
        assert not broad or front, f"{short(path)}:{node.lineno}: {broad}"


def test_importing_the_package_loads_nothing_heavy():
    code = f"import sys, cellbounds; print([m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"


def test_answering_a_question_loads_nothing_heavy():
    code = (
        "import sys, cellbounds as cb; "
        "r = cb.publish(cb.example_table('delinquent'), '[education|county]@2'); "
        "str(cb.bounds(r)); cb.attainable(r).to_dict(); "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", cellbounds.__all__)
def test_public_names_exist_and_are_documented(name):
    value = getattr(cellbounds, name)
    if name == "__version__":
        assert isinstance(value, str)
        return
    text = (value.__doc__ or "").strip()
    assert len(text) > 20, f"{name} has no docstring"
    assert not text.startswith(f"{name}("), f"{name} has only its generated signature"


def test_public_names_are_sorted_out():
    assert len(set(cellbounds.__all__)) == len(cellbounds.__all__)
    public = [getattr(cellbounds, name) for name in cellbounds.__all__]
    errors = [one for one in public if isinstance(one, type) and issubclass(one, Exception)]
    assert errors
    assert all(issubclass(error, cellbounds.CellboundsError) for error in errors)


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert cellbounds.__version__ == version("cellbounds")
