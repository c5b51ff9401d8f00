"""Sheets as offices make them: indents, hidden parts, notes, years at the side, several tables."""

from __future__ import annotations

import openpyxl
import pytest
from openpyxl.styles import Alignment

import cellbounds as cb
from cellbounds.disclosure.published_cells import work_out

HEAD = ["Region", "Men", "Women", "Total"]
BODY = [["North", "x", "x", 10], ["South", 12, 0, 12], ["East", "x", "x", 13]]
LAST = ["Total", 20, 15, 35]
RANGES = {
    ("North", "Men"): (1, 7),
    ("North", "Women"): (3, 9),
    ("East", "Men"): (1, 7),
    ("East", "Women"): (6, 12),
}


def ranges(published):
    """What is left of each cell that shows no count."""
    return {
        cell.labels: (cell.values.possible.smallest, cell.values.possible.largest)
        for table in work_out(published).tables
        for cell in table.cells
    }


def written(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


def csv_of(*rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def workbook(tmp_path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, start=1):
        sheet = book.create_sheet(f"s{number}")
        for row in rows:
            sheet.append(row)
    return book, tmp_path / "t.xlsx"


def test_indents_of_a_format_are_a_hierarchy(tmp_path):
    rows = [
        HEAD,
        ["Country", 20, 15, 35],
        ["West", 15, 7, 22],
        ["North", "x", "x", 10],
        ["South", "x", "x", 12],
        ["Right", 5, 8, 13],
        ["East", 5, 8, 13],
    ]
    book, path = workbook(tmp_path, rows)
    for row, depth in enumerate([0, 1, 2, 2, 1, 2], start=2):
        book["s1"].cell(row, 1).alignment = Alignment(indent=depth)
    book.save(path)
    published = cb.read_published(path)
    tree = published.tables[0].hierarchies["Region"]
    assert tree.leaves == ("North", "South", "East")
    assert tree.children("West") == ("North", "South")
    assert ranges(published)["North", "Men"] == (3, 10)


def test_an_indent_on_a_page_is_a_hierarchy(tmp_path):
    lines = [("Country", 0, 9, 30), ("West", 1, 6, 25), ("a", 2, 2, 11), ("b", 2, 4, 14)]
    lines += [("Right", 1, 3, 5), ("c", 2, 1, 2), ("d", 2, 2, 3)]
    rows = "".join(
        f"<tr><td>\n {'&nbsp;' * depth}{code}</td><td>{one}</td><td>{two}</td></tr>"
        for code, depth, one, two in lines
    )
    page = f"<table><tr><th>Area</th><th>f</th><th>m</th></tr>{rows}</table>"
    tree = cb.read_published(written(tmp_path, page, "t.html")).tables[0].hierarchies["Area"]
    assert tree.leaves == ("a", "b", "c", "d")


NESTED = [
    ["area", "f", "m", "u"],
    ["Country", 40, 61, 26],
    ["West", 21, 35, 11],
    ["W1", 12, 17, 4],
    ["W2", 9, 18, 7],
    ["Right", 19, 26, 15],
    ["R1", 8, 3, 6],
    ["R2", 11, 23, 9],
]


@pytest.mark.parametrize("order", [1, -1], ids=["totals first", "totals last"])
def test_sums_of_codes_that_nothing_says_are_refused(tmp_path, order):
    path = written(tmp_path, csv_of(NESTED[0], *NESTED[1:][::order]))
    with pytest.raises(cb.InvalidInput, match=r"is the sum of 'W1', 'W2' .*--hierarchy area=FILE"):
        cb.read_published(path)
    assert len(cb.read_published(path, totals=False).tables[0].hierarchies["area"].leaves) == 7
    tree = {"Country": {"West": ["W1", "W2"], "Right": ["R1", "R2"]}}
    assert cb.read_published(path, hierarchies={"area": tree}).tables[0].hierarchies[
        "area"
    ].leaves == ("W1", "W2", "R1", "R2")


def test_few_sums_of_small_counts_may_be_chance(tmp_path):
    path = written(tmp_path, csv_of(["area", "f", "m"], ["a", 3, 4], ["b", 1, 2], ["c", 2, 2]))
    assert cb.read_published(path, totals=False).tables[0].hierarchies["area"].depth == 1
    more = csv_of(["area", "f", "m"], ["d", 9, 1], ["a", 3, 4], ["b", 1, 2], ["c", 2, 2])
    assert cb.read_published(written(tmp_path, more)).tables[0].hierarchies["area"].depth == 1


def test_what_a_workbook_hides_is_not_read_and_said(tmp_path):
    true = [HEAD, ["North", 3, 7, 10], ["South", 12, 0, 12], ["East", 5, 8, 13], LAST]
    shown = [HEAD, *BODY, LAST]
    beside = [[*one, None, *two[1:3]] for one, two in zip(shown, true, strict=True)]
    book, path = workbook(tmp_path, [*beside, ["North (true)", 3, 7, 10]], true)
    sheet = book["s1"]
    for letter in "FG":
        sheet.column_dimensions[letter].hidden = True
    sheet.row_dimensions[6].hidden = True
    book["s2"].sheet_state = "hidden"
    book.save(path)
    published = cb.read_published(path)
    assert ranges(published) == RANGES
    said = str(published)
    assert "the sheet 's2' is hidden and not read, but in the file" in said
    assert "1 hidden row is not read" in said
    assert "the hidden columns F are not read" in said
    whole = cb.read_published(path, sheet="s2")
    assert ranges(whole) == {}


def test_titles_and_notes_of_a_page_span_it(tmp_path):
    rows = "".join(
        f"<tr><th>{row[0]}</th>" + "".join(f"<td>{text}</td>" for text in row[1:]) + "</tr>"
        for row in (*BODY, LAST)
    )
    page = (
        '<table><thead><tr><td colspan="4">Patients</td></tr><tr>'
        + "".join(f"<th>{text}</th>" for text in HEAD)
        + f"</tr></thead><tbody>{rows}</tbody>"
        + '<tfoot><tr><td colspan="4">x: fewer than 5</td></tr></tfoot></table>'
    )
    published = cb.read_published(written(tmp_path, page, "t.html"))
    assert published.tables[0].title == "Patients"
    assert ranges(published) == RANGES


def test_years_below_each_region_are_labels(tmp_path):
    lines = [["Region", "Year", "Men", "Women", "Total"]]
    for region, *_ in (*BODY, LAST):
        for year in (2023, 2024, "Total"):
            first = region if year == 2023 else ""
            times = 2 if year == "Total" else 1
            counts = next(row[1:] for row in (*BODY, LAST) if row[0] == region)
            texts = [text if text == "x" else times * text for text in counts]
            lines.append([first, year, *texts])
    published = cb.read_published(written(tmp_path, csv_of(*lines)))
    assert published.tables[0].variables == ("Region", "Year", "column")
    assert published.tables[0].hierarchies["Year"].leaves == ("2023", "2024")


def test_rows_of_the_same_name_are_no_crossing(tmp_path):
    lines = [["place", "f", "m", "u"], ["a", 1, 2, 3], ["Other", 1, 2, 2], ["b", 2, 1, 1]]
    path = written(tmp_path, csv_of(*lines, ["Other", 2, 1, 2]))
    with pytest.raises(cb.InvalidInput, match="each cell stands once"):
        cb.read_published(path)


def test_owned_tables_with_sums_of_codes_are_refused(tmp_path):
    lines = [
        [row[0], sex, count]
        for row in NESTED[1:]
        for sex, count in zip("fmu", row[1:], strict=True)
    ]
    path = written(tmp_path, csv_of(["area", "sex", "count"], *lines))
    with pytest.raises(cb.InvalidInput, match="'West' of 'area' is the sum of 'W1', 'W2'"):
        cb.read_table(path)
    tree = {"Country": {"West": ["W1", "W2"], "Right": ["R1", "R2"]}}
    assert cb.read_table(path, hierarchies={"area": tree}).total == 127
    assert cb.read_table(path, totals=False).total == 3 * 127


def test_a_line_that_contradicts_a_sum_ends_it(tmp_path):
    lines = [*NESTED, ["Left", 0, 0, 0]]
    wrong = [[*row, 0 if row[0] in ("Country", "West", "Right") else 1] for row in lines[1:]]
    path = written(tmp_path, csv_of([*lines[0], "v"], *wrong))
    assert len(cb.read_published(path).tables[0].hierarchies["area"].leaves) == 8


def test_tables_beside_and_below_each_other(tmp_path):
    others = [["Region", 2023, 2024, "Total"], ["North", 4, 6, 10], ["South", 5, 7, 12]]
    others += [["East", 6, 7, 13], ["Total", 15, 20, 35]]
    first = [HEAD, *BODY, LAST]
    book, path = workbook(
        tmp_path,
        [[*one, None, *two] for one, two in zip(first, others, strict=True)],
        [["Table 3"], *first, [], ["Table 4"], *others],
    )
    book.save(path)
    for sheet in ("s1", "s2"):
        published = cb.read_published(path, sheet=sheet)
        names = [table.variables for table in published.tables]
        assert names == [("Region", "column"), ("Region", "column of table 2")]
        assert ranges(published) == RANGES
        assert "column has other codes than in the tables before" in str(published)


def test_the_same_codes_without_a_name_are_the_same_variable(tmp_path):
    less = [[row[0], *row[:0:-1]] for row in (HEAD, *BODY, LAST)]  # columns the other way round
    book, path = workbook(tmp_path, [HEAD, *BODY, LAST], less)
    book.save(path)
    published = cb.read_published(path)
    assert {table.variables for table in published.tables} == {("Region", "column")}


def test_rows_that_are_spaced_out_stay_one_table(tmp_path):
    spaced = [[row[0], "", "", row[1], "", row[2], "", row[3]] for row in (HEAD, *BODY, LAST)]
    published = cb.read_published(written(tmp_path, csv_of(*spaced)))
    assert len(published.tables) == 1 and ranges(published) == RANGES


def test_names_of_totals_with_footnotes_and_marks_of_others(tmp_path):
    lines = [["Region", "Men", "Women", "Total¹"], *BODY, ["I alt*", *LAST[1:]]]
    for mark in ("[REDACTED]", "np", "(D)"):
        path = written(tmp_path, csv_of(*lines).replace("x", mark))
        assert ranges(cb.read_published(path)) == RANGES
    path = written(tmp_path, csv_of(*lines).replace("x", "…"))
    assert ranges(cb.read_published(path))["North", "Men"] == (0, 8)


def test_unicode_text_of_excel_is_read(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(csv_of(HEAD, *BODY, LAST).replace(",", "\t").encode("utf-16"))
    assert ranges(cb.read_published(path)) == RANGES


def test_the_index_of_a_stored_frame_names_its_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame([HEAD, *BODY, LAST][1:], columns=HEAD).astype(str)
    frame.set_index("Region").to_parquet(tmp_path / "t.parquet")
    assert ranges(cb.read_published(tmp_path / "t.parquet")) == RANGES


def test_totals_that_are_rounded_by_themselves_are_refused_with_that_remedy(tmp_path):
    lines = [HEAD, ["a", 5, 5, 10], ["b", 10, 0, 10], ["Total", 20, 5, 20]]
    with pytest.raises(cb.InvalidInput, match=r"say how it is rounded .--base N"):
        cb.read_published(written(tmp_path, csv_of(*lines)))


GROUPS = [
    ["2023", "", "", ""],
    *BODY,
    LAST,
    ["2024", "", "", ""],
    ["North", 4, 6, 10],
    ["South", 5, 7, 12],
    ["East", 1, 1, 2],
    ["Total", 10, 14, 24],
]


@pytest.mark.parametrize("way", ["csv", "sheet", "page"])
def test_headings_with_the_same_rows_are_a_variable(tmp_path, way):
    rows = [HEAD, *GROUPS]
    if way == "csv":
        path = written(tmp_path, csv_of(*rows))
    elif way == "sheet":
        book, path = workbook(tmp_path, rows)
        book.save(path)
    else:
        lines = [
            f'<tr><th colspan="4">{row[0]}</th></tr>'
            if row[1] == ""
            else "<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>"
            for row in rows
        ]
        page = f"<table><thead>{lines[0]}</thead>{''.join(lines[1:])}</table>"
        path = written(tmp_path, page, "t.html")
    published = cb.read_published(path)
    assert published.tables[0].variables == ("heading", "Region", "column")
    assert ranges(published) == {("2023", *cell): ends for cell, ends in RANGES.items()}


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [row for row in rows if row[0] != "East" or row[1] != 1],
        lambda rows: [["2023", "", "", ""] if row[0] == "2024" else row for row in rows],
        lambda rows: [rows[1], *rows],
        lambda rows: [*rows[:5], rows[5], rows[5], *rows[6:]],
    ],
    ids=["a row less", "the same heading", "a row before", "nothing below"],
)
def test_other_headings_are_asked_about(tmp_path, change):
    with pytest.raises(cb.InvalidInput, match=r"has a label and no figures|each cell stands once"):
        cb.read_published(written(tmp_path, csv_of(HEAD, *change(GROUPS))))


def test_a_wrong_figure_below_a_heading_is_placed_where_it_stands(tmp_path):
    wrong = [row if row[0] != "East" else ["East", "1%%", *row[2:]] for row in GROUPS]
    with pytest.raises(cb.InvalidInput, match=r"cell B5 holds .1%%."):
        cb.read_published(written(tmp_path, csv_of(HEAD, *wrong)))
