"""Data that stay in an engine: one question goes there, only counts come back."""

from __future__ import annotations

import datetime
import decimal
import sqlite3

import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cellbounds as cb

# How Ibis asks the latest pandas and DuckDB is not for us to mend.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
    pytest.mark.filterwarnings("ignore:fetch_:DeprecationWarning"),
]

FEW = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

RECORDS = {
    "sex": ["m", "f", "m", "f", "m"],
    "age": [30, 20, 30, None, 20],
    "w": [2, 3, 4, 5, 6],
}


def relation(columns):
    connection = duckdb.connect()
    connection.register("given", pa.table(columns))
    connection.execute("CREATE TABLE records AS SELECT * FROM given")
    return connection.table("records")


def expression(columns):
    backend = ibis.duckdb.connect()
    backend.con.register("given", pa.table(columns))
    backend.con.execute("CREATE TABLE records AS SELECT * FROM given")
    return backend.table("records")


def sqlite(columns):
    backend = ibis.sqlite.connect()
    kinds = {str: "TEXT", int: "INTEGER", float: "REAL"}
    named = ", ".join(f'"{name}" {kinds[type(column[0])]}' for name, column in columns.items())
    backend.con.execute(f"CREATE TABLE records ({named})")
    lines = list(zip(*columns.values(), strict=True))
    marks = ", ".join("?" * len(columns))
    backend.con.executemany(f"INSERT INTO records VALUES ({marks})", lines)
    return backend.table("records")


def lazy(columns):
    return pl.DataFrame(columns).lazy()


ENGINES = [relation, expression, sqlite, lazy]


@pytest.mark.parametrize("build", ENGINES)
def test_records(build):
    table = cb.read_table(build(RECORDS), count=None, variables=["sex"])
    assert table.domain.to_dict() == {"sex": ["f", "m"]}
    assert table.counts.tolist() == [2, 3]


@pytest.mark.parametrize("build", ENGINES)
def test_missing_labels_weights_and_levels(build):
    options = {"count": None, "weight": "w", "levels": {"sex": ["m", "f", "x"]}}
    with pytest.raises(cb.InvalidInput, match="no label for 'age'"):
        cb.read_table(build(RECORDS), **options)
    table = cb.read_table(build(RECORDS), missing="drop", **options)
    assert table.domain.to_dict() == {"sex": ["m", "f", "x"], "age": [20, 30]}
    assert table.counts.tolist() == [[6, 6], [3, 0], [0, 0]]
    table = cb.read_table(build(RECORDS), missing="level", **options)
    assert table.domain.levels("age") == (20, 30, "(missing)")
    assert table["f", "(missing)"] == 5


@pytest.mark.parametrize("build", ENGINES)
def test_counts(build):
    columns = {"a": ["y", "x"], "count": [2**62, 3]}
    table = cb.read_table(build(columns))
    assert table.domain.levels("a") == ("x", "y")
    assert [table["x"], table["y"]] == [3, 2**62]
    with pytest.raises(cb.InvalidInput, match=r"\('x',\) is listed more than once"):
        cb.read_table(build({"a": ["x", "x"], "count": [1, 2]}))


@pytest.mark.parametrize("build", ENGINES)
def test_sums_beyond_64_bits(build):
    columns = {"a": ["x"] * 8, "w": [2**63 - 1] * 8}
    assert cb.read_table(build(columns), count=None, weight="w").total == 8 * (2**63 - 1)


def test_weights_that_are_unsigned():
    people = pa.table({"a": ["x"] * 4, "w": pa.array([2**64 - 1] * 3 + [1], pa.uint64())})
    for source in (duckdb.sql("FROM people"), ibis.memtable(people), pl.from_arrow(people).lazy()):
        assert cb.read_table(source, count=None, weight="w").total == 3 * (2**64 - 1) + 1


@pytest.mark.parametrize("build", ENGINES)
@pytest.mark.parametrize("weights", [[1, -91827], [1, None]])
def test_bad_weights(build, weights):
    source = build({"a": ["x", "x"], "w": weights})
    with pytest.raises(cb.InvalidInput, match=r"'w'.*weight") as caught:
        cb.read_table(source, count=None, weight="w")
    assert "91827" not in str(caught.value)


@pytest.mark.parametrize("build", [relation, expression, lazy])
def test_decimals(build):
    tenth = decimal.Decimal("0.10")
    columns = {"a": ["x"] * 11, "w": [tenth] * 10 + [decimal.Decimal("0.50")]}
    source = build(columns)
    assert cb.read_table(source, count=None, weight="w", round_weight=True)["x"] == 2
    half = decimal.Decimal("0.50")
    for one in (source, build({"a": ["x", "x"], "w": [half, half]})):
        with pytest.raises(cb.InvalidInput, match=r"not a whole number.*round_weight"):
            cb.read_table(one, count=None, weight="w")


@pytest.mark.parametrize("build", ENGINES)
def test_floats_are_not_added_up_elsewhere(build):
    source = build({"a": ["x", "x"], "w": [0.1, 0.2]})
    with pytest.raises(cb.InvalidInput, match="integers or decimals"):
        cb.read_table(source, count=None, weight="w", round_weight=True)


@pytest.mark.parametrize("build", ENGINES)
def test_engines_with_nothing(build):
    source = build({"a": ["x"], "b": [1]})
    none = {relation: "b > 1", lazy: pl.col("b") > 1}.get(build, ibis._.b > 1)
    empty = source.filter(none)
    with pytest.raises(cb.InvalidInput, match="no lines"):
        cb.read_table(empty, count=None)


def test_types_of_labels():
    columns = {
        "day": [datetime.date(2024, 2, 1), datetime.date(2024, 1, 1)],
        "yes": [True, False],
        "size": [decimal.Decimal("1.50"), decimal.Decimal("0.50")],
    }
    for build in (relation, expression, lazy):
        levels = cb.read_table(build(columns), count=None).domain.to_dict()
        assert levels == {name: sorted(column) for name, column in columns.items()}


def test_categories_of_an_engine_keep_their_order():
    connection = duckdb.connect()
    connection.execute("CREATE TYPE size AS ENUM ('small', 'middle', 'large')")
    found = connection.sql("SELECT 'large'::size AS a UNION ALL SELECT 'small'::size")
    assert cb.read_table(found, count=None).domain.levels("a") == ("small", "middle", "large")


def test_lists_are_no_labels():
    with pytest.raises(cb.InvalidInput, match="'a' holds lists"):
        cb.read_table(relation({"a": [[1], [2]], "b": [1, 2]}), count=None)


def test_names_of_sums_do_not_clash():
    columns = {"sum_0": ["x"], "sum_2": ["y"], "w": [7]}
    assert cb.read_table(relation(columns), count=None, weight="w").total == 7


@FEW
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["x", "y", "", None, "é"]),
            st.sampled_from([1, 2, None]),
            st.integers(0, 2**40),
        ),
        min_size=1,
        max_size=12,
    ),
    missing=st.sampled_from(["drop", "level"]),
)
def test_engines_say_what_frames_say(rows, missing):
    names = ("a", "b", "w")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    columns = {
        "a": pa.array(columns["a"], pa.string()),
        "b": pa.array(columns["b"], pa.int64()),
    } | {"w": columns["w"]}
    levels = {"a": ["é", "y", "x"], "b": [2, 1]}
    options = {"count": None, "weight": "w", "missing": missing, "levels": levels}
    try:
        expected = cb.read_table(pa.table(columns), **options)
    except cb.InvalidInput:
        expected = None
    for build in (relation, expression, lambda made: pl.from_arrow(pa.table(made)).lazy()):
        if expected is None:
            with pytest.raises(cb.InvalidInput):
                cb.read_table(build(columns), **options)
        else:
            assert cb.read_table(build(columns), **options) == expected


# What the engine is asked


def test_ibis_asks_duckdb_one_question(monkeypatch):
    source = expression({"a": ["x", "y"] * 5000, "b": [1, 2, 3, 4] * 2500, "w": [1] * 10_000})
    backend = source.get_backend()
    asked, rows = [], []
    found = type(backend).to_pyarrow

    def spy(self, expression, *rest, **options):
        asked.append(ibis.to_sql(expression).upper())
        answer = found(self, expression, *rest, **options)
        rows.append(answer.num_rows)
        return answer

    monkeypatch.setattr(type(backend), "to_pyarrow", spy)
    for other in ("execute", "to_pyarrow_batches", "to_pandas"):
        monkeypatch.setattr(type(backend), other, None, raising=False)
    assert cb.read_table(source, count=None, weight="w").total == 10_000
    assert len(asked) == 1
    assert "GROUP BY" in asked[0]
    assert rows == [4]


def test_sqlite_is_asked_one_question(tmp_path):
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE people (a TEXT, b INTEGER)")
        made.executemany("INSERT INTO people VALUES (?, ?)", [("x", 1), ("y", 2)] * 500)
    made.close()
    backend = ibis.sqlite.connect(path)
    asked = []
    backend.con.set_trace_callback(asked.append)
    source = backend.table("people")
    asked.clear()
    assert cb.read_table(source, count=None).total == 1000
    questions = [one for one in asked if "FROM" in one.upper() and "people" in one]
    selects = [one for one in questions if "pragma" not in one.lower()]
    assert len(selects) == 1
    assert "GROUP BY" in selects[0].upper()
    backend.disconnect()


def test_a_relation_is_counted_by_its_own_connection():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE mine AS SELECT 'x' AS a FROM range(1000)")
    found = connection.sql("SELECT * FROM mine WHERE a = 'x'")
    assert cb.read_table(found, count=None)["x"] == 1000


def test_frames_that_are_not_lazy_keep_the_order_of_appearance():
    assert cb.read_table(pl.DataFrame({"a": ["y", "x"]}), count=None).domain.levels("a") == (
        "y",
        "x",
    )
