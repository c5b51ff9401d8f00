"""The state of a search for a pattern on disk, so that a search that was stopped goes on.

Between two states of it a search depends on the first of them alone: its linear program is made
anew there, whether it was stopped or not. So it ends with the same pattern.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.disclosure.protecting.suppression_problem import SuppressionProblem
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.checkpoints import Checkpoint, Purpose, damaged
from cellbounds.version import __version__

SEARCH = Purpose(
    "a search for a pattern",
    "cellbounds-pattern/1",
    (("problem", "the state of a search about another table, or with other wishes"),),
)

ROWS, STATE = "inequalities", "state"

Row = tuple[IntArray, IntArray, int]

Node = tuple[int, dict[int, int]]
"""A lower bound below a node, and the variables that are chosen there."""


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """What a search has come to.

    Attributes
    ----------
    phase
        Whether the whole is searched first (0), neighbourhoods are (1), or the whole again (2).
    hidden
        The best pattern.
    nodes, steps, order, saved
        How much was searched, and when that is written down next.
    heap
        The nodes that wait: bound, order, choices.
    at, rounds
        The node that is worked on, and the rounds of inequalities there.
    tried, spent
        Of neighbourhoods: the cells that were in the middle of one, and the steps taken.
    """

    phase: int
    hidden: BoolArray
    nodes: int = 0
    steps: int = 0
    order: int = 0
    saved: int = 0
    heap: tuple[tuple[int, int, dict[int, int]], ...] = ()
    at: Node | None = None
    rounds: int = 0
    tried: tuple[int, ...] = ()
    spent: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        at = None if self.at is None else [self.at[0], list(self.at[1].items())]
        return {
            "phase": self.phase,
            "hidden": np.flatnonzero(self.hidden).tolist(),
            "counters": [self.nodes, self.steps, self.order, self.saved, self.rounds, self.spent],
            "heap": [[bound, order, list(chosen.items())] for bound, order, chosen in self.heap],
            "at": at,
            "tried": list(self.tried),
        }

    @classmethod
    def of(cls, said: dict[str, Any], size: int) -> Searched:
        """From plain values, about a problem with so many cells."""
        hidden = np.zeros(size, dtype=bool)
        hidden[said["hidden"]] = True
        nodes, steps, order, saved, rounds, spent = said["counters"]
        return cls(
            phase=said["phase"],
            hidden=hidden,
            nodes=nodes,
            steps=steps,
            order=order,
            saved=saved,
            heap=tuple((bound, place, dict(chosen)) for bound, place, chosen in said["heap"]),
            at=None if said["at"] is None else (said["at"][0], dict(said["at"][1])),
            rounds=rounds,
            tried=tuple(said["tried"]),
            spent=spent,
        )


class SearchState:
    """A file with what a search has come to; made if it is not there.

    Attributes
    ----------
    last
        The newest state in it; None if there is none.
    rows
        The inequalities that were found by then.
    """

    def __init__(self, path: str | Path, problem: SuppressionProblem, steps: int) -> None:
        header = {
            "format": SEARCH.format,
            "version": __version__,
            "problem": _digest(problem, steps),
        }
        self._checkpoint = Checkpoint(path, header, SEARCH)
        self.last: Searched | None = None
        self.rows: list[Row] = []
        try:
            found = list(self._checkpoint.entries(STATE))
            listed = [row for one in self._checkpoint.entries(ROWS) for row in one["rows"]]
            if found:
                self.last = Searched.of(found[-1], len(problem.counts))
                self.rows = [_row(one) for one in listed[: found[-1]["rows"]]]
            self._kept = len(listed)
        except (KeyError, IndexError, TypeError, ValueError):
            self.close()
            raise damaged(self._checkpoint.path, "an entry") from None

    def keep(self, searched: Searched, rows: list[Row]) -> None:
        """Write down what was found."""
        new = [[columns.tolist(), values.tolist(), least] for columns, values, least in rows]
        if len(rows) > self._kept:
            self._checkpoint.add(ROWS, {"rows": new[self._kept :]})
            self._kept = len(rows)
        self._checkpoint.add(STATE, {**searched.to_dict(), "rows": len(rows)})

    def close(self) -> None:
        """Give the file free."""
        self._checkpoint.close()


def _row(said: list[Any]) -> Row:
    columns, values, least = said
    return np.array(columns, dtype=np.int64), np.array(values, dtype=np.int64), int(least)


def _digest(problem: SuppressionProblem, steps: int) -> str:
    digest = hashlib.sha256()
    arrays = problem.counts, problem.least, problem.most, problem.costs
    for numbers in (*arrays, problem.forced, problem.fixed):
        digest.update(np.ascontiguousarray(numbers, dtype=np.int64).tobytes() + b"|")
    ties = [(total, list(map(int, parts))) for total, parts in problem.equations]
    asked = [(one.cell, one.above, one.below, one.width) for one in problem.levels]
    digest.update(repr((ties, asked, steps)).encode())
    return digest.hexdigest()
