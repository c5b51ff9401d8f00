"""What was found about one design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.designs import Design
from cellbounds.disclosure.policies import Outcome
from cellbounds.errors import InvalidInput
from cellbounds.statements import Release

__all__ = ["Judged"]

FOUND = (
    "broken",
    "open",
    "exact",
    "tightest",
    "risk",
    "utility",
    "figures",
    "seconds",
    "reason",
)
"""What was found besides the outcome, in the order of columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A design, its verdict, its risk and its utility.

    Attributes
    ----------
    design
        What is published.
    outcome
        SAFE, UNSAFE or UNDECIDED: the worse of the published table and the whole one.
    broken, open
        How many findings break the policy, and how many are undecided; of the whole table if the
        published one is safe.
    exact
        Cells of the published table with a single attainable count.
    tightest
        The fewest attainable counts of a small cell of the published table; None if there is no
        small cell, or nothing limits any of them.
    risk
        From 0 to 1, the chance to guess a small count of the published table by picking one of its
        attainable counts: the average of 1 / (number of them).
    utility
        What the design keeps; by default from 0 (an even guess) to 1 (the exact finest rates).
    figures
        How many rates are published.
    reason
        One line: why it is unsafe, or what keeps it safe.
    settled
        Whether more time would change nothing.
    """

    design: Design
    outcome: Outcome
    broken: int
    open: int
    exact: int
    tightest: int | None
    risk: float
    utility: float
    figures: int
    reason: str
    settled: bool = True
    seconds: float = field(default=0.0, compare=False)
    table: Table | None = field(default=None, compare=False, repr=False)

    @property
    def notation(self) -> str:
        """The statement of rates in the notation."""
        return self.design.notation

    @property
    def release(self) -> Release:
        """What would be published, made anew from the table."""
        if self.table is None:
            raise InvalidInput("this design has no table; ask design.release(table)")
        return self.design.release(self.table)

    def found(self) -> dict[str, Any]:
        """What was found, as plain values without the design."""
        return {"outcome": self.outcome.value} | {name: getattr(self, name) for name in FOUND}

    @classmethod
    def of(cls, design: Design, found: Mapping[str, Any]) -> Judged:
        """A design with what :meth:`found` gave."""
        said = {name: found[name] for name in FOUND}
        return cls(design=design, outcome=Outcome(found["outcome"]), **said)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the owner."""
        return {
            "notation": self.notation,
            "design": self.design.to_dict(),
            **self.found(),
        }
