"""Risk against utility as a chart (needs the extra `plots`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cellbounds.disclosure.policies import Outcome
from cellbounds.runtime.files import library

if TYPE_CHECKING:
    from cellbounds.disclosure.exploring.frontier import Frontier

__all__ = ["frontier_chart"]

COLOURS = {Outcome.SAFE: "#0072b2", Outcome.UNSAFE: "#d55e00", Outcome.UNDECIDED: "#767676"}
SHAPES = {Outcome.SAFE: "circle", Outcome.UNSAFE: "cross", Outcome.UNDECIDED: "square"}
"""Colours that people with any colour vision can tell apart, and a shape for each."""


def frontier_chart(found: Frontier) -> Any:
    """Every design as a point, the frontier as a line, a ring around the best safe design.

    The points are drawn last, so that nothing keeps the pointer from them.
    """
    alt = library("altair", needed_for="charts", extra="plots")
    points = _points(found)
    rising = [
        {"utility": one.utility, "risk": one.risk, "order": place}
        for place, one in enumerate(found.frontier)
    ]
    outcomes = [one for one in Outcome if any(each.outcome is one for each in found.designs)]
    names = [one.value for one in outcomes]
    x = alt.X("utility:Q", title="utility", scale=alt.Scale(zero=False, nice=True))
    # Roots spread the small risks out, which are those to choose among; zero keeps its place.
    y = alt.Y("risk:Q", title="risk (square-root scale)", scale=alt.Scale(type="sqrt", nice=True))
    line = (
        alt.Chart(alt.Data(values=rising))
        .mark_line(color="#999999", strokeDash=[4, 3], interpolate="step-before")
        .encode(x, y, order="order:O")
    )
    best = [point for point in points if point["best"]]
    ring = (
        alt.Chart(alt.Data(values=best))
        .mark_point(size=260, strokeWidth=2.5, color="#000000", shape="circle")
        .encode(x, y)
    )
    dots = (
        alt.Chart(alt.Data(values=points))
        .mark_point(filled=True, size=70, opacity=0.75)
        .encode(
            x,
            y,
            alt.Color(
                "outcome:N",
                title="outcome",
                scale=alt.Scale(domain=names, range=[COLOURS[one] for one in outcomes]),
            ),
            alt.Shape(
                "outcome:N",
                title="outcome",
                scale=alt.Scale(domain=names, range=[SHAPES[one] for one in outcomes]),
            ),
            tooltip=[
                "statement:N",
                "rates:N",
                "merged:N",
                "outcome:N",
                alt.Tooltip("risk:Q", format=".4f"),
                alt.Tooltip("utility:Q", format=".4f"),
                alt.Tooltip("tightest:N", title="fewest attainable counts of a small cell"),
                alt.Tooltip("exact:Q", title="cells with one attainable count"),
                "reason:N",
            ],
        )
    )
    return alt.layer(line, ring, dots).properties(width=520, height=340, title=_title(alt, found))


def _points(found: Frontier) -> list[dict[str, Any]]:
    best = found.best
    return [
        {
            "statement": one.notation,
            "rates": str(one.design.way),
            "merged": one.design.merged or "nothing",
            "outcome": one.outcome.value,
            "risk": one.risk,
            "utility": one.utility,
            "tightest": "no limit, or none is small" if one.tightest is None else one.tightest,
            "exact": one.exact,
            "reason": one.reason,
            "best": one is best,
        }
        for one in found.designs
    ]


def _title(alt: Any, found: Frontier) -> Any:
    best = found.best
    marked = "no design is safe" if best is None else f"ring: best safe, {best.notation}"
    return alt.TitleParams(
        f"{len(found.designs)} designs under the policy {found.policy.name}",
        subtitle=[
            f"{marked}; dashed: not beaten by any other",
            "confidential: it depends on the true counts",
        ],
        anchor="start",
    )
