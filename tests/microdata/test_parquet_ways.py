"""Parquet files read at once, in batches and by threads: the same labels, counts, refusals."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cellbounds as cb

FEW = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

KINDS = {
    pa.string(): st.sampled_from(["x", "Zürich", "a,\nb", "it's", "", " x", "\x00", "NA"]),
    pa.large_string(): st.sampled_from(["x", "y"]),
    pa.binary(): st.sampled_from([b"x", "é".encode(), b"\xff"]),
    pa.int8(): st.sampled_from([-1, 0, 7]),
    pa.int64(): st.sampled_from([-(2**60), 0, 7]),
    pa.uint64(): st.sampled_from([2**64 - 1, 0]),
    pa.bool_(): st.booleans(),
    pa.date32(): st.sampled_from([datetime.date(2024, 2, 29), datetime.date(1900, 1, 1)]),
    pa.float32(): st.sampled_from([0.1, -0.0, 0.0, float("nan"), float("inf")]),
    pa.float64(): st.sampled_from([0.1, 1e300, float("nan")]),
    pa.decimal128(6, 2): st.sampled_from([decimal.Decimal("1.50"), decimal.Decimal("-2.00")]),
    pa.decimal256(50, 2): st.sampled_from([decimal.Decimal("1.50")]),
    pa.timestamp("us"): st.sampled_from([datetime.datetime(2024, 1, 1, 12)]),
    pa.timestamp("ms", "UTC"): st.sampled_from([datetime.datetime(2024, 1, 1, 12)]),
    pa.time32("ms"): st.sampled_from([datetime.time(12)]),
    pa.list_(pa.int8()): st.sampled_from([[1], [2]]),
}


@st.composite
def columns(draw, lines):
    kind = draw(st.sampled_from(list(KINDS)))
    values = draw(st.lists(st.none() | KINDS[kind], min_size=lines, max_size=lines))
    column = pa.array(values, kind)
    simple = kind in (pa.string(), pa.int64(), pa.date32())
    return column.dictionary_encode() if simple and draw(st.booleans()) else column


@FEW
@given(data=st.data(), missing=st.sampled_from(["error", "drop", "level"]))
def test_any_types(ways, tmp_path, data, missing):
    lines = data.draw(st.integers(1, 8))
    table = pa.table({name: data.draw(columns(lines)) for name in ("a", "b")})
    size = data.draw(st.integers(1, lines))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=size)
    ways.agree(tmp_path / "t.parquet", count=None, missing=missing)
    ways.agree(tmp_path / "t.parquet", count=None, missing=missing, variables=["b"])


AMOUNTS = {
    pa.int8(): st.integers(-1, 5),
    pa.int64(): st.sampled_from([0, 1, 2**62, -5]),
    pa.uint64(): st.sampled_from([0, 2**64 - 1]),
    pa.float64(): st.sampled_from([0.0, 3.0, 0.1, 2.5, 1e-9, 1e22, -1.0, float("inf")]),
    pa.float32(): st.sampled_from([3.0, 0.5, 0.1]),
    pa.decimal128(20, 3): st.sampled_from([decimal.Decimal("3.000"), decimal.Decimal("0.125")]),
    pa.string(): st.sampled_from(["3", " 4 ", "2.5", "", "x", str(2**90)]),
    pa.bool_(): st.booleans(),
    pa.date32(): st.just(datetime.date(2024, 1, 1)),
}


@FEW
@given(data=st.data(), rounded=st.booleans())
def test_any_weights_and_counts(ways, tmp_path, data, rounded):
    kind = data.draw(st.sampled_from(list(AMOUNTS)))
    numbers = AMOUNTS[kind] if data.draw(st.booleans()) else AMOUNTS[kind] | st.none()
    lines = data.draw(st.lists(st.tuples(st.sampled_from("xyz"), numbers), min_size=1, max_size=6))
    labels, amounts = zip(*lines, strict=True)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": labels, "n": pa.array(amounts, kind)}), path)
    ways.agree(path, count=None, weight="n", round_weight=rounded)
    ways.agree(path, count="n")
    ways.agree(path, count="n", structural="missing")


def test_decimals_are_those_that_people_wrote(ways, tmp_path):
    # In binary, ten times 0.1 and half a thing would stay below one and a half.
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x"] * 11, "w": [0.1] * 10 + [0.5]}), path)
    table = ways.agree(path, count=None, weight="w", round_weight=True)
    assert table["x"] == 2


def test_weights_beyond_64_bits(ways, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x"] * 5 + ["y"], "w": [2**63 - 1] * 5 + [1]}), path)
    table = ways.agree(path, count=None, weight="w")
    assert table["x"] == 5 * (2**63 - 1)
    assert table.total == 5 * (2**63 - 1) + 1


def test_order_of_first_appearance_over_row_groups_and_files(ways, tmp_path):
    order = np.random.default_rng(7).permutation(500)
    labels = [f"l{k}" for k in order for _ in range(20)]
    folder = tmp_path / "year=2024"
    folder.mkdir()
    for place in range(4):
        some = labels[2500 * place : 2500 * (place + 1)]
        part = pa.table({"a": some, "b": [place] * 2500})
        pq.write_table(part, folder / f"part-{place}.parquet", row_group_size=700)
    table = ways.agree(tmp_path, count=None, also_at_once=False)
    assert table.domain.levels("a") == tuple(f"l{k}" for k in order)
    assert table.domain.names == ("a", "b")


@pytest.mark.parametrize(
    "names",
    [["a", "A", "b"], ["É", "é", "b"], ["a", "A_1", "A"], ["file_row_number", "File_Index", "b"]],
)
def test_columns_that_differ_in_case_only(ways, tmp_path, names):
    rows = [("p", "s", "1"), ("r", "q", "2"), ("p", "q", "1"), ("k", "s", "1")]
    for place, some in enumerate((rows[:2], rows[2:])):
        part = pa.table([[row[k] for row in some] for k in range(3)], names=names)
        pq.write_table(part, tmp_path / f"part-{place}.parquet")
    table = ways.agree(tmp_path, count=None, also_at_once=False)
    assert [table.domain.levels(name) for name in names] == [
        ("p", "r", "k"),
        ("s", "q"),
        ("1", "2"),
    ]
    assert {row: table[row] for row in rows} == dict.fromkeys(rows, 1)
    second = ways.agree(tmp_path, count=None, variables=[names[1]], also_at_once=False)
    assert second.counts.tolist() == [2, 2]


LEVELS = ["None", "High", "Low"]


def test_categories_keep_their_order_and_unused_levels(ways, tmp_path):
    labels = ["Low", "High", "Low"]
    pd.DataFrame({"a": pd.Categorical(labels, categories=LEVELS)}).to_parquet(
        tmp_path / "pandas.parquet"
    )
    pl.DataFrame({"a": labels}).with_columns(pl.col("a").cast(pl.Enum(LEVELS))).write_parquet(
        tmp_path / "polars.parquet"
    )
    for path in sorted(tmp_path.iterdir()):
        table = ways.agree(path, count=None)
        assert table.domain.levels("a") == tuple(LEVELS)
        assert table.cells()[1].tolist() == [1, 2]


def test_missing_labels_of_several_kinds_are_one(ways, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [*"wxyz", "", None, "w"], "b": [1, 2, 3, 4, 5, 5, 1]}), path)
    table = ways.agree(path, count=None, missing="level")
    assert table["w", 1] == 2
    assert table["(missing)", 5] == 2


def test_the_place_of_what_is_wrong_is_named(ways, tmp_path):
    good = pa.table({"a": ["x", "y"], "w": [1, 2]})
    bad = pa.table({"a": ["x", "y", None], "w": [1, -91827, 3]})
    pq.write_table(good, tmp_path / "0.parquet")
    pq.write_table(bad, tmp_path / "1.parquet")
    said = ways.agree(tmp_path, also_at_once=False, count=None, variables=["a"])
    assert f"{tmp_path / '1.parquet'}, data line 3: no label for 'a'" in said
    said = ways.agree(tmp_path, also_at_once=False, count=None, weight="w", missing="drop")
    assert f"{tmp_path / '1.parquet'}, data line 2: the weight is not a whole number" in said
    assert "91827" not in said


def test_only_the_columns_asked_for_are_read(ways, tmp_path):
    # The second column cannot be read at all; nobody asks for it.
    path = tmp_path / "t.parquet"
    table = pa.table({"a": ["x", "y"] * 50, "b": [f"{k:040d}" for k in range(100)]})
    pq.write_table(table, path, compression="snappy", use_dictionary=["a"])
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
    content = bytearray(path.read_bytes())
    start = chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(bytes(content))
    for found in (ways.by_arrow, ways.in_batches):
        assert found(path, count=None, variables=["a"])[0].counts.tolist() == [50, 50]
        assert "damaged" in found(path, count=None)


def test_single_precision_weights_stand_for_what_they_are(tmp_path):
    for value, lines, expected in ((100003, 1000, 100_003_000), (0.7, 5, 3)):
        path = tmp_path / "t.parquet"
        weights = pa.array(np.full(lines, value, dtype=np.float32))
        pq.write_table(pa.table({"a": ["x"] * lines, "w": weights}), path)
        table = cb.read_table(path, count=None, weight="w", round_weight=True)
        assert table["x"] == expected


def test_a_file_that_is_replaced_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path, other = tmp_path / "t.parquet", tmp_path / "other.parquet"
    for place, label in ((path, "old"), (other, "new")):
        pq.write_table(pa.table({"a": [label] * 400_000}), place, row_group_size=50_000)
    opened, times = pq.ParquetFile, []

    def opening(*given, **named):
        times.append(1)
        if len(times) == 3:
            other.replace(path)
        return opened(*given, **named)

    monkeypatch.setattr(pq, "ParquetFile", opening)
    with pytest.raises(cb.InvalidInput, match="was changed while it was read"):
        cb.read_table(path, count=None)
