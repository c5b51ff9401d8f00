"""Variables where one determines the other, such as a region its country.

That a region lies in one country is known to everybody, so that the combinations with all other
countries are structural zeros. That it is so in a table does not mean that everybody knows it: in a
sparse table it may be by accident. So it is assumed where it is declared, or told by the codes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray

MOST_CELLS = 2**22
"""Cells of a table whose impossible combinations are listed."""


class Nesting(NamedTuple):
    """A variable that determines another one.

    `parents` has the position of the parent of each level of the child; None where it is open.
    """

    child: str
    parent: str
    parents: tuple[int | None, ...]

    @property
    def text(self) -> str:
        """The two as they are declared."""
        return f"{self.child}:{self.parent}"

    @property
    def remedy(self) -> str:
        """That it is so in a table, and what to do about it."""
        return (
            f"every {self.child} has one {self.parent} in this table, which is not taken to be "
            f"known; if everybody knows it, declare it: --nested {self.text}"
        )


def nesting_in(table: Table, child: str, parent: str) -> Nesting | None:
    """The parent of each level of a variable in a table; None if some level has several."""
    margin = table.margin([child, parent])
    held = margin.counts > 0
    if bool((held.sum(axis=1) > 1).any()):
        return None
    parents = [int(row.argmax()) if row.any() else None for row in held]
    return Nesting(child, parent, tuple(parents))


def nestings_in(table: Table) -> list[Nesting]:
    """The variables of a table that determine another one, which has fewer levels but several.

    Those that are declared by structural zeros already are left out.

    Examples
    --------
    >>> domain = Domain({"region": ["Kent", "Essex", "Gwent"], "country": ["England", "Wales"]})
    >>> [nesting.text for nesting in nestings_in(Table(domain, [[3, 0], [2, 0], [0, 4]]))]
    ['region:country']
    """
    domain = table.domain
    if domain.size > MOST_CELLS:
        return []
    nestings = []
    for child, parent in itertools.permutations(domain.names, 2):
        if not 2 <= len(domain.levels(parent)) < len(domain.levels(child)):
            continue
        nesting = nesting_in(table, child, parent)
        if nesting is None or len({outer for outer in nesting.parents if outer is not None}) < 2:
            continue
        closed = table.margin([child, parent]).structural
        if not closed[_impossible_pairs(domain, nesting)].all():
            nestings.append(nesting)
    return nestings


@lru_cache(maxsize=16)
def nestings_by_codes(domain: Domain) -> tuple[Nesting, ...]:
    """The variables whose codes tell the level of another: each begins with the code of its parent.

    There are several parents, each with a child, fewer than children; and every child has one.

    Examples
    --------
    >>> domain = Domain({"district": ["E01", "E02", "W01"], "country": ["E", "W"]})
    >>> nestings_by_codes(domain)
    (Nesting(child='district', parent='country', parents=(0, 0, 1)),)
    """
    nestings = []
    for child, parent in itertools.permutations(domain.names, 2):
        codes, parts = (list(map(str, domain.levels(name))) for name in (parent, child))
        if not 2 <= len(codes) < len(parts) or "" in codes:
            continue
        inside = [[k for k, code in enumerate(codes) if part.startswith(code)] for part in parts]
        if all(len(outer) == 1 for outer in inside) and len({outer[0] for outer in inside}) == len(
            codes
        ):
            nestings.append(Nesting(child, parent, tuple(outer[0] for outer in inside)))
    return tuple(nestings)


def assumed_nestings(domain: Domain, table: Table | None) -> tuple[Nesting, ...]:
    """The nestings that everybody is taken to know by the codes, if the table does not deny them.

    Without a table, codes of digits alone tell nothing: 1 and 2 may be sexes, and 10 to 29 ages.
    """
    if domain.size > MOST_CELLS:
        return ()
    known = nestings_by_codes(domain)
    if table is None:
        return tuple(nesting for nesting in known if not _digits(domain.levels(nesting.parent)))
    return tuple(
        nesting for nesting in known if not table.counts[impossible(domain, [nesting])].any()
    )


def _digits(codes: Sequence[Label]) -> bool:
    return all(str(code).isdecimal() for code in codes)


def impossible(domain: Domain, nestings: Sequence[Nesting]) -> BoolArray:
    """The cells that nobody can be in."""
    closed = np.zeros(domain.shape, dtype=bool)
    for nesting in nestings:
        pairs, axes = _impossible_pairs(domain, nesting), domain.axes(nesting[:2])
        pairs = pairs if axes[0] < axes[1] else pairs.T
        spread = [size if axis in axes else 1 for axis, size in enumerate(domain.shape)]
        closed |= pairs.reshape(spread)
    return closed


def _impossible_pairs(domain: Domain, nesting: Nesting) -> BoolArray:
    """The combinations of child and parent that nobody can be in; none where it is open."""
    levels = range(len(domain.levels(nesting.parent)))
    pairs = [[own not in (None, level) for level in levels] for own in nesting.parents]
    return np.array(pairs, dtype=bool)


def declared(table: Table, child: str, parent: str) -> Table:
    """The same table with the combinations of two variables that nobody can be in as such."""
    domain = table.domain
    for name in domain.distinct([child, parent]):
        domain.axis(name)
    if domain.size > MOST_CELLS:
        raise InvalidInput(
            f"{child!r} within {parent!r} in a table of {domain.size} cells; up to {MOST_CELLS} "
            "are listed: declare it in a table of fewer variables"
        )
    nesting = nesting_in(table, child, parent)
    if nesting is None:
        raise InvalidInput(
            f"{child!r} is not nested in {parent!r}: some level of it holds people in several "
            f"levels of {parent!r}; swap the two, or correct the table"
        )
    closed = table.structural | impossible(domain, [nesting])
    return Table(domain, table.counts, structural=closed)
