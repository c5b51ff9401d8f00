"""Totals in tables: a level is one if its name says so and the arithmetic confirms it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cellbounds.data.domain import Label
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.published import Cell, Entry
from cellbounds.errors import InvalidInput

_WORDS = (
    "total totals totale totaal totalt totali totales tot all alle sum sums summe suma somme "
    "insgesamt gesamt zusammen ensemble samlet celkem razem ogółem összesen yhteensä ukupno skupaj "
    "kokku kopā toplam samtals spolu tous toutes σύνολο итого всего 合計 总计 總計 합계 _t t_total"
)
_NAMES = frozenset((*_WORDS.split(), "", "i alt", "iš viso", "grand total", "both sexes", "total:"))
UNLIKELY = 1000
"""One in so many for each code: sums that are as likely by chance as that are looked into."""

_BEGINNINGS = re.compile(r"(?:grand )?(?:total|gesamt|ensemble|totale|all|alle)(?:[\s_:,(].*)?")
_FOOTNOTE = re.compile(r"(?<=\w)\s*(?:\*+|[†‡§¹²³⁴⁵⁶⁷⁸⁹⁰]+|\[[a-z0-9]{1,2}\]|\([0-9]\))$")


@lru_cache(maxsize=10_000, typed=True)
def names_a_total(label: Label) -> bool:
    """Whether a label says that it is a total.

    Examples
    --------
    >>> [names_a_total(label) for label in ("Total", "All ages", "I ALT*", "Allier", "Total_EAST")]
    [True, True, True, False, True]
    """
    text = _FOOTNOTE.sub("", " ".join(str(label).casefold().split()))
    return text in _NAMES or _BEGINNINGS.fullmatch(text) is not None


def check_told(where: str, what: str, told: Iterable[str], names: Sequence[str]) -> None:
    """Refuse what is told of a variable that the table does not have."""
    for name in told:
        if name not in names:
            raise InvalidInput(
                f"{where}: {what} {name!r}, which is no variable; the variables are "
                f"{', '.join(map(repr, names))}"
            )


@dataclass(frozen=True, slots=True)
class Lines:
    """The entries of a table line by line along one variable."""

    name: str
    axis: int
    by_others: Mapping[Cell, Mapping[Label, Entry]]

    @classmethod
    def along(cls, names: Sequence[str], axis: int, entries: Mapping[Cell, Entry]) -> Lines:
        """The lines along the variable of an axis."""
        lines: dict[Cell, dict[Label, Entry]] = {}
        for cell, entry in entries.items():
            lines.setdefault((*cell[:axis], *cell[axis + 1 :]), {})[cell[axis]] = entry
        return cls(names[axis], axis, lines)

    def cell(self, others: Cell, code: Label) -> Cell:
        """The cell of a line with this code."""
        return (*others[: self.axis], code, *others[self.axis :])


@dataclass(slots=True)
class Sums:
    """How a total compares with its parts on the lines of a table.

    Attributes
    ----------
    confirmed, positive
        Lines whose parts are all shown and add up; those of them that do not add up to 0.
    differing
        Cells of totals whose parts are all shown, or part of which is shown and already more.
    shown_sums, other_sums
        Lines with parts that are not shown: the total is the sum of those that are, or is not.
    """

    confirmed: int = 0
    positive: int = 0
    shown_sums: int = 0
    other_sums: int = 0
    differing: list[Cell] | None = None


def sums_of(lines: Lines, total: Label, parts: Sequence[Label], tolerance: int = 0) -> Sums:
    """Compare a total with its parts, on every line.

    Parts that a line does not list are taken to be empty here: where the total is the sum of those
    that are listed, they are.
    """
    found = Sums(differing=[])
    for others, line in lines.by_others.items():
        whole = line.get(total)
        if not isinstance(whole, int):
            continue
        listed = [line[part] for part in parts if part in line]
        shown = [entry for entry in listed if isinstance(entry, int)]
        zeros = sum(entry == "0-0" for entry in listed)
        if not listed:
            continue
        gap = whole - sum(shown)
        complete = len(shown) + zeros == len(listed)
        if not complete:
            found.shown_sums += gap == 0
            found.other_sums += gap != 0
        if (abs(gap) > tolerance if complete else gap < -tolerance) and (
            len(listed) == len(parts) or gap < 0
        ):
            assert found.differing is not None
            found.differing.append(lines.cell(others, total))
        elif complete and abs(gap) <= tolerance:
            found.confirmed += 1
            found.positive += whole > 0
    return found


def tolerance_of(base: int | None, parts: int) -> int:
    """How far a rounded total may be from the sum of its rounded parts."""
    return 0 if base is None else base * (parts + 1)


def find_total(
    lines: Lines, codes: Sequence[Label], where: str, *, base: int | None, multiples: int
) -> Label | None:
    """The code that is the total of all others along a variable; None if there is none.

    Raises
    ------
    InvalidInput
        If only the name or only the arithmetic says so, or a total contradicts its parts.
    """
    named = [code for code in codes if names_a_total(code)]
    if len(named) > 1:
        listed = ", ".join(map(repr, named))
        raise InvalidInput(
            f"{where}: {listed} of {lines.name!r} are all called totals; say which one is the "
            f"total of all others: --totals {lines.name}=NAME (totals={{...}})"
        )
    for total in named:
        parts = [code for code in codes if code != total]
        confirm_total(lines, total, parts, where, base=base, multiples=multiples)
        return total
    if len(codes) > 2 and len(lines.by_others) > 1 and base is None:
        for total in (codes[0], codes[-1]):
            found = sums_of(lines, total, [code for code in codes if code != total])
            if found.positive > 1 and not found.differing:
                raise InvalidInput(
                    f"{where}: {total!r} of {lines.name!r} is the sum of the other levels on every "
                    "line that can be checked, but its name does not say that it is a total; say "
                    f"so: --totals {lines.name}={total} (totals={{...}}), or --no-totals "
                    "(totals=False)"
                )
    if base is None:
        check_nested(lines, codes, where)
    return None


def check_nested(lines: Lines, codes: Sequence[Label], where: str, absent: Entry = None) -> None:
    """Refuse codes that seem to be sums of those that follow them, or stand before them.

    Whoever takes them for levels of their own counts people twice. `absent` is what cells hold that
    a line does not list.

    Raises
    ------
    InvalidInput
        If the sums are hardly there by chance.
    """
    for order in (codes, codes[::-1]):
        family = _seeming_family(lines, order, absent)
        if family:
            code, parts = family
            listed = ", ".join(map(repr, parts[:4])) + (", ..." if len(parts) > 4 else "")
            raise InvalidInput(
                f"{where}: {code!r} of {lines.name!r} is the sum of {listed} on every line that "
                "can be checked, so that people would count twice; give the hierarchy of its codes "
                f"(--hierarchy {lines.name}=FILE), or --no-totals (totals=False) if that is chance"
            )


def _seeming_family(
    lines: Lines, order: Sequence[Label], absent: Entry
) -> tuple[Label, list[Label]] | None:
    """A code with the parts that follow it, if the codes in this order are a tree, it seems.

    From the end on, each code takes the least number of those that stand free after it and whose
    sum it is. That a sum is there by chance is as likely as one count of those that are usual.
    """
    counts = {
        code: [_whole_count(line.get(code, absent)) for line in lines.by_others.values()]
        for code in order
    }
    free: list[Label] = []  # the next code is the last one
    chances, first = 1.0, None
    for code in reversed(order):
        own, sums, taken = counts[code], [0] * len(lines.by_others), 0
        usable = [place for place, count in enumerate(own) if count is not None]
        for number, part in enumerate(reversed(free), start=1):
            of_part = counts[part]
            usable = [place for place in usable if of_part[place] is not None]
            sums = [a + b if b is not None else a for a, b in zip(sums, of_part, strict=True)]
            if not usable or any(sums[place] > (own[place] or 0) for place in usable):
                break
            if all(sums[place] == own[place] for place in usable):
                taken = number * any(own[place] for place in usable)
                break
        if taken:
            parts = free[: -taken - 1 : -1]
            if taken > 1:
                first = (code, parts)
                for place in usable:
                    chances *= 1 + (own[place] or 0) / taken
                    if chances > UNLIKELY * len(order):
                        return first
            del free[-taken:]
        free.append(code)
    return None


def _whole_count(entry: Entry) -> int | None:
    return 0 if entry == "0-0" else entry if isinstance(entry, int) else None


def confirm_total(
    lines: Lines,
    total: Label,
    parts: Sequence[Label],
    where: str,
    *,
    base: int | None,
    multiples: int,
    told: bool = False,
) -> Sums:
    """Check that a code is the sum of its parts, and that the table shows it at least once.

    `multiples` is the base that figures seem to be rounded to; `told`: somebody says that it is a
    total, which need not be seen.
    """
    found = sums_of(lines, total, parts, tolerance_of(base, len(parts)))
    if found.differing:
        hint, others = "", len(found.differing) - 1
        more = f", and so do {others} more" if others else ""
        if multiples > 1 and base is None:
            hint = (
                f" (all figures are multiples of {multiples}: if they are rounded, give --base "
                f"{multiples})"
            )
        raise InvalidInput(
            f"{where}: the cell {found.differing[0]} is called a total but differs from the sum of "
            f"its parts{more}{hint}; correct the table, say how it is rounded (--base N), give the "
            "hierarchy of its codes (--hierarchy NAME=FILE), or --no-totals (totals=False) if it "
            "is none"
        )
    if not found.confirmed and not told:
        raise InvalidInput(
            f"{where}: {total!r} of {lines.name!r} is called a total, but no line shows all of its "
            f"parts to confirm it; say so: --totals {lines.name}={total} (totals={{...}}), or "
            "--no-totals (totals=False)"
        )
    return found


def confirm_tree(
    lines: Lines, tree: Hierarchy, where: str, *, base: int | None, multiples: int
) -> list[Sums]:
    """Check every inner code of a hierarchy against the codes below it."""
    return [
        confirm_total(lines, code, parts, where, base=base, multiples=multiples, told=True)
        for code, parts in families(tree)
    ]


def families(tree: Hierarchy) -> Iterator[tuple[Label, tuple[Label, ...]]]:
    """Every inner code with the codes right below it, the total first."""
    below: dict[Label | None, list[Label]] = {}
    for code, parent in tree.parents:
        below.setdefault(parent, []).append(code)
    for code, parts in below.items():
        if code is not None or tree.total is not None:
            yield (tree.total if code is None else code), tuple(parts)


def seeming_base(entries: Mapping[Cell, Entry]) -> int:
    """The base that counts seem to be rounded to; 1 if they do not.

    Eight different counts that are multiples of 3 or more are hardly there by chance.
    """
    counts = {entry for entry in entries.values() if isinstance(entry, int) and entry}
    base = math.gcd(*counts) if len(counts) >= 8 else 1
    return base if base > 2 else 1


def hierarchy_of(given: Any, codes: Sequence[Label]) -> Hierarchy:
    """A hierarchy as it is given: as such, a file, ``"prefix"``, or a nested mapping."""
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, str) and given == "prefix":
        return Hierarchy.from_prefixes([str(code) for code in codes if not names_a_total(code)])
    if isinstance(given, str | Path):
        return Hierarchy.read(given)
    if isinstance(given, Mapping):
        return Hierarchy(given)
    raise InvalidInput(
        f"a hierarchy is given as {given!r}; give a file, 'prefix' or a nested mapping"
    )
