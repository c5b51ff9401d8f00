"""Which sums are the same in every table, for all of them at once (docs/theory/constant-sums.md).

The statements are equations ``A x = b`` between limits (an inequality gets a column for its sum).
Given some tables, the columns that stand at the same limit in all of them are *tight*. One linear
program says which of these are *forced*: they stand there in every table of real numbers. One
elimination says which sums then follow from the equations: they are constant.

The program only proposes. That columns are forced is proven by multipliers of equations that hold
nothing but forced columns, in whole numbers; that a sum is constant, by the elimination, which is
in whole numbers too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cellbounds.model.linear_programs import LinearProgram, LinearProposal
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, rows_of_entries
from cellbounds.solvers.general.elimination_kernel import (
    DEPENDENT,
    PRIME,
    Echelon,
    echelon_form,
    in_span,
    null_vector,
)
from cellbounds.statements.inequalities import NO_UPPER

GROUP = 2**42
"""Ranks of columns of different groups differ by this: the first group has pivots first."""

MOST_STEPS = 20_000_000_000
"""Steps of an elimination after which the rest is left open: about a minute."""

DENOMINATORS = (1, 2, 6, 60, 1 << 20)
"""Denominators of multipliers that are tried in turn."""

SEED = 19
"""Where the random null vector begins; it only proposes."""


class Equations(NamedTuple):
    """Rows over columns: the cells of a problem, and then the sum of each inequality.

    Row k is the sum of ``factors * x[columns]`` over ``starts[k]:starts[k + 1]``, which is the same
    in every table. `lower` and `upper` limit the columns.
    """

    starts: IntArray
    columns: IntArray
    factors: IntArray
    lower: IntArray
    upper: IntArray
    ranges: IntArray

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self.lower)

    @property
    def rows(self) -> IntArray:
        """The row of each entry."""
        return rows_of_entries(self.starts)


def equations_of(problem: Problem) -> Equations:
    """The rows of a problem as equations."""
    ranges = np.flatnonzero(problem.row_lower != problem.row_upper)
    size = len(problem.lower)
    ends = problem.starts[ranges + 1]
    more = np.zeros(len(problem.starts), dtype=np.int64)
    more[ranges + 1] = 1
    return Equations(
        problem.starts + np.cumsum(more),
        np.insert(problem.cells, ends, size + np.arange(len(ranges))),
        np.insert(problem.coefficients, ends, -1),
        np.concatenate([problem.lower, problem.row_lower[ranges]]),
        np.concatenate([problem.upper, problem.row_upper[ranges]]),
        ranges,
    )


class ConstantSums(NamedTuple):
    """Which sums are constant, which columns are forced, and which rows follow from others."""

    sums: BoolArray
    forced: BoolArray
    dependent: BoolArray


def constant_sums(
    problem: Problem,
    tables: Iterable[IntArray],
    starts: IntArray,
    cells: IntArray,
    seconds: float | None = None,
) -> ConstantSums:
    """Which sums over cells (lines of `starts` and `cells`) are the same in every table.

    Parameters
    ----------
    problem
        Cells and rows; lists of values are left out of account.
    tables
        Tables that fit, at least one: the more they differ, the less there is to prove.
    starts, cells
        The cells of line k are ``cells[starts[k]:starts[k + 1]]``.
    seconds
        For the linear program.
    """
    equations = equations_of(problem)
    tight = tight_columns(problem, equations, tables)
    forced = equations.lower == equations.upper
    # Columns that are not tight take up what rows that hold one need: pivots are among them first,
    # and last among those that are fixed.
    groups = np.where(forced, 3 * GROUP, np.where(tight != 0, GROUP, 0))
    echelon = grouped_echelon(equations, groups)
    inwards = inwards_of(echelon, tight != 0, tight)
    if len(inwards.columns):
        proposed = proposed_columns(inwards, equations.size, seconds)
        if proposed.any():
            # So do then the columns that are not forced.
            echelon = grouped_echelon(equations, groups + np.where(proposed, GROUP, 0))
            inwards = inwards_of(echelon, proposed, tight)
            forced |= _proven(inwards, equations.size, seconds)
    constant = _spanned(echelon, forced, starts, cells)
    # Whether a row follows from rows before it does not hang on pivots; whether that is found does.
    dependent = (echelon.fate == DEPENDENT) | dependent_rows(problem)
    return ConstantSums(constant, forced, dependent)


def tight_columns(problem: Problem, equations: Equations, tables: Iterable[IntArray]) -> IntArray:
    """1 for columns at their lower limit in every table, -1 for those at their upper one."""
    low = np.ones(equations.size, dtype=bool)
    high = low.copy()
    for table in tables:
        columns = np.concatenate([table, problem.sums(table)[equations.ranges]])
        low &= columns == equations.lower
        high &= columns == equations.upper
    return low.astype(np.int64) - high


# --- elimination --------------------------------------------------------------------------------


def echelon_of(equations: Equations, ranks: IntArray) -> Echelon:
    """Eliminate, short rows first; pivots are the columns that rank first."""
    order = np.argsort(np.diff(equations.starts), kind="stable")
    starts, columns, factors = equations[:3]
    return Echelon(*echelon_form(starts, columns, factors, order, ranks, MOST_STEPS))


def grouped_echelon(equations: Equations, groups: IntArray) -> Echelon:
    """Of the columns of a group those first that few rows hold."""
    return echelon_of(equations, groups + np.bincount(equations.columns, minlength=equations.size))


def dependent_rows(problem: Problem) -> BoolArray:
    """Rows that follow from others, if anything does: their limits are left out of account."""
    equations = equations_of(problem)
    groups = np.zeros(equations.size, dtype=np.int64)
    return np.asarray(grouped_echelon(equations, groups).fate == DEPENDENT)


def _spanned(echelon: Echelon, forced: BoolArray, starts: IntArray, cells: IntArray) -> BoolArray:
    """Which sums the rows and the forced columns determine."""
    dead = forced.astype(np.int64)
    values = np.random.default_rng(SEED).integers(1, PRIME, len(dead))
    null_vector(echelon, values, dead)
    totals = np.concatenate([[0], np.cumsum(values[cells])])
    # What is not zero in one null vector is not constant; the rest is asked exactly.
    candidates = np.flatnonzero((totals[starts[1:]] - totals[starts[:-1]]) % PRIME == 0)
    constant = np.zeros(len(starts) - 1, dtype=bool)
    constant[candidates] = in_span(echelon, starts, cells, candidates, dead, MOST_STEPS)
    return constant


# --- forced columns -----------------------------------------------------------------------------


class Inwards(NamedTuple):
    """Rows that hold tight columns only, which count from their limits inwards.

    `columns` are those that they hold; entry k of the rows is `factors[k]` times the column
    ``columns[places[k]]``.
    """

    columns: IntArray
    starts: IntArray
    places: IntArray
    factors: IntArray

    @property
    def rows(self) -> IntArray:
        """The row of each entry."""
        return rows_of_entries(self.starts)

    def pushed(self, seconds: float | None) -> LinearProposal | None:
        """A direction that leads as many columns inwards as possible, each by 1 or more.

        Each column is the sum of two: one that counts, up to 1, and one that may go on.
        """
        many, count = len(self.columns), len(self.starts) - 1
        entries = np.argsort(np.concatenate([self.rows, self.rows]), kind="stable")
        nothing = np.zeros(count, dtype=np.int64)
        directions = Problem(
            lower=np.zeros(2 * many, dtype=np.int64),
            upper=np.repeat([1, NO_UPPER], many),
            starts=2 * self.starts,
            cells=np.concatenate([self.places, many + self.places])[entries],
            coefficients=np.concatenate([self.factors, self.factors])[entries],
            row_lower=nothing,
            row_upper=nothing,
            origin=np.arange(count),
            lists=(),
        )
        return LinearProgram(directions).minimize(np.arange(many), np.full(many, -1), seconds)


def inwards_of(echelon: Echelon, last: BoolArray, tight: IntArray) -> Inwards:
    """The rows whose pivots are in the last columns: they hold no others but fixed ones."""
    rows = np.sort(echelon.row_of[(echelon.row_of >= 0) & last])
    row_of_entry = rows_of_entries(echelon.starts)
    within = np.isin(row_of_entry, rows) & (tight[echelon.columns] != 0)
    entries = echelon.columns[within]
    columns, places = np.unique(entries, return_inverse=True)
    starts = np.searchsorted(row_of_entry[within], np.append(rows, len(echelon.starts)))
    return Inwards(columns, starts, places, echelon.factors[within] * tight[entries])


def proposed_columns(inwards: Inwards, size: int, seconds: float | None) -> BoolArray:
    """Columns that no direction seems to lead away from their limit."""
    forced = np.zeros(size, dtype=bool)
    proposal = inwards.pushed(seconds)
    if proposal is not None:
        counted = proposal.cells[: len(inwards.columns)]
        forced[inwards.columns[counted < 0.5]] = True
    return forced


def _proven(inwards: Inwards, size: int, seconds: float | None) -> BoolArray:
    """Columns that are forced for certain, of those that seem so."""
    forced = np.zeros(size, dtype=bool)
    multipliers = positive_combination(inwards, seconds)
    forced[inwards.columns[np.unique(inwards.places[multipliers[inwards.rows] != 0])]] = True
    return forced


def positive_combination(inwards: Inwards, seconds: float | None) -> IntArray:
    """Multipliers of rows whose sum has no coefficients but positive ones; 0 where none are found.

    The rows are zero when every column stands at its limit, as it does in the tables that are
    known. A combination of them with positive coefficients only is a sum of distances from the
    limits that is zero in every table: all of them are zero. Parts that have no row in common are
    proven apart.
    """
    rows, many = inwards.rows, len(inwards.columns)
    multipliers = np.zeros(len(inwards.starts) - 1, dtype=np.int64)
    proposal = inwards.pushed(seconds)
    if proposal is None:
        return multipliers
    part = connected(rows, inwards.places, many)
    part_of_row = part[inwards.places[inwards.starts[:-1]]]
    left = np.ones(many, dtype=bool)
    for denominator in DENOMINATORS:
        rounded = np.rint(-proposal.duals * denominator)
        size_of_sums = np.abs(inwards.factors).astype(float) @ np.abs(rounded[rows])
        if not size_of_sums < SAFE:
            break
        whole = rounded.astype(np.int64)
        sums = np.zeros(many, dtype=np.int64)
        np.add.at(sums, inwards.places, inwards.factors * whole[rows])
        failed = np.bincount(part, sums <= 0, minlength=many) > 0
        new = left & ~failed[part]
        parts = np.zeros(many, dtype=bool)
        parts[part[new]] = True
        multipliers = np.where(parts[part_of_row], whole, multipliers)
        left &= ~new
        if not left.any():
            break
    return multipliers


def connected(rows: IntArray, places: IntArray, many: int) -> IntArray:
    """A number for each of some columns: those that rows connect have the same."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    size = many + int(rows.max(initial=-1)) + 1
    links = coo_matrix((np.ones(len(rows)), (places, many + rows)), (size, size))
    labels: IntArray = connected_components(links, directed=False)[1][:many]
    return labels.astype(np.int64)
