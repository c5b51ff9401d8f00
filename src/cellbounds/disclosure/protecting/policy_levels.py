"""What a policy asks of suppression: which counts are hidden, and how uncertain they must stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.protecting.published_cells import PublishedCells
from cellbounds.disclosure.protecting.suppression_problem import Level
from cellbounds.runtime.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a policy asks of the cells.

    Attributes
    ----------
    primary
        Published cells whose count may not be shown.
    levels
        How uncertain counts must stay, those of cells that are not published too.
    zeros
        Whether zeros are hidden like other small counts: otherwise all of them are shown, and a
        hidden count is known to be at least 1.
    least, most
        What an intruder knows each count to be at least and at most, if it is hidden; -1: nothing.
    mark
        What stands for a hidden count in a release; for a primary one `primary_mark`, if the
        finished table tells these from the others.
    left
        The rules that suppression was not chosen by; they are judged at the end.
    shows_zeros
        Whether everybody sees that zeros are shown.
    """

    primary: BoolArray
    levels: tuple[Level, ...]
    zeros: bool
    least: IntArray
    most: IntArray
    mark: str | None
    left: tuple[str, ...]
    shows_zeros: bool
    primary_mark: str | None = None

    @property
    def marks(self) -> npt.NDArray[np.object_]:
        """What stands for each count if it is hidden."""
        marks = np.full(len(self.least), self.mark, dtype=object)
        if self.primary_mark is not None:
            marks[self.primary] = self.primary_mark
        return marks


def asked_by(policy: Policy, cells: PublishedCells, *, marked: bool = False) -> Asked:
    """What the rules of a policy about small counts ask; zeros that everybody knows are none.

    With `marked` the finished table tells which hidden counts are primary, so that everybody knows
    these to be small, and the others not to be.
    """
    counts, judged = cells.counts, cells.judged() & ~cells.closed
    if cells.total is not None:
        judged[cells.total] = False  # everybody knows N
    hidden = np.zeros(len(counts), dtype=bool)
    levels: list[Level] = []
    zeros, left, largest = False, [], 0
    for rule in policy.rules:
        if not rule.suppressible:
            left.append(rule.name)
            continue
        largest = max(largest, rule.small or 0)
        small = rule.unshown(counts) & judged
        hidden |= small
        zeros |= bool(rule.unshown(np.zeros(1, dtype=np.int64))[0])
        for cell in np.flatnonzero(small).tolist():
            above, below, width = rule.asked(int(counts[cell]))
            if above or below or width:
                levels.append(Level(cell, above=above, below=below, width=width))
    primary = hidden & cells.published
    least, most = np.zeros(len(counts), dtype=np.int64), np.full(len(counts), -1)
    shows_zeros = not zeros and policy.against.zeros != "never"
    mark = ">=1" if shows_zeros else None
    if shows_zeros:
        least[cells.published & (counts > 0)] = 1
    primary_mark = None
    if marked and primary.any():
        primary_mark = f"{int(shows_zeros)}-{largest}"
        most[primary] = largest
        if policy.against.marks == "shown":
            # Whoever sees small counts marked knows that the others were hidden for their sake.
            mark = f">={largest + 1}"
            least[cells.published & ~primary & (counts > 0)] = largest + 1
    # People in small cells know themselves to be there. All of them together are taken for one
    # intruder, which is more than any of them knows.
    small = judged & (counts <= policy.small)
    least[small] = np.maximum(least, np.minimum(counts, policy.against.respondents))[small]
    return Asked(
        primary=primary,
        levels=tuple(levels),
        zeros=zeros,
        least=least,
        most=most,
        mark=mark,
        left=tuple(left),
        shows_zeros=shows_zeros,
        primary_mark=primary_mark,
    )
