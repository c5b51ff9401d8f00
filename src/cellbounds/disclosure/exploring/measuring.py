"""One design: whether it is safe, how risky it is, and what it is good for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real

from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.carrying import carries_over
from cellbounds.disclosure.exploring.designs import Design
from cellbounds.disclosure.exploring.guessing import Guessing, guessing
from cellbounds.disclosure.exploring.judged_design import Judged
from cellbounds.disclosure.policies import Outcome, Policy, Verdict, judge
from cellbounds.disclosure.policies.attainable_cache import AttainableCache
from cellbounds.disclosure.policies.cases import case_of
from cellbounds.disclosure.policies.judging import judged
from cellbounds.errors import InvalidInput
from cellbounds.model.effort import Effort
from cellbounds.statements import Release
from cellbounds.utility.retained import kept

__all__ = ["Settings", "Utility", "measured"]

Utility = Callable[[Table, Release], float]
"""What a release about a table is good for."""

LEAST_SECONDS = 1e-3
"""A budget for what has been begun already."""


@dataclass(frozen=True, slots=True)
class Settings:
    """By what all designs are measured.

    Attributes
    ----------
    use
        The rates that a reader wants, in the notation.
    utility
        What a release is good for; None: how much of the wanted rates it keeps.
    end
        When to stop, of the wall clock, which is the same for all processes.
    """

    policy: Policy
    independent: bool
    use: str
    utility: Utility | None = None
    end: float | None = None

    @property
    def left(self) -> float | None:
        """A budget for the next question; None if there is no end."""
        return None if self.end is None else max(LEAST_SECONDS, self.end - time.time())

    @property
    def spent(self) -> bool:
        """Whether the end has come."""
        return self.end is not None and time.time() >= self.end

    def share(self, number: int) -> Settings:
        """The same for the next of so many designs: a hard one may not take the others' time."""
        if self.end is None:
            return self
        now = time.time()
        return replace(self, end=now + (self.end - now) / number)


def measured(
    table: Table, designs: Sequence[Design], settings: Settings, left: int
) -> Iterator[tuple[int, Judged | str]]:
    """Measure designs that publish the same variables and levels.

    `left` says how many designs share the time that is left, these included. Yields the place of
    each design and what was found, or why it cannot be published. Stops when the time is spent.
    """
    whole = designs[0].prepared(table)
    for place, design in enumerate(designs):
        if settings.spent:
            return
        try:
            release = design.published(whole)
        except InvalidInput as problem:
            yield place, str(problem)
            continue
        yield place, _judged(design, release, whole, settings.share(left - place))


def _judged(design: Design, release: Release, table: Table, settings: Settings) -> Judged:
    begun = time.perf_counter()
    verdict, known = _verdict(design, release, table, settings)
    margin = table.margin(*design.names)
    policy, independent = settings.policy, settings.independent
    guessed = guessing(release, margin, policy, independent, settings.left, known)
    settled = guessed.settled and verdict.verdict is not Outcome.UNDECIDED
    return Judged(
        design=design,
        outcome=verdict.verdict,
        broken=len(verdict.broken),
        open=len(verdict.open),
        exact=guessed.exact,
        tightest=guessed.tightest,
        risk=guessed.risk,
        utility=_utility(release, table, settings),
        figures=margin.domain.size,
        reason=_reason(verdict, guessed),
        settled=settled or settings.end is None,
        seconds=time.perf_counter() - begun,
    )


def _verdict(
    design: Design, release: Release, table: Table, settings: Settings
) -> tuple[Verdict, AttainableCache | None]:
    """The worse verdict: of the published table, or of all cells of the table behind it.

    With it comes what was worked out about the published table.
    """
    policy, independent = settings.policy, settings.independent
    narrowed = policy.within(dict(zip(design.variables, design.names, strict=True)))
    verdict, known = None, None
    if narrowed is not None:
        case = case_of(release, table, narrowed, design.names, (), independent)
        effort = Effort.of(settings.left, start=None if independent else table)
        verdict, reach = judged(case, effort)
        if case.known is release:
            known = reach
        complete = set(design.names) == set(table.domain.names)
        implied = verdict.safe and carries_over(policy)
        if complete or implied or verdict.verdict is Outcome.UNSAFE:
            return verdict, known
    behind = judge(release, table, policy, independent=independent, seconds=settings.left)
    if verdict is None or verdict.safe or behind.verdict is Outcome.UNSAFE:
        return behind, known
    return verdict, known


def _utility(release: Release, table: Table, settings: Settings) -> float:
    if settings.utility is None:
        return kept(table, release, use=[settings.use]).share
    found = settings.utility(table, release)
    if isinstance(found, bool) or not isinstance(found, Real) or not math.isfinite(found):
        raise InvalidInput(f"the utility of {release!r} is {found!r}; it must be a finite number")
    return float(found)


def _reason(verdict: Verdict, guessed: Guessing) -> str:
    """Why the outcome is what it is, in one line."""
    worst = verdict.broken or verdict.open
    if worst:
        first = worst[0]
        more = f"; and {len(worst) - 1} more" if len(worst) > 1 else ""
        whom = "" if first.respondent is None else f", to a respondent in {first.respondent}"
        return f"{first.rule} at {first.where}{whom}: {first.evidence}{more}"
    if not guessed.small:
        return "no count is small"
    if guessed.tightest is None:
        return "nothing limits the small counts"
    return f"every small count keeps at least {guessed.tightest} attainable"
