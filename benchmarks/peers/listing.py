"""Programs that list or count all tables: 4ti2's zsolve and LattE's count.

Both are programs of their own that read files; a time limit ends them. zsolve lists every table,
and the bounds of all cells follow; it does not come back from larger systems. LattE's count only
counts.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.arrays import IntArray
from benchmarks.errors import NotThere
from benchmarks.peers.programs import NO_LIMIT, Program

ZSOLVE = ("4ti2-zsolve", "zsolve")
LATTE = ("latte-count", "count")
ZSOLVE_SETTINGS = ("-q", "-p", "gmp")
COUNT_FILE = "numOfLatticePoints"
PROJECT = "tables"


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """What such a program found.

    Parameters
    ----------
    seconds : float
        What it took, starting the program and reading its answer included; the limit if it was
        ended.
    tables : int or None
        How many tables there are; None if the program was ended.
    lower, upper : IntArray or None
        The extremes of each cell, if the tables are listed.
    """

    seconds: float
    tables: int | None
    lower: IntArray | None = None
    upper: IntArray | None = None


def program_of(names: Sequence[str]) -> str | None:
    """Return the path of the first of these programs that is installed."""
    return next((path for name in names if (path := shutil.which(name))), None)


def zsolve(program: Program, limit: float) -> Listed:
    """List all tables by 4ti2's zsolve, and take their extremes.

    Raises
    ------
    NotThere
        If 4ti2 is not installed.
    """
    path = program_of(ZSOLVE)
    if path is None:
        raise NotThere("4ti2 is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_zsolve(program, folder)
        started = perf_counter()
        if not ran([path, *ZSOLVE_SETTINGS, PROJECT], folder, limit):
            return Listed(limit, None)
        tables = np.loadtxt(folder / f"{PROJECT}.zinhom", dtype=np.int64, skiprows=1, ndmin=2)
        took = perf_counter() - started
    cells = tables[:, : program.cells]
    return Listed(took, len(tables), cells.min(axis=0), cells.max(axis=0))


def latte_count(program: Program, limit: float, names: tuple[str, ...] = LATTE) -> Listed:
    """Count all tables by LattE.

    Raises
    ------
    NotThere
        If LattE is not installed, or another program has the name of its count.
    """
    path = program_of(names)
    if path is None:
        raise NotThere("LattE is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"{PROJECT}.latte").write_text(latte_text(program), encoding="ascii")
        started = perf_counter()
        if not ran([path, f"{PROJECT}.latte"], folder, limit):
            return Listed(limit, None)
        counted = folder / COUNT_FILE
        if not counted.exists():
            raise NotThere(f"{path} is not LattE's count: it wrote no {COUNT_FILE}")
        return Listed(perf_counter() - started, int(counted.read_text(encoding="ascii")))


def ran(command: Sequence[str], folder: Path, limit: float) -> bool:
    """Run a program; false if the limit ended it."""
    try:
        subprocess.run(
            command,
            cwd=folder,
            timeout=limit,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return False
    return True


def inequalities(program: Program) -> list[tuple[list[int], str, int]]:
    """Return each constraint as a dense row, a relation and a number.

    Variables that must be positive are constraints too (zsolve ignores positive lower bounds);
    limits above them follow from the figures.
    """
    found = []
    for used, coefficients, low, high in program.lines:
        row = [0] * program.variables
        for variable, coefficient in zip(used, coefficients, strict=True):
            row[variable] = coefficient
        if low == high:
            found.append((row, "=", low))
            continue
        if low != -NO_LIMIT:
            found.append((row, ">", low))
        if high != NO_LIMIT:
            found.append((row, "<", high))
    for variable, least in enumerate(program.lower.tolist()):
        if least > 0:
            found.append(([int(k == variable) for k in range(program.variables)], ">", least))
    return found


def write_zsolve(program: Program, folder: Path) -> None:
    """Write the files of a project: matrix, relations, right sides, signs of the variables."""
    rows = inequalities(program)
    size = program.variables
    written: dict[str, list[list[object]]] = {
        "mat": [list(row) for row, _, _ in rows],
        "rel": [[relation for _, relation, _ in rows]],
        "rhs": [[number for _, _, number in rows]],
        "sign": [[1] * size],
    }
    for ending, lines in written.items():
        text = [f"{len(lines)} {len(lines[0])}", *(" ".join(map(str, line)) for line in lines)]
        (folder / f"{PROJECT}.{ending}").write_text("\n".join(text) + "\n", encoding="ascii")


def latte_text(program: Program) -> str:
    """Write a program as LattE reads it: b - A x >= 0, equations named in the end.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array(np.array([[1, 1]]))
    >>> one, two = np.array([3]), np.array([0, 0])
    >>> print(latte_text(Program(matrix, one, one, two, np.array([3, 3]), 2)))
    1 3
    3 -1 -1
    linearity 1 1
    nonnegative 2 1 2
    """
    lines = []
    equations = []
    for row, relation, number in inequalities(program):
        sign = -1 if relation == ">" else 1
        lines.append(" ".join(str(value) for value in [sign * number, *(-sign * a for a in row)]))
        if relation == "=":
            equations.append(str(len(lines)))
    size = program.variables
    head = f"{len(lines)} {size + 1}"
    numbered = " ".join(str(k) for k in range(1, size + 1))
    tail = [f"linearity {len(equations)} {' '.join(equations)}"] if equations else []
    return "\n".join([head, *lines, *tail, f"nonnegative {size} {numbered}"])
