"""What a rate gives away as its decimals grow."""

from __future__ import annotations

from collections import Counter
from typing import Any

import cellbounds as cb
from website.pictures.style import LEFT, Paper, left_open, scale

ASKED = {
    "census3": "[income|gender,race]",
    "koch4": "[recovery|center,status,treatment]",
    "delinquent": "[education|county]",
}


def points() -> list[dict[str, Any]]:
    """For each table and number of decimals, the share of cells by what is left of them."""
    found = []
    for name, asked in ASKED.items():
        table = cb.datasets.read(name)
        cells = table.counts.size
        label = f"{name}: {table.total} people, {cells} cells"
        for digits in range(5):
            answer = cb.attainable(cb.publish(table, f"{asked}@{digits}"))
            counted = Counter(left_open(len(answer[cell])) for cell in answer.cells())
            found += [
                {
                    "table": label,
                    "decimals": digits,
                    "left": left,
                    "order": LEFT.index(left),
                    "share": counted[left] / cells,
                }
                for left in LEFT
            ]
    return found


def chart(paper: Paper) -> Any:
    """Stacked shares, a panel for each table."""
    import altair as alt

    bars = (
        alt.Chart(alt.Data(values=points()))
        .mark_bar(size=30)
        .encode(
            alt.X("decimals:O", title="decimals of the shares", axis=alt.Axis(labelAngle=0)),
            alt.Y("share:Q", title="cells of the table", axis=alt.Axis(format="%", tickCount=5)),
            alt.Color("left:N", title=None, scale=scale(paper), sort=list(LEFT)),
            order=alt.Order("order:Q"),
        )
        .properties(width=205, height=230)
    )
    said = "Shares and the number of people are published, no count. What is left of each count?"
    return bars.facet(
        facet=alt.Facet("table:N", title=None, sort=None), columns=3, title=alt.TitleParams(
            "A few decimals give a table away", subtitle=said
        )
    )  # fmt: skip
