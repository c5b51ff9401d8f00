"""What somebody would publish about a table, as a form and an address have it, and as a release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import urlencode

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.designs import Merge, merged_name
from cellbounds.disclosure.policies import DEFAULT, profiles
from cellbounds.errors import InvalidInput
from cellbounds.statements import Release, publish
from cellbounds.statements.notation import Request, parse
from cellbounds.statements.rounding import ROUNDINGS

MOST_STATEMENTS = 12
"""Statements of one choice."""

MOST_HIDDEN = 2_000
"""Figures that are hidden one by one."""

DIGITS = (None, 0, 1, 2, 3, 4, 5, 6)
"""Decimals that a form offers; exact rates first."""


class Fields(Protocol):
    """Fields of a form or a query string: one value, or all values of a name."""

    def get(self, key: str, default: str = "") -> str:
        """The last value of a name."""

    def getlist(self, key: str) -> list[str]:
        """Every value of a name."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What would be published, and by which policy it is judged.

    Attributes
    ----------
    statements
        Statements of the table's own variables.
    joined
        Variables whose levels are merged: for each level, the place of the first one of its group.
    hidden
        Figures that are not shown: a statement's place, and the places of the figure's levels.
    total
        Whether N is published too.
    rounding
        The rule for decimals and for rounded counts.
    policy
        The name of a policy.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("delinquent")
    >>> choice = Choice((parse("[education|county]@2"),), joined=(("education", (0, 1, 2, 2)),))
    >>> choice.query
    's=%5Beducation%7Ccounty%5D%402&m=education%3A0%2C1%2C2%2C2'
    >>> choice.release(table)
    Release(["education (merged)"|county]@2, N=135)
    """

    statements: tuple[Request, ...]
    joined: tuple[tuple[str, tuple[int, ...]], ...] = ()
    hidden: tuple[tuple[int, tuple[int, ...]], ...] = ()
    total: bool = True
    rounding: str = "nearest"
    policy: str = DEFAULT

    @classmethod
    def first(cls, domain: Domain) -> Choice:
        """Where exploring begins: rates of the last variable given the one before it."""
        names = domain.names
        given = names[-2:-1] if len(names) > 1 else ()
        return cls((Request((names[-1],), given, digits=2),))

    @classmethod
    def of(cls, fields: Fields, domain: Domain) -> Choice:
        """What an address asks for; the first choice if it names no statement."""
        texts = fields.getlist("s")
        if not texts:
            return cls.first(domain)
        if len(texts) > MOST_STATEMENTS:
            raise InvalidInput(
                f"{len(texts)} statements; a page takes {MOST_STATEMENTS}: use the command line"
            )
        statements = tuple(map(parse, texts))
        for request in statements:
            if request.is_total or request.noisy:
                raise InvalidInput(
                    f"{request.notation}: a page has rates and counts, and N as a choice of its own"
                )
            domain.axes(request.names)
            domain.distinct(request.names)
        return cls(
            statements,
            tuple(_joined(text, domain) for text in fields.getlist("m")),
            tuple(_hidden(text, statements, domain) for text in fields.getlist("h")[:MOST_HIDDEN]),
            total=fields.get("n", "1") != "0",
            rounding=_one_of(fields.get("r", "nearest"), ROUNDINGS, "a rounding rule"),
            policy=_one_of(fields.get("p", DEFAULT), profiles(), "a policy of this server"),
        )

    @classmethod
    def from_form(cls, fields: Fields, domain: Domain) -> Choice:
        """What somebody clicked together."""
        statements = tuple(_clicked(fields, domain))
        joined = []
        for axis, name in enumerate(domain.names):
            size = len(domain.levels(name))
            leaders = [_number(fields.get(f"j{axis}.{k}", str(k)), size) for k in range(size)]
            groups = _followed(leaders)
            if groups != tuple(range(size)) and len(set(groups)) > 1:
                joined.append((name, groups))
        if not statements:
            return replace(cls.first(domain), joined=tuple(joined))
        texts = [request.notation for request in statements]
        kept = dict(zip(fields.getlist("was"), fields.getlist("was.h"), strict=False))
        hidden = tuple(
            _hidden(f"{place}:{cell}", statements, domain)
            for place, text in enumerate(texts)
            for cell in kept.get(text, "").split()
        )
        return cls(
            statements,
            tuple(joined),
            hidden,
            total=fields.get("n", "0") == "1",
            rounding=_one_of(fields.get("r", "nearest"), ROUNDINGS, "a rounding rule"),
            policy=_one_of(fields.get("p", DEFAULT), profiles(), "a policy of this server"),
        )

    @classmethod
    def of_release(cls, release: Release, like: Choice, table: Table) -> Choice | None:
        """The choice that publishes this very release; None if a page cannot say it."""
        domain, groupings = table.domain, release.domain.groupings
        told = [one for one in release.statements if one.published and one.variables]
        own = {
            name: groupings[name].of for one in told for name in one.variables if name in groupings
        }
        joined = []
        for name, base in own.items():
            sets = release.domain.level_sets(name)
            leaders = (
                min(min(places) for places in sets if level in places)
                for level in range(len(domain.levels(base)))
            )
            joined.append((base, tuple(leaders)))
        try:
            requests = tuple(parse(one.subject).renamed(own) for one in told)
            hidden = tuple(
                (place, tuple(map(int, cell)))
                for place, one in enumerate(told)
                if one.tabulated is not None
                for cell in np.argwhere(one.tabulated.hidden)
            )
            total = any(one.subject == "N" for one in release.statements if one.published)
            for cells in ((), hidden):  # what a statement hides itself is not hidden by hand
                same = replace(
                    like, statements=requests, joined=tuple(joined), hidden=cells, total=total
                )
                if same.release(table).digest == release.digest:
                    return same
            return None
        except (InvalidInput, ValueError):
            return None

    @property
    def plain(self) -> bool:
        """Whether the notation of the statements alone says what is published."""
        return not (self.joined or self.hidden) and self.rounding == "nearest"

    @property
    def query(self) -> str:
        """The same as a query string: what is usual is left out."""
        pairs = [("s", request.notation) for request in self.statements]
        pairs += [("m", f"{name}:{','.join(map(str, places))}") for name, places in self.joined]
        pairs += [("h", f"{at}:{'.'.join(map(str, cell))}") for at, cell in self.hidden]
        for key, value, usual in (
            ("n", "1" if self.total else "0", "1"),
            ("r", self.rounding, "nearest"),
            ("p", self.policy, DEFAULT),
        ):
            if value != usual:
                pairs.append((key, value))
        return urlencode(pairs)

    def leaders(self, name: str, size: int) -> tuple[int, ...]:
        """For each level of a variable, the first one of its group."""
        return dict(self.joined).get(name, tuple(range(size)))

    def hidden_in(self, place: int) -> str:
        """The hidden figures of a statement, as a form carries them along."""
        return " ".join(".".join(map(str, cell)) for at, cell in self.hidden if at == place)

    def toggled(self, place: int, cell: tuple[int, ...]) -> Choice:
        """The same with one figure hidden, or shown again."""
        one = place, cell
        rest = tuple(other for other in self.hidden if other != one)
        return replace(self, hidden=rest if one in self.hidden else (*self.hidden, one))

    def with_statement(self) -> Choice:
        """The same with one more statement to fill in: the counts of the first variable."""
        last = self.statements[-1]
        return replace(self, statements=(*self.statements, Request(last.responses, None)))

    def without(self, place: int) -> Choice:
        """The same without a statement."""
        rest = tuple(one for k, one in enumerate(self.statements) if k != place)
        hidden = tuple((at - (at > place), cell) for at, cell in self.hidden if at != place)
        return replace(self, statements=rest, hidden=hidden) if rest else self

    def merges(self, domain: Domain) -> tuple[Merge, ...]:
        """The variables with merged levels, under names of their own."""
        merges = []
        for name, leaders in self.joined:
            levels = domain.levels(name)
            groups = []
            for first in dict.fromkeys(leaders):
                parts = tuple(levels[k] for k, leader in enumerate(leaders) if leader == first)
                groups.append((parts[0] if len(parts) == 1 else "+".join(map(str, parts)), parts))
            merges.append(Merge(name, merged_name(domain, name), tuple(groups)))
        return tuple(merges)

    def prepared(self, table: Table) -> Table:
        """The table, whose domain knows the merged variables."""
        for one in self.merges(table.domain):
            table = table.grouped(one.name, of=one.variable, levels=dict(one.groups))
        return table

    def requests(self, domain: Domain) -> tuple[Request, ...]:
        """The statements by the names that they are published under."""
        names = {one.variable: one.name for one in self.merges(domain)}
        return tuple(request.renamed(names) for request in self.statements)

    def release(self, table: Table) -> Release:
        """What would be published about a table."""
        whole = self.prepared(table)
        requests = self.requests(table.domain)
        release = publish(
            whole,
            *(request.notation for request in requests),
            total=self.total,
            rounding=self.rounding,
        )
        if not self.hidden:
            return release
        statements = list(release.statements)
        for place in sorted({at for at, _ in self.hidden}):
            tabulated = statements[place].tabulated
            if tabulated is None:
                raise InvalidInput(f"no figure of {requests[place].notation} can be hidden")
            mask = np.zeros(tabulated.hidden.shape, dtype=bool)
            for at, cell in self.hidden:
                if at == place:
                    if np.any(np.array(cell) >= np.array(mask.shape)):
                        raise InvalidInput(f"{requests[place].notation} has no figure {cell}")
                    mask[cell] = True
            shorter = tabulated.suppressed(mask)
            if shorter is None:
                raise InvalidInput(
                    f"{requests[place].notation} cannot be published with these figures hidden; "
                    "hide others, or leave the statement out"
                )
            statements[place] = shorter
        return Release(release.domain, statements)

    def words(self, domain: Domain) -> str:
        """The choice in the notation, for lists."""
        texts = [request.notation for request in self.requests(domain)]
        if self.total:
            texts.append("N")
        hidden = f" ({len(self.hidden)} hidden)" if self.hidden else ""
        return ", ".join(texts) + hidden

    def wanted(self, domain: Domain) -> str:
        """What a reader is after, so that designs of the same aim can be compared."""
        first = self.statements[0]
        if first.given is None:
            return Request(domain.names, None).notation
        others = tuple(name for name in domain.names if name not in first.responses)
        return Request(first.responses, others).notation


def _clicked(fields: Fields, domain: Domain) -> Iterator[Request]:
    """The statements of a form; one without a variable is left out."""
    for place in range(MOST_STATEMENTS):
        kind = fields.get(f"k{place}")
        if not kind:
            continue
        roles = [fields.get(f"v{place}.{axis}") for axis in range(len(domain.names))]

        def named(role: str, roles: Sequence[str] = roles) -> tuple[str, ...]:
            return tuple(n for n, own in zip(domain.names, roles, strict=True) if own == role)

        if kind == "rates" and named("r"):
            digits = fields.get(f"d{place}")
            decimals = _number(digits, 10) if digits else None
            yield Request(named("r"), named("g"), digits=decimals)
        elif kind == "counts" and (named("r") or named("g")):
            both = tuple(n for n, own in zip(domain.names, roles, strict=True) if own in ("r", "g"))
            base, below = fields.get(f"b{place}"), fields.get(f"l{place}")
            yield Request(
                both,
                None,
                base=_number(base, 10**6) if base else None,
                below=_number(below, 10**6) if below else None,
            )


def _joined(text: str, domain: Domain) -> tuple[str, tuple[int, ...]]:
    name, _, places = text.rpartition(":")
    size = len(domain.levels(name))
    leaders = [_number(one, size) for one in places.split(",")]
    if len(leaders) != size or _followed(leaders) != tuple(leaders) or len(set(leaders)) < 2:
        raise InvalidInput(
            f"merged levels {text!r}: name the first level of each one's group, of two or more"
        )
    return name, tuple(leaders)


def _followed(leaders: Sequence[int]) -> tuple[int, ...]:
    """Every level with the first of its group, whomever it names: none stands before its first."""
    found: list[int] = []
    for place, leader in enumerate(leaders):
        found.append(place if leader >= place else found[leader])
    return tuple(found)


def _hidden(
    text: str, statements: Sequence[Request], domain: Domain
) -> tuple[int, tuple[int, ...]]:
    at, _, cell = text.partition(":")
    place = _number(at, len(statements))
    names = statements[place].names
    parts = cell.split(".")
    if len(parts) != len(names):
        raise InvalidInput(f"hidden figure {text!r}; it has to name a level of {', '.join(names)}")
    sizes = [len(domain.levels(name)) for name in names]
    return place, tuple(_number(one, size) for one, size in zip(parts, sizes, strict=True))


def _number(text: str, below: int) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) >= below:
        raise InvalidInput(f"{text!r} is no whole number below {below}; use the page's own links")
    return int(text)


def _one_of(text: str, allowed: Iterable[str], what: str) -> str:
    if text not in allowed:
        raise InvalidInput(f"{text!r} is not {what}; choose one of {', '.join(allowed)}")
    return text
