"""Cost against N, from the figures that docs/benchmarks.md records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from website.pictures.style import Paper

PAGE = Path(__file__).parents[2] / "docs/benchmarks.md"
UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
NAMES = (
    "{'10000': '10,000', '1000000': '1 million', '100000000': '100 million', "
    "'10000000000': '10 billion', '1000000000000': '1,000 billion'}[datum.value]"
)
METHODS = ("cellbounds", "the algorithm of document 004")


def points() -> list[dict[str, Any]]:
    """Seconds by the number of people."""
    lines = PAGE.read_text("utf-8").splitlines()
    head = lines.index("### Growth with N")
    found = []
    for line in lines[head + 4 :]:
        if not line.startswith("|"):
            break
        people, _, _, call, *_, peer = (cell.strip() for cell in line.strip("|").split("|"))
        found += [
            {"people": int(people.replace(",", "")), "seconds": _seconds(said), "method": method}
            for method, said in zip(METHODS, (call, peer), strict=True)
            if said != "-"
        ]
    return found


def _seconds(said: str) -> float:
    number, unit = said.split()
    return float(number.replace(",", "")) * UNITS[unit]


def chart(paper: Paper) -> Any:
    """Two lines on logarithmic scales."""
    import altair as alt

    colours = alt.Scale(domain=list(METHODS), range=[paper.ours, paper.others[1]])
    lines = (
        alt.Chart(alt.Data(values=points()))
        .mark_line(point=alt.OverlayMarkDef(size=55, filled=True), strokeWidth=2.5)
        .encode(
            alt.X(
                "people:Q",
                title="people in the table, N",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(values=[10**n for n in range(4, 13, 2)], labelExpr=NAMES, grid=False),
            ),
            alt.Y(
                "seconds:Q",
                title="seconds",
                scale=alt.Scale(type="log", domain=[1e-4, 10]),
                axis=alt.Axis(values=[1e-4, 1e-3, 1e-2, 0.1, 1, 10], format="~g"),
            ),
            alt.Color("method:N", title=None, scale=colours),
        )
    )
    return lines.properties(
        width=640,
        height=260,
        title=alt.TitleParams(
            "A thousandth of a second, for a town or for the world",
            subtitle="Exact bounds of every count behind rounded rates, on one core; "
            "document 004's up to a million",
        ),
    )
