"""Judging everything that would be out together, and who is to blame if it is unsafe."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Outcome, Verdict, judge
from cellbounds.errors import InvalidInput
from cellbounds.ledger.answers import Answer
from cellbounds.ledger.lifting import Piece, Target, informing, joined, targets_of
from cellbounds.ledger.state import State
from cellbounds.statements import Release

__all__ = ["PART", "Effort", "Judges", "answered", "blamed"]

LEAST = 0.01
"""Seconds that a judgement is given even if the budget is spent: cheap proofs come first."""

PART = 0.2
"""The part of a budget's rest for one release, when many are judged."""

MOST_TRIALS = 100
"""Sets of past releases that are judged to find the fewest that do the harm."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long judging may take, and who helps."""

    seconds: float | None = None
    executor: Executor | None = None
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise InvalidInput(
                f"seconds={self.seconds!r}; a budget is a number of seconds above 0 (None: no "
                "limit)"
            )


def answered(
    state: State,
    release: Release | None,
    version: int,
    table: Table | None,
    effort: Effort,
    knowledge: Release | None = None,
) -> Answer:
    """Judge a release together with what is out, or, without one, what is out.

    Parameters
    ----------
    table
        All versions as one (:func:`~cellbounds.ledger.lifting.stacked`); None if the ledger judges
        without the counts.
    knowledge
        What an intruder knows besides, as priors over the variables of this version; what was
        recorded with past releases he knows anyway.
    """
    pieces = [Piece.recorded(one) for one in state.released]
    if release is not None:
        pieces.append(Piece.of(release, version, knowledge))
    together = joined(state, pieces)
    judged = Judges(state, table, effort, pieces).verdicts(together, targets_of(state))
    return Answer(
        release,
        version,
        state.policy,
        together,
        tuple(judged),
        before=state.standing,
        knowledge=knowledge,
    )


def blamed(state: State, answer: Answer, table: Table | None, effort: Effort) -> Answer:
    """The same answer with the past releases that do the harm, if it is unsafe."""
    if answer.release is None or answer.verdict is not Outcome.UNSAFE:
        return answer
    harmed = [target for target, one in answer.judged if one.verdict is Outcome.UNSAFE]
    past = [Piece.recorded(one) for one in state.released]
    new = Piece.of(answer.release, answer.version, answer.knowledge)
    # What he knows besides is known to him whatever was released.
    judges = Judges(state, table, effort, [*past, new], PART)
    places, smallest = _fewest(judges, state, past, new, harmed)
    chosen = tuple(state.released[place] for place in places)
    return replace(answer, harmful=chosen, smallest=smallest)


class Judges:
    """Judges releases with one budget, of which one release may take a part of what is left.

    The intruder knows besides what `pieces` say that he does.
    """

    def __init__(
        self,
        state: State,
        table: Table | None,
        effort: Effort,
        pieces: Iterable[Piece],
        part: float = 1.0,
    ) -> None:
        self._state, self._table, self._effort, self._part = state, table, effort, part
        self._domain, self._knows = informing(state, pieces)
        self._deadline = None if effort.seconds is None else time.monotonic() + effort.seconds

    def verdicts(self, release: Release, targets: Sequence[Target]) -> list[tuple[Target, Verdict]]:
        """A verdict for each target."""
        return [
            (target, self._one(release, target, len(targets) - place))
            for place, target in enumerate(targets)
        ]

    def unsafe(self, release: Release, targets: Sequence[Target]) -> bool | None:
        """Whether one of the targets is unsafe; None if none is known to be and some are open."""
        decided = True
        for place, target in enumerate(targets):
            found = self._one(release, target, len(targets) - place).verdict
            if found is Outcome.UNSAFE:
                return True
            decided &= found is Outcome.SAFE
        return False if decided else None

    def _one(self, release: Release, target: Target, shares: int) -> Verdict:
        seconds = None
        if self._deadline is not None:
            seconds = max(LEAST, self._part * (self._deadline - time.monotonic())) / shares
        if self._knows:
            spoken = release.domain.with_groupings(self._domain.groupings)
            release = Release(spoken, release.statements)
        return judge(
            release,
            self._table,
            target.policy,
            over=target.over,
            knows=self._knows,
            independent=self._state.independent,
            seconds=seconds,
            executor=self._effort.executor,
            progress=self._effort.progress,
        )


def _fewest(
    judges: Judges,
    state: State,
    past: Sequence[Piece],
    new: Piece,
    harmed: Sequence[Target],
) -> tuple[Sequence[int], bool]:
    """The fewest past releases with which the new one harms these targets.

    First what can be left out one by one; then whether fewer than what remains suffice.
    """
    tried: dict[tuple[int, ...], bool | None] = {}

    def harms(chosen: Sequence[int]) -> bool:
        key = tuple(chosen)
        if key not in tried:
            said = joined(state, [*(past[place] for place in chosen), new])
            tried[key] = judges.unsafe(said, harmed)
        return tried[key] is True

    def sure() -> bool:
        return None not in tried.values()

    if not past or harms([]):
        return (), sure()
    kept = list(range(len(past)))
    for place in reversed(range(len(past))):  # what came last goes first: the oldest are blamed
        fewer = [one for one in kept if one != place]
        if len(tried) < MOST_TRIALS and harms(fewer):
            kept = fewer
    for count in range(1, len(kept)):
        for chosen in itertools.combinations(range(len(past)), count):
            if len(tried) >= MOST_TRIALS and chosen not in tried:
                return kept, False
            if harms(chosen):
                return chosen, sure()
    return kept, sure()
