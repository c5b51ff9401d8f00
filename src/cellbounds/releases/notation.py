"""The notation of statements: ``[A,B]``, ``[Y|A,B]@2``, ``N``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cellbounds.errors import InvalidInput
from cellbounds.releases.numbers import checked_digits

__all__ = ["Spoken", "parse"]

_TOKEN = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\[\]|,@"]+)|([\[\]|,@]))')


@dataclass(frozen=True, slots=True)
class Spoken:
    """A statement as it was asked for: responses, givens, decimals. The total names nothing."""

    responses: tuple[str, ...]
    given: tuple[str, ...] | None
    digits: int | None

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

    Names that contain a comma, a bar or a bracket stand in double quotes, a quote doubled.

    Examples
    --------
    >>> parse("[education|county]@2")
    Spoken(responses=('education',), given=('county',), digits=2)
    >>> parse('["age, years"]')
    Spoken(responses=('age, years',), given=None, digits=None)
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
    return Spoken(responses, given, _digits(tokens, text, given is None))


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
            if value != ",":
                return tuple(names), value
        elif value in "]|" and not names:
            return (), value
        else:
            raise _unreadable(text, f"a name is missing before {value!r}")
    raise _unreadable(text, "']' is missing")


def _digits(tokens: list[tuple[str, str]], text: str, margin: bool) -> int | None:
    if not tokens:
        return None
    if tokens[0] != ("mark", "@") or len(tokens) != 2 or not tokens[1][1].isdecimal():
        raise _unreadable(text, "after ']' only '@' and a number of decimals may follow")
    if margin:
        raise InvalidInput(
            f"statement {text!r}: decimals belong to rates; margins are published as counts"
        )
    return checked_digits(int(tokens[1][1][:9]), f"statement {text!r}")


def _unreadable(text: str, problem: str) -> InvalidInput:
    return InvalidInput(
        f"statement {text!r}: {problem}; write [A,B] for a margin, [Y|A,B] for exact rates, "
        "[Y|A,B]@2 for rates to two decimals, N for the total"
    )
