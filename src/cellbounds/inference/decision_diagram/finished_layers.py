"""The layers of a finished diagram."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cellbounds.runtime.arrays import IntArray

__all__ = ["Floor"]


class Floor(NamedTuple):
    """One layer of a finished diagram: nodes before a cell is placed, and where its values lead.

    Attributes
    ----------
    lowers, spans
        The smallest value of the cell, and how many it has; then those of cells placed with it.
    slopes
        What one more in the cell adds to itself, and to each of the cells placed with it.
    step
        1; or 0 if all values lead to the same place.
    firsts
        The first values of each node, above the smallest ones.
    sizes
        How many values each node has; one without any does not lead to the end.
    goals
        The place that the first value leads to; the others lead to the places that follow.
    numbers
        The node of the next layer at each place (-1: none); empty if they are the same.
    """

    lowers: IntArray
    spans: IntArray
    slopes: IntArray
    step: int
    firsts: IntArray
    sizes: IntArray
    goals: IntArray
    numbers: IntArray

    @property
    def nbytes(self) -> int:
        """Bytes taken."""
        arrays = (self.firsts, self.sizes, self.goals, self.numbers)
        return sum(int(one.nbytes) for one in arrays)

    def values(self, node: int, turn: int) -> IntArray:
        """The counts of the cells placed when a node takes a turn."""
        return np.asarray(self.lowers + self.firsts[node] + self.slopes * turn)
