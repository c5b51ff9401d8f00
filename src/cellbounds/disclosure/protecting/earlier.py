"""What was published before: last year's pattern, and releases about the same people.

Cells are matched by their codes. A figure that was hidden stays hidden: whoever has both tables
would else learn from the newer one what the older one hid, as far as people stay where they are.
Where both are about the same people, what was shown before is known, and all is attacked together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.table import Table
from cellbounds.disclosure.protecting.published_cells import PublishedCells, total_label
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.statements import Margin, Release
from cellbounds.statements.published import Published, read_published
from cellbounds.statements.release_files import read_release
from cellbounds.text import counted

Codes = frozenset[tuple[str, str]]
"""A cell by the code of each variable that is not summed over."""

Earlier = Release | Published | str | Path
"""A release, tables as they are published, or a file of either."""


@dataclass(frozen=True, slots=True, eq=False)
class EarlierPattern:
    """Which cells were hidden and which were shown, each by its number.

    Attributes
    ----------
    hidden, shown
        Cells that were hidden, and cells whose count was printed.
    """

    hidden: BoolArray
    shown: BoolArray

    def sentence(self, now: BoolArray, published: BoolArray) -> str:
        """How like the patterns are, in words."""
        again = int((self.hidden & now).sum())
        opened = int((self.hidden & published & ~now).sum())
        new = int((self.shown & now).sum())
        told = f"hidden as before: {counted(again, 'figure')}; shown before: {new}"
        return told + (f"; hidden before and shown now: {opened}" if opened else "")


def read_earlier(given: Iterable[Earlier] | Earlier, table: Table) -> list[Release | Published]:
    """Releases and published tables; files are read with the hierarchies of the table."""
    several = [given] if isinstance(given, Earlier) else list(given)
    found: list[Release | Published] = []
    for one in several:
        if isinstance(one, Release | Published):
            found.append(one)
        elif not isinstance(one, str | Path):
            raise InvalidInput(
                f"earlier={one!r}; give a release, published tables, or the file of either"
            )
        elif Path(one).suffix.lower() == ".toml":
            found.append(read_release(one))
        else:
            found.append(_read_table(one, table.domain))
    return found


def _read_table(path: str | Path, domain: Domain) -> Published:
    """A published table, with the totals that :meth:`Protected.write` writes.

    Totals are confirmed by arithmetic, unless too much is hidden for that.
    """
    trees = hierarchies_of(domain)
    try:
        return read_published(path, hierarchies=trees)
    except InvalidInput:
        word = total_label(domain)
        try:
            plain = read_published(path, hierarchies=trees, totals=False)
            totals = {
                name: word
                for table in plain.tables
                for axis, name in enumerate(table.variables)
                if any(cell[axis] == word for cell in table.entries)
            }
            return read_published(path, hierarchies=trees, totals=totals)
        except InvalidInput:
            pass
        raise


def earlier_pattern(
    earlier: Iterable[Release | Published], out: Release | None, cells: PublishedCells
) -> EarlierPattern:
    """What was hidden and shown of the cells; a count that was shown anywhere was shown.

    What is `out` about the same people may be about other margins.
    """
    numbers: dict[Codes, list[int]] = {}
    for sheet in cells.sheets:
        codes = codes_of(cells.domain, sheet.names)
        for key, cell in zip(codes, sheet.numbers.tolist(), strict=True):
            if cell >= 0 and cells.published[cell]:
                numbers.setdefault(key, []).append(cell)
    seen = {hidden: np.zeros(len(cells.counts), dtype=bool) for hidden in (True, False)}
    entries = [entry for one in earlier for entry in _entries(one)]
    if entries and not any(key in numbers for key, _ in entries):
        raise InvalidInput(
            "earlier: no cell has the codes of a cell that is to be published; give a table with "
            "the same names of variables and the same codes"
        )
    for key, hidden in [*entries, *([] if out is None else _entries(out))]:
        seen[hidden][numbers.get(key, [])] = True
    return EarlierPattern(seen[True] & ~seen[False], seen[False])


def _entries(earlier: Release | Published) -> Iterator[tuple[Codes, bool]]:
    """The cells of an earlier release, and whether each is hidden."""
    if isinstance(earlier, Published):
        for table in earlier.tables:
            if table.base is not None or table.noise is not None:
                continue
            hidden = set(table.unsure)
            totals = [tree.total for tree in table.hierarchies.values()]
            for cell in table.entries:
                named = zip(table.variables, cell, totals, strict=True)
                yield (
                    _key((name, code) for name, code, total in named if code != total),
                    (cell in hidden),
                )
        return
    for said in earlier.statements:
        if not isinstance(said, Margin) or not said.variables:
            continue
        if said.base is not None or said.noise is not None:
            continue  # figures that are no counts: nothing is hidden or shown there
        codes = codes_of(earlier.domain, said.variables)
        yield from zip(codes, said.hidden.ravel().tolist(), strict=True)


def codes_of(domain: Domain, names: tuple[str, ...]) -> Iterator[Codes]:
    """The codes of each cell of a margin; levels of groups are codes of the variable behind."""
    bases = [domain.base(name) for name in names]
    return (_key(zip(bases, labels, strict=True)) for labels in domain.project(names).cells())


def _key(pairs: Iterable[tuple[str, Label]]) -> Codes:
    return frozenset((name, str(code)) for name, code in pairs)


def hierarchies_of(domain: Domain) -> dict[str, Hierarchy]:
    """The derived levels of each variable as a tree, where each group is inside another or not."""
    found = {}
    for base in domain.names:
        groups: dict[Label, tuple[Label, ...]] = {
            code: members
            for grouping in domain.groupings.values()
            if grouping.of == base
            for code, members in grouping.levels.items()
            if (code,) != tuple(members)
        }
        if groups:
            found[base] = Hierarchy(_tree(groups, domain.levels(base)))
    return found


def _tree(groups: Mapping[Label, tuple[Label, ...]], leaves: Iterable[Label]) -> dict[Label, Any]:
    """Groups, largest first, each below the smallest one that has all of it."""
    tree: dict[Label, Any] = {}
    inside: dict[Label, tuple[set[Label], dict[Label, Any]]] = {}
    largest = sorted(groups.items(), key=lambda one: -len(one[1]))
    for code, members in [*largest, *((leaf, (leaf,)) for leaf in leaves)]:
        around = [below for cells, below in inside.values() if cells.issuperset(members)]
        below: dict[Label, Any] = {}
        (around[-1] if around else tree)[code] = below
        if code in groups:
            inside[code] = set(members), below
    return tree


# --- releases about the same people --------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SamePeople:
    """What releases about the same people, which are out, say of cells.

    Attributes
    ----------
    least, most
        Of each cell; -1: nothing is said of how large it is.
    """

    least: IntArray
    most: IntArray

    @property
    def known(self) -> BoolArray:
        """The cells that everybody knows exactly."""
        return np.asarray((self.least == self.most) & (self.most >= 0))


def same_people(out: Release, release: Release) -> Release:
    """What is out, over the variables of what is to be released and those that it derives.

    Raises
    ------
    InvalidInput
        If it speaks of variables or levels that the table does not have.
    """
    if not isinstance(out, Release):
        raise InvalidInput(f"released={out!r}; give what is out as one release")
    domain = release.domain
    for name in out.named_variables:
        if name not in domain.names or domain.levels(name) != out.domain.levels(name):
            raise InvalidInput(
                f"released: {name!r} is no variable of the table with the same levels; give a "
                "release about the same people, or earlier= for last year's table"
            )
    return Release(domain.with_groupings(out.domain.groupings), out.statements)


def said_of_cells(out: Release | None, cells: PublishedCells) -> SamePeople:
    """What is out about the same people, cell by cell."""
    least, most = np.zeros(len(cells.counts), dtype=np.int64), np.full(len(cells.counts), -1)
    for said in () if out is None else out.statements:
        if not said.bounds_counts or not said.variables:
            continue
        assert out is not None
        sheet = next((s for s in cells.sheets if set(s.names) == set(said.variables)), None)
        if sheet is None:
            continue  # judged, but not what figures are chosen by
        known = said.known(out.domain)
        order = [said.variables.index(name) for name in sheet.names]
        lower, upper = (np.transpose(side, order).ravel() for side in (known.lower, known.upper))
        for cell, low, high in zip(sheet.numbers, lower.tolist(), upper.tolist(), strict=True):
            if cell >= 0:
                least[cell] = max(least[cell], low)
                if high is not None and high >= 0:
                    most[cell] = high if most[cell] < 0 else min(most[cell], high)
    return SamePeople(least, most)
