"""The house rules that no linter keeps: short modules, every room in the order, light imports."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import cellbounds

SOURCE = Path(cellbounds.__file__).parent
REPOSITORY = Path(__file__).parents[2]

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

MOST_LINES = 600

MODULES = sorted(SOURCE.rglob("*.py"))


def test_modules_are_short():
    lengths = {path: path.read_text("utf-8").count("\n") for path in MODULES}
    assert lengths
    assert not {path.name for path, lines in lengths.items() if lines > MOST_LINES}


def test_every_room_has_its_place_in_the_order():
    """The linter of imports leaves out what its contract does not name."""
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    (contract, *_) = settings["tool"]["importlinter"]["contracts"]
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES}
    assert {name.removeprefix("cellbounds.") for name in contract["layers"]} == rooms - {"__init__"}


def test_importing_the_package_loads_nothing_heavy():
    code = f"import sys, cellbounds; print([m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"


def test_answering_a_question_loads_nothing_heavy():
    code = (
        "import sys, cellbounds as cb; "
        "r = cb.publish(cb.datasets.read('delinquent'), '[education|county]@2'); "
        "str(cb.bounds(r)); cb.attainable(r).to_dict(); "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"


def test_public_names_are_sorted_out():
    assert len(set(cellbounds.__all__)) == len(cellbounds.__all__)
    public = [getattr(cellbounds, name) for name in cellbounds.__all__]
    errors = [one for one in public if isinstance(one, type) and issubclass(one, Exception)]
    assert errors
    assert all(issubclass(error, cellbounds.CellboundsError) for error in errors)


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert cellbounds.__version__ == version("cellbounds")
