"""A table that is protected by suppression: the pattern, what it costs, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.data.spreadsheets import csv_text, write_excel
from cellbounds.disclosure.policies import Outcome, Policy, Verdict
from cellbounds.disclosure.protecting.published_cells import PublishedCells, total_label
from cellbounds.errors import InvalidInput
from cellbounds.results.answers import notations
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.files import write_whole
from cellbounds.statements import Release
from cellbounds.statements.notation import names_text
from cellbounds.text import counted, label_keys, wrapped
from cellbounds.utility.display import Listing, columns_of, more_lines
from cellbounds.version import __version__

FORMAT = "cellbounds-protect/1"

DEPENDS = (
    "which figures are hidden for their own sake (primary) is confidential, and so is all of this "
    "but the table that write() writes"
)

COLUMNS = ("margin", "count", "status")


@dataclass(frozen=True, slots=True)
class HiddenCell:
    """A figure that is not shown.

    Attributes
    ----------
    variables, labels
        Where: a cell of a margin, the first that has it.
    primary
        Whether it is hidden for its own sake; otherwise others could be worked out from it.
    count
        The true count, for the owner.
    """

    variables: tuple[str, ...]
    labels: tuple[Label, ...]
    primary: bool
    count: int

    @property
    def where(self) -> str:
        """The cell in words."""
        pairs = zip(self.variables, map(str, self.labels), strict=True)
        return ", ".join(f"{name}={label}" for name, label in pairs)


@dataclass(frozen=True, slots=True)
class Unprotectable:
    """A cell that no suppression protects, and why."""

    variables: tuple[str, ...]
    labels: tuple[Label, ...]
    why: str

    @property
    def where(self) -> str:
        """The cell in words."""
        pairs = zip(self.variables, map(str, self.labels), strict=True)
        return ", ".join(f"{name}={label}" for name, label in pairs) or "everybody"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Protected(Listing):
    """What to publish of a table: some figures hidden, so that a policy is kept.

    Attributes
    ----------
    policy, verdict
        What was asked for; and how the release was judged, figures that are shown included.
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
    work, stopped
        How much was searched, in millions of steps; and whether time ended the search.
    primary_mark
        What stands for primary figures in the finished table, if it tells them from the others.
    notes
        What else is to be said.
    """

    numbers: ClassVar[frozenset[str]] = frozenset({"count"})

    policy: Policy
    verdict: Verdict
    release: Release
    hidden: tuple[HiddenCell, ...]
    unprotectable: tuple[Unprotectable, ...]
    cost: int
    bound: int
    costing: str
    proven: tuple[int, int]
    work: int
    stopped: bool
    seconds: float
    cells: PublishedCells
    pattern: BoolArray
    primary_mark: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """How the release was judged."""
        return self.verdict.outcome

    @property
    def safe(self) -> bool:
        """Whether it was judged safe."""
        return self.verdict.safe

    @property
    def optimal(self) -> bool:
        """Whether no pattern is cheaper: proven."""
        return self.bound >= self.cost

    @property
    def gap(self) -> float:
        """The share of the cost that is perhaps not necessary."""
        return (self.cost - self.bound) / max(self.cost, 1)

    @property
    def primaries(self) -> tuple[HiddenCell, ...]:
        """What is hidden for its own sake."""
        return tuple(one for one in self.hidden if one.primary)

    @property
    def secondaries(self) -> tuple[HiddenCell, ...]:
        """What is hidden so that the others cannot be worked out."""
        return tuple(one for one in self.hidden if not one.primary)

    @property
    def warning(self) -> str:
        """What the list gives away."""
        return "\n".join(wrapped(DEPENDS, WIDTH))

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; for the owner."""
        return {
            "format": FORMAT,
            "version": __version__,
            "verdict": self.outcome.value,
            "policy": self.policy.to_dict(),
            "warning": DEPENDS,
            "release": {"digest": self.release.digest, "statements": notations(self.release)},
            "costing": self.costing,
            "cost": self.cost,
            "bound": self.bound,
            "gap": round(self.gap, 6),
            "optimal": self.optimal,
            "published": int(self.cells.published.sum()),
            "primaries": len(self.primaries),
            "secondaries": len(self.secondaries),
            "proven": {"cells": self.proven[0], "by_tables": self.proven[1]},
            "work": self.work,
            "stopped": self.stopped,
            "seconds": round(self.seconds, 6),
            "notes": list(self.notes),
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

    def table(self, *, internal: bool = False, mark: str = "x") -> dict[str, list[Any]]:
        """The finished table, column by column: labels, ``Total`` where one is summed over, counts.

        Parameters
        ----------
        internal
            Add what is hidden for its own sake, and the true counts. Otherwise nothing tells
            primary and secondary figures apart, unless it was protected as ``marked``.
        mark
            What stands for a hidden count; for primary ones the `primary_mark`, if there is one.

        Examples
        --------
        >>> import cellbounds as cb
        >>> table = cb.Table(cb.Domain({"sex": ["f", "m"], "place": ["N", "S"]}), [[1, 6], [7, 9]])
        >>> cb.protect(table, "[sex,place]", "[sex]", "[place]").table()["count"]
        ['x', 'x', 'x', 'x', 7, 16, 8, 15, 23]
        """
        domain = self.cells.domain
        names = domain.names
        total = total_label(domain)
        rows: list[list[Any]] = []
        done: set[int] = set()
        primary = {(one.variables, one.labels) for one in self.primaries}
        for sheet in (one for one in self.cells.sheets if one.place is not None):
            laid = domain.project(sheet.names)
            bases = [domain.base(name) for name in sheet.names]
            for place, cell in zip(laid.cells(), sheet.numbers.tolist(), strict=True):
                if cell < 0 or cell in done:
                    continue  # nobody can be there, or a margin before this one has it
                done.add(cell)
                by_base = dict(zip(bases, place, strict=True))
                rows.append(self._line([by_base.get(name, total) for name in names], cell, mark))
                if rows[-1][-1]:
                    first = (sheet.names, place) in primary
                    rows[-1][-1] = _status(first)
                    if first and self.primary_mark is not None:
                        rows[-1][-3] = self.primary_mark
        if self.cells.total is not None and self.release.stated_total is not None:
            rows.append(self._line([total] * len(names), self.cells.total, mark))
        header = [*label_keys(names, COLUMNS).values(), "count", "true count", "status"]
        columns = columns_of(header, rows)
        if not internal:
            del columns["true count"], columns["status"]
        return columns

    def _line(self, labels: list[Label], cell: int, mark: str) -> list[Any]:
        count, hidden = int(self.cells.counts[cell]), bool(self.pattern[cell])
        return [*labels, mark if hidden else count, count, "hidden" if hidden else ""]

    def write(self, path: str | Path, *, internal: bool = False, mark: str = "x") -> None:
        """Write the finished table as a CSV or Excel file: as :meth:`table` has it."""
        columns, file = self.table(internal=internal, mark=mark), Path(path)
        if file.suffix.lower() == ".xlsx":
            write_excel({"table": columns}, file, private=internal)
        elif file.suffix.lower() == ".csv":
            text = csv_text(list(columns), zip(*columns.values(), strict=True))
            write_whole(file, text, private=internal)
        else:
            raise InvalidInput(f"{file} cannot be written; end its name with .csv or .xlsx")

    def _title(self) -> str:
        return (
            f"{self.outcome} under the policy {self.policy.name}: {len(self.primaries)} primary "
            f"and {counted(len(self.secondaries), 'secondary figure')} of "
            f"{int(self.cells.published.sum())} hidden"
        )

    def _remarks(self) -> list[str]:
        remarks = [self._cost_sentence(), f"published: {', '.join(notations(self.release))}"]
        uncertain, shown = self.proven
        remarks.append(
            f"{shown} of {counted(uncertain, 'small count')} stay uncertain as asked: shown by "
            "tables checked in whole numbers"
        )
        remarks += [f"cannot be protected: {one.where}; {one.why}" for one in self.unprotectable]
        for finding in [*self.verdict.broken, *self.verdict.open][:MOST_FINDINGS]:
            remarks.append(f"{finding.outcome}: {finding.rule}, {finding.where}")
        return [*remarks, *self.notes]

    def _heading(self) -> list[str]:
        lines = [self._title(), *(f"  {remark}" for remark in self._remarks())]
        return [part for line in lines for part in wrapped(line, WIDTH, "    ")]

    def _cost_sentence(self) -> str:
        words = f"cost {self.cost} ({self.costing})"
        if self.optimal:
            return f"{words}: no pattern is cheaper (proven)"
        why = "the time was spent" if self.stopped else f"{self.work} million steps searched"
        return f"{words}: no pattern costs less than {self.bound} (gap {self.gap:.1%}; {why})"

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        header = ["status", "margin", "cell", "count"]
        rows = [
            [_status(one.primary), f"[{names_text(one.variables)}]", one.where, str(one.count)]
            for one in self.hidden[:most]
        ]
        return header, rows, more_lines(len(self.hidden) - most)


WIDTH = 80
"""Columns that the text above the list takes at most."""

MOST_FINDINGS = 5
"""Findings of the verdict that people are told."""


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
