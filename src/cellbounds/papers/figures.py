"""Document 004's Figures 1 and 2 and document 002's, drawn as SVG."""

from __future__ import annotations

import math
import timeit
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds import datasets
from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.inference.posterior import posterior
from cellbounds.papers.document002 import OWN, PRIOR_2X2, reached
from cellbounds.papers.document004 import lower_by_row_sum
from cellbounds.results.charts import posterior_chart, save_chart
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Release, publish

SIZES = {"4-way (koch4)": None, "3-way size": (9, 3, 1055), "6-way size": (32, 2, 1841),
         "8-way size": (12, 2, 48842), "16-way size": (8, 2, 21574)}  # fmt: skip
"""Rows, columns and N of document 004's Table 9; only koch4 is shipped, the rest are made up."""


def draw_figures(folder: Path) -> list[Path]:
    """Draw all figures into a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidInput(f"{folder} cannot be made: {problem.strerror}") from None
    figures = {
        "document-002-figure": figure_posterior,
        "document-004-figure-1": figure_1,
        "document-004-figure-2": figure_2,
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


def figure_2() -> Any:
    """Running time against (I ln I)(N ln N): the document's fitted curve, and ours."""
    import altair as alt

    ours = []
    for name, size in SIZES.items():
        release, rows, total = _instance(name, size)
        seconds = min(timeit.repeat(partial(bounds, release), repeat=5, number=1))
        work = rows * math.log(rows) * total * math.log(total)
        ours.append({"work": work, "seconds": seconds, "table": name})
    reach = [10**exponent for exponent in np.linspace(3.5, 8.5, 60)]
    curve = [{"work": work, "seconds": work**0.6 * 5.25e-5} for work in reach]
    axes = (
        alt.X("work:Q", scale=alt.Scale(type="log"), title="(I ln I)(N ln N)"),
        alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"),
    )
    line = alt.Chart(alt.Data(values=curve)).mark_line(color="grey").encode(*axes)
    points = (
        alt.Chart(alt.Data(values=ours))
        .mark_point(filled=True, size=70)
        .encode(*axes, alt.Color("table:N", title="ours (this machine)"))
    )
    title = "Running time: document 004's fit (grey, MATLAB) and ours"
    return (line + points).properties(width=520, height=320, title=title)


def _instance(name: str, size: tuple[int, int, int] | None) -> tuple[Release, int, int]:
    if size is None:
        table = datasets.read("koch4")
        statement = "[recovery|center,status,treatment]@3"
        release = publish(table, statement, rounding="consistent", rule="interval")
        return release, 8, table.total
    rows, columns, total = size
    rng = np.random.default_rng(sum(map(ord, name)))
    counts = np.ones((rows, columns), dtype=np.int64)
    weights = rng.lognormal(0.0, 1.0, counts.size)
    counts += rng.multinomial(total - counts.size, weights / weights.sum()).reshape(counts.shape)
    domain = Domain({"row": list(range(rows)), "column": list(range(columns))})
    release = publish(
        Table(domain, counts), "[column|row]@3", rounding="consistent", rule="interval"
    )
    return release, rows, total
