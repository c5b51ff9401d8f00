"""A release as independent parts: cells that no statement connects are summed over by themselves.

Cells that the release fixes are left out, and so are sums that follow from others: the number of
records, published beside a margin, connects all cells of a table without saying anything new.
A sum is left out only if it is, in whole numbers, a combination of sums that stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellbounds.errors import InconsistentRelease, TooMuchWork
from cellbounds.inference.decision_diagram.linear_constraints import (
    LinearSum,
    implied,
    merged,
    needed,
    sums_of,
)
from cellbounds.inference.protocol import Refusal
from cellbounds.model.constraints import compile_release
from cellbounds.model.problem import Problem, make_problem, presolve
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.solvers.general.exact_linear import exact_bound
from cellbounds.statements import Release
from cellbounds.statements.inequalities import NO_UPPER


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """Cells that hang together.

    Attributes
    ----------
    cells
        Their numbers in the domain (flat), ascending.
    lower, upper
        Their bounds.
    sums
        What is said of them, with cells numbered within the part; lists of values come last.
        Sums that follow from others are there too: they say nothing new, but show early that
        something cannot be completed.
    """

    cells: IntArray
    lower: IntArray
    upper: IntArray
    sums: tuple[LinearSum, ...]

    @property
    def signature(self) -> bytes:
        """The same for parts that differ only in which cells they are about."""
        arrays = [self.lower, self.upper]
        limits = []
        for total in self.sums:
            arrays += [total.cells, total.factors]
            limits.append((total.lower, total.upper, total.values and sorted(total.values)))
        return b"|".join([*(array.tobytes() for array in arrays), repr(limits).encode()])


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The counts of cells that the release fixes (0 elsewhere), and the parts of the others."""

    fixed: IntArray
    components: tuple[Component, ...]


def components_of(release: Release) -> Components | Refusal:
    """Split a release into parts that have nothing to do with each other.

    Gives a refusal if some cell has no upper limit.

    Raises
    ------
    InconsistentRelease
        If the figures are seen to contradict each other. (They may still do so if they are not.)
    TooMuchWork
        If counts times coefficients could leave 64-bit integers.
    """
    system = compile_release(release)
    full = make_problem(system, release.domain.size)
    presolved = presolve(full)
    small, numbers = presolved.problem, presolved.cells
    counts = np.where(full.lower == full.upper, full.lower, 0)
    small = with_upper_limits(small)
    if (small.upper == NO_UPPER).any():
        return Refusal(
            "nothing limits some of the cells, so there is no end of tables; give "
            "Total(upper=...) or another upper limit"
        )
    _check_width(small)
    sums = needed(merged(sums_of(small, system.statement)), small.lower, small.upper)
    return Components(counts, tuple(_split(sums, implied(sums, len(numbers)), small, numbers)))


def _check_width(problem: Problem) -> None:
    """Limits that exact programs found may be wider than those that propagation checked."""
    widest = np.abs(problem.coefficients.astype(float)) * problem.upper[problem.cells]
    sums = np.bincount(problem.rows, widest, minlength=1)
    if float(sums.max()) >= SAFE / 4:
        raise TooMuchWork(
            "counts times coefficients pass 64-bit integers; give a smaller upper limit of N"
        )


def with_upper_limits(problem: Problem) -> Problem:
    """Upper limits that follow from several rows together, where propagation found none."""
    endless = np.flatnonzero(problem.upper == NO_UPPER)
    if not len(endless) or any(problem.grows_alone(int(cell)) for cell in endless):
        return problem
    upper = problem.upper.copy()
    for cell in endless:
        weights = np.zeros(len(upper), dtype=np.int64)
        weights[cell] = -1
        least = exact_bound(problem, weights)
        if least is None:
            return problem
        upper[cell] = -least
    if (upper < problem.lower).any():
        raise InconsistentRelease("the published figures leave a cell without any count")
    return replace(problem, upper=upper)


def _split(
    sums: list[LinearSum], follows: list[bool], small: Problem, numbers: IntArray
) -> list[Component]:
    """The parts, in the order of their first cells."""
    if not len(numbers):
        return []
    pairs = list(zip(sums, follows, strict=True))
    linking = [total.cells for total, implied_by in pairs if not implied_by]
    # Lists connect their cells like rows do.
    labels = replace(
        small,
        starts=np.cumsum([0, *map(len, linking)]),
        cells=np.concatenate([np.zeros(0, dtype=np.int64), *linking]),
        row_lower=np.zeros(len(linking), dtype=np.int64),
        lists=(),
    ).components()
    inside: dict[int, list[LinearSum]] = {}
    for total, implied_by in sorted(pairs, key=lambda pair: pair[0].values is not None):
        touched = labels[total.cells]
        if (touched == touched[0]).all() and (total.values is None or not implied_by):
            inside.setdefault(int(touched[0]), []).append(total)
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    components = []
    for cells in np.split(order, starts):
        own = inside.get(int(cells[0]), [])
        about = (replace(total, cells=np.searchsorted(cells, total.cells)) for total in own)
        bounds = small.lower[cells], small.upper[cells]
        components.append(Component(numbers[cells], *bounds, tuple(about)))
    return components
