"""The statements that a set may be made of, and which of them follow from others.

A set of candidates is a whole number whose binary digits say which of them are in it. Sets are
*closed*: what follows from a member, or from what is out already, is in it too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.statements import Release, Statement, publish
from cellbounds.statements.notation import names_text, parse

MOST_CANDIDATES = 300
"""Candidates that one search takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A statement, and how it was asked for: "[a]<5" also if no count was below 5.

    Attributes
    ----------
    plain
        Whether it shows exact counts of everybody: a margin whose own margins follow from it.
    """

    text: str
    statement: Statement
    plain: bool

    @classmethod
    def of(cls, domain: Domain, statement: Statement, text: str | None = None) -> Candidate:
        """A candidate as it was asked for, or as its notation says."""
        written = statement.notation if text is None else text.strip()
        # Groups of levels may overlap or leave some out.
        if not statement.variables or statement.fixed_counts(domain) is None:
            return cls(written, statement, False)
        return cls(written, statement, parse(written).exact)

    def implies(self, other: Candidate) -> bool:
        """Whether the other one follows, and shows no smaller figure: sums of a margin."""
        if not other.names:
            known = not self.names and self.statement.shown_counts() is not None
            return known or self.plain
        return self.plain and other.plain and self.names >= other.names

    @property
    def names(self) -> frozenset[str]:
        """The variables that it names."""
        return frozenset(self.statement.variables)

    def same(self, other: Candidate) -> bool:
        """Whether both say the same."""
        return self.statement.to_dict() == other.statement.to_dict()


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What may be released beside what is out already.

    Attributes
    ----------
    domain
        The variables of the table.
    given
        What is out already.
    listed
        The candidates.
    below
        For each candidate the closed set of what follows from it, itself included.
    ground
        The candidates that follow from what is out already: members of every set.
    order
        The candidates, each after all that follow from it.
    """

    domain: Domain
    given: tuple[Statement, ...]
    listed: tuple[Candidate, ...]
    below: tuple[int, ...]
    ground: int
    order: tuple[int, ...]

    @classmethod
    def of(
        cls, domain: Domain, given: Iterable[Statement], wanted: Iterable[Candidate]
    ) -> Candidates:
        """Check the candidates and find out what follows from what."""
        out, listed = tuple(given), _distinct(wanted)
        if not listed:
            raise InvalidInput("no candidates to choose from; give margins or statements")
        if len(listed) > MOST_CANDIDATES:
            raise InvalidInput(
                f"{len(listed)} candidates; at most {MOST_CANDIDATES} are searched at once: give "
                "fewer, such as margins=2 for all two-way margins"
            )
        below = tuple(
            _set_of(other is candidate or candidate.implies(other) for other in listed)
            for candidate in listed
        )
        outside = [Candidate.of(domain, told) for told in out if told.published]
        ground = _set_of(
            any(other.implies(candidate) or other.same(candidate) for other in outside)
            for candidate in listed
        )
        order = sorted(range(len(listed)), key=lambda place: (below[place].bit_count(), place))
        return cls(domain, out, listed, below, ground, tuple(order))

    def __len__(self) -> int:
        return len(self.listed)

    @property
    def everything(self) -> int:
        """The set of all candidates."""
        return (1 << len(self.listed)) - 1

    def least(self, chosen: int) -> tuple[int, ...]:
        """The members of a closed set from which the others follow."""
        follows = 0
        for place in members(chosen):
            follows |= self.below[place] & ~(1 << place)
        return tuple(members(chosen & ~self.ground & ~follows))

    def release(self, chosen: int) -> Release:
        """What would be out together."""
        added = (self.listed[place].statement for place in self.least(chosen))
        return Release(self.domain, [*self.given, *added])

    def texts(self, chosen: int) -> tuple[str, ...]:
        """A set in the notation, without what follows from the rest."""
        return tuple(self.listed[place].text for place in self.least(chosen))

    def above(self, chosen: int) -> Iterator[int]:
        """The smallest sets that are larger."""
        for place in members(self.everything & ~chosen):
            if not self.below[place] & ~chosen & ~(1 << place):
                yield chosen | self.below[place]

    def under(self, chosen: int) -> Iterator[int]:
        """The largest sets that are smaller."""
        for place in self.least(chosen):
            yield chosen & ~(1 << place)


def _set_of(inside: Iterable[bool]) -> int:
    return sum(1 << place for place, member in enumerate(inside) if member)


def members(chosen: int) -> Iterator[int]:
    """The places of the ones among binary digits, the lowest first.

    Examples
    --------
    >>> list(members(0b1101))
    [0, 2, 3]
    """
    while chosen:
        lowest = chosen & -chosen
        yield lowest.bit_length() - 1
        chosen ^= lowest


def margin_texts(
    domain: Domain, margins: int | Iterable[str | Iterable[str]] | None
) -> tuple[str, ...]:
    """Margins in the notation: all of them, those of so many variables, or the ones listed.

    Examples
    --------
    >>> margin_texts(Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]}), 2)
    ('[a,b]', '[a,c]', '[b,c]')
    """
    names = domain.names
    if margins is None:
        sizes: Sequence[int] = range(1, len(names) + 1)
    elif isinstance(margins, bool | str):
        raise InvalidInput(f"margins={margins!r}; give a number of variables or a list of margins")
    elif isinstance(margins, int):
        if not 1 <= margins <= len(names):
            raise InvalidInput(
                f"margins={margins}; the table has {len(names)} variables: give a number from 1 "
                f"to {len(names)}"
            )
        sizes = [margins]
    else:
        return tuple(_listed_margin(domain, margin) for margin in margins)
    count = sum(math.comb(len(names), size) for size in sizes)
    if count > MOST_CANDIDATES:
        raise InvalidInput(
            f"{count} margins; at most {MOST_CANDIDATES} are searched at once: give a number of "
            "variables, such as margins=2, or a list of margins"
        )
    chosen = (some for size in sizes for some in combinations(names, size))
    return tuple(f"[{names_text(some)}]" for some in chosen)


def _listed_margin(domain: Domain, names: str | Iterable[str]) -> str:
    if isinstance(names, str):
        raise InvalidInput(
            f"margins has the text {names!r}; give each margin as a list of names, [{names!r}] for "
            "one variable (statements= takes the notation)"
        )
    listed = domain.distinct(tuple(names))
    if not listed:
        raise InvalidInput("margins has one without names; name at least one variable")
    return f"[{names_text(listed)}]"


def spoken_candidates(table: Table, wanted: Release | Iterable[str]) -> list[Candidate]:
    """The candidates that texts in the notation, or the statements of a release, stand for.

    N and what is known beforehand are no candidates of a release: its figures are.
    """
    if isinstance(wanted, Release):
        if wanted.domain != table.domain:
            raise InvalidInput(
                f"statements speak of {wanted.domain!r}, the table is over {table.domain!r}; "
                "publish them from this table"
            )
        figures = (
            statement
            for statement in wanted.statements
            if statement.published and statement.variables
        )
        return [Candidate.of(table.domain, figure) for figure in figures]
    if isinstance(wanted, str):
        raise InvalidInput(f"statements={wanted!r}; give a list of statements, [{wanted!r}]")
    # Structural zeros, which `publish` says too, come after the statement itself.
    return [
        Candidate.of(table.domain, publish(table, text, total=False).statements[0], text)
        for text in wanted
    ]


def _distinct(wanted: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Each candidate once, also if the variables of a margin are named in another order."""
    distinct: dict[object, Candidate] = {}
    for candidate in wanted:
        key: object = candidate.names if candidate.plain else candidate.text
        if key in distinct and not candidate.plain and not candidate.same(distinct[key]):
            raise InvalidInput(
                f"two candidates are written {candidate.text} and say different things; search "
                "with one of them at a time"
            )
        distinct.setdefault(key, candidate)
    return tuple(distinct.values())
