"""What ways to protect a table have in common: what is published, how it was judged, its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from cellbounds.data.domain import Label
from cellbounds.data.spreadsheets import csv_text, write_excel
from cellbounds.disclosure.policies import Outcome, Policy, Verdict
from cellbounds.disclosure.protecting.published_cells import PublishedCells, Where, total_label
from cellbounds.errors import InvalidInput
from cellbounds.results.answers import notations
from cellbounds.runtime.files import write_whole
from cellbounds.statements import Release
from cellbounds.text import counted, label_keys, wrapped
from cellbounds.utility.display import Listing, columns_of
from cellbounds.version import __version__

FORMAT = "cellbounds-protect/1"

COLUMNS = ("margin", "count", "status")
"""Names of columns that are no variables."""

WIDTH = 80
"""Columns that the text above the list takes at most."""

MOST_FINDINGS = 5
"""Findings of the verdict that people are told."""


def cell_words(variables: tuple[str, ...], labels: tuple[Label, ...]) -> str:
    """A cell of a margin in words.

    Examples
    --------
    >>> cell_words(("sex", "place"), ("f", "N")), cell_words((), ())
    ('sex=f, place=N', 'everybody')
    """
    pairs = zip(variables, map(str, labels), strict=True)
    return ", ".join(f"{name}={label}" for name, label in pairs) or "everybody"


@dataclass(frozen=True, slots=True)
class NamedCell:
    """A cell of a margin, the first that has it.

    Attributes
    ----------
    variables, labels
        Where it is.
    """

    variables: tuple[str, ...]
    labels: tuple[Label, ...]

    @property
    def where(self) -> str:
        """The cell in words."""
        return cell_words(self.variables, self.labels)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Finished(Listing):
    """A table made ready for publication by one of the methods of `protect`.

    Attributes
    ----------
    policy, verdict
        What was asked for; and how the release was judged.
    release
        What to publish.
    cost, bound
        What is lost, in the unit of `costing`; and what any result of the same method loses at
        least that does as much: proven in whole numbers.
    costing
        What is added up, in words.
    stopped
        Whether time ended the search.
    notes
        What else is to be said.
    """

    method: ClassVar[str]
    depends: ClassVar[str]
    """What the list gives away."""
    claims: ClassVar[tuple[str, str, str]]
    """What the cost is called; that nothing costs less, if that is proven; else the bound."""

    policy: Policy
    verdict: Verdict
    release: Release
    cost: int
    bound: int
    costing: str
    stopped: bool
    seconds: float
    cells: PublishedCells
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
        """Whether nothing that the method could have chosen loses less: proven."""
        return self.bound >= self.cost

    @property
    def gap(self) -> float:
        """The share of the cost that is perhaps not necessary."""
        return (self.cost - self.bound) / max(self.cost, 1)

    @property
    def changed(self) -> int:
        """How many figures are not published as they are."""
        raise NotImplementedError

    @property
    def asked(self) -> int:
        """How many figures were asked for."""
        return int(self.cells.published.sum())

    @property
    def warning(self) -> str:
        """What the list gives away."""
        return "\n".join(wrapped(self.depends, WIDTH))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; for the owner."""
        return {
            "format": FORMAT,
            "version": __version__,
            "method": self.method,
            "verdict": self.outcome.value,
            "policy": self.policy.to_dict(),
            "warning": self.depends,
            "release": {"digest": self.release.digest, "statements": notations(self.release)},
            "costing": self.costing,
            "cost": self.cost,
            "bound": self.bound,
            "gap": round(self.gap, 6),
            "optimal": self.optimal,
            "published": int(self.cells.published.sum()),
            **self._details(),
            "stopped": self.stopped,
            "seconds": round(self.seconds, 6),
            "notes": list(self.notes),
        }

    def _details(self) -> dict[str, Any]:
        """What the method has to say besides, as plain values."""
        raise NotImplementedError

    def table(self, *, internal: bool = False, mark: str = "x") -> dict[str, list[Any]]:
        """The finished table, column by column: labels, ``Total`` where one is summed over, counts.

        Parameters
        ----------
        internal
            Add why a figure is not shown as it is, and the true counts. Otherwise nothing tells
            primary and secondary figures apart, unless it was protected as ``marked``.
        mark
            What stands for a hidden count, unless primary ones have a mark of their own.

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
        statuses = self._statuses()
        for sheet in (one for one in self.cells.sheets if one.place is not None):
            laid = domain.project(sheet.names)
            bases = [domain.base(name) for name in sheet.names]
            for place, cell in zip(laid.cells(), sheet.numbers.tolist(), strict=True):
                if cell < 0 or cell in done:
                    continue  # nobody can be there, or a margin before this one has it
                done.add(cell)
                by_base = dict(zip(bases, place, strict=True))
                status = statuses.get((sheet.names, place), "")
                rows.append(
                    self._line([by_base.get(name, total) for name in names], cell, mark, status)
                )
        if self.cells.total is not None and self.release.stated_total is not None:
            status = statuses.get(((), ()), "")
            rows.append(self._line([total] * len(names), self.cells.total, mark, status))
        header = [*label_keys(names, COLUMNS).values(), "count", "true count", "status"]
        columns = columns_of(header, rows)
        if not internal:
            del columns["true count"], columns["status"]
        return columns

    def _line(self, labels: list[Label], cell: int, mark: str, status: str) -> list[Any]:
        shown = self._shown(cell, status)
        count = int(self.cells.counts[cell])
        return [*labels, mark if shown is None else shown, count, status]

    def _shown(self, cell: int, status: str) -> int | str | None:
        """What is printed for a cell with a status; None where the count is hidden."""
        raise NotImplementedError

    def _statuses(self) -> dict[Where, str]:
        """What was done to cells that are not shown as they are, and why, for the owner."""
        raise NotImplementedError

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

    def _said(self) -> list[str]:
        """What the method has to say of its result, one sentence each."""
        raise NotImplementedError

    def _remarks(self) -> list[str]:
        published = ", ".join(notations(self.release))
        remarks = [self._cost_sentence(), f"published: {published}", *self._said()]
        findings = [*self.verdict.broken, *self.verdict.open][:MOST_FINDINGS]
        remarks += [f"{finding.outcome}: {finding.rule}, {finding.where}" for finding in findings]
        return [*remarks, *self.notes]

    def _title(self) -> str:
        """How the result was judged, and what was done."""
        done = self._done() if self.changed else f"all {self.asked:,} figures are shown as they are"
        return f"{self.outcome} under the policy {self.policy.name}: {done}"

    def _done(self) -> str:
        """What was done to figures, in words."""
        raise NotImplementedError

    def _heading(self) -> list[str]:
        lines = [self._title(), *(f"  {remark}" for remark in self._remarks())]
        return [part for line in lines for part in wrapped(line, WIDTH, "    ")]

    def _cost_sentence(self) -> str:
        cost, proven, at_least = self.claims
        words = f"{cost} {self.cost} ({self.costing})"
        if self.optimal:
            return f"{words}: {proven} (proven)"
        why = "the time was spent" if self.stopped else self._unproven()
        return f"{words}: {at_least} {self.bound} (gap {self.gap:.1%}; {why})"

    def _unproven(self) -> str:
        """Why nothing is proven, if there was time."""
        return "not proven"


def staying(uncertain: int, shown: int) -> list[str]:
    """How many counts must stay uncertain, and of how many it is shown that they do.

    Examples
    --------
    >>> staying(1, 1)
    ['1 of 1 small count stays uncertain as asked: shown by tables checked in whole numbers']
    """
    if not uncertain:
        return []
    stay = "stays" if shown == 1 else "stay"
    return [
        f"{shown} of {counted(uncertain, 'small count')} {stay} uncertain as asked: shown by "
        "tables checked in whole numbers"
    ]
