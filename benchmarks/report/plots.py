"""Plots as SVG files beside the report: logarithmic axes, labels at the lines, no background.

Reports are read on white and on black pages, so every colour is a middle one that stands out from
both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INK, GRID = "#808080", "#80808055"
COLOURS = ("#2f81f7", "#d9730d", "#2da44e", "#bf4bc9", "#c9a000", "#e5534b")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
WIDTH, HEIGHT, LINE_HEIGHT = 440, 260, 18
ROOM = 150  # to the right of the plot, for the labels of lines
LABEL = (150, 15)  # width and height that a label takes
MOST_LABELS = 8  # along an axis
WRITTEN_OUT = 3  # powers of ten up to this one are written out


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its label and its points, both coordinates positive."""

    label: str
    points: Sequence[tuple[float, float]]


class Plots:
    """Writes plots into a folder, and the Markdown that shows them.

    Parameters
    ----------
    folder : Path
        Where the files go.
    beside : str
        That folder as the report names it.
    """

    def __init__(self, folder: Path, beside: str) -> None:
        self._folder = folder
        self._beside = beside

    def lines(self, name: str, across: str, series: Sequence[Series]) -> str:
        """Plot seconds against something, line by line, each with its label at its end."""
        import altair as alt

        points = [(one.label, x, y) for one in series for x, y in one.points if y > 0]
        if not points:
            return ""
        values = [{"x": x, "seconds": y, "series": label} for label, x, y in points]
        horizontal = powers_of_ten([x for _, x, _ in points])
        vertical = powers_of_ten([y for _, _, y in points])
        x = alt.X("x:Q", axis=axis(horizontal)).title(across)
        y = alt.Y("seconds:Q", axis=axis(vertical)).title("seconds")
        x = x.scale(type="log", domain=[horizontal[0], horizontal[-1]], nice=False)
        y = y.scale(type="log", domain=[vertical[0], vertical[-1]], nice=False)
        order = [one.label for one in series]
        colour = alt.Color("series:N", legend=None).scale(domain=order, range=list(COLOURS))
        shape = alt.Shape("series:N", legend=None).scale(domain=order, range=list(SHAPES))
        drawn = (
            alt.Chart(alt.InlineData(values=values), width=WIDTH, height=HEIGHT)
            .mark_line(strokeWidth=2)
            .encode(x, y, colour)
        )
        marks = (
            alt.Chart(alt.InlineData(values=values))
            .mark_point(filled=True, size=45, opacity=1)
            .encode(x, y, colour, shape)
        )
        ends = apart([last_point(one) for one in series if one.points], horizontal, vertical)
        labels = (
            alt.Chart(alt.InlineData(values=ends))
            .mark_text(align="left", dx=10, fontSize=12, fontWeight="bold")
            .encode(
                alt.X("x:Q").scale(type="log"), alt.Y("y:Q"), alt.Text("series:N"), color=colour
            )
        )
        return self._save(name, drawn + marks + labels, f"{across}: seconds", room=ROOM)

    def ratios(
        self, name: str, title: str, series: Sequence[tuple[str, Sequence[tuple[str, float]]]]
    ) -> str:
        """Plot ratios as dots, one line for each instance, labelled above by the first line."""
        import altair as alt

        values: list[dict[str, Any]] = [
            {"instance": instance, "ratio": ratio, "series": label}
            for label, points in series
            for instance, ratio in points
            if ratio > 0
        ]
        if not values:
            return ""
        ticks = powers_of_ten([*(float(one["ratio"]) for one in values), 1.0])
        instances = list(dict.fromkeys(one["instance"] for one in values))
        order = [label for label, _ in series]
        x = (
            alt.X("ratio:Q", axis=axis(ticks))
            .scale(type="log", domain=[ticks[0], ticks[-1]], nice=False)
            .title(title)
        )
        y = alt.Y("instance:N", sort=instances, axis=alt.Axis(grid=True)).title(None)
        legend = alt.Legend(orient="top", title=None, symbolOpacity=1)
        dots = (
            alt.Chart(
                alt.InlineData(values=values), width=WIDTH, height=LINE_HEIGHT * len(instances)
            )
            .mark_point(filled=True, size=60, opacity=0.9)
            .encode(
                x,
                y,
                alt.Color("series:N", legend=legend).scale(domain=order, range=list(COLOURS)),
                alt.Shape("series:N", legend=legend).scale(domain=order, range=list(SHAPES)),
            )
        )
        return self._save(name, dots, title)

    def _save(self, name: str, chart: Any, described: str, room: int = 5) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{name}.svg"
        styled(chart, room).save(path, format="svg")
        text = path.read_text(encoding="utf-8")
        if not text.endswith("\n"):
            path.write_text(text + "\n", encoding="utf-8")
        return f"![{described}]({self._beside}/{path.name})"


def styled(chart: Any, room: int) -> Any:
    """Give a chart the colours that both kinds of pages bear, and room to its right."""
    return (
        chart.configure(
            background="transparent", padding={"left": 5, "top": 5, "bottom": 5, "right": room}
        )
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            domainColor=INK,
            tickColor=INK,
            gridColor=GRID,
            labelFontSize=12,
            titleFontSize=13,
            titleFontWeight="normal",
        )
        .configure_legend(labelColor=INK, titleColor=INK, labelFontSize=12)
    )


def last_point(one: Series) -> tuple[str, float, float]:
    """Return the label of a line and where it ends."""
    x, y = max(one.points)
    return one.label, x, y


def apart(
    ends: Sequence[tuple[str, float, float]], across: Sequence[float], up: Sequence[float]
) -> list[dict[str, Any]]:
    """Move labels that would lie on each other apart, upwards."""

    def pixels(value: float, ticks: Sequence[float], length: int) -> float:
        return length * math.log10(value / ticks[0]) / math.log10(ticks[-1] / ticks[0])

    placed: list[dict[str, Any]] = []
    for label, x, y in sorted(ends, key=lambda end: end[2]):
        left, height = pixels(x, across, WIDTH), pixels(y, up, HEIGHT)
        for other in placed:
            beside = abs(left - pixels(other["x"], across, WIDTH)) > LABEL[0]
            least = pixels(other["y"], up, HEIGHT) + LABEL[1]
            if not beside and height < least:
                height = least
        power = math.log10(up[0]) + height / HEIGHT * math.log10(up[-1] / up[0])
        placed.append({"series": label, "x": x, "y": 10.0**power})
    return placed


def powers_of_ten(values: Sequence[float]) -> list[float]:
    """Return the powers of ten that enclose the values."""
    first = math.floor(math.log10(min(values)))
    last = max(math.ceil(math.log10(max(values))), first + 1)
    return [10.0**k for k in range(first, last + 1)]


def axis(ticks: Sequence[float]) -> Any:
    """Return a logarithmic axis: numbers that are short written out, others as powers of ten."""
    import altair as alt

    first = round(math.log10(ticks[0]))
    names = [named(first + k) if k % thinned(ticks) == 0 else "" for k in range(len(ticks))]
    return alt.Axis(
        values=list(ticks),
        labelExpr=f"{names}[round(log(datum.value) / LN10) - ({first})]",
        labelOverlap=False,
        labelBound=False,
        labelFlush=False,
    )


def thinned(ticks: Sequence[float]) -> int:
    """Return which ticks have a label: all, or every so many where there are more."""
    return 1 + (len(ticks) - 1) // MOST_LABELS


def named(power: int) -> str:
    """Write a power of ten.

    Examples
    --------
    >>> named(-2), named(3), named(12), named(-6)
    ('0.01', '1,000', '1e12', '1e-6')
    """
    if abs(power) <= WRITTEN_OUT:
        return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
    return f"1e{power}"
