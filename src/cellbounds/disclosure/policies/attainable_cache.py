"""What can be worked out about the cells of a release, asked for when a rule needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.table import Table
from cellbounds.disclosure.policies.scenarios import margin_of
from cellbounds.errors import TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.model.constraints import violations
from cellbounds.model.effort import Effort
from cellbounds.results import Attainable, Bounds, Evidence, Unbounded, ValueSet
from cellbounds.results.solution import Arrays
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Release

__all__ = ["AttainableCache", "Swapped"]

SHARE = 0.6
"""The part of a budget for whether rows hold somebody."""

Decision = Callable[[ValueSet], bool | None]


class AttainableCache:
    """Attainable counts within a budget: bounds first, every value only where they do not decide.

    `over` are the variables of the margin whose cells are asked about. Bounds are enough for most
    rules and far cheaper on large tables; `sets_first` asks for every value at once, for those who
    want them anyway.
    """

    def __init__(
        self,
        release: Release,
        over: tuple[str, ...],
        effort: Effort,
        *,
        sets_first: bool = False,
    ) -> None:
        self.release = release
        self.over = over
        self.domain = release.domain.project(over)
        self.effort = effort
        self.sets_first = sets_first
        self.notes: list[str] = []
        self._answer: Attainable | None = None
        self._asked = False
        self._ends: tuple[Arrays, Arrays] | None = None
        self._rows: dict[tuple[str, ...], Bounds | None] = {}
        self._coarse: dict[tuple[int, ...], ValueSet] = {}
        self._fine: dict[tuple[int, ...], ValueSet] = {}
        self._start: Table | None = None

    @property
    def answer(self) -> Attainable | None:
        """The attainable counts, asked for once; None if they were refused or there is no time."""
        if not self._asked:
            self._asked = True
            self._answer = self._ask(attainable, 1.0, over=self.over)
            if self.sets_first and self._answer is not None:
                self._answer.gather()
        return self._answer

    @property
    def settled(self) -> bool:
        """Whether the attainable counts were asked for, and all their bounds are attained."""
        return self._answer is not None and self._answer.evidence is Evidence.EXACT

    def decided(self, index: tuple[int, ...], question: Decision) -> tuple[bool | None, ValueSet]:
        """The answer of a question about one cell, and the counts that it rests on."""
        if not self.sets_first:
            values = self._rough(index)
            answer = question(values)
            if answer is not None or values.settled:
                return answer, values
        values = self.values(index)
        return question(values), values

    def held(self, given: tuple[str, ...]) -> npt.NDArray[np.object_]:
        """Whether each row of a margin holds somebody in every table; None where that is open."""
        domain = self.release.domain
        if not given:
            empty = Table.from_cells(domain, np.zeros((0, len(domain.names)), dtype=np.int64), [])
            return np.array(bool(violations(self.release, empty)), dtype=object)
        if given not in self._rows:
            self._rows[given] = self._ask(bounds, SHARE, over=given)
        answer = self._rows[given]
        found = np.full(domain.project(given).shape, None, dtype=object)
        if answer is not None:
            found[np.asarray(answer.attained_lower == 0, dtype=bool)] = False
            found[np.asarray(answer.lower > 0, dtype=bool)] = True
        return found

    def _ask(self, ask: Callable[..., Any], share: float, **question: Any) -> Any:
        effort = self.effort
        left = effort.left
        if left == 0:
            return None
        try:
            return ask(
                self.release,
                seconds=None if left is None else share * left,
                executor=effort.executor,
                start=effort.start,
                progress=effort.progress,
                state=effort.state,
                **question,
            )
        except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
            if str(problem) not in self.notes:
                self.notes.append(str(problem))
            return None

    def _rough(self, index: tuple[int, ...]) -> ValueSet:
        """What the bounds say: their ends are attained, the rest is open."""
        if index not in self._coarse:
            self._coarse[index] = self._between_bounds(index)
        return self._coarse[index]

    @property
    def ends(self) -> tuple[Arrays, Arrays] | None:
        """Proven and attained bounds of every cell; None if they were refused."""
        if self._ends is None and self.answer is not None:
            self._ends = self.answer.ends()
        return self._ends

    def _between_bounds(self, index: tuple[int, ...]) -> ValueSet:
        if self.ends is None:
            return self._nothing(index)
        (lower, upper), attained = self.ends
        ends = (one[index] for one in attained)
        inside = {int(end) for end in ends if end is not None and not isinstance(end, Unbounded)}
        high = upper[index]
        return _open_between(
            int(lower[index]), None if isinstance(high, Unbounded) else int(high), inside
        )

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of a cell, as far as the budget goes."""
        if index not in self._fine:
            answer = self.answer
            self._fine[index] = self._nothing(index) if answer is None else answer.at(index)
        return self._fine[index]

    def _nothing(self, index: tuple[int, ...]) -> ValueSet:
        """Without an answer: only the owner's own table is known to be consistent."""
        if self.effort.start is None:
            return _open_between(0, None, set())
        if self._start is None:
            self._start = margin_of(self.release, self.effort.start, self.over)
        return _open_between(0, None, {int(self._start.counts[index])})


class Swapped:
    """What is known of the cells from within one of them, read off what is from within another.

    The two are alike (see `alike_cells`): swapping them turns one intruder's tables into the
    other's. Rows are not swapped with them, so that questions about rows are his own.
    """

    def __init__(
        self,
        like: AttainableCache | Swapped,
        there: tuple[int, ...],
        here: tuple[int, ...],
        own: AttainableCache,
    ) -> None:
        self.like, self.own = like, own
        self._swaps = {here: there, there: here}

    @property
    def notes(self) -> list[str]:
        """What was refused."""
        return [*self.like.notes, *self.own.notes]

    def decided(self, index: tuple[int, ...], question: Decision) -> tuple[bool | None, ValueSet]:
        """The answer of a question about one cell, and the counts that it rests on."""
        return self.like.decided(self._swaps.get(index, index), question)

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of a cell, as far as the budget goes."""
        return self.like.values(self._swaps.get(index, index))

    def held(self, given: tuple[str, ...]) -> npt.NDArray[np.object_]:
        """Whether each row of a margin holds somebody in every table."""
        return self.own.held(given)


def _open_between(low: int, high: int | None, inside: set[int]) -> ValueSet:
    """A set of which some members are known and the others between two ends are open."""
    unknown: list[tuple[int, int | None, int]] = []
    first = low
    for member in sorted(inside):
        if first < member:
            unknown.append((first, member - 1, 1))
        first = member + 1
    if high is None or first <= high:
        unknown.append((first, high, 1))
    return ValueSet([(member, member, 1) for member in inside], unknown=unknown)
