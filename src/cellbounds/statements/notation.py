"""The notation of statements: ``[A,B]``, ``[A,B]~5``, ``[A,B]<5``, ``[Y|A,B]@2``, ``N``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cellbounds.errors import InvalidInput
from cellbounds.statements.numbers import LONGEST, checked_digits

__all__ = ["Spoken", "parse"]

_TOKEN = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\[\]|,@~<"]+)|([\[\]|,@~<]))')


@dataclass(frozen=True, slots=True)
class Spoken:
    """A statement as it was asked for. The total names nothing.

    Attributes
    ----------
    responses, given
        The variables; a margin has no givens (None), proportions of the whole table have none ().
    digits
        The decimals of rates.
    base
        Counts of a margin are rounded to multiples of this.
    below
        Counts of a margin below this are shown as such.
    """

    responses: tuple[str, ...]
    given: tuple[str, ...] | None
    digits: int | None
    base: int | None = None
    below: int | None = None

    @property
    def is_total(self) -> bool:
        """Whether this asks for N."""
        return not self.responses

    @property
    def is_margin(self) -> bool:
        """Whether this asks for a margin."""
        return bool(self.responses) and self.given is None


def parse(text: str) -> Spoken:
    """Read one statement.

    ===============  =============================================================
    ``N``            the total
    ``[A,B]``        a margin
    ``[A,B]~5``      a margin, counts rounded to multiples of 5
    ``[A,B]<5``      a margin, counts below 5 (zeros too) shown as "<5"
    ``[Y|A,B]``      rates of Y given A and B, as exact fractions
    ``[Y|A,B]@2``    the same to two decimals
    ``[A,B|]@2``     joint proportions of the grand total, to two decimals
    ===============  =============================================================

    Names that contain one of ``, | [ ] @ ~ <`` stand in double quotes, a quote doubled.

    Examples
    --------
    >>> parse("[education|county]@2")
    Spoken(responses=('education',), given=('county',), digits=2, base=None, below=None)
    >>> parse('["age, years"]~5')
    Spoken(responses=('age, years',), given=None, digits=None, base=5, below=None)
    """
    if not isinstance(text, str):
        raise InvalidInput(f"statement {text!r} is not text; write it like '[Y|A,B]@2'")
    if text.strip() == "N":
        return Spoken((), None, None)
    tokens = _tokens(text)
    if not tokens or tokens.pop(0) != ("mark", "["):
        raise _unreadable(text, "it does not begin with '['")
    responses, mark = _names(tokens, text)
    given: tuple[str, ...] | None = None
    if mark == "|":
        given, mark = _names(tokens, text)
    if mark != "]":
        raise _unreadable(text, "']' is missing")
    if not responses:
        raise _unreadable(text, "it names no variable")
    mark, number = _suffix(tokens, text)
    if given is None and mark == "@":
        raise InvalidInput(
            f"statement {text!r}: decimals belong to rates; margins are published as counts (write "
            "[A,B|]@2 for proportions of the grand total)"
        )
    if given is not None and mark in ("~", "<"):
        raise InvalidInput(
            f"statement {text!r}: {mark!r} belongs to margins; rates are published to a number of "
            "decimals, such as [Y|A,B]@2"
        )
    return Spoken(
        responses,
        given,
        checked_digits(number, f"statement {text!r}") if mark == "@" else None,
        base=number if mark == "~" else None,
        below=number if mark == "<" else None,
    )


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    place = 0
    stripped = text.rstrip()
    while place < len(stripped):
        match = _TOKEN.match(stripped, place)
        if not match:
            raise _unreadable(text, f"a quote is not closed at {stripped[place:]!r}")
        quoted, plain, mark = match.groups()
        if quoted is not None:
            tokens.append(("name", quoted.replace('""', '"')))
        elif plain is not None:
            tokens.append(("name", plain.strip()))
        else:
            tokens.append(("mark", mark))
        place = match.end()
    return tokens


def _names(tokens: list[tuple[str, str]], text: str) -> tuple[tuple[str, ...], str]:
    names: list[str] = []
    while tokens:
        kind, value = tokens.pop(0)
        if kind == "name":
            names.append(value)
            if not tokens:
                break
            kind, value = tokens.pop(0)
            if kind == "name":
                raise _unreadable(text, f"a comma is missing before {value!r}")
            if value in "@~<":
                raise _unquoted(text, value)
            if value != ",":
                return tuple(names), value
        elif value in "]|" and not names:
            return (), value
        elif value in "@~<":
            raise _unquoted(text, value)
        else:
            raise _unreadable(text, f"a name is missing before {value!r}")
    raise _unreadable(text, "']' is missing")


def _suffix(tokens: list[tuple[str, str]], text: str) -> tuple[str, int]:
    """The mark after the bracket and its number; no mark if there is none."""
    if not tokens:
        return "", 0
    marks = {("mark", mark): mark for mark in "@~<"}
    mark = marks.get(tokens[0], "")
    if not mark or len(tokens) != 2 or not re.fullmatch("[0-9]+", tokens[1][1]):
        raise _unreadable(text, "after ']' only '@', '~' or '<' and a whole number may follow")
    if len(tokens[1][1]) > LONGEST:
        raise _unreadable(text, "the number after ']' is too long")
    number = int(tokens[1][1])
    if mark == "~" and number < 2:
        raise InvalidInput(
            f"statement {text!r}: counts cannot be rounded to multiples of {number}; give a base "
            "of 2 or more, or leave it out for exact counts"
        )
    if mark == "<" and number < 2:
        raise InvalidInput(
            f"statement {text!r}: '<{number}' hides nothing; give a threshold of 2 or more, or "
            "leave it out for exact counts"
        )
    return mark, number


def _unquoted(text: str, mark: str) -> InvalidInput:
    return _unreadable(
        text, f"{mark!r} stands inside the brackets; put a name that contains it in double quotes"
    )


def _unreadable(text: str, problem: str) -> InvalidInput:
    return InvalidInput(
        f"statement {text!r}: {problem}; write [A,B] for a margin ([A,B]~5 rounded, [A,B]<5 small "
        "counts hidden), [Y|A,B] for exact rates, [Y|A,B]@2 for rates to two decimals, N for the "
        "total"
    )
