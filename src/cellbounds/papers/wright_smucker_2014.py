"""Wright and Smucker 2014, document 004's source for reshaping: exact rates of an 8-way table.

Computers & Operations Research 52, 113-122. Of its tables, 8 and 10 are at hand.
"""

from __future__ import annotations

import math

from cellbounds.data.domain import Label
from cellbounds.data.table import Table
from cellbounds.papers.data_files import DataFiles, NotAtHand
from cellbounds.papers.printed_figures import Figures
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.solve import bounds
from cellbounds.statements import publish
from cellbounds.statements.notation import names_text

TITLE = "Wright, Smucker 2014: exact cell bounds from conditional frequencies"

SMALL = 5
"""Counts below this are small."""

Groups = dict[Label, list[Label]]

DEGREES: Groups = {"degree": ["Bach", "Bach+"], "none": ["<HS", "HS", "Coll"]}
SCHOOL: Groups = {"school": ["<HS", "HS"], "college": ["Coll", "Bach", "Bach+"]}
YOUNGER: Groups = {"<55": ["<25", "25-54"]}
LONG: Groups = {"40+": ["40", ">40"]}

Merging = dict[int, Groups]
LINES: list[tuple[str, str, Merging]] = [
    ("1234567", "8", {}),
    ("123456", "78", {}),
    ("23456", "78", {}),
    ("13456", "78", {}),
    ("12456", "78", {}),
    ("12356", "78", {}),
    ("12346", "78", {}),
    ("12345", "78", {}),
    ("123456", "78", {3: DEGREES}),
    ("123456", "78", {3: SCHOOL}),
    ("123456", "78", {3: DEGREES, 1: YOUNGER}),
    ("123456", "78", {3: SCHOOL, 1: YOUNGER}),
    ("123456", "78", {7: LONG}),
]
"""Table 10: predictors, responses (X1 to X8), and levels that are merged first."""


def figures(data: DataFiles) -> Figures:
    """Our figures for Table 10."""
    table = data.get("cps8")
    if isinstance(table, NotAtHand):
        yield "Table 10", table
        return
    for given, responses, merging in LINES:
        yield "Table 10", map(str, disclosed(table, given, responses, merging))


def disclosed(table: Table, given: str, responses: str, merging: Merging) -> list[int]:
    """Rows, columns, and what exact rates with N disclose: rows of three kinds, zeros, counts."""
    names = table.domain.names
    rows, columns = (
        [names[int(number) - 1] for number in numbers] for numbers in (given, responses)
    )
    for number, groups in merging.items():
        table = table.merge(names[number - 1], groups)
    part = table.margin([*rows, *columns])
    answer = bounds(publish(part, f"[{names_text(columns)}|{names_text(rows)}]"))
    height = math.prod(len(part.domain.levels(name)) for name in rows)
    counts, low, high = (
        array.reshape(height, -1) for array in (part.counts, answer.lower, answer.upper)
    )
    return known_rows(counts, low, high)


def known_rows(counts: IntArray, low: IntArray, high: IntArray) -> list[int]:
    """Rows and columns of rates, and what their bounds disclose, as Table 10 counts it.

    Rows that hold nobody, rows with one occupied cell, other rows that are known as a whole; and
    cells that are known to be zero or to hold a small count.
    """
    known, occupied = low == high, (counts > 0).sum(axis=1)
    whole = known.all(axis=1) & (occupied > 1)
    return [
        *counts.shape,
        int((occupied == 0).sum()),
        int((occupied == 1).sum()),
        int(whole.sum()),
        int((known & (low == 0)).sum()),
        int((known & (low > 0) & (low < SMALL)).sum()),
    ]
