"""Answers: whether a release may follow what is out, and which past releases stand in its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cellbounds.disclosure.policies import Outcome, Policy, Verdict, worst
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.lifting import Target
from cellbounds.statements import Release
from cellbounds.text import html_table

__all__ = ["Answer", "notations_of"]

FORMAT = "cellbounds-ledger-answer/1"


def notations_of(release: Release) -> list[str]:
    """What a release speaks of, in the notation, without a figure: N is a count too.

    Structural zeros and other knowledge are left out: they are not said by it.
    """
    return [one.subject for one in release.statements if one.published]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
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
        What an intruder was taken to know besides, as priors; None if nothing was said.
    entry
        The entry that records it, if one does; ``entry.repeated`` if it was there before.
    """

    release: Release | None
    version: int
    policy: Policy
    together: Release
    judged: tuple[tuple[Target, Verdict], ...]
    harmful: tuple[Entry, ...] = ()
    smallest: bool | None = None
    before: Outcome = Outcome.SAFE
    knowledge: Release | None = None
    entry: Entry | None = None

    @property
    def verdict(self) -> Outcome:
        """UNSAFE if some cells are for certain, else UNDECIDED if some are open, else SAFE."""
        return worst(one.verdict for _, one in self.judged)

    @property
    def safe(self) -> bool:
        """Whether it is certain that no rule is broken."""
        return self.verdict is Outcome.SAFE

    @property
    def reason(self) -> str:
        """The answer in one or two sentences, without evidence."""
        what = "what is out" if self.release is None else ", ".join(notations_of(self.release))
        under = f"under the policy {self.policy.name}"
        if self.verdict is Outcome.SAFE:
            return f"SAFE {under}: {what}" + ("" if self.release is None else ", with what is out")
        if self.verdict is Outcome.UNDECIDED:
            return f"UNDECIDED {under}: {what}; give it more seconds, or ask for less"
        said = f"UNSAFE {under}: {what}"
        if self.before is Outcome.UNSAFE:
            said += "; what is out is unsafe already"
        if self.release is None or self.smallest is None:
            return said
        known = any(verdict.knows for _, verdict in self.judged)
        besides = ", with what an intruder knows" if known else ""
        if not self.harmful:
            return f"{said}; it does harm alone{besides}"
        named = "; ".join(
            f"entry {one.number}: {', '.join(one.statements)}" for one in self.harmful
        )
        fewest = "no fewer do" if self.smallest else "perhaps fewer do"
        return f"{said}; it does harm together with {named} ({fewest}){besides}"

    def summary(self) -> dict[str, Any]:
        """What is recorded of it: no label, count or figure."""
        findings = [one for _, verdict in self.judged for one in verdict.cells]
        broken = [one for one in findings if one.outcome is Outcome.UNSAFE]
        return {
            "outcome": self.verdict.value,
            "policy": self.policy.name,
            "broken": len(broken),
            "open": sum(one.outcome is Outcome.UNDECIDED for one in findings),
            "rules": sorted({one.rule for one in broken}),
            "harmful": [one.number for one in self.harmful],
            "smallest": self.smallest,
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values; for the owner."""
        return {
            "format": FORMAT,
            "view": "owner",
            "verdict": self.verdict.value,
            "reason": self.reason,
            "policy": self.policy.name,
            "version": self.version,
            "statements": [] if self.release is None else notations_of(self.release),
            "harmful": [
                {"entry": one.number, "statements": list(one.statements)} for one in self.harmful
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
            if verdict.verdict is not Outcome.SAFE:
                lines += ["", f"{target.said}: {verdict}"]
            elif len(self.judged) > 1:
                lines += ["", f"{target.said}: SAFE"]
            if verdict.verdict is Outcome.SAFE:
                lines += [f"  {note}" for note in verdict.notes]
        if self.entry is not None:
            lines += ["", self.entry.said]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self.reason}>"

    def _repr_html_(self) -> str:
        rows = [
            [target.said, str(verdict.verdict), str(len(verdict.broken))]
            for target, verdict in self.judged
        ]
        return html_table(self.reason, ["what", "verdict", "broken"], rows, (), "")
