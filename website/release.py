"""What is released, tried where nothing else is installed.

``python -m website.release dist`` builds wheel and sdist, installs each into an empty environment,
and audits a table there; ``versions`` runs the tests on each Python from 3.11 to 3.13 that is here;
``lowest`` runs them with the oldest versions that pyproject.toml admits.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "build/dist"
PYTHONS = ("3.11", "3.12", "3.13")

TRIED = (
    ("-c", "import cellbounds; print(cellbounds.__version__, cellbounds.__file__)"),
    ("-m", "cellbounds.cli", "example", "delinquent"),
    (
        "-m",
        "cellbounds.cli",
        "audit",
        "delinquent.csv",
        "[education|county]@1",
        "--report",
        "a.html",
    ),
    ("-m", "cellbounds.cli", "protect", "delinquent.csv", "[county+,education+]"),
    ("-m", "cellbounds.cli", "ledger", "init", "a.ledger", "--table", "delinquent.csv"),
)
"""Commands that need what is packed beside the code: schemas, templates, tables, migrations."""


def main() -> int:
    """Do what is asked; the status is 1 if something failed."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("what", choices=["dist", "versions", "lowest"])
    what = given.parse_args().what
    with tempfile.TemporaryDirectory() as folder:
        return {"dist": _dist, "versions": _versions, "lowest": _lowest}[what](Path(folder))


def _dist(folder: Path) -> int:
    """Wheel and sdist, each installed and tried by itself."""
    shutil.rmtree(DIST, ignore_errors=True)
    _uv("build", "--quiet", "--out-dir", DIST, ROOT)
    for built in sorted(DIST.glob("cellbounds-*")):
        if built.suffix not in (".whl", ".gz"):
            continue
        python = _environment(folder / built.name, sys.executable)
        _uv("pip", "install", "--quiet", "--python", python, built)
        for command in TRIED:
            subprocess.run(
                [python, *command], cwd=python.parent, check=True, stdout=subprocess.DEVNULL
            )
        print(f"{built.name}: installed by itself, and tried")
    return 0


def _versions(folder: Path) -> int:
    """The tests on every Python that is here."""
    status = 0
    for version in PYTHONS:
        found = shutil.which(f"python{version}")
        if (
            found is None
            or subprocess.run([found, "--version"], check=False, capture_output=True).returncode
        ):
            print(f"Python {version} is not here: nothing was tried on it")
            continue
        status |= _tested(folder / version, found)
    return status


def _lowest(folder: Path) -> int:
    """The tests with the oldest versions of what is named in pyproject.toml."""
    return _tested(folder / "lowest", sys.executable, "--resolution", "lowest-direct")


def _tested(place: Path, interpreter: str, *options: str) -> int:
    python = _environment(place, interpreter)
    _uv("pip", "install", "--quiet", "--python", python, *options, f"{ROOT}[test,lint]")
    print(f"{interpreter} {' '.join(options)}".rstrip(), flush=True)
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"], cwd=ROOT, check=False
    ).returncode


def _environment(place: Path, interpreter: str) -> Path:
    _uv("venv", "--quiet", "--python", interpreter, place)
    return place / "bin/python"


def _uv(*arguments: object) -> None:
    """Run uv, which is installed beside this Python if it is not there."""
    if find_spec("uv") is None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "uv"], check=True)
    subprocess.run([sys.executable, "-m", "uv", *map(str, arguments)], check=True)


if __name__ == "__main__":
    sys.exit(main())
