"""Folders, patterns and lists of files, and every way in which they can be wrong."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cellbounds as cb
from cellbounds.data.microdata.tally import Tabulation

PART = pa.table({"sex": ["m", "f"], "vote": ["yes", "no"]})


def folder_of(path, parts):
    """Files of a folder: Arrow tables become Parquet files, the rest is written as it is."""
    for name, content in parts.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            pq.write_table(content, target)
        else:
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_folder_of_csv_files(tmp_path):
    folder_of(
        tmp_path,
        {
            "2024/b.csv": "sex,vote\nf,no\n",
            "2024/a.csv.gz": gzip.compress(b"sex,vote\nm,no\n"),
            "2023/z.csv": "\ufeffvote,sex\nyes,f\n",
            "README.txt": "what this is",
            "_SUCCESS": "",
            "_temporary/x.csv": "broken",
            ".hidden.csv": "broken",
        },
    )
    table = cb.read_table(tmp_path, count=None)
    assert table.domain.to_dict() == {"vote": ["yes", "no"], "sex": ["f", "m"]}
    assert table.counts.tolist() == [[1, 0], [1, 1]]


def test_a_folder_of_parquet_files(tmp_path):
    folder_of(
        tmp_path,
        {
            "year=2024/part-1.parquet": PART,
            "year=2023/part-0.parquet": PART.select(["vote", "sex"]).slice(1),
            "year=2023/empty.parquet": PART.slice(0, 0),
            "_metadata": "x",
            ".part-1.parquet.crc": "x",
        },
    )
    table = cb.read_table(str(tmp_path), count=None)
    assert table.domain.to_dict() == {"sex": ["f", "m"], "vote": ["no", "yes"]}
    assert table.counts.tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize(("memory", "most"), [(2 * 48_000, 1), (4 * 48_000, 4), (None, 99)])
def test_row_groups_that_wait_need_memory_too(tmp_path, monkeypatch, memory, most):
    lines = pa.table({"x": [str(k % 7) for k in range(20_000)], "y": ["u"] * 20_000})
    pq.write_table(lines, tmp_path / "a.parquet", row_group_size=1000)
    whole = cb.read_table(tmp_path / "a.parquet", count=None)
    counted, waiting = [], []
    part, add = Tabulation.part, Tabulation.add

    def counting(tabulation, columns):
        tally = part(tabulation, columns)
        counted.append(tally)
        return tally

    def adding(tabulation, tally):
        if not waiting:
            time.sleep(0.3)  # whoever may count on meanwhile does
        waiting.append(len(counted) - len(waiting))
        add(tabulation, tally)

    monkeypatch.setattr(Tabulation, "part", counting)
    monkeypatch.setattr(Tabulation, "add", adding)
    before = pa.cpu_count()
    pa.set_cpu_count(8)
    try:
        size = None if memory is None else f"{memory}B"
        table = cb.read_table(tmp_path / "a.parquet", count=None, memory=size)
    finally:
        pa.set_cpu_count(before)
    assert table.digest == whole.digest
    assert max(waiting) <= most
    assert memory is not None or max(waiting) > 4


def test_counts_in_several_files(tmp_path):
    folder_of(tmp_path, {"a.csv": "x,count\nu,1\n", "b.csv": "x,count\nv,2\n"})
    assert cb.read_table(tmp_path).counts.tolist() == [1, 2]
    folder_of(tmp_path, {"c.csv": "x,count\nu,91827\n"})
    with pytest.raises(cb.InvalidInput, match=r"\('u',\) is listed more than once") as caught:
        cb.read_table(tmp_path)
    assert "91827" not in str(caught.value)


def test_patterns_and_lists(tmp_path, monkeypatch):
    folder_of(tmp_path, {"b.csv": "x,y\nv,1\n", "a.csv": "x,y\nu,1\n", "other.parquet": PART})
    for source in (
        str(tmp_path / "*.csv"),
        tmp_path / "[ab].csv",
        [tmp_path / "a.csv", str(tmp_path / "b.csv")],
        (tmp_path / "?.csv",),
    ):
        assert cb.read_table(source, count=None).domain.levels("x") == ("u", "v")
    turned = [tmp_path / "b.csv", tmp_path / "a.csv"]
    assert cb.read_table(turned, count=None).domain.levels("x") == ("v", "u")
    folder_of(tmp_path, {"[ab].csv": "x,y\nw,1\n"})
    # A file that is there is no pattern.
    assert cb.read_table(tmp_path / "[ab].csv", count=None).domain.levels("x") == ("w",)
    monkeypatch.chdir(tmp_path)
    assert cb.read_table("**/b.csv", count=None).domain.levels("x") == ("v",)


def test_lists_of_texts_that_are_counts(tmp_path):
    assert cb.read_table(["3", "4"]).counts.tolist() == [3, 4]


BAD_FOLDERS = {
    "nothing": ({}, "directory without any table file"),
    "nothing but notes": ({"notes.txt": "x"}, "directory without any table file"),
    "two kinds": ({"a.csv": "x,y\nu,1\n", "b.parquet": PART}, "a.csv.*b.parquet.*of one kind"),
    "other columns": (
        {"a.csv": "x,y\nu,1\n", "b.csv": "x,z\nu,1\n"},
        "b.csv has a column 'z', but",
    ),
    "fewer columns": ({"a.csv": "x,y\nu,1\n", "b.csv": "x\nu\n"}, "a.csv has a column 'y', but"),
    "other types": (
        {"a.parquet": PART, "b.parquet": PART.set_column(0, "sex", pa.array([1, 2]))},
        "'sex' holds text in .*a.parquet, but whole numbers in .*b.parquet",
    ),
    "an empty file": ({"a.csv": "x,y\nu,1\n", "b.csv": ""}, "b.csv is empty"),
    "an empty Parquet file": ({"a.parquet": PART, "b.parquet": b""}, "b.parquet is empty"),
    "headers only": ({"a.csv": "x,y\n", "b.csv": "x,y\n"}, "no data lines"),
    "no lines": ({"a.parquet": PART.slice(0, 0)}, "no data lines"),
    "CSV named Parquet": (
        {"a.parquet": PART, "b.parquet": "x,y\nu,1\n"},
        "b.parquet is text, but its name says a Parquet file",
    ),
    "Parquet named CSV": ({"a.csv": b"PAR1" + bytes(40)}, "a.csv is a Parquet file, but"),
    "a cut Parquet file": ({"a.parquet": b"PAR1" + bytes(40)}, "a.parquet is a damaged"),
    "a workbook": ({"a.csv": "x,y\nu,1\n", "b.xlsx": b"PK"}, "holds .*b.xlsx"),
    "a ragged line": ({"a.csv": "x,y\nu,1\n", "b.csv": "x,y\nu,1\nv\n"}, "b.csv, line 3: 1 fields"),
    "an open quote": ({"a.csv": "x,y\nu,1\n", "b.csv": 'x,y\n"u,1\n'}, "b.csv is not a CSV file"),
    "a column twice": ({"a.csv": "x,x\nu,1\n"}, "'x' is empty or stands twice"),
    "no label": ({"a.csv": "x,y\nu,1\n,2\n"}, "a.csv, data line 2: no label for 'x'"),
    "damaged gzip": ({"a.csv.gz": gzip.compress(b"x,y\nu,1\n" * 99)[:-9]}, "a damaged gzip"),
    "latin-1": ({"a.csv": b"x,y\nu,\xe1\n"}, "a.csv is not utf-8 text"),
    "binary": ({"a.csv": b"x,y\nu,\x00\n"}, "a.csv holds binary data"),
    "a web page": ({"a.csv": "<html>"}, "a.csv is a web page"),
}


@pytest.mark.parametrize("kind", BAD_FOLDERS)
def test_bad_folders(tmp_path, kind):
    parts, said = BAD_FOLDERS[kind]
    with pytest.raises(cb.InvalidInput, match=said) as caught:
        cb.read_table(folder_of(tmp_path, parts), count=None)
    assert str(tmp_path) in str(caught.value)


def test_paths_that_are_not_there(tmp_path):
    with pytest.raises(cb.InvalidInput, match="no file matches the pattern"):
        cb.read_table(tmp_path / "*.csv")
    with pytest.raises(cb.InvalidInput, match=r"b\.csv cannot be read: No such file"):
        cb.read_table([tmp_path / "b.csv"])
    folder_of(tmp_path, {"a.csv": "x,y\nu,1\n"})
    with pytest.raises(cb.InvalidInput, match="is named twice"):
        cb.read_table([tmp_path / "a.csv", tmp_path / "*.csv"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_files_that_may_not_be_read(tmp_path):
    folder_of(tmp_path, {"a.csv": "x,y\nu,1\n"})
    (tmp_path / "a.csv").chmod(0)
    with pytest.raises(cb.InvalidInput, match="cannot be read: Permission denied"):
        cb.read_table(tmp_path)


def test_a_link_that_leads_nowhere(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(cb.InvalidInput, match=r"a\.csv cannot be read: No such file"):
        cb.read_table(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"sheet": "x"}, "no Excel workbook"), ({"encoding": "latin-1"}, "belong to CSV")],
)
def test_options_of_other_kinds(tmp_path, options, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_table(folder_of(tmp_path, {"a.parquet": PART}), count=None, **options)


def test_memory_is_limited(tmp_path):
    lines = 200_000
    labels = pa.array([f"label {k}" for k in range(lines)])
    part = pa.table({"a": labels, "b": labels.take(pa.array(range(lines - 1, -1, -1)))})
    folder_of(tmp_path, {"a.parquet": part})
    table = cb.read_table(tmp_path, count=None, memory="60MB")
    assert table.total == lines
    assert table.domain.size == lines**2
    with pytest.raises(cb.TooMuchWork, match=r"memory="):
        cb.read_table(tmp_path, count=None, memory="5MB")


@pytest.mark.parametrize("memory", ["much", 5, "2 GiB of it"])
def test_memory_that_is_none(tmp_path, memory):
    with pytest.raises(cb.InvalidInput, match=r"memory=.*such as '2GiB'"):
        cb.read_table(folder_of(tmp_path, {"a.parquet": PART}), count=None, memory=memory)


def test_too_little_memory_is_no_fault_of_the_file(tmp_path):
    labels = [f"label {k}" for k in range(50_000)]
    folder_of(tmp_path, {"a.parquet": pa.table({"a": labels, "b": labels[::-1]})})
    with pytest.raises(cb.TooMuchWork, match=r"memory="):
        cb.read_table(tmp_path, count=None, memory="1MB")


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2])
def test_control_c_ends_the_counting(tmp_path, seconds):
    labels = pa.array([f"label {k % 7}" for k in range(2**20)])
    pq.write_table(pa.table({"a": labels}), tmp_path / "0.parquet", row_group_size=2**16)
    for place in range(1, 400):
        (tmp_path / f"{place}.parquet").symlink_to(tmp_path / "0.parquet")
    script = f"""if True:
        import os, signal, threading
        import cellbounds
        try:
            threading.Timer({seconds}, os.kill, (os.getpid(), signal.SIGINT)).start()
            cellbounds.read_table({str(tmp_path)!r}, count=None)
        except KeyboardInterrupt:
            print("stopped")
    """
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "stopped\n"
