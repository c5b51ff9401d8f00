"""Whoever knows this program protects every table that fits, and keeps those that end up alike.

A choice is made again for tables that fit what was published. Those that lead to the same figures
are what such an intruder is left with; small counts must stay as uncertain among these as the
policy asks (``docs/theory/rerunning.md``). What is looked at is made from the published figures
alone, and counted in steps: his rerun is the owner's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Finding, Outcome, Policy, Verdict
from cellbounds.disclosure.policies.crowds import Passed
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.rerunning import MOST_CELLS, SHARE, Choice, Hiding, Offer
from cellbounds.disclosure.policies.scenarios import Case, cases_of
from cellbounds.disclosure.policies.verdict import CANNOT_RERUN
from cellbounds.disclosure.protecting.finished import Finished
from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.runtime.interrupts import Late
from cellbounds.statements import Release

F = TypeVar("F", bound=Finished)

MOST_FIGURES, MOST_OTHERS = 100, 25
"""Published figures up to which a choice is rerun, unless it is asked for; and up to which other
ways are tried if it does not hold."""

WORK, FIRST = 100, 8
"""Releases that are judged for one choice; tables of which it is asked whether what was asked for
first hides them."""

ONE_STEPS = 1_000_000
"""Steps of a search that is rerun: what is not settled by then does not count."""

METHOD_STEPS, METHOD_SECONDS = 150_000, 2.0
"""What another method than suppression counts for, and how long it may take."""

STEPS_JUDGED = 50_000
"""A search of so many steps takes as long as judging one release."""

NOT_TRIED = f"{CANNOT_RERUN}: other tables that fit were not protected again"

TOLD = "whoever reruns the choice learns more than the policy allows", "another method"


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What would be published of a table.

    Attributes
    ----------
    release, together
        The release, and the same with all that is out already.
    steps
        How long that was searched for.
    settled
        Whether a longer search would have ended with the same.
    """

    release: Release
    together: Release
    steps: int = 0
    settled: bool = True


Way = Callable[[Table, int], Made]
"""How a table is protected, within so many steps."""


@dataclass(slots=True, eq=False)
class _Tried:
    """A way tried on a table: None leads nowhere; whether it is safe is asked when it matters."""

    made: Made | None
    settled: bool
    steps: int = 0
    safe: bool | None = None


class Reruns:
    """Ways to protect a table, in an order that everybody knows, and which of them hide it.

    The first is what was asked for. The next ones count only where it is safe by the counts, but
    does not hide the table.
    """

    def __init__(self, ways: Sequence[Way], policy: Policy, budget: Budget) -> None:
        self._ways, self._policy = ways, policy
        self._choice = Choice(self._offers, self._cases, budget, work=WORK, first=FIRST)
        self._joined: dict[str, Release] = {}
        self._tried: dict[tuple[int, bytes], _Tried] = {}
        self._unsettled = False

    def first(self, table: Table, made: Made) -> tuple[int, Hiding]:
        """The first way that hides a table, which the first one `made` to be this.

        If none does that is 0, and why.
        """
        self._note(made)
        offers = [Offer(0, 0, made.release)]
        told = self._choice.hiding(table, offers, 0)
        if told.hides is False and self._unsettled:
            told = replace(told, hides=None)
        if told.hides:
            return 0, told
        for place in range(1, len(self._ways)):
            tried = self._try(place, table)
            if tried.made is None or not tried.settled or not self._safe(place, table):
                continue
            if any(one.release.digest == tried.made.release.digest for one in offers):
                continue
            offers.append(Offer(place, place, tried.made.release))
            found = self._choice.hiding(table, offers, len(offers) - 1)
            if found.hides and self._choice.first(table, offers, len(offers) - 1):
                return place, found
        return 0, told

    def _offers(self, table: Table, until: Offer, passed: Passed) -> tuple[list[Offer], int]:
        """The ways that are safe for another table, up to one or what was not passed over."""
        found: list[Offer] = []
        work = 0
        for place in range(int(until.rank) + 1):
            tried = self._try(place, table)
            work += 1 + tried.steps // STEPS_JUDGED
            self._unsettled |= not tried.settled
            if tried.made is None or not tried.settled:
                if place == 0:
                    break  # nothing else is tried of this table
                continue
            offer = Offer(place, place, tried.made.release)
            if place == until.rank and offer.release.digest != until.release.digest:
                break  # it leads elsewhere
            if any(one.release.digest == offer.release.digest for one in found):
                continue
            if self._safe(place, table):
                found.append(offer)
            elif place == 0:
                break
            if found[-1:] == [offer] and offer.key not in passed:
                break
        return found, work

    def _try(self, place: int, table: Table) -> _Tried:
        key = place, table.counts.tobytes()
        if key not in self._tried:
            try:
                made = self._ways[place](table, ONE_STEPS)
            except (InvalidInput, UnsupportedRelease):
                self._tried[key] = _Tried(None, True)  # it cannot be protected in this way
            except (TooMuchWork, Unsettled):
                self._tried[key] = _Tried(None, False)
            else:
                self._note(made)
                self._tried[key] = _Tried(made, made.settled, made.steps)
        return self._tried[key]

    def _note(self, made: Made) -> None:
        self._joined[made.release.digest] = made.together

    def _safe(self, place: int, table: Table) -> bool:
        tried = self._try(place, table)
        if tried.safe is None:
            assert tried.made is not None
            joined = tried.made.together
            cases = cases_of(joined, table.with_domain(joined.domain), self._policy)
            tried.safe = judged(cases, UNLIMITED, decisive=True)[0].safe
        return tried.safe

    def _cases(self, table: Table, release: Release) -> list[Case]:
        """What is judged, without the true counts."""
        joined = self._joined[release.digest]
        return cases_of(joined, table.with_domain(joined.domain), self._policy, independent=True)


def rerun(
    table: Table,
    made: Made,
    asked_for: Release,
    ways: Sequence[Way],
    policy: Policy,
    budget: Budget,
    *,
    asked: bool | None,
) -> tuple[int, Hiding | None]:
    """Which way hides a table, and how that was found out; None if it was not tried.

    Unless it is `asked` for, up to :data:`MOST_FIGURES` figures are tried. Variables that nobody
    asked for are left out first.
    """
    whole = asked_for.domain
    if asked is False or (asked is None and _figures(asked_for) > MOST_FIGURES):
        return 0, None
    domain = whole.part({whole.base(name) for name in asked_for.named_variables})
    if domain.size > MOST_CELLS or budget.spent:
        return 0, None
    if _figures(asked_for) > MOST_OTHERS:
        ways = ways[:1]
    reruns = Reruns(ways, policy, budget.share(SHARE))
    try:
        if domain.names == table.domain.names:
            return reruns.first(table, made)
        margin = table.margin(domain.names)
        part = Table(domain, margin.counts, structural=margin.structural)
        return reruns.first(part, ways[0](part, ONE_STEPS))
    except Late:
        return 0, None  # what was chosen stays so: only this is left open


def _figures(release: Release) -> int:
    """How many figures of margins a release has."""
    margins = {one.variables for one in release.statements if one.published}
    return sum(release.domain.project(names).size if names else 1 for names in margins)


def checked(
    done: F,
    table: Table,
    asked_for: Release,
    again: Callable[[Table, Budget], Finished],
    budget: Budget,
    *,
    asked: bool | None,
) -> F:
    """The result of a method that has one way, with a verdict that says against whom it holds."""
    begun, found = time.perf_counter(), None

    def way(other: Table, _: int) -> Made:
        theirs = again(other, Budget.of(METHOD_SECONDS))
        settled = theirs.optimal and theirs.outcome is not Outcome.UNDECIDED
        return Made(theirs.release, theirs.release, METHOD_STEPS, settled)

    if done.safe and not done.stopped:
        made = Made(done.release, done.release)
        _, found = rerun(table, made, asked_for, [way], done.policy, budget, asked=asked)
    verdict, said = held(done.verdict, found, asked=asked)
    notes = (*done.notes, said) if said else done.notes
    seconds = done.seconds + time.perf_counter() - begun
    return replace(done, verdict=verdict, notes=notes, seconds=seconds)


def held(verdict: Verdict, found: Hiding | None, *, asked: bool | None) -> tuple[Verdict, str]:
    """A verdict, and in words whether it holds against whoever reruns the choice.

    If that was `asked` for and is not known, the verdict is not SAFE any more.
    """
    if not verdict.safe:
        return verdict, ""
    said = NOT_TRIED if found is None else found.sentence
    if found is not None and found.hides:
        return replace(verdict, independent=True, notes=(*verdict.notes, said)), said
    if found is not None and found.hides is False:
        said = f"{CANNOT_RERUN}: {said}"
    if asked:
        rules = verdict.policy.rules
        cells = tuple(Finding(rule.name, Outcome.UNDECIDED, (), (), *TOLD) for rule in rules)
        verdict = replace(verdict, cells=cells, elsewhere=())
    return verdict, said
