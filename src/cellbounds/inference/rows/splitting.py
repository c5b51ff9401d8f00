"""Weights of a summed cell from the weights of its parts, and of the parts given their sum."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from cellbounds.inference.rows.lines import PartRange
from cellbounds.inference.rows.magnitudes import kernel_ready, masked, one_alone
from cellbounds.inference.rows.products import ROUNDINGS, product, product_steps
from cellbounds.inference.rows.work import check_work
from cellbounds.model.priors import MOST_WEIGHTS, Kind, Weights
from cellbounds.runtime.scaled_floats import ScaledFloats

__all__ = ["SummedCell"]


@dataclass(frozen=True, eq=False)
class SummedCell:
    """One cell of the statement: the cells of the table behind it, and what is known of them.

    Sequences are over the counts 0 to `most` and count the parts in every way that adds up.
    """

    weights: Weights
    cells: tuple[int, ...]
    ranges: tuple[PartRange, ...] | None
    effort: float
    _made: dict[object, ScaledFloats] = field(default_factory=dict)

    @property
    def key(self) -> tuple[tuple[Kind, ...], tuple[PartRange, ...] | None]:
        """What tells summed cells apart."""
        return tuple(self.weights.kinds[cell] for cell in self.cells), self.ranges

    @property
    def uniform(self) -> bool:
        """Whether all its parts weigh 1 whatever they hold."""
        return all(one == (Fraction(1), Fraction(1)) for one in self.key[0])

    @property
    def sequences(self) -> int:
        """How many sequences its own is made of."""
        closed = len(self.cells) == 1 or self._kind(self.cells) is not None
        return 1 if closed else 2 * len(self.cells)

    @property
    def roundings(self) -> int:
        """The relative error of its sequences, in units."""
        if len(self.cells) == 1 or self._kind(self.cells) is not None:
            return 1
        return len(self.cells) * (ROUNDINGS + 1)

    def _kind(self, cells: tuple[int, ...]) -> Kind | None:
        """The kind of the sum of some parts, if it is of one kind and nothing limits them."""
        return None if self.ranges is not None or not cells else self.weights.merged(cells)

    def _closed(self, kind: Kind, most: int) -> ScaledFloats:
        """The weights of one kind; rounding lengths up makes cells share their sequences."""
        found = self.weights.sequence_of(kind, _rounded_up(most))
        return kernel_ready(ScaledFloats(found.mantissa[: most + 1], found.exponent[: most + 1]))

    def sequence(self, most: int) -> ScaledFloats:
        """The weights of the summed cell."""
        return self.after(-1, most)

    def part(self, place: int, most: int) -> ScaledFloats:
        """The weights of one part."""
        found = self._closed(self.weights.kinds[self.cells[place]], most)
        if self.ranges is None:
            return found
        return masked(found, self.ranges[place].mask(most))

    def after(self, place: int, most: int) -> ScaledFloats:
        """The weights of the sum of all parts after one."""
        return self._combined("after", place, most)

    def rest(self, place: int, most: int) -> ScaledFloats:
        """The weights of the sum of all parts but one."""
        kind = self._kind(self.cells[:place] + self.cells[place + 1 :])
        if kind is not None:
            return self._closed(kind, most)
        return _convolved(
            self._combined("before", place, most), self.after(place, most), self.effort
        )

    def best_after(self, place: int, most: int) -> ScaledFloats:
        """The largest weight of all parts after one, for every sum of theirs."""
        return self._combined("best", place, most)

    def _combined(self, how: str, place: int, most: int) -> ScaledFloats:
        """Sums (or the largest) over the parts before or after one, one part more at a time."""
        chosen = self.cells[:place] if how == "before" else self.cells[place + 1 :]
        kind = None if how == "best" else self._kind(chosen)
        if kind is not None:
            return self._closed(kind, most)
        step = 1 if how == "before" else -1
        far = 0 if how == "before" else len(self.cells) - 1
        found = self._made.setdefault((how, far, most), one_alone(most))
        for at in range(far, place, step):
            key = (how, at + step, most)
            if key not in self._made:
                one = self.part(at, most)
                if at != far:
                    one = (_largest if how == "best" else _convolved)(one, found, self.effort)
                self._made[key] = one
            found = self._made[key]
        return found


def _rounded_up(most: int) -> int:
    """The next length that cells share, unless there is no room for it."""
    return max(most, min((1 << most.bit_length()) - 1, MOST_WEIGHTS - 1))


def _convolved(left: ScaledFloats, right: ScaledFloats, effort: float) -> ScaledFloats:
    check_work(product_steps(len(left.mantissa)), effort, "summing over the parts of a cell")
    return product(left, right)


def _largest(left: ScaledFloats, right: ScaledFloats, effort: float) -> ScaledFloats:
    from cellbounds.inference.rows.choice_kernel import best_pairs

    size = len(left.mantissa)
    check_work(size**2 / 2, effort, "splitting a cell in the most likely way")
    return ScaledFloats(*best_pairs(np.arange(size), *left, *right))
