"""What several statements say about the same counts, taken together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.errors import InconsistentRelease
from cellbounds.runtime.arrays import SAFE
from cellbounds.statements.margins import Margin
from cellbounds.statements.statements import Known, Prior

__all__ = ["NO_LIMIT", "agreed", "laid_out", "within"]

NO_LIMIT = -1
"""Stands in upper bounds for: nothing known."""


def laid_out(statements: Sequence[Prior | Margin], domain: Domain, names: Sequence[str]) -> Known:
    """Combine priors over the same variables, with the axes in the order of `names`."""
    shape = tuple(len(domain.levels(name)) for name in names)
    lower = np.zeros(shape, dtype=np.int64)
    upper = np.full(shape, NO_LIMIT, dtype=np.int64)
    values: dict[int, tuple[int, ...]] = {}
    if not statements:
        return Known(lower, upper, values)
    for statement in statements:
        known = statement.known(domain)
        order = [statement.variables.index(name) for name in names]
        lower = np.maximum(lower, np.transpose(known.lower, order))
        given = np.transpose(known.upper, order)
        upper = np.where(upper < 0, given, np.where(given < 0, upper, np.minimum(upper, given)))
        for flat, possible in known.values.items():
            index = np.unravel_index(flat, known.lower.shape)
            place = int(np.ravel_multi_index([int(index[axis]) for axis in order], shape))
            before = values.get(place)
            both = possible if before is None else tuple(v for v in possible if v in before)
            values[place] = both
    names_said = ", ".join(statement.notation for statement in statements)
    return agreed(Known(lower, upper, values), names_said)


def agreed(known: Known, said: str) -> Known:
    """Fold bounds into the lists of values, and the lists' ends into the bounds.

    Raises
    ------
    InconsistentRelease
        If nothing is left for some cell.
    """
    lower, upper = known.lower.copy(), known.upper.copy()
    if any(possible and possible[-1] >= SAFE for possible in known.values.values()):
        lower, upper = lower.astype(object), upper.astype(object)
    values: dict[int, tuple[int, ...]] = {}
    for place, possible in known.values.items():
        low, high = int(lower.flat[place]), int(upper.flat[place])
        kept = tuple(v for v in possible if v >= low and (high < 0 or v <= high))
        values[place] = kept
        lower.flat[place], upper.flat[place] = (kept[0], kept[-1]) if kept else (1, 0)
    if ((upper >= 0) & (upper < lower)).any():
        raise InconsistentRelease(f"prior knowledge contradicts itself: {said}; correct it")
    return Known(lower, upper, values)


def within(known: Known, total: int | None) -> Known:
    """Cut upper bounds and lists at N: nothing can hold more."""
    if total is None:
        return known
    upper = np.where(known.upper > total, total, known.upper)
    values = {place: tuple(v for v in one if v <= total) for place, one in known.values.items()}
    return agreed(Known(known.lower, upper, values), f"it leaves nothing within N={total}")
