"""The search for safe releases near an unsafe one."""

from __future__ import annotations

import bisect
import itertools
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import DEFAULT, Outcome, Policy, Verdict, policy_of
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.scenarios import cases_of
from cellbounds.disclosure.suggesting.changes import PlannedChange, proposals
from cellbounds.disclosure.suggesting.plans import Drafts, Plan
from cellbounds.disclosure.suggesting.suggestions import Searched, Suggestion, Suggestions
from cellbounds.disclosure.suggesting.suppression import Suppressed, suppress
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.interrupts import Late
from cellbounds.runtime.workers import Until, shared
from cellbounds.statements import Release, Statement
from cellbounds.statements.notation import Request
from cellbounds.utility.retained_utility import Retained, retained

SHARE = 0.25
"""The part of the time left that one release may take at most."""

LEAST = 0.05
"""Seconds for one release at least, so that a last one is not asked for nothing."""

LARGE = 500
"""Cells from which on other processes help; below, handing them the work takes longer."""

MOST_TRIED = 600
"""Releases that are judged at most."""


@dataclass(slots=True)
class BudgetedJudge:
    """Judges releases within the budget, and counts them."""

    table: Table
    policy: Policy
    over: tuple[str, ...] | None
    knows: tuple[Statement, ...]
    independent: bool
    original: Release
    effort: Budget
    tried: int = 0
    known: int = 0

    @property
    def spent(self) -> bool:
        """Whether time or the number of tries has run out."""
        return self.effort.left == 0 or self.tried >= MOST_TRIED

    def elsewhere(self, until: Until) -> BudgetedJudge:
        """The same for another process, which begins to count anew."""
        return replace(self, effort=Budget.until(until.deadline), tried=0)

    def count(self, more: int) -> bool:
        """Count releases that were judged; False if these would be too many."""
        if self.tried + more > MOST_TRIED:
            return False
        self.tried += more
        self.effort.say(self.tried, max(self.known, self.tried))
        return True

    def __call__(self, release: Release) -> Verdict | None:
        """The verdict, as far as its outcome needs; None if there is no time."""
        if self.spent:
            return None
        self.count(1)
        return self.verdict(release, decisive=True)

    def verdict(self, release: Release, *, decisive: bool = False) -> Verdict:
        """The verdict on a release, within its part of the time that is left."""
        part = self.effort.share(SHARE, least=LEAST).quiet()
        budget = part if release.domain.size >= LARGE else Budget.until(part.deadline)
        cases = cases_of(
            release,
            self.table,
            self.policy,
            over=self.over,
            knows=self.knows,
            independent=self.independent,
        )
        return judged(cases, budget, decisive=decisive)[0]


MOST_CANDIDATES = 3000
"""Sets of changes of one size that are laid out at most."""


AT_ONCE = 16
"""Sets of changes that workers try at the same time; some of them for nothing."""


@budgeted
def suggest(
    table: Table,
    release: Release,
    policy: Policy | str | Path = DEFAULT,
    *,
    over: Iterable[str] | None = None,
    most: int = 10,
    changes: int = 2,
    knows: Iterable[Statement] = (),
    independent: bool = False,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Suggestions:
    """Safe releases near one that is unsafe or undecided, the most useful first.

    Parameters
    ----------
    table, release
        The confidential table, and what would be published.
    policy, knows, independent
        As for :func:`cellbounds.judge`.
    over
        Judge the cells of this margin alone.
    most
        Suggestions at most.
    changes
        Changes at once at most.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone; what was not tried is said.

    Notes
    -----
    Tried are: fewer decimals, coarser or hidden counts, merged neighbouring levels, a variable
    dropped, a statement or N withheld, figures suppressed, and sets of these. Every suggestion was
    judged safe over all that :func:`cellbounds.judge` looks at.
    They are ranked by the share of the original statements that they keep (see
    :func:`cellbounds.utility.retained`), then by fewer changes; sets that contain a safe set
    are left out. That nothing was found does not mean that nothing exists.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.disclosure.suggesting import suggest
    >>> table = cb.datasets.read("delinquent")
    >>> found = suggest(table, cb.publish(table, "[education|county]@2"), changes=1)
    >>> found.outcome, found[0].verdict.outcome
    (UNSAFE, SAFE)
    >>> [one.sentence for one in found if one.changes[0].kind == "fewer-digits"]
    ['publish [education|county] with 1 decimal instead of 2']
    """
    begun = time.monotonic()
    _check(release, table, most, changes)
    chosen = policy_of(policy)
    asked = None if over is None else release.domain.distinct(over)
    budgeted = BudgetedJudge(
        original=release,
        table=table,
        policy=chosen,
        over=asked,
        knows=tuple(knows),
        independent=independent,
        effort=budget,
    )
    verdict = budgeted.verdict(release)
    suggestions: tuple[Suggestion, ...] = ()
    searched = Searched(0, changes, 0, 0, 0)
    if verdict.outcome is not Outcome.SAFE:
        suggestions, searched = _searched(budgeted, most, changes)
    spent = time.monotonic() - begun
    return Suggestions(release, chosen, verdict, suggestions, searched, independent, spent)


def _searched(
    budgeted: BudgetedJudge, most: int, changes: int
) -> tuple[tuple[Suggestion, ...], Searched]:
    """What is safe among what there was time for, and how far that went."""
    search = None
    try:
        search = _Search(Drafts(budgeted.original, budgeted.table), budgeted, most)
        search.run(changes)
        stopped = 0
    except Late:
        stopped = 1  # at least what it was about is left
    if search is None:
        return (), Searched(0, changes, 0, 0, stopped)
    size, left = len(search.singles), search.left + stopped
    searched = Searched(size, changes, budgeted.tried, search.undecided, left)
    return tuple(search.ranked[:most]), searched


def _check(release: object, table: object, most: object, changes: object) -> None:
    if not isinstance(release, Release):
        raise InvalidInput(f"release={release!r}; give a Release, after the table: publish(...)")
    if not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give the Table that the release was made from")
    for what, number in (("most", most), ("changes", changes)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InvalidInput(f"{what}={number!r}; give a whole number, 1 or more")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A set of changes to judge; with a scope, figures of those statements are suppressed too.

    `kept` is what the release keeps, and before figures are suppressed as much as it could keep.
    The scope has places in the original release, `standing` those in this one.
    """

    changes: tuple[int, ...]
    release: Release
    kept: Retained
    scope: tuple[int, ...] = ()
    standing: tuple[int, ...] = ()


def _try_out(budgeted: BudgetedJudge, candidate: _Candidate) -> Suppressed | None:
    """Judge a candidate, or hide figures until it is safe; nothing if there is no time."""
    release = candidate.release
    if candidate.scope:
        return suppress(release, candidate.standing, budgeted, blind=budgeted.independent)
    verdict = budgeted(release)
    return None if verdict is None else Suppressed(release, verdict, ())


def _tried_elsewhere(
    budgeted: BudgetedJudge, candidate: _Candidate, until: Until
) -> tuple[Suppressed | None, int]:
    """Run by a worker, which counts for itself: what came of it, and the releases judged."""
    budgeted = budgeted.elsewhere(until)
    return _try_out(budgeted, candidate), budgeted.tried


_Layer = list[tuple[tuple[int, ...], Plan]]
"""Sets of changes, and the plans that they make."""


@dataclass(slots=True)
class _Search:
    """Sets of changes by size, the most useful first."""

    drafts: Drafts
    judge: BudgetedJudge
    most: int
    singles: list[PlannedChange] = field(init=False)
    use: list[str] = field(init=False)
    ranked: list[Suggestion] = field(default_factory=list)
    undecided: int = 0
    left: int = 0
    _safe: list[frozenset[int]] = field(default_factory=list)
    _hidden: list[tuple[frozenset[int], tuple[int, ...], float]] = field(default_factory=list)
    _seen: set[Plan] = field(default_factory=set)
    _digests: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.singles = proposals(self.drafts, self.judge.policy)
        requests = [one for one in self.drafts.first.statements if one is not None]
        exact = (Request(one.responses, one.given).notation for one in requests)
        told = ["N"] if self.judge.original.total.exact is not None else []
        self.use = [*dict.fromkeys(exact), *told]

    def run(self, changes: int) -> None:
        """Try sets of one change, of two, and so on."""
        layer: _Layer = [((), self.drafts.first)]
        self._seen.add(self.drafts.first)
        for _ in range(changes):
            hiding = [one for item in layer for one in self._candidates(*item, hide=True)]
            layer = list(self._grown(layer))
            plain = [one for item in layer for one in self._candidates(*item, hide=False)]
            ready = [*plain, *hiding]
            ready.sort(key=lambda one: (-one.kept.share, one.changes, one.scope))
            self.judge.known = self.judge.tried + len(ready)
            with closing(self._ahead(ready)) as ahead:
                for place, (candidate, tried) in enumerate(ahead):
                    if self.judge.spent:
                        self.left += len(ready) - place
                        return
                    if not self._dominated(candidate):
                        self._try(candidate, tried)
            layer = [one for one in layer if not self._holds_safe(one[0])]
            if not layer:
                return

    def _grown(self, layer: _Layer) -> Iterator[tuple[tuple[int, ...], Plan]]:
        """Each set with one more change, if that is another plan and no part of it is safe."""
        laid = 0
        for changed, plan in layer:
            for number in range(changed[-1] + 1 if changed else 0, len(self.singles)):
                grown = self.singles[number].applied(plan)
                if grown is None or grown in self._seen or self._holds_safe((*changed, number)):
                    continue
                if laid == MOST_CANDIDATES:
                    self.left += 1
                    continue
                laid += 1
                self._seen.add(grown)
                yield (*changed, number), grown

    def _holds_safe(self, changes: tuple[int, ...]) -> bool:
        """Whether some of the changes are enough."""
        return any(inside <= set(changes) for inside in self._safe)

    def _candidates(
        self, changed: tuple[int, ...], plan: Plan, *, hide: bool
    ) -> Iterator[_Candidate]:
        """A set of changes; or with figures suppressed in one statement, or in all."""
        if self.judge.effort.left == 0:
            self.left += 1
            return
        draft = self.drafts.made(plan)
        if draft is None:
            return
        release, places = draft
        share = self._kept(release)
        scopes: list[tuple[int, ...]] = [()]
        if hide:
            scopes = [(place,) for place in places]
            scopes += [tuple(places)] if len(places) > 1 else []
        for scope in scopes:
            standing = tuple(places[place] for place in scope)
            yield _Candidate(changed, release, share, scope, standing)

    def _kept(self, release: Release) -> Retained:
        return retained(self.drafts.table, release, self.use or None)

    def _dominated(self, candidate: _Candidate) -> bool:
        """Whether it could not be among those returned, or changes more than it has to."""
        if self._needless(candidate, candidate.kept):
            return True
        full = len(self.ranked) >= self.most
        return full and candidate.kept.share <= self.ranked[self.most - 1].kept.share

    def _needless(self, candidate: _Candidate, share: Retained) -> bool:
        """Whether figures suppressed in the same statements, with fewer changes, keep as much."""
        return bool(candidate.scope) and any(
            changes < set(candidate.changes) and scope == candidate.scope and share.share <= before
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
            wanted = [not self._dominated(one) for one in part]
            until = Until.of(self.judge.effort.left)
            budgeted = self.judge.elsewhere(until)
            pieces = [(budgeted, one, until) for one in itertools.compress(part, wanted)]
            results = shared(self.judge.effort.executor, _tried_elsewhere, pieces)
            for candidate, sent in zip(part, wanted, strict=True):
                # Who is dominated at first is so ever after.
                yield candidate, next(results)[1] if sent else None

    def _try(self, candidate: _Candidate, tried: tuple[Suppressed | None, int] | None) -> None:
        if tried is not None and self.judge.count(tried[1]):
            found = tried[0]
        else:
            found = _try_out(self.judge, candidate)
        if found is None:
            self.left += self.judge.spent if candidate.scope else 1
            return
        share, numbers = candidate.kept, frozenset(candidate.changes)
        if candidate.scope:
            share = self._kept(found.release)
            if self._needless(candidate, share):
                return
            self._hidden.append((numbers, candidate.scope, share.share))
        else:
            outcome = found.verdict.outcome
            self.undecided += outcome is Outcome.UNDECIDED
            if outcome is not Outcome.SAFE:
                return
            self._safe.append(numbers)
        digest = found.release.digest
        if digest in self._digests:
            return  # the same figures by another way
        self._digests.add(digest)
        changes = (*(self.singles[number] for number in candidate.changes), *found.changes)
        suggestion = Suggestion(changes, found.release, found.verdict, share)
        # More kept, then fewer changes, then as tried.
        bisect.insort(self.ranked, suggestion, key=lambda one: (-one.kept.share, len(one.changes)))
