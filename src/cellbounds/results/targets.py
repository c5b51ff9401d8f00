"""Cells that somebody asks about, by their labels."""

from __future__ import annotations

from collections.abc import Iterable

from cellbounds.data.domain import Domain, Label
from cellbounds.data.table import DENSE_LIMIT
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.results.cell_index import Position
from cellbounds.statements import Release
from cellbounds.statements.notation import names_text

__all__ = ["asked_positions", "check_listable"]


def check_listable(release: Release, over: tuple[str, ...], *, some: str = "") -> None:
    """Check that the cells of a margin can be listed; `some` says how to ask about a few."""
    size = release.domain.project(over).size
    if size <= DENSE_LIMIT:
        return
    named = release.named_variables
    ways = [some] if some else []
    if named and release.domain.project(named).size <= DENSE_LIMIT:
        told = f"over={list(named)} (--over {names_text(named)})"
        ways.append(f"about the variables that statements name: {told}")
    else:
        ways.append("about fewer variables: over=[...] (--over)")
    raise TooMuchWork(
        f"the question is about {size} cells, and up to {DENSE_LIMIT} are answered at once; ask "
        + ", or ".join(ways)
    )


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
    found: dict[Position, None] = {}
    for cell in cells:
        labels = _labels(domain, cell)
        position = domain.index(labels)
        if position in found:
            raise InvalidInput(f"cells= lists the cell {labels} twice; ask about it once")
        found[position] = None
    if not found:
        raise InvalidInput("cells=[] asks about no cell; leave it out to ask about all of them")
    return tuple(found)


def _labels(domain: Domain, cell: object) -> tuple[Label, ...]:
    if isinstance(cell, tuple | list):
        return tuple(cell)
    if len(domain.names) == 1:
        return (cell,)  # of one variable the label alone will do
    raise InvalidInput(
        f"cells= holds {cell!r}; a cell is a tuple of labels, one for each of "
        f"{', '.join(domain.names)}"
    )
