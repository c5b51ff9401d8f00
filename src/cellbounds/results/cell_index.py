"""Which cells a question is about: all those of a margin, or some of them, named by their labels.

Cells are told apart by their *position*: the place of a level on each variable of the margin.
Answers are arrays with a *spot* for each cell asked about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain, Label
from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.arrays import IntArray
from cellbounds.statements import Release
from cellbounds.statements.notation import names_text

Position = tuple[int, ...]


@dataclass(frozen=True)
class CellIndex:
    """Every cell of a margin, or those that were chosen, each once.

    The answer has the margin's shape, or one axis in the order in which cells were chosen.
    """

    margin: tuple[int, ...] = ()
    chosen: tuple[Position, ...] | None = None

    @cached_property
    def _numbers(self) -> dict[Position, int]:
        return {position: number for number, position in enumerate(self.chosen or ())}

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answer."""
        return self.margin if self.chosen is None else (len(self.chosen),)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    def columns(self) -> list[IntArray]:
        """The positions of the chosen cells on each variable of the margin."""
        return list(np.array(self.chosen, dtype=np.int64).T)

    def __contains__(self, position: Position) -> bool:
        return self.chosen is None or position in self._numbers

    def __iter__(self) -> Iterator[Position]:
        return np.ndindex(*self.margin) if self.chosen is None else iter(self.chosen)

    def spot(self, position: Position) -> Position:
        """Where a cell is in the answer."""
        return position if self.chosen is None else (self._numbers[position],)

    def position(self, spot: Position) -> Position:
        """Which cell is at a spot of the answer."""
        return spot if self.chosen is None else self.chosen[spot[0]]

    def number(self, position: Position) -> int:
        """The place of a cell among those asked about."""
        if self.chosen is not None:
            return self._numbers[position]
        number = 0  # asked of every cell in turn: numpy takes thrice as long
        for place, size in zip(position, self.margin, strict=True):
            number = number * size + place
        return int(number)

    def laid_out(self, flat: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Numbers of the cells asked about, in the answer's shape; more of them are left out."""
        return flat[: self.size].reshape(self.shape)

    def picked(self, margin: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The cells asked about from an array over the margin."""
        return margin if self.chosen is None else margin[tuple(self.columns())]


def check_listable(release: Release, over: tuple[str, ...], *, some: str = "") -> None:
    """Check that the cells of a margin can be listed; `some` says how to ask about a few."""
    size = release.domain.project(over).size
    if size <= DENSE_LIMIT:
        return
    named = release.named_variables
    ways = [some] if some else []
    if named and release.domain.project(named).size <= DENSE_LIMIT:
        variables = f"over={list(named)} (--over {names_text(named)})"
        ways.append(f"about the variables that statements name: {variables}")
    else:
        ways.append("about fewer variables: over=[...] (--over)")
    raise TooMuchWork(
        f"the question is about {size} cells, and up to {DENSE_LIMIT} are answered at once; ask "
        + ", or ".join(ways)
    )


def asked_cells(
    release: Release, over: Iterable[str] | None, cells: object
) -> tuple[tuple[str, ...], tuple[Position, ...] | None]:
    """The margin that a question is about, and the positions of the cells chosen, if some are."""
    names = release.domain.names if over is None else release.domain.distinct(over)
    if not names:
        raise InvalidInput("over=[] names no variable; the total N is in the release itself")
    if cells is not None:
        return names, asked_positions(release.domain.project(names), cells)
    check_listable(release, names, some="about some of them: cells=[(label, ...), ...]")
    return names, None


def asked_positions(domain: Domain, cells: object) -> tuple[Position, ...]:
    """The positions of cells in a margin over this domain, each asked about once.

    Examples
    --------
    >>> from cellbounds import Domain
    >>> asked_positions(Domain({"a": ["x", "y"], "b": ["x", "y"]}), [("y", "x"), ("x", "x")])
    ((1, 0), (0, 0))
    """
    if isinstance(cells, str) or not isinstance(cells, Iterable):
        raise InvalidInput(f"cells={cells!r}; give a list of cells, each a tuple of labels")
    positions: dict[Position, None] = {}
    for cell in cells:
        labels = _labels(domain, cell)
        position = domain.index(labels)
        if position in positions:
            raise InvalidInput(f"cells= lists the cell {labels} twice; ask about it once")
        positions[position] = None
    if not positions:
        raise InvalidInput("cells=[] asks about no cell; leave it out to ask about all of them")
    return tuple(positions)


def _labels(domain: Domain, cell: object) -> tuple[Label, ...]:
    if isinstance(cell, tuple | list):
        return tuple(cell)
    if len(domain.names) == 1:
        return (cell,)  # of one variable the label alone will do
    raise InvalidInput(
        f"cells= holds {cell!r}; a cell is a tuple of labels, one for each of "
        f"{', '.join(domain.names)}"
    )
