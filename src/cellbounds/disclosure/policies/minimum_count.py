"""The rule about figures that are shown, decided from the statements themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.rule import Cells, ReleaseRule, check_bool, check_whole
from cellbounds.disclosure.policies.verdict import Finding, Outcome
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from cellbounds.disclosure.policies.attacker import Attacker


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumCount(ReleaseRule):
    """No count below a minimum may be shown: a rule about the published figures themselves.

    It speaks of N and of the entries of margins that show one figure, exact or rounded. With
    ``zeros=False`` a zero may be shown.

    Examples
    --------
    >>> print(MinimumCount(at_least=10).sentence)
    a count that is shown in a margin, exact or rounded, must be at least 10 (>= 10; zeros included)
    """

    name: ClassVar[str] = "minimum-count"
    about_figures: ClassVar[bool] = True
    suppressible: ClassVar[bool] = True

    at_least: int = field(metadata={"means": "the smallest count that is shown"})
    zeros: bool = True

    def __post_init__(self) -> None:
        check_whole(self, "at_least", 1)
        check_bool(self, "zeros")
        if self.at_least == 1 and not self.zeros:
            raise InvalidInput(
                f"the rule {self.name} with at_least=1 and without zeros can never fail; raise "
                "at_least or give zeros=True"
            )

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        zeros = "zeros included" if self.zeros else "zeros may be shown"
        return (
            "a count that is shown in a margin, exact or rounded, must be at least "
            f"{self.at_least} (>= {self.at_least}; {zeros})"
        )

    @property
    def least_shown(self) -> int:
        """The smallest count that may be shown as it is."""
        return self.at_least

    def unshown(self, counts: IntArray) -> BoolArray:
        """Counts below the minimum."""
        return np.asarray((counts < self.at_least) & (self.zeros | (counts > 0)), dtype=bool)

    def findings(self, attacker: Attacker, cells: Cells | None = None) -> Iterator[Finding]:
        """A finding for N and for every entry of a margin that shows one count.

        Of the table only its structural zeros matter.
        """
        release = attacker.case.release
        whole = attacker.case.whole.with_domain(release.domain)
        for statement in release.statements:
            shown = statement.shown_counts()
            if shown is None:
                continue
            names, notation = statement.variables, statement.notation
            if not names:
                yield self._finding(shown.item(), notation, (), ())
                continue
            margin = whole.margin(names)
            for index in np.ndindex(margin.domain.shape):
                if shown[index] is not None and not margin.structural[index]:
                    labels = margin.domain.labels(index)
                    yield self._finding(int(shown[index]), notation, names, labels)

    def _finding(
        self, figure: int, notation: str, variables: tuple[str, ...], labels: tuple[Label, ...]
    ) -> Finding:
        broken = figure < self.at_least and (self.zeros or figure > 0)
        change = f"suppressing the figure, or coarser levels in {notation}" if broken else ""
        evidence = f"{notation} shows {figure}"
        return Finding(
            self.name, Outcome.of(broken), variables, labels, evidence, change, figure=True
        )

    def why_not_monotone(self, *, independent: bool) -> str:
        """Never: what is shown stays shown."""
        return ""

    def carries_over(self) -> bool:
        """Always: the figures that are shown are the same for both tables."""
        return True

    def unproven(
        self, table: Table, exempt: BoolArray, least: IntArray, most: IntArray
    ) -> BoolArray:
        """None: no cell matters."""
        return np.zeros(table.counts.shape, dtype=bool)
