"""What is read whole is read within limits: bytes, nesting, digits, cells; files and pipes only."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from pathlib import Path

import openpyxl
import pytest

import cellbounds as cb

TABLE = "a,b,count\nx,p,15\nx,q,17\ny,p,11\ny,q,19\n"
RELEASE = """\
total = 62
[domain]
a = ["x", "y"]
b = ["p", "q"]
[[conditional]]
responses = ["b"]
given = ["a"]
rates = {}
"""
RATES = '[["0.47", "0.53"], ["0.37", "0.63"]]'
FIGURES = "a,b,rate\nx,p,0.47\nx,q,0.53\ny,p,0.37\ny,q,0.63\n"
POLICY = 'name = "house"\n[[rule]]\nrule = "small-counts"\nat_most = 3\nvalues = 2\n'
QUICK = ["--jobs", "1", "--seconds", "20"]
MANY = 2**34
"""Cells of 34 variables with two levels."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table and a release, in which commands run."""
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "r.toml").write_text(RELEASE.format(RATES))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(run, *arguments):
    """The one line with which the command refuses something."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, ""), err
    err = "".join(line for line in err.splitlines(True) if not line.startswith("cellbounds: "))
    assert err.startswith("error: ") and err.count("\n") == 1 and len(err) < 1500
    return err


# --- files and pipes, no devices -------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "/dev/null", "[a]"],
        ["audit", "t.csv", "/dev/null"],
        ["audit", "t.csv", "[a]", "--policy", "device.toml"],
        ["audit", "t.csv", "[a]", "--policy", "device.yaml"],
        ["audit", "t.csv", "[a]", "--report", "x.html", "--key", "/dev/null"],
        ["audit", "t.csv", "[a]", "--knows", "/dev/null"],
        ["attack", "/dev/null"],
        ["attack", "outside.toml", "--allow-outside"],
        ["explore", "t.csv", "--response", "b", "--merge-levels", "/dev/null"],
        ["verify", "/dev/null"],
        ["show", "/dev/null"],
        ["compare", "/dev/null", "[a]"],
        ["protect", "/dev/null", "[a]"],
        ["protect", "t.csv", "[a]", "--cost", "/dev/null"],
        ["protect", "t.csv", "[a]", "--earlier", "/dev/null"],
        ["ledger", "people", "t.ledger", "ann", "--password-file", "/dev/null"],
    ],
)
def test_devices_are_refused(run, here, arguments):
    for name in ("device.toml", "device.yaml"):
        (here / name).symlink_to("/dev/null")
    (here / "outside.toml").write_text(RELEASE.format('"/dev/null"'))
    if "t.ledger" in arguments:
        assert run("ledger", "init", "t.ledger", "--table", "t.csv")[0] == 0
    assert "is a device" in refused(run, *arguments)


@pytest.mark.parametrize(
    "arguments", [["audit", "/dev/zero", "[a]"], ["attack", "/dev/zero"], ["verify", "/dev/zero"]]
)
def test_what_never_ends_is_not_begun(here, arguments):
    most = 3 * 2**30

    def limit_memory():
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    done = subprocess.run(
        [sys.executable, "-m", "cellbounds.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limit_memory,
    )
    assert done.returncode == 2 and "is a device" in done.stderr


def poured(path, content):
    """A pipe at a path, and the thread that writes to it."""
    os.mkfifo(path)

    def pour():
        with Path(path).open("wb", buffering=0) as pipe:
            try:
                pipe.write(content)
            except BrokenPipeError:
                return

    thread = threading.Thread(target=pour, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_pipes_are_read_and_bounded(here, monkeypatch, pack):
    thread = poured(here / "pipe", pack(TABLE.encode()))
    assert cb.read_table(here / "pipe").total == 62
    thread.join(10)
    monkeypatch.setenv("CELLBOUNDS_LIMITS", "bytes=64KiB")
    thread = poured(here / "endless", pack(TABLE.encode() + b"x,p,1\n" * 20_000))
    with pytest.raises(cb.InvalidInput, match=r"64 KiB.*CELLBOUNDS_LIMITS=bytes=1GiB"):
        cb.read_table(here / "endless")
    thread.join(10)


def test_a_release_may_come_through_a_pipe_too(here):
    thread = poured(here / "pipe", RELEASE.format(RATES).encode())
    assert cb.read_release(here / "pipe").total.exact == 62
    thread.join(10)


def test_a_pipe_is_no_part_of_a_folder(here):
    os.mkfifo(here / "part.csv")
    with pytest.raises(cb.InvalidInput, match="is a pipe, which is read alone"):
        cb.read_table([here / "t.csv", here / "part.csv"])


# --- bytes -----------------------------------------------------------------------------------


def written(here, name, padding):
    """A valid input of each kind, with so many bytes that mean nothing."""
    if name == "release":
        (here / "x.toml").write_text(RELEASE.format(RATES) + "#" * padding)
        return ["attack", "x.toml", *QUICK]
    if name == "policy":
        (here / "p.toml").write_text(POLICY + "#" * padding)
        return ["audit", "t.csv", "[a]", "--policy", "p.toml", *QUICK]
    if name == "yaml":
        text = "name: house\nrule:\n- rule: small-counts\n  at_most: 3\n  values: 2\n"
        (here / "p.yaml").write_text(text + "#" * (padding // 256))
        return ["audit", "t.csv", "[a]", "--policy", "p.yaml", *QUICK]
    if name in ("figures", "packed figures"):
        raw = FIGURES.encode() + b"\n" * padding
        (here / "f.csv").write_bytes(gzip.compress(raw) if name != "figures" else raw)
        (here / "x.toml").write_text(RELEASE.format('"f.csv"'))
        return ["attack", "x.toml", *QUICK]
    if name == "workbook":
        book = openpyxl.Workbook()
        for line in TABLE.split():
            book.active.append([int(x) if x.isdigit() else x for x in line.split(",")])
        book.save(here / "t.xlsx")
        with zipfile.ZipFile(here / "t.xlsx", "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("padding.xml", b" " * padding)
        return ["audit", "t.xlsx", "[a]", *QUICK]
    if name == "key":
        (here / "key").write_bytes(b"k" * (1 + padding))
        return ["audit", "t.csv", "[a]", "--report", "r.html", "--key", "key", *QUICK]
    answer = cb.bounds(cb.read_release(here / "r.toml"))
    (here / "c.json").write_text(json.dumps(answer.certificate()) + " " * padding)
    return ["verify", "c.json"]


@pytest.mark.parametrize(
    "name",
    [
        "release",
        "policy",
        "yaml",
        "figures",
        "packed figures",
        "workbook",
        "key",
        "certificate",
    ],
)
def test_too_many_bytes_are_refused_and_can_be_allowed(run, here, monkeypatch, name):
    arguments = written(here, name, 2**20)
    monkeypatch.setenv("CELLBOUNDS_LIMITS", "bytes=200KiB")
    assert "CELLBOUNDS_LIMITS=bytes=" in refused(run, *arguments)
    monkeypatch.setenv("CELLBOUNDS_LIMITS", "bytes=1GiB")
    code, _, err = run(*arguments)
    assert code in (0, 1), err


def test_packed_records_are_read_a_part_at_a_time(here):
    lines = 4_000_000  # 16 MB that pack to a few kilobytes
    with gzip.open(here / "records.csv.gz", "wb", 1) as stream:
        stream.write(b"a,b\n")
        for _ in range(lines // 40_000):
            stream.write(b"x,p\ny,q\n" * 20_000)
        stream.write(b"x,p\ny,q\n" * 200_000)
    code = (
        "import re, cellbounds as cb\n"
        "print(cb.read_table('records.csv.gz', count=None).total)\n"
        # The usage that the system reports begins with that of whoever started this process.
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    total, kilobytes = map(int, done.stdout.split())
    assert total == lines + 400_000
    assert kilobytes < 600 * 1024


def test_a_line_without_end_is_refused(here):
    with gzip.open(here / "line.csv.gz", "wb", 1) as stream:
        stream.write(b"a,b\n")
        for _ in range(17):
            stream.write(b"x,y," * 2**18)
    with pytest.raises(cb.InvalidInput, match="line 2 has more than 16777216 characters"):
        cb.read_table(here / "line.csv.gz", count=None)


def test_a_large_file_that_is_no_state_is_not_read_whole(run, here):
    with (here / "some.file").open("wb") as stream:
        stream.write(b"no state\n")
        stream.truncate(300 * 2**20)
    tracemalloc.start()
    try:
        err = refused(run, "attack", "r.toml", "--state", "some.file", *QUICK)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()
    assert "is no state" in err


# --- nesting, digits, cells ------------------------------------------------------------------

DEEP = 90


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * DEEP + "]" * DEEP,
        "x = " + "{x = " * DEEP + "1" + "}" * DEEP,
        "x" + ".x" * DEEP + " = 1",
        "[x" + ".x" * DEEP + "]",
        '"]" = ' + "['''[''', " * DEEP + "]" * DEEP,
        'x = "\\"[" # ]\ny = ' + "[" * DEEP + "]" * DEEP,
    ],
)
def test_deep_toml_is_refused_and_can_be_allowed(run, here, monkeypatch, text):
    (here / "x.toml").write_text(text + "\n")
    assert "CELLBOUNDS_LIMITS=nesting=100" in refused(run, "attack", "x.toml")
    monkeypatch.setenv("CELLBOUNDS_LIMITS", "nesting=100")
    assert "unknown entry" in refused(run, "attack", "x.toml")
    (here / "p.toml").write_text(text + "\n")
    assert "unknown key" in refused(run, "audit", "t.csv", "[a]", "--policy", "p.toml")


@pytest.mark.parametrize("deep", [5_000, 200_000])
def test_very_deep_files_are_refused_as_well(run, here, deep):
    (here / "x.toml").write_text("x = " + "[" * deep)
    assert "nested more than 64 deep" in refused(run, "attack", "x.toml")
    (here / "x.toml").write_text("x" + ".x" * deep + " = 1\n")
    assert "nested more than 64 deep" in refused(run, "attack", "x.toml")
    (here / "x.json").write_text('{"x": ' * deep)
    assert "nested more than 64 deep" in refused(run, "verify", "x.json")
    (here / "x.yaml").write_text("name: " + "[" * min(deep, 10_000))
    assert "more than 64 deep" in refused(run, "audit", "t.csv", "[a]", "--policy", "x.yaml")
    (here / "x.yaml").write_text("- " * min(deep, 10_000))
    assert "more than 64 deep" in refused(run, "audit", "t.csv", "[a]", "--policy", "x.yaml")


def test_brackets_in_texts_and_comments_are_no_nesting(here):
    odd = "[" * 300
    text = RELEASE.format(RATES).replace("x", odd) + f'# {odd}\n# "\n'
    assert cb.read_release(_at(here / "x.toml", text)).domain.levels("a")[0] == odd


def _at(path, text):
    path.write_text(text)
    return path


def test_an_alias_in_a_policy_is_refused(run, here):
    (here / "x.yaml").write_text("name: &n [l, l]\ntitle: [*n, *n]\n")
    assert "the alias *n" in refused(run, "audit", "t.csv", "[a]", "--policy", "x.yaml")


@pytest.mark.parametrize("number", ["9" * 1001, "0x" + "f" * 1001, "1_" * 600 + "1", "9" * 5000])
def test_numbers_of_many_digits_are_refused(run, here, number):
    (here / "x.toml").write_text(RELEASE.format(RATES).replace("62", number))
    assert "CELLBOUNDS_LIMITS=digits=" in refused(run, "attack", "x.toml")
    (here / "p.toml").write_text(POLICY.replace("3", number))
    assert "1000 digits" in refused(run, "audit", "t.csv", "[a]", "--policy", "p.toml")


def test_a_certificate_with_a_number_of_many_digits_is_refused(run, here):
    (here / "c.json").write_text('{"format": ' + "9" * 1001 + "}")
    assert "1000 digits" in refused(run, "verify", "c.json")


@pytest.mark.parametrize(
    "section",
    [
        '[[conditional]]\nresponses = ["v0"]\ngiven = [{others}]\nrates = "x.csv"\n',
        '[[margin]]\nvariables = ["v0", {others}]\ncounts = "x.csv"\n',
        '[[linear]]\nvariables = ["v0", {others}]\ncoefficients = "x.csv"\nlower = 0\n',
        '[[known]]\nvariables = ["v0", {others}]\nbounds = "x.csv"\n',
    ],
)
def test_figures_for_more_cells_than_can_be_laid_out_are_refused(run, here, section):
    names = [f"v{number}" for number in range(34)]
    levels = "".join(f'{name} = ["a", "b"]\n' for name in names)
    others = ", ".join(f'"{name}"' for name in names[1:])
    text = f"total = 5\n[domain]\n{levels}{section.format(others=others)}"
    (here / "x.toml").write_text(text)
    header = [*names, "rate", "count", "coefficient", "lower"]
    (here / "x.csv").write_text(",".join(header) + "\n" + "a," * 34 + "1,1,1,1\n")
    assert "CELLBOUNDS_LIMITS=cells=" in refused(run, "attack", "x.toml", *QUICK)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('<row r="99999999999"><c><v>1</v></c></row>', "is a damaged or unusual Excel workbook"),
        ("far columns", "has more than 100000 cells, which are not laid out one by one"),
    ],
)
def test_a_sheet_that_pretends_to_be_huge_is_refused(run, here, monkeypatch, row, said):
    if row == "far columns":
        monkeypatch.setenv("CELLBOUNDS_LIMITS", "cells=100000")
        row = "".join(f'<row r="{k}"><c r="XFD{k}"><v>1</v></c></row>' for k in range(6, 20))
    arguments = written(here, "workbook", 0)
    with (
        zipfile.ZipFile(here / "t.xlsx") as plain,
        zipfile.ZipFile(here / "far.xlsx", "w", zipfile.ZIP_DEFLATED) as far,
    ):
        for name in plain.namelist():
            content = plain.read(name)
            far.writestr(name, content.replace(b"</sheetData>", f"{row}</sheetData>".encode()))
    assert said in refused(run, "audit", "far.xlsx", *arguments[2:])


@pytest.mark.parametrize(
    "text", ["bytes=lots", "bits=5", "bytes", "nesting=500", "digits=9999", "bytes=-1", "=5"]
)
def test_limits_that_are_none_are_refused(run, here, monkeypatch, text):
    monkeypatch.setenv("CELLBOUNDS_LIMITS", text)
    assert "CELLBOUNDS_LIMITS" in refused(run, "attack", "r.toml")


# --- files that a release names --------------------------------------------------------------


@pytest.fixture
def received(here):
    """A folder with releases that somebody else wrote, and a file elsewhere."""
    (here / "elsewhere.csv").write_text(FIGURES)
    (here / "in").mkdir()
    (here / "in" / "below").mkdir()
    (here / "in" / "below" / "f.csv").write_text(FIGURES)
    (here / "in" / "link.csv").symlink_to(here / "elsewhere.csv")
    return here / "in"


@pytest.mark.parametrize("name", ["../elsewhere.csv", "below/../../elsewhere.csv", "link.csv", "/"])
def test_a_release_names_files_below_its_folder_unless_more_is_allowed(run, received, name):
    name = str(received.parent / "elsewhere.csv") if name == "/" else name
    path = _at(received / "r.toml", RELEASE.format(f'"{name}"'))
    with pytest.raises(cb.InvalidInput, match=r"allow_outside=True \(--allow-outside\)"):
        cb.read_release(path)
    assert cb.read_release(path, allow_outside=True).total.exact == 62
    for command in (
        ["attack", path, *QUICK],
        ["count", path],
        ["audit", "t.csv", path, *QUICK],
        ["margins", "t.csv", "--given", path, *QUICK],
    ):
        assert "--allow-outside" in refused(run, *command)
        code, _, err = run(*command, "--allow-outside")
        assert code in (0, 1), err


@pytest.mark.parametrize("options", [(), ("--independent",)])
def test_a_ledger_is_asked_about_such_files_if_that_is_allowed(run, received, options):
    path = _at(received / "r.toml", RELEASE.format('"../elsewhere.csv"'))
    assert run("ledger", "init", "x.ledger", "--table", "t.csv", *options)[0] == 0
    asked = ["ledger", "ask", "x.ledger", path, *QUICK]
    if not options:
        asked += ["--table", "t.csv"]
    assert "--allow-outside" in refused(run, *asked)
    code, _, err = run(*asked, "--allow-outside")
    assert code in (0, 1), err


def test_files_in_folders_below_are_its_own(received):
    path = _at(received / "r.toml", RELEASE.format('"below/f.csv"'))
    assert cb.read_release(path).total.exact == 62
