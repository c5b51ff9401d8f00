"""The parts of a split release, from the leaves up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cellbounds.errors import CellboundsError
from cellbounds.reductions.decomposition.cells import Where
from cellbounds.reductions.decomposition.tables import Listed, Named, Target, glued, listed, summed
from cellbounds.results.cell_index import CellIndex
from cellbounds.results.solution import Arrays, Solution
from cellbounds.results.values import Unbounded, ValueSet

__all__ = ["Answered", "Both", "KnownPart", "OneSide", "Part"]


class Part(Protocol):
    """Some variables of a release, and what can be said of the needed ones among them.

    `names` are the variables that values are over; tables are over `variables`. Both in the order
    of the domain. Bounds come laid out for where the question looks.
    """

    names: tuple[str, ...]
    variables: tuple[str, ...]

    def bounds(self, where: Where) -> Arrays:
        """Proven bounds where the question looks."""
        ...

    def attained(self, where: Where) -> Arrays:
        """Attained bounds where the question looks; None where no table is known."""
        ...

    def bound(self, at: dict[str, int], side: int, *, attained: bool = False) -> Any:
        """One bound, proven or attained; None if it is not known."""
        ...

    def values(self, at: dict[str, int]) -> ValueSet:
        """Every attainable count of one cell over `names`."""
        ...

    def table(self, target: Target | None) -> Listed:
        """A table over `variables`, with the target's count if there is one."""
        ...

    def possible(self) -> bool | None:
        """Whether there is a table; None if that was not settled.

        Raises InconsistentRelease if there is none.
        """
        ...

    def answered(self) -> Iterator[Answered]:
        """The parts that the bounds rest on besides published counts."""
        ...


class KnownPart:
    """Variables whose counts are published: nothing is left open."""

    def __init__(self, table: Named, names: tuple[str, ...]) -> None:
        self._table = table
        self.names, self.variables = names, table.names
        self._counts = summed(table, names).array

    def bounds(self, where: Where) -> Arrays:
        """The counts themselves."""
        counts = where.laid_out(Named(self.names, self._counts))
        return counts, counts

    attained = bounds

    def bound(self, at: dict[str, int], side: int, *, attained: bool = False) -> int:
        """The count itself, on either side, and attained."""
        del side, attained
        return int(self._counts[tuple(at[name] for name in self.names)])

    def values(self, at: dict[str, int]) -> ValueSet:
        """The count itself."""
        return ValueSet.from_values([self.bound(at, 0)])

    def table(self, target: Target | None) -> Listed:
        """The published table; no other count can be aimed at than its own."""
        assert target is None or target.value == self.bound(target.at, 0)
        return listed(self._table)

    def possible(self) -> bool:
        """There is the published one."""
        return True

    def answered(self) -> Iterator[Answered]:
        """None: there is nothing but the published counts."""
        return iter(())


class Answered:
    """Variables that another method answered for: all cells of their margin, or some."""

    def __init__(
        self,
        worked: Solution,
        names: tuple[str, ...],
        variables: tuple[str, ...],
        places: CellIndex,
    ) -> None:
        self._worked = worked
        self.names, self.variables = names, variables
        self._places = places
        self._bounds: Arrays | None = None

    def _proven(self) -> Arrays:
        if self._bounds is None:
            self._bounds = self._worked.bounds()
        return self._bounds

    def bounds(self, where: Where) -> Arrays:
        """The other method's bounds."""
        low, high = self._proven()
        return where.back(low, self.names), where.back(high, self.names)

    def attained(self, where: Where) -> Arrays:
        """What the other method has tables for."""
        low, high = self._worked.attained() or self._proven()
        return where.back(low, self.names), where.back(high, self.names)

    def bound(self, at: dict[str, int], side: int, *, attained: bool = False) -> Any:
        """One bound of the other method."""
        index = tuple(at[name] for name in self.names)
        settled = self._worked.bound(index, side)
        if settled is not None:
            return settled
        found = self._proven()
        if attained:
            found = self._worked.attained() or found
        return found[side][self._places.spot(index)]

    def values(self, at: dict[str, int]) -> ValueSet:
        """The other method's values."""
        return self._worked.values(tuple(at[name] for name in self.names))

    def table(self, target: Target | None) -> Listed:
        """A witness of the other method."""
        if target is not None:
            return self._listed(tuple(target.at[name] for name in self.names), target.value)
        index = (0,) * len(self.names)
        value = self.bound(dict.fromkeys(self.names, 0), 0, attained=True)
        if value is None:
            raise CellboundsError("a part of the release has no table yet; give more seconds")
        return self._listed(index, int(value))

    def _listed(self, index: tuple[int, ...], value: int) -> Listed:
        places, counts = self._worked.witness(index, value).cells()
        return Listed(self.variables, tuple(places.T), counts)

    def possible(self) -> bool | None:
        """Whether the other method has a table."""
        return self._worked.possible()

    def answered(self) -> Iterator[Answered]:
        """This part."""
        yield self

    def proof(self, at: dict[str, int], side: int) -> str:
        """The other method's proof of a bound."""
        return self._worked.proof(tuple(at[name] for name in self.names), side)


class OneSide:
    """Two parts of which only one matters for what is asked; the other only completes tables."""

    def __init__(self, asked: Part, other: Part, order: tuple[str, ...]) -> None:
        self._asked, self._other = asked, other
        self.names = asked.names
        self.variables = _ordered(order, asked.variables, other.variables)
        self.bounds, self.answered = asked.bounds, asked.answered
        # Nothing holds of a release of which one part is impossible.
        self._completes = other.possible()

    def possible(self) -> bool | None:
        """Whether both parts have a table."""
        asked = self._asked.possible()
        return self._completes and asked

    def bound(self, at: dict[str, int], side: int, *, attained: bool = False) -> Any:
        """The asked part's bound; nothing is attained while the other part has no table."""
        if attained and not self._completes:
            return None
        return self._asked.bound(at, side, attained=attained)

    def values(self, at: dict[str, int]) -> ValueSet:
        """The asked part's values; none is known while the other part has no table."""
        values = self._asked.values(at)
        if self._completes:
            return values
        return ValueSet([], unknown=[*values.progressions, *values.unknown])

    def attained(self, where: Where) -> Arrays:
        """What the asked part attains, if the other is known to have a table."""
        if self._completes:
            return self._asked.attained(where)
        nothing = np.full(self.bounds(where)[0].shape, None, dtype=object)
        return nothing, nothing.copy()

    def table(self, target: Target | None) -> Listed:
        """The asked part's table, completed."""
        return glued(self._asked.table(target), self._other.table(None), self.variables)


class Both:
    """Two parts that are both asked about, sharing variables whose counts are known.

    A cell of the whole lies between ``max(0, y1 + y2 - n)`` and ``min(y1, y2)`` if its sums in
    the two parts are y1 and y2 and n people share its border; every count between is attained.
    """

    def __init__(self, left: Part, right: Part, border: Named, order: tuple[str, ...]) -> None:
        self._left, self._right, self._border = left, right, border
        self.names = _ordered(order, left.names, right.names)
        self.variables = _ordered(order, left.variables, right.variables)
        self._settled: dict[tuple[int, ...], ValueSet] = {}

    def bounds(self, where: Where) -> Arrays:
        """Both parts' bounds combined."""
        return self._combined(self._left.bounds(where), self._right.bounds(where), where)

    def attained(self, where: Where) -> Arrays:
        """Both parts' attained counts combined: their tables can be glued."""
        return self._combined(self._left.attained(where), self._right.attained(where), where)

    def _combined(self, ours: Arrays, theirs: Arrays, where: Where) -> Arrays:
        lows, highs = (ours[0], theirs[0]), (ours[1], theirs[1])
        count = where.laid_out(self._border)
        if any(array.dtype == object for array in (*lows, *highs)):
            return _combined_slowly(lows, highs, count)
        return np.maximum(lows[0] + lows[1] - count, 0), np.minimum(*highs)

    def _shared(self, at: dict[str, int]) -> int:
        return int(self._border.array[tuple(at[name] for name in self._border.names)])

    def bound(self, at: dict[str, int], side: int, *, attained: bool = False) -> Any:
        """One bound from the two parts' bounds."""
        found = [part.bound(at, side, attained=attained) for part in (self._left, self._right)]
        if any(one is None for one in found):
            return None
        if side == 1:
            return min(found)
        return max(0, int(found[0]) + int(found[1]) - self._shared(at))

    def values(self, at: dict[str, int]) -> ValueSet:
        """The union over the two parts' values; from run to run it has no gaps inside."""
        # Many cells of the whole share one of a part.
        place = tuple(at[name] for name in self.names)
        if place not in self._settled:
            found = self._united(at)
            if not found.settled:
                return found
            self._settled[place] = found
        return self._settled[place]

    def _united(self, at: dict[str, int]) -> ValueSet:
        count = self._shared(at)

        def united(ours: ValueSet, theirs: ValueSet) -> ValueSet:
            return ValueSet.from_intervals(
                (max(0, a + c - count), min(b, d))
                for (a, b), (c, d) in itertools.product(_runs(ours), _runs(theirs))
            )

        ours, theirs = self._left.values(at), self._right.values(at)
        known = united(ours.known, theirs.known)
        if ours.settled and theirs.settled:
            return known
        possible = united(_hull(ours), _hull(theirs))
        return ValueSet(known.progressions, unknown=_without(possible, known))

    def table(self, target: Target | None) -> Listed:
        """Tables of both parts, glued so that the target is met."""
        if target is None:
            return glued(self._left.table(None), self._right.table(None), self.variables)
        ours, theirs = self._split(target)
        return glued(
            self._left.table(Target(target.at, ours)),
            self._right.table(Target(target.at, theirs)),
            self.variables,
            target,
        )

    def _split(self, target: Target) -> tuple[int, int]:
        """Counts of the two parts between which the target lies."""
        count, value = self._shared(target.at), target.value
        ours, theirs = self._left.values(target.at).known, self._right.values(target.at).known
        for (a, b), (c, d) in itertools.product(_runs(ours), _runs(theirs)):
            if max(0, a + c - count) <= value <= min(b, d):
                return max(a, value), max(c, value)
        raise CellboundsError("a count that was found attainable has no parts; please report this")

    def possible(self) -> bool | None:
        """Whether both parts have a table."""
        ours, theirs = self._left.possible(), self._right.possible()
        return ours and theirs

    def answered(self) -> Iterator[Answered]:
        """What both parts rest on."""
        yield from self._left.answered()
        yield from self._right.answered()


def _ordered(order: tuple[str, ...], *names: tuple[str, ...]) -> tuple[str, ...]:
    found = set().union(*names)
    return tuple(name for name in order if name in found)


def _runs(values: ValueSet) -> list[tuple[int, int]]:
    """Runs of a set that ends: a part's counts are at most what its border holds."""
    return [(first, last) for first, last in values.runs if last is not None]


def _hull(values: ValueSet) -> ValueSet:
    """Everything known or unknown, as runs."""
    return ValueSet.from_intervals(
        (first, last) for one in (values.progressions, values.unknown) for first, last, _ in one
    )


def _without(all_of_them: ValueSet, known: ValueSet) -> list[tuple[int, int | None, int]]:
    """Runs of the first set outside the second."""
    left: list[tuple[int, int | None, int]] = []
    for first, last in _runs(all_of_them):
        start = first
        for a, b in _runs(known):
            if b < start or a > last:
                continue
            if a > start:
                left.append((start, a - 1, 1))
            start = b + 1
        if start <= last:
            left.append((start, last, 1))
    return left


def _combined_slowly(lows: Any, highs: Any, count: npt.NDArray[Any]) -> Arrays:
    """The same for arrays that hold None (no table known) or very large numbers."""

    def low(a: Any, b: Any, n: Any) -> Any:
        return None if a is None or b is None else max(0, int(a) + int(b) - int(n))

    def high(a: Any, b: Any) -> Any:
        if a is None or b is None:
            return None
        least = min(a, b)
        return least if isinstance(least, Unbounded) else int(least)

    return (
        np.asarray(np.frompyfunc(low, 3, 1)(*lows, count)),
        np.asarray(np.frompyfunc(high, 2, 1)(*highs)),
    )
