"""How strong a claim is."""

from __future__ import annotations

from enum import Enum

__all__ = ["Evidence"]


class Evidence(Enum):
    """What stands behind a bound.

    EXACT: nobody can be outside, and a table attains it. OUTER: nobody can be outside, but it may
    not be attained. INNER: a table attains it, but others may go further.
    ESTIMATED: an average over draws, with a Monte Carlo error.
    """

    EXACT = "exact"
    OUTER = "outer"
    INNER = "inner"
    ESTIMATED = "estimated"

    def __repr__(self) -> str:
        return self.name
