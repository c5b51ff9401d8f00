"""Controlled rounding: all figures multiples of a base, totals the sums of their parts, nearest.

Every figure lies between the multiples below and above its count that are less than `reach` bases
away: with a reach of 1 (zero-restricted rounding) a count that is a multiple stays. Among these
roundings that add up one is chosen whose figures differ least from the counts, all differences
added up. An integer program proposes; what it proposes is checked in whole numbers, and a lower
bound on the distance follows from multipliers (`docs/theory/rounding-and-ranges.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.data.cell_groups import CellGroups, cells_behind
from cellbounds.disclosure.protecting.moves import solver_of
from cellbounds.disclosure.protecting.published_cells import PublishedCells
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.solvers.general.cp_sat import IntegerProgram

Sums = tuple[Sequence[int], Sequence[int]]
"""Cells that add up to the same as others: a total and its parts, or two ways to split one."""

SCALE = 1 << 24
"""Multipliers are rounded to fractions of this."""

PROVING = 60.0
"""Seconds for a proof by CP-SAT where no budget says otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """Figures that add up, and how near they are.

    Attributes
    ----------
    figures
        A multiple of the base for each cell.
    distance, bound
        The sum of what they differ from the counts by; and what that of any other rounding of the
        same reach is at least.
    reach
        Figures are less than so many bases from their counts.
    nearer
        Whether it is proven that no rounding of a smaller reach adds up; true for a reach of 1.
    """

    figures: IntArray
    distance: int
    bound: int
    reach: int
    nearer: bool


def controlled_rounding(
    counts: IntArray,
    sums: Sequence[Sums],
    base: int,
    *,
    closed: BoolArray | None = None,
    reaches: int = 3,
    effort: Budget = UNLIMITED,
) -> Rounding | None:
    """The nearest figures that add up, all multiples of a base; None if none was found.

    Parameters
    ----------
    counts
        The true counts.
    sums
        Cells that add up to the same as others, such as a total and its parts.
    base
        The base.
    closed
        Cells that stay as they are, zero: nobody can be there.
    reaches
        How many bases figures may be away at most, where no nearer ones add up.
    effort
        What it may cost; the best figures until then are given.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([1, 1, 1, 3])  # the last is the sum of the others
    >>> rounded = controlled_rounding(counts, [([3], [0, 1, 2])], 3)
    >>> sorted(rounded.figures.tolist()), rounded.distance
    ([0, 0, 3, 3], 4)
    """
    nearer = True
    for reach in range(1, reaches + 1):
        steps = _Steps(counts, sums, base, reach, closed)
        proposed = steps.proposal(effort)
        bound = steps.bound()
        if proposed is None or steps.distance(proposed) > bound:
            found = steps.proven(proposed, effort)
            if found.final and found.bound is not None:
                bound = max(bound, steps.start + found.bound)
            proposed = _nearest(steps, proposed, found.cells)
        if proposed is not None:
            figures = steps.figures(proposed)
            distance = steps.distance(proposed)
            return Rounding(figures, distance, min(bound, distance), reach, nearer)
        nearer = nearer and found.final
    return None


def _nearest(steps: _Steps, *choices: IntArray | None) -> IntArray | None:
    adding_up = [one for one in choices if one is not None and steps.adds_up(one)]
    return min(adding_up, key=steps.distance, default=None)


class _Steps:
    """The integer program: figures go up from their lowest multiple in steps of 0 or 1.

    A further step is never cheaper than the one before it, so that steps need no order.

    Attributes
    ----------
    start
        The distance of the lowest figures.
    """

    def __init__(
        self,
        counts: IntArray,
        sums: Sequence[Sums],
        base: int,
        reach: int,
        closed: BoolArray | None,
    ) -> None:
        from scipy.sparse import csr_matrix

        self._counts, self._base = counts, base
        self._low = np.maximum(counts // base - (reach - 1), 0)
        high = -(-counts // base) + (reach - 1)
        if closed is not None:
            self._low, high = np.where(closed, 0, self._low), np.where(closed, 0, high)
        widths = high - self._low
        self._owner = np.repeat(np.arange(len(counts)), widths)
        first = np.repeat(np.cumsum(widths) - widths, widths)
        before = (self._low[self._owner] + np.arange(len(self._owner)) - first) * base
        own = counts[self._owner]
        self._costs = np.abs(before + base - own) - np.abs(before - own)
        self.start = int(np.abs(self._low * base - counts).sum())
        rows = np.repeat(np.arange(len(sums)), [len(one) + len(other) for one, other in sums])
        cells = [cell for one, other in sums for cell in (*one, *other)]
        signs = [sign for one, other in sums for sign in (*[1] * len(one), *[-1] * len(other))]
        shape = (len(sums), len(counts))
        self._sums = csr_matrix((np.array(signs, dtype=np.int64), (rows, cells)), shape=shape)
        self._matrix = self._sums[:, self._owner].tocsr()
        self._sides = -(self._sums @ self._low)
        self._duals: Any = None

    def figures(self, steps: IntArray) -> IntArray:
        """The figures that steps lead to."""
        up = np.bincount(self._owner, steps, minlength=len(self._counts)).astype(np.int64)
        return np.asarray((self._low + up) * self._base)

    def distance(self, steps: IntArray) -> int:
        """What the figures differ from the counts by, added up."""
        return int(np.abs(self.figures(steps) - self._counts).sum())

    def adds_up(self, steps: IntArray) -> bool:
        """Whether steps are 0 or 1, and every total is the sum of its parts."""
        whole = bool(((steps == 0) | (steps == 1)).all())
        return whole and not (self._sums @ self.figures(steps)).any()

    def proposal(self, effort: Budget) -> IntArray | None:
        """Steps that HiGHS finds, checked; and the multipliers of its relaxation, kept."""
        import highspy

        size = len(self._owner)
        solver = solver_of(
            self._costs.astype(float), np.zeros(size), np.ones(size), self._matrix
        )  # fmt: skip
        for row, side in enumerate(self._sides.tolist()):
            solver.changeRowBounds(row, float(side), float(side))
        self._run(solver, effort)
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = solver.getSolution()
        self._duals = np.array(solution.row_dual)
        corner = self._checked(solution.col_value)
        if corner is not None or effort.spent:
            return corner  # as in two-way tables, where corners are whole
        columns = np.arange(size, dtype=np.int32)
        whole = np.full(size, highspy.HighsVarType.kInteger)
        solver.changeColsIntegrality(size, columns, whole)
        solver.setOptionValue("mip_rel_gap", 0.0)
        self._run(solver, effort.share(0.5))
        return self._checked(solver.getSolution().col_value)

    def _run(self, solver: Any, effort: Budget) -> None:
        if effort.left is not None:
            solver.setOptionValue("time_limit", solver.getRunTime() + max(effort.left, 0.01))
        solver.run()

    def _checked(self, values: Any) -> IntArray | None:
        if len(values) != len(self._owner):
            return None
        steps = np.rint(np.array(values)).astype(np.int64)
        return steps if self.adds_up(steps) else None

    def bound(self) -> int:
        """What no rounding of this reach is nearer than: by weak duality, in whole numbers."""
        if self._duals is None:
            return self.start + int(np.minimum(self._costs, 0).sum())
        multipliers = np.rint(self._duals * SCALE).astype(np.int64)
        reduced = self._costs * SCALE - self._matrix.T @ multipliers
        # The sums in Python's integers: large bases of many cells do not fit 64 bits.
        total = sum((multipliers * self._sides).tolist()) + sum(np.minimum(reduced, 0).tolist())
        return self.start - int(-total // SCALE)

    def proven(self, proposed: IntArray | None, effort: Budget) -> Any:
        """What CP-SAT says: the least distance, or a proof that nothing adds up."""
        size, rows = len(self._owner), len(self._sides)
        program = IntegerProgram(
            Problem(
                lower=np.zeros(size, dtype=np.int64),
                upper=np.ones(size, dtype=np.int64),
                starts=self._matrix.indptr.astype(np.int64),
                cells=self._matrix.indices.astype(np.int64),
                coefficients=self._matrix.data,
                row_lower=self._sides,
                row_upper=self._sides,
                origin=np.arange(rows),
                lists=(),
            )
        )
        seconds = PROVING if effort.left is None else max(effort.left, 0.1)
        return program.minimize(np.arange(size), self._costs, proposed, seconds)


def published_sums(cells: PublishedCells) -> list[Sums]:
    """Which published figures add up to the same; what follows from others is left out.

    Sums that are not published themselves count too: they must be the same in all margins that have
    them. Only margins that share out everybody are summed.
    """
    domain = cells.domain
    asked = [(one.numbers, cells_behind(domain, one.names)) for one in cells.sheets]
    widths = np.ones(len(cells.counts), dtype=np.int64)
    for numbers, behind in asked:
        widths[numbers[numbers >= 0]] = behind.widths[numbers >= 0]
    everybody = CellGroups(np.array([0, domain.size]), np.arange(domain.size))
    # Everybody is asked for under a number of their own if N is not published.
    total = len(cells.counts) if cells.total is None else cells.total
    asked.append((np.array([total]), everybody))
    spread: dict[bytes, IntArray] = {}
    for sheet, (numbers, behind) in zip(cells.sheets, asked, strict=False):
        whole = len(behind.cells) == domain.size == len(np.unique(behind.cells))
        if sheet.place is not None and whole:
            place = np.empty(domain.size, dtype=np.int64)
            place[behind.cells] = np.repeat(numbers, behind.widths)
            spread.setdefault(place.tobytes(), place)
    partitions = sorted(spread.values(), key=lambda place: len(np.unique(place)))
    found: dict[int, dict[tuple[int, ...], None]] = {}
    for numbers, behind in asked:
        passed: list[IntArray] = []
        for finer in partitions:
            if any(_refines(finer, coarser) for coarser in passed):
                continue  # the sums over these follow from sums that are there
            splits, same = _splits(numbers, behind, finer, widths)
            for cell, parts in splits:
                found.setdefault(cell, {})[parts] = None
            if splits and len(splits) + same == int((numbers >= 0).sum()):
                passed.append(finer)
    sums: list[Sums] = []
    for cell, ways in found.items():
        published = cell < len(cells.counts) and bool(cells.published[cell])
        one, *others = [(cell,), *ways] if published else list(ways)
        sums += [(one, other) for other in others]
    return sums


def _refines(finer: IntArray, coarser: IntArray) -> bool:
    """Whether each cell of a partition lies within one cell of another."""
    pairs = np.unique(np.stack([finer, coarser]), axis=1)
    return bool(pairs.shape[1] == len(np.unique(finer)))


def _splits(
    numbers: IntArray, groups: CellGroups, finer: IntArray, widths: IntArray
) -> tuple[list[tuple[int, tuple[int, ...]]], int]:
    """The sums of whole cells of a partition, with these; and how many cells are one of them."""
    splits, same = [], 0
    for place in np.flatnonzero(numbers >= 0).tolist():
        parts = np.unique(finer[groups.cells_of(place)])
        same += parts.tolist() == [numbers[place]]
        if len(parts) > 1 and int(widths[parts].sum()) == int(groups.widths[place]):
            splits.append((int(numbers[place]), tuple(parts.tolist())))
    return splits, same
