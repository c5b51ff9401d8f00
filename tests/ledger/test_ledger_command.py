"""The command `ledger`: exit statuses, what it writes, and what it never shows."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

import cellbounds as cb
from cellbounds.ledger import Ledger

CSV = "county,education,count\nAlpha,Low,1\nAlpha,High,9\nBeta,Low,20\nBeta,High,30\n"
GROWN = CSV.replace("High,30", "High,31")
FINER = (
    "county,education,sex,count\nAlpha,Low,f,1\nAlpha,Low,m,0\nAlpha,High,f,4\nAlpha,High,m,5\n"
    "Beta,Low,f,9\nBeta,Low,m,11\nBeta,High,f,14\nBeta,High,m,16\n"
)
COMMANDS = "init ask commit refuse history frontier policy refine grow revise verify export"
RATES, ROWS = "[education|county]@1", "[county]"


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text(CSV, encoding="utf-8")
    return file


@pytest.fixture
def opened(run, place, table):
    code, out, err = run("ledger", "init", place, "--table", table, "--who", "ann")
    assert code == 0, err
    assert "head" in out
    return place


def test_ask_says_by_its_status_whether_it_is_safe(run, opened, table):
    code, out, _ = run("ledger", "ask", opened, RATES, "--table", table)
    assert code == 0
    assert out.startswith("SAFE under the policy small-counts")
    code, out, _ = run("ledger", "ask", opened, RATES, ROWS, "--table", table)
    assert code == 1
    assert "it does harm alone" in " ".join(out.split())
    assert len(Ledger.open(opened).history()) == 1
    code, out, _ = run(
        "ledger", "ask", opened, ROWS, "--table", table, "--format", "json", "--record"
    )
    assert code == 0
    assert json.loads(out)["statements"] == [ROWS, "N"]
    valid(json.loads(out), "ledger-answer-1")
    assert Ledger.open(opened).history()[-1].kind == "asked"


def test_commit_records_what_is_safe_and_only_that(run, opened, table, tmp_path):
    written = tmp_path / "out.toml"
    said = ("--table", table, "--who", "ann", "--why", "yearbook")
    code, out, _ = run("ledger", "commit", opened, RATES, *said, "--write", written)
    assert code == 0
    assert "entry 2 released" in out
    assert cb.read_release(written).digest == Ledger.open(opened).history()[-1].release.digest
    code, out, _ = run("ledger", "ask", opened, ROWS, "--table", table, "--format", "json")
    valid(json.loads(out), "ledger-answer-1")
    assert json.loads(out)["harmful"] == [{"entry": 2, "statements": [RATES, "N"]}]
    code, out, _ = run("ledger", "commit", opened, ROWS, *said)
    assert code == 1
    assert f"together with entry 2: {RATES}" in " ".join(out.split())
    assert len(Ledger.open(opened).history()) == 2
    code, _, _ = run("ledger", "commit", opened, ROWS, *said, "--record")
    assert code == 1
    assert Ledger.open(opened).history()[-1].kind == "refused"
    code, _, _ = run("ledger", "commit", opened, ROWS, *said, "--already-out")
    assert code == 0
    assert Ledger.open(opened).history()[-1].outcome == "unsafe"


def test_options_of_publishing_reach_the_figures(run, opened, table):
    said = ("--table", table, "--why", "x", "--no-total")
    rounding = ("--count-rounding", "random", "--seed", "3")
    code, _, err = run("ledger", "commit", opened, "[county]~5", *said, *rounding)
    assert code == 0, err
    entry = Ledger.open(opened).history()[-1]
    assert entry.statements == ("[county]~5",)
    owned = cb.read_table(table)
    expected = cb.publish(owned, "[county]~5", total=False, count_rounding="random", rng=3)
    assert entry.release.digest == expected.digest


def test_refuse_history_and_export(run, opened, table):
    run("ledger", "commit", opened, RATES, "--table", table, "--who", "ann", "--why", "=cmd()")
    code, out, _ = run("ledger", "refuse", opened, ROWS, "--table", table, "--why", "no")
    assert code == 0
    assert "entry 3 refused" in out
    code, out, _ = run("ledger", "history", opened)
    assert code == 0
    assert re.findall(r"^entry (\d+), ", out, re.MULTILINE) == ["1", "2", "3"]
    assert "with entry 2" in out
    _, out, _ = run("ledger", "history", opened, "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [line["what"] for line in lines] == ["opened", "released", "refused"]
    assert lines[1]["why"].startswith("'=")
    _, out, _ = run("ledger", "history", opened, "--format", "json")
    assert [one["kind"] for one in json.loads(out)["entries"]] == ["opened", "released", "refused"]
    _, out, _ = run("ledger", "export", opened)
    assert [one["kind"] for one in json.loads(out)["entries"]] == ["opened", "released"]
    _, out, _ = run("ledger", "export", opened, "--internal")
    assert len(json.loads(out)["entries"]) == 3


def test_verify_compares_with_a_copy(run, opened, table):
    _, out, _ = run("ledger", "verify", opened, "--format", "json")
    noted = json.loads(out)
    run("ledger", "commit", opened, RATES, "--table", table, "--why", "x")
    copy = ("--head", noted["head"], "--entries", noted["entries"])
    code, out, _ = run("ledger", "verify", opened, *copy)
    assert code == 0
    assert "continues the copy" in out
    code, out, _ = run("ledger", "verify", opened, "--head", "0" * 64, "--entries", 2)
    assert code == 1
    assert "rewritten" in out
    assert run("ledger", "verify", opened, *copy[:2])[0] == 0
    code, out, _ = run("ledger", "verify", opened, "--head", "0" * 64)
    assert code == 1
    assert "no entry has the noted hash" in out
    code, _, err = run("ledger", "verify", opened, "--entries", 2)
    assert code == 2
    assert "give the head too" in err


WIDE = """name = "wide"
[[rule]]
rule = "small-counts"
at_most = 3
values = 90
"""


def test_policy_is_shown_and_changed(run, opened, table, tmp_path):
    wide = tmp_path / "wide.toml"
    wide.write_text(WIDE, encoding="utf-8")
    _, out, _ = run("ledger", "policy", opened)
    assert out.startswith("policy small-counts")
    _, out, _ = run("ledger", "policy", opened, "--format", "json")
    assert json.loads(out)["name"] == "small-counts"
    run("ledger", "commit", opened, RATES, "--table", table, "--why", "x")
    code, out, _ = run(
        "ledger", "policy", opened, "--policy", wide, "--table", table, "--why", "new law"
    )
    assert code == 1
    assert "UNSAFE under the policy wide: what is out" in out
    code, _, err = run("ledger", "policy", opened, "--policy", "nonesuch", "--why", "x")
    assert code == 2
    assert "nonesuch" in err


def test_frontier_refine_and_grow(run, opened, table, tmp_path):
    code, out, _ = run("ledger", "frontier", opened, "--table", table)
    assert code == 0
    assert "never again" in out
    code, out, _ = run("ledger", "frontier", opened, ROWS, "--table", table, "--format", "json")
    assert json.loads(out)["safe"] == [ROWS]
    valid(json.loads(out), "ledger-frontier-1")
    code, _, _ = run("ledger", "frontier", opened, "[county,education]", "--table", table)
    assert code == 1
    run("ledger", "commit", opened, ROWS, "--table", table, "--why", "x")
    later, finer = tmp_path / "later.csv", tmp_path / "finer.csv"
    later.write_text(GROWN, encoding="utf-8")
    finer.write_text(FINER, encoding="utf-8")
    code, _, err = run("ledger", "grow", opened, later, "--table", table, "--why", "late")
    assert code == 0, err
    both = ("--table", table, "--table", later)
    code, out, _ = run("ledger", "ask", opened, ROWS, *both)
    assert code == 1
    assert "records added from version 1 to version 2" in out
    code, _, _ = run("ledger", "ask", opened, ROWS, *both, "--version", "1")
    assert code == 0
    code, _, err = run("ledger", "refine", opened, "--table", finer, "--why", "sex")
    assert code == 2
    assert "2 versions" in err


def test_a_finer_table_on_the_command_line(run, opened, tmp_path):
    finer = tmp_path / "finer.csv"
    finer.write_text(FINER, encoding="utf-8")
    code, _, err = run("ledger", "refine", opened, "--table", finer, "--why", "sex")
    assert code == 0, err
    code, _, _ = run("ledger", "ask", opened, "[sex]", "--table", finer)
    assert code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["init", "{place}", "--table", "{table}"],
        ["ask", "nowhere.ledger", "[county]", "--table", "{table}"],
        ["ask", "{place}", "[county]"],
        ["ask", "{place}", "[nothing]", "--table", "{table}"],
        ["ask", "{place}", "[county]", "--table", "nowhere.csv"],
        ["ask", "{place}", "[county]", "--table", "{table}", "--version", "2"],
        ["ask", "{place}", "[county]", "--table", "{table}", "--seconds", "-1"],
        ["commit", "{place}", "[county]", "--table", "{table}"],
        ["commit", "{place}", "[county]", "--table", "{table}", "--why", " "],
        [
            "commit",
            "{place}",
            "[county]",
            "--table",
            "{table}",
            "--why",
            "x",
            "--write",
            "no/x.toml",
        ],
        ["history", "{place}", "-o", "no/where.txt"],
        ["verify", "mysql://ann:hidden@host/db"],
        ["init", "x.ledger"],
    ],
)
def test_bad_input_has_its_own_status_and_writes_nothing(run, opened, table, arguments):
    given = [one.format(place=opened, table=table) for one in arguments]
    code, out, err = run("ledger", *given)
    assert code == 2
    assert out == ""
    assert err
    assert "secret" not in err
    assert "hidden" not in err
    assert len(Ledger.open(opened).history()) == 1


def test_the_help_names_every_command(run):
    code, out, _ = run("ledger", "--help")
    assert code == 0
    for name in COMMANDS.split():
        assert f"\n  {name} " in out


# What must not be told.

SECRETS = ("918273645", "736451928", "463829105", "281910467")
LEAKY = cb.Table(
    cb.Domain({"a": ["x", "y"], "b": ["u", "v"]}), [[918273645, 736451928], [463829105, 281910467]]
)


def test_no_confidential_count_is_written_or_said(run, tmp_path, place, caplog):
    file = tmp_path / "t.csv"
    LEAKY.write(file)
    said = []
    said += run("ledger", "init", place, "--table", file, "--who", "ann")[1:]
    said += run("ledger", "refuse", place, "[a,b]", "--table", file, "--why", "no")[1:]
    said += run("ledger", "ask", place, "[a,b]", "--table", file, "--record")[1:]
    said += run("ledger", "commit", place, "[a]~5", "--no-total", "--table", file, "--why", "y")[1:]
    other = tmp_path / "other.csv"
    other.write_text(file.read_text("utf-8").replace("918273645", "918273644"), encoding="utf-8")
    said += run("ledger", "ask", place, "[a]", "--table", other)[1:]
    said += run("ledger", "grow", place, other, "--table", file, "--why", "x")[1:]
    said += run("ledger", "refine", place, "--table", other, "--why", "x")[1:]
    ledger = Ledger.open(place)
    said.append(json.dumps(ledger.export(public=False)))
    said.append(json.dumps(ledger.export(public=True)))
    said.append(caplog.text)
    if "://" not in place:
        said.append(ledger.book.place.file.read_bytes().decode("latin-1"))
    hidden = (*SECRETS, str(LEAKY.total), str(918273645 + 736451928), str(918273645 + 463829105))
    for text in said:
        for number in hidden:
            assert number not in text
    kept = Ledger.create(tmp_path / "kept.ledger", LEAKY, keep_table=True, who="ann")
    assert "918273645" in (tmp_path / "kept.ledger").read_bytes().decode("latin-1")
    assert "918273645" not in json.dumps(kept.export(public=False))


def valid(values, name):
    """Check plain values against the schema that is shipped."""
    file = resources.files("cellbounds.ledger") / "schemas" / f"{name}.schema.json"
    jsonschema.validate(values, json.loads(file.read_text("utf-8")))


def test_the_public_history_has_no_refusal_name_reason_verdict_or_digest_of_the_table(place):
    tables = [cb.Table(LEAKY.domain, LEAKY.counts + extra) for extra in (0, 700)]
    with_refusals = Ledger.create(place, tables[0], who="confidential-ann", why="private reason")
    with_refusals.refuse("[a,b]", table=tables[0], why="private reason", who="confidential-ann")
    with_refusals.ask("[b]", table=tables[0], record=True, why="private reason")
    with_refusals.commit("[a]~5", table=tables[0], why="private reason", who="confidential-ann")
    with_refusals.set_policy("strict", table=tables[0], why="private reason")
    with_refusals.grow(tables[1], earlier=tables[0], why="private reason")
    told = with_refusals.export(public=True)
    valid(told, "ledger-history-1")
    valid(with_refusals.export(public=False), "ledger-history-1")
    text = json.dumps(told)
    for secret in ("confidential-ann", "private reason", "refused", "asked", "outcome"):
        assert secret not in text
    for table in tables:
        assert table.digest not in text
    for entry in with_refusals.history():
        assert entry.hash not in text  # made from what is left out
    assert [one["number"] for one in told["entries"]] == [1, 2, 3, 4]
    assert [one["kind"] for one in told["entries"]] == ["opened", "released", "policy", "grown"]
    assert told["entries"][1]["statements"] == ["[a]~5", "N"]


def test_the_public_chain_depends_on_nothing_that_is_left_out(tmp_path, clock):
    times = [clock(), clock()]
    told = []
    for name in ("one", "two"):
        ledger = Ledger.create(tmp_path / name, LEAKY, who=name, clock=iter(times).__next__)
        ledger.commit("[a]~5", table=LEAKY, who=name, why=name)
        told.append(ledger.export(public=True))
    assert told[0] == told[1]


def test_the_history_as_a_page(run, opened, table, tmp_path):
    run("ledger", "commit", opened, RATES, "--table", table, "--why", "yearbook 1847")
    page = tmp_path / "history.html"
    code, _, err = run("ledger", "history", opened, "--format", "html", "-o", page)
    assert (code, err) == (0, "")
    assert "yearbook 1847" in page.read_text("utf-8")
    code, out, _ = run("ledger", "history", opened, "--format", "html", "--public")
    assert code == 0
    assert "<html" in out
    assert "1847" not in out
    code, out, _ = run("ledger", "history", opened, "--format", "html", "--table", table)
    assert code == 0
    for wrong in (["--public"], ["--format", "html", "--public", "--table", table]):
        code, out, err = run("ledger", "history", opened, *wrong)
        assert (code, out) == (2, "")
        assert "--public" in err or "public" in err


def test_the_habit_of_noting_the_head_works_as_it_is_documented(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text("utf-8")
    section = page.partition("## Noting the head elsewhere")[2].partition("\n## ")[0]
    note, check = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    table = cb.Table(cb.Domain({"a": ["x", "y"]}), [30, 40])
    ledger = Ledger.create(tmp_path / "census.ledger", table, keep_table=True, who="ann")
    command = f'cellbounds() {{ "{sys.executable}" -m cellbounds.cli "$@"; }}\n'

    def shell(script):
        done = subprocess.run(
            ["sh", "-c", command + script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return done.returncode, done.stdout

    assert shell(note) == (0, "")
    before = (tmp_path / "census.ledger").read_bytes()
    ledger.commit("[a]", why="x")
    assert shell(note) == (0, "")
    noted = (tmp_path / "census.heads").read_text("utf-8").split()
    assert noted == [one.hash for one in ledger.history()]
    assert shell(check)[0] == 0
    (tmp_path / "census.ledger").write_bytes(before)  # an end that was cut off, with its head
    assert ledger.verify().intact
    code, said = shell(check)
    assert code == 1
    assert "cut off" in said
