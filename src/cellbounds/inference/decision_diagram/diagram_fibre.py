"""All tables of a release: the product of its components, each summed over by a diagram."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from cellbounds.errors import InconsistentRelease, InvalidInput, TooMuchWork
from cellbounds.inference.decision_diagram.components import Component, Components, components_of
from cellbounds.inference.decision_diagram.construction import MEMORY, Construction, construct
from cellbounds.inference.decision_diagram.layers import SumsTooWide, transitions_of
from cellbounds.inference.decision_diagram.ordering import best_order
from cellbounds.inference.decision_diagram.paths import AT_ONCE, Diagram, WeightedDiagram
from cellbounds.inference.enumeration import odometer
from cellbounds.inference.protocol import NO_WEIGHT
from cellbounds.model.likelihoods import Factor, Law
from cellbounds.model.priors import AnyKind, Weights, check_weights, weight_steps
from cellbounds.model.structure import Facts
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray

TRIED = 100.0
"""Estimates are often this many times too high; a diagram is tried up to there."""

TRIAL = 5_000_000
"""Steps after which a diagram that seemed hopeless is given up."""

MOST_TRIAL_CELLS = 2_000
"""Cells up to which such a diagram is tried at all."""


def diagram_fibre(
    facts: Facts, effort: float, memory: int = MEMORY, factors: tuple[Factor, ...] = ()
) -> ProductFibre:
    """The tables of any release, if a diagram of each of its components is small enough.

    The diagrams are made here, so that counting is certain to succeed afterwards. Where one does
    not fit the memory its paths are counted all the same; listing and weighing then refuse.

    A sum of cells with a weight of its own (`factors`) is one more cell, which an equation makes
    that sum: it follows from the others, so that there are as many tables as without it.
    """
    release, laws = facts.release, tuple(factor.law for factor in factors)
    try:
        split = components_of(release, tuple(factor.cells for factor in factors))
    except InconsistentRelease as contradiction:
        nothing = Components(np.zeros(release.domain.size, dtype=np.int64), ())
        return ProductFibre(nothing, (), effort, str(contradiction))
    except TooMuchWork as wide:
        raise SumsTooWide(str(wide)) from None
    # In the order of cells, sums stand beside the last of their parts.
    ends = [int(factor.cells[-1]) for factor in factors]
    beside = np.concatenate([np.arange(release.domain.size), np.array(ends, dtype=np.int64)])
    known: dict[bytes, _Factor] = {}
    parts = []
    left = effort
    for component in split.components:
        signature = component.signature
        if signature not in known:
            levels = np.unravel_index(beside[component.cells], release.domain.shape)
            known[signature] = _factor(component, levels, left, memory)
            left -= known[signature][0].steps
        parts.append(known[signature])
    return ProductFibre(split, tuple(parts), effort, laws=laws)


_Factor = tuple[Construction, Diagram | None]
"""One component: what building its diagram came to, and the diagram if there was room for it."""


def _factor(
    component: Component, levels: tuple[IntArray, ...], effort: float, memory: int
) -> _Factor:
    about = component.sums, component.lower, component.upper
    order = best_order(*about, levels)
    hopeless = TooMuchWork(
        f"the diagram of the tables would take about 10^{order.log_steps / np.log(10):.0f} steps, "
        f"above the effort of {effort:.3g}"
    )
    hopeful = order.log_steps <= np.log(TRIED * max(effort, 1.0))
    if not hopeful and len(component.cells) > MOST_TRIAL_CELLS:
        raise hopeless
    try:
        transitions = transitions_of(order.cells, *about)
        # Estimates of long and thin tables are far too high, so a little is tried in any case.
        built = construct(transitions, effort if hopeful else min(effort, TRIAL), memory)
    except TooMuchWork as problem:
        if not hopeful:
            raise hopeless from None
        if isinstance(problem, SumsTooWide):
            raise
        raise TooMuchWork(f"the diagram of the tables is too large: {problem}") from None
    return built, None if built.layers is None else Diagram(order.cells, built.layers)


class ProductFibre:
    """The tables of a release as combinations of the tables of its components.

    Tables are listed component by component (in the order of their first cells), the last one
    changing fastest, and within a component in the order of its diagram.
    """

    name = "diagrams of independent parts"

    def __init__(
        self,
        split: Components,
        factors: tuple[_Factor, ...],
        effort: float,
        contradiction: str = "",
        laws: tuple[Law, ...] = (),
    ) -> None:
        self._laws = laws
        self._fixed, self._effort, self._factors = split.fixed, effort, factors
        self._cells = [component.cells for component in split.components]
        self._count = 0 if contradiction else math.prod(built.paths for built, _ in factors)
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
        for chosen in odometer(len(diagrams), lambda before: diagrams[len(before)].listed()):
            counts = self._fixed.copy()
            for cells, values in zip(self._cells, chosen, strict=True):
                counts[cells] = values
            yield counts[: len(counts) - len(self._laws)]

    def weighted(self, weights: Weights, at_once: int = AT_ONCE) -> WeightedProduct:
        """Sum the weights of all tables (see `Fibre`), so many values of nodes at a time."""
        if not self._count:
            raise InconsistentRelease(self._contradiction)
        edges = sum(built.edges for built, _ in set(self._factors))
        if edges > self._effort:
            raise TooMuchWork(
                f"the tables can be counted, but a sum of their weights takes {edges:.3g} steps, "
                f"above the effort of {self._effort:.3g}; allow more, or ask for a sample"
            )
        every: tuple[AnyKind, ...] = (*weights.kinds, *self._laws)
        kinds = [tuple(every[cell] for cell in cells.tolist()) for cells in self._cells]
        distinct = dict.fromkeys(zip(self._diagrams(), kinds, strict=True))
        _check_weights(distinct, self._effort)
        by_pair = {pair: WeightedDiagram(*pair, weights, at_once) for pair in distinct}
        factors = [by_pair[pair] for pair in zip(self._diagrams(), kinds, strict=True)]
        return WeightedProduct(self._fixed, self._cells, factors, weights, self._laws)

    def _diagrams(self) -> list[Diagram]:
        diagrams = [diagram for _, diagram in self._factors if diagram is not None]
        if len(diagrams) < len(self._factors):
            raise TooMuchWork(
                "the tables can be counted, but their diagram does not fit the memory; "
                "publish more, or ask for a sample"
            )
        return diagrams


def _check_weights(pairs: Iterable[tuple[Diagram, tuple[AnyKind, ...]]], effort: float) -> None:
    """Refuse weights that are too many: there may be few tables of very large counts."""
    sequences: set[tuple[AnyKind, int, int]] = set()
    held = 0
    for diagram, kinds in pairs:
        lows = (low for layer in diagram.layers for low in layer.lowers.tolist())
        spans = [span for layer in diagram.layers for span in layer.spans.tolist()]
        sequences |= set(
            zip((kinds[cell] for cell in diagram.order.tolist()), lows, spans, strict=True)
        )
        held += sum(spans)
    check_weights(held, sum(weight_steps(kind, span) for kind, _, span in sequences), effort)


class WeightedProduct:
    """Sums of the weights of all tables, component by component."""

    def __init__(
        self,
        fixed: IntArray,
        cells: list[IntArray],
        factors: list[WeightedDiagram],
        weights: Weights,
        laws: tuple[Law, ...] = (),
    ) -> None:
        self._fixed, self._cells, self._factors = fixed, cells, factors
        self._size = len(fixed) - len(laws)
        self._owner = {
            cell: (place, within)
            for place, own in enumerate(cells)
            for within, cell in enumerate(own.tolist())
        }
        self.error = max((factor.error for factor in set(factors)), default=0.0)
        self.log_mass = float(
            sum(factor.log_mass for factor in factors)
            + sum(
                weights.log_weight(cell, count)
                for cell, count in enumerate(fixed[: self._size].tolist())
                if cell not in self._owner and count
            )
            + sum(
                law.log(count)
                for cell, (law, count) in enumerate(
                    zip(laws, fixed[self._size :].tolist(), strict=True), start=self._size
                )
                if cell not in self._owner
            )
        )
        if self.log_mass == -np.inf:
            raise InvalidInput(NO_WEIGHT)

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
        return counts[: self._size]

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent tables, one in each row."""
        drawn = np.tile(self._fixed, (size, 1))
        for factor, cells in zip(self._factors, self._cells, strict=True):
            drawn[:, cells] = factor.draw(size, rng)
        return drawn[:, : self._size]
