"""Published tables: cells named by codes, totals among them, and what is printed in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from cellbounds.data.domain import Label
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.errors import InvalidInput
from cellbounds.text import counted

Cell = tuple[Label, ...]
"""A code for each variable of a table; totals are codes too."""

Entry = int | str | None
"""What a cell shows, as margins have it: a count; None if hidden; a range, such as ``"1-4"``."""

HIDDEN: Entry = None
"""A count that was suppressed."""

UNKNOWN: Entry = ">=0"
"""Nothing is said, perhaps it is 0: not available, or not stated."""

ZERO: Entry = "0-0"
"""Zero, also where numbers are rounded."""


@dataclass(frozen=True, slots=True)
class Percents:
    """Percents that a table prints beside counts.

    Attributes
    ----------
    label
        What stands above them.
    within
        The variables within whose levels they add up to 100; without any, they are of everybody.
    figures
        Each by the cell of its count: digits, with the decimals that were printed.
    unit
        ``"percent"`` or ``"proportion"``.
    rounding
        How they were rounded, as for :class:`~cellbounds.Conditional`.
    """

    label: str
    within: tuple[str, ...]
    figures: Mapping[Cell, str]
    unit: str = "percent"
    rounding: str = "nearest"

    def base_of(self, cell: Cell, variables: Iterable[str]) -> tuple[Label | None, ...]:
        """What a cell is a percentage of: None stands for all codes of a variable."""
        return tuple(
            code if name in self.within else None
            for name, code in zip(variables, cell, strict=True)
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class PublishedTable:
    """A table as it is printed.

    Parameters
    ----------
    where
        The file, sheet or frame, for messages.
    hierarchies
        The variables in order, each with the codes that it may have; a variable without inner
        codes has a flat one. The total is a code where the table prints one.
    entries
        What each cell shows. Of a cell that is not there nothing is said.
    printed
        Cells as they are printed, where that says more than the entry.
    flags
        What the file says of cells: ``"primary"``, ``"secondary"``, ...
    truths
        True counts of hidden cells that the file stores. They are not published: what is worked
        out from this table never uses them.
    base, rounding, below, noise
        How numbers differ from counts, as for :class:`~cellbounds.Margin`.
    percents
        Percents beside the counts.
    title, notes
        What stands above the table, and what was understood of it, for people.

    Examples
    --------
    >>> from cellbounds.data.hierarchy import Hierarchy
    >>> from cellbounds.data.published import HIDDEN, PublishedTable
    >>> table = PublishedTable(
    ...     where="by hand",
    ...     hierarchies={"sex": Hierarchy(["f", "m"], total="Total")},
    ...     entries={("f",): HIDDEN, ("m",): 3, ("Total",): 5},
    ... )
    >>> table
    PublishedTable(sex: 2 codes and a total; 3 cells, 1 hidden)
    """

    where: str
    hierarchies: Mapping[str, Hierarchy]
    entries: Mapping[Cell, Entry]
    printed: Mapping[Cell, str] = field(default_factory=dict)
    flags: Mapping[Cell, str] = field(default_factory=dict)
    truths: Mapping[Cell, int] = field(default_factory=dict)
    base: int | None = None
    rounding: str | None = None
    below: int | None = None
    noise: object = None
    percents: tuple[Percents, ...] = ()
    title: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.hierarchies or not self.entries:
            raise InvalidInput(f"{self.where}: a table needs a variable and a cell at least")
        codes = [frozenset(tree.codes) for tree in self.hierarchies.values()]
        for cell in self.entries:
            if len(cell) != len(codes):
                raise InvalidInput(
                    f"{self.where}: the cell {cell} has {len(cell)} codes for {len(codes)} "
                    "variables; give one for each"
                )
            for name, code, known in zip(self.hierarchies, cell, codes, strict=True):
                if code not in known:
                    raise InvalidInput(
                        f"{self.where}: the cell {cell} has the code {code!r}, which is none of "
                        f"{name!r}; add it to the hierarchy, or correct the cell"
                    )

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, in order."""
        return tuple(self.hierarchies)

    @property
    def hidden(self) -> tuple[Cell, ...]:
        """The cells whose count was suppressed; a range may be known of some that are flagged."""
        return tuple(
            cell
            for cell, entry in self.entries.items()
            if entry is None or (cell in self.flags and isinstance(entry, str) and entry != ZERO)
        )

    @property
    def unsure(self) -> tuple[Cell, ...]:
        """The cells that do not show their count: hidden, unknown, ranges, rounded, noisy."""
        inexact = frozenset(self.inexact)
        return tuple(
            cell
            for cell, entry in self.entries.items()
            if (cell in inexact or not isinstance(entry, int)) and entry != ZERO
        )

    @property
    def inexact(self) -> tuple[Cell, ...]:
        """The cells whose number is rounded or noisy, so that it is not the count."""
        if self.base is None and self.noise is None:
            return ()
        return tuple(cell for cell, entry in self.entries.items() if isinstance(entry, int))

    @property
    def shows_zeros(self) -> bool:
        """Whether some cell is printed as zero, so that a hidden count is at least 1."""
        exact = self.base is None and self.noise is None
        return any(entry == ZERO or (exact and entry == 0) for entry in self.entries.values())

    def text(self, cell: Cell) -> str:
        """A cell as it is printed; empty if the table does not have it."""
        if cell in self.printed:
            return self.printed[cell]
        if cell not in self.entries:
            return ""
        entry = self.entries[cell]
        marks = {HIDDEN: "x", UNKNOWN: ":", ZERO: "-"}
        return marks.get(entry, str(entry))

    def level(self, name: str, code: Label) -> int:
        """Which level a code belongs to, from 1; 0 for the total.

        A leaf belongs to the last level, that of the variable itself, however deep it stands.
        """
        return self.levels_of_codes()[name][code]

    def levels_of_codes(self) -> dict[str, dict[Label, int]]:
        """The level of each code of each variable, as :meth:`level` has it."""
        levels: dict[str, dict[Label, int]] = {}
        for name, tree in self.hierarchies.items():
            levels[name] = {**tree.depths(), **dict.fromkeys(tree.leaves, tree.depth)}
        return levels

    @property
    def heading(self) -> str:
        """Where the table is from, and its title."""
        return f"{self.where}: {self.title}" if self.title else self.where

    @property
    def warning(self) -> str:
        """What whoever gets the file must know; empty if it holds no true count."""
        if not self.truths:
            return ""
        cells = counted(len(self.truths), "hidden cell")
        return f"holds true counts ({cells}): not used here, but whoever gets the file has them"

    def understood(self, *, warn: bool = True) -> str:
        """What was understood of the table, in a few lines."""
        lines = [self.heading]
        lines += [f"  {name}: {_codes(tree)}" for name, tree in self.hierarchies.items()]
        lines.append(f"  cells: {self._cells()}")
        if self.base is not None:
            lines.append(f"  numbers are multiples of {self.base}, {self.rounding or 'nearest'}")
        if self.below is not None:
            lines.append(f"  counts below {self.below} were hidden before the others were rounded")
        if self.truths and warn:
            lines.append(f"  the file {self.warning}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _cells(self) -> str:
        hidden, zeros = len(self.hidden), sum(entry == ZERO for entry in self.entries.values())
        unknown = sum(entry == UNKNOWN for entry in self.entries.values())
        shown = sum(isinstance(entry, int) for entry in self.entries.values())
        ranges = len(self.entries) - hidden - unknown - shown - zeros
        parts = [f"{len(self.entries):,}", f"{shown:,} with a number"]
        for count, what in (
            (zeros, "zero"),
            (hidden, "hidden"),
            (unknown, "unknown (perhaps 0)"),
            (ranges, "ranges"),
        ):
            if count:
                parts.append(f"{count:,} {what}")
        flags = list(self.flags.values())
        marked = [f"{flags.count(flag):,} marked {flag}" for flag in dict.fromkeys(flags)]
        return ", ".join([*parts, *marked])

    def write(self, path: str | Path, *, style: str = "gausssuppression") -> list[Path]:
        """Write the table for other tools and for people; true counts stay behind.

        Parameters
        ----------
        path
            ``.tab``: tau-ARGUS, with ``.rda`` and ``.hrc`` files beside; ``.csv``: a frame with a
            status for each cell; ``.xlsx``: a sheet with marks.
        style
            Whose columns a frame has: ``"gausssuppression"``, ``"sdctable"`` or ``"rtauargus"``.

        Returns
        -------
        list of Path
            The files.
        """
        from cellbounds.data.other_tools.writing import write_table

        return write_table(self, path, style=style)

    def __repr__(self) -> str:
        inside = "; ".join(
            f"{name}: {len(tree.codes) - (tree.total is not None)} codes"
            + ("" if tree.total is None else " and a total")
            for name, tree in self.hierarchies.items()
        )
        return f"PublishedTable({inside}; {len(self.entries):,} cells, {len(self.hidden):,} hidden)"


def _codes(tree: Hierarchy, most: int = 8) -> str:
    """The codes of a variable in words, cut where there are many."""
    leaves = tree.leaves
    labels = [*map(str, islice(leaves, most)), *(["..."] if len(leaves) > most else [])]
    shown = ("; " if any("," in label for label in labels) else ", ").join(labels)
    text = f"{counted(len(leaves), 'level')} ({shown})"
    if tree.depth > 1:
        above = [
            f"{len(codes):,}" + (f" {name}" if name else "")
            for name, codes in zip(
                tree.names or [""] * tree.depth, tree.levels()[:-1], strict=False
            )
        ]
        text += f", in {' > '.join(above)} groups above them"
    return text + (", no total" if tree.total is None else f", total {str(tree.total)!r}")
