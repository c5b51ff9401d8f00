"""CSV files read at once, in batches and by Arrow: the same labels, counts and refusals."""

from __future__ import annotations

import csv
import gzip
import io

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

FEW = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

LABELS = st.text("ab é,;\"'\n\r\t=+-@1#\\", max_size=4)
TAME = st.sampled_from(["x", "y", "Zürich", "a, b", 'say "hi"', "two\nlines", "'=A1", "-5", "NULL"])


def written(path, rows, *, ending="\n", quoting=csv.QUOTE_MINIMAL, encoding="utf-8", delimiter=","):
    stream = io.StringIO(newline="")
    made = csv.writer(stream, lineterminator=ending, quoting=quoting, delimiter=delimiter)
    made.writerows(rows)
    content = stream.getvalue().encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@FEW
@given(
    rows=st.lists(st.tuples(LABELS, LABELS, LABELS), min_size=1, max_size=9),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    chosen=st.sampled_from([None, ["a"], ["c", "a"]]),
    missing=st.sampled_from(["error", "drop", "level"]),
)
def test_any_labels(ways, tmp_path, rows, ending, quoting, chosen, missing):
    path = written(tmp_path / "t.csv", [("a", "b", "c"), *rows], ending=ending, quoting=quoting)
    ways.agree(path, count=None, variables=chosen, missing=missing)


@settings(FEW, max_examples=100)
@given(text=st.text("ab,\"\n\r é\t'=", max_size=25), head=st.sampled_from(["a,b\n", "a,b\r\n", ""]))
@example(text='x, "y"\n', head="a,b\n")
@example(text='x,"y" \n', head="a,b\n")
@example(text="x,y,\n", head="a,b\n")
@example(text='"x,",y,\n', head="a,b\n")
@example(text="x,\n", head="a,b\n")
@example(text="\n\nx,y\n\n", head="a,b\n")
@example(text='x"y,"a\nb"\r\n', head="a,b\n")
@example(text='\nx,y\n"a\n', head="a,b\n")
@example(text='x,""z\n', head="a,b\n")
@example(text='"x,"z,y\n', head="a,b\n")
@example(text='x,"y""', head="a,b\n")
@example(text="\r ,", head="a,b\r\n")
def test_any_text(ways, tmp_path, text, head):
    path = tmp_path / "t.csv"
    path.write_bytes((head + text).encode())
    ways.agree(path, count=None, missing="level")


@FEW
@given(
    rows=st.lists(st.tuples(TAME, TAME, st.integers(0, 2**70)), min_size=1, max_size=9),
    structural=st.sampled_from([None, "missing"]),
)
def test_files_of_counts(ways, tmp_path, rows, structural):
    path = written(tmp_path / "t.csv", [("a", "b", "count"), *rows])
    ways.agree(path, structural=structural)
    ways.agree(path, structural=structural, variables=["b"])


NUMBERS = st.one_of(
    st.integers(0, 99).map(str),
    st.decimals(0, 99, places=2).map(str),
    st.sampled_from(["", "-1", "nan", "inf", "1e3", " +7 ", "3.", ".5", "3.0", "0", str(2**80)]),
)


@FEW
@given(
    rows=st.lists(st.tuples(st.sampled_from("xyz"), NUMBERS), min_size=1, max_size=7),
    rounded=st.booleans(),
)
def test_weights(ways, tmp_path, rows, rounded):
    path = written(tmp_path / "t.csv", [("a", "w"), *rows])
    ways.agree(path, count=None, weight="w", round_weight=rounded)


def test_plain_files_are_settled_by_arrow(ways, tmp_path):
    rows = [("Zürich", "a, b"), ("x", 'say "hi"!'), ("", "two\nlines"), ("Zürich", "a, b")]
    for name in ("t.csv", "t.csv.gz"):
        path = written(tmp_path / name, [("a", "b"), *rows])
        table = ways.agree(path, count=None, missing="level")
        assert table["Zürich", "a, b"] == 2
        assert table.domain.levels("a") == ("Zürich", "x", "(missing)")
    assert ways.settled == ways.tried == 2


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "UTF8"])
def test_other_encodings(ways, tmp_path, encoding):
    rows = [("city", "n"), ("Málaga", "1"), ("Köln", "2")]
    path = written(tmp_path / "t.csv", rows, encoding=encoding)
    table = ways.agree(path, count="n", encoding=encoding)
    assert table["Köln"] == 2


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " ", "'", "\\", "#", "é", "x"])
def test_other_delimiters(ways, tmp_path, delimiter):
    rows = [("city", "kind"), ("Málaga", "a, b"), ("Köln", "c;d")]
    path = written(tmp_path / "t.csv", rows, delimiter=delimiter)
    assert ways.agree(path, count=None, delimiter=delimiter).total == 2


def test_wrong_bytes(ways, tmp_path):
    # Far enough from the beginning that nobody but who looks at all bytes sees them.
    for content in (
        b"a,b\n" + b"x,y\n" * 9000 + b"x,\xe1\n",
        b"a,b\n" + b"x,y\n" * 9 + b"\x00,z\n",
        b"a,b\n" + b"x,y\n" * 9 + b"x,y,\n",
        b'a,b\n"x,",y\n' + b"x,y\n" * 9 + b"x,y,\n",
        gzip.compress(b"a,b\nx,y\n" * 9)[:-9],
    ):
        path = tmp_path / "t.csv"
        path.write_bytes(content)
        for variables in (None, ["a"]):
            said = ways.agree(path, count=None, variables=variables)
            assert str(path) in said


def test_guards_are_taken_away_only_if_every_field_has_them(ways, tmp_path):
    rows = [("a", "b"), ("'=A1", "1"), ("x", "2"), ("'=A1", "3")]
    path = written(tmp_path / "t.csv", rows)
    assert ways.agree(path, count=None, variables=["a"]).domain.levels("a") == ("=A1", "x")
    path = written(tmp_path / "t.csv", [*rows, ("y", "=B1")])
    assert ways.agree(path, count=None, variables=["a"]).domain.levels("a") == ("'=A1", "x", "y")
    path = written(tmp_path / "t.csv", [("'-a", "b"), *rows[1:]])
    assert ways.agree(path, count=None, variables=["-a"])["=A1"] == 2


def test_columns_named_like_anything(ways, tmp_path):
    rows = [('say "hi"', "it's", "select", "line_"), ("x", "y", "z", "1"), ("u", "y", "z", "1")]
    path = written(tmp_path / "t.csv", rows)
    assert ways.agree(path, count=None).domain.names == rows[0]
    assert ways.settled == 1


def test_order_of_labels_that_come_late(ways, tmp_path):
    # Sorted data: hardly any label stands among the first lines.
    rows = [(f"y{k // 40}", f"m{k % 7}") for k in range(4000)]
    parts = tmp_path / "parts"
    parts.mkdir()
    for place in range(4):
        some = rows[1000 * place : 1000 * (place + 1)]
        written(parts / f"{place}.csv{'.gz' if place == 2 else ''}", [("a", "b"), *some])
    table = ways.agree(parts, count=None, also_at_once=False)
    assert table.domain.levels("a") == tuple(f"y{k}" for k in range(100))
    assert table.domain.levels("b") == tuple(f"m{k}" for k in range(7))
    assert ways.settled == 1


def test_many_lines_and_threads(ways, tmp_path):
    # Larger than what Arrow reads at a time: quotes and line breaks stand at the seams too.
    labels = ["x", "a, b", 'say "hi"!', "two\nlines", "é" * 9]
    rows = [(labels[k * k % 5], labels[k % 3], f"r{k // 45_000}") for k in range(200_000)]
    path = written(tmp_path / "t.csv", [("a", "b", "c"), *rows], quoting=csv.QUOTE_ALL)
    table = ways.by_arrow(path, count=None, block=2**16)[0]
    assert ways.settled == 1
    assert table.total == len(rows)
    assert table.domain.levels("c") == ("r0", "r1", "r2", "r3", "r4")
    assert table == ways.at_once(path, count=None)[0]


def test_a_long_label_is_refused_by_all(ways, tmp_path):
    path = written(tmp_path / "t.csv", [("a", "b"), ("x" * 140_000, "y"), ("z", "y")])
    assert "field larger than field limit" in ways.agree(path, count=None)


@pytest.mark.parametrize("block", [64, 2**10])
def test_a_block_may_end_within_a_quoted_line_break(ways, tmp_path, block):
    """The return is the last byte of a block, the line feed the first of the next one."""
    begin = b'v\n"a\r\nb"\n'
    filler = block - 3 - len(begin)  # up to the quote, the a and the return
    begin += b"qq\n" * (filler % 2) + b"q\n" * ((filler - 3 * (filler % 2)) // 2)
    content = begin + b'"a\r\nb"\n' + b"q\n" * (9 * block)
    assert content[block - 1 : block + 1] == b"\r\n"
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    by_arrow = ways.by_arrow(path, block=block, count=None)
    assert by_arrow == ways.at_once(path, count=None)
    assert by_arrow[0]["a\r\nb"] == 2
