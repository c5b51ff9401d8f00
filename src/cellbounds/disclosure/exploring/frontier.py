"""The designs of a search beside each other: risk against utility, and the best safe one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from cellbounds.data.frames import frame_of
from cellbounds.disclosure.exploring.designs import Design
from cellbounds.disclosure.exploring.judged_design import FOUND, Judged
from cellbounds.disclosure.policies import Outcome, Policy
from cellbounds.errors import InvalidInput
from cellbounds.statements import Release
from cellbounds.text import aligned, html_table
from cellbounds.version import __version__

__all__ = ["Frontier", "LeftOut"]

FORMAT = "cellbounds-explore/1"

LINES = 40
"""Designs of the frontier that are printed."""

WARNING = (
    "which designs are safe, their risk and their utility depend on the confidential counts: keep "
    "this to yourself, and publish nothing but the release that you choose"
)

HEADER = ["", "statement", "rates", "merged", "outcome", "risk", "utility", "reason"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A design that cannot be published, and why."""

    design: Design
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Frontier:
    """Every design that was judged; what :func:`cellbounds.explore` gives.

    Attributes
    ----------
    designs
        What was judged, in a fixed order.
    left_out
        What cannot be published, and why.
    planned
        How many designs there are.
    policy, independent
        By what they were judged.
    use
        The rates that the utility speaks of.
    """

    designs: tuple[Judged, ...]
    left_out: tuple[LeftOut, ...]
    planned: int
    policy: Policy
    independent: bool
    use: str
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether every design was judged, without a budget that ran out."""
        done = len(self.designs) + len(self.left_out)
        return done == self.planned and all(one.settled for one in self.designs)

    @property
    def safe(self) -> tuple[Judged, ...]:
        """The designs that are safe for certain."""
        return tuple(one for one in self.designs if one.outcome is Outcome.SAFE)

    @property
    def best(self) -> Judged | None:
        """The safe design of the greatest utility; None if there is none.

        Among equals the one of less risk, then of fewer figures, then the first.
        """
        return min(self.safe, key=lambda one: (-one.utility, one.risk, one.figures), default=None)

    def best_release(self) -> Release:
        """What the best safe design publishes."""
        if self.best is None:
            raise InvalidInput(
                f"none of the {len(self.designs)} designs is safe under the policy "
                f"{self.policy.name}; try fewer digits, merges=, or fewer givens"
            )
        return self.best.release

    @property
    def frontier(self) -> tuple[Judged, ...]:
        """The designs that no other beats, with utility rising.

        One beats another if it has less risk and no less utility, or more utility and no more risk.
        """
        found: list[Judged] = []
        for one in sorted(self.designs, key=lambda one: (-one.utility, one.risk)):
            last = found[-1] if found else None
            if last is None or one.risk < last.risk or _alike(one, last):
                found.append(one)
        return tuple(reversed(found))

    @property
    def warning(self) -> str:
        """That this is for the owner's eyes."""
        return WARNING

    def columns(self) -> dict[str, list[Any]]:
        """The designs column by column."""
        best, frontier = self.best, set(map(id, self.frontier))
        found: dict[str, list[Any]] = {}
        for one in self.designs:
            design, way = one.design, one.design.way
            row = {
                "statement": one.notation,
                "responses": ", ".join(design.responses),
                "given": ", ".join(design.given),
                "digits": way.digits,
                "rounding": way.rounding,
                "eps": None if way.eps is None else str(way.eps),
                "merged": design.merged,
                "outcome": one.outcome.value,
                "frontier": id(one) in frontier,
                "best": one is best,
            } | {name: getattr(one, name) for name in FOUND}
            for name, value in row.items():
                found.setdefault(name, []).append(value)
        return found

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame of the designs; for the owner's eyes."""
        return frame_of(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; for the owner's eyes."""
        places = {id(one): place for place, one in enumerate(self.designs)}
        return {
            "format": FORMAT,
            "version": __version__,
            "warning": self.warning,
            "policy": self.policy.to_dict(),
            "independent": self.independent,
            "use": self.use,
            "complete": self.complete,
            "planned": self.planned,
            "seconds": round(self.seconds, 6),
            "best": None if self.best is None else places[id(self.best)],
            "frontier": [places[id(one)] for one in self.frontier],
            "designs": [one.to_dict() for one in self.designs],
            "left_out": [
                {"notation": one.design.notation, "design": one.design.to_dict(), "why": one.why}
                for one in self.left_out
            ],
        }

    def plot(self) -> Any:
        """Risk against utility, every point explained on hover; an Altair chart.

        ``save_chart`` writes it as SVG or PNG, or as HTML, where hovering works. Needs the extra
        ``plots``.
        """
        from cellbounds.disclosure.exploring.chart import frontier_chart

        return frontier_chart(self)

    def _title(self) -> str:
        counted = Counter(one.outcome for one in self.designs)
        said = ", ".join(f"{counted[one]} {one.value}" for one in Outcome)
        named = f"{len(self.designs)} designs for {self.use}"
        return f"{named} under the policy {self.policy.name}: {said}"

    def _said(self) -> list[str]:
        """What a reader must know besides."""
        said = []
        if not self.complete:
            done = sum(one.settled for one in self.designs) + len(self.left_out)
            said.append(f"not complete: {done} of {self.planned} designs are settled")
        if self.left_out:
            first = self.left_out[0]
            said.append(
                f"{len(self.left_out)} designs cannot be published, such as "
                f"{first.design.notation}: {first.why}"
            )
        if self.best is None:
            said.append("no design is safe")
        else:
            said.append(
                f"best safe design: {self.best.notation} ({_way(self.best)}), utility "
                f"{self.best.utility:.3f}, risk {self.best.risk:.3f}"
            )
        return said

    def _rows(self) -> tuple[list[list[str]], str]:
        """The frontier, and the best safe design if it is not on it."""
        shown = list(self.frontier)
        best = self.best
        if best is not None and not any(one is best for one in shown):
            shown = sorted([*shown, best], key=lambda one: one.utility)
        left = len(shown) - LINES
        if left > 0:
            shown = [one for one in shown[left:] if one is not best]
            shown = sorted([*shown, *([best] if best else [])], key=lambda one: one.utility)
        rows = [
            [
                "best" if one is best else "",
                one.notation,
                str(one.design.way),
                one.design.merged,
                str(one.outcome),
                f"{one.risk:.3f}",
                f"{one.utility:.3f}",
                one.reason,
            ]
            for one in shown
        ]
        more = f"... {left} more on the frontier, with less utility" if left > 0 else ""
        return rows, more

    def __str__(self) -> str:
        rows, more = self._rows()
        lines = [self._title(), *self._said()]
        if rows:
            lines += ["not beaten in risk and utility by any other design:"]
            lines.append(aligned(HEADER, rows, {"risk", "utility"}))
        return "\n".join(filter(None, [*lines, more, self.warning]))

    def __repr__(self) -> str:
        return f"<{self._title()}>"

    def _repr_html_(self) -> str:
        rows, more = self._rows()
        foot = "; ".join(filter(None, [more, *self._said(), self.warning]))
        return html_table(self._title(), HEADER, rows, {"risk", "utility"}, foot)


def _alike(one: Judged, other: Judged) -> bool:
    return one.risk == other.risk and one.utility == other.utility


def _way(one: Judged) -> str:
    merged = one.design.merged
    return f"{one.design.way}; {merged}" if merged else str(one.design.way)
