"""What commands write, and what they must never write over."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cellbounds as cb
from cellbounds.runtime.files import write_whole
from cellbounds.text import WIDEST, aligned

TABLE = "row,col,count\na,x,10\na,y,12\nb,x,23\nb,y,45\n"
POLICY = 'name = "house"\n[[rule]]\nrule = "small-counts"\nat_most = 3\nvalues = 2\n'
PRIOR = (
    '[domain]\nrow = ["a", "b"]\ncol = ["x", "y"]\n[[known]]\nvariables = ["row"]\nupper = [{}]\n'
)
QUIET = ["explore", "t.csv", "--response", "col", "--digits", "1"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with inputs of every kind, in which the command runs."""
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "t.html").write_text(TABLE)
    (tmp_path / "p.toml").write_text(POLICY)
    (tmp_path / "k.toml").write_text(PRIOR.format("90, 90"))
    (tmp_path / "key.json").write_text("secret")
    cb.publish(cb.read_table(tmp_path / "t.csv"), "[row]").write(tmp_path / "r.toml")
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    os.link(tmp_path / "t.csv", tmp_path / "hard.csv")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "synthetic-1.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def program(*arguments, **options):
    called = [sys.executable, "-m", "cellbounds.cli", *map(str, arguments)]
    return subprocess.run(called, text=True, timeout=120, check=False, **options)


# --- inputs are never replaced ---------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "t.csv", "[row]", "-o", "t.csv"],
        ["audit", "t.csv", "[row]", "-o", "./folder/../t.csv"],
        ["audit", "t.csv", "[row]", "-o", "link.csv"],
        ["audit", "link.csv", "[row]", "-o", "t.csv"],
        ["audit", "t.csv", "[row]", "-o", "hard.csv"],
        ["audit", "t.csv", "[row]", "--report", "t.csv"],
        ["audit", "t.csv", "[row]", "--certificate", "t.csv"],
        ["audit", "t.csv", "r.toml", "-o", "r.toml"],
        ["audit", "t.csv", "[row]", "--policy", "p.toml", "-o", "p.toml"],
        ["audit", "t.csv", "[row]", "--knows", "k.toml", "-o", "k.toml"],
        ["audit", "t.csv", "[row]", "--key", "key.json", "--report", "key.json"],
        ["attack", "r.toml", "-o", "r.toml"],
        ["attack", "r.toml", "--certificate", "r.toml"],
        [*QUIET, "-o", "t.csv"],
        [*QUIET, "--best", "t.csv"],
        ["explore", "t.html", "--response", "col", "--plot", "t.html"],
        [*QUIET, "--policy", "p.toml", "--best", "p.toml"],
        [*QUIET, "--merge-levels", "m.toml", "-o", "m.toml"],
        ["margins", "t.csv", "-o", "t.csv"],
        ["margins", "t.csv", "--given", "r.toml", "-o", "r.toml"],
        ["suggest", "t.csv", "[row]", "-o", "t.csv"],
        ["suggest", "t.csv", "[row]", "--knows", "k.toml", "-o", "k.toml"],
        ["count", "t.csv", "[row]", "-o", "t.csv"],
        ["count", "r.toml", "-o", "r.toml"],
        ["posterior", "t.csv", "[row]", "-o", "t.csv"],
        ["posterior", "t.html", "[row]", "--plot", "t.html"],
        ["sample", "t.csv", "[row]", "--size", "1", "-o", "t.csv"],
        ["synthesize", "folder/synthetic-1.csv", "[row]", "--overwrite", "-o", "folder"],
    ],
)
def test_no_input_is_replaced(run, here, arguments):
    before = contents(here)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "cannot be written: it is an input" in err
    assert contents(here) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "t.csv", "[row]", "--report", "s.html", "-o", "s.html"],
        ["audit", "t.csv", "[row]", "--certificate", "s.json", "--report", "s.json"],
        ["audit", "t.csv", "[row]", "--report", "s.csv", "--report", "./s.csv"],
        ["audit", "t.csv", "[row]", "--report", "s.csv", "-o", "dangling"],
        ["attack", "r.toml", "--certificate", "s.json", "-o", "s.json"],
        [*QUIET, "--best", "s.toml", "-o", "s.toml"],
        [*QUIET, "--plot", "s.html", "-o", "s.html"],
        ["posterior", "t.csv", "[row]", "--plot", "s.svg", "-o", "s.svg"],
    ],
)
def test_no_output_is_replaced_by_another(run, here, arguments):
    (here / "dangling").symlink_to(here / "s.csv")
    before = contents(here)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "cannot be written: it is another output" in err
    assert contents(here) == before


@pytest.mark.parametrize("output", [["--best", "s"], ["-o", "s"]])
def test_a_state_is_kept_from_other_outputs(run, here, output):
    code, _, err = run(*QUIET, "--state", "s", *output)
    assert code == 2
    assert "s cannot be written" in err
    assert not (here / "s").exists()


def test_what_is_no_file_may_be_written_to_twice(run, here):
    code, out, err = run("audit", "t.csv", "[row]", "--certificate", os.devnull, "-o", os.devnull)
    assert (code, out, err) == (0, "", "")


@pytest.mark.parametrize("url", ["book.ledger", "sqlite:///book.ledger"])
def test_a_ledger_and_its_table_are_not_replaced(run, here, url):
    assert run("ledger", "init", url, "--table", "t.csv")[0] == 0
    before = contents(here)
    signed = ("--why", "asked")
    for arguments in (
        ["export", url, "-o", "book.ledger"],
        ["history", url, "-o", "book.ledger"],
        ["ask", url, "[row]", "--table", "t.csv", "-o", "t.csv"],
        ["commit", url, "[row]", "--table", "t.csv", *signed, "--write", "book.ledger"],
        ["grow", url, "t.csv", *signed, "-o", "t.csv"],
        ["refine", url, "--table", "t.csv", *signed, "-o", "t.csv"],
        ["frontier", url, "--table", "t.csv", "-o", "t.csv"],
        ["policy", url, "--policy", "p.toml", "-o", "p.toml"],
    ):
        code, out, err = run("ledger", *arguments)
        assert (code, out) == (2, ""), arguments
        assert "it is an input" in err
        assert contents(here) == before


@pytest.mark.parametrize("command", ["count", "posterior", "sample", "suggest", "margins", "audit"])
def test_outputs_are_checked_before_the_work(run, here, monkeypatch, command):
    monkeypatch.setattr("cellbounds.data.reading.read_table", None)  # not even read
    statements = [] if command == "margins" else ["[row]"]
    code, out, err = run(command, "t.csv", *statements, "-o", "no/out.txt")
    assert (code, out) == (2, "")
    assert "there is no folder no" in err


# --- standard output and devices -------------------------------------------------------------

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "t.csv", "[row]"],
        ["audit", "t.csv", "[row]", "--format", "html"],
        ["audit", "t.csv", "[row]", "-o", "/dev/stdout"],
        ["--help"],
    ],
)
def test_a_full_standard_output_is_said(here, arguments):
    with FULL.open("w") as full:
        done = program(*arguments, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    # A slow machine may have shown how far the work is.
    err = done.stderr
    said = [line for line in err.splitlines() if not line.startswith("cellbounds: ")]
    assert len(said) == 1
    assert re.fullmatch("error: .*standard output cannot be .*written: No space left.*", said[0])


@needs_full
def test_what_is_left_to_write_is_not_lost_at_shutdown(here):
    code = (
        "import sys; from cellbounds import cli; sys.stdout.write('left'); "
        "sys.argv = ['cellbounds', 'count', 't.csv', '[row]', '-o', 'out.txt']; cli.main()"
    )
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=buffered,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == ("error: standard output cannot be written: No space left on device\n")


def test_a_safe_verdict_stands_when_nobody_reads_it(here):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        done = program("audit", "t.csv", "[row]", stdout=nobody, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("output", ["/dev/stdout", "/dev/fd/1"])
def test_standard_output_by_its_name(here, output):
    expected = program("count", "t.csv", "[row]", capture_output=True).stdout
    done = program("count", "t.csv", "[row]", "-o", output, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    with (here / "log").open("a") as log:  # what is there already stays
        log.write("before\n")
        log.flush()
        program("count", "t.csv", "[row]", "-o", output, stdout=log)
    assert (here / "log").read_text() == f"before\n{expected}"


def test_a_pipe_is_written_to_as_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_whole(pipe, "content")
        assert reader.communicate(timeout=60)[0] == b"content"
    assert pipe.is_fifo()


@needs_full
def test_a_full_device_is_said():
    with pytest.raises(cb.InvalidInput, match="/dev/full cannot be written: No space left"):
        write_whole(FULL, "content")


# --- suggestions are saved whole or not at all -----------------------------------------------

ASKED = [
    "suggest", cb.datasets.path("delinquent"), "[education|county]@2",
    "--most", 3, "--with-counts",
]  # fmt: skip


@pytest.mark.parametrize("there", [False, True])
def test_suggestions_are_saved_all_or_none(run, tmp_path, monkeypatch, there):
    from cellbounds.statements import release_files

    write = release_files.write_release

    def full(release, path):
        if path.name != "suggestion-1.toml":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(release, path)

    folder = tmp_path / "saved"
    if there:
        folder.mkdir()
        (folder / "mine.txt").write_text("kept")
    before = sorted(tmp_path.rglob("*"))
    with monkeypatch.context() as changed:
        changed.setattr(release_files, "write_release", full)
        code, out, err = run(*ASKED, "--save", folder)
    assert (code, out) == (2, "")
    assert "No space left on device; nothing was saved" in err
    assert sorted(tmp_path.rglob("*")) == before
    assert run(*ASKED, "--save", folder)[0] == 0
    names = {path.name for path in folder.iterdir()}
    assert {f"suggestion-{rank}.toml" for rank in (1, 2, 3)} <= names
    assert ("mine.txt" in names) == there
    assert not any(name.startswith(".") for name in names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["saved"]


def test_suggestions_that_cannot_be_moved_leave_nothing(run, tmp_path, monkeypatch):
    replace = Path.replace

    def stuck(path, target):
        if Path(target).name == "suggestion-2.toml" and Path(target).parent.name == "saved":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", stuck)
    code, _, err = run(*ASKED, "--save", tmp_path / "saved")
    assert code == 2
    assert "nothing was saved" in err
    assert list(tmp_path.iterdir()) == []


def test_a_saved_folder_is_read_by_whom_a_new_one_would_be(run, tmp_path):
    (tmp_path / "usual").mkdir()
    assert run(*ASKED, "--save", tmp_path / "saved")[0] == 0
    assert (tmp_path / "saved").stat().st_mode == (tmp_path / "usual").stat().st_mode


# --- text for people -------------------------------------------------------------------------


def test_a_label_stays_on_its_line():
    rows = [["two\nlines", "1"], ["tab\there", "2"], ["\x1b[31mred\u2028", "3"], ["Köln – ok", "4"]]
    assert aligned(["cell", "n"], rows, {"n"}).split("\n") == [
        "cell               n",
        r"two\nlines         1",
        r"tab\there          2",
        r"\x1b[31mred\u2028  3",
        "Köln – ok          4",
    ]


def test_a_long_text_is_not_cut_at_the_end_of_a_line():
    text = aligned(["safe", "statements"], [["yes", "[a,b] " * 99 + "."], ["no", "[c]"]])
    assert "[a,b] " * 99 + "." in " ".join(text.split())
    assert text.endswith("\nno    [c]")


def test_a_long_label_is_cut_for_people_only(run, tmp_path):
    long = "x" * 5000
    path = tmp_path / "t.csv"
    path.write_text(f"row,col,count\na,{long},10\na,y,12\nb,{long},23\nb,y,45\n")
    out = run("audit", path, "[row]")[1]
    assert f"{'x' * (WIDEST - 1)}… 10" not in out
    assert out.count("x") < 3 * WIDEST
    for style in ("csv", "json"):
        assert long in run("audit", path, "[row]", "--format", style)[1]


# --- what must stay secret, and what is asked for --------------------------------------------


def test_the_seed_of_random_rounding_is_not_published(run, here):
    seed = 918273645
    rounded = ("audit", "t.csv", "[row]~5", "--count-rounding", "random", "--seed", seed)
    files = ("--report", "a.html", "--report", "a.json", "--report", "a.csv")
    run(*rounded, "--public", *files)
    assert not any(str(seed) in Path(file).read_text("utf-8") for file in files[1::2])
    run(*rounded, "--report", "own.json")
    assert str(seed) in Path("own.json").read_text("utf-8")
    assert str(seed) not in json.dumps(json.loads(Path("own.json").read_text("utf-8"))["public"])


def test_synthetic_tables_do_not_tell_the_seed_of_random_rounding(run, here):
    seed = 918273645
    options = ("--count-rounding", "random", "--seed", seed)
    for folder in ("one", "two"):
        assert run("synthesize", "t.csv", "[row]~5", *options, "-o", folder)[0] == 0
    negative = ("--count-rounding", "random", "--seed", -1, "-o", "three")
    assert run("synthesize", "t.csv", "[row]~5", *negative)[0] == 2
    assert str(seed) not in Path("one/README.md").read_text("utf-8")
    # It still decides what is drawn.
    assert Path("one/synthetic-1.csv").read_bytes() == Path("two/synthetic-1.csv").read_bytes()


@pytest.mark.parametrize("text", ["", " ", "row|col", "row|"])
def test_over_needs_names(run, here, text):
    for arguments in (["audit", "t.csv", "[row]"], ["attack", "r.toml"]):
        code, out, err = run(*arguments, "--over", text)
        assert (code, out) == (2, "")
        assert f"--over {text!r}; give names of variables, separated by commas" in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"b"', '"c"'), "it has the level 'c' of 'row' where the table has 'b'"),
        (("row", "line"), "it is over line, col, the table over row, col"),
        (('"x", "y"', '"x"'), "it has 1 levels of 'col', the table 2"),
    ],
)
def test_knowledge_about_another_table(run, here, change, said):
    (here / "other.toml").write_text(PRIOR.format("90, 90").replace(*change))
    code, out, err = run("audit", "t.csv", "[row]", "--knows", "other.toml")
    assert (code, out) == (2, "")
    assert said in err


def test_a_prior_of_a_policy_is_a_name(run, here):
    rule = 'rule = "posterior"\nat_most = 3\nprobability = 0.9\nprior = ["uniform"]\n'
    (here / "odd.toml").write_text(f'name = "odd"\n[[rule]]\n{rule}')
    code, out, err = run("audit", "t.csv", "[row]", "--policy", "odd.toml")
    assert (code, out) == (2, "")
    assert "prior of the rule posterior is ['uniform']; choose one of" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"over": 5}, "variables are given as 5"),
        ({"over": [["row"], "col"]}, r"a variable is given as \['row'\]"),
        ({"over": [["row"], [3]]}, "a variable is given as 3"),
        ({"over": [3]}, "variables are given as 3"),
        ({"over": [["row"], []]}, "over names no variable"),
        ({"knows": 5}, "knows has 5"),
        ({"knows": None}, "knows has None"),
    ],
)
def test_questions_of_another_kind_are_refused(here, options, said):
    table = cb.read_table("t.csv")
    with pytest.raises(cb.InvalidInput, match=said):
        cb.judge(table, cb.publish(table, "[row]"), **options)
