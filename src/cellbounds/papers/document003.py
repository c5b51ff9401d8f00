"""Smucker and Slavković 2008: two-way tables given conditional frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cellbounds.papers.printed_figures import Comparison, compared_cells
from cellbounds.papers.tables import example_table
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Conditional, Release, Total, publish

__all__ = ["compare"]

_cells = partial(compared_cells, "003")

TABLE_2_SHARP = ["[3,27]", "[2,18]", "[1,9]", "[4,36]"]
TABLE_2_LINEAR = ["[0.6,29.4]", "[0.4,19.6]", "[0.2,9.8]", "[0.8,39.2]"]
TABLE_3_SHARP = ["[6,33]", "[2,14]", "[2,11]", "[4,28]"]
TABLE_3_LINEAR = {
    1: ["[0.8,39.2]", "[0.3,14.7]", "[0.2,9.8]", "[0.7,34.3]"],
    2: ["[0.75,36.75]", "[0.33,16.17]", "[0.25,12.25]", "[0.67,32.83]"],
}
TABLE_3_RATES = {
    1: [["0.8", "0.2"], ["0.3", "0.7"]],
    2: [["0.75", "0.25"], ["0.33", "0.67"]],
}
TABLE_5_RATES = {
    1: ["0.7 0.1 0.1 0.1", "0.3 0.2 0.2 0.3", "0.1 0.4 0.4 0.1", "0.3 0.4 0.2 0.1"],
    2: ["0.75 0.05 0.15 0.05", "0.37 0.18 0.18 0.27", "0.12 0.4 0.4 0.08", "0.34 0.4 0.2 0.06"],
    3: ["0.75 0.05 0.15 0.05", "0.363 0.182 0.182 0.273", "0.12 0.4 0.4 0.08",
        "0.343 0.4 0.2 0.057"],
}  # fmt: skip
TABLE_5_UPPER = {
    1: ["92.4 13.2 13.2 13.2", "39.6 26.4 26.4 39.6", "13.2 52.8 52.8 13.2", "39.6 52.8 26.4 13.2"],
    2: ["99 6.6 19.8 6.6", "48.84 23.76 23.76 35.64", "15.84 52.8 52.8 10.56",
        "44.88 52.8 26.4 7.92"],
    3: ["99 6.6 19.8 6.6", "47.916 24.024 24.024 36.036", "15.84 52.8 52.8 10.56",
        "45.276 52.8 26.4 7.524"],
}  # fmt: skip


def compare() -> Iterator[Comparison]:
    """Tables 2 to 5 beside ours."""
    mp3 = example_table("mp3")
    rows, columns = publish(mp3, "[mp3|gender]"), publish(mp3, "[gender|mp3]")
    yield from _cells("Table 2, sharp", TABLE_2_SHARP, bounds(rows, kind="sharp"))
    yield from _cells("Table 2, linear", TABLE_2_LINEAR, bounds(rows, kind="linear"))
    yield from _cells("Table 3, sharp", TABLE_3_SHARP, bounds(columns, kind="sharp"))
    for digits, printed in TABLE_3_LINEAR.items():
        # Decimals taken for exact: no table of counts need exist, the relaxation does.
        rates = Conditional(["gender"], given=["mp3"], rates=TABLE_3_RATES[digits], eps="0")
        rounded = Release(mp3.domain, [Total(50), rates])
        place = f"Table 3, linear, {digits} decimals"
        yield from _cells(place, printed, bounds(rounded, kind="linear"))
    children = example_table("delinquent")
    printed = [f"[{n},{n}]" for n in children.counts.flat]
    exact = publish(children, "[education|county]")
    yield from _cells("Table 4, sharp", printed, bounds(exact, kind="sharp"))
    for digits, lines in TABLE_5_RATES.items():
        rates = Conditional(
            ["education"], given=["county"], rates=[line.split() for line in lines], eps="0"
        )
        lows = [rate for line in lines for rate in line.split()]
        highs = [bound for line in TABLE_5_UPPER[digits] for bound in line.split()]
        printed = [f"[{low},{high}]" for low, high in zip(lows, highs, strict=True)]
        rounded = Release(children.domain, [Total(135), rates])
        place = f"Table 5, linear, {digits} decimals"
        yield from _cells(place, printed, bounds(rounded, kind="linear"))
