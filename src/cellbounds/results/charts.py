"""Charts of posteriors, for notebooks and as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import write_whole

if TYPE_CHECKING:
    from cellbounds.results.posterior import Posterior

MOST_CELLS = 48
"""Cells that one chart shows; for more, ask for one cell."""

NEGLIGIBLE = 1e-5
"""Counts at either end that together are less likely than this are not drawn."""

COLUMNS = 4

PLACEHOLDER = "\ue000"
"""For private use, so that no script of the page holds it."""

OFFERED = {"export": True, "source": False, "compiled": False, "editor": False}
"""What the menu of a page offers: pictures; no editor elsewhere, which would be sent the data."""


LEGEND = {"orient": "bottom"}

STYLE = """
        body { margin: 1rem; background: #fff; }
        vega-chart, #vega-chart { width: 100%; max-width: 60rem; }
        svg { max-width: 100%; height: auto; }
        @media (prefers-color-scheme: dark) {
          body { background: #0f1419; }
          svg.marks { filter: invert(.92) hue-rotate(180deg); }
        }
        </style>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <style>
"""
"""What the page of a chart has besides: it follows the width of the screen, and dark mode."""


def posterior_chart(layers: Mapping[str, Posterior], cell: int | None) -> Any:
    """The distributions of one cell, or of all, of one or more posteriors by name."""
    import altair as alt

    first = next(iter(layers.values()))
    labels = list(first.cells())
    for name, other in layers.items():
        if other.over != first.over or list(other.cells()) != labels:
            raise InvalidInput(f"{name} is a posterior over other cells; lay over the same table")
    if cell is None and first.size > MOST_CELLS:
        raise InvalidInput(
            f"{first.size} cells do not fit one chart (at most {MOST_CELLS}); name one cell, such "
            f"as plot{labels[0]!r}"
        )
    chosen = range(first.size) if cell is None else [cell]
    points = [
        {"cell": ", ".join(map(str, labels[cell])), "count": value, "p": chance, "given": name}
        for cell in chosen
        for name, layer in layers.items()
        for value, chance in _points(layer, cell)
    ]
    single = cell is not None
    base = (
        alt.Chart(alt.Data(values=points))
        .mark_area(line=True, opacity=0.25, interpolate="step")
        .encode(
            alt.X("count:Q", title="count", axis=alt.Axis(tickMinStep=1)),
            alt.Y("p:Q", title="posterior probability", stack=None),
            alt.Color(
                "given:N", title="given", sort=list(layers), legend=alt.Legend(labelLimit=400)
            ),
            tooltip=["cell:N", "given:N", "count:Q", alt.Tooltip("p:Q", format=".4g")],
        )
        .properties(width=420 if single else 180, height=240 if single else 120)
    )
    if single:
        return base.properties(title=points[0]["cell"])
    order = [", ".join(map(str, labels[cell])) for cell in chosen]
    return base.facet(
        facet=alt.Facet("cell:N", title=None, sort=order), columns=COLUMNS
    ).resolve_scale(x="independent", y="independent")


def _points(posterior: Posterior, cell: int) -> list[tuple[int, float]]:
    """Counts and probabilities without negligible tails; gaps are drawn as zero."""
    distribution = posterior.at(cell)
    below = np.cumsum(distribution.probabilities)
    keep = (below > NEGLIGIBLE) & (below - distribution.probabilities < 1 - NEGLIGIBLE)
    values, chances = distribution.values[keep], distribution.probabilities[keep]
    first, last = int(values[0]) - 1, int(values[-1]) + 1
    if last - first > 20 * len(values) + 100:
        return list(zip(values.tolist(), chances.tolist(), strict=True))
    spread = np.zeros(last - first + 1)
    spread[values - first] = chances
    return list(zip(range(first, last + 1), spread.tolist(), strict=True))


def save_chart(chart: Any, path: str | Path, *, private: bool = False) -> None:
    """Write a chart to an SVG, PNG or HTML file, whole or not at all.

    HTML files show what points stand for on hover, and need no network. A new file is for its owner
    only if `private`.

    Examples
    --------
    >>> import cellbounds as cb, pathlib, tempfile
    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> cb.results.charts.save_chart(cb.posterior(release).plot(), folder / "mp3.svg")
    >>> (folder / "mp3.svg").read_text("utf-8")[:4]
    '<svg'
    """
    import vl_convert

    target = Path(path)
    specification = chart.to_dict()
    content: str | bytes
    if target.suffix == ".svg":
        content = vl_convert.vegalite_to_svg(specification)
    elif target.suffix == ".png":
        content = vl_convert.vegalite_to_png(specification, scale=2)
    elif target.suffix == ".html":
        content = _page(specification)
    else:
        raise InvalidInput(f"{target.name} is no chart file; end its name with .html, .svg or .png")
    write_whole(target, content, private=private)


def _page(chart: dict[str, Any]) -> str:
    """A page with the chart and all that draws it.

    The chart stands in a script, which a label with "</script>" must not end: "<" is written as
    the script's own escape. A character that plain JSON never holds takes its place meanwhile.
    """
    import vl_convert

    offering = chart | {"usermeta": {"embedOptions": {"actions": OFFERED}}}
    offering["background"] = "transparent"
    if isinstance(chart.get("width"), int):  # one view, which can follow the width of the page
        fitting = {"autosize": {"type": "fit-x", "contains": "padding"}, "legend": LEGEND}
        offering |= {"width": "container", "config": {**chart.get("config", {}), **fitting}}
    text = json.dumps(offering).replace("<", PLACEHOLDER)
    page: str = vl_convert.vegalite_to_html(text, bundle=True)
    page = page.replace("<html>", '<html lang="en">', 1).replace("</style>", f"{STYLE}</style>", 1)
    return page.replace(PLACEHOLDER, "\\u003c")
