"""The integer programs behind the questions, laid out once for every solver.

Coefficients are integers (rate inequalities are multiplied by the scale), so that only a solver's
own tolerances stand between its answers and exact ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse

import cellbounds as cb
from benchmarks.arrays import FloatArray, IntArray
from benchmarks.problems.instances import Instance

NO_LIMIT = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=False, eq=False)
class Program:
    """Integer variables, the first of them the cells of a table, under linear constraints.

    Parameters
    ----------
    matrix : csr_array of int64
        Coefficients, one line a constraint.
    row_lower, row_upper : IntArray
        Limits of each constraint; ``-NO_LIMIT`` and ``NO_LIMIT`` where there is none.
    lower, upper : IntArray
        Limits of each variable.
    cells : int
        How many of the variables are cells.
    """

    matrix: scipy.sparse.csr_array
    row_lower: IntArray
    row_upper: IntArray
    lower: IntArray
    upper: IntArray
    cells: int

    @property
    def variables(self) -> int:
        """The number of variables."""
        return len(self.lower)

    @cached_property
    def lines(self) -> list[tuple[list[int], list[int], int, int]]:
        """Variables, coefficients and limits of each constraint, as Python integers."""
        found = []
        for row, (low, high) in enumerate(
            zip(self.row_lower.tolist(), self.row_upper.tolist(), strict=True)
        ):
            start, stop = self.matrix.indptr[row], self.matrix.indptr[row + 1]
            used = self.matrix.indices[start:stop].tolist()
            found.append((used, self.matrix.data[start:stop].tolist(), low, high))
        return found

    def holds_for(self, values: IntArray) -> bool:
        """Check in integers that the variables may have these values."""
        sums = self.matrix @ values
        return bool(
            np.all((self.lower <= values) & (values <= self.upper))
            and np.all((self.row_lower <= sums) & (sums <= self.row_upper))
        )

    def largest_term(self) -> int:
        """Return the largest coefficient times the largest value, in Python integers."""
        largest = int(np.abs(self.matrix.data).max(initial=0))
        return largest * int(self.upper.max())

    def with_cell(self, cell: int, value: int) -> Program:
        """Return the program in which one cell has that value."""
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[cell] = upper[cell] = value
        return Program(self.matrix, self.row_lower, self.row_upper, lower, upper, self.cells)


def of_rates(instance: Instance) -> Program:
    """Lay out formulation (1)-(6) of document 004: cells row by row, then the row sums."""
    rates, scale, total = instance.rates, instance.scale, instance.total
    rows, columns = rates.shape
    cells = rows * columns
    cell, row_of_cell = np.arange(cells), np.repeat(np.arange(rows), columns)
    row_sum = cells + np.arange(rows)  # columns of the matrix, after those of the cells
    row_sum_of_cell, rate = cells + row_of_cell, rates.ravel()
    first_left, first_right = 1 + rows, 1 + rows + cells
    entries = [  # constraint, variable, coefficient
        (np.zeros(rows), row_sum, np.ones(rows)),  # (2): the row sums add to the total
        (1 + row_of_cell, cell, np.ones(cells)),  # (4): the cells of a row add ...
        (1 + np.arange(rows), row_sum, -np.ones(rows)),  # ... to its sum
        (first_left + cell, cell, np.full(cells, scale)),  # (5): scale * cell - (rate - 1) * sum
        (first_left + cell, row_sum_of_cell, 1 - rate),
        (first_right + cell, cell, np.full(cells, scale)),  # (5): scale * cell - (rate + 1) * sum
        (first_right + cell, row_sum_of_cell, -1 - rate),
    ]
    constraint, variable, coefficient = (
        np.concatenate(parts).astype(np.int64) for parts in zip(*entries, strict=True)
    )
    equal, unlimited = np.zeros(rows, dtype=np.int64), np.full(cells, NO_LIMIT)
    none = np.zeros(cells, dtype=np.int64)
    return Program(
        assembled(coefficient, constraint, variable, (1 + rows + 2 * cells, cells + rows)),
        row_lower=np.concatenate([[total], equal, none, -unlimited]),
        row_upper=np.concatenate([[total], equal, unlimited, none]),
        lower=np.concatenate([none, np.ones(rows, dtype=np.int64)]),
        upper=np.full(cells + rows, total),
        cells=cells,
    )


def of_margins(release: cb.Release) -> Program:
    """Lay out exact margins: an equation for each figure, cells up to the least figure above."""
    domain = release.domain
    numbers = np.arange(domain.size).reshape(domain.shape)
    members: list[IntArray] = []
    figures: list[int] = []
    upper = np.full(domain.size, NO_LIMIT)
    for statement in release.statements:
        if not isinstance(statement, cb.Margin):
            continue
        kept = domain.axes(statement.variables)
        rest = [axis for axis in range(len(domain.shape)) if axis not in kept]
        counts = np.asarray(statement.counts).ravel()
        cells = numbers.transpose([*kept, *rest]).reshape(counts.size, -1)
        members += list(cells)
        figures += counts.tolist()
        upper[cells] = np.minimum(upper[cells], counts[:, None])
    sizes = np.array([len(one) for one in members])
    variable = np.concatenate(members)
    constraint = np.repeat(np.arange(len(members)), sizes)
    ones = np.ones(len(variable), dtype=np.int64)
    published = np.array(figures, dtype=np.int64)
    return Program(
        assembled(ones, constraint, variable, (len(members), domain.size)),
        row_lower=published,
        row_upper=published,
        lower=np.zeros(domain.size, dtype=np.int64),
        upper=upper,
        cells=domain.size,
    )


def in_floats(limits: IntArray) -> FloatArray:
    """Return limits in floating point, infinite where there is none."""
    floats = limits.astype(float)
    floats[limits == NO_LIMIT] = np.inf
    floats[limits == -NO_LIMIT] = -np.inf
    return floats


def assembled(
    coefficient: IntArray, constraint: IntArray, variable: IntArray, shape: tuple[int, int]
) -> scipy.sparse.csr_array:
    """Put coefficients into a sparse matrix; those that are zero are left out."""
    places = (constraint.astype(np.int32), variable.astype(np.int32))
    matrix = scipy.sparse.csr_array((coefficient, places), shape=shape)
    matrix.eliminate_zeros()
    return matrix
