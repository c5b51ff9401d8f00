"""The best safe design that holds against whoever reruns the search on other tables that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.design_search import Measures, design_cases, utility_of
from cellbounds.disclosure.exploring.designs import Design
from cellbounds.disclosure.policies.crowds import Passed
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.rerunning import MOST_CELLS, Choice, Offer
from cellbounds.disclosure.policies.scenarios import Case
from cellbounds.disclosure.policies.verdict import CANNOT_RERUN
from cellbounds.disclosure.typical_tables import typical_tables
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.statements import Release

MOST_TRIED = 4
"""Safe designs that are tried, the most useful first."""


@dataclass(frozen=True, slots=True)
class BestDesign:
    """The place of the best design, if there is one, and against whom it holds."""

    place: int | None
    sentence: str


def best_design(
    table: Table, designs: Sequence[Design], safe: Sequence[int], measures: Measures, budget: Budget
) -> BestDesign:
    """The first of the safe designs, in an order that everybody knows, that hides the table.

    The utility of designs is measured on tables that everybody can make. If none is known to hide
    the table but that is not settled of some, the first of them, and that is said.
    """
    if not safe:
        return BestDesign(None, "")
    search = _Search(table, designs, measures)
    if table.domain.size > MOST_CELLS:
        place = min(safe, key=search.true_rank)
        return BestDesign(place, f"{CANNOT_RERUN}: tables of so many cells are not rerun")
    choice = Choice(search.offers, search.cases, budget)
    order = sorted(range(len(designs)), key=search.rank)
    places = [place for place in order if place in set(safe)]
    offers = [search.offer(place, table) for place in places]
    opened: BestDesign | None = None
    for place in range(min(MOST_TRIED, len(offers))):
        answer = choice.hiding(table, offers, place)
        if answer.hides and choice.first(table, offers, place):
            return BestDesign(places[place], answer.sentence)
        if answer.hides is not False and opened is None:
            opened = BestDesign(places[place], replace(answer, hides=None).sentence)
    told = "whoever reruns the search learns too much from which design was chosen"
    return opened or BestDesign(None, told)


class _Search:
    """The designs of a search, judged about any table, in an order that everybody knows."""

    def __init__(self, table: Table, designs: Sequence[Design], measures: Measures) -> None:
        self._table, self._designs, self._measures = table, designs, measures
        self._ranks: dict[int, tuple[float, int, int]] = {}
        self._typical: list[Table] | None = None

    def rank(self, place: int) -> tuple[float, int, int]:
        """Greatest utility on typical tables first; then fewer figures."""
        if place not in self._ranks:
            if self._typical is None:
                table, total = self._table, self._designs[0].total
                known = table.total if total else None
                self._typical = typical_tables(table.domain, table.structural, known)
            shares = [self._utility(place, table) for table in self._typical]
            figures = self._table.domain.project(self._designs[place].variables).size
            self._ranks[place] = -sum(shares) / len(shares), figures, place
        return self._ranks[place]

    def true_rank(self, place: int) -> tuple[float, int]:
        """Greatest utility first."""
        return -self._utility(place, self._table), place

    def _utility(self, place: int, table: Table) -> float:
        design = self._designs[place]
        try:
            prepared = design.prepared(table)
            return utility_of(design.published(prepared), prepared, self._measures)
        except InvalidInput:
            return 0.0  # it cannot be published about this table

    def offer(self, place: int, table: Table) -> Offer:
        """One design about a table."""
        release = self._designs[place].release(table)
        return Offer(place, self.rank(place), release)

    def cases(self, table: Table, release: Release) -> list[Case]:
        """What is judged of a release."""
        design = next(design for design in self._designs if _publishes(design, table, release))
        return design_cases(design, release, design.prepared(table), self._measures, unseen=True)

    def offers(self, table: Table, until: Offer, passed: Passed) -> tuple[list[Offer], int]:
        """The safe designs about another table, up to one or what was not passed over."""
        places = sorted(range(len(self._designs)), key=self.rank)
        offers: list[Offer] = []
        tried = 0
        for place in places:
            if self.rank(place) > until.rank:
                break
            design = self._designs[place]
            try:
                offer = self.offer(place, table)
            except InvalidInput:
                continue  # it cannot be published
            tried += 1
            whole = design.prepared(table)
            cases = design_cases(design, offer.release, whole, self._measures)
            if judged(cases, UNLIMITED, decisive=True)[0].safe:
                offers.append(offer)
                if place not in passed:
                    break
        return offers, tried


def _publishes(design: Design, table: Table, release: Release) -> bool:
    try:
        return design.release(table).digest == release.digest
    except InvalidInput:
        return False  # it cannot be published about this table
