"""The rows of a conditional: what their sums and cells may change by."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellbounds.model.rates.layout import make_layout
from cellbounds.model.rates.row_problem import row_shapes
from cellbounds.model.structure import ConditionalFacts
from cellbounds.runtime.arrays import BoolArray

__all__ = ["RateRows"]


@dataclass(frozen=True, slots=True, eq=False)
class RateRows:
    """The rows of a conditional that hold somebody, in Python integers.

    Attributes
    ----------
    places
        Their places among all rows.
    free
        Cells (rows, columns) that may change by themselves.
    step
        The sum of each row is a multiple of this.
    nominal
        The same if published rates are taken for exact; 0 if they do not add up to one.
    reach
        Beyond so many counts, every sum of a row is possible that its step allows.
    """

    places: list[int]
    width: int
    free: BoolArray
    share: list[list[int]]
    scale: list[int]
    weights: list[list[int]]
    step: list[int]
    nominal: list[int]
    reach: int
    total: int | None
    fixed_total: bool

    @classmethod
    def of(cls, facts: ConditionalFacts) -> RateRows:
        """Take them from the facts about a release."""
        problem = make_layout(facts, facts.conditional.variables).problem
        shapes = row_shapes(problem)
        step = shapes.step.tolist()
        exact = np.asarray(shapes.exact.all(axis=1)).tolist()
        rates = facts.conditional.rates.reshape(facts.conditional.intervals.low.shape)
        nominal = []
        for place, one, whole in zip(problem.rows.tolist(), step, exact, strict=True):
            figures = list(rates[place])
            known = not whole and None not in figures and sum(figures) == 1
            bottom = math.lcm(*(rate.denominator for rate in figures)) if known else 0
            nominal.append(one if whole else bottom)
        return cls(
            problem.rows.tolist(),
            problem.width,
            ~shapes.exact,
            np.where(shapes.exact, shapes.share, 0).tolist(),
            problem.scale.tolist(),
            (shapes.low + shapes.high).tolist(),
            step,
            nominal,
            max(np.where(shapes.exact.all(axis=1), 0, shapes.reach).tolist(), default=0),
            facts.total.upper,
            facts.total.exact is not None,
        )

    @property
    def exact(self) -> list[int]:
        """Rows all of whose cells are fixed shares."""
        return np.flatnonzero(~self.free.any(axis=1)).tolist()

    @property
    def loose(self) -> BoolArray:
        """Rows whose sums may change by one."""
        return np.array([one == 1 for one in self.step], dtype=bool) & self.free.any(axis=1)

    def spread(self, row: int, amount: int) -> list[int]:
        """A multiple of the row's step shared out in the ratio of its rates."""
        return next(self.roundings(row, amount))

    def roundings(self, row: int, amount: int) -> Iterator[list[int]]:
        """The ways to share it out by rounding each cell up or down."""
        share, scale = self.share[row], self.scale[row]
        made = [one * amount // scale for one in share]
        rest = amount - sum(made)
        cells = np.flatnonzero(self.free[row]).tolist()
        if not cells:
            yield made
            return
        weights = [self.weights[row][j] for j in cells]
        total = sum(weights)
        if total == 0:
            weights, total = [1] * len(cells), len(cells)
        for j, weight in zip(cells, weights, strict=True):
            made[j] += rest * weight // total
        # Largest remainders first, so that rates which add up to one are met exactly.
        left = {j: rest * weight % total for j, weight in zip(cells, weights, strict=True)}
        order = sorted((j for j in cells if left[j]), key=lambda j: -left[j])
        for chosen in itertools.combinations(order, amount - sum(made)):
            yield [one + (j in chosen) for j, one in enumerate(made)]

    def cells(self, row: int) -> list[int]:
        """The summed cells of a row, flat over the statement."""
        return list(range(self.places[row] * self.width, (self.places[row] + 1) * self.width))
