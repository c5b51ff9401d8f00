"""Tables as they are printed, read and attacked, against all tables that print the same."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.disclosure.policies import Policy, SmallCounts
from cellbounds.disclosure.policies.intruder import Intruder
from cellbounds.disclosure.published_cells import work_out

DULL = Intruder(zeros="never", marks="never")
"""Somebody who concludes nothing from how counts are hidden: those rules have their own tests."""

HOUSE = Policy("house", rules=[SmallCounts(at_most=2, zeros=False, values=3)])

PLACES = {"N": ("N1", "N2"), "S1": None}
LEAVES = ("N1", "N2", "S1")
SEXES = ("f", "m")
BELOW = {"N": ("N1", "N2"), **{leaf: (leaf,) for leaf in LEAVES}, "Total": LEAVES}
SUMS = {"f": ("f",), "m": ("m",), "Total": SEXES}
CELLS = list(itertools.product(BELOW, SUMS))
INNER = list(itertools.product(LEAVES, SEXES))


def sums(counts):
    """Every cell of the printed table, from those of the confidential one."""
    return {
        (place, sex): sum(counts[p, s] for p in BELOW[place] for s in SUMS[sex])
        for place, sex in CELLS
    }


@st.composite
def printed_tables(draw):
    counts = {cell: draw(st.integers(0, 3)) for cell in INNER}
    marks = {}
    for cell, count in sums(counts).items():
        marks[cell] = draw(st.sampled_from(["", "", "", "x", ":", "<4" if count < 4 else ""]))
    if not draw(st.integers(0, 3)):  # a hidden grand total follows from those of the sexes
        marks |= {("Total", sex): "" for sex in SEXES} | {("Total", "Total"): "x"}
    else:  # else there may be endlessly many tables
        del marks["Total", "Total"]
    listed = [cell for cell in CELLS if "Total" in cell[1:] or cell in INNER or draw(st.booleans())]
    return counts, {cell: marks.get(cell, "") for cell in listed}


def fits(shown, found, marks):
    """Whether a table prints the same, without a word about rules of hiding: "<4" is 0 to 3."""
    return all(
        found[cell] < 4 if mark == "<4" else mark != "" or found[cell] == shown[cell]
        for cell, mark in marks.items()
    )


@given(printed_tables())
def test_what_can_be_worked_out_is_what_some_table_has(tmp_path_factory, drawn):
    counts, marks = drawn
    shown = sums(counts)
    lines = [f"{p},{s},{mark or shown[p, s]}" for (p, s), mark in marks.items()]
    path = tmp_path_factory.mktemp("printed") / "table.csv"
    path.write_text("\n".join(["place,sex,count", *lines]) + "\n", "utf-8")
    published = cb.read_published(
        path, hierarchies={"place": PLACES}, totals={"sex": "Total"}, sums="all"
    )
    possible = {cell: set() for cell, mark in marks.items() if mark}
    for counts_tried in tables(shown, marks):
        found = sums(counts_tried)
        if fits(shown, found, marks):
            for cell, values in possible.items():
                values.add(found[cell])
    risk = work_out(published, intruder=DULL, policy=HOUSE)
    found = risk.tables[0].cells
    assert {cell.labels: set(cell.values) for cell in found} == possible
    # An outsider's verdict: broken whatever is true, in no case, or it depends.
    expected = {}
    for cell, mark in marks.items():
        counts = possible[cell] if mark else {shown[cell]}
        wrong = {1 <= count <= 2 and len(counts) < 3 for count in counts}
        if mark != ":":
            expected[cell] = {(True,): "UNSAFE", (False,): "SAFE"}.get((*wrong,), "UNDECIDED")
    assert {one.labels: str(one.outcome) for one in risk.findings[0]} == {
        cell: outcome for cell, outcome in expected.items() if marks[cell] or outcome == "UNSAFE"
    }
    outcomes = [one for one in ("UNSAFE", "UNDECIDED") if one in expected.values()]
    assert str(risk.outcome) == [*outcomes, "SAFE"][0]


def tables(shown, marks):
    """Every table with the grand total: cells that are shown are what they show."""
    most = shown["Total", "Total"]
    limits = [
        [shown[cell]] if not marks[cell] else range(4 if marks[cell] == "<4" else most + 1)
        for cell in INNER
    ]
    for flat in shared_out(most, limits):
        yield dict(zip(INNER, flat, strict=True))


def shared_out(most, limits):
    """Every list of counts within these limits that adds up to so many."""
    if not limits:
        yield from [()] if most == 0 else []
        return
    for count in limits[0]:
        if count <= most:
            yield from ((count, *rest) for rest in shared_out(most - count, limits[1:]))


SHARES = {"place": ("place",), "sex": ("sex",), "total": ()}


def percent(count, whole, decimals):
    """A percentage as it is printed, halves up; nothing of nobody."""
    if not whole:
        return ":"
    units = (2 * 100 * 10**decimals * count + whole) // (2 * whole)
    text = f"{units:0{decimals + 1}d}"
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text


def percents_of(found, within, decimals):
    return {
        (place, sex): percent(
            count,
            found[place if within == "place" else "Total", sex if within == "sex" else "Total"],
            decimals,
        )
        for (place, sex), count in found.items()
    }


@st.composite
def tables_with_percents(draw):
    counts = {cell: draw(st.integers(0, 2)) for cell in INNER}
    marks = {cell: draw(st.sampled_from(["", "x"])) for cell in CELLS}
    del marks["Total", "Total"]
    silent = {cell for cell in CELLS if draw(st.booleans())}
    return counts, marks, silent, draw(st.sampled_from([*SHARES])), draw(st.integers(0, 2))


@given(tables_with_percents())
def test_percents_beside_counts_say_what_they_are_printed_of(tmp_path_factory, drawn):
    counts, marks, silent, within, decimals = drawn
    shown = sums(counts)
    marks = {cell: marks.get(cell, "") for cell in CELLS}
    percents = {
        cell: "x" if cell in silent else text
        for cell, text in percents_of(shown, within, decimals).items()
    }
    lines = [f"{p},{s},{marks[p, s] or shown[p, s]},{percents[p, s]}" for p, s in CELLS]
    path = tmp_path_factory.mktemp("percents") / "table.csv"
    path.write_text("\n".join(["place,sex,count,percent", *lines]) + "\n", "utf-8")
    published = cb.read_published(
        path,
        hierarchies={"place": PLACES},
        totals={"sex": "Total"},
        sums="all",
        percents=within,
    )
    # Decimals that all happen to be zeros are fewer decimals, for whoever reads the figures.
    [read, *_] = [*published.tables[0].percents, None]
    if read is not None:
        decimals = max(len(text.partition(".")[2]) for text in read.figures.values())
    possible = {cell: set() for cell, mark in marks.items() if mark}
    for counts_tried in tables(shown, marks):
        found = sums(counts_tried)
        if not fits(shown, found, marks):
            continue
        printed = percents_of(found, within, decimals)
        if all(printed[cell] == text for cell, text in percents.items() if text not in "x:"):
            for cell, values in possible.items():
                values.add(found[cell])
    found = work_out(published, intruder=DULL).tables[0].cells
    assert {cell.labels: set(cell.values) for cell in found} == possible


@given(st.lists(st.integers(0, 7), min_size=6, max_size=6))
def test_what_rounded_figures_can_be(tmp_path_factory, flat):
    def nearest(found):
        return {cell: (2 * count + 3) // 6 * 3 for cell, count in found.items()}

    printed = nearest(sums(dict(zip(INNER, flat, strict=True))))
    lines = [f"{p},{s},{printed[p, s]}" for p, s in CELLS]
    path = tmp_path_factory.mktemp("rounded") / "table.csv"
    path.write_text("\n".join(["place,sex,count", *lines]) + "\n", "utf-8")
    published = cb.read_published(
        path, hierarchies={"place": PLACES}, totals={"sex": "Total"}, base=3
    )
    around = [range(max(printed[cell] - 1, 0), printed[cell] + 2) for cell in INNER]
    possible = {cell: set() for cell in CELLS}
    for tried in itertools.product(*around):
        found = sums(dict(zip(INNER, tried, strict=True)))
        if nearest(found) == printed:
            for cell, count in found.items():
                possible[cell].add(count)
    found = work_out(published, intruder=DULL).tables[0].cells
    assert {cell.labels: set(cell.values) for cell in found} == possible
