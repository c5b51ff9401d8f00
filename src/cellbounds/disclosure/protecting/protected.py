"""A table that is protected by suppression: the pattern, what it costs, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cellbounds.disclosure.protecting.finished import COLUMNS, Finished, NamedCell, staying
from cellbounds.disclosure.protecting.published_cells import PublishedCells, Where
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray
from cellbounds.statements.notation import names_text
from cellbounds.text import counted, label_keys
from cellbounds.utility.display import columns_of, more_lines

DEPENDS = (
    "which figures are hidden for their own sake (primary) is confidential, and so is all of this "
    "but the public table (--public, write())"
)


@dataclass(frozen=True, slots=True)
class HiddenCell(NamedCell):
    """A figure that is not shown.

    Attributes
    ----------
    primary
        Whether it is hidden for its own sake; otherwise others could be worked out from it.
    count
        The true count, for the owner.
    """

    primary: bool
    count: int


@dataclass(frozen=True, slots=True)
class Unprotectable(NamedCell):
    """A cell that no suppression protects, and why."""

    why: str


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Protected(Finished):
    """What to publish of a table: some figures hidden, so that a policy is kept.

    Attributes
    ----------
    release
        What to publish. Hidden counts stand there as ``">=1"`` if zeros are shown, as everybody
        can tell; as suppressed if zeros are hidden too.
    hidden
        The figures that are hidden, primary ones first.
    unprotectable
        Cells that no suppression protects.
    cost, bound
        What hiding the secondary figures costs, and what any pattern costs at least that does as
        much: proven in whole numbers, and equal if no pattern is cheaper.
    proven
        How many cells that must stay uncertain there are, and how many of these have tables, all
        checked in whole numbers, that show that they do.
    work
        How much was searched, in millions of steps.
    primary_mark
        What stands for primary figures in the finished table, if it tells them from the others.
    """

    method: ClassVar[str] = "suppress"
    claims: ClassVar[tuple[str, str, str]] = (
        "cost",
        "no pattern is cheaper",
        "no pattern costs less than",
    )
    depends: ClassVar[str] = DEPENDS
    numbers: ClassVar[frozenset[str]] = frozenset({"count"})

    hidden: tuple[HiddenCell, ...]
    unprotectable: tuple[Unprotectable, ...]
    proven: tuple[int, int]
    work: int
    pattern: BoolArray
    primary_mark: str | None = None

    @property
    def changed(self) -> int:
        """How many figures are hidden."""
        return len(self.hidden)

    @property
    def primaries(self) -> tuple[HiddenCell, ...]:
        """What is hidden for its own sake."""
        return tuple(one for one in self.hidden if one.primary)

    @property
    def secondaries(self) -> tuple[HiddenCell, ...]:
        """What is hidden so that the others cannot be worked out."""
        return tuple(one for one in self.hidden if not one.primary)

    def columns(self) -> dict[str, list[Any]]:
        """The hidden figures column by column."""
        names = tuple(dict.fromkeys(name for one in self.hidden for name in one.variables))
        keys = label_keys(names, COLUMNS)
        rows = []
        for one in self.hidden:
            place = dict(zip(one.variables, map(str, one.labels), strict=True))
            margin = f"[{names_text(one.variables)}]"
            rows.append([margin, *map(place.get, names), one.count, _status(one.primary)])
        return columns_of(["margin", *keys.values(), "count", "status"], rows)

    def _details(self) -> dict[str, Any]:
        return {
            "primaries": len(self.primaries),
            "secondaries": len(self.secondaries),
            "proven": {"cells": self.proven[0], "by_tables": self.proven[1]},
            "work": self.work,
            "unprotectable": [
                {"cell": dict(zip(one.variables, one.labels, strict=True)), "why": one.why}
                for one in self.unprotectable
            ],
            "hidden": [
                {
                    "margin": list(one.variables),
                    "cell": dict(zip(one.variables, one.labels, strict=True)),
                    "status": _status(one.primary),
                    "count": one.count,
                }
                for one in self.hidden
            ],
        }

    def _shown(self, cell: int, status: str) -> int | str | None:
        if not self.pattern[cell]:
            return int(self.cells.counts[cell])
        return self.primary_mark if status == "primary" else None

    def _statuses(self) -> dict[Where, str]:
        return {(one.variables, one.labels): _status(one.primary) for one in self.hidden}

    def _done(self) -> str:
        secondary = counted(len(self.secondaries), "secondary figure")
        return f"{len(self.primaries)} primary and {secondary} of {self.asked} hidden"

    def _said(self) -> list[str]:
        reasons = [f"cannot be protected: {one.where}; {one.why}" for one in self.unprotectable]
        return [*staying(*self.proven), *reasons]

    def _unproven(self) -> str:
        return f"{self.work} million steps searched"

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        header = ["status", "margin", "cell", "count"]
        rows = [
            [_status(one.primary), f"[{names_text(one.variables)}]", one.where, str(one.count)]
            for one in self.hidden[:most]
        ]
        return header, rows, more_lines(len(self.hidden) - most)


def _status(primary: bool) -> str:
    return "primary" if primary else "secondary"


def cells_named(cells: PublishedCells, where: object, what: str) -> list[int]:
    """The numbers of cells that are named by a margin's notation, or by labels of its variables."""
    if isinstance(where, str):
        from cellbounds.statements.notation import parse

        names = frozenset(parse(where).names)
        chosen = [sheet for sheet in cells.sheets if frozenset(sheet.names) == names]
        if chosen and chosen[0].place is not None:
            return [int(cell) for cell in chosen[0].numbers if cell >= 0]
    elif isinstance(where, Mapping):
        for sheet in cells.sheets:
            if sheet.place is not None and set(sheet.names) == set(where):
                laid = cells.domain.project(sheet.names)
                index = laid.index([where[name] for name in sheet.names])
                cell = int(sheet.numbers[np.ravel_multi_index(index, laid.shape)])
                return [cell] if cell >= 0 else []
    raise InvalidInput(
        f"{what}={where!r} is no published margin nor a cell of one; write '[A,B]', or labels such "
        "as {'A': 'x', 'B': 'y'} for the variables of a margin that is published"
    )
