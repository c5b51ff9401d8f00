"""Where the parts of a release are looked at: everywhere at once, or at some cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.reductions.decomposition.tables import Named, spread
from cellbounds.results.cell_index import CellIndex, ChosenCells, Position

__all__ = ["AtCells", "Everywhere", "Where", "where_of"]


@dataclass(frozen=True, slots=True)
class Everywhere:
    """Every cell of a margin: arrays have all its axes, of length one where they do not differ."""

    names: tuple[str, ...]

    def laid_out(self, values: Named) -> npt.NDArray[Any]:
        """Values over some of the names, at all cells."""
        return spread(values, self.names)

    def cells(self, names: tuple[str, ...]) -> None:
        """All cells of a smaller margin are needed."""

    def back(self, values: npt.NDArray[Any], names: tuple[str, ...]) -> npt.NDArray[Any]:
        """The answer to a question about a smaller margin, at all cells."""
        return self.laid_out(Named(names, values))


@dataclass(frozen=True, slots=True, eq=False)
class AtCells:
    """Some cells of a margin: arrays have one axis, one entry for each cell."""

    columns: dict[str, npt.NDArray[np.int64]]
    _found: dict[tuple[str, ...], tuple[npt.NDArray[Any], npt.NDArray[Any]]] = field(
        default_factory=dict, repr=False
    )

    def laid_out(self, values: Named) -> npt.NDArray[Any]:
        """Values over some of the names, at the cells."""
        return np.asarray(values.array[tuple(self.columns[name] for name in values.names)])

    def cells(self, names: tuple[str, ...]) -> tuple[Position, ...] | None:
        """The cells of a smaller margin that are needed, each once."""
        if not names:
            return None
        found, _ = self._distinct(names)
        return tuple(map(tuple, found.tolist()))

    def back(self, values: npt.NDArray[Any], names: tuple[str, ...]) -> npt.NDArray[Any]:
        """The answer to a question about those cells, at all cells."""
        return values[self._distinct(names)[1]] if names else values

    def _distinct(self, names: tuple[str, ...]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        if names not in self._found:
            lines = np.column_stack([self.columns[name] for name in names])
            found, back = np.unique(lines, axis=0, return_inverse=True)
            self._found[names] = found, back.ravel()
        return self._found[names]


Where = Everywhere | AtCells


def where_of(over: tuple[str, ...], places: CellIndex) -> Where:
    """Where a question looks."""
    if isinstance(places, ChosenCells):
        return AtCells(dict(zip(over, places.columns(), strict=True)))
    return Everywhere(over)
