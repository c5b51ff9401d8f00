"""Tables in Excel, Parquet and safe CSV files, and files that are not what they say."""

from __future__ import annotations

import datetime
import decimal
import gzip
import importlib
import io
import tempfile
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.data.formats.delimited import read_csv_rows

SECRET = "91827"
ENDINGS = [".csv", ".xlsx", ".parquet"]
HEADER = ["county", "education", "count"]
ROWS = [["Alpha", "Low", 15], ["Alpha", "High", 1], ["Beta", "Low", 20], ["Beta", "High", 3]]
ODD = (
    *("a, b", 'say "hi"', "two\nlines", "Málaga", "\N{GRINNING FACE}", "=1+1", "'=1+1", "''=1+1"),
    *("+x", "-x", "@x", "＝x", "\tx", "\rx", "\r", "x\r\ny", "'x", "001", "1", "1.0", "-5", "+5"),
    *(
        "TRUE",
        "2024-01-01",
        "#N/A",
        "NA",
        "nan",
        "None",
        " ",
        " x ",
        "a;=b",
        "_x000D_",
        "x" * 30_000,
    ),
    *("1e5", "<b>&amp;", "\x1b[0m", "\x85", "\u2028"),
)


def expected():
    domain = cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]})
    return cb.Table(domain, [[15, 1], [20, 3]])


def workbook(path, rows, title="Sheet", others=()):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    for name, lines in others:
        sheet = book.create_sheet(name)
        for line in lines:
            sheet.append(line)
    book.save(path)
    return path


# Round trips


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_comes_back(tmp_path, ending):
    table = cb.datasets.read("koch4")
    table.write(tmp_path / f"table{ending}")
    assert cb.read_table(tmp_path / f"table{ending}") == table
    assert [path.name for path in tmp_path.iterdir()] == [f"table{ending}"]


@pytest.mark.parametrize("ending", [*ENDINGS, ".CSV"])
def test_odd_labels_come_back(tmp_path, ending):
    table = cb.Table(cb.Domain({"=v, w": ODD, "'=n": ["u", "v"]}), [[2, 3]] * len(ODD))
    table.write(str(tmp_path / f"table{ending}"), count="@n")
    assert cb.read_table(tmp_path / f"table{ending}", count="@n") == table


LABELS = st.text(
    alphabet=st.one_of(
        st.sampled_from("'\"=+-@＝;,\t\r\n _x05FD1a"),
        st.characters(codec="utf-8", exclude_characters="\x00\ufeff\ufffe\uffff"),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("ending", ENDINGS)
@given(
    st.lists(LABELS, min_size=1, max_size=5, unique=True),
    st.lists(LABELS, min_size=1, max_size=3, unique=True),
    LABELS.filter(str.strip),
    st.data(),
)
def test_any_labels_and_counts_come_back(ending, first, second, name, data):
    domain = cb.Domain({name: first, f"{name}2": second})
    whole = st.one_of(st.integers(0, 5), st.integers(0, 2**70))
    cells = data.draw(st.lists(whole, min_size=domain.size, max_size=domain.size))
    empty = data.draw(st.lists(st.booleans(), min_size=domain.size, max_size=domain.size))
    cells = [0 if gone else number for number, gone in zip(cells, empty, strict=True)]
    shape = (len(first), len(second))
    flat = iter(zip(cells, empty, strict=True))
    laid = [[next(flat) for _ in range(shape[1])] for _ in range(shape[0])]
    table = cb.Table(
        domain,
        [[number for number, _ in row] for row in laid],
        structural=[[gone for _, gone in row] for row in laid],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        table.write(path, count=f"{name}n")
        structural = "missing" if table.structural.any() else None
        assert cb.read_table(path, count=f"{name}n", structural=structural) == table


@pytest.mark.parametrize("ending", ENDINGS)
def test_structural_zeros_are_not_lost_in_silence(tmp_path, ending):
    domain = cb.Domain({"a": ["x", "y"], "b": ["u", "v"]})
    table = cb.Table(domain, [[0, 1], [2, 0]], structural=[[True, False], [False, False]])
    path = tmp_path / f"table{ending}"
    table.write(path)
    assert cb.read_table(path, structural="missing") == table
    with pytest.raises(cb.InvalidInput, match=r"count is not a whole number.*structural='missing'"):
        cb.read_table(path)


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        ((30, 20), True),
        ((True, False), True),
        ((1.5, 0.5), True),
        ((datetime.date(2024, 1, 2), datetime.date(2023, 1, 2)), True),
        ((2**70, 1), False),
        ((1, "x"), False),
        ((("a", "b"), ("a", "c")), False),
    ],
)
def test_labels_that_are_no_text(tmp_path, labels, kept):
    table = cb.Table(cb.Domain({"a": labels}), [1, 2])
    for ending in ENDINGS:
        table.write(tmp_path / f"t{ending}")
        found = cb.read_table(tmp_path / f"t{ending}").domain.levels("a")
        typed = kept and ending == ".parquet"
        assert found == (labels if typed else tuple(map(str, labels)))
        assert not typed or [type(label) for label in found] == [type(label) for label in labels]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("levels", "count", "said"),
    [
        ({"count": ["x"]}, "count", "name of a variable"),
        ({"a": ["x"]}, " ", "another name"),
        ({"a": [1, "1"]}, "count", "read the same as text"),
        ({"a": ["", "x"]}, "count", "empty text"),
        ({" ": ["x"]}, "count", "empty text"),
        ({"a": ["x\x00"]}, "count", "cannot hold"),
        ({"a": ["\ud800"]}, "count", "cannot hold"),
        ({"\ufeffa": ["x"]}, "count", "cannot hold"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, ending, levels, count, said):
    domain = cb.Domain(levels)
    with pytest.raises(cb.InvalidInput, match=said):
        cb.Table(domain, [1] * domain.size).write(tmp_path / f"t{ending}", count=count)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("ending", "size"), [(".csv", 70_000), (".xlsx", 32_768)])
def test_labels_too_long_for_a_file(tmp_path, ending, size):
    table = cb.Table(cb.Domain({"a": ["x" * size]}), [91827])
    with pytest.raises(cb.InvalidInput, match="shorten") as caught:
        table.write(tmp_path / f"t{ending}")
    assert SECRET not in str(caught.value)
    table.write(tmp_path / "t.parquet")
    assert cb.read_table(tmp_path / "t.parquet") == table


@pytest.mark.parametrize("name", ["table", "table.xls", "table.json"])
def test_an_ending_must_say_what_to_write(tmp_path, name):
    with pytest.raises(cb.InvalidInput, match=r"end the name in .csv, .xlsx, .parquet"):
        expected().write(tmp_path / name)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_place_that_cannot_be_written(tmp_path, ending):
    with pytest.raises(cb.InvalidInput, match="cannot be written"):
        expected().write(tmp_path / "no" / f"t{ending}")
    assert not list(tmp_path.iterdir())


# Safe CSV


def test_written_csv_has_no_formula(tmp_path):
    table = cb.Table(cb.Domain({"a": ["=1+1", "x"]}), [1, 2])
    table.write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == 'a,count\n"\'=1+1",1\nx,2\n'


def test_files_of_others_that_are_not_safe_are_read_as_they_are(tmp_path):
    # Taking the apostrophe away would make one label of two.
    path = tmp_path / "t.csv"
    path.write_text("a,count\n'=x,1\n=x,2\n'y,3\n")
    assert cb.read_table(path).domain.levels("a") == ("'=x", "=x", "'y")


def test_files_of_others_that_are_safe_lose_the_apostrophe(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("'-a,count\n'=x,1\n'y,2\n-3,4\n")
    table = cb.read_table(path)
    assert table.domain.to_dict() == {"-a": ["=x", "'y", "-3"]}
    assert read_csv_rows(path)[0] == ["-a", "count"]


# Excel


def test_excel(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [HEADER, *ROWS])
    assert cb.read_table(path) == expected()
    assert cb.read_table(path, variables=["education"]).counts.tolist() == [35, 4]
    assert cb.read_table(path, structural=[]) == expected()


def test_excel_without_an_ending_is_known_by_its_content(tmp_path):
    assert cb.read_table(workbook(tmp_path / "table", [HEADER, *ROWS])) == expected()


def test_excel_records(tmp_path):
    rows = [["id", "sex", "vote"], [1, "m", "yes"], [2, "f", "no"], [3, "m", None]]
    table = cb.read_table(workbook(tmp_path / "t.xlsx", rows), count=None, variables=["sex"])
    assert table.counts.tolist() == [2, 1]


def test_excel_space_around_and_between_the_lines(tmp_path):
    rows = [[], [None, *HEADER], [], *([None, *row] for row in ROWS[:2]), [], [None, *ROWS[2]]]
    table = cb.read_table(workbook(tmp_path / "t.xlsx", rows))
    assert table.counts.tolist() == [[15, 1], [20, 0]]


def test_excel_labels_become_text(tmp_path):
    values = [
        *("001", "TRUE", "2024-01-01", "1.0", " x"),
        *(1, 2.0, 0.1, True, datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 12, 30)),
        *(datetime.time(8, 15), -0.0),
    ]
    path = workbook(tmp_path / "t.xlsx", [["a", "count"], *([value, 1] for value in values)])
    with pytest.raises(cb.InvalidInput, match=r"\('TRUE',\) is listed more than once"):
        cb.read_table(path)  # it looks the same to people
    found = cb.read_table(path, count=None, variables=["a"]).domain.levels("a")
    assert found == (
        *("001", "TRUE", "2024-01-01", "1.0", " x", "1", "2", "0.1"),
        *("2024-01-31", "2024-01-31 12:30:00", "08:15:00", "0"),
    )


def test_excel_zeros_in_front_that_a_format_shows(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["code", "count"], [1067, 1], [99999, 2], [-1, 3]])
    book = openpyxl.load_workbook(path)
    for row in (2, 3, 4):
        book.active.cell(row, 1).number_format = "00000"
    book.save(path)
    assert cb.read_table(path).domain.levels("code") == ("01067", "99999", "-0001")


def test_excel_counts(tmp_path):
    path = workbook(
        tmp_path / "t.xlsx", [["a", "count"], ["x", 3.0], ["y", "4"], ["z", str(2**70)]]
    )
    assert cb.read_table(path).counts.tolist() == [3, 4, 2**70]


@pytest.mark.parametrize("value", [2.5, -1, True, "x", datetime.date(2024, 1, 1), None, 91827.5])
def test_excel_counts_that_are_none_name_the_cell(tmp_path, value):
    path = workbook(tmp_path / "t.xlsx", [[], ["a", "count"], ["x", 1], ["y", value]], title="Data")
    with pytest.raises(cb.InvalidInput, match=r"sheet 'Data', cell B4: the count") as caught:
        cb.read_table(path)
    assert SECRET not in str(caught.value)


def test_excel_labels_that_are_missing_name_the_cell(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [HEADER, *ROWS[:1], [None, "High", 1]])
    with pytest.raises(cb.InvalidInput, match=r"cell A3: no label for 'county'.*merged"):
        cb.read_table(path)


def test_excel_notes_below_the_table_are_not_taken_for_data(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [HEADER, *ROWS, ["Source: survey"]])
    with pytest.raises(cb.InvalidInput, match="cell C6: the count"):
        cb.read_table(path)
    path = workbook(tmp_path / "t.xlsx", [HEADER, *ROWS, [None, None, None, "checked"]])
    with pytest.raises(cb.InvalidInput, match="cell D6 stands outside"):
        cb.read_table(path)


def test_excel_titles_and_merged_headers(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["Delinquent children"], HEADER, *ROWS])
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("A1:C1")
    book.save(path)
    with pytest.raises(cb.InvalidInput, match="outside the columns of the header in row 1"):
        cb.read_table(path)
    path = workbook(tmp_path / "t.xlsx", [["where", None, "count"], *ROWS])
    with pytest.raises(cb.InvalidInput, match=r"cell B1: a column without a name.*merged"):
        cb.read_table(path)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "is empty"),
        ([HEADER], "no data lines"),
        ([["a", "a", "count"], ["x", "y", 1]], "cell B1.*'a' stands twice"),
        ([["a", "freq"], ["x", 1]], "no column 'count'"),
    ],
)
def test_excel_sheets_that_are_no_tables(tmp_path, rows, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_table(workbook(tmp_path / "t.xlsx", rows))


def test_excel_sheets_are_chosen(tmp_path):
    others = [("notes", [["made by hand"]]), ("empty", [])]
    path = workbook(tmp_path / "t.xlsx", [HEADER, *ROWS], title="Data", others=others)
    with pytest.raises(cb.InvalidInput, match=r"several sheets: 'Data', 'notes'; choose.*sheet="):
        cb.read_table(path)
    assert cb.read_table(path, sheet="Data") == expected()
    with pytest.raises(cb.InvalidInput, match=r"no sheet 'data'.*'Data', 'notes', 'empty'"):
        cb.read_table(path, sheet="data")
    with pytest.raises(cb.InvalidInput, match="'empty' is empty"):
        cb.read_table(path, sheet="empty")
    alone = workbook(tmp_path / "u.xlsx", [HEADER, *ROWS], others=[("empty", [])])
    assert cb.read_table(alone) == expected()


def stored_formulas(path, cells):
    """Give cells a formula and its stored value, as a spreadsheet does."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    for formula, value in cells.items():
        before = f"<f>{formula}</f><v />"
        assert before in sheet
        sheet = sheet.replace(before, f"<f>{formula}</f><v>{value}</v>")
    parts["xl/worksheets/sheet1.xml"] = sheet.encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_excel_formulas_count_as_their_stored_values(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["a", "count"], ["x", "=10+5"], ["y", "=B2+1"]])
    for options in ({}, {"structural": "missing"}):
        with pytest.raises(cb.InvalidInput, match=r"cell B2.*formula without a stored value"):
            cb.read_table(path, **options)
    stored_formulas(path, {"10+5": 15, "B2+1": 16})
    assert cb.read_table(path).counts.tolist() == [15, 16]


@pytest.mark.parametrize("where", ["a", "count"])
def test_excel_errors_are_no_labels_and_no_counts(tmp_path, where):
    row = ["#N/A", 1] if where == "a" else ["y", "#DIV/0!"]
    path = workbook(tmp_path / "t.xlsx", [["a", "count"], ["x", 1], row])
    with pytest.raises(cb.InvalidInput, match=r"cell [AB]3: .*it holds the error #"):
        cb.read_table(path, structural="missing")


# Parquet


def test_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table(dict(zip(HEADER, map(list, zip(*ROWS, strict=True)), strict=True))), path
    )
    assert cb.read_table(path) == expected()
    assert cb.read_table(path, variables=["education"]).counts.tolist() == [35, 4]
    assert cb.read_table(path, count=None, variables=["county"]).counts.tolist() == [2, 2]
    assert cb.read_table(path.rename(tmp_path / "t")) == expected()


def test_parquet_text_stays_text(tmp_path):
    labels = ["001", "1", "2024-01-01", "TRUE", "NA"]
    pq.write_table(pa.table({"a": labels, "count": [1] * 5}), tmp_path / "t.parquet")
    assert cb.read_table(tmp_path / "t.parquet").domain.levels("a") == tuple(labels)


LEVELS = ["None", "High", "Low"]


def test_parquet_categories_keep_their_order_and_unused_levels(tmp_path):
    columns = {"a": ["Low", "High"], "count": [1, 2]}
    pd.DataFrame(
        {**columns, "a": pd.Categorical(columns["a"], categories=LEVELS, ordered=True)}
    ).to_parquet(tmp_path / "pandas.parquet")
    pl.DataFrame(columns).with_columns(pl.col("a").cast(pl.Enum(LEVELS))).write_parquet(
        tmp_path / "polars.parquet"
    )
    column = pa.DictionaryArray.from_arrays(pa.array([2, 1]), pa.array(LEVELS))
    pq.write_table(pa.table({**columns, "a": column}), tmp_path / "arrow.parquet")
    for path in tmp_path.iterdir():
        table = cb.read_table(path)
        assert table.domain.levels("a") == tuple(LEVELS)
        assert table.counts.tolist() == [0, 2, 1]


def test_parquet_row_groups_with_dictionaries_of_their_own(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"a": ["x", "y", "x", "z"]}).with_columns(pl.col("a").cast(pl.Categorical))
    frame.write_parquet(path, row_group_size=1)
    table = cb.read_table(path, count=None)
    assert [table[label] for label in "xyz"] == [2, 1, 1]


def test_parquet_line_numbers_of_pandas_are_no_variable(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y", "z"], "count": [1, 2, 3]})
    frame[frame["a"] != "y"].to_parquet(tmp_path / "t.parquet")
    assert cb.read_table(tmp_path / "t.parquet").domain.to_dict() == {"a": ["x", "z"]}


def test_parquet_does_not_read_the_names_of_folders(tmp_path):
    (tmp_path / "year=2024").mkdir()
    path = tmp_path / "year=2024" / "t.parquet"
    pq.write_table(pa.table({"a": ["x"], "count": [1]}), path)
    assert cb.read_table(path).domain.names == ("a",)


def test_parquet_other_types(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"a": [b"x", b"y"], "count": [decimal.Decimal(3), decimal.Decimal(4)]}), path
    )
    table = cb.read_table(path)
    assert table.domain.levels("a") == ("x", "y")
    assert table.counts.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": ["x", None], "count": [1, 2]}, "data line 2: no label for 'a'"),
        ({"a": ["x", "y"], "count": [1, None]}, "data line 2: the count"),
        ({"a": ["x", "y"], "count": [1, decimal.Decimal("2.5")]}, "data line 2: the count"),
        ({"a": [["x"], ["y"]], "count": [1, 2]}, "'a' holds lists"),
        ({"a": [{"k": 1}, {"k": 2}], "count": [1, 2]}, "'a' holds lists"),
        ({"a": pa.array([], pa.string()), "count": pa.array([], pa.int64())}, "no data lines"),
        ({"a": ["x"], "freq": [1]}, "no column 'count'"),
        ({"a": [b"\xff"], "count": [1]}, "unusual Parquet"),
        ({"": ["x"], "count": [1]}, "empty or stands twice"),
    ],
)
def test_parquet_files_that_are_no_tables(tmp_path, columns, said):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(cb.InvalidInput, match=said) as caught:
        cb.read_table(path)
    assert str(path) in str(caught.value)


# Files that are not what they say


def good_bytes(kind):
    stream = io.BytesIO()
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in (HEADER, *ROWS):
            book.active.append(row)
        book.save(stream)
    elif kind == "parquet":
        table = pa.table({"a": ["x"], "count": [91827]})
        pq.write_table(table, stream, write_page_checksum=True)
    else:
        stream.write(b"a,count\nx,91827\n")
    return stream.getvalue()


def zipped(*names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")
    return stream.getvalue()


IMPOSTORS = {
    "CSV named .xlsx": ("t.xlsx", good_bytes("csv"), "name says an Excel workbook"),
    "CSV named .parquet": ("t.parquet", good_bytes("csv"), "name says a Parquet file"),
    "Excel named .csv": ("t.csv", good_bytes("xlsx"), "is an Excel workbook, but.*CSV"),
    "Excel named .parquet": ("t.pq", good_bytes("xlsx"), "is an Excel workbook, but.*Parquet"),
    "Parquet named .csv": ("t.csv", good_bytes("parquet"), "is a Parquet file, but.*CSV"),
    "Parquet named .xlsx": ("t.xlsx", good_bytes("parquet"), "is a Parquet file, but.*Excel"),
    "truncated Parquet": ("t.parquet", good_bytes("parquet")[:-9], "damaged.*Parquet"),
    "holed Parquet": (
        "t.parquet",
        good_bytes("parquet")[:20] + bytes(40) + good_bytes("parquet")[60:],
        "damaged.*Parquet",
    ),
    "truncated Excel": ("t.xlsx", good_bytes("xlsx")[:-100], "damaged Excel"),
    "hollow Excel": ("t.xlsx", zipped("xl/workbook.xml"), "damaged or unusual Excel"),
    "old Excel": ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old Excel file"),
    "old Excel renamed": ("t.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(9), "password"),
    "binary Excel": ("t.xlsb", zipped("xl/workbook.bin"), "binary Excel.*save it as .xlsx"),
    "OpenDocument": ("t.ods", zipped("mimetype", "content.xml"), "OpenDocument.*save it"),
    "zip": ("t.zip", zipped("t.csv"), "zip archive: unpack"),
    "web page": ("t.csv", b"\xef\xbb\xbf\n <!DOCTYPE html><html>91827</html>", "web page"),
    "web page named .xlsx": ("t.xlsx", b"<html><table>", "web page"),
    "XML": ("t.xls", b"<?xml version='1.0'?><Workbook/>", "XML"),
    "packed Excel": ("t.gz", gzip.compress(good_bytes("xlsx")), "an Excel workbook, not"),
    "encrypted Parquet": ("t.parquet", b"PARE" + bytes(40), "encrypted Parquet"),
    "Feather": ("t.arrow", b"ARROW1\x00\x00" + bytes(40), "Feather.*data frame"),
    "PDF": ("t.csv", b"%PDF-1.7\n", "PDF"),
    "empty Excel": ("t.xlsx", b"", "name says an Excel workbook"),
}


@pytest.mark.parametrize("kind", IMPOSTORS)
def test_files_that_are_not_what_they_say(tmp_path, kind):
    name, content, said = IMPOSTORS[kind]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(cb.InvalidInput, match=said) as caught:
        cb.read_table(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_files_cut_or_changed_anywhere_are_read_right_or_refused(tmp_path, kind):
    content = good_bytes(kind)
    path = tmp_path / f"t.{kind}"
    path.write_bytes(content)
    right = cb.read_table(path)
    for place in range(0, len(content), max(1, len(content) // 150)):
        for changed in (content[:place], content[:place] + b"\x7f" + content[place + 1 :]):
            path.write_bytes(changed)
            try:
                found = cb.read_table(path)
            except cb.InvalidInput:
                continue
            # Zip archives and pages of Parquet files have check sums, the names of columns none.
            assert found.counts.tolist() == right.counts.tolist()


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
@pytest.mark.parametrize("options", [{"encoding": "latin-1"}, {"delimiter": ";"}])
def test_options_of_csv_do_not_go_with_other_files(tmp_path, kind, options):
    (tmp_path / f"t.{kind}").write_bytes(good_bytes(kind))
    with pytest.raises(cb.InvalidInput, match="belong to CSV"):
        cb.read_table(tmp_path / f"t.{kind}", **options)


def test_a_sheet_goes_with_excel_only(tmp_path):
    for kind in ("csv", "parquet"):
        (tmp_path / f"t.{kind}").write_bytes(good_bytes(kind))
        with pytest.raises(cb.InvalidInput, match=r"sheet='x'.*no Excel workbook"):
            cb.read_table(tmp_path / f"t.{kind}", sheet="x")
    with pytest.raises(cb.InvalidInput, match="sheet='x' goes with an Excel"):
        cb.read_table(pd.DataFrame({"a": ["x"], "count": [1]}), sheet="x")


def test_libraries_that_are_not_installed(tmp_path, monkeypatch):
    (tmp_path / "t.parquet").write_bytes(good_bytes("parquet"))
    found = importlib.import_module

    def without(name, *rest):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    said = r"need pyarrow; install it with pip install 'cellbounds\[parquet\]'"
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_table(tmp_path / "t.parquet")
    with pytest.raises(cb.InvalidInput, match=said):
        expected().write(tmp_path / "new.parquet")
    assert not (tmp_path / "new.parquet").exists()
