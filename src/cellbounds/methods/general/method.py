"""Any release: sharp bounds as far as the effort goes, and exact linear ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.constraints import NO_UPPER, compile_release
from cellbounds.errors import TooMuchWork
from cellbounds.methods.general.asked import asked_about
from cellbounds.methods.general.exact import ExactProgram
from cellbounds.methods.general.problem import raw_problem
from cellbounds.methods.general.search import Proof, Search
from cellbounds.methods.general.settling import begun, passes, settle_all, settle_one
from cellbounds.methods.general.values import SumValues, values_of
from cellbounds.methods.protocol import Arrays, Question, RelaxedWork
from cellbounds.methods.witnessing import checked
from cellbounds.releases import Release
from cellbounds.results.evidence import Evidence
from cellbounds.results.values import UNBOUNDED, ValueSet
from cellbounds.structure import Facts
from cellbounds.table import Table

__all__ = ["GeneralLinear", "GeneralSharp"]

MOST_CELLS = 5_000_000
"""Cells of the largest domain that is laid out in full."""


def _too_large(facts: Facts) -> str | None:
    size = facts.release.domain.size
    if size > MOST_CELLS:
        return f"the domain has {size} cells; this method lays out at most {MOST_CELLS}"
    return None


class GeneralSharp:
    """Propagation, linear programs with safe dual bounds, integer walks, integer programs."""

    name = "integer search"

    def refusal(self, facts: Facts, question: Question) -> str | None:
        """Takes every release that fits into memory."""
        if question.kind != "sharp":
            return "gives sharp bounds only"
        return _too_large(facts)

    def work(self, facts: Facts, question: Question) -> GeneralAnswers:
        """Compile and propagate; the rest follows when asked for."""
        return GeneralAnswers(facts.release, question)


class GeneralAnswers:
    """Answers of a search that goes on as more is asked for."""

    def __init__(self, release: Release, question: Question) -> None:
        self._release = release
        self._question = question
        self._shape = tuple(len(release.domain.levels(name)) for name in question.over)
        self._search = Search(release, question.over)
        self._all = False
        self._values: dict[int, SumValues] = {}

    @property
    def search(self) -> Search:
        """The search, for those who want to know how it went."""
        return self._search

    def settle(self) -> None:
        """Settle every bound as far as the effort goes."""
        if not self._all:
            settle_all(self._search, self._question.effort.for_bounds)
            self._all = True

    def bounds(self) -> Arrays:
        """Proven bounds in the shape of the cells asked for."""
        self.settle()
        search = self._search
        high = self._plain(np.where(search.endless, NO_UPPER, search.high))
        return search.low.reshape(self._shape).copy(), high

    def _plain(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        open_top = values == NO_UPPER
        if open_top.any():
            values = values.astype(object)
            values[open_top] = UNBOUNDED
        return values.reshape(self._shape).copy()

    @property
    def evidence(self) -> Evidence:
        """EXACT once every bound is attained."""
        low, high = self._search.open_bounds()
        return Evidence.OUTER if low.any() or high.any() else Evidence.EXACT

    def attained(self) -> Arrays | None:
        """What the tables found attain."""
        self.bounds()
        search = self._search
        if self.evidence is Evidence.EXACT:
            return None
        if not len(search.pool):
            nothing = np.full(self._shape, None, dtype=object)
            return nothing, nothing.copy()
        high = self._plain(np.where(search.endless, NO_UPPER, search.pool.most))
        return search.pool.least.reshape(self._shape).copy(), high

    def _place(self, index: tuple[int, ...]) -> int:
        return int(np.ravel_multi_index(index, self._shape)) if self._shape else 0

    def bound(self, index: tuple[int, ...], side: int) -> Any:
        """One bound, or None if the effort did not settle it."""
        place = self._place(index)
        if not self._search.settled(place, side):
            settle_one(self._search, place, side, self._question.effort)
        if not self._search.settled(place, side):
            return None
        if side == 1 and self._search.endless[place]:
            return UNBOUNDED
        return int((self._search.high if side else self._search.low)[place])

    def possible(self) -> bool | None:
        """Whether a table was found."""
        return begun(self._search, self._question.effort) or None

    def forces(self, index: tuple[int, ...], side: int, value: int) -> bool | None:
        """Whether nothing beyond a value is attainable, by the cheapest proof or table."""
        return passes(self._search, (self._place(index), side), value)

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of one cell."""
        return self._sum_values(self._place(index)).values

    def _sum_values(self, place: int) -> SumValues:
        if place not in self._values:
            self._values[place] = values_of(self._search, place, self._question.effort)
        return self._values[place]

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        place = self._place(index)
        counts = self._counts_with(place, value)
        table = Table(self._release.domain, counts.reshape(self._release.domain.shape))
        return checked(self._release, table, self._question.over, index, value)

    def _counts_with(self, place: int, value: int) -> npt.NDArray[Any]:
        search = self._search
        if len(search.pool):
            for side, reached in ((0, search.pool.least), (1, search.pool.most)):
                if reached[place] == value:
                    return search.pool.nearest(place, side)
        counts = self._sum_values(place).table_with(value)
        if counts is None:
            raise TooMuchWork(
                "no table with this count was found within the budget; give more seconds"
            )
        return counts

    def proof(self, index: tuple[int, ...], side: int) -> str:
        """What proved the bound."""
        return Proof.NAMES[int(self._search.proofs[side, self._place(index)])]


class GeneralLinear:
    """The linear relaxation of any release, in exact fractions."""

    name = "exact linear programs"

    def refusal(self, facts: Facts, question: Question) -> str | None:
        """Takes every release that fits into memory."""
        if question.kind != "linear":
            return "gives linear bounds only"
        return _too_large(facts)

    def work(self, facts: Facts, question: Question) -> LinearAnswers:
        """Set up the relaxation."""
        return LinearAnswers(facts.release, question)


class LinearAnswers(RelaxedWork):
    """Exact optima of the relaxation."""

    def __init__(self, release: Release, question: Question) -> None:
        self._shape = tuple(len(release.domain.levels(name)) for name in question.over)
        self._asked = asked_about(release.domain, question.over)
        self._size = release.domain.size
        self._effort = question.effort
        self._program = ExactProgram(raw_problem(compile_release(release, closed=True), self._size))

    def bounds(self) -> Arrays:
        """Lower and upper bounds as fractions."""
        lower = np.empty(self._asked.size, dtype=object)
        upper = np.empty(self._asked.size, dtype=object)
        for place in range(self._asked.size):
            if self._effort.spent:
                raise TooMuchWork(
                    f"exact linear bounds of {place} of {self._asked.size} cells were found within "
                    "the budget; give more seconds, or ask for kind='sharp'"
                )
            weights = np.zeros(self._size, dtype=np.int64)
            np.add.at(weights, self._asked.members(place), 1)
            low, high = self._program.least(weights), self._program.least(-weights)
            lower[place] = Fraction(0) if low is None else low
            upper[place] = UNBOUNDED if high is None else -high
            self._effort.say(place + 1, self._asked.size)
        return lower.reshape(self._shape), upper.reshape(self._shape)
