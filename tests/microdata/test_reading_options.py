"""Levels, missing values and weights, the same for every source."""

from __future__ import annotations

import decimal
from collections import Counter
from fractions import Fraction

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.data.formats.kinds import SourceColumns
from cellbounds.data.microdata.tally import Selection, Tabulation, tally_of
from cellbounds.data.storage import Cells

RECORDS = {"sex": ["m", None, "f", "m"], "vote": ["yes", "no", None, "yes"], "w": [1, 2, 4, 8]}


def csv(tmp_path, columns):
    lines = [columns, *zip(*columns.values(), strict=True)]
    path = tmp_path / "t.csv"
    text = "".join(
        ",".join("" if one is None else str(one) for one in line) + "\n" for line in lines
    )
    path.write_text(text)
    return path


def folder(tmp_path, columns):
    csv(tmp_path, columns)
    return tmp_path


def parquet(tmp_path, columns):
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def excel(tmp_path, columns):
    book = openpyxl.Workbook()
    for line in (list(columns), *zip(*columns.values(), strict=True)):
        book.active.append(line)
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def frame(tmp_path, columns):
    return pd.DataFrame(columns)


def polars(tmp_path, columns):
    return pl.DataFrame(columns)


SOURCES = [csv, folder, parquet, excel, frame, polars]


@pytest.mark.parametrize("build", SOURCES)
def test_missing(tmp_path, build):
    source = build(tmp_path, RECORDS)
    options = {"count": None, "variables": ["sex", "vote"]}
    with pytest.raises(cb.InvalidInput, match=r"no label for 'sex'.*missing='level'"):
        cb.read_table(source, **options)
    table = cb.read_table(source, missing="drop", **options)
    assert table.domain.to_dict() == {"sex": ["m", "f"], "vote": ["yes", "no"]}
    assert table.counts.tolist() == [[2, 0], [0, 0]]
    table = cb.read_table(source, missing="level", **options)
    assert table.domain.levels("sex") == ("m", "f", "(missing)")
    assert table.counts.tolist() == [[2, 0, 0], [0, 0, 1], [0, 1, 0]]
    # A column that is not used may miss what it likes.
    assert cb.read_table(source, count=None, variables=["vote"], missing="drop").total == 3


@pytest.mark.parametrize("build", SOURCES)
def test_weights(tmp_path, build):
    source = build(tmp_path, RECORDS)
    table = cb.read_table(source, count=None, weight="w", missing="drop")
    assert table.domain.names == ("sex", "vote")
    assert table["m", "yes"] == 9
    assert table.total == 9


@pytest.mark.parametrize("build", SOURCES)
def test_levels(tmp_path, build):
    source = build(tmp_path, {"a": ["x", "y"], "count": [1, 2]})
    table = cb.read_table(source, levels={"a": ["z", "y", "x"]})
    assert table.domain.levels("a") == ("z", "y", "x")
    assert table.counts.tolist() == [0, 2, 1]
    with pytest.raises(cb.InvalidInput, match="label 'y' of 'a' is not among its levels"):
        cb.read_table(source, levels={"a": ["x"]})
    with pytest.raises(cb.InvalidInput, match="names 'b', which is no variable"):
        cb.read_table(source, levels={"b": ["x"]})


@pytest.mark.parametrize("build", SOURCES)
def test_fractional_weights(tmp_path, build):
    source = build(tmp_path, {"a": ["x", "x", "y", "y"], "w": [0.1, 0.4, 0.2, 0.2]})
    with pytest.raises(cb.InvalidInput, match=r"data line 1|cell B2") as caught:
        cb.read_table(source, count=None, weight="w")
    assert "round_weight=True" in str(caught.value)
    table = cb.read_table(source, count=None, weight="w", round_weight=True)
    assert table.counts.tolist() == [1, 0]


@pytest.mark.parametrize("weight", [None, -91827, float("nan"), float("inf"), "91827 kg", True])
@pytest.mark.parametrize("rounded", [True, False])
def test_weights_that_are_none(weight, rounded):
    source = pl.DataFrame({"a": ["x", "y"], "w": [1, weight]}, strict=False)
    if weight is True:
        source = pl.DataFrame({"a": ["x", "y"], "w": [True, True]})
    if isinstance(weight, str):
        source = pl.DataFrame({"a": ["x", "y"], "w": ["1", weight]})
    with pytest.raises(cb.InvalidInput, match=r"data line [12]: the weight") as caught:
        cb.read_table(source, count=None, weight="w", round_weight=rounded)
    assert "91827" not in str(caught.value)


def test_a_level_of_missing_values_has_a_name_of_its_own():
    source = pl.DataFrame({"a": ["(missing)", None]})
    with pytest.raises(cb.InvalidInput, match=r"label '\(missing\)' of its own"):
        cb.read_table(source, count=None, missing="level")
    source = pl.DataFrame({"a": ["x", None]})
    first = cb.read_table(source, count=None, missing="level", levels={"a": ["(missing)", "x"]})
    assert first.domain.levels("a") == ("(missing)", "x")
    last = cb.read_table(source, count=None, missing="level", levels={"a": ["y", "x"]})
    assert last.domain.levels("a") == ("y", "x", "(missing)")
    assert last.counts.tolist() == [0, 1, 1]


def test_missing_labels_of_files_of_counts():
    source = pl.DataFrame({"a": ["x", None, ""], "b": ["u", "u", "v"], "count": [1, 2, 4]})
    assert cb.read_table(source, missing="level").counts.tolist() == [[1, 0], [2, 4]]
    assert cb.read_table(source, missing="level", variables=["b"]).counts.tolist() == [3, 4]
    with pytest.raises(cb.InvalidInput, match=r"missing='drop'.*count=None"):
        cb.read_table(source, missing="drop")
    twice = pl.DataFrame({"a": [None, ""], "count": [1, 2]})
    with pytest.raises(cb.InvalidInput, match=r"\('\(missing\)',\) is listed more than once"):
        cb.read_table(twice, missing="level")


def test_nothing_is_left():
    source = pl.DataFrame({"a": ["x", None], "b": [None, "y"]})
    with pytest.raises(cb.InvalidInput, match="leaves no record"):
        cb.read_table(source, count=None, missing="drop")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weight": "w"}, "weight='w' goes with records"),
        ({"count": None, "weight": "v"}, "no column 'v'.*weight="),
        ({"count": None, "round_weight": True}, "without a column of weights"),
        ({"count": None, "missing": "skip"}, "missing='skip'; give one of"),
        ({"count": None, "levels": {"a": "xy"}}, "give a list"),
        ({"count": None, "levels": {"a": []}}, "at least one"),
        ({"count": None, "levels": {"a": ["x", "x", "y"]}}, "twice"),
        ({"count": None, "variables": ["a", "a"]}, "twice"),
        ({"count": None, "weight": "w", "variables": ["w"]}, "unknown variable 'w'"),
        ({"count": None, "memory": "lots"}, "memory='lots'"),
    ],
)
def test_options_refused(options, said):
    source = pl.DataFrame({"a": ["x", "y"], "w": [1, 2]})
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_table(source, **options)


@pytest.mark.parametrize("options", [{"weight": "w"}, {"round_weight": True}, {"levels": {}}])
def test_arrays_have_no_such_options(options):
    with pytest.raises(cb.InvalidInput, match="with an array"):
        cb.read_table([[1, 2]], **options)


def test_labels_of_another_type_are_explained(tmp_path):
    path = csv(tmp_path, {"age": [1, 2]})
    with pytest.raises(cb.InvalidInput, match="labels of CSV and Excel files are text"):
        cb.read_table(path, count=None, levels={"age": [1, 2]})


def test_exact_sums_of_many_kinds():
    numbers = [decimal.Decimal("0.25"), Fraction(1, 4), 0.5, 2**70, np.int8(3)]
    frame = pd.DataFrame({"a": ["x"] * 5, "w": pd.Series(numbers, dtype=object)})
    table = cb.read_table(frame, count=None, weight="w", round_weight=True)
    assert table["x"] == 2**70 + 4


def test_records_of_many_variables_make_nothing_dense():
    rng = np.random.default_rng(3)
    lines = rng.integers(0, 4, size=(500, 30))
    frame = pd.DataFrame(lines, columns=[f"v{k}" for k in range(30)])
    table = cb.read_table(frame, count=None)
    assert table.domain.size == 4**30
    assert table.total == 500
    assert table.margin(["v3"]).counts.sum() == 500
    labels = tuple(int(one) for one in lines[17])
    assert table[labels] == int((lines == lines[17]).all(axis=1).sum())


@settings(max_examples=100)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=40, max_size=40), min_size=1, max_size=8),
    st.booleans(),
)
def test_distinct_cells_of_any_width(rows, far):
    # Forty variables of up to a thousand levels have more cells than 64 bits can number.
    lines = np.array(rows) * (250 if far else 1)
    cells = Cells.gathered((1000 if far else 4,) * 40, list(lines.T))
    often = Counter(map(tuple, lines.tolist()))
    listed = map(tuple, np.array(cells.columns()).T.tolist())
    assert dict(zip(listed, cells.counts.tolist(), strict=True)) == often


@pytest.mark.parametrize("parts", [1, 2])
def test_a_column_of_identifiers_is_refused(parts):
    labels = [f"person {k}" for k in range(40)]
    selection = Selection(("id",), ("id",))
    for most, refused in ((39, True), (40, False)):
        tabulation = Tabulation("people", selection, None, most_levels=most)
        chunks = [SourceColumns("people", {"id": labels[k::parts]}) for k in range(parts)]
        if not refused:
            tally = tally_of(tabulation, map(tabulation.part, chunks))
            assert len(tally.levels["id"]) == 40
            continue
        with pytest.raises(cb.InvalidInput, match=r"'id' has more than 39 labels.*variables="):
            tally_of(tabulation, map(tabulation.part, chunks))
