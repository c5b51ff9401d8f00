"""The command line: exit statuses, formats, files, and where messages go."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

import cellbounds as cb
from cellbounds import cli

UNSAFE_TABLE = "row,col,count\na,x,1\na,y,1\nb,x,2\nb,y,4\n"  # 8 = 2 + 6 only
SAFE_TABLE = "row,col,count\na,x,10\na,y,12\nb,x,23\nb,y,45\n"
SECRET = "91827"

ATTACKED = """\
total = 14
[domain]
row = ["a", "b"]
col = ["x", "y"]
[[conditional]]
responses = ["col"]
given = ["row"]
rates = [["1/2", "1/2"], ["1/3", "2/3"]]
"""


@pytest.fixture
def unsafe(tmp_path):
    return written(tmp_path / "unsafe.csv", UNSAFE_TABLE)


@pytest.fixture
def safe(tmp_path):
    return written(tmp_path / "safe.csv", SAFE_TABLE)


@pytest.fixture
def attacked(tmp_path):
    return written(tmp_path / "release.toml", ATTACKED)


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def schema():
    file = resources.files("cellbounds.report") / "schemas" / "audit-2.schema.json"
    return json.loads(file.read_text("utf-8"))


def validated(text):
    content = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.Draft202012Validator(schema()).validate(content)
    return content


# --- exit statuses -------------------------------------------------------------------------


def test_unsafe_is_1(run, unsafe):
    code, out, err = run("audit", unsafe, "[col|row]")
    assert code == 1
    assert out.startswith("UNSAFE under the policy small-counts: 5 findings break a rule\n")
    assert "a true count of at most 3" in out
    assert "judged besides these cells: [row], [col]" in out
    assert "the only attainable count is 1" in out
    assert "[row] a: the only attainable count is 2" in out
    assert err == ""


def test_safe_is_0(run, safe):
    code, out, err = run("audit", safe, "[col|row]@1")
    assert code == 0
    assert out.startswith("SAFE under the policy small-counts: no rule is broken\n")
    assert "UNSAFE" not in out
    assert "a true count of at most 3" in out
    assert err == ""


def test_undecided_is_3(run, safe):
    code, out, err = run("audit", safe, "[col|row]@18", "[row|col]@18")
    assert code == 3
    assert out == ""
    assert err.startswith("undecided: ")
    assert "64-bit" in err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_budget_must_be_positive(run, safe, seconds):
    code, out, err = run("audit", safe, "[col|row]@1", "--seconds", seconds)
    assert code == 2
    assert out == ""
    assert "seconds" in err


def test_an_attack_is_0(run, attacked):
    code, out, err = run("attack", attacked)
    assert code == 0
    assert "a    x        1      4       2  1, 4" in out
    assert err == ""


def test_internal_errors_are_70_and_show_no_counts(run, safe, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError(f"index {SECRET} out of bounds")

    monkeypatch.setattr("cellbounds.data.reading.read_table", broken)
    code, out, err = run("audit", safe, "[col|row]@1")
    assert code == 70
    assert out == ""
    assert "internal error (RuntimeError)" in err
    assert SECRET not in err


def test_interrupted_is_130(run, safe, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("cellbounds.data.reading.read_table", interrupted)
    assert run("audit", safe, "[col|row]@1")[0] == 130


BAD_TABLES = {
    "negative count": "row,col,count\na,x,1\nb,y,-91827\n",
    "fractional count": "row,col,count\na,x,1\nb,y,91827.5\n",
    "duplicate cell": "row,col,count\na,x,91827\na,x,91827\n",
    "ragged": "row,col,count\na,x,91827\nb,91827\n",
    "empty": "",
    "header only": "row,col,count\n",
    "wrong encoding": "row,col,count\n\xe9,x,91827\n".encode("latin-1"),
    "no counts": "row,col\na,x\n",
    "workbook": b"PK\x03\x04 91827",
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_bad_tables_are_2_and_leave_no_output(run, tmp_path, kind):
    path = written(tmp_path / "bad.csv", BAD_TABLES[kind])
    output = tmp_path / "out.json"
    code, out, err = run("audit", path, "[col|row]@1", "--format", "json", "-o", output)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert str(path) in err
    assert SECRET not in err
    assert err.count("\n") == 1
    assert not output.exists()
    assert [p.name for p in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["[col|age]@1"], "unknown variable 'age'"),
        (["[col|row"], "']' is missing"),
        (["[row]@2"], "margins are published as counts"),
        (["[col|row]@1", "--eps", "0.0001"], "not within eps"),
        (["[col|row]@1", "--eps", "x"], "'x'"),
        (["[col|row]@1", "--strict"], "goes with eps"),
        (["[col|row]@1", "--over", "age"], "unknown variable 'age'"),
        (["[col|row]@1", "--variables", "age"], "unknown variable 'age'"),
        (["[col|row]@1", "--count", "n"], "no column 'n'"),
        (["[col|row]@1", "--delimiter", ";;"], "delimiter"),
        (["[col|row]@1", "--encoding", "klingon"], "klingon"),
        (["nothing.toml"], "nothing.toml cannot be read"),
    ],
)
def test_bad_questions_are_2(run, safe, arguments, said):
    code, out, err = run("audit", safe, *arguments)
    assert code == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["audit"],
        ["audit", "table.csv"],
        ["attack"],
        ["fly"],
        ["audit", "t.csv", "[a|b]", "--format", "yaml"],
        ["audit", "t.csv", "[a|b]", "--rounding", "bankers"],
        ["audit", "t.csv", "[a|b]", "--unknown"],
    ],
)
def test_bad_usage_is_2(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: " if arguments else "Usage")
    assert not arguments or err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("total = 14", "total = 4"), "smaller than the rows"),
        (("total = 14", "total = 6"), "cannot be reached"),
        (('"2/3"', '"1/3"'), "row=b"),
        (('"2/3"', '"5/3"'), "above 1"),
        (('"1/2", "1/2"', "0.5, 0.50"), "different numbers of decimals"),
        (("responses", "reply"), "'reply'"),
        (("total = 14", "total = = 14"), "not a TOML file"),
    ],
)
def test_bad_releases_are_2(run, tmp_path, change, said):
    path = written(tmp_path / "bad.toml", ATTACKED.replace(*change))
    code, out, err = run("attack", path, "-o", tmp_path / "out.txt")
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert said in err
    assert not (tmp_path / "out.txt").exists()


def test_a_release_that_the_table_contradicts(run, unsafe, attacked):
    code, _, err = run("audit", unsafe, attacked)
    assert code == 2
    assert "contradicts N=14" in err


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_help_and_version_are_0(run, option):
    code, out, err = run(option)
    assert code == 0
    assert err == ""
    if option == "--version":
        assert out.strip() == f"cellbounds, version {cb.__version__}"
    else:
        assert "Exit status: 0 safe, 1 unsafe" in out


@pytest.mark.parametrize("command", ["audit", "attack", "reproduce"])
def test_every_command_has_help_with_its_statuses(command):
    result = CliRunner().invoke(cli.commands, [command, "--help"])
    assert result.exit_code == 0
    assert "Exit status" in result.output
    assert "--format" in result.output


# --- formats -------------------------------------------------------------------------------


def test_json_of_an_audit_fits_its_schema(run, unsafe):
    code, out, err = run("audit", unsafe, "[col|row]", "--format", "json")
    assert code == 1
    assert err == ""
    content = validated(out)
    assert content["view"] == "owner"
    assert content["verdict"] == "unsafe"
    expected = {
        "cells": 4,
        "disclosed": 4,
        "known_empty": 0,
        "narrow": 0,
        "unsafe": 3,
    }
    assert {key: content["summary"][key] for key in expected} == expected
    first = content["cells"][0]
    assert (first["row"], first["col"], first["count"]) == ("a", "x", 1)
    assert first["values"] == [1]
    assert [cell["outcome"] for cell in content["cells"]] == ["unsafe"] * 3 + ["safe"]
    assert content["policy"]["name"] == "small-counts"
    assert content["margins"] == [["row"], ["col"]]
    places = [finding["cell"] for finding in content["findings"]]
    cells = [{"row": "a", "col": "x"}, {"row": "a", "col": "y"}, {"row": "b", "col": "x"}]
    assert places == [*cells, {"row": "a"}, {"col": "x"}]
    assert content["findings"][0]["evidence"] == "the only attainable count is 1"


def test_json_of_an_attack_fits_its_schema_and_holds_nothing_of_the_owner(run, attacked):
    code, out, _ = run("attack", attacked, "--format", "json")
    content = validated(out)
    assert code == 0
    assert (content["view"], content["verdict"]) == ("intruder", "safe")
    assert all("count" not in cell for cell in content["cells"])
    assert "determines" not in content
    assert content["cells"][3]["values"] == [4, 8]


def test_json_without_a_total_fits_its_schema(run, safe):
    code, out, _ = run("audit", safe, "[col|row]@1", "--no-total", "--format", "json")
    content = validated(out)
    assert code == 0
    assert content["cells"][0]["upper"] is None
    assert content["cells"][0]["values"] is None


def test_json_of_numbers_beyond_64_bits_fits_its_schema(run, tmp_path):
    path = written(tmp_path / "t.csv", f"row,col,count\na,x,{2**70}\na,y,{2**71}\n")
    _, out, _ = run("audit", path, "[col|row]@1", "--format", "json")
    assert validated(out)["cells"][0]["count"] == 2**70


def test_json_keeps_accents_and_awkward_names(run, tmp_path):
    path = written(tmp_path / "t.csv", 'lower,"größe, cm",n\nKöln,"a,b",5\nKöln,c,6\n')
    _, out, _ = run("audit", path, '["größe, cm"|lower]@1', "--count", "n", "--format", "json")
    content = validated(out)
    assert "Köln" in out
    assert content["cells"][0]["lower_"] == "Köln"
    assert content["cells"][0]["größe, cm"] == "a,b"


def test_the_schema_can_fail(run, unsafe):
    content = json.loads(run("audit", unsafe, "[col|row]", "--format", "json")[1])
    content["cells"][0]["lower"] = "1"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(content)


def test_csv(run, unsafe):
    code, out, _ = run("audit", unsafe, "[col|row]", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 1
    assert len(rows) == 6  # the cells, and what was found of margins
    assert rows[0] == {
        "row": "a",
        "col": "x",
        "count": "1",
        "lower": "1",
        "upper": "1",
        "size": "1",
        "values": "1",
        "mark": "UNSAFE",
        "rule": "small-counts: a true count of at most 3 (<= 3; but not zero) must keep at "
        "least 2 attainable counts (>= 2)",
        "evidence": "the only attainable count is 1",
        "policy": "small-counts",
        "verdict": "unsafe",
    }
    assert rows[3]["mark"] == "disclosed"
    assert rows[3]["evidence"] == ""
    assert (rows[4]["row"], rows[4]["col"]) == ("a", "")
    assert rows[4]["evidence"] == "[row] a: the only attainable count is 2"


def test_csv_of_an_attack_has_no_counts(run, attacked):
    _, out, _ = run("attack", attacked, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert "count" not in rows[0]
    assert rows[3]["values"] == "4, 8"
    assert rows[3]["mark"] == "narrow"


def test_tables_show_the_cells_at_risk_first_unless_asked_for_all(run, tmp_path):
    lines = [f"r{i},c{j},{1 if i == 39 else 1000 + 7 * i + j}" for i in range(40) for j in range(2)]
    path = written(tmp_path / "t.csv", "row,col,count\n" + "\n".join(lines) + "\n")
    arguments = ("audit", path, "[col|row]@3", "[row]")
    code, out, _ = run(*arguments)
    assert code == 1
    assert "... 40 more cells: --all, or --format csv" in out
    assert out.index("r39") < out.index("The other cells") < out.index("r0 ")
    everything = run(*arguments, "--all")[1]
    assert "more cells" not in everything
    assert all(f"r{i} " in everything for i in range(40))


# --- policies ------------------------------------------------------------------------------

HOUSE = """\
name = "house"
[[rule]]
rule = "group-disclosure"
responses = ["col"]
"""
GROUPS = "row,col,count\na,x,20\na,y,0\nb,x,30\nb,y,41\n"


@pytest.fixture
def house(tmp_path):
    return written(tmp_path / "house.toml", HOUSE)


@pytest.fixture
def groups(tmp_path):
    return written(tmp_path / "groups.csv", GROUPS)


def test_all_ways_to_change_it_are_told_who_asks_for_all(run, tmp_path):
    path = written(tmp_path / "t.csv", "row,col,count\na,x,1\na,y,0\nb,x,2\nb,y,3\n")
    rules = HOUSE
    rules += '[[rule]]\nrule = "small-counts"\nat_most = 3\nvalues = 2\n'
    rules += '[[rule]]\nrule = "minimum-count"\nat_least = 10\n'
    rules += '[[rule]]\nrule = "exact-disclosure"\n'
    policy = written(tmp_path / "rules.toml", rules)
    arguments = ("audit", path, "[row,col]", "--policy", policy)
    found = json.loads(run(*arguments, "--format", "json")[1])["findings"]
    ways = {finding["change"] for finding in found}
    assert len(ways) > 3
    assert "more of these ways: --all" in run(*arguments)[1]
    everything = " ".join(run(*arguments, "--all")[1].split())
    assert "more of these ways" not in everything
    assert all(way in everything for way in ways)


def test_a_policy_file_judges_and_is_named(run, groups, house):
    arguments = ("audit", groups, "[col|row]", "--policy", house)
    code, out, err = run(*arguments)
    assert (code, err) == (1, "")
    assert out.startswith("UNSAFE under the policy house: 1 finding breaks a rule\n")
    assert "group-disclosure: nobody may learn" in out
    assert "everybody is in x" in out
    content = validated(run(*arguments, "--format", "json")[1])
    assert content["policy"]["name"] == "house"
    (finding,) = content["findings"]
    assert (finding["cell"], finding["response"]) == ({"row": "a"}, "col")
    assert [cell["outcome"] for cell in content["cells"]] == ["unsafe", "unsafe", "safe", "safe"]


def test_csv_has_a_line_for_findings_about_rows(run, groups, house):
    _, out, _ = run("audit", groups, "[col|row]", "--policy", house, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["mark"] == "UNSAFE" for row in rows] == [True, True, False, False, True]
    last = rows[-1]
    assert (last["row"], last["col"], last["count"], last["lower"]) == ("a", "", "", "")
    assert last["evidence"] == "a (col): everybody is in x"
    assert last["rule"].startswith("group-disclosure: nobody may learn")
    assert {row["policy"] for row in rows} == {"house"}


def test_a_profile_by_name_and_undecided(run, unsafe):
    asked = "audit", unsafe, "[row]", "--over", "row,col"
    code, out, _ = run(*asked, "--policy", "strict", "--seconds", "1e-9")
    assert code == 3
    assert "UNDECIDED under the policy strict" in out


def test_against_whoever_reruns_it(run, tmp_path):
    table = written(tmp_path / "t.csv", "row,col,count\na,x,4\na,y,4\nb,x,2\nb,y,4\n")
    policy = written(
        tmp_path / "p.toml",
        'name = "few"\n[[rule]]\nrule = "small-counts"\nat_most = 1\nvalues = 3\n',
    )
    assert run("audit", table, "[col|row]", "--policy", policy)[0] == 0
    code, out, _ = run(
        "audit", table, "[col|row]", "--policy", policy, "--independent", "--format", "json"
    )
    # Of the two tables that fit, the other one has a 1 and would have been refused.
    assert (code, validated(out)["independent"]) == (0, True)
    other = written(tmp_path / "o.csv", "row,col,count\na,x,1\na,y,1\nb,x,4\nb,y,8\n")
    code, out, _ = run(
        "audit", other, "[col|row]", "--policy", policy, "--independent", "--format", "json"
    )
    assert (code, validated(out)["independent"]) == (1, False)


def test_what_an_intruder_knows(run, tmp_path):
    table = written(tmp_path / "t.csv", "row,col,count\na,x,1\na,y,1\nb,x,4\nb,y,8\n")
    domain = 'row = ["a", "b"]\ncol = ["x", "y"]\n'
    prior = '[[known]]\nvariables = ["row"]\nupper = [5, 20]\n'
    knows = written(tmp_path / "knows.toml", f"[domain]\n{domain}{prior}")
    assert run("audit", table, "[col|row]")[0] == 0
    code, out, _ = run("audit", table, "[col|row]", "--knows", knows)
    assert code == 1
    assert "the intruder also knows: knowledge of [row]" in out
    other = written(tmp_path / "other.toml", f'[domain]\nrow = ["a"]\n{prior.replace(", 20", "")}')
    assert "speaks of" in run("audit", table, "[col|row]", "--knows", other)[2]
    more = written(tmp_path / "more.toml", f"total = 14\n[domain]\n{domain}{prior}")
    code, out, _ = run("audit", table, "[col|row]", "--no-total", "--knows", more)
    assert (code, "the intruder also knows: knowledge of [row], N=14" in out) == (1, True)
    false = written(tmp_path / "false.toml", f"[domain]\n{domain}{prior.replace('5', '1')}")
    code, _, err = run("audit", table, "[col|row]", "--knows", false)
    assert (code, "contradicts the table" in err) == (2, True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('name = "p"\n[[rule]]\nrule = "tiny"\n', "unknown rule 'tiny'"),
        ('name = "p"\nwhat = 1\n[[rule]]\nrule = "exact-disclosure"\n', "unknown key 'what'"),
        ('name = "p"\n[[rule]]\nrule = "small-counts"\nat_most = 3\nvalues = 1\n', "never fail"),
        (
            'name = "p"\n[[rule]]\nrule = "small-counts"\nat_most = 3\nbelow = 4\nvalues = 2\n',
            "one threshold",
        ),
        ('name = "p"\n[[rule]]\nrule = "group-disclosure"\nresponses = ["age"]\n', "'age'"),
        ("name = = 1", "not a TOML file"),
        (b"name = '\xff'", "not UTF-8"),
    ],
)
def test_bad_policies_are_2(run, safe, tmp_path, content, said):
    policy = written(tmp_path / "policy.toml", content)
    code, out, err = run("audit", safe, "[col|row]@1", "--policy", policy)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("name", ["unknown", "missing.toml"])
def test_unknown_policies_are_2(run, safe, name):
    code, out, err = run("audit", safe, "[col|row]@1", "--policy", name)
    assert (code, out) == (2, "")
    assert name in err


# --- reports -------------------------------------------------------------------------------


def test_reports_in_every_format(run, unsafe, tmp_path):
    files = [tmp_path / f"out.{kind}" for kind in ("html", "json", "csv", "xlsx")]
    named = [part for file in files for part in ("--report", file)]
    code, out, _ = run("audit", unsafe, "[col|row]", *named)
    assert code == 1
    assert "UNSAFE under" in out
    assert all(file.stat().st_size > 0 for file in files)
    assert "<html" in files[0].read_text("utf-8")
    assert json.loads(files[1].read_text("utf-8"))["view"] == "owner"


def test_a_public_report_has_no_counts(run, tmp_path):
    counts = ("918270001", "770030017", "600130033", "500210049")  # too long for a digest
    cells = zip(("a,x", "a,y", "b,x", "b,y"), counts, strict=True)
    lines = "".join(f"{cell},{count}\n" for cell, count in cells)
    table = written(tmp_path / "t.csv", f"row,col,count\n{lines}")
    key = written(tmp_path / "key", b"secret")
    files = [tmp_path / "out.html", tmp_path / "out.json"]
    named = [part for file in files for part in ("--report", file)]
    assert run("audit", table, "[col|row]@1", *named, "--public", "--key", key)[0] == 0
    for file in files:
        said = file.read_text("utf-8")
        assert not any(count in said for count in counts)
    keyed = cb.read_table(table).keyed_digest(b"secret")
    assert keyed in files[1].read_text("utf-8")


def test_html_goes_where_other_formats_go(run, unsafe, attacked, tmp_path):
    code, out, _ = run("audit", unsafe, "[col|row]", "--format", "html")
    assert code == 1
    assert "<html" in out
    page = tmp_path / "page.html"
    assert run("audit", unsafe, "[col|row]", "--format", "html", "-o", page)[0] == 1
    assert page.read_text("utf-8") == out
    assert "<html" in run("attack", attacked, "--format", "html")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--report", "{}/no/out.html"], "there is no folder"),
        (["--report", "{}/out.pdf"], "end its name with .html or .json"),
        (["--report", "{}/ok.html", "--report", "{}/no/out.json"], "there is no folder"),
        (["--report", "{}/folder.html"], "is a directory"),
        (["--certificate", "{}/no/c.json"], "there is no folder"),
        (["-o", "{}/no/out.txt"], "there is no folder"),
        (["--key", "{}/no-key"], "--key goes with --report"),
        (["--report", "{}/out.html", "--key", "{}/no-key"], "cannot be read"),
        (["--report", "{}/out.html", "--key", "{}/empty"], "is empty"),
        (["--public"], "--public goes with"),
    ],
)
def test_files_are_checked_before_the_work(run, unsafe, tmp_path, monkeypatch, arguments, said):
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "empty").touch()
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("cellbounds.data.reading.read_table", None)  # not even read
    code, out, err = run("audit", unsafe, "[col|row]", *(a.format(tmp_path) for a in arguments))
    assert (code, out) == (2, "")
    assert said in err
    assert sorted(tmp_path.iterdir()) == before


# --- options -------------------------------------------------------------------------------


def test_over_asks_about_row_sums(run, attacked):
    content = json.loads(run("attack", attacked, "--over", "row", "--format", "json")[1])
    assert content["over"] == ["row"]
    assert [cell["values"] for cell in content["cells"]] == [[2, 8], [6, 12]]


def test_several_margins_are_judged_and_the_first_is_shown(run, tmp_path):
    table = written(tmp_path / "t.csv", "row,col,count\na,x,1\na,y,0\nb,x,1\nb,y,5\n")
    asked = "audit", table, "[col|row]", "--over", "col", "--over", "row", "--format", "json"
    content = validated(run(*asked)[1])
    assert content["over"] == ["col"]
    assert content["margins"] == [["row"]]


def test_levels_are_merged_before_anything_else(run, tmp_path):
    path = written(tmp_path / "t.csv", 'a=b,col,count\n"p,q",x,1\nr,x,2\ns,x,3\n"p,q",y,5\n')
    options = ("--merge", 'a=b="p,q",r', "--format", "json")
    content = json.loads(run("audit", path, "[col]", *options)[1])
    cells = {(cell["a=b"], cell["col"]): cell["count"] for cell in content["cells"]}
    assert cells == {("p,q+r", "x"): 3, ("p,q+r", "y"): 5, ("s", "x"): 3, ("s", "y"): 0}
    for text, said in [
        ("c=x,y", "names no variable"),
        ("col=x", "at least two levels"),
        ("col=x,z", "unknown level 'z'"),
        ("col=x,x", "merged twice"),
    ]:
        code, out, err = run("audit", path, "[col]", "--merge", text)
        assert (code, out) == (2, "")
        assert said in err


def test_over_judges_the_margin(run, tmp_path):
    # 7 = 1 + 6 only: the lone person of row a is given away by the rates of row b and N.
    table = written(tmp_path / "t.csv", "row,col,count\na,x,1\na,y,0\nb,x,1\nb,y,5\n")
    code, out, _ = run("audit", table, "[col|row]", "--over", "row", "--format", "json")
    content = validated(out)
    assert code == 1
    assert [(cell["row"], cell["outcome"]) for cell in content["cells"]] == [
        ("a", "unsafe"),
        ("b", "safe"),
    ]


def test_rounding_eps_and_strict(run, safe):
    def notes(*options):
        lines = run("audit", safe, "[col|row]@1", *options)[1].splitlines()
        return next(line for line in lines if "published: " in line).split(": ")[1].split("; ")[0]

    assert notes() == "[col|row] 1 decimal, nearest"
    assert notes("--rounding", "down") == "[col|row] 1 decimal, down"
    assert notes("--eps", "0.1") == "[col|row] 1 decimal, nearest, within eps <= 1/10"
    wide = notes("--eps", "0.1", "--rule", "interval")
    assert wide == "[col|row] within eps <= 1/10"
    closer = notes("--eps", "0.1", "--strict")
    assert closer == "[col|row] 1 decimal, nearest, within eps < 1/10"


def test_records_variables_delimiter_and_encoding(run, tmp_path):
    text = "id;ort;sex\n1;Köln;m\n2;Köln;f\n3;Köln;f\n4;Bonn;m\n"
    path = written(tmp_path / "records.csv", text.encode("latin-1"))
    code, out, err = run(
        "audit", path, "[sex|ort]@1", "--records", "--variables", "ort,sex",
        "--delimiter", ";", "--encoding", "latin-1", "--format", "json",
    )  # fmt: skip
    assert err == ""
    assert code in (0, 1)
    cells = json.loads(out)["cells"]
    assert [(c["ort"], c["sex"], c["count"]) for c in cells] == [
        ("Köln", "m", 1),
        ("Köln", "f", 2),
        ("Bonn", "m", 1),
        ("Bonn", "f", 0),
    ]


def test_tabs_as_delimiters(run, tmp_path):
    path = written(tmp_path / "t.tsv", SAFE_TABLE.replace(",", "\t"))
    assert run("audit", path, "[col|row]@1", "--delimiter", "\\t")[0] == 0
    assert run("audit", path, "[col|row]@1", "--delimiter", "\t")[0] == 0


def test_structural_zeros_do_not_make_unsafe(run, tmp_path):
    path = written(tmp_path / "t.csv", "row,col,count\na,y,20\nb,x,30\nb,y,41\n")
    rule = 'rule = "small-counts"\nat_most = 3\nzeros = true\nvalues = 2\n'
    policy = written(tmp_path / "p.toml", f'name = "zeros"\n[[rule]]\n{rule}')
    asked = "audit", path, "[col|row]", "--policy", policy, "--format", "json"
    code, out, _ = run(*asked)
    assert code == 1
    assert json.loads(out)["summary"]["unsafe"] == 1
    code, out, _ = run(*asked, "--structural")
    assert code == 0
    structural = [(c["row"], c["col"]) for c in validated(out)["cells"] if c["structural"]]
    assert structural == [("a", "x")]


def test_a_release_file_and_a_statement_together(run, tmp_path):
    table = written(tmp_path / "t.csv", "row,col,count\na,x,1\na,y,1\nb,x,4\nb,y,8\n")
    release = written(tmp_path / "release.toml", ATTACKED)
    alone = json.loads(run("audit", table, release, "--format", "json")[1])
    assert [cell["values"] for cell in alone["cells"]] == [[1, 4], [1, 4], [2, 4], [4, 8]]
    both = json.loads(run("audit", table, release, "[row]", "--format", "json")[1])
    assert [cell["values"] for cell in both["cells"]] == [[1], [1], [4], [8]]


# --- output files --------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["table", "json", "csv"])
def test_output_goes_to_the_file_and_nowhere_else(run, unsafe, tmp_path, style):
    output = tmp_path / "out.txt"
    code, out, err = run("audit", unsafe, "[col|row]", "--format", style, "-o", output)
    assert (code, out, err) == (1, "", "")
    printed = run("audit", unsafe, "[col|row]", "--format", style)[1]
    assert steady(output.read_text("utf-8")) == steady(printed)


def steady(text):
    """Without the time that it took."""
    lines = text.splitlines()
    return [line for line in lines if '"seconds"' not in line and "worked out by" not in line]


def test_a_failed_write_keeps_the_old_file(run, unsafe, tmp_path, monkeypatch):
    output = written(tmp_path / "out.txt", "old")

    def refuses(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuses)
    code, out, err = run("audit", unsafe, "[col|row]", "-o", output)
    assert code == 2
    assert out == ""
    assert "out.txt cannot be written: No space left on device" in err
    assert output.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.txt", "unsafe.csv"]


def test_an_old_file_is_replaced(run, unsafe, tmp_path):
    output = written(tmp_path / "out.txt", "ancient" * 10_000)
    assert run("audit", unsafe, "[col|row]", "-o", output)[0] == 1
    assert "ancient" not in output.read_text()


def test_outputs_that_cannot_be_written(run, unsafe, tmp_path):
    code, out, err = run("audit", unsafe, "[col|row]", "-o", tmp_path / "no" / "out.txt")
    assert code == 2
    assert out == ""
    assert "cannot be written" in err
    assert run("audit", unsafe, "[col|row]", "-o", tmp_path)[0] == 2


# --- reproduce -----------------------------------------------------------------------------


def test_reproduce(run):
    code, out, _ = run("reproduce")
    assert code == 0
    for document in ("000", "001", "002", "003", "004", "WS14"):
        assert f"document {document} - " in out
    assert "none differ without a known reason" in " ".join(out.split())
    assert "differs, see below" in out


def test_reproduce_in_other_formats(run):
    content = json.loads(run("reproduce", "--format", "json")[1])
    assert {one["document"] for one in content["comparisons"]} == {
        "000", "001", "002", "003", "004", "WS14",
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(run("reproduce", "--format", "csv")[1])))
    assert len(rows) == len(content["comparisons"])
    assert all(one["agrees"] or one["error"] or one["missing"] for one in content["comparisons"])


def test_reproduce_draws_the_figures(run, tmp_path):
    code, _, err = run("reproduce", "--figures", tmp_path / "figures", "-o", tmp_path / "out.txt")
    assert code == 0
    drawn = sorted((tmp_path / "figures").glob("*.svg"))
    assert len(drawn) == 3
    assert all(path.read_text("utf-8").lstrip().startswith("<svg") for path in drawn)
    assert err.count("drawn: ") == 3


# --- as a program --------------------------------------------------------------------------


def program(*arguments, **options):
    script = Path(sys.executable).with_name("cellbounds")
    return subprocess.run(
        [str(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        encoding="utf-8",
        **options,
    )


def test_as_a_program(unsafe, safe):
    for table, code in ((unsafe, 1), (safe, 0)):
        done = program("audit", table, "[col|row]@2" if code == 0 else "[col|row]")
        assert (done.returncode, done.stderr) == (code, "")
        assert "lower  upper" in done.stdout


def test_as_a_module(attacked):
    done = subprocess.run(
        [sys.executable, "-m", "cellbounds.cli", "attack", str(attacked)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert "4, 8" in done.stdout


def test_errors_of_the_program_go_to_standard_error(tmp_path):
    done = program("audit", tmp_path / "nothing.csv", "[a|b]")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error:")
    assert "Traceback" not in done.stderr


def test_a_reader_who_leaves_early_hears_no_traceback_and_no_all_clear(unsafe):
    script = Path(sys.executable).with_name("cellbounds")
    running = subprocess.Popen(
        [str(script), "audit", str(unsafe), "[col|row]"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    running.stdout.close()
    said = running.stderr.read()
    running.stderr.close()
    # The verdict is unsafe, whether or not anybody reads it.
    assert running.wait(60) == 1
    assert said == ""


def test_a_plain_terminal_shows_accents(tmp_path):
    path = written(tmp_path / "t.csv", "ort,sex,count\nKöln,m,5\nKöln,f,6\n")
    done = program("audit", path, "[sex|ort]@1", env={"PYTHONIOENCODING": "utf-8", "LC_ALL": "C"})
    assert "Köln" in done.stdout
