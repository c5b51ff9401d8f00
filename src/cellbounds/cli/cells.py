"""The option for cells: ``--cell A=x,B=y``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.data.domain import Domain, Label

__all__ = ["cell_option", "cells_of"]

cell_option = click.option(
    "--cell",
    "cells",
    multiple=True,
    metavar="NAME=LEVEL,...",
    help="Only this cell of the margin over the variables named; may be repeated.",
)


def cells_of(
    texts: tuple[str, ...], over: list[str] | None, domain: Domain
) -> tuple[list[str] | None, list[tuple[Label, ...]] | None]:
    """The margin asked about and the cells of it; without cells, as it was.

    Every cell names the same variables: those of ``--over``, if that is given.
    """
    if not texts:
        return over, None
    cells: list[tuple[Label, ...]] = []
    for text in texts:
        found = _read(text, domain)
        if over is None:
            over = list(found)
        if set(found) != set(over):
            raise InvalidInput(
                f"--cell {text!r} names {', '.join(found)}; every cell has to name the variables "
                f"{', '.join(over)}"
            )
        cells.append(tuple(found[name] for name in over))
    return over, cells


def _read(text: str, domain: Domain) -> dict[str, Any]:
    import csv

    names = (*domain.names, *domain.groupings)
    found: dict[str, Any] = {}
    for part in next(csv.reader([text], skipinitialspace=True), []):
        # Names may hold an equals sign themselves: the longest that fits is meant.
        fitting = [name for name in names if part.startswith(f"{name}=")]
        name = max(fitting, key=len, default=None)
        if name is None or name in found:
            raise InvalidInput(
                f"--cell {text!r}: {part!r} names no variable, or one that was named before; give "
                f"NAME=LEVEL,NAME=LEVEL with some of {', '.join(names)}"
            )
        asked = part[len(name) + 1 :]
        levels = {str(level): level for level in domain.levels(name)}
        found[name] = levels.get(asked, asked)
    if not found:
        raise InvalidInput("--cell '' names no variable; give NAME=LEVEL,NAME=LEVEL")
    return found
