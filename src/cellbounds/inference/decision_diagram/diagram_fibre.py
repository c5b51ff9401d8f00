"""All tables of a release as the product of its parts, each summed over by a diagram."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellbounds.errors import InconsistentRelease, InvalidInput, TooMuchWork
from cellbounds.inference.decision_diagram.components import Part, Parts, parts_of
from cellbounds.inference.decision_diagram.construction import TooLarge, grow
from cellbounds.inference.decision_diagram.layers import layers_of
from cellbounds.inference.decision_diagram.linear_constraints import sums_of
from cellbounds.inference.decision_diagram.ordering import best_order
from cellbounds.inference.decision_diagram.paths import Diagram, WeighedDiagram
from cellbounds.inference.enumeration import odometer
from cellbounds.inference.protocol import Refusal
from cellbounds.model.priors import Kind, Weights, check_weights, weight_steps
from cellbounds.model.structure import Facts
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray

__all__ = ["diagram_fibre"]

TRIED = 100.0
"""Estimates are often this many times too high; a diagram is tried up to there."""


TRIAL = 5_000_000
"""Steps after which a diagram that seemed hopeless is given up."""

MOST_TRIAL_CELLS = 2_000
"""Cells up to which such a diagram is tried at all."""


def diagram_fibre(facts: Facts, effort: float) -> ProductFibre | Refusal:
    """The tables of any release, if a diagram of each of its parts is small enough.

    The diagrams are made here, so that counting is certain to succeed afterwards. Where one does
    not fit the memory its paths are counted all the same; listing and weighing then refuse.
    """
    release = facts.release
    try:
        parts = parts_of(release)
    except InconsistentRelease as contradiction:
        nothing = Parts(np.zeros(release.domain.size, dtype=np.int64), ())
        return ProductFibre(nothing, (), 0, effort, str(contradiction))
    except TooMuchWork as wide:
        return Refusal(str(wide), math.inf)
    if isinstance(parts, Refusal):
        return parts
    known: dict[bytes, _Factor] = {}
    factors = []
    left = effort
    for part in parts.parts:
        signature = part.signature
        if signature not in known:
            made = _factor(part, release.domain.shape, left)
            if isinstance(made, Refusal):
                return made
            known[signature] = made
            left -= made.steps
        factors.append(known[signature])
    count = 1
    for factor in factors:
        count *= factor.paths
    return ProductFibre(parts, tuple(factors), count, effort)


@dataclass(frozen=True, slots=True, eq=False)
class _Factor:
    """One part: how many tables it has, and its diagram if that was kept.

    `steps` is what counting took, `edges` what every sum of weights takes.
    """

    paths: int
    steps: int
    edges: int
    diagram: Diagram | None


def _factor(part: Part, shape: tuple[int, ...], effort: float) -> _Factor | Refusal:
    problem = part.problem
    sums = sums_of(problem)
    positions = np.unravel_index(part.cells, shape)
    order = best_order(sums, problem.lower, problem.upper, positions)
    hopeful = order.log_steps <= np.log(TRIED * max(effort, 1.0))
    if not hopeful and len(problem.lower) > MOST_TRIAL_CELLS:
        return _refusal(order.log_steps, effort)
    layers = layers_of(sums, order.cells, problem.lower, problem.upper)
    if layers is None and not hopeful:
        return _refusal(order.log_steps, effort)
    if layers is None:
        return Refusal("what is left open between the cells does not fit 64-bit integers", math.inf)
    # Estimates of long and thin tables are far too high, so a little is tried in any case.
    grown = grow(layers, effort if hopeful else min(effort, TRIAL))
    if isinstance(grown, TooLarge) and not hopeful:
        return _refusal(order.log_steps, effort)
    if isinstance(grown, TooLarge):
        reason = f"the diagram of the tables is too large: {grown.reason}"
        return Refusal(reason, _steps(order.log_steps))
    diagram = None if grown.floors is None else Diagram(order.cells, grown.floors)
    return _Factor(grown.paths, grown.steps, grown.edges, diagram)


def _refusal(log_steps: float, effort: float) -> Refusal:
    return Refusal(
        f"the diagram of the tables would take about 10^{log_steps / np.log(10):.0f} steps, above "
        f"the effort of {effort:.3g}",
        _steps(log_steps),
    )


def _steps(log_steps: float) -> float:
    return float(np.exp(min(log_steps, 700.0)))


class ProductFibre:
    """The tables of a release as combinations of the tables of its parts.

    Tables are listed part by part (in the order of their first cells), the last part changing
    fastest, and within a part in the order of its diagram.
    """

    name = "diagrams of independent parts"

    def __init__(
        self,
        parts: Parts,
        factors: tuple[_Factor, ...],
        count: int,
        effort: float,
        contradiction: str = "",
    ) -> None:
        self._parts, self._factors, self._effort = parts, factors, effort
        self._count = 0 if contradiction else count
        self._contradiction = contradiction or "no table of counts fits all the published figures"

    def count(self) -> int:
        """How many tables there are."""
        return self._count

    def listed(self) -> Iterator[IntArray]:
        """All tables, lazily.

        Raises
        ------
        TooMuchWork
            If a diagram does not fit the memory.
        """
        if not self._count:
            return
        diagrams = self._diagrams()
        for found in odometer(len(diagrams), lambda chosen: diagrams[len(chosen)].listed()):
            counts = self._parts.fixed.copy()
            for part, cells in zip(self._parts.parts, found, strict=True):
                counts[part.cells] = cells
            yield counts

    def weighed(self, weights: Weights) -> WeighedProduct:
        """Sum the weights of all tables (see `Fibre`)."""
        if not self._count:
            raise InconsistentRelease(self._contradiction)
        edges = sum(factor.edges for factor in set(self._factors))
        if edges > self._effort:
            raise TooMuchWork(
                f"the tables can be counted, but a sum of their weights takes {edges:.3g} steps, "
                f"above the effort of {self._effort:.3g}; allow more, or ask for a sample"
            )
        diagrams = self._diagrams()
        _check_weights(diagrams, self._parts, weights, self._effort)
        return WeighedProduct(self._parts, diagrams, weights)

    def _diagrams(self) -> list[Diagram]:
        found = []
        for factor in self._factors:
            if factor.diagram is None:
                raise TooMuchWork(
                    "the tables can be counted, but their diagram does not fit the memory; "
                    "publish more, or ask for a sample"
                )
            found.append(factor.diagram)
        return found


def _check_weights(diagrams: list[Diagram], parts: Parts, weights: Weights, effort: float) -> None:
    """Refuse weights that are too many: there may be few tables of very large counts."""
    made: set[tuple[Kind, int, int]] = set()
    held = 0
    for diagram, kinds in {
        (diagram, tuple(weights.kinds[cell] for cell in part.cells.tolist()))
        for diagram, part in zip(diagrams, parts.parts, strict=True)
    }:
        for floor, cells in zip(diagram.floors, diagram.cells, strict=True):
            for cell, low, span in zip(
                cells.tolist(), floor.lowers.tolist(), floor.spans.tolist(), strict=True
            ):
                made.add((kinds[cell], low, span))
                held += span
    check_weights(held, sum(weight_steps(kind, span) for kind, _, span in made), effort)


class WeighedProduct:
    """Sums of the weights of all tables, part by part."""

    def __init__(self, parts: Parts, diagrams: list[Diagram], weights: Weights) -> None:
        self._fixed = parts.fixed
        self._cells = [part.cells for part in parts.parts]
        self._owner = {
            int(cell): (place, within)
            for place, cells in enumerate(self._cells)
            for within, cell in enumerate(cells.tolist())
        }
        shared: dict[tuple[int, object], WeighedDiagram] = {}
        self._factors = []
        for diagram, cells in zip(diagrams, self._cells, strict=True):
            kinds = tuple(weights.kinds[cell] for cell in cells.tolist())
            key = (id(diagram), kinds)
            if key not in shared:
                shared[key] = WeighedDiagram(diagram, kinds, weights)
            self._factors.append(shared[key])
        self.error = max((one.error for one in shared.values()), default=0.0)
        self.log_mass = self._log_mass(weights)
        if self.log_mass == -np.inf:
            raise InvalidInput(
                "the prior gives no weight to any table that fits the release; give positive "
                "weight to cells that the release says are not empty"
            )

    def _log_mass(self, weights: Weights) -> float:
        total = sum(factor.log_mass for factor in self._factors)
        for cell, count in enumerate(self._fixed.tolist()):
            if cell not in self._owner and count:
                total += weights.log_weight(cell, count)
        return float(total)

    def distribution(self, cell: int) -> Distribution:
        """The distribution of the count of one cell."""
        if cell not in self._owner:
            return Distribution(self._fixed[cell : cell + 1].copy(), np.ones(1))
        place, within = self._owner[cell]
        return self._factors[place].distribution(within)

    def mode(self) -> IntArray:
        """A table of largest weight, the first in the order of listing if there are several."""
        counts = self._fixed.copy()
        for factor, cells in zip(self._factors, self._cells, strict=True):
            counts[cells] = factor.mode()
        return counts

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent tables, one in each row."""
        drawn = np.tile(self._fixed, (size, 1))
        for factor, cells in zip(self._factors, self._cells, strict=True):
            drawn[:, cells] = factor.draw(size, rng)
        return drawn
