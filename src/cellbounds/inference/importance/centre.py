"""What a table drawn at random is expected to look like: the guide of the proposals.

Cells are taken for independent negative binomial (or Poisson) counts; so is the room that each
inequality leaves, on either side. Their means are those of largest entropy that agree with every
equation. Near them, counts are taken for normal ones conditioned on the equations, which gives a
variance, too. All of this is in floating point and only proposes: weights make up for what it
gets wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cellbounds.inference.importance.plan import Plan
from cellbounds.model.constraints import NO_LOWER, NO_UPPER
from cellbounds.model.redundancy import independent_rows
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = ["Centre", "make_centre"]

MOST_ROWS = 1000
"""Equations among which those are looked for that follow from others."""

MOST_STEPS = 5e8
"""Multiplications for one draw beyond which the centre is not followed."""


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


def make_centre(plan: Plan, shapes: FloatArray, factors: FloatArray) -> Centre:
    """The centre of a plan, given the shape (infinite: Poisson) and factor of each free cell."""
    problem = plan.problem
    if len(problem.row_lower) <= MOST_ROWS and (problem.row_lower == problem.row_upper).any():
        problem = problem.with_rows(independent_rows(problem))
    cells, rows = len(plan.free), len(problem.row_lower)
    loose = np.flatnonzero(problem.row_lower != problem.row_upper)
    unknowns = cells + len(loose)
    inside = [np.array([cell], dtype=np.int64) for cell in range(cells)] + list(plan.members)
    widths = np.array([len(one) for one in plan.members], dtype=np.int64)
    entry_unknown = np.concatenate([problem.cells, cells + np.arange(len(loose)), *plan.members])
    entry_row = np.concatenate(
        [problem.rows, loose, np.repeat(rows + np.arange(len(widths)), widths)]
    ).astype(np.int64)
    ones = np.ones(int(widths.sum()))
    entry_factor = np.concatenate([problem.coefficients, -np.ones(len(loose)), ones])
    order = np.argsort(entry_unknown, kind="stable")
    right = np.zeros(rows + len(widths))
    right[:rows] = np.where(problem.row_lower == problem.row_upper, problem.row_lower, 0)
    bottom = np.where(problem.row_lower == NO_LOWER, -np.inf, problem.row_lower.astype(float))
    top = np.where(problem.row_upper == NO_UPPER, np.inf, problem.row_upper.astype(float))
    low = np.concatenate([np.zeros(cells), bottom[loose]])
    high = np.concatenate([_own_limits(plan), top[loose]])
    return Centre(
        np.searchsorted(entry_unknown[order], np.arange(unknowns + 1)).astype(np.int64),
        entry_row[order],
        entry_factor[order].astype(np.float64),
        right,
        low,
        high,
        np.concatenate([shapes, np.ones(len(loose))]),
        np.concatenate([np.log(factors), np.zeros(len(loose))]),
        np.concatenate([[0], np.cumsum([len(one) for one in inside])]).astype(np.int64),
        np.concatenate([np.zeros(0, dtype=np.int64), *inside]).astype(np.int64),
        _beginning(low, high, plan.upper[:cells]),
        rows,
        _affordable(unknowns, len(right), len(inside)),
    )


def _affordable(unknowns: int, rows: int, variables: int) -> bool:
    """Whether a system as large as this can be solved a few times before each choice."""
    choices = max(variables - rows, 1)
    return 3 * choices * (rows**3 / 6 + 20 * unknowns) <= MOST_STEPS


def _own_limits(plan: Plan) -> FloatArray:
    """Upper limits of cells that no row keeps; those that follow from rows are left to the rows."""
    problem = plan.problem
    kept = np.zeros(len(problem.lower), dtype=bool)
    limited = np.where(
        problem.coefficients > 0,
        (problem.row_upper != NO_UPPER)[problem.rows],
        (problem.row_lower != NO_LOWER)[problem.rows],
    )
    kept[problem.cells[limited]] = True
    return np.where(kept, np.inf, problem.upper.astype(float))


def _beginning(low: FloatArray, high: FloatArray, upper: IntArray) -> FloatArray:
    """Somewhere inside the limits."""
    reach = np.full(len(low), max(1.0, float(upper.mean()) / 2 if len(upper) else 1.0))
    reach[: len(upper)] = 0.5 + upper / 3
    middle = np.where(np.isfinite(low), low + reach, high - reach)
    both = np.isfinite(low) & np.isfinite(high)
    middle[both] = (low[both] + high[both]) / 2
    return np.asarray(middle)
