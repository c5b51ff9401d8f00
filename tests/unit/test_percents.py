"""Percents beside counts in published tables: a name or a sign, and the arithmetic."""

from __future__ import annotations

import openpyxl
import pytest

import cellbounds as cb
from cellbounds.disclosure.published_cells import work_out

KNOWN = {("North", "Men"): {2}, ("North", "Women"): {4}}


def read(text, tmp_path, **how):
    path = tmp_path / "t.csv"
    path.write_text(text, "utf-8")
    return cb.read_published(path, **how)


def found(published):
    return {cell.labels: set(cell.values) for cell in work_out(published).tables[0].cells}


def crosstab(*, north="x,33.3,x,66.7,6", header="Men,%,Women,%,Total"):
    return f"Region,{header}\nNorth,{north}\nSouth,8,40.0,12,60.0,20\nTotal,10,38.5,16,61.5,26\n"


WAYS = {
    "a column beside each": crosstab(),
    "named after the counts": crosstab(header="Men,Men (%),Women,Women (%),Total"),
    "with a sign in the cells": crosstab(
        header="Men,of them,Women,of them,Total", north="x,33.3%,x,66.7%,6"
    ),
    "two header rows": (
        ",Men,,Women,,Total,\nRegion,n,%,n,%,n,%\nNorth,x,33.3,x,66.7,6,100\n"
        "South,8,40.0,12,60.0,20,100\nTotal,10,38.5,16,61.5,26,100\n"
    ),
    "percents at the right": (
        ",Number,,,Per cent,,\nRegion,Men,Women,Total,Men,Women,Total\n"
        "North,x,x,6,33.3,66.7,100.0\nSouth,8,12,20,40.0,60.0,100.0\n"
        "Total,10,16,26,38.5,61.5,100.0\n"
    ),
    "in brackets": (
        "Region;Men;Women;Total\nNorth;x (33,3%);x (66,7%);6\n"
        "South;8 (40,0%);12 (60,0%);20\nTotal;10 (38,5%);16 (61,5%);26\n"
    ),
    "whole percents in brackets": (
        "Region;Men;Women;Total\nNorth;x (33);x (67);6\nSouth;20 (95);1 (5);21\n"
        "Total;22 (81);5 (19);27\n"
    ),
    "rows below": (
        "Region,,Men,Women,Total\nNorth,n,x,x,6\n,%,33.3,66.7,100\nSouth,n,8,12,20\n"
        ",%,40.0,60.0,100\nTotal,n,10,16,26\n,%,38.5,61.5,100\n"
    ),
    "a line for each cell": (
        "Region,column,count,share\nNorth,Men,x,0.333\nNorth,Women,x,0.667\nSouth,Men,8,0.400\n"
        "South,Women,12,0.600\nTotal,Men,10,0.385\nTotal,Women,16,0.615\n"
        "North,Total,6,1\nSouth,Total,20,1\nTotal,Total,26,1\n"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_hidden_counts_are_known_from_their_percents(way, tmp_path):
    published = read(WAYS[way], tmp_path)
    [percents] = published.tables[0].percents
    assert percents.within == ("Region",)
    assert len(percents.figures) in (6, 9)
    known = found(published)
    assert {cell: known[cell] for cell in KNOWN} == KNOWN


def test_the_classical_leak_is_in_the_percents_alone(tmp_path):
    text = "Age,n,%\n0-17,x,7.7\n18-64,x,76.9\n65+,x,15.4\nTotal,26,100.0\n"
    published = read(text, tmp_path, totals={"Age": "Total"}, percents="total")
    assert found(published) == {("0-17",): {2}, ("18-64",): {20}, ("65+",): {4}}
    without = read(text, tmp_path, totals={"Age": "Total"}, percents="none")
    assert found(without)["0-17",] == set(range(27))
    assert "'%' holds no counts and is not read" in str(without)


COLUMN = "Region,Men,Women,Total,X\nNorth,x,x,6,23.1\nSouth,8,12,20,76.9\nTotal,10,16,26,100\n"


def test_a_name_and_the_arithmetic_are_both_needed(tmp_path):
    with pytest.raises(cb.InvalidInput, match="nothing says that it holds percents") as problem:
        read(COLUMN, tmp_path)
    assert "--percents column" in str(problem.value)
    with pytest.raises(cb.InvalidInput, match="no shares of the counts beside them"):
        read(COLUMN.replace("X", "Change in %").replace("76.9", "80.1"), tmp_path)
    [percents] = read(COLUMN.replace("X", "Share"), tmp_path).tables[0].percents
    assert percents.figures[("North", "Total")] == "23.1"
    assert not read(COLUMN, tmp_path, percents="none").tables[0].percents
    with pytest.raises(cb.InvalidInput, match="are said to be within Region, but"):
        read(COLUMN, tmp_path, percents="Region")
    with pytest.raises(cb.InvalidInput, match="percents within 'Place', which is no variable"):
        read(COLUMN, tmp_path, percents=["Place"])


def test_percents_that_may_be_of_several_things_are_asked_about(tmp_path):
    text = "Region,Men,%,Women,%\nNorth,5,50,5,50\nSouth,5,50,5,50\n"
    with pytest.raises(cb.InvalidInput, match="may be a percentage within Region or") as problem:
        read(text, tmp_path)
    assert "--percents Region or --percents column or --percents none" in str(problem.value)
    [percents] = read(text, tmp_path, percents="Region").tables[0].percents
    assert percents.within == ("Region",)


def test_two_columns_of_percents_beside_the_same_counts(tmp_path):
    text = "Region,Men,%,%,Women,%,%\nNorth,2,20,33,8,80,67\nSouth,4,50,67,4,50,33\n"
    rows, columns = read(text, tmp_path).tables[0].percents
    assert (rows.within, columns.within) == (("Region",), ("column",))
    assert (rows.figures["North", "Men"], columns.figures["North", "Men"]) == ("20", "33")


def test_halves_go_up_or_to_even_as_the_shown_lines_say(tmp_path):
    text = "Age,n,%\na,1,{}\nb,7,{}\nTotal,8,100\n"
    [up] = read(text.format("13", "88"), tmp_path).tables[0].percents
    [even] = read(text.format("12", "88"), tmp_path).tables[0].percents
    assert (up.rounding, even.rounding) == ("nearest", "half-even")


def test_means_and_classes_are_no_percents(tmp_path):
    means = "Region,n,Mean age\nNorth,6,41.2\nSouth,20,39.9\nTotal,26,40.2\n"
    published = read(means, tmp_path)
    assert not published.tables[0].percents
    assert "'Mean age' holds no counts and is not read" in str(published)
    classes = "Work,Men,Women,Total\n<50%,4,6,10\n50-80%,8,12,20\nTotal,12,18,30\n"
    assert read(classes, tmp_path).tables[0].hierarchies["Work"].leaves == ("<50%", "50-80%")


def test_percents_of_rounded_counts_are_left_out(tmp_path):
    text = "Age,n,%\na,5,20.0\nb,20,80.0\nTotal,25,100.0\n"
    assert not read(text, tmp_path, base=5).tables[0].percents


def test_points_between_thousands_are_asked_about(tmp_path):
    text = "Region,Men,Women,Total\nNorth,412,600,1.012\nSouth,8,12,20\nTotal,420,612,1.032\n"
    with pytest.raises(cb.InvalidInput, match=r"--thousands \."):
        read(text, tmp_path)
    assert read(text, tmp_path, thousands=".").release.statements[-1].lower == 1032
    with pytest.raises(cb.InvalidInput, match=r"--thousands \."):
        read("Region,Men,Women\nNorth,1.012,2.400\nSouth,3.100,x\n", tmp_path)


def test_numbers_with_footnotes_are_numbers(tmp_path):
    text = "Region,Men,Women,Total\nNorth,4*,6 (1),10\nSouth,8²,12[a],20\nTotal,12†,18,30 b)\n"
    published = read(text, tmp_path)
    assert "6 numbers with the mark of a footnote" in str(published)
    assert published.tables[0].entries["North", "Women"] == 6


def test_raised_marks_of_a_page_are_no_digits(tmp_path):
    page = (
        "<table><tr><th>Region</th><th>Men</th><th>Women<sup>2</sup></th><th>Total</th></tr>"
        "<tr><th>North</th><td>8<sup>1</sup></td><td>2<sup>[a]</sup></td><td>10</td></tr>"
        "<tr><th>South</th><td>3</td><td>4</td><td>7<sup></sup></td></tr></table>"
    )
    (tmp_path / "t.html").write_text(page, "utf-8")
    entries = cb.read_published(tmp_path / "t.html").tables[0].entries
    assert entries["North", "Men"] == 8
    assert entries["North", "Women[2]"] == 2
    assert entries["South", "Total"] == 7


def test_headings_between_rows_are_asked_about(tmp_path):
    text = "Place,Men,Women\nNorth,,\nN1,1,2\nN2,3,4\nSouth,,\nS1,5,6\n"
    with pytest.raises(cb.InvalidInput, match="the row 'South' has a label and no figures"):
        read(text, tmp_path)


def test_excel_shows_fewer_decimals_than_it_stores(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["Region", "Men", "%", "Women", "%", "Total"],
        ["North", "x", 2 / 6, "x", 4 / 6, 6],
        ["South", 8, 0.4, 12, 0.6, 20],
        ["Total", 10, 10 / 26, 16, 16 / 26, 26],
    ):
        sheet.append(row)
    for row in range(2, 5):
        for column in "CE":
            sheet[f"{column}{row}"].number_format = "0.0%"
    book.save(tmp_path / "t.xlsx")
    published = cb.read_published(tmp_path / "t.xlsx")
    [percents] = published.tables[0].percents
    assert percents.figures["North", "Men"] == "33.3"
    assert "stores more decimals of 4 figures than it shows" in str(published)


def test_columns_of_different_decimals_are_read_as_they_are_printed(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "Region,Men,Men (%),Women,Women (%),All\n"
        "North,x,42.9,x,57.14,7\n"
        "South,2,50.0,2,50.00,4\n"
        "Total,x,45.5,x,54.55,11\n"
    )
    published = cb.read_published(path)
    [percents] = published.tables[0].percents
    assert percents.figures["North", "Men"] == "42.9"
    assert "1 or 2 decimals" in str(published)
    assert cb.attainable(published.release)["North", "Men"] == {3}


def test_decimals_that_are_left_out_are_zeros_only_beside_others_of_their_column(tmp_path):
    path = tmp_path / "table.csv"
    # Of 6: a third is 33 without decimals, and 33.00 is none of six.
    path.write_text(
        "Region,Men,Men %,Women,Women %,All,All %\n"
        "North,2,17,1,8.3,3,25\n"
        "South,x,x,x,58.3,9,75\n"
        "Total,x,33,x,66.7,12,100\n"
    )
    published = cb.read_published(path, percents="total")
    assert cb.attainable(published.release, over=["column"])["Men"] == {4}


def test_one_figure_that_fits_by_chance_is_asked_about(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("Region,Men,%,Women,%\nNorth,2,40.0,x,0.0\nSouth,3,x,x,x\n")
    with pytest.raises(cb.InvalidInput, match=r"may be .*within column.*--percents total"):
        cb.read_published(path)


def test_a_base_that_only_other_totals_tell(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "Region,Sex,count,percent\n"
        "North,Men,x,9.5\nNorth,Women,x,61.9\nNorth,All,15,71.4\n"
        "South,Men,5,23.8\nSouth,Women,1,4.8\nSouth,All,6,28.6\n"
    )
    # Of all of one sex, or of everybody: both are 15 of 21.
    with pytest.raises(cb.InvalidInput, match="within Sex or a percentage within everybody"):
        cb.read_published(path)
    published = cb.read_published(path, percents="total")
    assert "as 4 cells confirm" in str(published)
    assert cb.attainable(published.release)["North", "Men"] == {2}


def test_a_label_keeps_its_letters_beside_short_ones(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "Region,what,Men,Women,All\nNorth,n,3,1,4\n,Percent,75.0,25.0,100.0\n"
        "South,n,2,3,5\n,Percent,40.0,60.0,100.0\n"
    )
    assert "'Percent'" in str(cb.read_published(path))
