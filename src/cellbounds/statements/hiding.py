"""What hiding some counts of a margin gives away of them, to those who know the rule of hiding.

Two things are read off a margin itself. If it prints a zero, zeros are shown, so that a hidden
count is at least 1. If it marks small counts (``"<5"``), one that is hidden without the mark was
hidden for another reason, so that it is not among those that the mark stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cellbounds.runtime.arrays import BoolArray
from cellbounds.statements.known import Known
from cellbounds.statements.notation import names_text

if TYPE_CHECKING:
    from cellbounds.statements.margin import Margin

MOST_LISTED = 5000
"""Counts that are listed for one entry: beyond, that it is either zero or not small is not said."""


@dataclass(frozen=True, slots=True)
class HidingRule:
    """What somebody concludes who knows by which rule counts were hidden.

    Attributes
    ----------
    words
        What he concludes, and from what.
    statement
        The same about the counts.
    shown
        Whether the release itself shows the rule; else it is only said that he knows it.
    """

    words: str
    statement: Known
    shown: bool = True


def hiding_rules(
    margin: Margin,
    closed: BoolArray,
    *,
    zeros_shown: bool | None,
    marks: bool,
    most: int | None,
) -> Iterator[list[HidingRule]]:
    """What follows for the hidden entries of a margin: alternatives, the strongest first.

    Parameters
    ----------
    closed
        Entries that nobody can be in: neither a gap nor a zero there says anything.
    zeros_shown
        Whether zeros are shown; None: where the margin prints one.
    marks
        Whether gaps without a mark are looked at.
    most
        The largest count there can be, if that is known.
    """
    name, lower, upper = f"[{names_text(margin.variables)}]", margin.lower, margin.upper
    entries = margin.entries.ravel().tolist()
    as_counted = margin.base is None and margin.noise is None
    # A zero where nobody can be is printed by any rule.
    open_entries = [
        entry for entry, shut in zip(entries, closed.ravel().tolist(), strict=True) if not shut
    ]
    numbers = {entry for entry in open_entries if isinstance(entry, int)} if as_counted else set()
    shown = 0 in numbers if zeros_shown is None else zeros_shown

    def those(kind: type) -> BoolArray:
        chosen = [isinstance(entry, kind) for entry in entries]
        return np.array(chosen, dtype=bool).reshape(lower.shape) & ~closed

    blank, ranges = those(type(None)), those(str)
    open_below = (blank | (ranges & (upper > 0))) & (lower == 0)
    if shown and open_below.any():
        why = "it prints zeros" if 0 in numbers else "zeros are shown"
        words = f"a hidden count of {name} is at least 1: {why}"
        known = Known(margin.variables, lower=_laid_out(open_below, 1))
        yield [HidingRule(words, known, shown=zeros_shown is None)]
    marked = ranges & (lower <= 1) & (upper > 0)
    if not marks or not blank.any() or not marked.any():
        return
    # Marks of several widths: only what the narrowest of them stands for is marked for certain.
    beyond = int(upper[marked].min()) + 1
    printed = ~(blank | ranges | closed)
    if bool((printed & (lower > 0) & (upper >= 0) & (upper < beyond)).any()):
        return  # a small count that is shown: marking small ones is not the rule
    small, alternatives = f"counts below {beyond} are marked", []
    if shown or bool((lower[marked] == 0).any()):
        words = f"a count of {name} that is hidden without a mark is at least {beyond}: {small}"
        known = Known(margin.variables, lower=_laid_out(blank, beyond))
        alternatives.append(HidingRule(words, known))
    if not shown and most is not None and beyond <= most <= MOST_LISTED:
        words = (
            f"a count of {name} that is hidden without a mark is 0 or at least {beyond}: {small}"
        )
        listed = [0, *range(beyond, most + 1)]
        lists = [listed if empty else None for empty in blank.ravel().tolist()]
        known = Known(margin.variables, values=_nested(lists, blank.shape))
        alternatives.append(HidingRule(words, known))
    if alternatives:
        yield alternatives


def _laid_out(mask: BoolArray, count: int) -> npt.NDArray[np.object_]:
    return np.where(mask, count, np.array(None, dtype=object))


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    """Lists in a shape, as nested lists: an array would take them apart."""
    for size in reversed(shape[1:]):
        flat = [flat[start : start + size] for start in range(0, len(flat), size)]
    return flat
