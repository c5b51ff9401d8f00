"""Moves for any linear release: a reduced basis of the integer solutions of its equations.

Every two consistent tables differ by a sum of multiples of the basis, but the tables on the way
need not be consistent: a basis of the lattice need not connect.

Markov bases by 4ti2: moves that connect the tables whatever the published numbers are.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from cellbounds.data.cell_groups import cells_behind
from cellbounds.errors import InvalidInput, TooMuchWork, UnsupportedRelease
from cellbounds.inference.chains.moves import (
    KEEPS,
    VARIES,
    Connection,
    Connectivity,
    Moves,
    constraint_matrix,
    distinct,
)
from cellbounds.model.constraints import compile_release
from cellbounds.model.problem import Problem, make_problem
from cellbounds.model.structure import gather
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.files import private_folder
from cellbounds.statements import Release
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER

MOST_FREE = 600
"""Cells that are not fixed: a basis of more takes minutes."""

MOST_PAIRED = 100
"""Vectors up to which sums and differences of two are moves too."""


def lattice_moves(release: Release, *, paired: bool = True) -> Moves:
    """Moves that keep every equation of a release.

    Parameters
    ----------
    release
        Statements of any kind.
    paired
        Whether sums and differences of two vectors of the basis are moves too, as long as the
        basis is not too large. They help to connect, and prove nothing.

    Raises
    ------
    InconsistentRelease
        If propagation alone shows that no table fits.
    TooMuchWork
        If there are too many cells for a reduced basis.

    Examples
    --------
    >>> import cellbounds as cb
    >>> domain = cb.Domain({"row": [1, 2], "col": [1, 2]})
    >>> said = [({(1, 1): 4, (1, 2): -1}, 8), ({(1, 1): 2, (2, 1): 1}, 76)]
    >>> statements = [cb.Linear(["row", "col"], left, equals=right) for left, right in said]
    >>> moves = lattice_moves(cb.Release(domain, [cb.Total(193), *statements]))
    >>> moves.array
    array([[ 1,  4, -2, -3]])
    >>> print(moves.connected)
    proven: the tables lie on a line
    """
    problem = make_problem(compile_release(release), release.domain.size)
    free = _free_cells(problem)
    if len(free) > MOST_FREE:
        raise TooMuchWork(
            f"a lattice basis of {len(free)} cells; give moves of your own, or a release with at "
            f"most {MOST_FREE} cells that are not fixed"
        )
    rows = constraint_matrix(problem)[problem.row_lower == problem.row_upper][:, free].toarray()
    basis = kernel_basis(np.unique(rows[rows.any(axis=1)], axis=0))
    pairs = np.zeros((2, 0, basis.shape[1]), dtype=basis.dtype)
    if paired and len(basis) <= MOST_PAIRED:
        pairs = basis[np.array(np.triu_indices(len(basis), 1))]
    vectors = distinct(np.concatenate([basis, pairs[0] + pairs[1], pairs[0] - pairs[1]]))
    connected = Connectivity(Connection.UNPROVEN, "a basis of the lattice need not connect")
    if len(basis) == 0:
        connected = Connectivity(Connection.PROVEN, "the equations leave one table")
    elif len(basis) == 1 and not problem.lists:
        connected = Connectivity(Connection.PROVEN, "the tables lie on a line")
    return _moves_over(release, problem, vectors, "lattice moves", connected)


def _moves_over(
    release: Release, problem: Problem, vectors: IntArray, name: str, connected: Connectivity
) -> Moves:
    """Moves given as vectors over the cells that are not fixed."""
    array = np.zeros((len(vectors), release.domain.size), dtype=vectors.dtype)
    array[:, _free_cells(problem)] = vectors
    moves = Moves.of_array(name, array, connected)
    summed = summed_cells(release)
    if summed is not None:
        cells = np.arange(len(summed))
        margin = moves.matrix @ csr_array((np.ones(len(cells), dtype=np.int64), (cells, summed)))
        varies = abs(margin).sum(axis=1) > 0
        moves = replace(moves, families=np.where(varies, VARIES, KEEPS))
    return moves.across(values for _, values in problem.lists)


def _free_cells(problem: Problem) -> IntArray:
    return np.flatnonzero(problem.lower < problem.upper)


def kernel_basis(equations: IntArray) -> IntArray:
    """A reduced basis of all integer vectors that the equations (rows) send to zero.

    The transposed equations, multiplied by a large number, are written beside the identity and
    reduced: as that is done by unimodular steps, the rows whose first part became zero are a
    basis of the whole kernel, not of a part of it.
    """
    from flint import fmpz_mat

    count, width = equations.shape
    if not width:
        return np.zeros((0, 0), dtype=np.int64)
    rank = fmpz_mat(count, width, equations.ravel().tolist()).rank() if count else 0
    scale = 1000
    while True:
        scaled = equations.T.astype(object) * scale
        beside = np.concatenate([scaled, np.eye(width, dtype=np.int64)], axis=1)
        reduced = fmpz_mat(beside.tolist()).lll().tolist()
        kernel = [[int(entry) for entry in row[count:]] for row in reduced if not any(row[:count])]
        if len(kernel) == width - rank:
            break
        scale **= 2
    basis = np.array(kernel, dtype=object).reshape(-1, width)
    return basis.astype(np.int64) if all(abs(x) < 2**31 for x in basis.flat) else basis


def summed_cells(release: Release) -> IntArray | None:
    """The cell of the summed table behind each cell, if there is a summed table to speak of.

    It is over the variables of the conditional, if there is one with what fits its rows; else
    over those that any statement names, if some are left out.
    """
    domain = release.domain
    facts = gather(release).conditional
    if facts is not None:
        named = facts.conditional.variables
    else:
        named = release.named_variables
        if len(named) in (0, len(domain.names)):
            return None
    behind = cells_behind(domain, named)
    summed = np.empty(domain.size, dtype=np.int64)
    summed[behind.cells] = np.repeat(np.arange(behind.size), behind.widths)
    return summed


BINARIES = ("4ti2-markov", "markov")

PATIENCE = 20.0
"""Seconds that 4ti2 may take unless told otherwise."""


def markov_program() -> str | None:
    """Where 4ti2's program is, or None if it is not installed."""
    return next((path for name in BINARIES if (path := shutil.which(name))), None)


def markov_basis(
    release: Release, *, seconds: float = PATIENCE, program: str | None = None
) -> Moves:
    """4ti2's Markov basis for a release; proven to connect.

    Inequalities and limits are made equations by slack variables, so that the basis is for them
    too. Lists of possible values cannot be written so: with them nothing is proven.

    Raises
    ------
    UnsupportedRelease
        If 4ti2 is not installed.
    TooMuchWork
        If it takes longer than `seconds`.
    """
    program = program or markov_program()
    if program is None:
        raise UnsupportedRelease(
            f"no program {' or '.join(BINARIES)} on the PATH; install 4ti2 (Debian and Ubuntu: "
            "apt install 4ti2), or use lattice_moves"
        )
    problem = make_problem(compile_release(release), release.domain.size)
    free = _free_cells(problem)
    basis = _computed(program, slack_matrix(problem, free), seconds)
    connected = Connectivity(Connection.PROVEN, "a Markov basis, computed by 4ti2")
    if problem.lists:
        connected = Connectivity(Connection.UNPROVEN, "a Markov basis, but for lists of values")
    vectors = distinct(basis[:, : len(free)])
    return _moves_over(release, problem, vectors, "Markov basis (4ti2)", connected)


def slack_matrix(problem: Problem, free: IntArray) -> IntArray:
    """All rows over the free cells as equations of variables that are at least zero.

    Each limit of a row that is not an equation has an equation and a slack variable of its own.
    The right-hand sides do not matter for a Markov basis.
    """
    dense = constraint_matrix(problem)[:, free].toarray()
    lines = []
    for row in np.flatnonzero(dense.any(axis=1)).tolist():
        low, high = int(problem.row_lower[row]), int(problem.row_upper[row])
        if low == high:
            lines.append((row, 0))
            continue
        if low != NO_LOWER and (low > 0 or (dense[row] < 0).any()):
            lines.append((row, -1))
        if high != NO_UPPER:
            lines.append((row, 1))
    rows, signs = np.array(lines, dtype=np.int64).reshape(-1, 2).T
    return np.concatenate([dense[rows], np.diag(signs)[:, signs != 0]], axis=1)


def _computed(program: str, matrix: IntArray, seconds: float) -> IntArray:
    width = matrix.shape[1]
    if not len(matrix):
        return np.eye(width, dtype=np.int64)
    with private_folder() as folder:
        project = folder / "release"
        size = f"{len(matrix)} {width}"
        np.savetxt(project.with_suffix(".mat"), matrix, fmt="%d", header=size, comments="")
        # Its default, 64-bit integers, could overflow on the way without a word.
        command = [program, "--quiet", "--precision=arbitrary", project.name]
        try:
            run = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            raise TooMuchWork(
                f"4ti2 did not find a Markov basis of a {len(matrix)} x {width} matrix within "
                f"{seconds:g} seconds; give more seconds, or use lattice_moves"
            ) from None
        result = project.with_suffix(".mar")
        if run.returncode or not result.exists():
            message = (run.stderr or run.stdout).strip()[:200]
            raise UnsupportedRelease(
                f"4ti2 found no Markov basis (code {run.returncode}: {message or 'no message'}); "
                "use lattice_moves"
            )
        return read_vectors(result.read_text("ascii"), width)


def read_vectors(text: str, width: int) -> IntArray:
    r"""Read 4ti2's format: the numbers of rows and columns, then all entries.

    Examples
    --------
    >>> read_vectors("1 4\n 1 -1 -1  1\n", 4)
    array([[ 1, -1, -1,  1]])
    """
    try:
        rows, columns, *entries = map(int, text.split())
    except ValueError:
        raise InvalidInput(
            f"4ti2's file begins with {text[:40]!r}; it should hold whole numbers only, the "
            "numbers of rows and columns first"
        ) from None
    if columns != width or len(entries) != rows * columns:
        raise InvalidInput(
            f"4ti2's file announces {rows} x {columns} numbers and holds {len(entries)}; it should "
            f"hold vectors of {width} numbers"
        )
    wide = any(abs(entry) >= 2**62 for entry in entries)
    return np.array(entries, dtype=object if wide else np.int64).reshape(rows, columns)
