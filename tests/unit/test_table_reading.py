"""Tables from files, frames and records, and every way in which they can be wrong."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cellbounds as cb

GOOD = "county,education,count\nAlpha,Low,15\nAlpha,High,1\nBeta,Low,20\nBeta,High,3\n"
SECRET = "91827"


def written(tmp_path, content, name="table.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def expected():
    domain = cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]})
    return cb.Table(domain, [[15, 1], [20, 3]])


@pytest.mark.parametrize("as_text", [True, False])
def test_plain_csv(tmp_path, as_text):
    path = written(tmp_path, GOOD)
    assert cb.read_table(str(path) if as_text else path) == expected()


def test_gzip_is_recognised_by_content(tmp_path):
    assert cb.read_table(written(tmp_path, gzip.compress(GOOD.encode()), "t.gz")) == expected()
    assert cb.read_table(written(tmp_path, gzip.compress(GOOD.encode()), "t.csv")) == expected()


def test_byte_order_mark_is_not_part_of_a_name(tmp_path):
    assert cb.read_table(written(tmp_path, b"\xef\xbb\xbf" + GOOD.encode())) == expected()


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings_of_other_systems(tmp_path, ending):
    assert cb.read_table(written(tmp_path, GOOD.replace("\n", ending))) == expected()


def test_blank_lines_are_skipped(tmp_path):
    assert cb.read_table(written(tmp_path, GOOD.replace("\n", "\n\n"))) == expected()


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters(tmp_path, delimiter):
    path = written(tmp_path, GOOD.replace(",", delimiter))
    assert cb.read_table(path, delimiter=delimiter) == expected()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252", "UTF-8", "utf-8-sig"])
def test_other_encodings(tmp_path, encoding):
    text = "city,count\nMálaga,3\nKöln,4\n"
    table = cb.read_table(written(tmp_path, text, encoding=encoding), encoding=encoding)
    assert table.domain.levels("city") == ("Málaga", "Köln")
    assert table["Köln"] == 4


def test_quoted_labels_with_delimiters_quotes_and_line_breaks(tmp_path):
    text = 'what,count\n"a, b",1\n"say ""hi""",2\n"two\nlines",3\n'
    table = cb.read_table(written(tmp_path, text))
    assert table.domain.levels("what") == ("a, b", 'say "hi"', "two\nlines")


def test_labels_are_kept_exactly_as_written(tmp_path):
    table = cb.read_table(written(tmp_path, "age,count\n01,1\n1,2\n 1,3\n1.0,4\nNA,5\n"))
    assert table.domain.levels("age") == ("01", "1", " 1", "1.0", "NA")


def test_counts_may_be_written_with_zeros_behind_the_point(tmp_path):
    table = cb.read_table(written(tmp_path, "a,count\nx,3.0\ny, +4 \nz,0\n"))
    assert table.counts.tolist() == [3, 4, 0]


def test_counts_beyond_64_bits(tmp_path):
    table = cb.read_table(written(tmp_path, f"a,count\nx,{2**70}\ny,1\n"))
    assert table.total == 2**70 + 1


def test_missing_cells_are_sampling_zeros(tmp_path):
    table = cb.read_table(written(tmp_path, "a,b,count\nx,u,1\ny,v,2\n"))
    assert table.counts.tolist() == [[1, 0], [0, 2]]
    assert not table.structural.any()


def test_missing_cells_declared_structural(tmp_path):
    path = written(tmp_path, "a,b,count\nx,u,1\nx,v,0\ny,v,2\n")
    table = cb.read_table(path, structural="missing")
    assert table.structural.tolist() == [[False, False], [True, False]]


def test_structural_cells_listed(tmp_path):
    path = written(tmp_path, "a,b,count\nx,u,1\nx,v,0\ny,v,2\n")
    table = cb.read_table(path, structural=[("x", "v"), ("y", "u")])
    assert table.structural.tolist() == [[False, True], [True, False]]
    with pytest.raises(cb.InvalidInput, match=r"\('y', 'v'\).*structural"):
        cb.read_table(path, structural=[("y", "v")])
    with pytest.raises(cb.InvalidInput, match="unknown level 'w'"):
        cb.read_table(path, structural=[("y", "w")])
    with pytest.raises(cb.InvalidInput, match=r"'absent'.*'missing'"):
        cb.read_table(path, structural="absent")


def test_another_name_for_the_counts(tmp_path):
    path = written(tmp_path, GOOD.replace("count\n", "freq\n"))
    assert cb.read_table(path, count="freq") == expected()


def test_the_column_of_counts_may_stand_anywhere(tmp_path):
    text = "count,county,education\n15,Alpha,Low\n1,Alpha,High\n20,Beta,Low\n3,Beta,High\n"
    assert cb.read_table(written(tmp_path, text)) == expected()


def test_records_are_tabulated(tmp_path):
    path = written(tmp_path, "sex,vote\nm,yes\nf,no\nm,yes\nm,no\n")
    table = cb.read_table(path, count=None)
    assert table.domain.to_dict() == {"sex": ["m", "f"], "vote": ["yes", "no"]}
    assert table.counts.tolist() == [[2, 1], [0, 1]]


def test_records_with_chosen_variables(tmp_path):
    path = written(tmp_path, "id,sex,vote\n1,m,yes\n2,f,no\n3,m,\n")
    table = cb.read_table(path, count=None, variables=["sex"])
    assert table.counts.tolist() == [2, 1]
    turned = cb.read_table(path, count=None, variables=["sex", "id"])
    assert turned.domain.names == ("sex", "id")


def test_chosen_variables_sum_over_the_others(tmp_path):
    path = written(tmp_path, GOOD)
    assert cb.read_table(path, variables=["education"]).counts.tolist() == [35, 4]
    turned = cb.read_table(path, variables=["education", "county"])
    assert turned.domain.names == ("education", "county")
    assert turned["High", "Beta"] == 3


@pytest.mark.parametrize(
    ("variables", "said"),
    [(["age"], "unknown variable 'age'"), (["county", "county"], "twice"), ([], "variable")],
)
def test_chosen_variables_refused(tmp_path, variables, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_table(written(tmp_path, GOOD), variables=variables)


def test_variables_given_as_text_are_refused(tmp_path):
    # Taken letter by letter, "ab" would silently mean the columns a and b.
    with pytest.raises(cb.InvalidInput, match="list"):
        cb.read_table(written(tmp_path, "a,b,count\nx,u,1\n"), variables="ab")


BAD_FILES = {
    "negative count": ("a,count\nx,1\ny,-91827\n", "line", "whole number"),
    "fractional count": ("a,count\nx,1\ny,91827.5\n", "line", "whole number"),
    "count in words": ("a,count\nx,1\ny,91827 people\n", "line", "plain digits"),
    "thousands separator": ('a,count\nx,1\ny,"91,827"\n', "line", "plain digits"),
    "scientific notation": ("a,count\nx,1\ny,9.1827e4\n", "line", "plain digits"),
    "empty count": ("a,count\nx,91827\ny,\n", "line", "whole number"),
    "duplicate cell": ("a,count\nx,91827\nx,91827\n", "('x',)", "count=None"),
    "ragged row": ("a,b,count\nx,u,91827\ny,91827\n", "line 3", "double quotes"),
    "too many fields": ("a,count\nx,91827\ny,z,91827\n", "line 3", "double quotes"),
    "no label": ("a,count\nx,91827\n,91827\n", "line", "'unknown'"),
    "no column of counts": ("a,freq\nx,91827\n", "'count'", "count="),
    "nothing but counts": ("count\n91827\n", "besides the counts", "add variables"),
    "column twice": ("a,a,count\nx,y,91827\n", "'a'", "name of its own"),
    "column without a name": ("a,,count\nx,y,91827\n", "header", "name of its own"),
    "semicolons": ("a;count\nx;91827\n", "no comma", 'delimiter=";"'),
    "tabs": ("a\tcount\nx\t91827\n", "no comma", 'delimiter="\\t"'),
    "open quote": ('a,count\n"x,91827\n', "not a CSV file", "quotes"),
    "empty": ("", "is empty", "header"),
    "blank lines only": ("\n\n", "is empty", "header"),
    "header only": ("a,count\n", "no data lines", "add one line"),
    "latin-1 bytes": ("a,count\nM\xe1laga,91827\n".encode("latin-1"), "utf-8", 'encoding="'),
    "utf-16": ("a,count\nx,91827\n".encode("utf-16"), "UTF-16", "save it as"),
    "Excel": (b"PK\x03\x04" + b"\x00" * 40, "Excel", "save it as CSV"),
    "Parquet": (b"PAR1" + b"\x00" * 40, "Parquet", "data frame"),
    "binary": (b"a,count\nx\x00,91827\n", "binary", "save it as CSV"),
    "damaged gzip": (gzip.compress(GOOD.encode())[:-12], "damaged gzip", "again"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files_are_refused_with_place_and_remedy_but_no_count(tmp_path, kind):
    content, where, remedy = BAD_FILES[kind]
    path = written(tmp_path, content)
    with pytest.raises(cb.InvalidInput) as caught:
        cb.read_table(path)
    said = str(caught.value)
    assert str(path) in said
    assert where in said
    assert remedy in said
    assert SECRET not in said
    assert "91,827" not in said
    assert "9.1827" not in said


def test_the_line_named_is_the_line_at_fault(tmp_path):
    path = written(tmp_path, "a,count\nx,1\ny,2\nz,-3\nw,4\n")
    with pytest.raises(cb.InvalidInput, match="data line 3"):
        cb.read_table(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(cb.InvalidInput, match=r"nothing\.csv cannot be read: No such file"):
        cb.read_table(tmp_path / "nothing.csv")
    with pytest.raises(cb.InvalidInput, match="directory without any table file"):
        cb.read_table(tmp_path)


def test_unknown_encoding_and_wrong_encoding(tmp_path):
    with pytest.raises(cb.InvalidInput, match="unknown encoding 'klingon'"):
        cb.read_table(written(tmp_path, GOOD), encoding="klingon")
    with pytest.raises(cb.InvalidInput, match="ascii"):
        cb.read_table(written(tmp_path, "a,count\né,1\n"), encoding="ascii")


@pytest.mark.parametrize("delimiter", ["", ";;"])
def test_delimiters_are_one_character(tmp_path, delimiter):
    with pytest.raises(cb.InvalidInput, match="delimiter"):
        cb.read_table(written(tmp_path, GOOD), delimiter=delimiter)


def test_a_domain_too_large_to_lay_out(tmp_path):
    lines = "\n".join(f"{k},{k},{k},{k}" for k in range(200))
    path = written(tmp_path, f"a,b,c,d\n{lines}\n")
    table = cb.read_table(path, count=None)
    assert table.domain.size == 200**4
    assert table.total == 200
    assert table["7", "7", "7", "7"] == 1
    with pytest.raises(cb.InvalidInput, match=r"1600000000 cells.*variables="):
        cb.read_table(path, count=None, structural="missing")


COLUMNS = {
    "county": ["Alpha", "Alpha", "Beta", "Beta"],
    "education": ["Low", "High", "Low", "High"],
    "count": [15, 1, 20, 3],
}


@pytest.mark.parametrize("build", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_frames(build):
    assert cb.read_table(build(COLUMNS)) == expected()


def test_pandas_categories_keep_their_order_and_unused_levels():
    levels = ["None", "High", "Low"]
    frame = pd.DataFrame(
        {**COLUMNS, "education": pd.Categorical(COLUMNS["education"], categories=levels)}
    )
    table = cb.read_table(frame)
    assert table.domain.levels("education") == ("None", "High", "Low")
    assert table.counts.tolist() == [[0, 1, 15], [0, 3, 20]]


def test_polars_enum_keeps_its_order():
    frame = pl.DataFrame(COLUMNS).with_columns(
        pl.col("education").cast(pl.Enum(["None", "High", "Low"]))
    )
    table = cb.read_table(frame)
    assert table.domain.levels("education") == ("None", "High", "Low")
    assert table["Beta", "High"] == 3


def test_polars_categorical():
    frame = pl.DataFrame(COLUMNS).with_columns(pl.col("education").cast(pl.Categorical))
    table = cb.read_table(frame)
    assert set(table.domain.levels("education")) >= {"Low", "High"}
    assert table["Beta", "High"] == 3
    assert table.total == 39


def test_arrow_dictionaries_keep_their_order():
    indices = pa.array([2, 1, 2, 1])
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["None", "High", "Low"]))
    table = cb.read_table(pa.table({**COLUMNS, "education": column}))
    assert table.domain.levels("education") == ("None", "High", "Low")
    assert table["Beta", "High"] == 3


def test_labels_of_frames_keep_their_type():
    table = cb.read_table(pd.DataFrame({"age": [30, 20], "count": [1, 2]}))
    assert table.domain.levels("age") == (30, 20)
    assert table[20] == 2


def test_whole_floats_of_frames_are_counts():
    assert cb.read_table(pd.DataFrame({**COLUMNS, "count": [15.0, 1.0, 20.0, 3.0]})) == expected()


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": ["x", "y"], "count": [1, float("nan")]}),
        pd.DataFrame({"a": ["x", "y"], "count": [1, 2.5]}),
        pd.DataFrame({"a": ["x", "y"], "count": [1, -2]}),
        pd.DataFrame({"a": ["x", "y"], "count": [1, float("inf")]}),
        pd.DataFrame({"a": ["x", "y"], "count": [True, False]}),
        pl.DataFrame({"a": ["x", "y"], "count": [1, None]}),
        pa.table({"a": ["x", "y"], "count": [1, None]}),
    ],
    ids=["nan", "half", "negative", "infinite", "truth", "polars null", "arrow null"],
)
def test_frames_with_bad_counts(frame):
    with pytest.raises(cb.InvalidInput, match=r"the frame, data line [12]: the count"):
        cb.read_table(frame)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": ["x", None], "count": [1, 2]}),
        pd.DataFrame({"a": [1.5, float("nan")], "count": [1, 2]}),
        pd.DataFrame({"a": pd.Categorical(["x", None]), "count": [1, 2]}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None]), "count": [1, 2]}),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "count": [1, 2]}),
        pl.DataFrame({"a": ["x", None], "count": [1, 2]}),
        pa.table({"a": ["x", None], "count": [1, 2]}),
    ],
    ids=["none", "nan", "categorical", "NaT", "pd.NA", "polars null", "arrow null"],
)
def test_frames_with_missing_labels(frame):
    with pytest.raises(cb.InvalidInput, match="data line 2: no label for 'a'"):
        cb.read_table(frame)


def test_frames_with_duplicate_cells():
    frame = pd.DataFrame({"a": ["x", "x"], "count": [91827, 91827]})
    with pytest.raises(cb.InvalidInput, match="more than once") as caught:
        cb.read_table(frame)
    assert SECRET not in str(caught.value)


def test_records_from_a_frame():
    frame = pd.DataFrame({"sex": ["m", "f", "m"], "vote": ["yes", "no", "yes"]})
    assert cb.read_table(frame, count=None).counts.tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize("source", [None, 5, {"a": [1]}])
def test_what_is_no_frame(source):
    with pytest.raises(cb.InvalidInput, match="neither a path nor a data frame"):
        cb.read_table(source)


def test_lazy_frames_are_counted_where_they_are():
    levels = {"education": ["Low", "High"]}
    assert cb.read_table(pl.DataFrame(COLUMNS).lazy(), levels=levels) == expected()


def test_empty_frames():
    with pytest.raises(cb.InvalidInput):
        cb.read_table(pd.DataFrame({"a": [], "count": []}))


def test_arrays_with_a_domain():
    domain = cb.Domain({"sex": ["m", "f"], "mp3": ["yes", "no"]})
    table = cb.read_table(np.array([[15, 10], [5, 0]]), domain=domain, structural=[("f", "no")])
    assert table["f", "yes"] == 5
    assert table.structural.tolist() == [[False, False], [False, True]]


def test_arrays_without_a_domain():
    assert cb.read_table([[1, 2, 3]]).domain.to_dict() == {"v1": ["1"], "v2": ["1", "2", "3"]}
    named = cb.read_table([[1, 2], [3, 4]], variables=["row", "col"])
    assert named["2", "1"] == 3
    assert named.domain.names == ("row", "col")


@pytest.mark.parametrize(
    ("array", "options", "said"),
    [
        ([], {}, "at least one cell"),
        ([[1, 2], [3]], {}, "whole|number|shape"),
        ([[1, -2]], {}, "negative"),
        ([1, 2], {"variables": ["a", "b"]}, "1 axes"),
        ([1, 2], {"domain": cb.Domain({"a": ["x"]})}, "shape"),
        ([1, 2], {"domain": cb.Domain({"a": ["x", "y"]}), "variables": ["a"]}, "no variables="),
        ([1, 2], {"structural": "missing"}, "list the cells"),
    ],
)
def test_bad_arrays(array, options, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_table(array, **options)


def test_a_domain_goes_with_arrays_only(tmp_path):
    path = written(tmp_path, "a,count\nx,1\n")
    with pytest.raises(cb.InvalidInput, match="array"):
        cb.read_table(path, domain=cb.Domain({"a": ["x"]}))
