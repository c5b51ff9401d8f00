"""Bad input ends with status 2 and one legible line, whatever it is; the status is as decided."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb

TABLE = "a,b,count\nx,p,15\nx,q,17\ny,p,11\ny,q,19\n"
UNSAFE = "a,b,count\nx,p,1\nx,q,1\ny,p,2\ny,q,4\n"
RELEASE = """\
total = 62
[domain]
a = ["x", "y"]
b = ["p", "q"]
[[conditional]]
responses = ["b"]
given = ["a"]
rates = [["0.47", "0.53"], ["0.37", "0.63"]]
"""
QUICK = ["--jobs", "1", "--seconds", "20"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table and a release, in which commands run."""
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "r.toml").write_text(RELEASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def message(err):
    """What was said, without how long it took."""
    return "".join(line for line in err.splitlines(True) if not line.startswith("cellbounds: "))


def refused(run, *arguments):
    """The one line with which the command refuses something."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, ""), err
    err = message(err)
    assert err.startswith("error: ") and err.count("\n") == 1 and len(err) < 1500
    assert all(one == "\n" or one.isprintable() for one in err)
    return err


def program(*arguments, **options):
    """The command in a process of its own."""
    called = [sys.executable, "-m", "cellbounds.cli", *map(str, arguments)]
    return subprocess.run(called, timeout=120, check=False, **options)


# --- arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "t.csv", "[a]", "--encoding", "undefined"],
        ["audit", "t.csv", "[a]", "--encoding", "punycode"],
        ["audit", "t.csv", "[a]", "--records", "--encoding", "undefined"],
        ["audit", "t.csv", "[a]", "--records", "--encoding", "rot13"],
        ["audit", "t.csv", "[a]", "--merge", "a=x\ny,y"],
        ["audit", "t.csv", "[a]", "--merge", "a=x\ry,y"],
        ["audit", "t.csv", "[a]", "--merge", f"a={'x' * 200_000},y"],
        ["audit", "t.csv", f"[{'a' * 100_000}]"],
        ["audit", "t.csv", "[a\n\n\nb]"],
        ["audit", "t.csv", "[\u202ea\x1b[31m]"],
        ["audit", "t.csv", "[a]", "--nothing\nlike\nthis"],
        ["attack", "r.toml", "--memory", f"{'9' * 5000}GiB"],
        ["attack", "r.toml", "--jobs", "9" * 5000],
        ["explore", "t.csv", "--response", "b", "--digits", "9" * 5000],
        ["sample", "r.toml", "--method", "chain", "--burn-in", "9" * 30],
        ["sample", "r.toml", "--method", "chain", "--thin", "9" * 30],
        ["synthesize", "t.csv", "[a]", "-o", "made", "--copies", "9" * 400],
        ["ledger", "history", "sqlite:///a%00b"],
    ],
)
def test_odd_arguments_are_refused_in_one_line(run, here, arguments):
    refused(run, *arguments)


def test_an_empty_name_is_not_the_current_folder(run, here):
    assert "name a file" in refused(run, "audit", "", "[a]")
    with pytest.raises(cb.InvalidInput, match="name a file"):
        cb.read_table(["t.csv", ""])


def test_more_changes_than_there_are_take_no_time(here):
    (here / "t.csv").write_text(UNSAFE)
    asked = ("suggest", "t.csv", "[b|a]@1", "--changes", 2**31 - 1, "--jobs", "1")
    done = program(*asked, capture_output=True, text=True)  # or it would not end at all
    assert done.returncode in (0, 1), done.stderr


def allow_no_bytes():
    """As on a full disk: no file may grow."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize(
    "written",
    [
        "--report x.xlsx",
        "--report x.html",
        "--certificate x.json",
        "--state x.state",
        "-o x.txt",
    ],
)
def test_a_full_disk_is_said_in_one_line_and_nothing_is_left(here, written):
    before = set(here.iterdir())
    arguments = ["audit", "t.csv", "[a]", *written.split(), *QUICK]
    done = program(*arguments, capture_output=True, text=True, preexec_fn=allow_no_bytes)
    assert done.returncode == 2, done.stderr
    said = message(done.stderr)
    assert said.startswith("error: x.") and said.count("\n") == 1
    assert "cannot be written: File too large" in said
    assert set(here.iterdir()) == before


def test_a_folder_without_a_name_can_be_written_to_or_not(here):
    """The root folder; no file may grow here, so that nothing is left there."""
    before = set(Path("/").iterdir())
    arguments = ["synthesize", "t.csv", "[a]", "-o", "/", *QUICK]
    done = program(*arguments, capture_output=True, text=True, preexec_fn=allow_no_bytes)
    assert done.returncode == 2 and "internal" not in done.stderr
    assert set(Path("/").iterdir()) == before


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "2020-99-99",
        "2020-01-01T99:99:99",
        "!!int foo",
        "!!timestamp x",
        "!!bool foo",
        "!!map foo",
        "!!binary x",
        "!!python/object:os.system x",
        "!!omap [1]",
        "&a [*a]",
        "[[1]]: 2",
        "9" * 5000,
    ],
)
def test_values_that_yaml_itself_fails_on_are_refused(run, here, value):
    (here / "p.yaml").write_text(f"name: h\nrule:\n- rule: small-counts\n  at_most: {value}\n")
    refused(run, "audit", "t.csv", "[a]", "--policy", "p.yaml")


@pytest.mark.parametrize("name", ["a\\u0000b.csv", "\\u202eb.csv", "x" * 5000])
def test_odd_names_of_files_are_refused(run, here, name):
    text = RELEASE.replace('[["0.47", "0.53"], ["0.37", "0.63"]]', f'"{name}"')
    (here / "x.toml").write_text(text)
    refused(run, "attack", "x.toml")


@pytest.mark.parametrize(
    "read",
    [cb.read_table, cb.read_release, cb.policies.read, cb.verify_certificate, cb.Ledger.open],
)
def test_a_name_with_a_nul_is_no_name_in_python_either(here, read):
    for ending in (".toml", ".json", ".csv"):
        with pytest.raises(cb.CellboundsError):
            read(f"a\0b{ending}")


@pytest.mark.parametrize("digits", [19, 20, 30, 400, 999])
def test_totals_and_counts_of_many_digits_are_read_or_refused(run, here, digits):
    (here / "x.toml").write_text(RELEASE.replace("62", "9" * digits))
    (here / "x.csv").write_text(TABLE.replace("15", "9" * digits))
    for arguments in (["attack", "x.toml", *QUICK], ["audit", "x.csv", "[a]", *QUICK]):
        code, _, err = run(*arguments)
        assert code in (0, 1, 2, 3), err
        assert not message(err) or message(err).startswith(("error: ", "undecided: ")), err


@pytest.mark.parametrize("options", [(), ("--records", "--weight", "count")])
def test_counts_of_too_many_digits_are_refused_as_such(run, here, options):
    (here / "x.csv").write_text(TABLE.replace("15", "9" * 1001))
    err = refused(run, "audit", "x.csv", "[a]", *options, *QUICK)
    assert "not a whole number of 0 or more with at most 1000 digits;" in err
    (here / "x.csv").write_text(TABLE.replace("15", "1.5"))
    assert "1000 digits" not in refused(run, "audit", "x.csv", "[a]", *options, *QUICK)


# --- standard output and standard error ------------------------------------------------------


def test_a_terminal_that_cannot_show_a_label_is_shown_an_escape(here):
    (here / "l.csv").write_text(TABLE.replace("x", "Łódź"), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = program("audit", "l.csv", "[a]", *QUICK, capture_output=True, env=environment)
    assert (
        done.returncode == program("audit", "l.csv", "[a]", *QUICK, capture_output=True).returncode
    )
    assert b"\\u0141\xf3d\\u017a" in done.stdout
    data = ["audit", "l.csv", "[a]", "--format", "csv", *QUICK]
    done = program(*data, capture_output=True, env=environment)
    assert done.returncode == 2 and b"PYTHONIOENCODING=utf-8" in done.stderr
    assert program(*data, "-o", "x.csv", capture_output=True, env=environment).returncode == 0
    assert "Łódź" in (here / "x.csv").read_text("utf-8")


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("audit nothing.csv '[a]'", 2),
        ("audit", 2),
        ("audit t.csv '[a]' --jobs 1", 0),
        ("audit unsafe.csv '[a,b]' --jobs 1", 1),
        ("verify nothing.json", 2),
        ("audit t.csv '[a]' --jobs 1 >/dev/full", 2),
    ],
)
def test_the_status_is_as_decided_if_standard_error_cannot_be_written(
    here, arguments, expected, where
):
    (here / "unsafe.csv").write_text(UNSAFE)
    command = f"{sys.executable} -m cellbounds.cli {arguments} {where}"
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, timeout=120, check=False)
    assert done.returncode == expected


def test_what_turns_text_round_or_acts_on_a_terminal_is_shown_as_an_escape(run, here):
    odd = "\u202eevil\x1b[31m\u2066"
    (here / "l.csv").write_text(TABLE.replace("x", odd), encoding="utf-8")
    for arguments in (["--all"], ["--over", "a"]):
        _, out, err = run("audit", "l.csv", "[a]", *arguments, *QUICK)
        assert "\\u202eevil\\x1b[31m\\u2066" in out
        shown = {unicodedata.category(one) for one in (out + err).replace("\n", "")}
        assert not shown & {"Cc", "Cf", "Cs"}
    assert "\\u202eevil" in refused(run, "audit", "l.csv", "[a]", "--merge", f"a={odd},z")
    _, out, _ = run("audit", "l.csv", "[a]", "--format", "csv", *QUICK)
    assert odd in out  # data stay as they are


def test_joiners_that_are_parts_of_words_stay(run, here):
    word = "می\u200cخواهم"
    (here / "l.csv").write_text(TABLE.replace("x", word), encoding="utf-8")
    assert word in run("audit", "l.csv", "[a]", "--all", *QUICK)[1]


def test_messages_are_one_short_line_in_python_as_well(here):
    (here / "p.yaml").write_text("name: [1\n\n}\n" + "x" * 3000)
    with pytest.raises(cb.InvalidInput) as caught:
        cb.policies.read("p.yaml")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1300
    with pytest.raises(cb.InvalidInput) as caught:
        cb.read_table("t.csv").margin(["z" * 10_000])
    assert len(str(caught.value)) < 300
    assert "the variables are 'a', 'b'" in str(caught.value)


# --- what is written can be read again -------------------------------------------------------

LABELS = st.text(st.characters(codec=None), max_size=5) | st.sampled_from(
    [
        "\x00",
        "\ud800",
        "x\udfff",
        "\ufeff",
        "\r",
        "\n",
        "'=1",
        "=1",
        "\x85",
        "\u2028",
        "y" * 140_000,
    ]
)


@given(LABELS, LABELS)
def test_a_release_is_read_as_it_was_written_or_not_written(tmp_path_factory, name, label):
    if not name or label == "other":
        return
    file = tmp_path_factory.mktemp("written") / "r.toml"
    domain = cb.Domain({name: [label, "other"]})
    release = cb.Release(domain, [cb.Margin([name], [3, 4]), cb.Total(7)])
    try:
        release.write(file)
    except cb.InvalidInput:
        assert not file.exists()
        return
    assert cb.read_release(file).digest == release.digest


@pytest.mark.parametrize("label", ["a\x00b", "a\ud800b", "y" * 140_000])
def test_labels_that_no_file_can_hold_are_refused(tmp_path, label):
    domain = cb.Domain({"v": [label, "other"]})
    release = cb.Release(domain, [cb.Margin(["v"], [3, 4])])
    with pytest.raises(cb.InvalidInput, match=r"rename it|shorten it"):
        release.write(tmp_path / "r.toml")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [(), ("--records", "--weight", "w"), ("--variables", "a,b")])
def test_a_table_without_its_header_shows_no_count(run, here, options):
    (here / "bare.csv").write_text("Alpha,Low,918273\nAlpha,High,3\n", "utf-8")
    err = refused(run, "audit", "bare.csv", "[Alpha]", *options)
    assert "918273" not in err
    assert "'Alpha', 'Low'" in err


def test_a_pipe_is_read_once(here):
    """Reading it again would wait for a writer who has gone."""
    os.mkfifo(here / "pipe.csv")
    text = "a,b,count\nx,p,3\nx,q,5\ny,p,2\ny,q,4\n"
    with subprocess.Popen(["sh", "-c", f"printf '{text}' > pipe.csv"], cwd=here) as writer:
        done = program("synthesize", "pipe.csv", "[a]", "-o", "made", "--seconds", "5")
        assert writer.wait(timeout=30) == 0
    assert done.returncode == 0, done.stderr
    assert (here / "made" / "synthetic-1.csv").exists()
