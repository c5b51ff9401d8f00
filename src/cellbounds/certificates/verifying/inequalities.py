"""What a statement of a certificate says: which tables it allows, which inequalities it implies."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.certificates.verifying import plain
from cellbounds.certificates.verifying.plain import IntArray
from cellbounds.certificates.verifying.space import CellsBehind, Space


@dataclass(frozen=True, slots=True, eq=False)
class Inequality:
    """``coefficients @ x[cells] >= bound``, without a common divisor."""

    cells: IntArray
    coefficients: IntArray
    bound: int


def sum_at_least(cells: IntArray, value: int) -> Inequality:
    """The sum of some cells is `value` or more."""
    return Inequality(cells, np.ones(len(cells), dtype=np.int64), value)


def sum_at_most(cells: IntArray, value: int) -> Inequality:
    """The sum of some cells is `value` or less."""
    return Inequality(cells, -np.ones(len(cells), dtype=np.int64), -value)


def reduced(cells: IntArray, coefficients: Sequence[int], bound: int) -> Inequality:
    """Divide by the common divisor; counts are whole, so the bound may be rounded up."""
    nonzero = [place for place, coefficient in enumerate(coefficients) if coefficient]
    divisor = math.gcd(*coefficients) or 1
    factors = plain.packed([coefficients[place] // divisor for place in nonzero])
    return Inequality(cells[nonzero], factors, -(-bound // divisor))


ENDS = ("lower", "upper", "row", "empty")
"""What a figure may say: a least, a most, that its row holds somebody, or nobody."""


@dataclass(frozen=True, eq=False)
class Statement(ABC):
    """What a statement says of the figures of a margin; the digest is made of its `meaning`."""

    title: str
    meaning: Any
    space: Space
    names: tuple[str, ...]

    @property
    def behind(self) -> CellsBehind:
        """The cells behind each figure."""
        return self.space.behind(self.names)

    @abstractmethod
    def broken(self, counts: IntArray, *, ray: bool = False) -> int | None:
        """The first figure that a table contradicts, or that a ray leaves in the long run."""

    @abstractmethod
    def inequality(self, figure: int, end: str) -> Inequality | None:
        """What one end of one figure says; None if there is no such figure, or it says nothing."""

    def inequalities(self) -> Iterator[Inequality]:
        """Everything that says more than that counts are not negative."""
        for figure, end in itertools.product(range(self.behind.size), ENDS):
            made = self.inequality(figure, end)
            if made is not None and (made.bound > 0 or (made.coefficients < 0).any()):
                yield made

    def words(self, figure: int) -> str:
        """A figure for people."""
        place = f" at {self.space.words(self.names, figure)}" if self.names else ""
        return f"{self.title}{place}"
