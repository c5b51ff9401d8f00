"""One design: whether it is safe, how well small counts can be guessed, and what it is good for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.designs import Design
from cellbounds.disclosure.exploring.frontier import JudgedDesign
from cellbounds.disclosure.policies import Outcome, Policy, Verdict, judge
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.scenarios import case_of, empty_rows
from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.results import Attainable, Evidence, Unbounded
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.solve import attainable
from cellbounds.statements import Release
from cellbounds.utility.retained import kept

__all__ = ["Measures", "Utility", "guessing_risk", "measured"]

Utility = Callable[[Table, Release], float]
"""What a release about a table is good for."""

LEAST_SECONDS = 1e-3
"""A budget for what has been begun already."""


@dataclass(frozen=True, slots=True)
class Measures:
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

    def share(self, number: int) -> Measures:
        """The same for the next of so many designs: a hard one may not take the others' time."""
        if self.end is None:
            return self
        now = time.time()
        return replace(self, end=now + (self.end - now) / number)


@dataclass(frozen=True, slots=True)
class GuessingRisk:
    """What the attainable counts of the cells leave to guess.

    Attributes
    ----------
    small
        How many cells are small: all of them without the true counts.
    exact
        Cells, small or not, with a single attainable count.
    tightest
        The fewest attainable counts of a small cell; None if none of them has a limit.
    risk
        The average of 1 / (number of attainable counts) over the small cells, 0 if there are none.
    settled
        Whether all attainable counts are known. Otherwise those that are known count, so that the
        risk is not understated.
    """

    small: int
    exact: int
    tightest: int | None
    risk: float
    settled: bool


def measured(
    table: Table, designs: Sequence[Design], measures: Measures, left: int
) -> Iterator[tuple[int, JudgedDesign | str]]:
    """Measure designs that publish the same variables and levels.

    `left` says how many designs share the time that is left, these included. Yields the place of
    each design and what was found, or why it cannot be published. Stops when the time is spent.
    """
    whole = designs[0].prepared(table)
    for place, design in enumerate(designs):
        if measures.spent:
            return
        try:
            release = design.published(whole)
        except InvalidInput as problem:
            yield place, str(problem)
            continue
        yield place, _judged(design, release, whole, measures.share(left - place))


def _judged(design: Design, release: Release, table: Table, measures: Measures) -> JudgedDesign:
    begun = time.perf_counter()
    verdict, answer = _verdict(design, release, table, measures)
    margin = table.margin(*design.names)
    guessed = guessing_risk(
        release,
        margin,
        measures.policy,
        independent=measures.independent,
        seconds=measures.left,
        answer=answer,
    )
    settled = guessed.settled and verdict.verdict is not Outcome.UNDECIDED
    return JudgedDesign(
        design=design,
        outcome=verdict.verdict,
        broken=len(verdict.broken),
        open=len(verdict.open),
        exact=guessed.exact,
        tightest=guessed.tightest,
        risk=guessed.risk,
        utility=_utility(release, table, measures),
        figures=margin.domain.size,
        reason=_reason(verdict, guessed),
        settled=settled or measures.end is None,
        seconds=time.perf_counter() - begun,
    )


def _verdict(
    design: Design, release: Release, table: Table, measures: Measures
) -> tuple[Verdict, Attainable | None]:
    """The worse verdict: of the published table, or of all cells of the table behind it.

    With it come the attainable counts of the published table, if they were asked for.
    """
    policy, independent = measures.policy, measures.independent
    narrowed = policy.within(dict(zip(design.variables, design.names, strict=True)))
    verdict, answer = None, None
    if narrowed is not None:
        case = case_of(release, table, narrowed, over=design.names, independent=independent)
        verdict, answer = judged(case, Budget.of(measures.left))
        if case.known is not release:
            answer = None  # it knows more than the release says
        complete = set(design.names) == set(table.domain.names)
        implied = verdict.safe and policy.carries_over()
        if complete or implied or verdict.verdict is Outcome.UNSAFE:
            return verdict, answer
    behind = judge(release, table, policy, independent=independent, seconds=measures.left)
    if verdict is None or verdict.safe or behind.verdict is Outcome.UNSAFE:
        return behind, answer
    return verdict, answer


def _utility(release: Release, table: Table, measures: Measures) -> float:
    if measures.utility is None:
        return kept(table, release, use=[measures.use]).share
    found = measures.utility(table, release)
    if isinstance(found, bool) or not isinstance(found, Real) or not math.isfinite(found):
        raise InvalidInput(f"the utility of {release!r} is {found!r}; it must be a finite number")
    return float(found)


def _reason(verdict: Verdict, guessed: GuessingRisk) -> str:
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


def guessing_risk(
    release: Release,
    margin: Table,
    policy: Policy,
    *,
    independent: bool,
    seconds: float | None,
    answer: Attainable | None = None,
) -> GuessingRisk:
    """Look at the attainable counts of a margin; structural zeros and empty rows are left out.

    `answer` is what a verdict on the same question rests on, if it asked for the counts. They are
    asked for again only if something was left open: the verdict had a budget of its own, and the
    true table to begin with.
    """
    over = margin.domain.names
    spoken = ~(margin.structural | empty_rows(release, over))
    small, counts = spoken, margin.counts
    if not independent:
        small = spoken & np.asarray((counts >= policy.smallest) & (counts <= policy.small))
    if answer is not None and answer.evidence is Evidence.EXACT:
        found = _guessed(answer, spoken, small)
        if found.settled:
            return found
    try:
        return _guessed(attainable(release, over=over, seconds=seconds), spoken, small)
    except (TooMuchWork, Unsettled, UnsupportedRelease):
        number = int(small.sum())
        return GuessingRisk(number, 0, 1 if number else None, 1.0 if number else 0.0, False)


def _guessed(answer: Attainable, spoken: BoolArray, small: BoolArray) -> GuessingRisk:
    number = int(small.sum())
    (lower, upper), _ = answer.ends()
    sets = [answer.at(tuple(index)) for index in np.argwhere(small).tolist()]
    known = (values.known.size for values in sets)
    # Counts without end cannot be guessed.
    limited = [max(1, size) for size in known if not isinstance(size, Unbounded)]
    return GuessingRisk(
        number,
        int(((lower == upper) & spoken).sum()),
        min(limited, default=None),
        math.fsum(1 / size for size in limited) / number if number else 0.0,
        all(values.settled for values in sets),
    )
