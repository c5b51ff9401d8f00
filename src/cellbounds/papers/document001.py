"""Petrović's lecture of 2023 on bounds from margins: Fréchet bounds and a closed form.

Its Table 1 is our `census3`, its Table 2 the 2x2x2 table that comes of merging levels. In its
formulas the three places of an index are race, income and gender. As printed, and as they stand
among the printed figures with each cell's own levels called the first, they are for (1,1,1)

- lower: max(0, u1++ - u1+1 - u11+, u+1+ - u11+ - u+11, u1++ - u+11 - u1+1);
- upper: min(u11+, u1+1, u+11, u111 + u222), the second time without u+11;
- u111 + u222 = u+++ - u1++ - u+1+ - u+++ + 1 + u11+ + u1+1 + u+11;
- u221 = u1++ - u+11 - u1+1 + u111.
"""

from __future__ import annotations

import itertools

from cellbounds import datasets
from cellbounds.data.table import Table
from cellbounds.papers.data_files import DataFiles
from cellbounds.papers.printed_figures import Figures, interval_texts, joined, with_totals
from cellbounds.solvers.solve import bounds
from cellbounds.statements import publish

TITLE = "Petrović 2023: bounds from margins"

UNKNOWN = ((13, 13), (10, 10, 6))
"""The margins of a table of salaries by gender whose counts are not shown."""

PAIRS = ("[race,gender]", "[race,income]", "[gender,income]")
LAYERS = ("[race,gender]", "[gender,income]")
CAPTIONED = ("[race,gender]", "[race,income]")
"""What the bounds of Table 6 belong to, and what its caption says."""


def figures(_: DataFiles) -> Figures:
    """Our figures for Tables 1 to 6 and the formulas for 2x2x2 tables."""
    census, small = datasets.read("census3"), collapsed()
    for place, table in (("Table 1", census), ("Table 2", small)):
        by_gender = table.margin(["gender", "race", "income"]).counts
        yield place, [joined(with_totals(layer).flat) for layer in by_gender]
    yield "2x3 table of unknown counts", [joined(map(sum, UNKNOWN))]
    sizes = [len(census.domain.levels(name)) for name in ("race", "gender", "income")]
    yield "Table 1", [" x ".join(map(str, sizes)), str((census.counts == 1).sum())]
    margins = (census.margin(two) for two in itertools.combinations(census.domain.names, 2))
    yield "Table 1", [str(sum(bool((margin.counts == 1).any()) for margin in margins))]
    yield "Table 3", interval_texts(bounds(publish(small, *LAYERS)))
    closed = bounds(publish(small, *PAIRS))
    yield "Table 4", interval_texts(closed)
    u = small.margin(["race", "income", "gender"]).counts
    upper = joined(closed.upper.flat)
    opposite = str(u[0, 0, 0] + u[1, 1, 1])
    yield "2x2x2 formulas", [joined(closed.lower.flat), upper, upper, opposite, str(u[1, 1, 0])]
    yield "Table 5", interval_texts(bounds(publish(census, "[race]", "[gender]", "[income]")))
    for name in ("gender", "race", "income"):
        yield "Table 5, totals", map(str, census.margin([name]).counts)
    by_pair = {
        joined(two): interval_texts(bounds(publish(census, *two)))
        for two in itertools.combinations(PAIRS, 2)
    }
    cells = by_pair[joined(LAYERS)]
    giving = [two for two, given in by_pair.items() if given == cells]
    yield "Table 6", [*cells, "; ".join(giving)]
    yield "Table 6, as captioned", by_pair[joined(CAPTIONED)][:1]


def collapsed() -> Table:
    """Table 2: two levels of race, two of income."""
    merged = datasets.read("census3").merge("race", {"Black/Chinese": ["Black", "Chinese"]})
    return merged.merge("income", {">10000": ["10001-25000", ">25000"]})
