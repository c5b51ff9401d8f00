"""The map of a protected table under three attackers."""

from __future__ import annotations

import dataclasses
from typing import Any

import cellbounds as cb
from cellbounds.disclosure.policies.intruder import Intruder
from website.pictures.style import LEFT, Paper, left_open, scale

VARIABLES = ("region", "branch")
REGIONS = ("Bay", "Fen", "Glen", "Moor", "Vale")
BRANCHES = ("Farms", "Mines", "Mills", "Shops", "Inns")
COUNTS = (
    (3, 3, 30, 30, 1),
    (30, 2, 30, 1, 2),
    (30, 44, 1, 1, 1),
    (13, 2, 44, 3, 0),
    (5, 1, 30, 21, 0),
)

ATTACKERS: dict[str, dict[str, str | None]] = {
    "adds and subtracts": {"primary": None, "secondary": None},
    "and sees that zeros are printed": {"primary": "1-999", "secondary": "1-999"},
    "and knows which crosses are small": {"primary": "1-3", "secondary": "4-999"},
}
"""What each takes a hidden count to be at least and at most."""


def points() -> list[dict[str, Any]]:
    """Every cell under every attacker: what is printed, and what is left of it."""
    table = cb.Table(cb.Domain(dict(zip(VARIABLES, (REGIONS, BRANCHES), strict=True))), COUNTS)
    policy = cb.policies.read("small-counts")
    careless = dataclasses.replace(policy, intruder=Intruder(zeros="never"))
    done = cb.protect(table, "[region+,branch+]", policy=careless, cost="cells")
    hidden = {
        (row.region, row.branch): row.status
        for row in done.to_frame().itertuples()
        if row.margin == "[region,branch]"
    }
    found = []
    for attacker, takes in ATTACKERS.items():
        shown = [
            [takes[str(hidden[r, b])] if (r, b) in hidden else int(table[r, b]) for b in BRANCHES]
            for r in REGIONS
        ]
        totals = [cb.Margin([name], table.margin([name]).counts.tolist()) for name in VARIABLES]
        asked = [cb.Total(table.total), cb.Margin(VARIABLES, shown), *totals]
        answer = cb.attainable(cb.Release(table.domain, asked))
        for cell in answer.cells():
            values = answer[cell]
            row = dict(zip(VARIABLES, cell, strict=True))
            said = f"= {min(values)}" if len(values) == 1 else f"{min(values)}-{max(values)}"
            left = left_open(len(values)) if cell in hidden else "printed"
            text = said if cell in hidden else str(int(table[cell]))
            found.append({**row, "attacker": attacker, "left": left, "text": text})
    return found


def chart(paper: Paper) -> Any:
    """Three maps of the same table."""
    import altair as alt

    inks = {
        "printed": paper.ink,
        LEFT[0]: paper.ground,
        LEFT[1]: paper.on_nearly,
        LEFT[2]: paper.ink,
    }
    values = [{**one, "ink": inks[one["left"]]} for one in points()]
    colours = scale(paper)
    colours.domain = ["printed", *LEFT]
    colours.range = [paper.ground, *colours.range]
    base = alt.Chart(alt.Data(values=values)).encode(
        alt.X("branch:N", sort=list(BRANCHES), title=None, axis=alt.Axis(labelAngle=0)),
        alt.Y("region:N", sort=list(REGIONS), title=None),
    )
    shades = base.mark_rect(stroke=paper.line).encode(
        alt.Color("left:N", title=None, scale=colours, legend=alt.Legend(values=list(LEFT)))
    )
    texts = base.mark_text().encode(alt.Text("text:N"), alt.Color("ink:N", scale=None))
    exact = {
        name: sum(one["attacker"] == name and one["left"] == LEFT[0] for one in values)
        for name in ATTACKERS
    }
    crosses = sum(one["left"] != "printed" for one in values) // len(ATTACKERS)
    first, second, third = exact.values()
    said = (
        f"Of {crosses} hidden counts, {first or 'none'} can be worked out from the totals alone. "
        f"Whoever knows a little more knows {second}, or {third}."
    )
    return (
        alt.layer(shades, texts)
        .properties(width=235, height=190)
        .facet(
            facet=alt.Facet("attacker:N", title=None, sort=list(ATTACKERS)),
            columns=3,
            title=alt.TitleParams("One table, three attackers", subtitle=said),
        )
    )
