"""The expected figures, releases made of published rates, and answers laid out as rows."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import cellbounds as cb

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))


def two_way(rates, total=None, *, eps="0", strict=False, lower=0, row_values=None) -> cb.Release:
    """Rates of columns c1, c2, ... given rows r1, r2, ...; `row_values` lists possible row sums."""
    domain = cb.Domain(
        {
            "row": [f"r{i + 1}" for i in range(len(rates))],
            "col": [f"c{j + 1}" for j in range(len(rates[0]))],
        }
    )
    statements = [cb.Conditional(["col"], given=["row"], rates=rates, eps=eps, strict=strict)]
    if total is not None:
        statements.append(cb.Total(total))
    if lower:
        statements.append(cb.Known(["row", "col"], lower=lower))
    if row_values is not None:
        statements.append(cb.Known(["row"], values=row_values))
    return cb.Release(domain, statements)


def in_rows(cells, columns: int) -> list:
    cells = list(cells)
    return [cells[start : start + columns] for start in range(0, len(cells), columns)]


def flat(rows: list) -> list:
    return [cell for row in rows for cell in row]


def row_sums(release: cb.Release, given=("row",)) -> list[list[int]]:
    """The attainable sums of every row."""
    return [list(values) for _, values in cb.attainable(release, over=given).items()]


def cell_values(release: cb.Release, columns: int, over=None) -> list[list[list[int]]]:
    """The attainable counts of every cell, row by row."""
    answer = cb.attainable(release, over=over)
    return in_rows((list(values) for _, values in answer.items()), columns)


def cell_bounds(release: cb.Release, columns: int, *, kind="sharp", over=None) -> list:
    """[lower, upper] of every cell, row by row."""
    answer = cb.bounds(release, kind=kind, over=over)
    pairs = zip(answer.lower.ravel().tolist(), answer.upper.ravel().tolist(), strict=True)
    return in_rows(([low, high] for low, high in pairs), columns)


def ends(values: list[list[list[int]]]) -> list:
    """[smallest, largest] of every list of values, row by row."""
    return [[[min(one), max(one)] for one in row] for row in values]


def ends_and_sizes(values: list[list[list[int]]]) -> list:
    """[smallest, largest, how many] of every list of values, row by row."""
    return [[[min(one), max(one), len(one)] for one in row] for row in values]


def fractions(nested):
    """The same nested lists with texts read as exact fractions."""
    if isinstance(nested, list):
        return [fractions(item) for item in nested]
    return Fraction(nested)


def printed(value: Fraction, decimals: int) -> str:
    """A positive fraction as a paper prints it: half up, so many decimals."""
    units = (value * 10**decimals + Fraction(1, 2)) // 1
    text = f"{units:0{decimals + 1}d}"
    return f"{text[:-decimals]}.{text[-decimals:]}"
