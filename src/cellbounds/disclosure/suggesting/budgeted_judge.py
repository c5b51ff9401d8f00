"""Judging one release after another within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Outcome, Policy, Verdict, judge
from cellbounds.disclosure.suggesting.scopes import Scope, scopes_of
from cellbounds.runtime.workers import Until
from cellbounds.statements import Prior, Release
from cellbounds.utility.retained import levels_behind

__all__ = ["BudgetedJudge"]

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
    knows: tuple[Prior, ...]
    independent: bool
    executor: Executor | None
    progress: Callable[[int, int], None] | None
    original: Release
    seconds: float | None
    begun: float
    tried: int = 0
    known: int = 0

    @property
    def left(self) -> float | None:
        """Seconds that are left; None without a budget."""
        if self.seconds is None:
            return None
        return max(0.0, self.seconds - (time.monotonic() - self.begun))

    @property
    def spent(self) -> bool:
        """Whether time or the number of tries has run out."""
        return self.left == 0 or self.tried >= MOST_TRIED

    def elsewhere(self, until: Until) -> BudgetedJudge:
        """The same for another process, which begins to count anew."""
        return replace(
            self,
            executor=None,
            progress=None,
            seconds=until.left,
            begun=time.monotonic(),
            tried=0,
        )

    def count(self, more: int) -> bool:
        """Count releases that were judged elsewhere; False if these would be too many."""
        if self.tried + more > MOST_TRIED:
            return False
        self.tried += more
        self._say()
        return True

    def first(self) -> tuple[Verdict, ...]:
        """What is to be said of the release that was asked about."""
        asked = [
            self._verdict(self.original, scope)
            for scope in scopes_of(self.original, self.original, self.over)
        ]
        return tuple(verdict for verdict in asked if verdict is not None)

    def __call__(self, release: Release) -> tuple[Verdict, ...] | None:
        """The verdicts if all are safe, else one that is not; None if there is no time.

        Margins that are named come first: they have fewer cells, and break the rules sooner.
        """
        if self.spent:
            return None
        self.tried += 1
        self._say()
        found: list[Verdict] = []
        for scope in reversed(scopes_of(release, self.original, self.over)):
            verdict = self._verdict(release, scope)
            if verdict is None:
                continue
            if verdict.verdict is not Outcome.SAFE:
                return (verdict,)
            found.insert(0, verdict)
        return tuple(found)

    def _say(self) -> None:
        if self.progress is not None:
            self.progress(self.tried, max(self.known, self.tried))

    def _verdict(self, release: Release, scope: Scope) -> Verdict | None:
        """The verdict over a margin; None if no rule can be asked about it."""
        policy: Policy | None = self.policy
        if scope is not None and scope != self.over:
            behind = (levels_behind(release.domain, name)[0] for name in scope)
            policy = self.policy.within(dict(zip(behind, scope, strict=True)))
        if policy is None:
            return None
        left = self.left
        return judge(
            release,
            self.table,
            policy,
            over=scope,
            knows=self.knows,
            independent=self.independent,
            seconds=None if left is None else max(LEAST, SHARE * left),
            executor=self.executor if release.domain.size >= LARGE else None,
        )
