"""The notation: ``[A,B]``, ``[A,B]~5``, ``[A,B]<5``, ``[A,B]<8~5``, ``[Y|A,B]@2``, ``N``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cellbounds.errors import InvalidInput
from cellbounds.statements.numbers import LONGEST, checked_digits

if TYPE_CHECKING:
    from cellbounds.data.domain import Domain

_TOKEN = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\[\]|,@~<"]+)|([\[\]|,@~<]))')


def names_text(names: Sequence[str]) -> str:
    """Variables as they stand in the notation, quoted where they need it."""
    return ",".join(
        name if not set(name) & set('[]|,@~<"\\ \t') else '"' + name.replace('"', '""') + '"'
        for name in names
    )


def summed_over(named: Sequence[str], domain: Domain) -> str:
    """The variables that a statement sums over, for the end of its description."""
    bases = {domain.base(name) for name in named}
    rest = [name for name in domain.names if name not in bases]
    return f"; summed over {', '.join(rest)}" if rest else ""


@dataclass(frozen=True, slots=True)
class Request:
    """A statement as it is asked for. The total names nothing.

    Attributes
    ----------
    responses, given
        The variables; a margin has no givens (None), proportions of the whole table have none ().
    digits
        The decimals of rates.
    base
        Counts of a margin are rounded to multiples of this.
    below
        Counts of a margin below this are shown as such; with a base, the others are rounded.
    noisy, noise
        Whether counts of a margin get noise; its law, which the notation does not say.
    rounding, eps, strict
        What the notation does not say: the rule for decimals or for the base, and the tolerance
        that is announced with rates.
    interval
        Whether figures are to stand for intervals, and not for what their rule would print.
    """

    responses: tuple[str, ...]
    given: tuple[str, ...] | None
    digits: int | None = None
    base: int | None = None
    below: int | None = None
    rounding: str | None = None
    eps: object = None
    strict: bool = False
    noisy: bool = False
    noise: object = None
    interval: bool = False

    @property
    def is_total(self) -> bool:
        """Whether this asks for N."""
        return not self.responses

    @property
    def is_margin(self) -> bool:
        """Whether this asks for a margin."""
        return bool(self.responses) and self.given is None

    @property
    def names(self) -> tuple[str, ...]:
        """Givens, then responses."""
        return (*(self.given or ()), *self.responses)

    @property
    def exact(self) -> bool:
        """Whether the figures are shown as they are."""
        rough = (self.digits, self.base, self.below)
        return all(rule is None for rule in rough) and not self.eps and not self.noisy

    @property
    def notation(self) -> str:
        """The statement in the notation."""
        if self.is_total:
            return "N"
        suffix = ""
        for mark, number in (("@", self.digits), ("<", self.below), ("~", self.base)):
            if number is not None:
                suffix += f"{mark}{number}"
        suffix = "~noise" if self.noisy else suffix
        given = "" if self.given is None else f"|{names_text(self.given)}"
        return f"[{names_text(self.responses)}{given}]{suffix}"

    def ruled(self, rounding: str | None, eps: object = None, strict: bool = False) -> Request:
        """The same, with what the notation does not say."""
        return replace(self, rounding=rounding, eps=eps, strict=strict)

    def renamed(self, names: Mapping[str, str]) -> Request:
        """The same of other variables."""
        given = self.given
        return replace(
            self,
            responses=tuple(names.get(name, name) for name in self.responses),
            given=None if given is None else tuple(names.get(name, name) for name in given),
        )


def expanded(request: Request, domain: Domain) -> list[Request]:
    """The margins that ``[mun+,age+]`` stands for: every level of `mun` by every level of `age`.

    A level of a variable is the variable itself, a grouping that shares out everybody, or the
    total; all totals together are N, where counts are exact. A variable whose own name ends with a
    plus is itself.

    Examples
    --------
    >>> from cellbounds import Domain, Grouping
    >>> regions = Grouping("mun", {"North": ["N1", "N2"], "South": ["S1"]})
    >>> levels = {"mun": ["N1", "N2", "S1"], "sex": ["f", "m"]}
    >>> domain = Domain(levels, groupings={"region": regions})
    >>> [one.notation for one in expanded(parse("[mun+,sex+]"), domain)]
    ['[mun,sex]', '[mun]', '[region,sex]', '[region]', '[sex]', 'N']
    """
    names = (*domain.names, *domain.groupings)
    plus = [name for name in request.names if name.endswith("+") and name not in names]
    if not plus:
        return [request]
    if request.given is not None:
        raise InvalidInput(
            f"statement {request.notation!r}: {plus[0]!r} stands for all levels of a variable and "
            "their totals, which are counts; write it in a margin, such as [A+,B+]"
        )
    choices: list[list[str | None]] = []
    for name in request.responses:
        base = name[:-1]
        if name not in plus:
            choices.append([name])
        elif base in domain.names:
            above = [
                level
                for level, grouping in domain.groupings.items()
                if grouping.of == base and domain.shares_out(level)
            ]
            above.sort(key=lambda level: -len(domain.levels(level)))
            choices.append([base, *above, None])
        else:
            known = ", ".join(map(repr, domain.names))
            raise InvalidInput(
                f"statement {request.notation!r}: {base!r} is no variable; {name!r} stands for all "
                f"levels of one, and the variables are {known}"
            )
    requests = []
    for chosen in itertools.product(*choices):
        responses = tuple(name for name in chosen if name is not None)
        if responses:
            requests.append(replace(request, responses=responses))
        elif request.exact:
            requests.append(Request((), None))
    return requests


def parse(text: str) -> Request:
    """Read one statement.

    ===============  =============================================================
    ``N``            the total
    ``[A,B]``        a margin
    ``[A,B]~5``      a margin, counts rounded to multiples of 5
    ``[A,B]~noise``  a margin, counts with noise, whose law is given besides
    ``[A,B]<5``      a margin, counts below 5 (zeros too) shown as "<5"
    ``[A,B]<8~5``    a margin, counts below 8 shown as "<8", then the others rounded to 5
    ``[Y|A,B]``      rates of Y given A and B, as exact fractions
    ``[Y|A,B]@2``    the same to two decimals
    ``[A,B|]@2``     joint proportions of the grand total, to two decimals
    ``[A+,B+]``      the margins of all levels of A and B, with all totals (see `expanded`)
    ===============  =============================================================

    Names that contain one of ``, | [ ] @ ~ <`` stand in double quotes, a quote doubled.

    Examples
    --------
    >>> rates = parse("[education|county]@2")
    >>> rates.responses, rates.given, rates.digits
    (('education',), ('county',), 2)
    >>> counts = parse('["age, years"]~5')
    >>> counts.responses, counts.given, counts.base
    (('age, years',), None, 5)
    """
    if not isinstance(text, str):
        raise InvalidInput(f"statement {text!r} is not text; write it like '[Y|A,B]@2'")
    if text.strip() == "N":
        return Request((), None, None)
    tokens: list[tuple[str, str]] = []
    place, stripped = 0, text.rstrip()
    while place < len(stripped):
        match = _TOKEN.match(stripped, place)
        if not match:
            raise _unreadable(text, f"a quote is not closed at {stripped[place:]!r}")
        quoted, plain, sign = match.groups()
        name = plain.strip() if quoted is None and plain else quoted
        tokens.append(("mark", sign) if sign else ("name", (name or "").replace('""', '"')))
        place = match.end()
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
    noisy = tokens == [("mark", "~"), ("name", "noise")]
    rules = {} if noisy else _suffixes(tokens, text)
    if given is None and "@" in rules:
        raise InvalidInput(
            f"statement {text!r}: decimals belong to rates; margins are published as counts (write "
            "[A,B|]@2 for proportions of the grand total)"
        )
    if given is not None and (noisy or {"~", "<"} & set(rules)):
        mark = next(iter(rules), "~")
        raise InvalidInput(
            f"statement {text!r}: {mark!r} belongs to margins; rates are published to a number of "
            "decimals, such as [Y|A,B]@2"
        )
    return Request(
        responses,
        given,
        checked_digits(rules["@"], f"statement {text!r}") if "@" in rules else None,
        base=rules.get("~"),
        below=rules.get("<"),
        noisy=noisy,
    )


def _names(tokens: list[tuple[str, str]], text: str) -> tuple[tuple[str, ...], str]:
    """Names up to a mark other than a comma, and that mark."""
    names: list[str] = []
    wanted = True
    while tokens:
        kind, value = tokens.pop(0)
        if kind == "name":
            if not wanted:
                raise _unreadable(text, f"a comma is missing before {value!r}")
            names.append(value)
        elif value in "@~<":
            raise _unreadable(
                text,
                f"{value!r} stands inside the brackets; put a name that contains it in double "
                "quotes",
            )
        elif wanted and (names or value not in "]|"):
            raise _unreadable(text, f"a name is missing before {value!r}")
        elif value != ",":
            return tuple(names), value
        wanted = kind != "name"
    raise _unreadable(text, "']' is missing")


def _suffixes(tokens: list[tuple[str, str]], text: str) -> dict[str, int]:
    """The marks after the bracket with their numbers: none, one, or '<' and then '~'."""
    marks = "".join(value for kind, value in tokens[::2] if kind == "mark")
    if marks not in ("", "@", "~", "<", "<~") or len(tokens) != 2 * len(marks):
        raise _unreadable(
            text, "after ']' only '@', '~', '<' or '<8~5' with whole numbers may follow"
        )
    return {mark: _suffix(mark, tokens[2 * k + 1][1], text) for k, mark in enumerate(marks)}


def _suffix(mark: str, digits: str, text: str) -> int:
    """The number after a mark."""
    if not re.fullmatch("[0-9]+", digits):
        raise _unreadable(text, "after ']' only '@', '~' or '<' and a whole number may follow")
    if len(digits) > LONGEST:
        raise _unreadable(text, "the number after ']' is too long")
    number = int(digits)
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
    return number


def _unreadable(text: str, problem: str) -> InvalidInput:
    return InvalidInput(
        f"statement {text!r}: {problem}; write [A,B] for a margin ([A,B]~5 rounded, [A,B]<5 small "
        "counts hidden), [Y|A,B] for exact rates, [Y|A,B]@2 for rates to two decimals, N for the "
        "total"
    )
