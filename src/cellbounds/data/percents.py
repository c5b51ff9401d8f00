"""Percents beside counts: what says that they are, and what they are percents of.

As for totals, a name or a sign and the arithmetic are both needed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cellbounds.data.domain import Label
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.published import ZERO, Cell, Entry, Percents
from cellbounds.errors import InvalidInput
from cellbounds.text import counted

MOST_DECIMALS = 9
"""Decimals that are read: floats have more, the last of which are noise."""

MOST_VARIABLES = 6
"""Variables of a table in all of whose combinations the base of percents is looked for."""

_WORDS = (
    "% %s percent percents percentage percentages pct pcts pcnt per-cent prozent pourcent "
    "pourcentage porcentaje percentuale procent prosent andel anteil share proportion"
)
_SAYS = re.compile(
    rf"per cent|(?<!\w)(?:{'|'.join(map(re.escape, _WORDS.split()))})(?!\w)|%", re.IGNORECASE
)
_FIGURE = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s?%?")
_BESIDE = re.compile(r"(.*\S)\s*\(\s*([0-9]+(?:[.,][0-9]+)?\s?%|[0-9]+[.,][0-9]+|[0-9]{2,3})\s*\)")
_BRIEF = re.compile(r"(.*\S)\s*\(\s*([0-9])\s*\)")
_CLASS = re.compile(r"[0-9]\s*(?:%|per\s?cent)", re.IGNORECASE)
_ROUNDINGS = ("nearest", "half-even")
SURE = 2
"""Figures that confirm what percents are of, where the table does not refute that it is another."""

_SHIFTS = {"percent": 100, "proportion": 1}


def names_percents(label: Label) -> bool:
    """Whether a label says that it stands above percents.

    Examples
    --------
    >>> [names_percents(label) for label in ("%", "Men (%)", "Row pct", "Pour cent", "Percy")]
    [True, True, True, False, False]

    A class is none: ``"10-20 %"``.
    """
    text = str(label)
    return _SAYS.search(text) is not None and _CLASS.search(text) is None


def without_percents(label: str) -> str:
    """What is left of a label without the words for percents: the label of the counts, perhaps.

    Examples
    --------
    >>> [without_percents(label) for label in ("Men (%)", "% Men", "Men, per cent", "%")]
    ['Men', 'Men', 'Men', '']
    """
    return _SAYS.sub("", label).strip(" \u00a0()[],:;-–/")


def figure_of(text: str) -> str | None:
    """A percent as plain digits; None if it is none.

    Examples
    --------
    >>> [figure_of(text) for text in ("12.5", "12,5 %", "7%", "x", "<1")]
    ['12.5', '12.5', '7', None, None]
    """
    figure = _FIGURE.fullmatch(text.strip().replace("\u00a0", " ").replace("\u202f", " "))
    return None if figure is None else figure[1].replace(",", ".")


def beside(text: str, *, brief: bool = False) -> tuple[str, str] | None:
    """A count or a mark, and the percent in brackets behind it; None if there is none.

    A single digit is the mark of a footnote unless others in the table are percents (`brief`).

    Examples
    --------
    >>> beside("12 (5.3%)"), beside("x (0,4)"), beside("12 (1)")
    (('12', '5.3%'), ('x', '0,4'), None)
    """
    found = _BESIDE.fullmatch(text.strip())
    if found is None and brief:
        found = _BRIEF.fullmatch(text.strip())
    return None if found is None else (found[1], found[2])


Base = tuple[Label | None, ...]
"""The cell that percents are of."""


@dataclass(frozen=True, slots=True)
class SheetPercents:
    """Percents of a sheet before it is known what they are of.

    Attributes
    ----------
    label
        What stands above them.
    named
        Whether a name or a sign says that they are percents.
    figures
        The text of each by the cell of its count.
    """

    label: str
    named: bool
    figures: Mapping[Any, str]


def find_base(
    percents: SheetPercents,
    hierarchies: Mapping[str, Hierarchy],
    entries: Mapping[Cell, Entry],
    where: str,
    told: Sequence[str] | None = None,
) -> tuple[Percents, int] | None:
    """What percents are of, and how many cells confirm it; None if they are none, it seems.

    Parameters
    ----------
    told
        The variables within whose levels they are said to add up to 100; none of everybody.

    Raises
    ------
    InvalidInput
        If only the name or only the arithmetic says so, if it says several things, or if percents
        contradict the counts.
    """
    figures = _read(percents)
    if not figures:
        return None
    names = tuple(hierarchies)
    fitting: list[tuple[Percents, int]] = []
    possible: dict[tuple[str, ...], Percents] = {}
    differing: list[Cell] = []
    for within in [tuple(told)] if told is not None else _bases(names):
        for unit, rounding in itertools.product(_SHIFTS, _ROUNDINGS):
            read = Percents(percents.label, within, figures, unit, rounding)
            confirmed, wrong = _compared(read, hierarchies, entries)
            if wrong is None and (confirmed or told is not None):
                fitting.append((read, confirmed))
                possible.pop(within, None)
                break
            if wrong is None and unit == "percent":
                possible[within] = read
            differing += [wrong] if wrong is not None and told is not None else []
    if max((confirmed for _, confirmed in fitting), default=0) < SURE and told is None:
        # A single figure may fit by chance.
        fitting += [(read, 0) for read in possible.values()] if fitting else []
    what = f"{where}: the percents {percents.label!r}"
    if told is not None and not fitting:
        raise InvalidInput(
            f"{what} are said to be within {' x '.join(told) or 'everybody'}, but that of "
            f"{differing[0]} is not; correct the table, or say what they are (--percents)"
        )
    if not percents.named and told is None:
        if max((confirmed for _, confirmed in fitting), default=0) < 2:
            return None
        raise InvalidInput(
            f"{where}: {percents.label!r} is {_words(fitting[0][0])} on every line that can be "
            f"checked, but nothing says that it holds percents; say so: {_options(fitting)}"
        )
    if not fitting:
        raise InvalidInput(
            f"{what} are no shares of the counts beside them, or no line shows enough to confirm "
            "it; say within which variables they add up to 100 (--percents NAME,... or --percents "
            "total), or leave them out (--percents none)"
        )
    # Percents of totals alone are the same whichever variable they are within.
    meant = [
        [_printed(reading.base_of(cell, names), hierarchies) for cell in figures]
        for reading, _ in fitting
    ]
    if any(bases != meant[0] for bases in meant):
        raise InvalidInput(
            f"{what} may be {' or '.join(_words(reading) for reading, _ in fitting)}; say which: "
            f"{_options(fitting)}"
        )
    return fitting[0]


def _bases(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """What percents may be within: all but one variable first, everybody last."""
    sizes = range(len(names) - 1, -1, -1) if len(names) <= MOST_VARIABLES else [len(names) - 1, 0]
    for size in sizes:
        yield from itertools.combinations(names, size)


def _words(percents: Percents) -> str:
    return f"a percentage within {' x '.join(percents.within) or 'everybody'}"


def _options(fitting: Sequence[tuple[Percents, int]]) -> str:
    options = [f"--percents {','.join(reading.within) or 'total'}" for reading, _ in fitting]
    return " or ".join([*options, "--percents none"])


def _read(percents: SheetPercents) -> dict[Cell, str]:
    """The figures with the decimals that each was printed with.

    Programs leave zeros at the end out, unless the table prints one: a figure then has as many
    decimals as others of each of its levels have, as columns may differ.
    """
    read = {cell: figure_of(text) for cell, text in percents.figures.items()}
    plain = {cell: text for cell, text in read.items() if text is not None}
    decimals = {cell: len(text.partition(".")[2]) for cell, text in plain.items()}
    if not any("." in text and text.endswith("0") for text in plain.values()):
        most: dict[tuple[int, Label], int] = {}
        for cell, count in decimals.items():
            for place in enumerate(cell):
                most[place] = max(most.get(place, 0), count)
        decimals = {cell: min(most[place] for place in enumerate(cell)) for cell in plain}
    return {
        cell: str(Decimal(text).quantize(Decimal(1).scaleb(-min(decimals[cell], MOST_DECIMALS))))
        for cell, text in plain.items()
    }


def _compared(
    percents: Percents, hierarchies: Mapping[str, Hierarchy], entries: Mapping[Cell, Entry]
) -> tuple[int, Cell | None]:
    """How many shares between 0 and 1 are printed so, and the first cell that is not."""
    confirmed = 0
    for cell, text in percents.figures.items():
        part = _count(entries.get(cell))
        whole = _whole(percents.base_of(cell, hierarchies), hierarchies, entries)
        if part is None or not whole:
            continue
        units = _SHIFTS[percents.unit] * 10 ** len(text.partition(".")[2])
        figure, rest = divmod(units * part, whole)
        odd = figure % 2 if percents.rounding == "half-even" else 1
        figure += 2 * rest + odd > whole
        if figure != int(text.replace(".", "")):
            return confirmed, cell
        confirmed += 0 < part < whole
    return confirmed, None


def _count(entry: Entry) -> int | None:
    return 0 if entry == ZERO else entry if isinstance(entry, int) else None


def _printed(base: Base, hierarchies: Mapping[str, Hierarchy]) -> Base:
    """The cell with the totals as they are printed; None where none is."""
    return tuple(
        tree.total if code is None else code
        for code, tree in zip(base, hierarchies.values(), strict=True)
    )


def _whole(
    base: Base, hierarchies: Mapping[str, Hierarchy], entries: Mapping[Cell, Entry]
) -> int | None:
    """The count of a cell in which None stands for all codes: printed, or the sum of its parts.

    Where there is a total of some variables alone, the parts are those of the others.
    """
    ways = [
        [(code,)] if code is not None else [(tree.total,), tree.leaves][tree.total is None :]
        for code, tree in zip(base, hierarchies.values(), strict=True)
    ]
    for parts in itertools.product(*ways):
        counts = [_count(entries.get(cell)) for cell in itertools.product(*parts)]
        shown = [count for count in counts if count is not None]
        if len(shown) == len(counts):
            return sum(shown)
    return None


def said_of(percents: Percents, confirmed: int) -> str:
    """What was understood of percents, for people."""
    shown = sorted({len(text.partition(".")[2]) for text in percents.figures.values()})
    decimals = " or ".join([*map(str, shown[:-1]), counted(shown[-1], "decimal")])
    within = " x ".join(percents.within)
    base = f"within each {within}" if within else "of everybody"
    return (
        f"{percents.label!r}: percents {base}, {decimals}, "
        f"{percents.rounding}, as {counted(confirmed, 'cell')} confirm"
        + ("s" if confirmed == 1 else "")
    )
