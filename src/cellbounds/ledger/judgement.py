"""Judging everything that would be out together, and which past releases are to blame."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Finding, Outcome, Policy, Verdict, judge, worst
from cellbounds.disclosure.policies.crowds import Passed
from cellbounds.disclosure.policies.knowledge import hides_figures
from cellbounds.disclosure.policies.rerunning import MOST_CELLS, NOTHING, Gathered, Leads
from cellbounds.disclosure.policies.scenarios import Case, cases_of
from cellbounds.disclosure.policies.verdict import CANNOT_RERUN
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.journal import LedgerState
from cellbounds.ledger.versions import (
    ProtectedCells,
    PublishedRelease,
    informing,
    joined,
    targets_of,
)
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Release
from cellbounds.text import html_table

FORMAT = "cellbounds-ledger-answer/1"


def notations_of(release: Release) -> list[str]:
    """What a release speaks of, in the notation, without a figure: N is a count too.

    Structural zeros and other knowledge are left out: they are not said by it.
    """
    return [statement.subject for statement in release.statements if statement.published]


@dataclass(frozen=True, slots=True, eq=False)
class LedgerAnswer:
    """Whether a release may be published, given everything that is out.

    Attributes
    ----------
    release
        What was asked for; None if the question was about what is out.
    version
        The version of the table that it is about.
    together
        What would be out then, as one release.
    judged
        The verdicts on `together`, one for each kind of cells that must be safe.
    harmful
        The fewest past releases that together with this one do the harm, if it is unsafe; none if
        it does harm alone.
    smallest
        Whether it is proven that no fewer do; None if nobody is to blame, or was looked for.
    before
        The last verdict on what is out already.
    knowledge
        What an intruder was taken to know besides; None if nothing was said.
    intruder
        What the intruder was said to know for this question alone, such as ``"zeros=always"``.
    entry
        The entry that records it, if one does; ``entry.repeated`` if it was there before.
    """

    release: Release | None
    version: int
    policy: Policy
    together: Release
    judged: tuple[tuple[ProtectedCells, Verdict], ...]
    harmful: tuple[Entry, ...] = ()
    smallest: bool | None = None
    before: Outcome = Outcome.SAFE
    knowledge: Release | None = None
    intruder: tuple[str, ...] = ()
    entry: Entry | None = None

    @property
    def outcome(self) -> Outcome:
        """UNSAFE if some cells are for certain, else UNDECIDED if some are open, else SAFE."""
        return worst(verdict.outcome for _, verdict in self.judged)

    @property
    def safe(self) -> bool:
        """Whether it is certain that no rule is broken."""
        return self.outcome is Outcome.SAFE

    @property
    def reason(self) -> str:
        """The answer in one or two sentences, without evidence."""
        what = "what is out" if self.release is None else ", ".join(notations_of(self.release))
        under = f"under the policy {self.policy.name}"
        if self.outcome is Outcome.SAFE:
            return f"SAFE {under}: {what}" + ("" if self.release is None else ", with what is out")
        if self.outcome is Outcome.UNDECIDED:
            return f"UNDECIDED {under}: {what}; give it more seconds, or ask for less"
        text = f"UNSAFE {under}: {what}"
        if self.before is Outcome.UNSAFE:
            text += "; what is out is unsafe already"
        if self.release is None or self.smallest is None:
            return text
        known = any(verdict.knows for _, verdict in self.judged)
        besides = ", with what an intruder knows" if known else ""
        if not self.harmful:
            return f"{text}; it does harm alone{besides}"
        named = "; ".join(
            f"entry {entry.number}: {', '.join(entry.statements)}" for entry in self.harmful
        )
        fewest = "no fewer do" if self.smallest else "perhaps fewer do"
        return f"{text}; it does harm together with {named} ({fewest}){besides}"

    def summary(self) -> dict[str, Any]:
        """What is recorded of it: no label, count or figure."""
        findings = [cell for _, verdict in self.judged for cell in verdict.cells]
        broken = [finding for finding in findings if finding.outcome is Outcome.UNSAFE]
        return {
            "outcome": self.outcome.value,
            "policy": self.policy.name,
            "broken": len(broken),
            "open": sum(finding.outcome is Outcome.UNDECIDED for finding in findings),
            "rules": sorted({finding.rule for finding in broken}),
            "harmful": [entry.number for entry in self.harmful],
            "smallest": self.smallest,
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values; for the owner."""
        return {
            "format": FORMAT,
            "view": "owner",
            "verdict": self.outcome.value,
            "reason": self.reason,
            "policy": self.policy.name,
            "version": self.version,
            "statements": [] if self.release is None else notations_of(self.release),
            "harmful": [
                {"entry": entry.number, "statements": list(entry.statements)}
                for entry in self.harmful
            ],
            "smallest": self.smallest,
            "entry": None if self.entry is None else self.entry.number,
            "repeated": self.entry is not None and self.entry.repeated,
            "judged": [
                {"what": target.said, "verdict": verdict.to_dict()}
                for target, verdict in self.judged
            ],
        }

    def __str__(self) -> str:
        lines = [self.reason]
        for target, verdict in self.judged:
            if verdict.outcome is not Outcome.SAFE:
                lines += ["", f"{target.said}: {verdict}"]
            elif len(self.judged) > 1:
                lines += ["", f"{target.said}: SAFE"]
            if verdict.outcome is Outcome.SAFE:
                lines += [f"  the intruder knows: {known}" for known in verdict.intruder]
                lines += [f"  {note}" for note in verdict.notes]
        if self.entry is not None:
            lines += ["", self.entry.said]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self.reason}>"

    def _repr_html_(self) -> str:
        rows = [
            [target.said, str(verdict.outcome), str(len(verdict.broken))]
            for target, verdict in self.judged
        ]
        return html_table(self.reason, ["what", "verdict", "broken"], rows, (), "")


LEAST = 0.01
"""Seconds that a judgement is given even if the budget is spent: cheap proofs come first."""

PART = 0.2
"""The part of a budget's rest for one release, when many are judged."""

MOST_TRIALS = 100
"""Sets of past releases that are judged to find the fewest that do the harm."""


def answered(
    state: LedgerState,
    release: Release | None,
    version: int,
    table: Table | None,
    budget: Budget,
    knowledge: Release | None = None,
) -> LedgerAnswer:
    """Judge a release together with what is out, or, without one, what is out.

    Parameters
    ----------
    table
        All versions as one (:func:`~cellbounds.ledger.versions.stacked`); None if the ledger judges
        without the counts.
    knowledge
        What an intruder knows besides, over the variables of this version; what was
        recorded with past releases he knows anyway.
    """
    pieces = [PublishedRelease.recorded(entry) for entry in state.released]
    if release is not None:
        pieces.append(PublishedRelease.of(release, version, knowledge))
    together = joined(state, pieces)
    judges = CumulativeJudge(state, table, budget, pieces)
    judged = list(judges.verdicts(together, targets_of(state)))
    if release is not None and all(verdict.safe for _, verdict in judged):
        told = _told_by_committing(judges, state, pieces)
        if told is not None:
            judged[0] = judged[0][0], replace(judged[0][1], cells=(told,), notes=(told.evidence,))
    return LedgerAnswer(
        release,
        version,
        state.policy,
        together,
        tuple(judged),
        before=state.standing,
        knowledge=knowledge,
    )


def _told_by_committing(
    judges: CumulativeJudge, state: LedgerState, pieces: Sequence[PublishedRelease]
) -> Finding | None:
    """What whoever reruns the ledger's decisions would learn; None if that keeps the policy.

    He knows what was committed and that each time it was found safe, one after another; what was
    refused is not public.
    """
    if not judges.rerun:
        return None
    leads: Leads = _anything
    policies = {entry.content["judged"]["policy"] for entry in state.released}
    table = judges.flat
    for place in range(len(pieces)):
        if place < len(state.released) and state.released[place].content["already_out"]:
            continue
        release = joined(state, pieces[: place + 1])
        gathered = Gathered(judges.cases(release, targets_of(state)), leads, judges.budget)
        leads = _and_then(leads, gathered)
    hides = policies <= {state.policy.name} and leads(table) is not None
    if hides:
        return None
    cut, rule = judges.budget.spent, state.policy.rules[0].name
    why = f"{CANNOT_RERUN}{' (the budget was spent)' if cut else ''}"
    change = "more time" if cut else "coarser figures"
    return Finding(rule, Outcome.UNDECIDED, (), (), why, change)


def _anything(_: IntArray) -> Passed:
    """Every table led to the state in which nothing was published."""
    return NOTHING


def _and_then(before: Leads, gathered: Gathered) -> Leads:
    """Tables that led to a commit before, and hide in the crowd of the next."""
    return lambda table: NOTHING if before(table) is not None and gathered.hides(table) else None


def blamed(
    state: LedgerState, answer: LedgerAnswer, table: Table | None, budget: Budget
) -> LedgerAnswer:
    """The same answer with the past releases that do the harm, if it is unsafe."""
    if answer.release is None or answer.outcome is not Outcome.UNSAFE:
        return answer
    harmed = [target for target, verdict in answer.judged if verdict.outcome is Outcome.UNSAFE]
    past = [PublishedRelease.recorded(entry) for entry in state.released]
    new = PublishedRelease.of(answer.release, answer.version, answer.knowledge)
    # What he knows besides is known to him whatever was released.
    judges = CumulativeJudge(state, table, budget, [*past, new], PART)
    places, smallest = _fewest(judges, state, past, new, harmed)
    chosen = tuple(state.released[place] for place in places)
    return replace(answer, harmful=chosen, smallest=smallest)


class CumulativeJudge:
    """Judges releases with one budget, of which one release may take a part of what is left.

    The intruder knows besides what `pieces` say that he does.
    """

    def __init__(
        self,
        state: LedgerState,
        table: Table | None,
        budget: Budget,
        pieces: Iterable[PublishedRelease],
        part: float = 1.0,
    ) -> None:
        self._state, self._table, self._budget, self._part = state, table, budget, part
        self._domain, self._knows = informing(state, pieces)
        self.budget = budget

    @property
    def rerun(self) -> bool:
        """Whether what is safe has to hold against whoever reruns the decision, and may not."""
        if not self._state.independent or self._table is None:
            return False
        return self._state.policy.tells() and self._table.domain.size <= MOST_CELLS

    @property
    def flat(self) -> IntArray:
        """The table."""
        assert self._table is not None  # asked where there is one
        return self._table.counts.ravel()

    def cases(self, release: Release, targets: Sequence[ProtectedCells]) -> list[Case]:
        """What is judged of a release, for all targets, without the true counts."""
        release = self._spoken(release)
        return [
            case
            for target in targets
            for case in cases_of(
                release,
                self._table,
                target.policy,
                over=target.margins(release),
                knows=self._knows,
                independent=True,
            )
        ]

    def _spoken(self, release: Release) -> Release:
        """A release that knows the variables the intruder knows something of."""
        if not self._knows:
            return release
        domain = release.domain.with_groupings(self._domain.groupings)
        return Release(domain, release.statements)

    @property
    def overdue(self) -> bool:
        """Whether there is no time for anything."""
        return self._budget.overdue

    def verdicts(
        self, release: Release, targets: Sequence[ProtectedCells]
    ) -> Iterator[tuple[ProtectedCells, Verdict]]:
        """A verdict for each target, each with its share of the time that is left."""
        release = self._spoken(release)
        # Where the decision is rerun, or tells nothing of the counts, these may be used.
        told = self._state.policy.tells() or hides_figures(release)
        independent = self._state.independent and not self.rerun
        if self._table is not None:
            independent = independent and told
        for place, target in enumerate(targets):
            budget = self._budget.share(self._part / (len(targets) - place), least=LEAST)
            verdict = judge(
                self._table,
                release,
                target.policy,
                over=target.margins(release),
                knows=self._knows,
                independent=independent,
                budget=budget,
            )
            if verdict.safe and told and not self._state.independent:
                verdict = replace(verdict, notes=(*verdict.notes, CANNOT_RERUN))
            yield target, verdict

    def unsafe(self, release: Release, targets: Sequence[ProtectedCells]) -> bool | None:
        """Whether one of the targets is unsafe; None if none is known to be and some are open."""
        decided = True
        for _, verdict in self.verdicts(release, targets):
            if verdict.outcome is Outcome.UNSAFE:
                return True
            decided &= verdict.outcome is Outcome.SAFE
        return False if decided else None


def _fewest(
    judges: CumulativeJudge,
    state: LedgerState,
    past: Sequence[PublishedRelease],
    new: PublishedRelease,
    harmed: Sequence[ProtectedCells],
) -> tuple[Sequence[int], bool]:
    """The fewest past releases with which the new one harms these targets.

    First what can be left out one by one; then whether fewer than what remains suffice.
    """
    tried: dict[tuple[int, ...], bool | None] = {}

    def harms(chosen: Sequence[int]) -> bool:
        key = tuple(chosen)
        if key not in tried:
            release = joined(state, [*(past[place] for place in chosen), new])
            tried[key] = None if judges.overdue else judges.unsafe(release, harmed)
        return tried[key] is True

    def sure() -> bool:
        return None not in tried.values()

    if not past or harms([]):
        return (), sure()
    blamed = list(range(len(past)))
    for place in reversed(range(len(past))):  # what came last goes first: the oldest are blamed
        fewer = [other for other in blamed if other != place]
        if len(tried) < MOST_TRIALS and harms(fewer):
            blamed = fewer
    for count in range(1, len(blamed)):
        for chosen in itertools.combinations(range(len(past)), count):
            if len(tried) >= MOST_TRIALS and chosen not in tried:
                return blamed, False
            if harms(chosen):
                return chosen, sure()
    return blamed, sure()
