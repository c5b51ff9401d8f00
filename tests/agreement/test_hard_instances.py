"""Instances where the relaxation misleads: gaps, no whole table at all, holes.

They are looked for with fixed seeds. A circuit is an integer vector with the least support that
changes no margin. If one of its entries is 2, then its positive and its negative part are tables
with the same margins, and often there is none between them: a hole. A table of halves with whole
margins often has no table of whole numbers beside it. Zeros that are known beforehand keep other
tables away, so that tables of three variables show all of it as well.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from ortools.sat.python import cp_model
from scipy.optimize import linprog

import cellbounds as cb

PAIRS = tuple(itertools.combinations(range(4), 2))
CYCLE = ((0, 1), (1, 2), (2, 3), (0, 3))
STAR = ((0, 1, 2), (0, 3), (1, 3), (2, 3))
THREE = ((0, 1), (0, 2), (1, 2))


def margin_matrix(shape, faces) -> np.ndarray:
    """One row for each published count, one column for each cell."""
    place = np.indices(shape).reshape(len(shape), -1)
    rows = []
    for face in faces:
        levels = [shape[axis] for axis in face]
        number = np.ravel_multi_index([place[axis] for axis in face], levels)
        rows.append(np.arange(math.prod(levels))[:, None] == number)
    return np.vstack(rows).astype(np.int64)


def circuits(matrix: np.ndarray, rng):
    """Circuits of a random basis: what the other columns are in terms of its columns."""
    order = rng.permutation(matrix.shape[1])
    rows = [[Fraction(int(v)) for v in row] for row in matrix[:, order]]
    basic: list[int] = []
    for column in range(len(order)):
        at = next((k for k in range(len(basic), len(rows)) if rows[k][column]), None)
        if at is None:
            continue
        top = len(basic)
        rows[top], rows[at] = rows[at], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for k, row in enumerate(rows):
            if k != top and row[column]:
                rows[k] = [a - row[column] * b for a, b in zip(row, rows[top], strict=True)]
        basic.append(column)
    for column in sorted(set(range(len(order))) - set(basic)):
        vector = np.zeros(len(order), dtype=object)
        vector[order[column]] = Fraction(1)
        for k, own in enumerate(basic):
            vector[order[own]] = -rows[k][column]
        whole = vector * math.lcm(*(Fraction(v).denominator for v in vector))
        assert not (matrix @ whole).any()
        yield whole.astype(np.int64)


def halves(matrix: np.ndarray, rng) -> np.ndarray:
    """A random vector of zeros and ones whose margins are all even."""
    order = rng.permutation(matrix.shape[1])
    rows = matrix[:, order] % 2
    basic: list[int] = []
    for column in range(len(order)):
        found = np.flatnonzero(rows[len(basic) :, column])
        if not len(found):
            continue
        top = len(basic)
        rows[[top, top + found[0]]] = rows[[top + found[0], top]]
        others = np.flatnonzero(rows[:, column])
        rows[others[others != top]] ^= rows[top]
        basic.append(column)
    free = np.setdiff1d(np.arange(len(order)), basic)
    turned = np.zeros(len(order), dtype=np.int64)
    turned[free] = rng.random(len(free)) < rng.choice([0.2, 0.5])
    turned[basic] = rows[: len(basic), free] @ turned[free] % 2
    vector = np.zeros(len(order), dtype=np.int64)
    vector[order] = turned
    assert not (matrix @ vector % 2).any()
    return vector


class Listing(cp_model.CpSolverSolutionCallback):
    """Keeps every solution."""

    def __init__(self, cells):
        super().__init__()
        self._cells, self.tables = cells, []

    def on_solution_callback(self):
        self.tables.append([self.value(cell) for cell in self._cells])


def every_table(rows, limits, most: int) -> np.ndarray:
    """All tables of counts up to `most` with ``low <= row @ cells <= high``."""
    model = cp_model.CpModel()
    cells = [model.new_int_var(0, most, "") for _ in rows[0]]
    for row, (low, high) in zip(rows, limits, strict=True):
        expression = cp_model.LinearExpr.weighted_sum(cells, [int(v) for v in row])
        model.add_linear_constraint(expression, int(low), int(high))
    solver, listing = cp_model.CpSolver(), Listing(cells)
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    status = solver.solve(model, listing)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return np.array(listing.tables, dtype=np.int64).reshape(-1, len(cells))


def domain_of(shape) -> cb.Domain:
    return cb.Domain(
        {name: [f"{name}{k}" for k in range(n)] for name, n in zip("abcd", shape, strict=False)}
    )


def release_of(shape, faces, sums, zeros=()) -> cb.Release:
    """Exact margins, and cells that nobody can be in."""
    domain = domain_of(shape)
    statements: list = []
    at = 0
    for face in faces:
        levels = [shape[axis] for axis in face]
        counts = sums[at : at + math.prod(levels)].reshape(levels)
        statements.append(cb.Margin([domain.names[axis] for axis in face], counts))
        at += math.prod(levels)
    cells = list(domain.cells())
    if len(zeros):
        statements.append(cb.Known(domain.names, upper={cells[k]: 0 for k in zeros}))
    return cb.Release(domain, statements)


def check(release, tables):
    """Bounds and every value of every cell, or that nothing fits."""
    if not len(tables):
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release)
        with pytest.raises(cb.InconsistentRelease):
            cb.attainable(release)
        return
    answer, values = cb.bounds(release), cb.attainable(release)
    assert answer.evidence is cb.Evidence.EXACT
    assert answer.lower.ravel().tolist() == tables.min(axis=0).tolist()
    assert answer.upper.ravel().tolist() == tables.max(axis=0).tolist()
    for place, labels in enumerate(release.domain.cells()):
        assert set(values[labels]) == set(tables[:, place].tolist())


def has_hole(tables) -> bool:
    return any(
        len(set(column)) <= max(column) - min(column) for column in tables.T.tolist() if column
    )


def rounding_misleads(release, tables) -> bool:
    """Whether a linear bound, rounded to whole numbers, is not attained."""
    answer = cb.bounds(release, kind="linear")
    low = [math.ceil(value) for value in answer.lower.flat]
    high = [math.floor(value) for value in answer.upper.flat]
    return low != tables.min(axis=0).tolist() or high != tables.max(axis=0).tolist()


def real_numbers_fit(matrix, sums, zeros=()) -> bool:
    limits = [(0, 0 if k in set(zeros) else None) for k in range(matrix.shape[1])]
    found = linprog(np.zeros(matrix.shape[1]), A_eq=matrix, b_eq=sums, bounds=limits)
    return found.status == 0


def answered(shape, faces, sums, zeros=()):
    """Check an instance; gives its tables and its release."""
    matrix = margin_matrix(shape, faces)
    release = release_of(shape, faces, sums, zeros)
    rows = [*matrix, *np.eye(matrix.shape[1], dtype=np.int64)[list(zeros)]]
    limits = [(n, n) for n in sums] + [(0, 0)] * len(zeros)
    tables = every_table(rows, limits, int(sums.max()))
    check(release, tables)
    return release, tables


def circuits_with_a_two(matrix, rng, count: int):
    """The first few circuits with an entry of 2 and none beyond."""
    found = 0
    for _ in range(300):
        for circuit in circuits(matrix, rng):
            if np.abs(circuit).max() == 2:
                yield circuit
                found += 1
            if found == count:
                return
    raise AssertionError("no such circuits")


@pytest.mark.parametrize(
    ("shape", "faces", "forbidding"),
    [
        ((2, 2, 2, 2), PAIRS, False),
        ((2, 2, 2, 3), PAIRS, False),
        ((2, 2, 2, 2), STAR, False),
        ((3, 3, 3), THREE, True),
        ((2, 3, 3, 2), CYCLE, True),
    ],
)
def test_holes(shape, faces, forbidding):
    """Two tables with the same margins and nothing between them: 0 or 2 records, and not 1."""
    matrix = margin_matrix(shape, faces)
    found = 0
    for circuit in circuits_with_a_two(matrix, np.random.default_rng(7), 4):
        zeros = np.flatnonzero(circuit == 0) if forbidding else ()
        _, tables = answered(shape, faces, matrix @ np.maximum(circuit, 0), zeros)
        found += has_hole(tables)
    assert found >= (4 if forbidding else 1)


def test_three_variables_fill_the_holes_of_small_margins():
    """The same circuits without forbidden cells: many tables, and every number between."""
    matrix = margin_matrix((3, 3, 3), THREE)
    for circuit in circuits_with_a_two(matrix, np.random.default_rng(7), 4):
        _, tables = answered((3, 3, 3), THREE, matrix @ np.maximum(circuit, 0))
        assert len(tables) > 2
        assert not has_hole(tables)


@pytest.mark.parametrize(
    ("shape", "faces", "forbidding"),
    [((2, 2, 2, 2), PAIRS, False), ((3, 3, 3), THREE, True), ((2, 2, 2, 2), STAR, False)],
)
def test_real_numbers_fit_and_no_counts_do(shape, faces, forbidding):
    """Halves with whole margins, and often nothing else."""
    matrix = margin_matrix(shape, faces)
    rng = np.random.default_rng(11)
    empty = 0
    for _ in range(60):
        table = halves(matrix, rng)
        sums = matrix @ table // 2
        if not sums.any():
            continue
        zeros = np.flatnonzero(table == 0) if forbidding else ()
        assert real_numbers_fit(matrix, sums, zeros)
        _, tables = answered(shape, faces, sums, zeros)
        empty += not len(tables)
        if empty == 3:
            return
    raise AssertionError(f"only {empty} without tables of counts")


@pytest.mark.parametrize(
    ("shape", "faces", "forbidding"),
    [((2, 2, 2, 2), PAIRS, False), ((3, 3, 3), THREE, True), ((2, 3, 3, 2), CYCLE, True)],
)
def test_rounding_the_relaxation_misleads(shape, faces, forbidding):
    """Half a circuit away from a table an entry falls by 1, but no table is there."""
    matrix = margin_matrix(shape, faces)
    misled = 0
    for circuit in circuits_with_a_two(matrix, np.random.default_rng(5), 4):
        down = circuit if circuit.min() == -2 else -circuit
        table = np.minimum(np.maximum(-down, 0), 1)
        zeros = np.flatnonzero(circuit == 0) if forbidding else ()
        release, tables = answered(shape, faces, matrix @ table, zeros)
        misled += rounding_misleads(release, tables)
    assert misled >= (4 if forbidding else 1)


@pytest.mark.parametrize("seed", range(4))
def test_rates_and_margins(seed):
    """Exact rates beside a margin: what is left is a lattice that rounding knows nothing of."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, size=(2, 3))
    counts[:, 0] = 2 * counts[:, 1]
    domain = domain_of((2, 3))
    rates = [[Fraction(int(x), int(row.sum())) for x in row] for row in counts]
    joint = [[Fraction(int(x), int(counts.sum())) for x in counts.sum(axis=0)]]
    total = 6 * int(counts.sum())
    release = cb.Release(
        domain,
        [
            cb.Conditional(["b"], ["a"], rates=rates),
            cb.Conditional(["b"], [], rates=joint[0], eps="0.2"),
            cb.Linear(["a", "b"], {("a0", "b0"): 1, ("a1", "b2"): -2}, upper=total // 2),
            cb.Total(total),
        ],
    )
    places = np.arange(6).reshape(2, 3)
    rows, limits = [np.ones(6, dtype=np.int64)], [(total, total)]
    for i, j in np.ndindex(2, 3):
        row = np.zeros(6, dtype=np.int64)
        row[places[i]] -= rates[i][j].numerator
        row[places[i, j]] += rates[i][j].denominator
        rows.append(row)
        limits.append((0, 0))
    for i in range(2):
        rows.append(np.isin(np.arange(6), places[i]).astype(np.int64))
        limits.append((1, total))
    for j in range(3):
        rows.append(np.isin(np.arange(6), places[:, j]).astype(np.int64))
        near = Fraction(1, 5)
        limits.append(
            (
                math.ceil((joint[0][j] - near) * total),
                math.floor((joint[0][j] + near) * total),
            )
        )
    rows.append(np.array([1, 0, 0, 0, 0, -2]))
    limits.append((-2 * total, total // 2))
    tables = every_table(rows, limits, total)
    check(release, tables)
    assert rounding_misleads(release, tables)
    assert has_hole(tables)
