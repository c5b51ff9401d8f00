"""What a person sees, compared with committed files.

After a change that is meant, write the files anew with ``UPDATE_SNAPSHOTS=1 pytest
tests/snapshots`` and read the difference before committing it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

import cellbounds as cb
from cellbounds import cli

EXPECTED = Path(__file__).parent / "expected"

SMALL_RELEASE = """\
format = "cellbounds-release/1"
total = 40

[domain]
district = ["North", "South", "Île"]
answer = ["yes", "no", "don't know"]

[[conditional]]
responses = ["answer"]
given = ["district"]
rates = [["0.3", "0.6", "0.1"], ["0.5", "0.5", "0.0"], ["", "", ""]]
missing = "zero"
"""


def masked(text: str) -> str:
    """Without what differs from run to run: time, version."""
    text = re.sub(r"\b\d+\.\d{3} s\b", "TIME s", text)
    text = re.sub(r'("seconds": )[0-9.e-]+', r"\1TIME", text)
    return text.replace(f'"version": "{cb.__version__}"', '"version": "VERSION"')


def compare(name: str, text: str) -> None:
    """Compare with the committed file, or write it if asked to."""
    path = EXPECTED / name
    text = masked(text)
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"no snapshot {name}; write it with UPDATE_SNAPSHOTS=1"
    assert text == path.read_text("utf-8")


@pytest.fixture
def printed(monkeypatch, capsys):
    def run(*arguments: str, code: int) -> str:
        monkeypatch.setattr(sys, "argv", ["cellbounds", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        caught = capsys.readouterr()
        assert left.value.code == code, caught.err
        assert (caught.err == "") == (code < 2)
        return caught.out + caught.err

    return run


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "release.toml"
    path.write_text(SMALL_RELEASE, encoding="utf-8")
    return path


def release(statement: str, **options) -> cb.Release:
    return cb.publish(cb.datasets.read("delinquent"), statement, **options)


@pytest.mark.parametrize(("digits", "code"), [(1, 0), (2, 1), (3, 1)])
def test_audit(printed, digits, code):
    table = str(cb.datasets.path("delinquent"))
    text = printed("audit", table, f"[education|county]@{digits}", code=code)
    compare(f"audit-delinquent-{digits}.txt", text)


def test_audit_without_a_total(printed):
    table = str(cb.datasets.path("delinquent"))
    text = printed("audit", table, "[education|county]@2", "--no-total", code=0)
    compare("audit-delinquent-no-total.txt", text)


def test_audit_as_json(printed):
    text = printed(
        "audit", str(cb.datasets.path("mp3")), "[mp3|gender]@1", "--format", "json", code=0
    )
    compare("audit-mp3.json", text)


def test_attack(printed, small):
    compare("attack.txt", printed("attack", str(small), code=0))


def test_attack_as_csv(printed, small):
    compare("attack.csv", printed("attack", str(small), "--format", "csv", code=0))


def test_attack_on_row_sums(printed, small):
    compare("attack-rows.txt", printed("attack", str(small), "--over", "district", code=0))


ANSWERS = {
    "bounds": lambda: cb.bounds(release("[education|county]@1")),
    "bounds-rows": lambda: cb.bounds(release("[education|county]@1"), over=["county"]),
    "bounds-turned": lambda: cb.bounds(
        release("[education|county]@1"), over=["education", "county"]
    ),
    "bounds-linear": lambda: cb.bounds(release("[education|county]"), kind="linear"),
    "bounds-improved": lambda: cb.bounds(release("[education|county]"), kind="improved"),
    "bounds-unbounded": lambda: cb.bounds(release("[education|county]@1", total=False)),
    "attainable": lambda: cb.attainable(release("[education|county]@1")),
    "attainable-exact": lambda: cb.attainable(cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")),
    "explanation": lambda: cb.bounds(release("[education|county]@2")).explain("Alpha", "High"),
    "release": lambda: release("[education|county]@2", rounding="consistent"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_text_of_answers(name):
    compare(f"{name}.txt", f"{ANSWERS[name]()}\n")


def test_html_of_an_answer():
    compare("bounds.html", ANSWERS["bounds-rows"]()._repr_html_() + "\n")


def test_error_messages(printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text("a,b,count\nx,u,1\nx,u,2\n", encoding="utf-8")
    Path("bad.toml").write_text(SMALL_RELEASE.replace("= 40", "= 3"), encoding="utf-8")
    Path("good.csv").write_text("a,b,count\nx,u,1\nx,v,2\n", encoding="utf-8")
    said = [
        printed("audit", "bad.csv", "[a|b]@2", code=2),
        printed("audit", "nothing.csv", "[a|b]@2", code=2),
        printed("audit", "good.csv", "[a|c]@2", code=2),
        printed("audit", "good.csv", "a given b", code=2),
        printed("audit", "good.csv", "[a|b]@18", "[b|a]@18", code=3),
        printed("audit", "good.csv", "[a]~1", code=2),
        printed("audit", "good.csv", "[a]", "--seconds", "0", code=2),
        printed("attack", "bad.toml", code=2),
    ]
    compare("errors.txt", "".join(said))


def test_no_snapshot_is_left_over():
    used = {
        *(f"audit-delinquent-{digits}.txt" for digits in (1, 2, 3)),
        "audit-delinquent-no-total.txt",
        "audit-mp3.json",
        "attack.txt",
        "attack.csv",
        "attack-rows.txt",
        *(f"{name}.txt" for name in ANSWERS),
        "bounds.html",
        "errors.txt",
    }
    assert {path.name for path in EXPECTED.iterdir()} == used


def test_masking_hides_only_time_and_version():
    line = 'asked about a; exact, 0.012 s, release 12ab\n"seconds": 0.0123,\n"version": "0.1.0"'
    if cb.__version__ != "0.1.0":
        line = line.replace("0.1.0", cb.__version__)
    assert masked(line) == (
        'asked about a; exact, TIME s, release 12ab\n"seconds": TIME,\n"version": "VERSION"'
    )
