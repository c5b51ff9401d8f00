"""How one count narrows as releases follow each other."""

from __future__ import annotations

from typing import Any

import cellbounds as cb
from website.pictures.style import Paper

CELL = ("Male", "Chinese", ">25000")
RELEASES = ("[gender]", "[race|income]@1", "[income|gender,race]@2")
OUTCOMES = ("released", "refused by the ledger")


def points() -> list[dict[str, Any]]:
    """After each release, what is left of the count; whether that release was judged safe."""
    table = cb.datasets.read("census3")
    found = []
    for number in range(len(RELEASES) + 1):
        out = RELEASES[:number]
        known = cb.Release(table.domain, [cb.Total(table.total)])
        release = cb.publish(table, *out) if out else known
        lower, upper = cb.bounds(release, cells=[CELL])[CELL]
        safe = cb.judge(table, release).outcome is cb.Outcome.SAFE
        found.append(
            {
                "step": f"+ {out[-1]}" if out else "N = 742",
                "lower": lower,
                "upper": upper,
                "true": int(table[CELL]),
                "text": f"exactly {lower}" if lower == upper else f"{lower} to {upper}",
                "verdict": OUTCOMES[not safe],
            }
        )
    return found


def chart(paper: Paper) -> Any:
    """A bar for what is left after each release."""
    import altair as alt

    values = points()
    steps = [one["step"] for one in values]
    base = alt.Chart(alt.Data(values=values)).encode(
        alt.Y("step:N", sort=steps, title=None, axis=alt.Axis(labelLimit=260, labelFontSize=13))
    )
    roots = alt.Scale(type="sqrt", domain=[0, 800])
    colours = alt.Scale(domain=list(OUTCOMES), range=[paper.ours, paper.known])
    axis = alt.Axis(values=[0, 2, 10, 50, 100, 200, 400, 742])
    bars = base.mark_bar(height=20, cornerRadius=3).encode(
        alt.X("lower:Q", title="what the count can be (square-root scale)", scale=roots, axis=axis),
        alt.X2("upper:Q"),
        alt.Color("verdict:N", scale=colours, title=None),
    )
    dots = base.mark_point(filled=True, size=80, shape="diamond").encode(
        alt.X("lower:Q"), alt.Color("verdict:N", scale=colours)
    )
    exact = dots.transform_filter("datum.lower == datum.upper")
    texts = base.mark_text(align="left", dx=8).encode(alt.X("upper:Q"), alt.Text("text:N"))
    true = (
        alt.Chart(alt.Data(values=values[:1]))
        .mark_rule(color=paper.faint, strokeDash=[4, 4])
        .encode(alt.X("true:Q"))
    )
    said = "Chinese men with more than 25,000 in a census extract: 2 of 742 people (dashed)"
    return alt.layer(bars, true, exact, texts).properties(
        width=640,
        height=200,
        title=alt.TitleParams("Safe, safe, and then one release too many", subtitle=said),
    )
