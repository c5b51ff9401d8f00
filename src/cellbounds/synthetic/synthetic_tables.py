"""Synthetic tables as a result: what they keep, how they were drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.results.answers import HTML_LINES, Answer, label_columns
from cellbounds.results.draws import Draws
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.statements import Conditional
from cellbounds.statements.notation import names_text
from cellbounds.synthetic.folder import write_folder
from cellbounds.synthetic.report import SyntheticReport, report_on
from cellbounds.synthetic.rounded import Rounded
from cellbounds.text import html_table
from cellbounds.version import __version__

FORMAT = "cellbounds-synthetic/1"

COLUMNS = 6
"""Copies that are printed beside each other."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Synthetic(Answer):
    """Tables to release instead of the true one.

    Attributes
    ----------
    release
        What the tables keep; rates that were rounded first stand here as exact ones.
    counts
        One table after another: an array of shape (copies, *table).
    draws
        How they were drawn: prior, diagnostics. A few more tables may have been drawn than asked
        for.
    seed
        What they can be drawn again from; None if a generator was given.
    rounded
        How the rates were rounded before they were taken as exact, or None.
    original
        Whether the tables are certainly the confidential one, because no other keeps all this.
    notes
        What to know about them.
    """

    counts: IntArray
    draws: Draws
    seed: int | None
    rounded: Rounded | None
    original: bool
    notes: tuple[str, ...]

    @property
    def tables(self) -> list[Table]:
        """The tables."""
        return list(self)

    @property
    def kept(self) -> list[str]:
        """What every table keeps, one text for each statement."""
        lines = [line.strip() for line in str(self.release).splitlines()[1:]]
        if self.rounded is None:
            return lines
        # The rates are exact in these tables only: nobody shall take them for those of the people.
        rule = f"rounded to {self.rounded.places}, then exact"
        return [
            f"[{names_text(statement.responses)}|{names_text(statement.given)}] {rule}"
            if isinstance(statement, Conditional)
            else line
            for statement, line in zip(self.release.statements, lines, strict=True)
        ]

    @property
    def how(self) -> str:
        """How the tables were drawn, in words."""
        draws = self.draws
        if draws.independent:
            return f"{self.method}: independent exact draws"
        return f"{self.method}: dependent draws; connected: {draws.connected}"

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[Table]:
        return (Table(self.domain, counts) for counts in self.counts)

    def __getitem__(self, place: int) -> Table:
        """One of the tables, the first at 0."""
        return Table(self.domain, self.counts[place])

    @budgeted
    def compare(
        self,
        table: Table,
        *,
        pairs: Iterable[tuple[str, str]] | None = None,
        margins: Any = None,
        level: object = "0.95",
        effort: float | None = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> SyntheticReport:
        """What the tables give away and what they are good for, beside the true table.

        The report is for the owner: it has figures of the true table in it.

        Parameters
        ----------
        table
            The true table.
        pairs, margins, level
            Odds ratios, log-linear model and level of confidence, as for ``cb.utility.compare``.
        effort
            Steps that counting the consistent tables may take.
        budget, seconds
            What the work may cost: a :class:`Budget`, or seconds alone.

        Raises
        ------
        InvalidInput
            If the synthetic tables do not come from this table.
        """
        return report_on(
            self.release,
            self.rounded,
            self.tables,
            table,
            pairs=pairs,
            margins=margins,
            level=level,
            effort=effort,
            budget=budget,
        )

    def write(self, folder: str | Path, *, overwrite: bool = False) -> list[Path]:
        """Write ``synthetic-1.csv``, ``synthetic-2.csv``, ... and ``README.md`` into a folder.

        All files are written or none. Nothing in them comes from the true table but what the
        tables keep.

        Parameters
        ----------
        folder
            Made if it does not exist; other files in it stay.
        overwrite
            Whether files of these names may be replaced.

        Returns
        -------
        list of pathlib.Path
            The files.

        Raises
        ------
        InvalidInput
            If the tables are the confidential one itself, or the files cannot be written.
        """
        if self.original:
            raise InvalidInput(
                f"only one table keeps {', '.join(self.kept)}: it is the confidential one itself; "
                "keep less, or rounded figures"
            )
        return write_folder(
            folder, self.tables, self.kept, [self._said(), *self.notes], overwrite=overwrite
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: the number of the copy (from 1), labels, count."""
        numbers = np.arange(1, len(self) + 1)
        columns: dict[str, list[Any]] = {"copy": np.repeat(numbers, self.domain.size).tolist()}
        cells = label_columns(self.domain, ("copy", "count"))
        columns |= {name: labels * len(self) for name, labels in cells.items()}
        columns["count"] = self.counts.ravel().tolist()
        return frame_of(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned."""
        return {
            **self._head(),
            "format": FORMAT,
            "version": __version__,
            "kept": self.kept,
            "rounded": None
            if self.rounded is None
            else {
                "statements": list(self.rounded.statements),
                "digits": self.rounded.digits,
                "total": self.rounded.total,
            },
            "prior": repr(self.draws.prior),
            "seed": self.seed,
            "independent": self.draws.independent,
            "connected": self.draws.connected or None,
            "original": self.original,
            "notes": list(self.notes),
            "variables": {name: list(self.domain.levels(name)) for name in self.domain.names},
            "counts": self.counts.tolist(),
        }

    def _title(self) -> str:
        tables = "table that keeps" if len(self) == 1 else "tables that keep"
        return f"{len(self)} synthetic {tables} {', '.join(self.kept)}"

    def _said(self) -> str:
        seed = "a generator of its own" if self.seed is None else f"seed {self.seed}"
        return f"{self.how}; prior: {self.draws.prior.name}; {seed}"

    def _rows(self, most: int) -> tuple[list[str], list[list[str]]]:
        shown = self.counts[:COLUMNS].reshape(-1, self.domain.size).T
        names = [f"copy {number}" for number in range(1, shown.shape[1] + 1)]
        lines = zip(self.domain.cells(), shown.tolist(), strict=True)
        return names, [
            [*map(str, labels), *map(str, counts)]
            for labels, counts in itertools.islice(lines, most)
        ]

    def _remarks(self) -> str:
        left = len(self) - COLUMNS
        more = [f"... {left} more copies: to_frame() has them all"] if left > 0 else []
        return "\n".join([*more, self._said(), *self.notes])

    def __repr__(self) -> str:
        return f"<{self._title()}>"

    def _repr_html_(self) -> str:
        names, rows = self._rows(HTML_LINES)
        title = f"{self._title()} ({'; '.join(self._remarks().splitlines())})"
        return html_table(title, [*self.over, *names], rows, set(names), self._more(len(rows)))
