"""Petrović's lecture of 2023 on bounds from margins: Fréchet bounds and a closed form.

Its Table 1 is our `census3`, its Table 2 the 2x2x2 table that comes of merging levels. In its
formulas the three places of an index are race, income and gender.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.table import Table
from cellbounds.papers.printed_figures import Comparison, compared_cells, interval_text, labels_text
from cellbounds.papers.tables import example_table
from cellbounds.results import Bounds
from cellbounds.solvers.solve import bounds
from cellbounds.statements import publish

__all__ = ["collapsed", "compare"]

DOCUMENT = "001"
_row = partial(Comparison, DOCUMENT)
_cells = partial(compared_cells, DOCUMENT)
PLACES = ("race", "income", "gender")
PAIRS = ("[race,gender]", "[race,income]", "[gender,income]")

TABLE_3 = ["[80,107]", "[222,249]", "[0,27]", "[0,27]",
           "[175,197]", "[167,189]", "[0,22]", "[0,22]"]  # fmt: skip
TABLE_4 = ["[85,107]", "[222,244]", "[0,22]", "[5,27]",
           "[175,197]", "[167,189]", "[0,22]", "[0,22]"]  # fmt: skip
TABLE_5 = 2 * ["[0,304]", "[0,215]", "[0,223]", *(3 * ["[0,44]"]), *(3 * ["[0,5]"])]
TABLE_5_TOTALS = {
    "gender": {"Male": 356, "Female": 386},
    "race": {"White": 693, "Black": 44, "Chinese": 5},
    "income": {"<=10000": 304, "10001-25000": 135, ">25000": 54},
}
TABLE_6 = [
    "[80,107]", "[53,80]", "[142,169]", *(3 * ["[0,23]"]), *(3 * ["[0,4]"]),
    "[175,197]", "[113,135]", "[32,54]", *(3 * ["[0,21]"]), *(3 * ["[0,1]"]),
]  # fmt: skip

TOTALS_OF_WOMEN = {"10001-25000", ">25000"}

ONE_LAYER = "two of the totals by income are those of the women alone"
CAPTION = "the caption names other margins than those that the bounds, and the totals, belong to"
SIGNS = (
    "the signs are turned round, and the third term has u1++ for u++1; five of the bounds lie "
    "above the upper ones"
)


def compare() -> Iterator[Comparison]:
    """Tables 1 and 3 to 6 and the formulas for 2x2x2 tables beside ours."""
    census, small = example_table("census3"), collapsed()
    yield from _about_table_1(census)
    layers = bounds(publish(small, "[race,gender]", "[gender,income]"))
    yield from _cells("Table 3", TABLE_3, layers)
    pairs = bounds(publish(small, *PAIRS))
    yield from _cells("Table 4", TABLE_4, pairs)
    yield from _formulas(small, pairs)
    singles = bounds(publish(census, "[race]", "[gender]", "[income]"))
    yield from _cells("Table 5", TABLE_5, singles)
    yield from _totals(census)
    yield from _table_6(census)


def collapsed() -> Table:
    """Table 2: two levels of race, two of income."""
    merged = example_table("census3").merge("race", {"Black/Chinese": ["Black", "Chinese"]})
    return merged.merge("income", {">10000": ["10001-25000", ">25000"]})


def _about_table_1(census: Table) -> Iterator[Comparison]:
    turned = [len(census.domain.levels(name)) for name in ("race", "gender", "income")]
    yield _row(
        "Table 1",
        "size",
        "3 x 2 x 2",
        " x ".join(map(str, turned)),
        "the table shows three levels of income",
    )
    yield _row("Table 1", "counts of 1", "3", str(int((census.counts == 1).sum())))
    holding = sum(
        bool((census.margin(*pair).counts == 1).any())
        for pair in itertools.combinations(census.domain.names, 2)
    )
    yield _row("Table 1", "two-way margins with a count of 1", "2", str(holding))


def _formulas(small: Table, answer: Bounds) -> Iterator[Comparison]:
    """The formulas for the cell (1,1,1); for another cell its own levels are called the first."""
    cells = [_Sums(small, labels) for labels in small.domain.cells()]
    place = "2x2x2 formulas"
    lower, upper = _listed(answer.lower.flat), _listed(answer.upper.flat)
    yield _row(place, "lower bounds", _listed(one.printed_lower for one in cells), lower, SIGNS)
    yield _row(place, "upper bounds", _listed(one.printed_upper for one in cells), upper)
    yield _row(
        place,
        "upper bounds, repeated",
        _listed(one.repeated_upper for one in cells),
        upper,
        "the second time u+11 is left out of the minimum",
    )
    first = cells[0]
    yield _row(
        place,
        "fourth upper bound, as a sum",
        str(first.printed_fourth),
        str(first.opposite_pair),
        "the text that we have reads u+++ + 1 where u++1 belongs",
    )
    yield _row(
        place,
        f"cell (2,2,1) if (1,1,1) is {first.count}",
        str(first.printed_221),
        str(first.count_221),
        "u1++ stands where u++1 belongs",
    )


class _Sums:
    """Margins of a 2x2x2 table as the document names them, some cell being its (1,1,1)."""

    def __init__(self, table: Table, labels: tuple[Any, ...]) -> None:
        domain = table.domain
        place = dict(zip(domain.names, domain.index(labels), strict=True))
        u: npt.NDArray[Any] = np.transpose(table.counts, [domain.axis(name) for name in PLACES])
        for axis, name in enumerate(PLACES):
            u = np.flip(u, axis) if place[name] else u
        self.n = int(u.sum())
        self.a, self.b, self.c = u[0].sum(), u[:, 0].sum(), u[:, :, 0].sum()
        self.ab, self.ac, self.bc = u[0, 0].sum(), u[0, :, 0].sum(), u[:, 0, 0].sum()
        self.count, self.count_221 = int(u[0, 0, 0]), int(u[1, 1, 0])
        self.opposite_pair = int(u[0, 0, 0] + u[1, 1, 1])

    @property
    def printed_lower(self) -> int:
        """With the signs as printed."""
        terms = (self.a - self.ac - self.ab, self.b - self.ab - self.bc, self.a - self.bc - self.ac)
        return max(0, *map(int, terms))

    @property
    def printed_upper(self) -> int:
        """As printed first."""
        return min(self.repeated_upper, int(self.bc))

    @property
    def repeated_upper(self) -> int:
        """As printed again, above Table 4."""
        return min(int(self.ab), int(self.ac), self.opposite_pair)

    @property
    def printed_fourth(self) -> int:
        """The sum that the document equates with u111 + u222, as it reads."""
        return int(self.n - self.a - self.b - self.n + 1 + self.ab + self.ac + self.bc)

    @property
    def printed_221(self) -> int:
        """The cell (2,2,1) from the margins and the cell (1,1,1), as it reads."""
        return int(self.a - self.bc - self.ac + self.count)


def _totals(census: Table) -> Iterator[Comparison]:
    for name, printed in TABLE_5_TOTALS.items():
        margin = census.margin(name)
        for level, total in printed.items():
            error = ONE_LAYER if level in TOTALS_OF_WOMEN else ""
            yield _row("Table 5, totals", level, str(total), str(margin[level]), error)


def _table_6(census: Table) -> Iterator[Comparison]:
    yield from _cells(
        "Table 6", TABLE_6, bounds(publish(census, "[race,gender]", "[gender,income]"))
    )
    captioned = ("[race,income]", "[race,gender]")
    giving = [
        " ".join(two)
        for two in itertools.combinations(PAIRS, 2)
        if _texts(bounds(publish(census, *two))) == TABLE_6
    ]
    yield _row(
        "Table 6",
        "margins that give its bounds",
        " ".join(captioned),
        "; ".join(giving) or "no two",
        CAPTION,
    )
    first = next(iter(census.domain.cells()))
    ours = interval_text(*bounds(publish(census, *captioned))[first])
    yield _row("Table 6, as captioned", labels_text(first), TABLE_6[0], ours, CAPTION)


def _texts(answer: Bounds) -> list[str]:
    return [interval_text(*ends) for ends in zip(answer.lower.flat, answer.upper.flat, strict=True)]


def _listed(numbers: Any) -> str:
    return " ".join(str(int(number)) for number in numbers)
