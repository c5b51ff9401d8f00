"""The designs of a search beside each other: risk against utility, and the best safe one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.designs import Design
from cellbounds.disclosure.policies import Outcome, Policy
from cellbounds.errors import InvalidInput
from cellbounds.statements import Release
from cellbounds.text import counted as plural
from cellbounds.utility.display import Listing, picked
from cellbounds.version import __version__

FORMAT = "cellbounds-explore/1"

WARNING = (
    "which designs are safe, their risk and their utility depend on the confidential counts: keep "
    "this to yourself, and publish nothing but the release that you choose"
)

HEADER = ["design", "outcome", "risk", "utility", "reason"]

COLOURS = {Outcome.SAFE: "#0072b2", Outcome.UNSAFE: "#d55e00", Outcome.UNDECIDED: "#767676"}
SHAPES = {Outcome.SAFE: "circle", Outcome.UNSAFE: "cross", Outcome.UNDECIDED: "square"}
"""Colours that people with any colour vision can tell apart, and a shape for each."""

MEASURED = (
    *("broken", "open", "exact", "tightest", "risk"),
    *("utility", "figures", "seconds", "reason"),
)
"""What was found besides the outcome, in the order of columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDesign:
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
        return {"outcome": self.outcome.value} | {name: getattr(self, name) for name in MEASURED}

    @classmethod
    def of(cls, design: Design, found: Mapping[str, Any]) -> JudgedDesign:
        """A design with what :meth:`found` gave."""
        measured = {name: found[name] for name in MEASURED}
        return cls(design=design, outcome=Outcome(found["outcome"]), **measured)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the owner."""
        return {"notation": self.notation, "design": self.design.to_dict(), **self.found()}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A design that cannot be published, and why."""

    design: Design
    why: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frontier(Listing):
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
    chosen, signal
        With `independent` the place of the best design; and against whom it holds, in words.
    """

    most_lines: ClassVar[tuple[int, int]] = (40, 40)
    numbers: ClassVar[frozenset[str]] = frozenset({"risk", "utility"})

    designs: tuple[JudgedDesign, ...]
    left_out: tuple[LeftOut, ...]
    planned: int
    policy: Policy
    independent: bool
    use: str
    seconds: float = 0.0
    chosen: int | None = None
    signal: str = ""

    @property
    def complete(self) -> bool:
        """Whether every design was judged, without a budget that ran out."""
        done = len(self.designs) + len(self.left_out)
        return done == self.planned and all(design.settled for design in self.designs)

    @property
    def safe(self) -> tuple[JudgedDesign, ...]:
        """The designs that are safe for certain."""
        return tuple(design for design in self.designs if design.outcome is Outcome.SAFE)

    @property
    def best(self) -> JudgedDesign | None:
        """The safe design of the greatest utility; None if there is none.

        Among equals the one of less risk, then of fewer figures, then the first. With `independent`
        the utility is one that everybody can work out, and the choice holds against whoever reruns
        it, or `signal` says that it may not.
        """
        if self.independent:
            return None if self.chosen is None else self.designs[self.chosen]
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
    def frontier(self) -> tuple[JudgedDesign, ...]:
        """The designs that no other beats, with utility rising.

        One beats another if it has less risk and no less utility, or more utility and no more risk.
        """
        unbeaten: list[JudgedDesign] = []
        for judged in sorted(self.designs, key=lambda one: (-one.utility, one.risk)):
            last = unbeaten[-1] if unbeaten else None
            alike = last is not None and (judged.risk, judged.utility) == (last.risk, last.utility)
            if last is None or judged.risk < last.risk or alike:
                unbeaten.append(judged)
        return tuple(reversed(unbeaten))

    @property
    def warning(self) -> str:
        """That this is for the owner's eyes."""
        return WARNING

    def columns(self) -> dict[str, list[Any]]:
        """The designs column by column."""
        best, frontier = self.best, set(map(id, self.frontier))
        rows = [
            {
                "statement": design.notation,
                "responses": ", ".join(design.design.responses),
                "given": ", ".join(design.design.given),
                **picked(design.design.way, "digits", "rounding"),
                "eps": design.design.eps_text,
                "merged": design.design.merged,
                "outcome": design.outcome.value,
                "frontier": id(design) in frontier,
                "best": design is best,
                **{name: getattr(design, name) for name in MEASURED},
            }
            for design in self.designs
        ]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; for the owner's eyes."""
        places = {id(each): place for place, each in enumerate(self.designs)}
        return {
            "format": FORMAT,
            "version": __version__,
            "warning": self.warning,
            "policy": self.policy.to_dict(),
            **picked(self, "independent", "use", "complete", "planned", "signal"),
            "seconds": round(self.seconds, 6),
            "best": None if self.best is None else places[id(self.best)],
            "frontier": [places[id(each)] for each in self.frontier],
            "designs": [design.to_dict() for design in self.designs],
            "left_out": [
                {"notation": left.design.notation, "design": left.design.to_dict(), "why": left.why}
                for left in self.left_out
            ],
        }

    def plot(self) -> Any:
        """Risk against utility, every point explained on hover; an Altair chart.

        The frontier is a line, a ring is around the best safe design. ``save_chart`` writes it as
        SVG or PNG, or as HTML, where hovering works.
        """
        import altair as alt

        points = _points(self)
        x = alt.X("utility:Q", title="utility", scale=alt.Scale(zero=False, nice=True))
        # Roots spread the small risks out, which are those to choose among; zero keeps its place.
        roots = alt.Scale(type="sqrt", nice=True)
        y = alt.Y("risk:Q", title="risk (square-root scale)", scale=roots)

        def drawn(values: list[dict[str, Any]]) -> Any:
            return alt.Chart(alt.Data(values=values))

        unbeaten = enumerate(self.frontier)
        rising = [{**picked(each, "utility", "risk"), "order": place} for place, each in unbeaten]
        line = drawn(rising).mark_line(
            color="#999999", strokeDash=[4, 3], interpolate="step-before"
        )
        best = drawn([point for point in points if point["best"]])
        ring = best.mark_point(size=260, strokeWidth=2.5, color="#000000", shape="circle")
        dots = drawn(points).mark_point(filled=True, size=70, opacity=0.75)
        # The points are drawn last, so that nothing keeps the pointer from them.
        layers = (
            line.encode(x, y, order="order:O"),
            ring.encode(x, y),
            dots.encode(x, y, *_marks(alt, self), tooltip=_tooltip(alt)),
        )
        return alt.layer(*layers).properties(width=520, height=340, title=_chart_title(alt, self))

    def _title(self) -> str:
        counted = Counter(design.outcome for design in self.designs)
        outcomes = ", ".join(f"{counted[each]} {each.value}" for each in Outcome if counted[each])
        named = f"{plural(len(self.designs), 'design')} for {self.use}"
        return f"{named} under the policy {self.policy.name}: {outcomes or 'none was judged'}"

    def _remarks(self) -> list[str]:
        """What a reader must know besides."""
        remarks = []
        if not self.complete:
            done = sum(design.settled for design in self.designs) + len(self.left_out)
            remarks.append(f"not complete: {done} of {self.planned} designs are settled")
        if self.left_out:
            first = self.left_out[0]
            remarks.append(
                f"{plural(len(self.left_out), 'design')} cannot be published, such as "
                f"{first.design.notation}: {first.why}"
            )
        if self.best is None:
            remarks.append("no design is safe")
        else:
            remarks.append(
                f"best safe design: {self.best.notation} ({_way(self.best)}), utility "
                f"{self.best.utility:.3f}, risk {self.best.risk:.3f}"
            )
        if self.signal:
            remarks.append(self.signal)
        return remarks

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        """The frontier, and the best safe design if it is not on it."""
        shown, best = list(self.frontier), self.best
        if best is not None and not any(one is best for one in shown):
            shown = sorted([*shown, best], key=lambda one: one.utility)
        left = len(shown) - most
        rows = []
        for place, one in enumerate(shown):
            if place >= left or one is best:
                marked = "best: " if one is best else ""
                measures = [f"{one.risk:.3f}", f"{one.utility:.3f}", one.reason]
                # The notation tells the decimals, and that they are rounded to the nearest.
                told = one.design.merged == "" and str(one.design.way).endswith("nearest")
                how = f"{marked}{one.notation}" + ("" if told else f" ({_way(one)})")
                rows.append([how, str(one.outcome), *measures])
        more = f"... {left} more on the frontier, with less utility" if left > 0 else ""
        return HEADER, rows, more

    def _heading(self) -> list[str]:
        beaten = ["not beaten in risk and utility by any other design:"] if self.designs else []
        return [self._title(), *self._remarks(), *beaten]


def _way(one: JudgedDesign) -> str:
    merged = one.design.merged
    return f"{one.design.way}; {merged}" if merged else str(one.design.way)


# --- the chart ------------------------------------------------------------------------------


def _marks(alt: Any, frontier: Frontier) -> list[Any]:
    """A colour and a shape for each outcome that is there."""
    seen = {design.outcome for design in frontier.designs}
    outcomes = [outcome for outcome in Outcome if outcome in seen]
    names = [outcome.value for outcome in outcomes]
    return [
        channel(
            "outcome:N",
            title="outcome",
            scale=alt.Scale(domain=names, range=[marks[outcome] for outcome in outcomes]),
        )
        for channel, marks in ((alt.Color, COLOURS), (alt.Shape, SHAPES))
    ]


def _tooltip(alt: Any) -> list[Any]:
    return [
        *("statement:N", "rates:N", "merged:N", "outcome:N"),
        alt.Tooltip("risk:Q", format=".4f"),
        alt.Tooltip("utility:Q", format=".4f"),
        alt.Tooltip("tightest:N", title="fewest attainable counts of a small cell"),
        alt.Tooltip("exact:Q", title="cells with one attainable count"),
        "reason:N",
    ]


def _points(frontier: Frontier) -> list[dict[str, Any]]:
    best = frontier.best
    return [
        {
            "statement": design.notation,
            "rates": str(design.design.way),
            "merged": design.design.merged or "nothing",
            "outcome": design.outcome.value,
            "tightest": "no limit, or none is small"
            if design.tightest is None
            else design.tightest,
            **picked(design, "risk", "utility", "exact", "reason"),
            "best": design is best,
        }
        for design in frontier.designs
    ]


def _chart_title(alt: Any, frontier: Frontier) -> Any:
    best = frontier.best
    marked = "no design is safe" if best is None else f"ring: best safe, {best.notation}"
    return alt.TitleParams(
        f"{len(frontier.designs)} designs under the policy {frontier.policy.name}",
        subtitle=[
            marked,
            "dashed: not beaten by any other",
            "confidential: it depends on the true counts",
        ],
        anchor="start",
    )
