"""The rule that no count may be worked out exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cellbounds.disclosure.policies.rule import CellRule
from cellbounds.errors import InvalidInput
from cellbounds.results import ValueSet
from cellbounds.runtime.arrays import BoolArray, IntArray

FORBIDDEN = {
    "any": (ValueSet([(0, None, 1)]), ""),
    "zeros": (ValueSet([(0, 0, 1)]), " that is zero (= 0)"),
    "positive": (ValueSet([(1, None, 1)]), " that is positive (> 0)"),
}
"""The counts that may not be the only attainable one, and how that is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactDisclosure(CellRule):
    """No cell (`of`: any, zeros, positive) may have a single attainable count.

    Counts that are shown are not worked out: of margins the rule speaks where they are hidden.

    Examples
    --------
    >>> print(ExactDisclosure(of="positive").sentence)
    no cell may have a single attainable count that is positive (> 0)
    """

    name: ClassVar[str] = "exact-disclosure"
    about_hidden: ClassVar[bool] = True

    of: str = "any"

    def __post_init__(self) -> None:
        if self.of not in ("any", "zeros", "positive"):
            raise InvalidInput(
                f"{self._of('of')} is {self.of!r}; choose 'any', 'zeros' or 'positive'"
            )

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        return f"no cell may have a single attainable count{FORBIDDEN[self.of][1]}"

    def broken(self, values: ValueSet, truths: ValueSet) -> bool | None:
        """Whether a cell has a single attainable count of the kind that the rule forbids."""
        known, possible = values.known, values.possible
        if known.size > 1:
            return False
        forbidden, _ = FORBIDDEN[self.of]
        if possible.size == 1:
            return possible.smallest in forbidden
        if known.size == 1 and known.smallest not in forbidden:
            return False  # whatever else is attainable, the single count could only be this one
        return False if self.of == "zeros" and 0 not in possible else None

    def lacks(self, values: ValueSet) -> str:
        """What a disclosed cell lacks."""
        return "1 more attainable count"

    def tells(self) -> bool:
        """Never: a count that breaks it is the only one, in every table that fits."""
        return False

    def why_not_monotone(self, *, independent: bool) -> str:
        """Never: publishing more leaves no more counts attainable."""
        return ""

    def carries_over(self) -> bool:
        """Always.

        A part with a single attainable count is its cell's only possible one, or max S is 0 and
        S = {0}: the cell had a single attainable count as well, the same.
        """
        return True

    def lacking(self, counts: IntArray, least: IntArray, most: IntArray) -> BoolArray:
        """Counts of the kind that the rule protects, if no other is known so far."""
        wrong = {"any": counts >= 0, "zeros": counts == 0, "positive": counts > 0}[self.of]
        return np.asarray(wrong & (most == least), dtype=bool)
