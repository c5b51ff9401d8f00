"""Document 004's Figures 1 and 2 and document 002's, drawn as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cellbounds import datasets
from cellbounds.errors import InvalidInput
from cellbounds.inference.posterior import posterior
from cellbounds.papers.document002 import OWN, PRIOR_2X2, reached
from cellbounds.papers.document004 import curve, lower_by_row_sum
from cellbounds.papers.times import Timing
from cellbounds.results.charts import posterior_chart, save_chart
from cellbounds.statements import publish


def draw_figures(folder: Path, times: Sequence[Timing]) -> list[Path]:
    """Draw all figures into a folder; `times` are those of `reproduce_papers`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidInput(f"{folder} cannot be made: {problem.strerror}") from None
    figures: dict[str, Callable[[], Any]] = {
        "document-002-figure": figure_posterior,
        "document-004-figure-1": figure_1,
        "document-004-figure-2": partial(figure_2, times),
    }
    drawn = {folder / f"{name}.svg": draw for name, draw in figures.items()}
    for path, draw in drawn.items():
        save_chart(draw(), path)
    return list(drawn)


def figure_posterior() -> Any:
    """The posterior of the first cell given both margins, and given conditional rates."""
    table = datasets.read("analgesic").margin(OWN)
    margins = posterior(publish(table, "[treatment]", "[response]"), PRIOR_2X2)
    conditionals = posterior(reached(table), PRIOR_2X2)
    return posterior_chart(
        {"[response][treatment]": margins, "[response|treatment], the document's 37": conditionals},
        0,
    )


def figure_1() -> Any:
    """The tightest lower bound of row 3, column 4 against the feasible sums of row 3."""
    import altair as alt

    points = [{"row sum": n, "lower bound": low} for n, low in lower_by_row_sum()]
    return (
        alt.Chart(alt.Data(values=points), title="Lower bound of row 3, column 4 by row sum")
        .mark_line(point=True, interpolate="linear")
        .encode(
            alt.X("row sum:Q", scale=alt.Scale(zero=False)),
            alt.Y("lower bound:Q", axis=alt.Axis(tickMinStep=1)),
        )
        .properties(width=520, height=300)
    )


def figure_2(times: Sequence[Timing]) -> Any:
    """Running time against (I ln I)(N ln N): printed times, the document's curve, and ours."""
    import altair as alt

    real = [line for line in times if (line.document, line.place) == ("004", "Table 9")]
    points = [
        {"work": line.work, "seconds": seconds, "table": line.data, "whose": whose}
        for line in real
        for whose, seconds in (("printed", line.printed), ("ours, this machine", line.ours))
        if seconds is not None
    ]
    sizes = {line.work: (line.rows, int(line.people)) for line in real}
    curves = [
        {"work": work, "seconds": curve(*size, log), "line": name}
        for name, log in (("as printed", math.log), ("base 10", math.log10))
        for work, size in sorted(sizes.items())
    ]
    axes = (
        alt.X("work:Q", scale=alt.Scale(type="log"), title="(I ln I)(N ln N)"),
        alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"),
    )
    line = (
        alt.Chart(alt.Data(values=curves))
        .mark_line(color="grey")
        .encode(*axes, alt.StrokeDash("line:N", title="the curve, logarithms"))
    )
    dots = (
        alt.Chart(alt.Data(values=points))
        .mark_point(filled=True, size=60)
        .encode(*axes, alt.Color("table:N", title="table"), alt.Shape("whose:N", title="time"))
    )
    title = "Running times of Table 9, and document 004's curve"
    return (line + dots).properties(width=520, height=320, title=title)
