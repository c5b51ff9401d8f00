"""What a policy asks of suppression: which counts are hidden, and how uncertain they must stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    least
        What an intruder knows each count to be at least, if it is hidden.
    mark
        What a hidden count stands for in a release, to those who see that zeros are shown.
    left
        The rules that suppression was not chosen by; they are judged at the end.
    """

    primary: BoolArray
    levels: tuple[Level, ...]
    zeros: bool
    least: IntArray
    mark: str | None
    left: tuple[str, ...]


def asked_by(policy: Policy, cells: PublishedCells) -> Asked:
    """What the rules of a policy about small counts ask; zeros that everybody knows are none."""
    counts, judged = cells.counts, cells.judged() & ~cells.closed
    if cells.total is not None:
        judged[cells.total] = False  # everybody knows N
    hidden = np.zeros(len(counts), dtype=bool)
    levels: list[Level] = []
    zeros, left = False, []
    for rule in policy.rules:
        if not rule.suppressible:
            left.append(rule.name)
            continue
        small = rule.unshown(counts) & judged
        hidden |= small
        zeros |= bool(rule.unshown(np.zeros(1, dtype=np.int64))[0])
        for cell in np.flatnonzero(small).tolist():
            above, below, width = rule.asked(int(counts[cell]))
            if above or below or width:
                levels.append(Level(cell, above=above, below=below, width=width))
    least = np.zeros(len(counts), dtype=np.int64)
    mark = None if zeros or policy.against.zeros == "never" else ">=1"
    if mark is not None:
        least[cells.published & (counts > 0)] = 1
    # People in small cells know themselves to be there. All of them together are taken for one
    # intruder, which is more than any of them knows.
    small = judged & (counts <= policy.small)
    least[small] = np.maximum(least, np.minimum(counts, policy.against.respondents))[small]
    return Asked(hidden & cells.published, tuple(levels), zeros, least, mark, tuple(left))
