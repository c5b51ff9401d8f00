"""What every method looks like to the chooser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from cellbounds.results.evidence import Evidence
from cellbounds.results.values import ValueSet
from cellbounds.structure import Facts
from cellbounds.table import Table

__all__ = ["Method", "Question", "Worked"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about a release: which kind of bounds, over which variables."""

    kind: str
    over: tuple[str, ...]


class Worked(Protocol):
    """A method at work on one release and question."""

    evidence: Evidence

    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Lower and upper bounds in the shape of the cells asked for."""
        ...

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of one cell."""
        ...

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`."""
        ...


class Method(Protocol):
    """One mathematics: answers the releases and questions that fit it."""

    name: str

    def refusal(self, facts: Facts, question: Question) -> str | None:
        """Why the method does not apply, or None if it does."""
        ...

    def work(self, facts: Facts, question: Question) -> Worked:
        """Set to work on a question that was not refused."""
        ...
