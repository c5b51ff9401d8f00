"""What every command shows on a table with ugly labels: no line has more than 80 columns."""

from __future__ import annotations

import re
import shlex
import sys
import unicodedata

import pytest

import cellbounds as cb
from cellbounds import cli
from cellbounds.cli import options, request_commands
from cellbounds.text import aligned, counted, legible, width, wrapped

TABLE = """\
"département, très long nom de variable",地域の名前,答え,"an age group, as it was asked",count
"Îles-de-la-Madeleine, Que\u0301bec",北海道札幌市中央区,はい,"from 0 to 17, under age",1
"Îles-de-la-Madeleine, Que\u0301bec",北海道札幌市中央区,いいえ,"from 0 to 17, under age",7
"Îles-de-la-Madeleine, Que\u0301bec",大阪府,はい,18 or more,0
"Îles-de-la-Madeleine, Que\u0301bec",大阪府,いいえ,18 or more,12
Anexceedinglylonglabelwithoutanyspacethatgoesonandonuntiltheend,大阪府,はい,18 or more,3
Anexceedinglylonglabelwithoutanyspacethatgoesonandonuntiltheend,大阪府,いいえ,18 or more,30
"""
MANY = [f"variable number {place}" for place in range(12)]
WIDE = f"{','.join(MANY)},count\n" + "".join(
    f"{','.join(['a rather long level', level, *'xyxyxyxyxy'])},{count}\n"
    for level, count in (("あ", 1), ("い", 4), ("う", 30))
)

RATES = '"[答え|地域の名前]@1"'
MARGINS = '"[地域の名前,答え]" "[答え]"'
NAMED = "'[\"département, très long nom de variable\",答え,地域の名前]'"
QUICK = "--seconds 20 --jobs 1"

COMMANDS = [
    ("audit", f"audit ugly.csv {NAMED} {QUICK}"),
    ("audit, everything", f"audit ugly.csv {RATES} {QUICK} --all --policy strict"),
    ("audit, many variables", f"audit wide.csv '[\"{MANY[1]}\"]' {QUICK}"),
    ("attack", "attack published.toml --jobs 1"),
    ("suggest", f"suggest ugly.csv {MARGINS} {QUICK} --most 3 --changes 1"),
    ("explore", f"explore ugly.csv --response 答え {QUICK} --digits 1-2"),
    ("margins", f"margins ugly.csv --way 2 {QUICK}"),
    ("count", f"count ugly.csv {NAMED}"),
    ("posterior", f"posterior ugly.csv {RATES} --draws 20 {QUICK}"),
    ("sample", f"sample ugly.csv {NAMED} --size 3 {QUICK}"),
    ("synthesize", f"synthesize ugly.csv {NAMED} -o made --compare {QUICK}"),
    ("certificate", f"audit ugly.csv {NAMED} --certificate proof.json {QUICK}"),
    ("verify", "verify proof.json"),
    ("ledger init", "ledger init ugly.ledger --table ugly.csv --who 'somebody with a long name'"),
    ("ledger ask", f"ledger ask ugly.ledger {NAMED} --table ugly.csv {QUICK}"),
    (
        "ledger commit",
        'ledger commit ugly.ledger "[地域の名前]~10" --table ugly.csv --jobs 1 --who x '
        "--why 'because of a reason that takes more than one line of a terminal to write down'",
    ),
    (
        "ledger commit, refused",
        f"ledger commit ugly.ledger {NAMED} --table ugly.csv {QUICK} --why no --record",
    ),
    ("ledger refuse", f"ledger refuse ugly.ledger {NAMED} --table ugly.csv {QUICK} --why no"),
    ("ledger policy", "ledger policy ugly.ledger --table ugly.csv --jobs 1"),
    ("ledger frontier", f"ledger frontier ugly.ledger --table ugly.csv --way 1 --sets {QUICK}"),
    ("ledger history", "ledger history ugly.ledger"),
    ("ledger verify", "ledger verify ugly.ledger"),
    ("an unknown level", "audit ugly.csv N --merge '答え=はい,nobody has ever said this at all'"),
    ("an unknown option", "audit ugly.csv '[答え]' --an-option-that-nobody-has-ever-heard-of=yes"),
    ("no file", "audit a/path/to/a/file/which/is/so/long/that/it/does/not/fit/a/line/at/all.csv N"),
]

RELEASE = """\
format = "cellbounds-release/1"
total = 40

[domain]
"un district dont le nom est long" = ["北海道札幌市中央区", "South", "Île"]
answer = ["yes, I think so, but I am not quite sure about it", "no", "don't know"]

[[conditional]]
responses = ["answer"]
given = ["un district dont le nom est long"]
rates = [["0.3", "0.6", "0.1"], ["0.5", "0.5", "0.0"], ["", "", ""]]
missing = "zero"
"""


def columns(line: str) -> int:
    """What a terminal makes of a line."""
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in line)
    return len(line) + wide - sum(unicodedata.combining(one) > 0 for one in line)


def shown(monkeypatch, capsys, words):
    """What a terminal shows."""
    monkeypatch.setattr(sys, "argv", ["cellbounds", *words])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(SystemExit):
        cli.main()
    caught = capsys.readouterr()
    return caught.out + caught.err


def test_no_screen_has_more_than_80_columns(tmp_path, monkeypatch, capsys):
    """One after another: some read what others wrote."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"ugly.csv": TABLE, "wide.csv": WIDE, "published.toml": RELEASE}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name, line in COMMANDS:
        text = shown(monkeypatch, capsys, shlex.split(line))
        assert "internal error" not in text, name
        long = [one for one in text.splitlines() if columns(one) > 80]
        assert not long, f"{name}: {long}"


def test_messages_are_one_line_where_nobody_looks(run):
    """Logs and scripts search them, and paths stay whole."""
    path = "/".join(["no such folder"] * 12)
    code, _, err = run("audit", path, "[a]")
    assert (code, err.count("\n")) == (2, 1)
    assert path in err


LEDGER = [f"ledger {name}" for name in request_commands.ledger.commands]


@pytest.mark.parametrize("name", ["", *(name for name, *_ in cli.COMMANDS), *LEDGER])
def test_no_help_has_more_than_80_columns(name, monkeypatch, capsys):
    text = shown(monkeypatch, capsys, [*name.split(), "--help"])
    assert "Usage: cellbounds" in text
    assert [one for one in text.splitlines() if columns(one) > 80] == []


def test_every_command_has_an_example_that_runs(tmp_path, monkeypatch, capsys):
    for name in ("delinquent", "koch4", "printed"):
        source = cb.datasets.path("koch4").with_name(f"{name}.csv")
        (tmp_path / f"{name}.csv").write_bytes(source.read_bytes())
    monkeypatch.chdir(tmp_path)
    *lines, last = (tmp_path / "koch4.csv").read_text("utf-8").splitlines()
    labels, count = last.rsplit(",", 1)
    for name, more in (("later", 2), ("mended", 1)):
        grown = "\n".join([*lines, f"{labels},{int(count) + more}", ""])
        (tmp_path / f"{name}.csv").write_text(grown, encoding="utf-8")
    before = [*options.EXAMPLES.values()]
    told = {line.split()[0] for line in before if not line.startswith("ledger")}
    assert told == {name for name, *_ in cli.COMMANDS} - {"ledger", "example"}
    assert {line.split()[1] for line in before if line.startswith("ledger")} == {*ledger_names()}
    wanted = sorted(before, key=lambda line: line.split()[0] != "explore")  # others read its file
    for line in wanted:
        if line in UNRUN:
            continue
        monkeypatch.setattr(sys, "argv", ["cellbounds", *shlex.split(line)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert left.value.code in (0, 1), (line, capsys.readouterr().err)
        capsys.readouterr()
        text = shown(monkeypatch, capsys, [*helped(line), "--help"])
        assert f"  cellbounds {line}\n" in text


UNRUN = {
    options.EXAMPLES["verify"]: "needs a certificate; run by the test of the screens",
    options.EXAMPLES["reproduce"]: "takes long; run by the tests of the papers",
    options.EXAMPLES["serve"]: "goes on until it is ended; run by the tests of the pages",
    options.EXAMPLES["withdraw"]: "the request is decided by then; run by the tests of requests",
    options.EXAMPLES["refine"]: "needs a table of more variables; run by the tests of ledgers",
}


def ledger_names():
    return request_commands.ledger.commands


def helped(line):
    words = line.split()
    return words[:2] if words[0] == "ledger" else words[:1]


def test_a_wide_character_takes_two_columns_and_an_accent_none():
    assert [width(text) for text in ("abc", "Île", "e\u0301", "宮城", "a宮")] == [3, 3, 1, 4, 3]


@pytest.mark.parametrize("most", range(1, 30))
def test_lines_are_never_longer_and_nothing_is_lost(most):
    text = "  [a|b]@2 says, of somebody in Île/宮城県, averyveryverylongwordindeed 12"
    lines = wrapped(text, max(most, 2), "  ")
    assert all(width(line) <= max(most, 2) for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_lines_end_at_spaces_and_go_on_under_their_beginning():
    text = "  note: " + "word " * 40
    lines = legible(text.rstrip()).split("\n")
    assert len(lines) == 3
    assert all(line.startswith("    word") for line in lines[1:])
    assert all(line.endswith("word") for line in lines)


def test_wide_labels_stay_in_their_columns():
    lines = aligned(["city", "n"], [["宮城", "1"], ["Île", "2"]], {"n"}).split("\n")
    assert lines == ["city  n", "宮城  1", "Île   2"]


def test_too_many_labels_share_a_column():
    names = [f"variable {place}" for place in range(9)]
    text = aligned([*names, "count"], [[*"abcdefghi", "7"]], {"count"})
    assert text.split("\n")[-1].split() == [*(f"{one}," for one in "abcdefgh"), "i", "7"]


def test_numbers_that_do_not_fit_become_a_paragraph():
    names = [f"number {place}" for place in range(12)]
    text = aligned(names, [[str(10**9 + place) for place in range(12)]], set(names))
    assert text.startswith("number 0: 1000000000; number 1: 1000000001; ")
    assert all(len(line) <= 80 for line in text.split("\n"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sample", "published.toml", "--size", "1"], "1 table drawn given"),
        (["ledger", "verify", "x.ledger"], "1 entry, every link holds"),
        (["ledger", "history", "x.ledger", "--format", "html"], "every link of 1 entry holds"),
        (["ledger", "verify", "x.ledger", "--head", "0", "--entries", "2"], "has 1 entry, but had"),
        (["ledger", "refine", "x.ledger", "--why", "x"], "0 tables for a ledger with 1 version;"),
        (["margins", "delinquent.csv", "--way", "1"], "1 largest safe set"),
    ],
)
def test_one_of_anything_is_singular(run, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert run("example", "delinquent", "published")[0] == 0
    assert run("ledger", "init", "x.ledger", "--table", "delinquent.csv")[0] == 0
    _, out, err = run(*arguments)
    shown = " ".join((out + err).split())
    assert said in shown
    assert not re.search(r"(?<![0-9.,-])1 (tables|entries|versions|sets|findings|cells)\b", shown)


def test_one_is_singular():
    assert [counted(n, "finding") for n in (0, 1, 2)] == ["0 findings", "1 finding", "2 findings"]
