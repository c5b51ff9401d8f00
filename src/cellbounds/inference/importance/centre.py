"""What a table drawn at random is expected to look like: the guide of the proposals.

Cells are taken for independent negative binomial (or Poisson) counts; so is the room that each
inequality leaves, on either side. Their means are those of largest entropy that agree with every
equation. Near them, counts are taken for normal ones conditioned on the equations, which gives a
variance, too. All of this is in floating point and only proposes: weights make up for what it
gets wrong.

While variables are placed, compiled code follows the centre of the tables that remain. It is kept
on disk by file: after a change here, `proposal_kernel.py`, which calls it, has to be compiled anew.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array

from cellbounds.inference.importance.sampling_plan import SamplingPlan, VariableBounds
from cellbounds.model.linear_programs import independent_rows
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.compilation import compiled
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER

MOST_ROWS = 1000
"""Equations among which those are looked for that follow from others."""

MOST_STEPS, MOST_FOR_ONE = 5e8, 1e8
"""Multiplications for one draw, and for one choice, beyond which the centre is not followed."""


class Centre(NamedTuple):
    """Equations over the free cells and one unknown for each inequality, in compiled form.

    Unknown k is in the equations ``rows[starts[k]:starts[k + 1]]`` with these factors; `right` is
    their right side. From `first_sum` on they define the sums of a plan, and count once the sum
    is placed. Unknowns lie above `low` and below `high` (infinite: no limit), with weights of
    this shape and the logarithm of this factor. `means` are where to start. Variable v of the
    plan is the sum of ``members[member_starts[v]:member_starts[v + 1]]``. `used` is false if
    there are too many equations.
    """

    starts: IntArray
    rows: IntArray
    factors: FloatArray
    right: FloatArray
    low: FloatArray
    high: FloatArray
    shape: FloatArray
    log_factor: FloatArray
    member_starts: IntArray
    members: IntArray
    means: FloatArray
    first_sum: int
    used: bool


def make_centre(plan: SamplingPlan, shapes: FloatArray, factors: FloatArray) -> Centre:
    """The centre of a plan, given the shape (infinite: Poisson) and factor of each free cell."""
    problem = plan.problem
    if len(problem.row_lower) <= MOST_ROWS and (problem.row_lower == problem.row_upper).any():
        problem = problem.with_rows(independent_rows(problem))
    cells, rows = len(plan.free), len(problem.row_lower)
    equal = problem.row_lower == problem.row_upper
    loose = np.flatnonzero(~equal)
    unknowns = cells + len(loose)
    widths = [len(group) for group in plan.members]
    members = np.concatenate([np.zeros(0, dtype=np.int64), *plan.members])
    # Rows over the cells, the unknowns of inequalities taken away; then what defines the sums.
    entries = np.concatenate([problem.coefficients, -np.ones(len(loose)), np.ones(len(members))])
    entry_rows = [problem.rows, loose, rows + np.repeat(np.arange(len(widths)), widths)]
    entry_unknowns = [problem.cells, np.arange(cells, unknowns), members]
    places = (np.concatenate(entry_rows), np.concatenate(entry_unknowns))
    matrix = coo_array((entries, places), shape=(rows + len(widths), unknowns)).tocsc()
    bottom = np.where(problem.row_lower == NO_LOWER, -np.inf, problem.row_lower.astype(float))
    top = np.where(problem.row_upper == NO_UPPER, np.inf, problem.row_upper.astype(float))
    low = np.concatenate([np.zeros(cells), bottom[loose]])
    high = np.concatenate([_own_limits(plan), top[loose]])
    return Centre(
        starts=matrix.indptr.astype(np.int64),
        rows=matrix.indices.astype(np.int64),
        factors=matrix.data,
        right=np.concatenate([np.where(equal, problem.row_lower, 0), np.zeros(len(widths))]),
        low=low,
        high=high,
        shape=np.concatenate([shapes, np.ones(len(loose))]),
        log_factor=np.concatenate([np.log(factors), np.zeros(len(loose))]),
        member_starts=np.cumsum([0, *np.ones(cells, dtype=np.int64), *widths]),
        members=np.concatenate([np.arange(cells), members]),
        means=_beginning(low, high, plan.upper[:cells]),
        first_sum=rows,
        used=_affordable(unknowns, rows + len(widths), cells + len(widths)),
    )


def _affordable(unknowns: int, rows: int, variables: int) -> bool:
    """Whether a system as large as this can be solved a few times before each choice."""
    choices = max(variables - rows, 1)  # none of its own where rows follow from each other
    system = rows**3 / 6 + 20 * unknowns
    return 3 * choices * system <= MOST_STEPS and STEPS * system <= MOST_FOR_ONE


def _own_limits(plan: SamplingPlan) -> FloatArray:
    """Upper limits of cells that no row keeps; those that follow from rows are left to the rows."""
    problem = plan.problem
    limited_by_rows = np.zeros(len(problem.lower), dtype=bool)
    limited = np.where(
        problem.coefficients > 0,
        (problem.row_upper != NO_UPPER)[problem.rows],
        (problem.row_lower != NO_LOWER)[problem.rows],
    )
    limited_by_rows[problem.cells[limited]] = True
    return np.where(limited_by_rows, np.inf, problem.upper.astype(float))


def _beginning(low: FloatArray, high: FloatArray, upper: IntArray) -> FloatArray:
    """Somewhere inside the limits."""
    reach = np.full(len(low), max(1.0, float(upper.mean()) / 2 if len(upper) else 1.0))
    reach[: len(upper)] = 0.5 + upper / 3
    middle = np.where(np.isfinite(low), low + reach, high - reach)
    both = np.isfinite(low) & np.isfinite(high)
    middle[both] = (low[both] + high[both]) / 2
    return np.asarray(middle)


FIRST_STEPS, STEPS, CLOSE = 80, 6, 0.05
"""Newton steps before anything is placed and before each choice; when a step is small enough."""

EDGE = 1e-3
"""Means are kept so far inside their limits."""


class Workspace(NamedTuple):
    """Working arrays for the centre: by unknown, then by equation."""

    fixed: Any
    means: FloatArray
    slopes: FloatArray
    spreads: FloatArray
    steps: FloatArray
    number: IntArray
    right: FloatArray
    prices: FloatArray
    other: FloatArray
    matrix: FloatArray


def workspace(centre: Centre) -> Workspace:
    """Working arrays for a centre."""
    unknowns, rows = len(centre.low), len(centre.right) if centre.used else 0
    return Workspace(
        fixed=np.zeros(unknowns, dtype=np.bool_),
        means=centre.means.copy(),
        slopes=np.zeros(unknowns),
        spreads=np.zeros(unknowns),
        steps=np.zeros(unknowns),
        number=np.zeros(len(centre.right), dtype=np.int64),
        right=np.zeros(rows),
        prices=np.zeros(rows),
        other=np.zeros(rows),
        matrix=np.zeros((rows, rows)),
    )


@compiled
def _numbered(centre: Centre, now: VariableBounds, work: Workspace) -> Any:
    """Take over what is placed, and number the equations that still say something."""
    first = centre.first_sum
    cells = len(now.lower) - (len(centre.right) - first)
    work.number[:] = -1
    for cell in range(cells):
        work.fixed[cell] = now.lower[cell] == now.upper[cell]
        if work.fixed[cell]:
            work.means[cell] = now.lower[cell]
    for unknown in range(len(centre.low)):
        if not work.fixed[unknown]:
            for k in range(centre.starts[unknown], centre.starts[unknown + 1]):
                work.number[centre.rows[k]] = 0
    count = 0
    for row in range(len(centre.right)):
        variable = cells + row - first
        if row >= first and now.lower[variable] < now.upper[variable]:
            work.number[row] = -1
        if work.number[row] == 0:
            work.number[row] = count
            work.right[count] = centre.right[row] if row < first else now.lower[variable]
            count += 1
    return count


@compiled
def _assembled(centre: Centre, work: Workspace, count: Any) -> None:
    """The Newton system at the present means."""
    work.matrix[:count, :count] = 0.0
    work.prices[:count] = work.right[:count]
    for unknown in range(len(centre.low)):
        mean = work.means[unknown]
        free = not work.fixed[unknown]
        spread, slope = 0.0, 0.0
        if free:
            # Slope and curvature of the entropy: those of a negative binomial count above the
            # lower limit, and of a geometric one below the upper.
            below, above = mean - centre.low[unknown], centre.high[unknown] - mean
            curve = 1e-18  # of an unknown without limits: its variance is large, not infinite
            slope = -centre.log_factor[unknown]
            if below < np.inf:
                slope += math.log(below / (1 + below / centre.shape[unknown]))
                curve += 1 / (below * (1 + below / centre.shape[unknown]))
            if above < np.inf:
                slope -= math.log(above / (1 + above))
                curve += 1 / (above * (1 + above))
            spread = 1 / curve
            work.slopes[unknown], work.spreads[unknown] = slope, spread
        for k in range(centre.starts[unknown], centre.starts[unknown + 1]):
            row, factor = work.number[centre.rows[k]], centre.factors[k]
            if row < 0:
                continue
            work.prices[row] += factor * (spread * slope - mean)
            if free:
                # Equations of an unknown ascend, so that this is the lower triangle; nobody reads
                # the upper one.
                for j in range(centre.starts[unknown], k + 1):
                    column = work.number[centre.rows[j]]
                    if column >= 0:
                        work.matrix[row, column] += factor * centre.factors[j] * spread


@compiled
def _factored(matrix: FloatArray, count: Any) -> None:
    """Cholesky's factor in place; equations that follow from earlier ones get a zero."""
    for i in range(count):
        whole = matrix[i, i]
        for j in range(i + 1):
            left = matrix[i, j]
            for k in range(j):
                left -= matrix[i, k] * matrix[j, k]
            if j < i:
                matrix[i, j] = left / matrix[j, j] if matrix[j, j] > 0 else 0.0
            else:
                # Nearly nothing is left of an equation that follows from others: a pivot of
                # zero takes it out, here and where the factor is used.
                matrix[i, i] = math.sqrt(left) if left > 1e-9 * whole else 0.0


@compiled
def _solved(matrix: FloatArray, count: Any, sides: FloatArray) -> None:
    """Solve in place with the factor."""
    for i in range(count):
        left = sides[i]
        for k in range(i):
            left -= matrix[i, k] * sides[k]
        sides[i] = left / matrix[i, i] if matrix[i, i] > 0 else 0.0
    for i in range(count - 1, -1, -1):
        sides[i] = sides[i] / matrix[i, i] if matrix[i, i] > 0 else 0.0
        for k in range(i):
            sides[k] -= matrix[i, k] * sides[i]


@compiled
def _improved(centre: Centre, work: Workspace, count: Any, steps: Any) -> Any:
    """Newton steps towards the means of largest entropy, never across a limit; whether there."""
    for _ in range(steps):
        _assembled(centre, work, count)
        _factored(work.matrix, count)
        _solved(work.matrix, count, work.prices)
        length, largest = 1.0, 0.0
        for unknown in range(len(centre.low)):
            if work.fixed[unknown]:
                continue
            pull = -work.slopes[unknown]
            for k in range(centre.starts[unknown], centre.starts[unknown + 1]):
                row = work.number[centre.rows[k]]
                if row >= 0:
                    pull += centre.factors[k] * work.prices[row]
            # A step is measured in standard deviations; it may go nine tenths of the way to a
            # limit, where logarithms end.
            step = work.spreads[unknown] * pull
            work.steps[unknown] = step
            largest = max(largest, abs(step) / math.sqrt(work.spreads[unknown]))
            if step < 0:
                length = min(length, 0.9 * (work.means[unknown] - centre.low[unknown]) / -step)
            elif step > 0:
                length = min(length, 0.9 * (centre.high[unknown] - work.means[unknown]) / step)
        for unknown in range(len(centre.low)):
            if not work.fixed[unknown]:
                moved = work.means[unknown] + length * work.steps[unknown]
                moved = max(moved, centre.low[unknown] + EDGE)
                work.means[unknown] = min(moved, centre.high[unknown] - EDGE)
        if length == 1.0 and largest < CLOSE:
            return True
    return False


@compiled
def expected(centre: Centre, now: VariableBounds, work: Workspace, variable: Any) -> Any:
    """Mean and variance of a variable, given all that is placed."""
    # The means of the last choice are where to start: little has changed since.
    count = _numbered(centre, now, work)
    _improved(centre, work, count, STEPS)
    mean, spread = 0.0, 0.0
    work.other[:count] = 0.0
    for at in range(centre.member_starts[variable], centre.member_starts[variable + 1]):
        unknown = centre.members[at]
        mean += work.means[unknown]
        if not work.fixed[unknown]:
            spread += work.spreads[unknown]
            for k in range(centre.starts[unknown], centre.starts[unknown + 1]):
                row = work.number[centre.rows[k]]
                if row >= 0:
                    work.other[row] += centre.factors[k] * work.spreads[unknown]
    # A normal vector given linear equations: its variance is less by what they explain of it.
    work.prices[:count] = work.other[:count]
    _solved(work.matrix, count, work.prices)
    for row in range(count):
        spread -= work.other[row] * work.prices[row]
    return mean, spread


def central_means(centre: Centre, root: VariableBounds, effort: Budget) -> FloatArray:
    """The means before anything is placed; those given if that does not succeed in time."""
    work = workspace(centre)
    for _ in range(FIRST_STEPS):
        if _improved(centre, work, _numbered(centre, root, work), 1) or effort.spent:
            break
    return np.asarray(work.means if np.isfinite(work.means).all() else centre.means)
