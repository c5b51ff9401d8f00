"""Suppression beside the peers, from the table that docs/protect.md records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from website.pictures.style import Paper

PAGE = Path(__file__).parents[2] / "docs/protect.md"
TOOLS = ("tau-ARGUS, optimal", "tau-ARGUS, modular", "GaussSuppression", "cellbounds")
_PATTERN = re.compile(r"(\d+) / (\d+)")
_KNOWN = re.compile(
    r"leave (\d+) of (\d+) primary figures exactly known, TA-MOD's (\d+), GS's none"
)


def points() -> list[dict[str, Any]]:
    """For each table how many people every tool hides; ours against those who see zeros."""
    lines = PAGE.read_text("utf-8").splitlines()
    head = next(
        i for i, line in enumerate(lines) if line.startswith("| table | published, primary")
    )
    found = []
    for line in lines[head + 2 :]:
        if not line.startswith("|"):
            break
        name, _, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        # tau-ARGUS twice, GaussSuppression, ours for tau-ARGUS's intruder and for who sees zeros.
        costs = [int(match[2]) for cell in cells if (match := _PATTERN.match(cell))]
        optimal, modular, gauss, _, ours, *_ = costs
        found += [
            {"table": name, "tool": tool, "cost": cost, "share": cost / gauss}
            for tool, cost in zip(TOOLS, (optimal, modular, gauss, ours), strict=True)
        ]
    return found


def known() -> dict[str, int]:
    """How many small counts of these tables each tool leaves exactly known, and of how many."""
    text = " ".join(PAGE.read_text("utf-8").split())
    if not (said := _KNOWN.search(text)):
        raise ValueError(f"{PAGE.name} does not say any more how many figures are exactly known")
    optimal, of, modular = map(int, said.groups())
    return dict(zip((*TOOLS, "of"), (optimal, modular, 0, 0, of), strict=True))


def chart(paper: Paper) -> Any:
    """What is given away, and what is hidden for it."""
    import altair as alt

    left = known()
    colours = alt.Scale(domain=list(TOOLS), range=[*paper.others, paper.ours])
    tool = alt.Color("tool:N", scale=colours, title=None, legend=None)
    ordered = alt.Y("tool:N", sort=list(TOOLS), title=None, axis=alt.Axis(labelLimit=200))
    counted = alt.Chart(alt.Data(values=[{"tool": tool, "n": left[tool]} for tool in TOOLS]))
    wide = alt.X(
        "n:Q", title=f"small counts exactly known, of {left['of']}", axis=alt.Axis(tickCount=4)
    )
    bars = counted.mark_bar(height=20).encode(wide, ordered, tool)
    labels = counted.mark_text(align="left", dx=5).encode(wide, ordered, alt.Text("n:Q"))
    dots = (
        alt.Chart(alt.Data(values=points()))
        .mark_point(filled=True, size=75, opacity=0.8)
        .encode(
            alt.X(
                "share:Q",
                title="people hidden besides, against GaussSuppression (1)",
                scale=alt.Scale(zero=False, nice=True),
            ),
            alt.Y("tool:N", sort=list(TOOLS), title=None, axis=alt.Axis(labels=False, ticks=False)),
            tool,
        )
    )
    high = 190
    title = alt.TitleParams(
        "Nothing given away, and no more hidden for it",
        subtitle=[
            "Twelve tables, each a dot; the attacker sees that zeros are printed.",
            "tau-ARGUS does not reckon with that, and may hide fewer for it.",
        ],
    )
    return alt.hconcat(
        (bars + labels).properties(width=250, height=high),
        dots.properties(width=390, height=high),
        spacing=30,
        title=title,
    )
