"""Wright and Smucker: cell counts from rounded conditional frequencies.

The document's tables were lost; what its text says about them is compared. Its examples hold
with eps = one unit of the last decimal, weak.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from cellbounds.data.domain import Domain
from cellbounds.papers.printed_figures import Comparison, set_text
from cellbounds.papers.tables import example_table
from cellbounds.results import Attainable, ValueSet
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Conditional, Prior, Release, Total, publish

__all__ = ["compare", "delinquent_rounded", "lower_by_row_sum"]

DOCUMENT = "004"
_fact = partial(Comparison, DOCUMENT)
ROWS = ["1", "2", "3", "4"]
DOMAIN = Domain({"row": ROWS, "column": ["1", "2"]})

EXACT = [["4/7", "3/7"], ["5/8", "3/8"], ["3/5", "2/5"], ["5/9", "4/9"]]
THREE_DIGITS = [["0.571", "0.429"], ["0.625", "0.375"], ["0.600", "0.400"], ["0.556", "0.444"]]
TWO_DIGITS = {
    "3(c)": [["0.57", "0.43"], ["0.63", "0.37"], ["0.60", "0.40"], ["0.56", "0.44"]],
    "3(d)": [["0.57", "0.43"], ["0.62", "0.38"], ["0.60", "0.40"], ["0.56", "0.44"]],
}

COMMON = {8, 16, 24, 27, 29, 32, 35, 36, 37, 40, 43, 44, 45, 47, 48}
PHASE_1 = {
    "1": {7, 14, 16, 19, 21, 23, 25, 26, 28, 30, 32, 33, 35, *range(37, 43), *range(44, 49)},
    "3": {5, 10, 15, 20, 22, 23, 25, 27, 28, 30, 32, 33, 35, 37, 38, *range(40, 49)},
    "4": {9, 16, 18, 20, 23, 25, 27, 29, 30, 32, 34, *range(36, 42), *range(43, 49)},
}
PHASE_1_ROW_2 = {
    "3(c)": COMMON | {11, 19, 22, 25, 30, 33, 38, 41, 46},
    "3(d)": COMMON | {13, 18, 21, 26, 31, 34, 39, 42},
}
PHASE_2 = {
    "3(c)": {
        "1": {7, 14, 16, 19, 21, 23, 26},
        "2": {8, 11, 16, 22, 27},
        "3": {5, 10, 15},
        "4": {9, 16, 18, 20, 23, 25},
    },
    "3(d)": {
        "1": {7, 14, 16, 19, 21, 26},
        "2": {8, 13, 16, 27},
        "3": {5, 10, 15},
        "4": {9, 16, 18, 20, 23},
    },
}
PHASE_2_EXACT = {"1": {7, 21}, "2": {8}, "3": {10, 15}, "4": {9, 18}}
OMITTED = "the printed set omits 18: the row sums 7, 18, 5, 18 add to 48"


def compare() -> Iterator[Comparison]:
    """The two examples of section 3 beside ours."""
    yield from _table_1()
    yield from _delinquent()


def _table_1() -> Iterator[Comparison]:
    exact = _row_sums(EXACT, "0")
    three = _row_sums(THREE_DIGITS, "0.001")
    for row, printed in PHASE_2_EXACT.items():
        yield _sets("Table 1(c), feasible row sums", row, printed, exact[row])
        yield _sets("Table 3(b), feasible row sums", row, printed, three[row])
    for name, rates in TWO_DIGITS.items():
        found = _row_sums(rates, "0.01")
        alone = attainable(Release(DOMAIN, [_rates(rates, "0.01")]), over=["row"])
        for row in ROWS:
            printed = PHASE_1_ROW_2[name] if row == "2" else PHASE_1[row]
            ours = {n for n in range(1, 49) if n in alone[row]}
            yield _sets(f"Table {name}, admissible row sums", row, printed, ours)
            error = OMITTED if (name, row) == ("3(d)", "2") else ""
            place = f"Table {name}, feasible row sums"
            yield _sets(place, row, PHASE_2[name][row], found[row], error)
    narrow = _row_sums(TWO_DIGITS["3(c)"], "0.005")
    wide = _row_sums(TWO_DIGITS["3(c)"], "0.01")
    yield _fact(
        "Table 3(c)",
        "eps .005 instead of .01",
        "results unchanged",
        "results unchanged" if all(narrow[r] == wide[r] for r in ROWS) else "fewer row sums",
        "with eps .005 some of the printed row sums are no longer feasible",
    )


def _delinquent() -> Iterator[Comparison]:
    three = bounds(delinquent_rounded(3))
    revealed = bool((three.lower == three.upper).all())
    yield _fact("Table 7(a), three digits", "counts revealed", "all", "all" if revealed else "some")
    children = example_table("delinquent")
    values = attainable(delinquent_rounded(2))
    small: list[ValueSet] = []
    large: list[ValueSet] = []
    for labels, held in values.items():
        (small if children[labels] <= 3 else large).append(held)
    whole = all(one.size == _span(one) for one in small)
    yield _fact("Table 8", "cells with a count of 3 or less", "6", str(len(small)))
    yield _fact("Table 8", "their intervals have gaps", "no", "no" if whole else "yes")
    least = min(len(one) for one in large)
    yield _fact("Table 8", "fewest counts of another cell", "12", str(least))
    upper_left = len(values["Alpha", "Low"])
    yield _fact("Table 8", "counts of the upper left cell", "31", str(upper_left))
    by_sum = lower_by_row_sum()
    falls = any(b < a for (_, a), (_, b) in itertools.pairwise(by_sum))
    yield _fact(
        "Fig. 1",
        "lower bound of row 3, column 4",
        "not monotone",
        "not monotone" if falls else "monotone",
    )
    limits, cells = bounds(delinquent_rounded(2), over=["county"]), bounds(delinquent_rounded(2))
    below = bool((limits.upper < cells.upper.sum(axis=1)).all())
    yield _fact(
        "Table 8", "row upper bounds below the cells' sum", "all", "all" if below else "some"
    )
    unique = bounds(publish(children, "[education|county]"))
    one_table = bool((unique.lower == unique.upper).all())
    yield _fact("Table 6, exact rates", "tables", "one", "one" if one_table else "several")


def delinquent_rounded(digits: int) -> Release:
    """Table 7: nearest rounding with one entry of row 2 adjusted so that rows add to one."""
    release = publish(
        example_table("delinquent"), f"[education|county]@{digits}", rounding="consistent"
    )
    if digits == 2:
        return release
    rates = release.statements[0]
    assert isinstance(rates, Conditional)
    texts = [[rates.figure_text(i, j) for j in range(4)] for i in range(4)]
    texts[1] = ["0.363", "0.182", "0.182", "0.273"]
    table = Conditional(["education"], given=["county"], rates=texts, eps="0.001")
    return Release(release.domain, [table, Total(135)])


def lower_by_row_sum() -> list[tuple[int, int]]:
    """Figure 1: the lower bound of row 3, column 4 for each feasible sum of row 3."""
    release = delinquent_rounded(2)
    sums = attainable(release, over=["county"])["Gamma"]
    found = []
    for total in sums:
        fixed = Prior(["county"], values={"Gamma": [total]})
        answer = bounds(Release(release.domain, [*release.statements, fixed]))
        found.append((total, int(answer["Gamma", "Very High"][0])))
    return found


def _rates(rates: list[list[str]], eps: str) -> Conditional:
    return Conditional(["column"], given=["row"], rates=rates, eps=eps)


def _row_sums(rates: list[list[str]], eps: str) -> Attainable:
    return attainable(Release(DOMAIN, [Total(48), _rates(rates, eps)]), over=["row"])


def _sets(
    place: str, row: str, printed: set[int], ours: ValueSet | set[int], error: str = ""
) -> Comparison:
    return _fact(place, f"row {row}", set_text(printed), set_text(ours), error)


def _span(values: ValueSet) -> int:
    largest = values.largest
    assert isinstance(largest, int)
    return largest - values.smallest + 1
