"""The frontier of risk and use."""

from __future__ import annotations

from typing import Any

import cellbounds as cb
from website.pictures.style import Paper

OUTCOMES = ("safe", "unsafe")


def chart(paper: Paper) -> Any:
    """Every design of rates of a table; those that no other beats are joined."""
    import altair as alt

    table = cb.datasets.read("koch4")
    found = cb.explore(table, response="recovery", digits=range(1, 5))
    best = found.best
    assert best is not None
    values = [
        {
            "use": one.utility,
            "risk": one.risk,
            "outcome": one.outcome.value,
            "best": one.notation == best.notation,
            "name": one.notation,
        }
        for one in found.designs
    ]
    rising = [
        {"use": one.utility, "risk": one.risk, "order": n} for n, one in enumerate(found.frontier)
    ]
    x = alt.X(
        "use:Q",
        title="use: what a reader learns of the finest rates",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(format="%"),
    )
    y = alt.Y(
        "risk:Q",
        title="risk: the chance to guess a small count",
        scale=alt.Scale(type="sqrt"),
        axis=alt.Axis(format="%", values=[0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1]),
    )
    line = (
        alt.Chart(alt.Data(values=rising))
        .mark_line(color=paper.faint, strokeDash=[4, 3], interpolate="step-before")
        .encode(x, y, order="order:O")
    )
    dots = alt.Chart(alt.Data(values=values))
    colour = alt.Color(
        "outcome:N",
        title=None,
        scale=alt.Scale(domain=list(OUTCOMES), range=[paper.ours, paper.known]),
    )
    shape = alt.Shape(
        "outcome:N", scale=alt.Scale(domain=list(OUTCOMES), range=["circle", "cross"])
    )
    marks = dots.mark_point(filled=True, size=90, opacity=0.85).encode(x, y, colour, shape)
    ring = dots.transform_filter("datum.best")
    chosen = ring.mark_point(size=330, strokeWidth=2.5, color=paper.ink).encode(x, y)
    named = ring.mark_text(align="right", dx=-4, dy=26).encode(x, y, alt.Text("name:N"))
    counted = {name: sum(one["outcome"] == name for one in values) for name in OUTCOMES}
    said = (
        f"{len(values)} ways to publish rates of a trial: {counted['safe']} safe, "
        f"{counted['unsafe']} not; ringed, the best one that is safe"
    )
    return alt.layer(line, marks, chosen, named).properties(
        width=640,
        height=330,
        title=alt.TitleParams("The most use for the least risk", subtitle=said),
    )
