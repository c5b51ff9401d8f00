"""The cells of a release of exact margins, and the sums that tie them to each other.

Cells of different margins that have the same people behind them are one cell: they are shown or
hidden together. A cell that others of a published margin add up to is tied to these; one that no
margin splits, to the cells of the table, which are cells that nobody publishes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cellbounds.data.cell_groups import CellGroups, cells_behind
from cellbounds.data.domain import Domain, Label
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.scenarios import margin_of, spoken_margins
from cellbounds.disclosure.protecting.suppression_problem import Equation
from cellbounds.errors import UnsupportedRelease
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.statements import Margin, Release

Where = tuple[tuple[str, ...], tuple[Label, ...]]
"""The variables of a margin, and the labels of one of its cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A margin: the number of each of its cells, flat; -1 where nobody can be.

    `place` is that of its statement in the release; None if it is not published.
    """

    names: tuple[str, ...]
    place: int | None
    numbers: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PublishedCells:
    """Every cell that is published or judged, each once.

    Attributes
    ----------
    release
        What is published, all of it exact.
    sheets
        The margins that are published, and those that are judged besides.
    counts, published, closed
        Of each cell the true count, whether it is published, and whether it is a structural zero.
    equations
        How cells add up.
    total
        The cell that holds everybody, if N is published or known; else None.
    """

    release: Release
    domain: Domain
    sheets: tuple[Sheet, ...]
    counts: IntArray
    published: BoolArray
    closed: BoolArray
    equations: tuple[Equation, ...]
    total: int | None

    def where(self, cell: int) -> Where:
        """A margin that has a cell, and its labels there; N has none."""
        for sheet in self.sheets:
            places = np.flatnonzero(sheet.numbers == cell)
            if len(places):
                laid = self.domain.project(sheet.names)
                index = np.unravel_index(int(places[0]), laid.shape)
                return sheet.names, laid.labels([int(one) for one in index])
        return (), ()

    def judged(self) -> BoolArray:
        """The cells of margins: published ones, and others that a policy speaks of."""
        judged = np.zeros(len(self.counts), dtype=bool)
        for sheet in self.sheets:
            judged[sheet.numbers[sheet.numbers >= 0]] = True
        return judged

    def protected(self, hidden: BoolArray, mark: Any) -> Release:
        """The release with some cells hidden; `mark` is what stands for them, or for each cell."""
        marks = np.broadcast_to(np.asarray(mark, dtype=object), hidden.shape)
        statements = list(self.release.statements)
        for sheet in self.sheets:
            if sheet.place is None:
                continue
            shape = self.domain.project(sheet.names).shape
            inside = sheet.numbers >= 0
            entries = np.where(inside, self.counts[sheet.numbers], 0).astype(object)
            gaps = inside & hidden[sheet.numbers]
            entries[gaps] = marks[sheet.numbers[gaps]]
            if gaps.any():
                statements[sheet.place] = Margin(sheet.names, entries.reshape(shape))
        return Release(self.release.domain, statements)


def total_label(domain: Domain) -> str:
    """What a finished table calls a total: a word that is no level."""
    labels = {str(label) for name in domain.names for label in domain.levels(name)}
    return next(word for word in ("Total", "(total)", "(all)") if word not in labels)


@dataclass(slots=True, eq=False)
class _Numbering:
    """Sets of cells of the table by the number of the published cell that they are."""

    by_members: dict[bytes, int] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)

    def number(self, members: IntArray) -> int:
        if not len(members):
            return -1
        key = np.sort(members).tobytes()
        known = self.by_members.setdefault(key, len(self.sizes))
        if known == len(self.sizes):
            self.sizes.append(len(members))
        return known

    def of(self, groups: CellGroups) -> IntArray:
        return np.array([self.number(groups.cells_of(k)) for k in range(groups.size)])


def published_cells(
    table: Table,
    release: Release,
    *,
    known_total: bool = False,
    besides: Iterable[tuple[str, ...]] = (),
) -> PublishedCells:
    """Number the cells of a release, and find out how they add up.

    With `known_total` N is known to everybody, published or not. `besides` are further margins of
    the same people that matter, as those that are out already.

    Raises
    ------
    UnsupportedRelease
        If it says something else than exact counts.
    """
    places = _exact_margins(release)
    further = list(besides)
    bases = {release.domain.base(name) for names in further for name in names}
    domain = release.domain.part({*release.named_variables, *bases})
    numbering, groups, sheets = _Numbering(), [], []
    published = {frozenset(release.statements[place].variables) for place in places}
    spoken = {frozenset(names): names for names in further}
    spoken |= {key: names for key, (names, _) in spoken_margins(release).items()}
    unpublished = [names for key, names in spoken.items() if key not in published]
    margins = [(release.statements[place].variables, place) for place in places]
    for names, place in [*margins, *((names, None) for names in unpublished)]:
        groups.append(cells_behind(domain, names))
        sheets.append(Sheet(names, place, numbering.of(groups[-1])))
    everybody = np.arange(domain.size)
    shown = None
    if known_total or release.stated_total is not None:
        shown = numbering.number(everybody)
    equations = _equations(domain, sheets, groups, numbering, shown)
    size = len(numbering.sizes)
    base = margin_of(release, table, domain.names)
    members = [np.frombuffer(key, dtype=everybody.dtype) for key in numbering.by_members]
    flat, structural = base.counts.ravel(), base.structural.ravel()
    shown_cells = np.zeros(size, dtype=bool)
    for sheet in sheets:
        if sheet.place is not None:
            shown_cells[sheet.numbers[sheet.numbers >= 0]] = True
    if shown is not None:
        shown_cells[shown] = True
    return PublishedCells(
        release=release,
        domain=domain,
        sheets=tuple(sheets),
        counts=np.array([int(flat[cells].sum()) for cells in members], dtype=np.int64),
        published=shown_cells,
        closed=np.array([bool(structural[cells].all()) for cells in members], dtype=bool),
        equations=equations,
        total=shown,
    )


def _exact_margins(release: Release) -> list[int]:
    """The places of the margins of a release, all of whose statements are exact counts."""
    places = []
    for place, statement in enumerate(release.statements):
        if not statement.published or not statement.variables:
            continue
        known = statement.known(release.domain) if statement.bounds_counts else None
        if known is None or (known.lower != known.upper).any():
            raise UnsupportedRelease(
                f"{statement.notation} shows something else than exact counts; suppression is "
                "worked out for tables of counts, such as [A,B]: give these"
            )
        places.append(place)
    if not places:
        raise UnsupportedRelease("no margin is published; give at least one, such as [A,B]")
    return places


def _equations(
    domain: Domain,
    sheets: Iterable[Sheet],
    groups: list[CellGroups],
    numbering: _Numbering,
    total: int | None,
) -> tuple[Equation, ...]:
    """For each cell the fewest others that add up to it, of one margin."""
    sheets = list(sheets)
    partitions = sorted(
        (
            _spread(sheet, behind, domain.size)
            for sheet, behind in zip(sheets, groups, strict=True)
            if len(behind.cells) == domain.size and len(np.unique(behind.cells)) == domain.size
        ),
        key=lambda place: len(np.unique(place)),
    )
    asked = [(sheet.numbers, behind) for sheet, behind in zip(sheets, groups, strict=True)]
    if total is not None:
        everybody = CellGroups(np.array([0, domain.size]), np.arange(domain.size))
        asked.append((np.array([total]), everybody))
    found: dict[int, list[int]] = {}
    for numbers, behind in asked:
        for finer in partitions:
            _split(numbers, behind, finer, np.array(numbering.sizes), found)
    for numbers, behind in asked:
        for place in np.flatnonzero((numbers >= 0) & (behind.widths > 1)).tolist():
            cell = int(numbers[place])
            if cell not in found:
                members = behind.cells_of(place)
                found[cell] = [numbering.number(members[k : k + 1]) for k in range(len(members))]
    return tuple((cell, tuple(found[cell])) for cell in sorted(found))


def _spread(sheet: Sheet, groups: CellGroups, size: int) -> IntArray:
    """The cell of a margin that each cell of the table belongs to."""
    place = np.empty(size, dtype=np.int64)
    place[groups.cells] = np.repeat(sheet.numbers, groups.widths)
    return place


def _split(
    numbers: IntArray,
    groups: CellGroups,
    finer: IntArray,
    sizes: IntArray,
    found: dict[int, list[int]],
) -> None:
    """Split cells that are not split yet into whole cells of another margin, where that works."""
    if not len(groups.cells):
        return
    width = len(sizes)
    owner = np.repeat(np.arange(groups.size), groups.widths)
    pairs = np.unique(owner * width + finer[groups.cells])
    owners, parts = pairs // width, pairs % width
    covered = np.zeros(groups.size, dtype=np.int64)
    np.add.at(covered, owners, sizes[parts])
    several = np.bincount(owners, minlength=groups.size) > 1
    whole = (covered == groups.widths) & several
    starts = np.searchsorted(owners, np.arange(groups.size + 1))
    for place in np.flatnonzero(whole).tolist():
        cell = int(numbers[place])
        if cell >= 0 and cell not in found:
            found[cell] = parts[starts[place] : starts[place + 1]].tolist()
