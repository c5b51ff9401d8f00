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
    Sum,
    implied,
    merged,
    needed,
    problem_of,
    sums_of,
)
from cellbounds.inference.protocol import Refusal
from cellbounds.model.constraints import NO_UPPER, compile_release
from cellbounds.model.problem import Problem, make_problem, reduced
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.solvers.general.exact_linear import exact_bound
from cellbounds.statements import Release

__all__ = ["Part", "Parts", "parts_of", "with_upper_limits"]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Cells that hang together.

    Attributes
    ----------
    cells
        Their numbers in the domain (flat), ascending.
    problem
        What is said of them; cells are numbered within the part, lists too.
        Sums that follow from others are there too: they say nothing new, but show early that
        something cannot be completed.
    """

    cells: IntArray
    problem: Problem

    @property
    def signature(self) -> bytes:
        """The same for parts that differ only in which cells they are about."""
        one = self.problem
        lists = [(cells.tolist(), sorted(values)) for cells, values in one.lists]
        arrays = (one.starts, one.cells, one.coefficients, one.row_lower, one.row_upper)
        return b"|".join(
            [a.tobytes() for a in (one.lower, one.upper, *arrays)] + [repr(lists).encode()]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The counts of cells that the release fixes (0 elsewhere), and the parts of the others."""

    fixed: IntArray
    parts: tuple[Part, ...]


def parts_of(release: Release) -> Parts | Refusal:
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
    small, numbers = reduced(full)
    counts = np.where(full.lower == full.upper, full.lower, 0)
    small = with_upper_limits(small)
    if (small.upper == NO_UPPER).any():
        return Refusal(
            "nothing limits some of the cells, so there is no end of tables; give "
            "Total(upper=...) or another upper limit"
        )
    _check_width(small)
    sums = needed(merged(sums_of(small, system.statement)), small.lower, small.upper)
    follows = implied(sums, len(numbers))
    return Parts(counts, tuple(_split(sums, follows, small, numbers)))


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


def _split(sums: list[Sum], follows: list[bool], small: Problem, numbers: IntArray) -> list[Part]:
    """The parts, in the order of their first cells."""
    if not len(numbers):
        return []
    kept = [one for one, marked in zip(sums, follows, strict=True) if not marked]
    joined = problem_of([replace(one, values=None) for one in kept], small.lower, small.upper)
    labels = joined.components()
    inside: dict[int, list[Sum]] = {}
    for one, marked in zip(sums, follows, strict=True):
        touched = labels[one.cells]
        if (touched == touched[0]).all() and (one.values is None or not marked):
            inside.setdefault(int(touched[0]), []).append(one)
    order = np.argsort(labels, kind="stable")
    firsts, starts = np.unique(labels[order], return_index=True)
    parts = []
    for first, cells in zip(firsts.tolist(), np.split(order, starts[1:]), strict=True):
        about = [
            replace(one, cells=np.searchsorted(cells, one.cells)) for one in inside.get(first, [])
        ]
        problem = problem_of(about, small.lower[cells], small.upper[cells])
        parts.append(Part(numbers[cells], problem))
    return parts
