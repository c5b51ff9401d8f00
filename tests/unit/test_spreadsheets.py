"""CSV and Excel files that people open: no formulas, nothing lost."""

from __future__ import annotations

import csv
import datetime
import io
import zipfile
from fractions import Fraction

import numpy as np
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.data.spreadsheets import (
    DATE,
    csv_text,
    excel_escaped,
    excel_restored,
    is_safe,
    restored_cell,
    safe_cell,
    write_excel,
)

# Mostly the characters that matter, so that they meet.
AWKWARD = st.text(
    alphabet=st.one_of(
        st.sampled_from("'\"=+-@＝＋－＠;,\t\r\n _x05FD1a\u200b\ufeff"),
        st.characters(codec="utf-8", exclude_characters="\x00"),
    ),
    max_size=12,
)
STARTS = "=+-@＝＋－＠\t\r\n"


def shown_by(separator, text):
    """The cells of a spreadsheet with this separator, which skips what stands before a formula."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return [
        field.lstrip(" \"'\u200b\ufeff") if field[:1] != "'" else field for r in rows for field in r
    ]


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@given(AWKWARD)
def test_every_text_comes_back(text):
    assert restored_cell(safe_cell(text)) == text
    assert is_safe(safe_cell(text))


@given(AWKWARD, AWKWARD)
def test_texts_that_differ_stay_different(one, other):
    assert (safe_cell(one) == safe_cell(other)) == (one == other)


@given(AWKWARD)
def test_no_safe_text_begins_like_a_formula(text):
    safe = safe_cell(text)
    assert not safe.startswith(tuple(STARTS)) or is_number(safe)


@given(st.lists(AWKWARD, min_size=1, max_size=3), st.sampled_from(",;\t"))
def test_no_cell_begins_like_a_formula_whatever_the_separator(labels, separator):
    # A spreadsheet that expects another separator cuts the lines elsewhere.
    content = csv_text(labels, [labels])
    for cell in shown_by(separator, content):
        assert not cell.startswith(tuple("=+-@＝＋－＠")) or is_number(cell.partition(",")[0]), cell


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("Alpha", "Alpha"),
        ("=cmd|'/c calc'!A1", "'=cmd|'/c calc'!A1"),
        ("+49 89 123", "'+49 89 123"),
        ("-", "'-"),
        ("@SUM(1)", "'@SUM(1)"),
        ("＝1+1", "'＝1+1"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("\nx", "'\nx"),
        ("  =1+1", "'  =1+1"),
        ('"=1+1', "'\"=1+1"),
        ("\u200b=1+1", "'\u200b=1+1"),
        ("'=1+1", "''=1+1"),
        ("'Alpha", "'Alpha"),
        ("a;=1+1", "a;'=1+1"),
        ("a\n=1+1", "a\n'=1+1"),
        ("a=1", "a=1"),
        ("65+", "65+"),
        ("10-19", "10-19"),
        ("", ""),
    ],
)
def test_what_gets_an_apostrophe(text, safe):
    assert safe_cell(text) == safe


@pytest.mark.parametrize("number", ["-5", "+3", "-0.25", "1e-3", "-.5", "007", "'-5"])
def test_numbers_are_untouched(number):
    assert safe_cell(number) == restored_cell(number) == number


@pytest.mark.parametrize("text", ["-5+1", "-5 or less", "+1;=x", "-1e5x", "--5"])
def test_what_only_begins_like_a_number_is_not_one(text):
    assert safe_cell(text).startswith("'") or ";'" in safe_cell(text)


@given(st.lists(st.lists(AWKWARD, min_size=2, max_size=2), min_size=1, max_size=4))
def test_csv_comes_back_whole(rows):
    found = list(csv.reader(io.StringIO(csv_text(rows[0], rows), newline=""), strict=True))
    assert [[restored_cell(field) for field in row] for row in found] == [rows[0], *rows]


def test_numbers_in_csv_stay_bare():
    assert csv_text(["n"], [[-3], [0.5], [None], [np.int64(7)]]) == 'n\n-3\n0.5\n""\n7\n'


@given(AWKWARD)
def test_control_characters_in_workbooks_come_back(text):
    stored = excel_escaped(text)
    assert excel_restored(stored) == text
    assert not set(stored) & set(map(chr, [*range(9), 11, 12, *range(13, 32)]))


@pytest.mark.parametrize("text", ["_x000D_", "_x005F_", "_x000D\r", "_x005F_x000D_", "\r_x000D_"])
def test_text_that_looks_like_an_escape(text):
    assert excel_restored(excel_escaped(text)) == text


SHEETS = {
    "cells": {
        "label": ["=1+1", "#N/A", "TRUE", "001", " x ", "two\nlines", "2024-01-01", "é"],
        "count": [1, 2, np.int64(3), 10**15, 2**70, None, -4, True],
        "rate": [0.5, Fraction(1, 3), float("inf"), float("nan"), np.float64(0.25), 1e300, 0, -1],
    },
    "note": {"what": ["text"]},
}


def test_a_workbook_holds_texts_and_numbers_and_no_formula(tmp_path):
    path = tmp_path / "out.xlsx"
    write_excel(SHEETS, path)
    with zipfile.ZipFile(path) as archive:
        assert b"<f>" not in archive.read("xl/worksheets/sheet1.xml")
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["cells", "note"]
    sheet = book["cells"]
    rows = list(sheet.iter_rows())
    assert [cell.value for cell in rows[0]] == ["label", "count", "rate"]
    assert all(cell.font.bold for cell in rows[0])
    assert not rows[1][0].font.bold
    assert sheet.freeze_panes == "A2"
    assert [row[0].value for row in rows[1:]] == SHEETS["cells"]["label"]
    assert {row[0].data_type for row in rows[1:]} == {"s"}
    assert [row[1].value for row in rows[1:]] == [1, 2, 3, str(10**15), str(2**70), None, -4, True]
    assert [row[2].value for row in rows[1:]] == [0.5, "1/3", "inf", "nan", 0.25, 1e300, 0, -1]
    # Editing the cell must not make a formula of it.
    assert rows[1][0].quotePrefix
    assert not rows[4][0].quotePrefix


class Later(datetime.datetime):
    """A clock of another day."""

    @classmethod
    def now(cls, tz=None):
        return cls(2031, 5, 6, 7, 8, 9, tzinfo=tz)


def test_a_workbook_is_the_same_whenever_it_is_written(tmp_path, monkeypatch):
    write_excel(SHEETS, tmp_path / "now.xlsx")
    monkeypatch.setattr(datetime, "datetime", Later)
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.0)
    write_excel(SHEETS, tmp_path / "later.xlsx")
    assert (tmp_path / "now.xlsx").read_bytes() == (tmp_path / "later.xlsx").read_bytes()
    with zipfile.ZipFile(tmp_path / "now.xlsx") as archive:
        assert archive.testzip() is None
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    told = openpyxl.load_workbook(tmp_path / "now.xlsx").properties
    assert told.created == told.modified == DATE


def test_names_of_sheets_are_made_legal_and_distinct(tmp_path):
    path = tmp_path / "out.xlsx"
    titles = ["a/b:c", "A b c", "'quoted'", "", "History", "x" * 40, "x" * 41, "*"]
    write_excel({title: {"v": [k]} for k, title in enumerate(titles)}, path)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == [
        *("a b c", "A b c 2", "quoted", "sheet", "History 2"),
        *("x" * 31, "x" * 29 + " 2", "sheet 2"),
    ]
    assert [sheet["A2"].value for sheet in book] == list(range(len(titles)))


@pytest.mark.parametrize(
    ("sheets", "said"),
    [
        ({}, "at least one"),
        ({"s": {}}, "one length"),
        ({"s": {"a": [1], "b": [1, 2]}}, "one length"),
        ({"s": {"a": range(1_048_576)}}, "Excel holds 1048576"),
        ({"s": {"a": ["x" * 32_768]}}, "cell A2.*shorten"),
        ({"s": {"a": ["x\x00"]}}, "cell A2.*character"),
        ({"s": {"a": ["\ud800"]}}, "cell A2.*character"),
    ],
)
def test_what_excel_cannot_hold_leaves_no_file(tmp_path, sheets, said):
    with pytest.raises(cb.InvalidInput, match=said):
        write_excel(sheets, tmp_path / "out.xlsx")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(cb.InvalidInput, match="cannot be written: No such file"):
        write_excel({"s": {"a": [1]}}, tmp_path / "no" / "out.xlsx")
