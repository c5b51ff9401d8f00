"""Rows in terms of sums of cells, where that makes them shorter."""

from __future__ import annotations

from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import IntArray

__all__ = ["Row", "rows_of", "with_sums"]

Row = tuple[dict[int, int], int, int]
"""Factors by variable, and the limits of their sum."""


def rows_of(problem: Problem) -> list[Row]:
    """The rows of a problem one by one."""
    edges = problem.starts.tolist()
    variables, factors = problem.cells.tolist(), problem.coefficients.tolist()
    limits = zip(problem.row_lower.tolist(), problem.row_upper.tolist(), strict=True)
    return [
        (dict(zip(variables[a:b], factors[a:b], strict=True)), low, high)
        for a, b, (low, high) in zip(edges, edges[1:], limits, strict=False)
    ]


def with_sums(rows: list[Row], groups: list[IntArray], first: int) -> list[Row]:
    """Rewrite rows in terms of sums where that makes them no longer, and define the sums.

    What is added to a row is a multiple of the definition of a sum, which is zero.
    """
    rows = list(rows)
    touching: dict[int, set[int]] = {}
    for row, (terms, _, _) in enumerate(rows):
        for variable in terms:
            touching.setdefault(variable, set()).add(row)
    part_of: dict[int, list[int]] = {}
    for k, group in enumerate(groups):
        definition = dict.fromkeys(group.tolist(), 1)
        # Smaller sums inside this one have been defined by now; they may stand for their cells.
        for earlier in sorted({one for cell in definition for one in part_of.get(cell, [])}):
            inside = groups[earlier].tolist()
            if all(cell in definition for cell in inside):
                for cell in inside:
                    del definition[cell]
                definition[first + earlier] = 1
        for cell in group.tolist():
            part_of.setdefault(cell, []).append(k)
        variable = first + k
        for row in sorted(set().union(*(touching.get(one, set()) for one in definition))):
            _rewrite(rows[row][0], definition, variable)
            for one in (*definition, variable):
                held = touching.setdefault(one, set())
                (held.add if one in rows[row][0] else held.discard)(row)
        rows.append(({**definition, variable: -1}, 0, 0))
        for one in rows[-1][0]:
            touching.setdefault(one, set()).add(len(rows) - 1)
    return rows


def _rewrite(terms: dict[int, int], definition: dict[int, int], variable: int) -> None:
    found = [terms.get(one, 0) for one in definition]
    common = max(set(found), key=lambda factor: (found.count(factor), -abs(factor)))
    longer = 1 - found.count(common) + found.count(0)
    if common == 0 or longer > 0:
        return
    for one, factor in zip(definition, found, strict=True):
        if factor == common:
            del terms[one]
        else:
            terms[one] = factor - common
    terms[variable] = terms.get(variable, 0) + common
