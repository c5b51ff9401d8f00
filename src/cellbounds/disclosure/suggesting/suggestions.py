"""Suggestions: safe releases near an unsafe one, with what each changes and keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, overload

from cellbounds.disclosure.policies import Outcome, Policy, Verdict
from cellbounds.disclosure.policies.rerunning import MOST_CELLS
from cellbounds.disclosure.policies.verdict import CANNOT_RERUN
from cellbounds.disclosure.suggesting.changes import Change
from cellbounds.results.answers import notations
from cellbounds.statements import Release
from cellbounds.text import counted
from cellbounds.utility.display import Listing, picked
from cellbounds.utility.retained_utility import Retained
from cellbounds.version import __version__

FORMAT = "cellbounds-suggest/1"

DEPENDS = (
    f"each of these is {CANNOT_RERUN}; the list, and that it was needed, depends on the counts: "
    "keep it to yourself"
)

RANKED = (
    "{which} holds against an intruder who reruns this; the list, and that it was needed, "
    "depends on the counts: keep it to yourself"
)

NOT_RERUN = (
    f"each of these is {CANNOT_RERUN}, which is not done for tables of so many cells; the verdicts "
    "do not depend on the counts, but what comes first does: keep the list to yourself"
)


@dataclass(frozen=True, slots=True, eq=False)
class Suggestion:
    """A release that was judged safe.

    Attributes
    ----------
    changes
        What is different from the release that was asked about.
    release
        What to publish instead.
    verdict
        The verdict on it: safe.
    kept
        What it keeps of the original statements.
    """

    changes: tuple[Change, ...]
    release: Release
    verdict: Verdict
    kept: Retained

    @property
    def notation(self) -> str:
        """What is published, in the notation."""
        return ", ".join(
            statement.subject for statement in self.release.statements if statement.published
        )

    @property
    def sentence(self) -> str:
        """The changes in words."""
        return "; ".join(change.sentence for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the owner."""
        return {
            "changes": [change.to_dict() for change in self.changes],
            "release": {"digest": self.release.digest, "statements": notations(self.release)},
            "verdict": self.verdict.outcome.value,
            "over": [list(names) for names in (self.verdict.over, *self.verdict.margins)],
            "kept": self.kept.to_dict(),
        }

    def __repr__(self) -> str:
        return f"<Suggestion: {self.sentence}; keeps {self.kept.percent}>"


@dataclass(frozen=True, slots=True)
class Searched:
    """How far the search went.

    Attributes
    ----------
    changes
        How many single changes there are, and how many were combined at most.
    tried, undecided, left
        Releases that were judged; of these, those that could not be decided; and those that were
        not tried, because time or the number of tries ran out.
    telling, unsettled
        Safe releases that are not shown, because whoever reruns the search would learn too much
        from their being suggested, or because that is not settled.
    unrepeatable
        Whether nothing is shown because what was asked for cannot be made of another table, such
        as figures that were made by chance.
    """

    changes: int
    together: int
    tried: int
    undecided: int
    left: int
    telling: int = 0
    unsettled: int = 0
    unrepeatable: bool = False

    @property
    def complete(self) -> bool:
        """Whether everything was tried and decided that could have been better."""
        return not self.left and not self.undecided and not self.unsettled

    @property
    def sentence(self) -> str:
        """The same in words."""
        words = (
            f"{counted(self.tried, 'release')} tried ({counted(self.changes, 'change')}, up to "
            f"{self.together} at once"
        )
        words += "; which figures of rates to suppress is chosen greedily)"
        if self.undecided:
            words += f"; {self.undecided} of them undecided"
        if self.left:
            words += f"; {self.left} not tried, because time or tries ran out"
        if self.telling:
            told = "because that they are suggested tells too much"
            words += f"; {self.telling} safe but not shown, {told}"
        if self.unsettled:
            words += f"; {self.unsettled} safe if nobody can rerun this, and not shown"
        if self.unrepeatable:
            words += (
                "; what was made by chance cannot be rerun (--with-counts: safe if nobody does)"
            )
        return words


@dataclass(frozen=True, slots=True, eq=False)
class Suggestions(Listing, Sequence[Suggestion]):
    """Safe releases near one that is not, the most useful first.

    Attributes
    ----------
    release, policy
        What was asked about.
    verdict
        The verdict on that release; if it is safe, there is nothing to suggest.
    found
        The suggestions.
    searched
        How far the search went.
    """

    numbers: ClassVar[frozenset[str]] = frozenset({"rank", "keeps"})

    release: Release
    policy: Policy
    verdict: Verdict
    found: tuple[Suggestion, ...]
    searched: Searched
    independent: bool
    seconds: float

    @property
    def outcome(self) -> Outcome:
        """Whether the release that was asked about is safe."""
        return self.verdict.outcome

    @property
    def safe_already(self) -> bool:
        """Whether nothing has to change."""
        return self.outcome is Outcome.SAFE

    @property
    def warning(self) -> str:
        """What the list itself gives away; of an empty one, what the verdict does."""
        if self.safe_already and not self.found:
            return self.verdict.warning
        if not self.independent:
            return DEPENDS
        if self.release.domain.size > MOST_CELLS:
            return NOT_RERUN
        marked = any(not suggestion.verdict.independent for suggestion in self.found)
        return RANKED.format(which="what is not marked" if marked else "each of these")

    @property
    def summary(self) -> str:
        """What came out, in a sentence or two; never that nothing exists."""
        statements = ", ".join(notations(self.release)) or "nothing said"
        head = f"{statements}: {self.outcome} under the policy {self.policy.name}"
        if self.safe_already:
            return f"{head}; nothing has to change"
        return f"{head}; {self._came_out}: {self.searched.sentence}"

    @property
    def _came_out(self) -> str:
        many = counted(len(self.found), "safe release") if self.found else "no safe release was"
        return f"{many} found"

    @overload
    def __getitem__(self, place: int) -> Suggestion: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Suggestion]: ...

    def __getitem__(self, place: int | slice) -> Suggestion | Sequence[Suggestion]:
        return self.found[place]

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.found)

    def columns(self) -> dict[str, list[Any]]:
        """The suggestions column by column."""
        return {
            "rank": list(range(1, len(self.found) + 1)),
            "kept": [suggestion.kept.share for suggestion in self.found],
            "changes": [len(suggestion.changes) for suggestion in self.found],
            "what to do": [suggestion.sentence for suggestion in self.found],
            "release": [suggestion.notation for suggestion in self.found],
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; for the owner."""
        return {
            "format": FORMAT,
            "version": __version__,
            "verdict": self.outcome.value,
            "over": [list(names) for names in (self.verdict.over, *self.verdict.margins)],
            **picked(self, "independent", "warning"),
            "policy": self.policy.to_dict(),
            "release": {"digest": self.release.digest, "statements": notations(self.release)},
            "summary": self.summary,
            "searched": {**asdict(self.searched), "complete": self.searched.complete},
            "seconds": round(self.seconds, 6),
            "suggestions": [suggestion.to_dict() for suggestion in self.found],
        }

    def _title(self) -> str:
        return self.summary

    def _table(self, _: int) -> tuple[list[str], list[list[str]], str]:
        rows = [
            [str(rank), suggestion.kept.percent, suggestion.sentence, suggestion.notation]
            for rank, suggestion in enumerate(self.found, 1)
        ]
        return ["rank", "keeps", "what to do", "release"], rows, ""

    def __str__(self) -> str:
        statements = ", ".join(notations(self.release)) or "nothing said"
        lines = [f"{self.outcome} under the policy {self.policy.name}: {statements}"]
        if self.safe_already:
            lines.append("  nothing has to change")
        else:
            lines += [f"  {self._came_out}: {self.searched.sentence}"]
            lines += ["  keeps: how close a reader still comes to the figures asked for", ""]
        for rank, suggestion in enumerate(self.found, 1):
            lines.append(f"{rank}. keeps {suggestion.kept.percent}: {suggestion.notation}")
            lines += [f"   - {change.sentence}" for change in suggestion.changes]
            if self.independent and not suggestion.verdict.independent:
                lines.append(f"   {CANNOT_RERUN}")
        return "\n".join([*lines, *(["", self.warning] if self.warning else [])])

    def __repr__(self) -> str:
        return f"<Suggestions: {self.summary}>"
