"""Folders, weights and missing values on the command line."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def folder(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "a.csv").write_text("sex,vote,w\nm,yes,20\nf,no,30\n")
    (parts / "b.csv").write_text("sex,vote,w\nf,yes,40\nm,no,50\nm,,7\n")
    return parts


def counts(text):
    return [cell["count"] for cell in json.loads(text)["cells"]]


def test_a_folder_of_records(run, folder):
    options = ("--records", "--weight", "w", "--missing", "drop", "--format", "json")
    status, out, _ = run("audit", folder, "[sex]", *options)
    assert status in (0, 1)
    assert counts(out) == [20, 50, 40, 30]
    status, out, _ = run("audit", f"{folder}/*.csv", "[sex]", *options)
    assert counts(out) == [20, 50, 40, 30]


def test_missing_values(run, folder):
    status, _, said = run("audit", folder, "[sex]", "--records", "--variables", "sex,vote")
    assert status == 2
    assert "b.csv, data line 3: no label for 'vote'" in said
    options = ("--records", "--variables", "vote", "--missing", "level", "--format", "json")
    _, out, _ = run("audit", folder, "N", *options)
    assert counts(out) == [2, 2, 1]


def test_fractional_weights(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sex,w\nm,1.25\nm,0.25\nf,3\n")
    status, _, said = run("audit", path, "N", "--records", "--weight", "w")
    assert status == 2
    assert "--round-weight" in said
    options = ("--records", "--weight", "w", "--round-weight", "--format", "json")
    _, out, _ = run("audit", path, "N", *options)
    assert counts(out) == [2, 3]


def test_weights_go_with_records(run, folder):
    status, _, said = run("audit", folder, "N", "--count", "w", "--weight", "w")
    assert status == 2
    assert "--records" in said


def test_outputs_do_not_go_among_the_inputs(run, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--records", "--weight", "w", "--missing", "drop", "--format", "csv")
    for table, output in (
        (folder, folder / "out.csv"),
        ("parts", "parts/deeper/../out.csv"),
        ("parts/*.csv", "parts/out.csv"),
        (f"{tmp_path}/**/*.csv", "parts/out.csv"),
    ):
        (folder / "deeper").mkdir(exist_ok=True)
        status, _, said = run("audit", table, "[sex]", *options, "-o", output)
        assert status == 2
        assert "would be read as a part of" in said
    assert not (folder / "out.csv").exists()
    for table, output in (("parts", "out.csv"), ("parts/*.csv", "parts/deeper/out.csv")):
        status, _, said = run("audit", table, "[sex]", *options, "-o", output)
        assert status in (0, 1)
        assert not said
