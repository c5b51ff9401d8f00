"""`cellbounds explore`: statuses, formats, files, stopping and resuming."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from importlib import resources

import jsonschema
import pytest

import cellbounds as cb

CHILDREN = cb.datasets.path("delinquent")
UNSAFE_TABLE = "row,col,count\na,x,1\na,y,1\nb,x,2\nb,y,4\n"


def schema():
    file = resources.files("cellbounds.report") / "schemas" / "explore-1.schema.json"
    return json.loads(file.read_text("utf-8"))


@pytest.fixture
def unsafe(tmp_path):
    path = tmp_path / "unsafe.csv"
    path.write_text(UNSAFE_TABLE)
    return path


def test_a_safe_design_is_0_and_the_best_is_shown(run):
    code, out, err = run("explore", CHILDREN, "--response", "education", "--with-counts")
    assert code == 0
    assert out.startswith("8 designs for [education|county] under the policy small-counts: 5 safe")
    assert "best safe design: [education|county]@1 (1 digit, nearest)" in out
    assert "keep this to yourself" in out
    assert err == ""


def test_no_safe_design_is_1_and_none_is_written(run, unsafe, tmp_path):
    best = tmp_path / "best.toml"
    arguments = ["explore", unsafe, "--response", "col", "--given", "row", "--digits", "exact"]
    code, out, err = run(*arguments, "--best", best)
    assert code == 1
    assert "no design is safe" in out
    assert f"{best} was not written" in err
    assert not best.exists()


def test_what_was_not_reached_is_3(run, unsafe):
    code, out, _ = run("explore", unsafe, "--response", "col", "--seconds", "0.000000001")
    assert code == 3
    assert "not complete" in out


def test_json_follows_its_schema(run):
    code, out, _ = run(
        *("explore", CHILDREN, "--response", "education", "--merge-levels", "adjacent"),
        *("--digits", "1,exact", "--eps", "0.01", "--rounding", "nearest", "--format", "json"),
    )
    content = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.Draft202012Validator(schema()).validate(content)
    assert code == 0
    assert content["left_out"]
    assert content["designs"][content["best"]]["outcome"] == "safe"


def test_csv_opens_safely(run, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("=a,b,count\nx,p,1\nx,q,1\ny,p,2\ny,q,4\n")
    code, out, _ = run("explore", path, "--response", "b", "--format", "csv", "--digits", "2")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 1
    assert [row["given"] for row in rows] == ["", "'=a"]
    assert {row["outcome"] for row in rows} == {"unsafe"}


def test_sets_of_givens_digits_and_rules(run):
    code, out, _ = run(
        *("explore", CHILDREN, "--response", "education", "--given", "", "--given", "county"),
        *("--digits", "0,2-3", "--rounding", "consistent", "--format", "csv"),
    )
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [(row["given"], row["digits"]) for row in rows] == [
        (given, digits) for given in ("", "county") for digits in "023"
    ]
    assert {row["rounding"] for row in rows} == {"consistent"}


def test_merges_from_a_file(run, tmp_path):
    file = tmp_path / "merges.toml"
    file.write_text('[[county]]\nwest = ["Alpha", "Beta"]\n[[county]]\neast = ["Gamma", "Delta"]\n')
    code, out, _ = run(
        *("explore", CHILDREN, "--response", "education", "--given", "county", "--digits", "1"),
        *("--merge-levels", file, "--format", "csv"),
    )
    assert code == 0
    assert [row["merged"] for row in csv.DictReader(io.StringIO(out))] == [
        "",
        "county: Alpha, Beta as west",
        "county: Gamma, Delta as east",
    ]


def test_the_best_release_and_the_chart_are_written(run, tmp_path):
    best, plot, out = tmp_path / "best.toml", tmp_path / "plot.svg", tmp_path / "out.txt"
    code, printed, _ = run(
        *("explore", CHILDREN, "--response", "education", "--best", best, "--plot", plot),
        *("-o", out),
    )
    assert code == 0
    assert printed == ""
    assert "best safe design" in out.read_text("utf-8")
    assert plot.read_text("utf-8").startswith("<svg")
    assert cb.read_release(best).digest == (
        cb.publish(cb.datasets.read("delinquent"), "[education|county]@1").digest
    )
    assert run("audit", CHILDREN, best)[0] == 0


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (["--response", "zz"], "unknown variable 'zz'"),
        (["--response", "education", "--given", "zz"], "unknown variable 'zz'"),
        (["--response", "education", "--digits", "two"], "--digits 'two'"),
        (["--response", "education", "--digits", "4-2"], "--digits '4-2'"),
        (["--response", "education", "--digits", "1-999999999"], "from 0 to"),
        (["--response", "education", "--policy", "nix"], "policy 'nix'"),
        (["--response", "education", "--eps", "x"], "eps is 'x'"),
        (["--response", "education", "--merge-levels", "none.toml"], "neither 'adjacent' nor"),
        (
            ["--response", "education", "--plot", "plot.pdf"],
            "end its name with .html or .svg or .png",
        ),
        (["--response", "education", "--plot", "missing/plot.svg"], "no folder missing"),
        (["--response", "education", "--jobs", "0"], "--jobs 0"),
        (["--response", "education", "--digits", "0", "--eps", "0.001"], "can be published"),
    ],
)
def test_bad_input_is_2(run, extra, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("explore", CHILDREN, *extra)
    assert code == 2
    assert out == ""
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_a_merge_file_must_be_toml(run, tmp_path):
    file = tmp_path / "merges.toml"
    file.write_text("[[county")
    code, _, err = run("explore", CHILDREN, "--response", "education", "--merge-levels", file)
    assert code == 2
    assert "is not a TOML file" in err


def test_an_interruption_says_how_to_resume(run, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("cellbounds.disclosure.exploring.explore", interrupted)
    state = tmp_path / "search.jsonl"
    code, _, err = run("explore", CHILDREN, "--response", "education", "--state", state)
    assert code == 130
    assert f"{state} keeps what was found; give the same command again" in err
    code, _, err = run("explore", CHILDREN, "--response", "education")
    assert code == 130
    assert "--state FILE" in err


def test_a_search_interrupted_from_the_keyboard_goes_on(run, tmp_path):
    state, table = tmp_path / "search.jsonl", tmp_path / "table.csv"
    places = [(i, j) for i in range(6) for j in range(6)]
    lines = [f"a{i},b{j},{3 * (i * 7 + j * 5) % 11}" for i, j in places]
    table.write_text("\n".join(["a,b,count", *lines]) + "\n")
    command = ["explore", table, "--response", "b", "--merge-levels", "adjacent", "--state", state]
    called = [sys.executable, "-m", "cellbounds.cli", *map(str, command)]
    with subprocess.Popen(called, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        while process.poll() is None and lines_of(state) < 8:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"give the same command again" in err
    assert 7 <= lines_of(state) - 1 < 168
    code, out, _ = run(*command, "--format", "json")
    assert code == 0
    assert lines_of(state) == 1 + 168
    assert json.loads(out)["complete"]


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0
