"""Tables as offices print them: read from every kind of source, understood, attacked."""

from __future__ import annotations

import json
import zipfile
from importlib import resources

import jsonschema
import openpyxl
import pandas
import polars
import pytest

import cellbounds as cb
from cellbounds.data.marks import legend_of
from cellbounds.data.published import HIDDEN, UNKNOWN, ZERO
from cellbounds.disclosure import published_cells
from cellbounds.disclosure.policies.intruder import Intruder
from cellbounds.disclosure.published_cells import work_out
from cellbounds.report.published_report import render
from cellbounds.runtime.interrupts import Late

# A hidden cell of North follows from its row, and the other one from its column.
ROWS = [
    ["", "Age", "", ""],
    ["Region", "young", "old", "Total"],
    ["North", "x", "7", "11"],
    ["South", "x", "9", "15"],
    ["Total", "10", "16", "26"],
]
KNOWN = {("North", "young"): {4}, ("South", "young"): {6}}


def read(text, tmp_path, name="t.csv", **how):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return cb.read_published(path, **how)


def csv_of(rows, delimiter=","):
    return "".join(delimiter.join(row) + "\n" for row in rows)


def found(published, table=0):
    return {cell.labels: set(cell.values) for cell in work_out(published).tables[table].cells}


def excel(tmp_path, *sheets, merged=()):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, start=1):
        sheet = book.create_sheet(f"s{number}")
        for row in rows:
            sheet.append([int(text) if text.isdecimal() else text or None for text in row])
        for span in merged:
            sheet.merge_cells(span)
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def ods(tmp_path, rows):
    def cell(text):
        if text.isdecimal():
            return f'<table:table-cell office:value-type="float" office:value="{text}"/>'
        return f"<table:table-cell><text:p>{text}</text:p></table:table-cell>"

    lines = "".join(
        f"<table:table-row>{''.join(map(cell, row))}"
        '<table:table-cell table:number-columns-repeated="1000"/></table:table-row>'
        for row in rows
    )
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    content = (
        f'<office:document-content {spaces}><table:table table:name="s">{lines}'
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/>'
        "</table:table-row></table:table></office:document-content>"
    )
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
    return tmp_path / "t.ods"


HTML = """<html><body><table><caption>Patients</caption><thead>
<tr><th rowspan="2">Region</th><th colspan="2">Age</th><th rowspan="2">Total</th></tr>
<tr><th>young<th>old</tr></thead><tbody>
<tr><td>North<td>x<td>7<td>11</tr><tr><td>South</td><td>x</td><td>9</td><td>15</td></tr>
<tr><td>Total</td><td>10</td><td>16</td><td>26</td></tr></tbody></table></body></html>"""


def sources(tmp_path):
    """The same table in every kind of source."""
    frame = pandas.DataFrame(
        [row[1:] for row in ROWS[2:]],
        index=pandas.Index([row[0] for row in ROWS[2:]], name="Region"),
        columns=pandas.Index(ROWS[1][1:], name="Age"),
    )
    tidy = frame.stack().rename("count")
    csv = tmp_path / "a.csv"
    csv.write_text(csv_of(ROWS), "utf-8")
    semicolons = tmp_path / "b.csv"
    semicolons.write_text(csv_of(ROWS, ";"), "utf-8")
    html = tmp_path / "c.html"
    html.write_text(
        HTML.replace('<th rowspan="2">Total</th>', "")
        .replace("<th>young<th>old", "<th>young<th>old<th>Total")
        .replace('colspan="2"', 'colspan="3"'),
        "utf-8",
    )
    parquet = tmp_path / "d.parquet"
    tidy.reset_index().to_parquet(parquet)
    return {
        "csv": csv,
        "semicolons": semicolons,
        "excel": excel(tmp_path, ROWS, merged=["B1:D1"]),
        "ods": ods(tmp_path, ROWS),
        "html": html,
        "parquet": parquet,
        "pandas crosstab": frame,
        "pandas series": tidy,
        "pandas tidy": tidy.reset_index(),
        "polars": polars.from_pandas(frame.reset_index()),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "csv",
        "semicolons",
        "excel",
        "ods",
        "html",
        "parquet",
        "pandas crosstab",
        "pandas series",
        "pandas tidy",
        "polars",
    ],
)
def test_the_same_table_from_every_source(tmp_path, kind):
    names = {"variables": ["Region", "Age"]} if kind == "polars" else {}
    published = cb.read_published(sources(tmp_path)[kind], **names)
    (table,) = published.tables
    assert table.variables == ("Region", "Age")
    assert [tree.total for tree in table.hierarchies.values()] == ["Total", "Total"]
    assert found(published) == KNOWN
    assert published.release.total.exact == 26


def test_a_crosstab_of_pandas_with_margins(tmp_path):
    people = pandas.DataFrame(
        {"place": list("NNNSSSS"), "sex": list("fmmffmm"), "age": list("yoyoyoy")}
    )
    cross = pandas.crosstab(people.place, [people.sex, people.age], margins=True)
    published = cb.read_published(cross)
    (table,) = published.tables
    assert table.variables == ("place", "sex", "age")
    assert published.release.total.exact == 7
    assert table.hierarchies["sex"].total == table.hierarchies["place"].total == "All"
    cross.to_excel(tmp_path / "c.xlsx")
    cross.to_csv(tmp_path / "c.csv")
    for name in ("c.xlsx", "c.csv"):
        again = cb.read_published(tmp_path / name)
        assert again.tables[0].variables == ("place", "sex", "age"), name
        assert again.release.digest == published.release.digest, name


def test_titles_notes_and_several_tables_on_a_sheet(tmp_path):
    rows = [
        ["Patients by region and age", "", "", ""],
        ["Hospital statistics", "", "", ""],
        ["", "", "", ""],
        *ROWS,
        ["x: hidden", "", "", ""],
        ["", "", "", ""],
        ["Doctors", "", "", ""],
        ["Ward", "day", "night", "Total"],
        ["A", "3", "4", "7"],
        ["B", "2", "1", "3"],
        ["Total", "5", "5", "10"],
    ]
    published = read(csv_of(rows[:9]), tmp_path)
    assert published.tables[0].title == "Patients by region and age Hospital statistics"
    assert found(published) == KNOWN
    with pytest.raises(cb.InvalidInput, match="different grand totals"):
        read(csv_of(rows), tmp_path)


def test_nested_rows_and_indented_ones_are_hierarchies(tmp_path):
    nested = "Region,Place,f,m,Total\nN,N1,x,4,6\n,N2,5,x,8\n,Total,7,7,14\nS,S1,1,2,3\n"
    nested += ",S2,2,2,4\n,Total,3,4,7\nTotal,,10,11,21\n"
    published = read(nested, tmp_path, variables=["Region", "Place", "sex"])
    (table,) = published.tables
    assert table.hierarchies["Place"].children("N") == ("N1", "N2")
    assert table.hierarchies["Place"].names == ("Region",)
    assert found(published) == {("N1", "f"): {2}, ("N2", "m"): {3}}
    indented = "Place,f,m,Total\nTotal,10,11,21\nN,7,7,14\n  N1,x,4,6\n  N2,5,x,8\n"
    indented += "S,3,4,7\n  S1,1,2,3\n  S2,2,2,4\n"
    published = read(indented, tmp_path)
    assert published.tables[0].hierarchies["Place"].children("S") == ("S1", "S2")
    assert found(published) == {("N1", "f"): {2}, ("N2", "m"): {3}}


def test_codes_that_are_not_listed_hold_nobody_only_if_the_others_add_up(tmp_path):
    tree = {"place": {"N": ["N1", "N2", "N3"], "S": None}}
    text = "place,count\nN1,x\nN2,5\nN,9\nS,2\nTotal,11\n"
    assert found(read(text, tmp_path, hierarchies=tree)) == {("N1",): {0, 1, 2, 3, 4}}
    lines = "place,sex,count\nN1,f,x\nN2,f,5\nN,f,9\nN1,m,3\nN2,m,2\nN,m,5\n"
    published = read(lines, tmp_path, hierarchies={"place": {"N": ["N1", "N2", "N3"]}})
    assert found(published) == {("N1", "f"): {4}}
    assert any("hold nobody" in note for note in published.tables[0].notes)


def test_three_header_rows_with_a_total_above_two_of_them(tmp_path):
    text = "sex,f,,,,m,,,,All\nage,young,,old,,young,,old,,\nill,y,n,y,n,y,n,y,n,\nplace,,,,,,,,,\n"
    text += "N,1,2,3,4,5,6,7,x,36\nS,2,2,2,2,2,2,2,2,16\nAll,3,4,5,6,7,8,9,10,52\n"
    (table,) = read(text, tmp_path).tables
    assert table.variables == ("place", "sex", "age", "ill")
    assert table.entries["N", "m", "old", "n"] is HIDDEN
    assert table.entries["N", "All", "All", "All"] == 36
    assert found(read(text, tmp_path)) == {("N", "m", "old", "n"): {8}}


def test_marks_and_the_legend(tmp_path):
    legend = legend_of(None)
    for text in ("x", "X", "c", "(s)", "*", "[c]"):
        assert legend.entry(text) is HIDDEN
    for text in (":", "..", "NA", "n/a", ""):
        assert legend.entry(text) == UNKNOWN
    for text in ("-", "\u2013"):
        assert legend.entry(text) == ZERO
    ranges = {"<5": "<5", "1-4": "1-4", "1\u20134": "1-4", "n<10": "<10", "\u22644": "<=4"}
    ranges |= {"5+": ">=5", "fewer than 5": "<5", "1 to 4": "1-4", ">10": ">10"}
    assert {text: legend.entry(text) for text in ranges} == ranges
    numbers = {"1,234": 1234, "1 234": 1234, "1\u202f234": 1234, "12.0": 12, "007": 7, "53.00": 53}
    assert {text: legend.entry(text) for text in numbers} == numbers
    assert legend_of("k=hidden, -=unknown, x=<5").entry("-") == UNKNOWN
    assert legend_of(None, thousands=".").entry("1.234") == 1234
    published = read(csv_of(ROWS), tmp_path, marks="x=<6")
    assert published.tables[0].entries["North", "young"] == "<6"


@pytest.mark.parametrize(
    ("text", "how", "said"),
    [
        ("a,b\nx,1.5\ny,2.5\n", {}, "no count|no column holds counts"),
        ("a,count\nx,many\n", {}, "holds no table|neither a number nor a mark"),
        ("a,count\nx,3\nx,4\n", {}, "both have the labels"),
        ("a,b,count\nx,p,1\nx,q,2\n", {"totals": {"c": "p"}}, "no variable"),
        ("a,count\nx,1\ny,2\n", {"totals": {"a": "z"}}, "no level"),
        ("a,count\nx,1\ny,2\n", {"hierarchies": {"b": "prefix"}}, "no variable"),
        ("a,count\nx,1\ny,2\n", {"hierarchies": {"a": ["x"]}}, "a hierarchy is given as"),
        ("a,count\nx,1\ny,2\n", {"hierarchies": {"a": {"x": None}}}, "not in its hierarchy"),
        ("a,count\nx,1\ny,2\n", {"marks": "x"}, "write them like"),
        ("a,count\nx,1\ny,2\n", {"marks": "x=odd"}, "give hidden, unknown, zero"),
        ("a,count\nx,1\ny,2\n", {"thousands": "_"}, "thousands"),
        ("a,count\nx,1\ny,2\n", {"count": "n"}, "no column 'n'"),
        ("a,count\nx,1\ny,2\n", {"header": 0}, "1 or more"),
        ("a,count\nx,1\ny,2\n", {"absent": "no"}, "absent="),
        ("a,count\nx,1\ny,2\n", {"rounding": "up"}, "without a base"),
        ("a,count\nx,1\ny,2\n", {"base": 1}, "2 or more"),
        ("a,count\nx,1\ny,2\n", {"sheet": "s"}, "no workbook"),
        ("a,count\nTotal,4\nx,1\ny,2\n", {}, "differs from the sum"),
        ("a,count\nTotal,4\nx,1\ny,*\n", {}, "no line shows all of its parts"),
        ("a,count\nTotal,4\nAll,4\nx,4\n", {}, "all called totals"),
        ("a,count\nTotal,2\nx,3\ny,*\n", {"totals": {"a": "Total"}}, "differs from the sum"),
        ("a,count\nTotal,2\n", {}, "no line shows"),
        ("just text\nand more\n", {}, "holds no table"),
        ("", {}, "is empty"),
        ('a,"b\n', {}, "not a CSV file|no table"),
        ("a\x00b,c\n1,2\n", {}, "NUL"),
        ("<html><p>404</p></html>", {}, "without a table"),
    ],
)
def test_what_cannot_be_understood_is_refused(tmp_path, text, how, said):
    with pytest.raises(cb.InvalidInput, match=said):
        read(text, tmp_path, **how)


def test_sums_that_are_not_called_totals_are_refused(tmp_path):
    rows = [[text.replace("Total", "Persons") for text in row] for row in ROWS]
    rows[2][1], rows[3][1] = "4", "6"
    with pytest.raises(cb.InvalidInput, match="--totals"):
        read(csv_of(rows), tmp_path)
    told = {"Region": "Persons", "Age": "Persons"}
    assert read(csv_of(rows), tmp_path, totals=told).release.total.exact == 26
    assert read(csv_of(rows), tmp_path, totals=False).release.stated_total is None


def test_totals_of_the_shown_cells_tell_nothing(tmp_path):
    text = "Sex,Female,Female,Male,Male,All\nSurvived,No,Yes,No,Yes,\nClass,,,,,\n"
    text += "1st,,141,118,62,321\n2nd,13.0,93,154,25,285\nCrew,,20,670,192,882\n"
    text += "All,13.0,254,942,279,1488\n"
    published = read(text, tmp_path)
    (table,) = published.tables
    assert table.variables == ("Class", "Sex", "Survived")
    assert any("sums of the shown cells only" in note for note in table.notes)
    assert ("1st", "All", "All") not in table.entries
    assert table.entries["2nd", "All", "All"] == 285
    worked = work_out(published).tables[0].cells
    assert all(cell.values.smallest == 0 and cell.values.unbounded for cell in worked)
    taken = read(text, tmp_path, sums="all")
    assert found(taken)["1st", "Female", "No"] == {0}


def test_an_inferred_base_is_reported_and_a_confirmed_one_used(tmp_path):
    text = "place,f,m,Total\nA,15,20,40\nB,30,x,90\nC,10,70,80\nTotal,60,145,205\n"
    with pytest.raises(cb.InvalidInput, match="--base 5"):
        read(text, tmp_path)
    rounded = read(text, tmp_path, base=5)
    # 88..92 less 28..32, and 143..147 less 18..22 and 68..72; the other lines leave fewer.
    worked = found(rounded)["B", "m"]
    assert worked
    assert worked <= set(range(56, 62))
    exact = text.replace("40", "35").replace("145", "150").replace("60,", "55,")
    noted = read(exact, tmp_path)
    assert any("multiples of 5" in note for note in noted.tables[0].notes)
    assert found(noted)["B", "m"] == {60}


def test_cells_that_are_not_listed_are_unknown_unless_said(tmp_path):
    text = "a,b,count\nx,p,3\ny,q,x\nx,Total,3\ny,Total,5\nTotal,p,3\nTotal,q,5\nTotal,Total,8\n"
    assert found(read(text, tmp_path)) == {("y", "q"): {5}}
    free = "a,b,count\nx,p,x\ny,q,x\nTotal,p,3\nTotal,q,5\nTotal,Total,8\n"
    told = {"a": "Total", "b": "Total"}
    assert found(read(free, tmp_path, totals=told))["x", "p"] == {0, 1, 2, 3}
    assert found(read(free, tmp_path, totals=told, absent="zero"))["x", "p"] == {3}


def test_linked_tables_are_taken_together(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("place,young,old,Total\nA,x,x,9\nB,4,8,12\nTotal,6,15,21\n", "utf-8")
    two.write_text("place,sick,well,Total\nA,2,7,9\nB,6,6,12\nTotal,8,13,21\n", "utf-8")
    names = [table.variables for table in cb.read_published(one, two).tables]
    assert names == [("place", "column"), ("place", "column of table 2")]  # nothing names either
    two.write_text("place,health,count\nA,sick,2\nA,well,7\nB,sick,6\nB,well,6\n", "utf-8")
    hidden = one.read_text("utf-8").replace(",9\n", ",x\n").replace("A,x,x", "A,2,x")
    one.write_text(hidden, "utf-8")
    assert found(cb.read_published(one))["A", "old"] == {7}
    one.write_text(hidden.replace("6,15,21", "6,x,x"), "utf-8")
    linked = cb.read_published(one, two)
    assert found(linked)["A", "old"] == {7}
    assert found(linked)["A", "Total"] == {9}
    three = tmp_path / "three.csv"
    three.write_text("place,column,count\nC,young,1\nD,young,2\n", "utf-8")
    with pytest.raises(cb.InvalidInput, match="others than in the other tables"):
        cb.read_published(one, three)


def test_true_counts_in_a_file_are_not_used():
    from cellbounds.data.hierarchy import Hierarchy
    from cellbounds.data.published import PublishedTable
    from cellbounds.statements.published import Published, release_of

    trees = {"a": Hierarchy(["x", "y", "z"], total="Total")}
    entries = {("x",): HIDDEN, ("y",): HIDDEN, ("z",): 1, ("Total",): 4}
    table = PublishedTable(where="t", hierarchies=trees, entries=entries, truths={("x",): 2})
    published = Published((table,), release_of([table]))
    assert found(published) == {("x",): {0, 1, 2, 3}, ("y",): {0, 1, 2, 3}}
    assert "holds true counts (1 hidden cell)" in table.understood()
    shown = render(work_out(published), "table").split("\n\n")
    assert "t holds true counts (1 hidden cell)" in shown[0]
    assert sum("true counts" in block for block in shown) == 1
    with pytest.raises(cb.InvalidInput, match="none of 'a'"):
        PublishedTable(where="t", hierarchies=trees, entries={("w",): 1})


def test_the_commands(tmp_path, run):
    path = tmp_path / "t.csv"
    path.write_text(csv_of(ROWS), "utf-8")
    code, out, _ = run("show", str(path), "--release", str(tmp_path / "r.toml"))
    assert code == 0
    assert "2 hidden" in out
    code, out, _ = run("attack", str(path))
    assert code == 1
    assert "x = 4" in out
    assert out.startswith("2 counts are hidden, 2 of them can be worked out exactly")
    heads = [block.splitlines()[0].strip() for block in out.split("\n\n")]
    assert [head.partition(",")[0] for head in heads[1:3]] == [
        "Cells that do not show their count",
        "As printed",
    ]
    assert heads[3] == str(path)
    code, out, _ = run("attack", str(path), "--format", "json")
    content = json.loads(out)
    schema = resources.files("cellbounds.report") / "schemas" / "published-1.schema.json"
    jsonschema.Draft202012Validator(json.loads(schema.read_text("utf-8"))).validate(content)
    assert content["summary"] == {"hidden": 2, "disclosed": 2, "unsettled": 0}
    assert content["tables"][0]["cells"][0]["labels"] == ["North", "young"]
    code, out, _ = run("attack", str(path), "--format", "csv")
    assert out.splitlines()[1] == "1,North,young,x,,4,4,4,exact"
    code, out, _ = run("attack", str(path), "--format", "html")
    # Narrow screens: what stands above a marked cell is not grey on red.
    assert "td.broken::before, .list td.open::before { color: inherit; }" in out
    assert ' class="broken">x = 4</td>' in out
    code, out, _ = run("attack", str(tmp_path / "r.toml"), "--cell", "Region=North,Age=young")
    assert "4" in out
    code, _, err = run("attack", str(path), "--over", "Region")
    assert (code, "--release" in err) == (2, True)
    code, _, err = run("attack", str(tmp_path / "r.toml"), "--marks", "c=hidden")
    assert (code, "--marks" in err) == (2, True)
    code, out, _ = run("attack", str(path), "--marks", "x=unknown")
    assert code == 0


def test_nothing_is_worked_out_where_every_count_is_shown(tmp_path, run):
    path = tmp_path / "t.csv"
    path.write_text(csv_of(ROWS).replace("North,x", "North,4").replace("South,x", "South,6"))
    code, out, _ = run("attack", str(path))
    assert (code, out.splitlines()[0]) == (0, "Every count is shown: there is nothing to work out")


def test_labels_may_be_in_a_column_that_is_called_like_counts(tmp_path):
    lines = [f"{a},{b},{k}" for k, (a, b) in enumerate([("p", "y"), ("p", "z"), ("q", "y")], 1)]
    published = read("\n".join(["a,n,count", *lines]), tmp_path)
    assert published.tables[0].variables == ("a", "n")
    assert published.tables[0].entries["p", "z"] == 2


def test_three_hidden_counts_that_add_up_to_three_are_each_one(tmp_path):
    text = "sec,small,large,Total\n58,5,3,8\n59,2,0,2\n60,7,x,x\n61,9,x,x\n62,2,x,x\n63,1,3,4\n"
    text += "Total,26,9,35\n"
    published = read(text, tmp_path)
    assert found(published) == {
        **{(sec, "large"): {1} for sec in ("60", "61", "62")},
        ("60", "Total"): {8},
        ("61", "Total"): {10},
        ("62", "Total"): {3},
    }
    risk = work_out(published)
    assert risk.sentences[0] == "hidden counts are at least 1: zeros are printed"
    never = work_out(published, intruder=Intruder(zeros="never"))
    assert {cell.labels: set(cell.values) for cell in never.tables[0].cells}["60", "large"] == {
        0,
        1,
        2,
        3,
    }


def test_unknown_and_absent_cells_may_be_zero_where_zeros_are_printed(tmp_path):
    text = "a,p,q,Total\nx,0,4,4\ny,:,x,5\nz,1,2,3\nTotal,x,x,12\n"
    worked = found(read(text, tmp_path))
    assert worked["y", "p"] == {0, 1, 2, 3, 4}
    assert worked["y", "q"] == {1, 2, 3, 4, 5}


def test_a_sheet_of_any_size_stays_within_limits(tmp_path, monkeypatch):
    monkeypatch.setenv("CELLBOUNDS_LIMITS", "cells=100")
    with pytest.raises(cb.InvalidInput, match="cells"):
        read(csv_of([["a", "b", "c"]] + [["x", "1", "2"]] * 50), tmp_path)
    monkeypatch.setenv("CELLBOUNDS_LIMITS", "bytes=100")
    with pytest.raises(cb.InvalidInput, match="more than"):
        read(csv_of(ROWS * 5), tmp_path)


def test_an_endless_span_is_cut():
    page = '<table><tr><td rowspan="99999" colspan="99999">a</td></tr></table>'
    from cellbounds.data.formats.grids import grids_of

    class Shown:
        def as_raw_html(self):
            return page

    with pytest.raises(cb.InvalidInput, match="cells"):
        grids_of(Shown())


def test_nothing_is_written_beside_a_name_that_cannot_be(tmp_path, run):
    path, release = tmp_path / "t.csv", tmp_path / "r.toml"
    path.write_text("a,count\nx,3\ny,4\n", encoding="utf-8")
    code, _, err = run("show", str(path), "--release", str(release), "--write", str(tmp_path / "t"))
    assert (code, release.exists()) == (2, False)
    assert "end its name with .tab or .csv or .xlsx" in err


SMALL = "Region,young,old,Total\nNorth,x,x,2\nSouth,x,x,12\nEast,0,4,4\nTotal,6,12,18\n"


def judged(tmp_path, run, *options):
    (tmp_path / "small.csv").write_text(SMALL, "utf-8")
    status, out, err = run("attack", tmp_path / "small.csv", *options)
    return status, " ".join((out or err).split())


def test_a_policy_judges_a_table_without_the_true_counts(tmp_path, run):
    # Both of North are 1, as zeros are shown; the table itself shows that there are 2.
    status, said = judged(tmp_path, run, "--policy", "small-counts")
    assert status == 1
    assert said.startswith("UNSAFE under the policy small-counts: 3 findings break a rule")
    assert "North Total UNSAFE small-counts the figure is shown" in said
    assert "North young UNSAFE small-counts attainable: 1" in said
    policy = tmp_path / "p.toml"
    policy.write_text(
        'format = "cellbounds-policy/1"\nname = "house"\n'
        '[[rule]]\nrule = "small-counts"\nat_most = 1\nvalues = 3\nzeros = false\n',
        "utf-8",
    )
    never = ("--policy", str(policy), "--intruder", "zeros=never")
    status, said = judged(tmp_path, run, *never)
    assert (status, said.split()[0]) == (0, "SAFE")
    policy.write_text(policy.read_text("utf-8").replace("values = 3", "values = 4"), "utf-8")
    status, said = judged(tmp_path, run, *never)
    assert (status, said.split()[0]) == (3, "UNDECIDED")
    assert "whether that is enough depends on the true count" in said
    page = tmp_path / "page.html"
    assert judged(tmp_path, run, *never, "--format", "html", "-o", str(page))[0] == 3
    assert "UNDECIDED under the policy house" in page.read_text("utf-8")
    status, said = judged(tmp_path, run, *never, "--format", "json")
    schema = resources.files("cellbounds.report") / "schemas" / "published-1.schema.json"
    jsonschema.validate(json.loads(said), json.loads(schema.read_text("utf-8")))
    assert json.loads(said)["verdict"]["outcome"] == "undecided"


def test_what_single_cells_cannot_tell_is_refused(tmp_path, run):
    status, said = judged(tmp_path, run, "--policy", "strict")
    assert status == 2
    assert "the rule group-disclosure of the policy strict is not asked of tables" in said


def test_a_policy_judges_what_rounded_figures_can_be(tmp_path, run):
    status, said = judged(tmp_path, run, "--base", "2", "--policy", "small-counts")
    assert status == 0
    assert "SAFE under the policy small-counts: no rule is broken" in said
    assert "4 counts are hidden and 8 counts are rounded or noisy" in said


def test_what_is_late_is_left_open(tmp_path, monkeypatch):
    published = read(csv_of(ROWS), tmp_path)
    asked = []

    def late(*_, **__):
        asked.append(1)
        raise Late

    with monkeypatch.context() as patched:
        patched.setattr(published_cells, "attainable", late)
        risk = work_out(published)
    assert asked
    assert (risk.outcome, risk.unsettled) == (cb.Outcome.UNDECIDED, 2)
    assert work_out(published).outcome is cb.Outcome.UNSAFE


def test_a_hidden_grand_total_is_worked_out(tmp_path):
    text = "Region,young,old,Total\nNorth,4,x,x\nSouth,6,x,x\nTotal,10,16,x\n"
    totals = {"Region": "Total", "column": "Total"}
    assert found(read(text, tmp_path, totals=totals))["Total", "Total"] == {26}
