"""Document 004's section 5 on its own table: sums within rows, and rates beside other releases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cellbounds import datasets
from cellbounds.data.domain import Grouping, Label
from cellbounds.data.table import Table
from cellbounds.inference.counting import count_tables
from cellbounds.results import Bounds
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Release, publish

GROUPS: dict[Label, list[Label]] = {
    "up to medium": ["Low", "Medium"],
    "high or more": ["High", "Very High"],
    "all but low": ["Medium", "High", "Very High"],
}

RATES, OTHER_RATES, MARGIN = "[education|county]@2", "[county|education]@2", "[education]"
RELEASES = ((RATES,), (MARGIN,), (OTHER_RATES,), (RATES, MARGIN), (RATES, OTHER_RATES))


def grouped_children() -> Table:
    """The delinquent children, with groups of education levels."""
    table = datasets.read("delinquent")
    return table.with_domain(
        table.domain.with_groupings({"schooling": Grouping("education", GROUPS)})
    )


def sums_within_rows() -> Iterator[tuple[str, str, str, str, str]]:
    """County, group, the sum of the cells' bounds, the sharp bounds of the sum, its values."""
    release = publish(grouped_children(), RATES, rounding="consistent", rule="interval")
    cells, over = bounds(release), ["county", "schooling"]
    sharp, values = bounds(release, over=over), attainable(release, over=over)
    for (county, group), value in values.items():
        ends = [cells[county, level] for level in GROUPS[str(group)]]
        added = f"[{sum(low for low, _ in ends)}, {sum(high for _, high in ends)}]"
        low, high = sharp[county, group]
        yield str(county), str(group), added, f"[{low}, {high}]", str(len(value))


def release_of(*statements: str) -> Release:
    """What is published of the children, rates rounded as document 004 has them."""
    rates = any("@" in text for text in statements)
    table = datasets.read("delinquent")
    if not rates:
        return publish(table, *statements)
    return publish(table, *statements, rounding="consistent", rule="interval")


def releases_together() -> Iterator[tuple[str, int, Bounds]]:
    """Each release alone and some together: how many tables fit, and the bounds of the cells."""
    for statements in RELEASES:
        release = release_of(*statements)
        yield " and ".join(statements), count_tables(release), bounds(release)


def together_chart(seen: list[tuple[str, int, Bounds]]) -> Any:
    """The bounds of every cell, release by release."""
    import altair as alt

    lines = [
        {
            "cell": ", ".join(map(str, labels)),
            "lower": int(low),
            "upper": int(high),
            "release": name,
        }
        for name, _, answer in seen
        for labels, low, high in zip(
            answer.release.domain.cells(), answer.lower.flat, answer.upper.flat, strict=True
        )
    ]
    order = list(dict.fromkeys(line["cell"] for line in lines))
    return (
        alt.Chart(alt.Data(values=lines), title="Bounds from releases of the same table")
        .mark_tick(thickness=2)
        .encode(
            alt.X("lower:Q", title="count"),
            alt.X2("upper:Q"),
            alt.Y("release:N", title=None, sort=[name for name, *_ in seen]),
            alt.Color("release:N", legend=None),
        )
        .mark_bar(height=7, minBandSize=2)
        .properties(width=150, height=80)
        .facet(facet=alt.Facet("cell:N", sort=order, title=None), columns=4)
    )


def together_rows(seen: list[tuple[str, int, Bounds]]) -> Iterator[tuple[str, str, str, str]]:
    """For each release: tables, the mean distance between bounds, cells that are determined."""
    for name, tables, answer in seen:
        apart = answer.upper - answer.lower
        fixed = int(np.sum(apart == 0))
        yield name, f"{tables:,}", f"{float(np.mean(apart)):.1f}", f"{fixed} of {apart.size}"
