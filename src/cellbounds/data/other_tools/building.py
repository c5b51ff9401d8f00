"""From the lines of a file to a published table: counts, statuses, trees of codes, checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.published import HIDDEN, ZERO, Cell, Entry, PublishedTable
from cellbounds.data.totals import hierarchy_of, names_a_total
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import check_cells

HIDDEN_MARKS = frozenset({"x", "c", "(c)", "(s)", "*"})
ZERO_MARKS = frozenset({"-", ""})

SHOWN, EMPTY, PRIMARY, SECONDARY, UNSTATED = "shown", "empty", "primary", "secondary", "unstated"

STATUSES = {
    # tau-ARGUS, intermediate tables: safe, unsafe, protected, secondary, empty.
    "S": SHOWN,
    "U": PRIMARY,
    "P": SHOWN,
    "M": SECONDARY,
    "E": EMPTY,
    # SBS files and rtauargus: valid; unsafe by frequency, request, dominance, p rule; secondary.
    "V": SHOWN,
    "A": PRIMARY,
    "B": PRIMARY,
    "C": PRIMARY,
    "F": PRIMARY,
    "D": SECONDARY,
    "-": EMPTY,
    # sdcTable: u, x, s as above or here; z has to be published; w is not part of the table.
    "X": SECONDARY,
    "Z": SHOWN,
    "W": UNSTATED,
}
"""What the status of a cell means; sdcTable writes small letters."""

STATUS_NUMBERS = {
    1: SHOWN,
    2: SHOWN,
    **dict.fromkeys(range(3, 10), PRIMARY),
    10: SHOWN,
    11: SECONDARY,
    12: SECONDARY,
    13: EMPTY,
    14: EMPTY,
}
"""tau-ARGUS's numbers: 1, 2 safe; 3-9 unsafe; 10 protected; 11, 12 secondary; 13, 14 empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a file does not say itself.

    Attributes
    ----------
    metadata
        The ``.rda`` file of a tau-ARGUS table; one of the same name beside it is found.
    hierarchies, totals
        The tree of codes (as such, a file, ``"prefix"`` or a nested mapping), and the code of the
        total, of some variables.
    count
        The column with the counts.
    """

    metadata: str | Path | None = None
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    totals: Mapping[str, str] = field(default_factory=dict)
    count: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One cell as a file has it: its codes, the count or mark in it, its status, and where."""

    codes: tuple[str, ...]
    figure: str
    status: str
    at: str


def whole_count(text: str) -> int | None:
    """A count, whichever decimals it is written with; None if it is no whole number, 0 or more.

    Examples
    --------
    >>> whole_count("53.00"), whole_count("12,50"), whole_count("x")
    (53, None, None)
    """
    try:
        number = Decimal(text.strip().replace(",", "."))
    except InvalidOperation:
        return None
    if not number.is_finite() or number < 0 or number.adjusted() > 300:
        return None
    return int(number) if number == number.to_integral_value() else None


def is_figure(text: str) -> bool:
    """Whether text is a number, of any size and sign."""
    try:
        return Decimal(text.strip().replace(",", ".")).is_finite()
    except InvalidOperation:
        return False


def status_of(text: str, at: str, letters: Mapping[str, str] | None = None) -> str:
    """What a status says; letters that a file declares come first."""
    mark = text.strip().strip('"')
    declared = {**STATUSES, **(letters or {})}
    if mark in declared or mark.upper() in declared:
        return declared.get(mark, declared.get(mark.upper(), SHOWN))
    if mark.isdecimal() and mark.isascii() and int(mark[:4]) in STATUS_NUMBERS:
        return STATUS_NUMBERS[int(mark[:4])]
    raise InvalidInput(
        f"{at}: the status {mark[:20]!r} is not known; it is one of {' '.join(STATUSES)}, or a "
        "number from 1 to 14"
    )


def table_of(
    where: str,
    variables: Sequence[str],
    lines: Sequence[Line],
    reading: Reading,
    *,
    trees: Mapping[str, Hierarchy] | None = None,
    totals: Mapping[str, str] | None = None,
    magnitude: str = "",
    complete: bool = False,
    notes: Iterable[str] = (),
) -> PublishedTable:
    """A published table of lines.

    Parameters
    ----------
    trees, totals
        What the files say of the codes; `reading` comes first.
    magnitude
        What to say if figures are no counts.
    complete
        Whether innermost cells that are not there hold nobody.
    """
    if len(set(variables)) < len(variables) or not all(variables):
        raise InvalidInput(f"{where}: the variables {list(variables)} need names of their own")
    known = {**(totals or {}), **reading.totals}
    lines = [_with_totals(line, variables, known) for line in lines]
    placed = _placed(
        where, variables, lines, reading, {**(trees or {}), **reading.hierarchies}, known
    )
    entries: dict[Cell, Entry] = {}
    flags: dict[Cell, str] = {}
    truths: dict[Cell, int] = {}
    for line in lines:
        if line.codes in entries:
            raise InvalidInput(f"{line.at}: the cell {line.codes} stands twice; give it once")
        entry, stored = _entry(line, magnitude)
        entries[line.codes] = entry
        if line.status in (PRIMARY, SECONDARY):
            flags[line.codes] = line.status
        if stored is not None:
            truths[line.codes] = stored
    remarks = list(notes)
    left_out = list(absent_leaves(where, placed, entries)) if complete else []
    if left_out:
        entries |= dict.fromkeys(left_out, ZERO)
        remarks.append(f"{len(left_out):,} cells that the file leaves out hold nobody")
    table = PublishedTable(
        where=where,
        hierarchies=placed,
        entries=entries,
        flags=flags,
        truths=truths,
        notes=tuple(remarks),
    )
    confirmed = check_additive(table)
    for name, tree in placed.items():
        guessed = (
            name not in known and name not in (trees or {}) and name not in reading.hierarchies
        )
        if tree.total is not None and guessed and name not in confirmed:
            raise InvalidInput(
                f"{where}: {tree.total!r} may be the total of {name!r}, but no line shows all its "
                f"parts; say that it is (--totals {name}={tree.total}), or give the hierarchy "
                f"(--hierarchy {name}=FILE)"
            )
    return table


def _with_totals(line: Line, variables: Sequence[str], totals: Mapping[str, str]) -> Line:
    """Codes without the blanks around them; an empty one is the total."""
    codes = tuple(
        code.strip() or totals.get(name, "Total")
        for name, code in zip(variables, line.codes, strict=True)
    )
    return Line(codes, line.figure, line.status, line.at)


def _entry(line: Line, magnitude: str) -> tuple[Entry, int | None]:
    """What a cell shows, and the count that the file stores although it is hidden."""
    figure = line.figure.strip()
    count = whole_count(figure)
    hidden = line.status in (PRIMARY, SECONDARY)
    if count is None and figure.lower() not in HIDDEN_MARKS | ZERO_MARKS | {"na", "nan"}:
        raise InvalidInput(
            f"{line.at}: the figure of the cell {line.codes} is no count (a whole number, 0 or "
            f"more); {magnitude or 'give the column with the counts (--count)'}"
        )
    if hidden or figure.lower() in HIDDEN_MARKS:
        return HIDDEN, count
    if line.status == UNSTATED:
        return ">=0", None
    if figure.lower() in ("na", "nan"):
        raise InvalidInput(
            f"{line.at}: the cell {line.codes} has no count, and its status says that it is shown; "
            "give its count, or the status of a hidden cell"
        )
    if count is None or line.status == EMPTY:
        if count:
            raise InvalidInput(
                f"{line.at}: the cell {line.codes} is said to be empty but has a count; correct "
                "one of them"
            )
        return ZERO, None
    return count, None


def _placed(
    where: str,
    variables: Sequence[str],
    lines: Sequence[Line],
    reading: Reading,
    trees: Mapping[str, Any],
    totals: Mapping[str, str],
) -> dict[str, Hierarchy]:
    """The tree of each variable, with its total and the codes that the table has."""
    odd = next((name for name in reading.hierarchies if name not in variables), None)
    if odd is not None:
        raise InvalidInput(
            f"{where}: there is no variable {odd!r} to have a hierarchy; it has "
            f"{', '.join(variables)}"
        )
    placed = {}
    for place, name in enumerate(variables):
        codes = list(dict.fromkeys(line.codes[place] for line in lines))
        tree = hierarchy_of(trees[name], codes) if name in trees else None
        total = _total(name, codes, totals, tree)
        below = [code for code in codes if code != total]
        if not below:
            raise InvalidInput(f"{where}: the variable {name!r} has no code but its total")
        if tree is None:
            placed[name] = Hierarchy(below, total=total)
            continue
        known = {str(code) for code, _ in tree.parents}
        lost = next((code for code in below if code not in known), None)
        if lost is not None:
            raise InvalidInput(
                f"{where}: the code {lost!r} of {name!r} is not in its hierarchy; add it there, or "
                "name it as the total (--totals)"
            )
        placed[name] = tree.with_total(None).restricted(below).with_total(total)
    return placed


def _total(
    name: str, codes: Sequence[str], totals: Mapping[str, str], tree: Hierarchy | None
) -> str | None:
    if name in totals:
        return totals[name] if totals[name] in codes else None
    inside = set() if tree is None else {code for code, _ in tree.parents}
    if tree is not None and tree.total in codes:
        return str(tree.total)
    return next((code for code in codes if names_a_total(code) and code not in inside), None)


def absent_leaves(
    where: str, trees: Mapping[str, Hierarchy], entries: Mapping[Cell, Entry]
) -> Iterator[Cell]:
    """The innermost cells that a table does not have."""
    leaves = [tree.leaves for tree in trees.values()]
    check_cells(prod(map(len, leaves)), where)
    return (cell for cell in product(*leaves) if cell not in entries)


def check_additive(table: PublishedTable) -> set[str]:
    """The variables whose sums are seen to hold on a line at least, where all parts are shown.

    Totals that are not the sum of their parts are refused.
    """
    confirmed: set[str] = set()
    for cell, name, parts in _sums(table):
        shown = [0 if entry == ZERO else entry for entry in (table.entries.get(cell), *parts)]
        counts = [entry for entry in shown if isinstance(entry, int)]
        if len(counts) < len(shown):
            continue
        confirmed.add(name)
        if counts[0] != sum(counts[1:]):
            raise InvalidInput(
                f"{table.where}: the cell {cell} is not the sum of the cells right below it "
                f"in {name!r}; correct the file, or give the hierarchy of {name!r} "
                f"(--hierarchy {name}=FILE) if its codes stand below each other"
            )
    return confirmed


def _sums(table: PublishedTable) -> Iterator[tuple[Cell, str, list[Entry]]]:
    """Each cell whose code of a variable has codes below it, with what the cells there show."""
    for place, (name, tree) in enumerate(table.hierarchies.items()):
        below: dict[object, list[object]] = {}
        for code, parent in tree.parents:
            below.setdefault(tree.total if parent is None else parent, []).append(code)
        for cell in table.entries:
            if cell[place] in below:
                parts = [(*cell[:place], code, *cell[place + 1 :]) for code in below[cell[place]]]
                yield cell, name, [table.entries.get(part, HIDDEN) for part in parts]
