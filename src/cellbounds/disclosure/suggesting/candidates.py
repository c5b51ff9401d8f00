"""Sets of changes to a release: which are tried, in what order, and what is safe."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

from cellbounds.disclosure.policies import Outcome
from cellbounds.disclosure.policies.crowds import Passed
from cellbounds.disclosure.policies.rerunning import Offer
from cellbounds.disclosure.suggesting.budgeted_judge import LEAST, SHARE, BudgetedJudge
from cellbounds.disclosure.suggesting.changes import PlannedChange, proposals
from cellbounds.disclosure.suggesting.ordering import PublicOrder, uses_of
from cellbounds.disclosure.suggesting.plans import Drafts, Plan
from cellbounds.disclosure.suggesting.protected_margins import (
    METHODS,
    exact_margins,
    protected_margins,
)
from cellbounds.disclosure.suggesting.suggestions import Searched, Suggestion
from cellbounds.disclosure.suggesting.suppression import Suppressed, suppress
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.interrupts import Late
from cellbounds.runtime.workers import Until, shared
from cellbounds.statements import Release
from cellbounds.utility.retained_utility import Retained, retained

MOST_READY = 300
"""Where that may not depend on the counts: sets of changes of one size that are tried,"""

MOST_HIDING = 12
"""those among them in which figures are suppressed,"""

MOST_PAIRED = 75
"""and changes that are put together with others."""

MOST_CANDIDATES = 3000
"""Sets of changes of one size that are laid out at most."""

PAIRS = 2
"""Up to so many changes at once a list need not be searched to its end."""

FIRST_RANK = (False, 0, -2.0)
"""The rank of what was asked for: before everything else."""

AT_ONCE = 16
"""Sets of changes that workers try at the same time; some of them for nothing."""


class Keeping:
    """What releases keep of what was asked for."""

    def __init__(self, judge: BudgetedJudge, drafts: Drafts | None = None) -> None:
        drafts = drafts or Drafts(judge.original, judge.table)
        self._table, self._use = drafts.table, uses_of(drafts)

    def kept(self, release: Release) -> Retained:
        """What a release keeps."""
        return retained(self._table, release, self._use or None)

    def suggestion(self, safe: Suppressed) -> Suggestion:
        """A safe release with what it keeps."""
        return Suggestion(safe.changes, safe.release, safe.verdict, self.kept(safe.release))


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a search may end: beyond an offer, or at something before it not to be passed over."""

    offer: Offer
    passed: Passed

    @property
    def rank(self) -> Rank:
        """The rank of the offer."""
        rank: Rank = self.offer.rank
        return rank

    def wanted(self, candidate: _Candidate) -> list[BoolArray]:
        """The figures that the offer hides, if this is how it came about."""
        offer = self.offer
        if not isinstance(offer, Offered) or offer.safe is None or not candidate.scope:
            return []
        if offer.safe.origin != (candidate.changes, candidate.scope):
            return []
        tables = (offer.release.statements[place].tabulated for place in candidate.standing)
        return [figures.hidden for figures in tables if figures is not None]


@dataclass(frozen=True, slots=True, eq=False)
class Offered(Offer):
    """A safe release in a list; none for what was asked for."""

    safe: Suppressed | None = None


def searched_near(
    budgeted: BudgetedJudge,
    most: int,
    changes: int,
    order: PublicOrder | None = None,
    stop: Stop | None = None,
) -> tuple[list[tuple[Rank, Suppressed]], Searched]:
    """What is safe among what there was time for, and how far that went."""
    search = None
    try:
        drafts = Drafts(budgeted.original, budgeted.table)
        search = _Search(drafts, budgeted, most, order, stop)
        search.run(changes)
        stopped = 0
    except Late:
        stopped = 1  # at least what it was about is left
    if search is None:
        return [], Searched(0, changes, 0, 0, stopped)
    size, left = len(search.singles), search.left + stopped
    searched = Searched(size, changes, budgeted.tried, search.undecided, left)
    return search.ranked[:most], searched


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A set of changes to judge; with a scope, figures of those statements are suppressed too.

    `worth` is what the release keeps, and before figures are suppressed as much as it could keep;
    `rank` says which comes first. The scope has places in the original release, `standing` those
    in this one.
    """

    changes: tuple[int, ...]
    release: Release
    worth: float
    rank: Rank
    scope: tuple[int, ...] = ()
    standing: tuple[int, ...] = ()
    method: str = "suppress"


Rank = tuple[bool, int, float]
"""The smallest comes first: whether figures are suppressed, which depends on the counts and comes
last where the order may not; how many changes there are, where that is so too, because little has
to be rerun for few; then the loss."""


def _try_out(
    budgeted: BudgetedJudge, candidate: _Candidate, stop: Stop | None = None
) -> Suppressed | None:
    """Judge a candidate, or hide figures until it is safe; nothing if there is no time."""
    release, blind = candidate.release, budgeted.independent
    if candidate.scope and not blind and exact_margins(release, budgeted.policy):
        return protected_margins(
            release,
            candidate.standing,
            budgeted.table,
            budgeted.policy,
            budgeted,
            budgeted.effort.share(SHARE, least=LEAST).quiet(),
            method=candidate.method,
        )
    if candidate.scope:
        wanted = () if stop is None else stop.wanted(candidate)
        return suppress(release, candidate.standing, budgeted, blind=blind, wanted=wanted)
    verdict = budgeted(release)
    return None if verdict is None else Suppressed(release, verdict, ())


def _tried_elsewhere(
    budgeted: BudgetedJudge, candidate: _Candidate, until: Until
) -> tuple[Suppressed | None, int]:
    """Run by a worker, which counts for itself: what came of it, and the releases judged."""
    budgeted = budgeted.elsewhere(until)
    return _try_out(budgeted, candidate), budgeted.tried


_Layer = list[tuple[tuple[int, ...], Plan, float]]
"""Sets of changes, the plans that they make, and what these are worth."""


@dataclass(slots=True)
class _Search:
    """Sets of changes by size, the most useful first."""

    drafts: Drafts
    judge: BudgetedJudge
    most: int
    order: PublicOrder | None = None
    stop: Stop | None = None
    singles: list[PlannedChange] = field(init=False)
    keeping: Keeping = field(init=False)
    ranked: list[tuple[Rank, Suppressed]] = field(default_factory=list)
    undecided: int = 0
    left: int = 0
    _safe: list[frozenset[int]] = field(default_factory=list)
    _hidden: list[tuple[frozenset[int], tuple[int, ...], float]] = field(default_factory=list)
    _seen: set[Plan] = field(default_factory=set)
    _digests: dict[str, Rank] = field(default_factory=dict)
    _worths: dict[int, float] = field(default_factory=dict)
    _stopped: bool = False

    def __post_init__(self) -> None:
        self.singles = proposals(self.drafts, self.judge.policy)
        self.keeping = Keeping(self.judge, self.drafts)

    def run(self, changes: int) -> None:
        """Try sets of one change, of two, and so on."""
        layer: _Layer = [((), self.drafts.first, 1.0)]
        self._seen.add(self.drafts.first)
        for size in range(1, changes + 1):
            if self._too_late((False, size, -math.inf)):
                return
            hiding = [
                candidate for item in layer for candidate in self._candidates(*item, hide=True)
            ]
            layer = list(self._grown(layer))
            plain = [
                candidate for item in layer for candidate in self._candidates(*item, hide=False)
            ]
            ready = sorted([*plain, *hiding], key=lambda one: (one.rank, one.changes, one.scope))
            if self.order is not None:
                suppressing = [candidate for candidate in ready if candidate.scope][:MOST_HIDING]
                ready = [
                    *[candidate for candidate in ready if not candidate.scope][:MOST_READY],
                    *suppressing,
                ]
            self.judge.known = self.judge.tried + len(ready)
            with closing(self._ahead(ready)) as ahead:
                for place, (candidate, tried) in enumerate(ahead):
                    if self.judge.spent:
                        self.left += len(ready) - place
                        return
                    if not self._dominated(candidate):
                        self._try(candidate, tried)
                    if self._stopped:
                        return
            layer = [item for item in layer if not self._holds_safe(item[0])]
            if not layer:
                return

    def _grown(self, layer: _Layer) -> Iterator[tuple[tuple[int, ...], Plan, float]]:
        """Each set with one more change, if that is another plan and no part of it is safe."""
        laid = 0
        for changed, plan, worth in layer:
            for number in range(changed[-1] + 1 if changed else 0, len(self.singles)):
                grown = self.singles[number].applied(plan)
                if grown is None or grown in self._seen or self._holds_safe((*changed, number)):
                    continue
                if laid == MOST_CANDIDATES:
                    self.left += 1
                    continue
                if self.order is not None and changed and number >= MOST_PAIRED:
                    continue
                laid += 1
                self._seen.add(grown)
                yield (*changed, number), grown, self._worth(changed, number, grown, worth)

    def _worth(self, changed: tuple[int, ...], number: int, plan: Plan, before: float) -> float:
        """What a plan is worth: no more than its parts, so that none of them comes after it."""
        if self.order is None:
            return 1.0  # the release will tell
        worth = min(before, self.order.worth(plan), self._worths.get(number, 1.0))
        if not changed:
            self._worths[number] = worth
        return worth

    def _holds_safe(self, changes: tuple[int, ...]) -> bool:
        """Whether some of the changes are enough."""
        return any(inside <= set(changes) for inside in self._safe)

    def _candidates(
        self, changed: tuple[int, ...], plan: Plan, worth: float, *, hide: bool
    ) -> Iterator[_Candidate]:
        """A set of changes; or with figures suppressed in one statement, or in all."""
        if self.judge.effort.left == 0:
            self.left += 1
            return
        rank = (False, 0, -worth) if self.order is None else (hide, len(changed), -worth)
        if self._too_late(rank) and self.order is not None:
            return
        draft = self.drafts.made(plan)
        if draft is None:
            return
        release, places = draft
        if self.order is None:
            worth = self.keeping.kept(release).share
            rank = False, 0, -worth
        scopes: list[tuple[int, ...]] = [()]
        if hide:
            scopes = [(place,) for place in places]
            scopes += [tuple(places)] if len(places) > 1 else []
        for scope in scopes:
            standing = tuple(places[place] for place in scope)
            yield _Candidate(changed, release, worth, rank, scope, standing)
        first = hide and not changed and self.order is None
        if first and exact_margins(release, self.judge.policy):
            every = tuple(places), tuple(places.values())
            for method in METHODS[1:]:
                yield _Candidate(changed, release, worth, rank, *every, method)

    def _too_late(self, rank: Rank) -> bool:
        """Whether it comes after what is looked for."""
        return self.stop is not None and rank > self.stop.rank

    def _dominated(self, candidate: _Candidate) -> bool:
        """Whether it could not be among those returned, or changes more than it has to."""
        if self._needless(candidate, candidate.worth):
            return True
        full = len(self.ranked) >= self.most
        return full and candidate.rank >= self.ranked[self.most - 1][0]

    def _needless(self, candidate: _Candidate, worth: float) -> bool:
        """Whether figures suppressed in the same statements, with fewer changes, keep as much."""
        return bool(candidate.scope) and any(
            changes < set(candidate.changes) and scope == candidate.scope and worth <= before
            for changes, scope, before in self._hidden
        )

    def _ahead(
        self, ready: list[_Candidate]
    ) -> Generator[tuple[_Candidate, tuple[Suppressed | None, int] | None], None, None]:
        """Each candidate, with what workers found of it beforehand; None if nobody tried it.

        They try some that turn out not to matter. What is found is the same as without them:
        it is looked at in the same order, and only where it would have been tried here.
        """
        for start in range(0, len(ready), AT_ONCE):
            part = ready[start : start + AT_ONCE]
            if self.judge.effort.executor is None:
                yield from ((candidate, None) for candidate in part)
                continue
            wanted = [not self._dominated(candidate) for candidate in part]
            until = Until.of(self.judge.effort.left)
            budgeted = self.judge.elsewhere(until)
            pieces = [
                (budgeted, candidate, until) for candidate in itertools.compress(part, wanted)
            ]
            results = shared(self.judge.effort.executor, _tried_elsewhere, pieces)
            for candidate, sent in zip(part, wanted, strict=True):
                # Who is dominated at first is so ever after.
                yield candidate, next(results)[1] if sent else None

    def _try(self, candidate: _Candidate, tried: tuple[Suppressed | None, int] | None) -> None:
        if tried is not None and self.judge.count(tried[1]):
            suppressed = tried[0]
        else:
            suppressed = _try_out(self.judge, candidate, self.stop)
        if suppressed is None:
            self.left += self.judge.spent if candidate.scope else 1
            return
        rank, numbers = candidate.rank, frozenset(candidate.changes)
        if candidate.scope:
            worth = (
                self.keeping.kept(suppressed.release).share
                if self.order is None
                else candidate.worth
            )
            if self._needless(candidate, worth):
                return
            rank = *rank[:2], -worth
            self._hidden.append((numbers, candidate.scope, worth))
        else:
            outcome = suppressed.verdict.outcome
            self.undecided += outcome is Outcome.UNDECIDED
            if outcome is not Outcome.SAFE:
                return
            self._safe.append(numbers)
        digest = suppressed.release.digest
        if digest in self._digests:  # the same figures by another way
            if self.order is None or self._digests[digest] <= rank:
                return
            self.ranked = [entry for entry in self.ranked if entry[1].release.digest != digest]
        self._digests[digest] = rank
        changes = (*(self.singles[number] for number in candidate.changes), *suppressed.changes)
        safe = replace(suppressed, changes=changes, origin=(candidate.changes, candidate.scope))
        # Of ties, and of what the same figures may yet replace, the end of the search decides.
        stop, sole = self.stop, not candidate.scope and len(numbers) == 1
        self._stopped = (
            stop is not None and sole and rank < stop.rank and safe.key not in stop.passed
        )
        # More kept, then fewer changes, then as tried.
        bisect.insort(self.ranked, (rank, safe), key=lambda one: (one[0], len(one[1].changes)))
