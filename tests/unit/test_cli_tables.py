"""`cellbounds count`, `posterior` and `sample`, as a person or a script meets them."""

from __future__ import annotations

import csv
import io
import json
from importlib import resources

import jsonschema
import pytest

import cellbounds as cb

TABLE = "sex,mp3,count\nm,yes,15\nm,no,10\nf,yes,5\nf,no,20\n"
WIDE = "a,b,count\n" + "".join(f"{i},{j},{50 + 7 * i + j}\n" for i in range(12) for j in range(12))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mp3.csv"
    path.write_text(TABLE, "utf-8")
    return path


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(WIDE, "utf-8")
    return path


def validated(name, text):
    file = resources.files("cellbounds.report") / "schemas" / f"{name}-1.schema.json"
    schema, content = json.loads(file.read_text("utf-8")), json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(content)
    return content


def test_counting_a_table_and_what_is_published_of_it(run, table):
    assert run("count", table, "[mp3|sex]") == (0, "9 tables fit [mp3|sex], N=50\n", "")


def test_counting_a_release_file(run, tmp_path, table):
    release = cb.publish(cb.read_table(table), "[sex]", "[mp3]")
    release.write(tmp_path / "said.toml")
    code, out, _ = run("count", tmp_path / "said.toml")
    assert code == 0
    assert out.startswith("21 tables fit ")


def test_one_table_fits(run, table):
    code, out, _ = run("count", table, "[mp3,sex]")
    assert (code, out) == (0, "1 table fits [mp3,sex], N=50\n")


def test_counts_as_json_are_text_of_any_length(run, table):
    code, out, _ = run("count", table, "[mp3]", "--format", "json")
    assert code == 0
    assert validated("count", out)["tables"] == str(21 * 31)


def test_counts_as_csv(run, table):
    assert run("count", table, "[mp3|sex]", "--format", "csv")[1] == "tables\n9\n"


def test_too_many_tables_are_estimated_with_status_3(run, wide):
    code, out, err = run("count", wide, "[a]", "[b]", "--effort", "1000")
    assert code == 3
    assert out == ""
    assert "undecided: " in err
    assert "an estimate instead: about " in err
    assert "standard error" in err


def test_tables_without_limit_cannot_be_counted(run, table):
    code, out, err = run("count", table, "[mp3|sex]", "--no-total")
    assert code == 3
    assert out == ""
    assert "N" in err


def test_a_table_alone_is_no_release(run, table):
    code, out, err = run("count", table)
    assert code == 2
    assert out == ""
    assert "alone is no release" in err


def test_a_posterior_for_people(run, table):
    code, out, _ = run("posterior", table, "[mp3|sex]", "--prior", "gamma-poisson:10,1")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "posterior given [mp3|sex], N=50; prior: Poisson with Gamma means"
    assert lines[1].split() == [
        "sex", "mp3", "mean", "sd", "median", "mode", "q025", "q975", "at_most_3",
    ]  # fmt: skip
    assert lines[2].split()[:2] == ["m", "yes"]
    assert lines[-2].startswith("generating functions of the rows of one conditional: exact, ")


def test_a_posterior_of_a_margin_and_of_cells(run, table):
    code, out, _ = run("posterior", table, "[mp3|sex]", "--over", "sex")
    assert (code, out.splitlines()[0]) == (
        0,
        "posterior over ['sex'] given [mp3|sex], N=50; prior: uniform over tables",
    )
    code, out, _ = run(
        "posterior", table, "[mp3|sex]", "--cell", "sex=m,mp3=yes", "--format", "csv"
    )
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 2)
    assert lines[0].startswith("sex,mp3,mean")
    code, _, err = run("posterior", table, "[mp3|sex]", "--over", "age")
    assert code == 2
    assert "age" in err


@pytest.mark.parametrize("prior", ["uniform", "multinomial", "poisson:12.5", "gamma-poisson:2,1/4"])
def test_a_posterior_for_programs(run, table, prior):
    code, out, _ = run("posterior", table, "[mp3|sex]", "--prior", prior, "--format", "json")
    assert code == 0
    content = validated("posterior", out)
    assert content["evidence"] == "exact"
    first = content["cells"][0]
    assert (first["sex"], first["mp3"]) == ("m", "yes")
    assert first["counts"] == [3, 6, 9, 12, 15, 18, 21, 24, 27]
    assert sum(first["probabilities"]) == pytest.approx(1.0)


def test_a_posterior_as_csv(run, table):
    _, out, _ = run("posterior", table, "[mp3|sex]", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["mp3"] for row in rows] == ["yes", "no", "yes", "no"]
    assert float(rows[0]["mean"]) == pytest.approx(15.0)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_posterior_is_drawn(run, table, tmp_path, ending):
    path = tmp_path / f"cells.{ending}"
    code, _, _ = run("posterior", table, "[mp3|sex]", "--plot", path)
    assert code == 0
    start = path.read_bytes()[:8]
    assert start.startswith(b"<svg" if ending == "svg" else b"\x89PNG")


def test_a_chart_of_another_kind_is_refused_and_nothing_written(run, table, tmp_path):
    path = tmp_path / "cells.pdf"
    code, out, err = run("posterior", table, "[mp3|sex]", "--plot", path)
    assert (code, out) == (2, "")
    assert ".svg or .png" in err
    assert not path.exists()


@pytest.mark.parametrize(
    "prior", ["jeffreys", "poisson", "poisson:1,2", "gamma-poisson:1", "uniform:1", "poisson:many"]
)
def test_an_unknown_prior_is_bad_input(run, table, prior):
    code, out, err = run("posterior", table, "[mp3|sex]", "--prior", prior)
    assert (code, out) == (2, "")
    assert "prior" in err or "means" in err


def test_a_prior_without_mass_on_the_set_is_bad_input(run, table):
    code, out, err = run("posterior", table, "[mp3|sex]", "--prior", "poisson:0")
    assert (code, out) == (2, "")
    assert "no weight" in err


def test_drawing_tables_as_csv(run, table):
    code, out, _ = run(
        "sample", table, "[mp3|sex]", "--size", "5", "--seed", "3", "--format", "csv"
    )
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 20
    assert {row["draw"] for row in rows} == {"0", "1", "2", "3", "4"}
    assert sum(int(row["count"]) for row in rows) == 250
    again = run("sample", table, "[mp3|sex]", "--size", "5", "--seed", "3", "--format", "csv")
    assert again[1] == out


@pytest.mark.parametrize("method", ["exact", "chain", "importance"])
def test_drawing_tables_as_json(run, table, method):
    code, out, _ = run(
        "sample", table, "[sex]", "[mp3]", "--size", "40", "--method", method, "--format", "json"
    )
    assert code == 0
    content = validated("draws", out)
    assert len(content["counts"]) == 40
    assert all(sum(map(sum, one)) == 50 for one in content["counts"])
    assert (content["weights"] is not None) == (method == "importance")
    assert (content["connected"] is not None) == (method == "chain")


def test_a_summary_of_draws_for_people(run, table):
    code, out, _ = run("sample", table, "[sex]", "[mp3]", "--method", "chain", "--chains", "2")
    assert code == 0
    assert "1000 tables drawn given [sex], [mp3], N=50" in out
    assert "rhat" in out
    assert "connected: proven" in out


@pytest.mark.parametrize(
    "options",
    [
        ["--size", "0"],
        ["--size", "-3"],
        ["--seconds", "0"],
        ["--method", "chain", "--chains", "0"],
        ["--method", "chain", "--thin", "0"],
        ["--method", "exact", "--chains", "2"],
        ["--effort", "-1"],
        ["--method", "guess"],
    ],
)
def test_bad_options_of_sample_are_2(run, table, options):
    code, out, err = run("sample", table, "[sex]", "[mp3]", *options)
    assert (code, out) == (2, "")
    assert err


def test_an_impossible_release_counts_no_tables_and_has_no_posterior(run, tmp_path):
    said = tmp_path / "said.toml"
    said.write_text(
        'format = "cellbounds-release/1"\ntotal = 3\n[domain]\nsex = ["m", "f"]\n'
        '[[margin]]\nvariables = ["sex"]\ncounts = [1, 3]\n',
        "utf-8",
    )
    assert run("count", said)[:2] == (0, "0 tables fit [sex], N=3\n")
    for command in ("posterior", "sample"):
        code, out, err = run(command, said)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")


# --- synthetic tables ---------------------------------------------------------------------------


def test_synthetic_tables_are_written_with_a_readme(run, table, tmp_path):
    folder = tmp_path / "made"
    code, out, err = run("synthesize", table, "[sex]", "[mp3]", "--copies", "3", "-o", folder)
    assert code == 0
    assert out.startswith("3 synthetic tables that keep ")
    assert err.count("written: ") == 4
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["README.md", "synthetic-1.csv", "synthetic-2.csv", "synthetic-3.csv"]
    made = cb.read_table(folder / "synthetic-2.csv")
    assert made.margin(["sex"]).counts.tolist() == [25, 25]
    assert made.margin(["mp3"]).counts.tolist() == [20, 30]


def test_rounded_rates_are_taken_as_exact(run, table, tmp_path):
    folder = tmp_path / "made"
    code, _, _ = run("synthesize", table, "[mp3|sex]", "--digits", "1", "-o", folder)
    assert code == 0
    rates = cb.read_table(folder / "synthetic-1.csv").conditional(["mp3"], given=["sex"])
    assert [str(rate) for rate in rates.flat] == ["3/5", "2/5", "1/5", "4/5"]


def test_the_owner_can_compare(run, table, tmp_path):
    folder = tmp_path / "made"
    code, out, _ = run("synthesize", table, "[sex]", "[mp3]", "--compare", "-o", folder)
    assert code == 0
    assert "Hellinger" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--copies", "0"],
        ["--digits", "-1"],
        ["--total", "nearest"],
        ["--prior", "mine"],
        ["--seconds", "-1"],
    ],
)
def test_bad_options_of_synthesize_leave_nothing_behind(run, table, tmp_path, arguments):
    folder = tmp_path / "made"
    code, out, err = run("synthesize", table, "[mp3|sex]", *arguments, "-o", folder)
    assert (code, out) == (2, "")
    assert err
    assert not folder.exists()


def test_files_are_not_replaced_unless_asked(run, table, tmp_path):
    folder = tmp_path / "made"
    arguments = ["synthesize", table, "[sex]", "[mp3]", "-o", folder]
    assert run(*arguments)[0] == 0
    before = (folder / "synthetic-1.csv").read_text("utf-8")
    code, out, err = run(*arguments, "--seed", "5")
    assert (code, out) == (2, "")
    assert "synthetic-1.csv" in err or "README.md" in err
    assert (folder / "synthetic-1.csv").read_text("utf-8") == before
    assert run(*arguments, "--seed", "5", "--overwrite")[0] == 0
