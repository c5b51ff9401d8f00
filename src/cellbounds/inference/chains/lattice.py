"""Moves for any linear release: a reduced basis of the integer solutions of its equations.

Every two consistent tables differ by a sum of multiples of the basis, but the tables on the way
need not be consistent: a basis of the lattice need not connect.
"""

from __future__ import annotations

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.errors import TooMuchWork
from cellbounds.inference.chains.moves import (
    Connection,
    Connectivity,
    Moves,
    distinct,
    families_of,
)
from cellbounds.model.constraints import compile_release
from cellbounds.model.problem import Problem, make_problem
from cellbounds.model.structure import gather
from cellbounds.runtime.arrays import IntArray
from cellbounds.statements import Release

__all__ = ["kernel_basis", "lattice_moves", "summed_cells"]

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
    size = release.domain.size
    problem = make_problem(compile_release(release), size)
    free = np.flatnonzero(problem.lower < problem.upper)
    if len(free) > MOST_FREE:
        raise TooMuchWork(
            f"a lattice basis of {len(free)} cells; give moves of your own, or a release with at "
            f"most {MOST_FREE} cells that are not fixed"
        )
    basis = kernel_basis(_equations(problem, free))
    made = basis
    if paired and len(basis) <= MOST_PAIRED:
        one, other = np.triu_indices(len(basis), 1)
        made = distinct(
            np.concatenate([basis, basis[one] + basis[other], basis[one] - basis[other]])
        )
    array = np.zeros((len(made), size), dtype=made.dtype)
    array[:, free] = made
    families = families_of(array, summed_cells(release))
    connected = _connected(problem, len(basis))
    moves = Moves.of_array("lattice moves", array, connected, families)
    return moves.across(values for _, values in problem.lists)


def _connected(problem: Problem, dimension: int) -> Connectivity:
    if dimension == 0:
        return Connectivity(Connection.PROVEN, "the equations leave one table")
    if dimension == 1 and not problem.lists:
        return Connectivity(Connection.PROVEN, "the tables lie on a line")
    return Connectivity(Connection.UNPROVEN, "a basis of the lattice need not connect")


def _equations(problem: Problem, free: IntArray) -> IntArray:
    """The equations over the free cells, one in each row; none twice."""
    equal = problem.row_lower == problem.row_upper
    place = np.full(len(problem.lower), -1)
    place[free] = np.arange(len(free))
    rows, columns = problem.rows, place[problem.cells]
    inside = equal[rows] & (columns >= 0)
    dense = np.zeros((len(equal), len(free)), dtype=np.int64)
    dense[rows[inside], columns[inside]] = problem.coefficients[inside]
    return np.asarray(np.unique(dense[dense.any(axis=1)], axis=0))


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
        lines = [
            [int(one) * scale for one in equations[:, k]] + [int(k == j) for j in range(width)]
            for k in range(width)
        ]
        reduced = fmpz_mat(lines).lll().tolist()
        kernel = [[int(one) for one in row[count:]] for row in reduced if not any(row[:count])]
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
        spoken = frozenset(release.named_variables)
        named = tuple(name for name in domain.names if name in spoken)
        if len(named) in (0, len(domain.names)):
            return None
    behind = cells_behind(domain, named)
    summed = np.empty(domain.size, dtype=np.int64)
    summed[behind.cells] = np.repeat(np.arange(behind.size), np.diff(behind.starts))
    return summed
