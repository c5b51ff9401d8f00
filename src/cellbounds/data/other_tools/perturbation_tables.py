"""Perturbation tables of the cell-key method, as ptable and tau-ARGUS write them.

A line for each count i and each figure j that may be shown for it, with its probability p; the
columns are found by their names, further ones (v = j - i, cumulated probabilities) are checked or
left alone. The lines of the largest count stand for all larger ones, with the same differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from cellbounds.data.other_tools.lines import delimited_lines, read_text
from cellbounds.errors import InvalidInput

LARGEST = 10_000
"""The largest count that has lines of its own: real tables end at a few dozen."""

TOLERANCE = Fraction(1, 10**6)
"""How far the probabilities of a count, printed as decimals, may be from adding up to one."""

_NEEDED = ("i", "j", "p")


def is_ptable(text: str) -> bool:
    """Whether text begins like a perturbation table."""
    first = text.lstrip().split("\n", 1)[0]
    names = [name.strip().strip('"').lower() for name in first.replace(",", ";").split(";")]
    return set(_NEEDED) <= set(names)


def read_ptable(path: str | Path) -> dict[int, dict[int, Fraction]]:
    """The probability of each figure, by the true count, from a file."""
    return parse_ptable(read_text(path), str(path))


def parse_ptable(text: str, where: str) -> dict[int, dict[int, Fraction]]:
    r"""The probability of each figure, by the true count.

    Probabilities are printed with finitely many decimals: those of a count are divided by their
    sum, which has to be one to six decimals.

    Examples
    --------
    >>> parse_ptable("i;j;p\n0;0;1\n1;0;0.25\n1;2;0.75\n", "table")[1]
    {0: Fraction(1, 4), 2: Fraction(3, 4)}
    """
    header, *lines = delimited_lines(text, where)
    names = [name.strip().lower() for name in header]
    if not is_ptable(text) or len(set(names)) < len(names):
        raise InvalidInput(
            f"{where} is no perturbation table: its first line is {';'.join(header)[:60]!r}; it "
            "needs the columns i (true count), j (published), p (probability), each once"
        )
    places = [names.index(name) for name in _NEEDED]
    law: dict[int, dict[int, Fraction]] = {}
    for number, line in enumerate(lines, start=2):
        at = f"{where}, line {number}"
        if len(line) != len(header):
            raise InvalidInput(
                f"{at}: {len(line)} fields, but the header has {len(header)}; the file may be cut "
                "off: fetch or write it again"
            )
        _check_kind(dict(zip(names, line, strict=True)), at)
        count, shown, chance = (line[place].strip() for place in places)
        true, figure = _whole(count, f"{at}: i"), _whole(shown, f"{at}: j")
        if figure in law.setdefault(true, {}):
            raise InvalidInput(f"{at}: i = {true}, j = {figure} stands twice; give each once")
        law[true][figure] = _chance(chance, at)
    return _checked(law, where)


def _check_kind(line: Mapping[str, str], at: str) -> None:
    """Tables for magnitudes say for which values they are, and differ from those for counts."""
    kind = line.get("type", "all").strip().lower()
    if kind not in ("all", "cnts", ""):
        raise InvalidInput(
            f"{at}: type {kind!r} is for magnitudes; give the table for counts (type 'all')"
        )


def _whole(text: str, what: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > LARGEST:
        raise InvalidInput(
            f"{what} is {text!r}; give a whole number from 0 to {LARGEST} (tables for magnitudes "
            "have others, and are not read)"
        )
    return int(text)


def _chance(text: str, at: str) -> Fraction:
    try:
        number = Decimal(text.replace(",", "."))
        value = Fraction(number) if number.is_finite() and abs(number.adjusted()) < 400 else None
    except InvalidOperation:
        value = None
    if value is None or not 0 <= value <= 1:
        raise InvalidInput(f"{at}: p is {text!r}; give a probability between 0 and 1")
    return value


def _checked(law: dict[int, dict[int, Fraction]], where: str) -> dict[int, dict[int, Fraction]]:
    if sorted(law) != list(range(len(law))) or not law:
        raise InvalidInput(
            f"{where}: its counts i are {sorted(law)[:12]}; give lines for every count from 0 on"
        )
    exact: dict[int, dict[int, Fraction]] = {}
    for count in sorted(law):
        whole = sum(law[count].values(), start=Fraction(0))
        if abs(whole - 1) > TOLERANCE:
            raise InvalidInput(
                f"{where}: the probabilities of i = {count} add up to {float(whole):.8g}; they "
                "have to add up to 1: the file may be cut off or changed"
            )
        exact[count] = {j: p / whole for j, p in sorted(law[count].items()) if p}
    return exact
