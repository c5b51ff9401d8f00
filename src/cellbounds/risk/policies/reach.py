"""What can be worked out about the cells of a release, asked for when a rule needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.constraints import violations
from cellbounds.errors import TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.methods.effort import Effort
from cellbounds.releases import Release
from cellbounds.results import Attainable, Bounds, Unbounded, ValueSet
from cellbounds.solve import attainable, bounds
from cellbounds.table import Table

__all__ = ["Reach"]

SHARE = 0.6
"""The part of a budget for bounds when attainable counts may have to follow."""

Question = Callable[[ValueSet], bool | None]


class Reach:
    """Attainable counts within a budget: bounds first, every value only where they do not decide.

    Bounds are enough for most rules and far cheaper on large tables, so `sets_first` is for
    policies that count values anyway.
    """

    def __init__(self, release: Release, effort: Effort, *, sets_first: bool = False) -> None:
        self.release = release
        self.effort = effort
        self.sets_first = sets_first
        self.notes: list[str] = []
        self._bounds: dict[tuple[str, ...], Bounds | None] = {}
        self._sets: Attainable | None = None
        self._asked_sets = False
        self._fine: dict[tuple[int, ...], ValueSet] = {}

    def decided(self, index: tuple[int, ...], question: Question) -> tuple[bool | None, ValueSet]:
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
            empty = Table(domain, np.zeros(domain.shape, dtype=np.int64))
            return np.array(bool(violations(self.release, empty)), dtype=object)
        answer = self._bounded(given)
        found = np.full(domain.project(given).shape, None, dtype=object)
        if answer is not None:
            found[np.asarray(answer.attained_lower == 0, dtype=bool)] = False
            found[np.asarray(answer.lower > 0, dtype=bool)] = True
        return found

    def _bounded(self, over: tuple[str, ...]) -> Bounds | None:
        if over not in self._bounds:
            self._bounds[over] = self._ask(bounds, SHARE, over=over)
        return self._bounds[over]

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
                **question,
            )
        except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
            if str(problem) not in self.notes:
                self.notes.append(str(problem))
            return None

    def _rough(self, index: tuple[int, ...]) -> ValueSet:
        """What the bounds say: their ends are attained, the rest is open."""
        answer = self._bounded(self.release.domain.names)
        if answer is None:
            return self._nothing(index)
        low, high = int(answer.lower[index]), answer.upper[index]
        inside = {
            int(end)
            for end in (answer.attained_lower[index], answer.attained_upper[index])
            if end is not None and not isinstance(end, Unbounded)
        }
        return _open_between(low, None if isinstance(high, Unbounded) else int(high), inside)

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of a cell, as far as the budget goes."""
        if not self._asked_sets:
            self._asked_sets = True
            self._sets = self._ask(attainable, 1.0)
        if index not in self._fine:
            self._fine[index] = (
                self._nothing(index)
                if self._sets is None
                else self._sets[self.release.domain.labels(index)]
            )
        return self._fine[index]

    def _nothing(self, index: tuple[int, ...]) -> ValueSet:
        """Without an answer: only the owner's own table is known to be consistent."""
        start = self.effort.start
        return _open_between(0, None, set() if start is None else {int(start.counts[index])})


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
