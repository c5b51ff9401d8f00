"""What processes that are killed leave behind: nothing elsewhere, and nothing for long."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import cellbounds as cb
from cellbounds.data.spreadsheets import write_excel
from cellbounds.runtime.files import hidden_folder, private_folder, unfinished_beside, write_whole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and modes of POSIX systems")

PATIENCE = 120
"""Seconds after which something has gone wrong, on any machine."""

STOPS = """
import os, signal, sys
from pathlib import Path
import cellbounds as cb
from cellbounds.runtime import files

def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

{setting}
"""


def killed_while(setting, *arguments, **options):
    """Run a script that kills itself at a chosen point."""
    code = STOPS.replace("{setting}", setting)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    ran = subprocess.run(command, check=False, timeout=PATIENCE, **options)
    assert ran.returncode == -signal.SIGKILL


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077])
def mask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def big(tmp_path):
    """A table whose report takes a while to write."""
    path = tmp_path / "table" / "big.csv"
    path.parent.mkdir()
    places = [(a, b) for a in range(40) for b in range(50)]
    lines = [f"a{a},b{b},{k * k * 31 % 257 + 1000}" for k, (a, b) in enumerate(places)]
    path.write_text("\n".join(["a,b,count", *lines]) + "\n")
    return path


def test_killed_while_a_workbook_is_written(tmp_path, big):
    """The sheets of a workbook are never anywhere but in memory and beside the target."""
    shared, work = tmp_path / "shared", tmp_path / "work"
    shared.mkdir()
    work.mkdir()
    environment = {**os.environ, "TMPDIR": str(shared), "HOME": str(tmp_path / "home")}
    moments = random.Random(5)
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITES, big, work / "report.xlsx"],
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert process.stdout.readline() == b"writing\n"
        time.sleep(moments.uniform(0, 0.5))
        process.kill()
        process.communicate(timeout=PATIENCE)
        assert list(shared.iterdir()) == []
        assert {path.name for path in work.iterdir()} <= {
            "report.xlsx",
            *(path.name for path in unfinished_beside(work / "report.xlsx")),
        }


WRITES = """
import sys
import cellbounds as cb
table = cb.read_table(sys.argv[1])
print("writing", flush=True)
while True:
    table.write(sys.argv[2])
"""


WATCHED = """
import os, sys
made = []

def watch(event, given):
    if event == "open" and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        made.append(str(given[0]))
    elif event in ("os.mkdir", "os.rename", "tempfile.mkdtemp", "tempfile.mkstemp"):
        made.append(str(given[0]))

sys.addaudithook(watch)
from cellbounds import cli

sys.argv = ["cellbounds", *sys.argv[1:]]
try:
    cli.main()
finally:
    print(*made, sep="\\n", file=sys.stderr)
"""
"""A command, and the files and folders that it makes."""


@pytest.mark.parametrize(
    "arguments",
    [
        "audit t.csv [county] [education] --state s.state --certificate c.json -o o.txt "
        "--report r.html --report r.json --report r.csv --report r.xlsx",
        "explore t.csv --response education --digits 1 --plot p.svg --best b.toml",
        "suggest t.csv [education|county]@3 --changes 1 --save made",
        "synthesize t.csv [county] -o made",
    ],
)
def test_nothing_is_ever_made_in_a_shared_folder(tmp_path, arguments):
    """Kills may come at any moment: no file is there for a moment either."""
    shared, work = tmp_path / "shared", tmp_path / "work"
    shared.mkdir()
    work.mkdir()
    (work / "t.csv").write_bytes(Path(cb.datasets.path("delinquent")).read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *arguments.split(), "--jobs", "1"],
        env={**os.environ, "TMPDIR": str(shared)},
        cwd=work,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    made = done.stderr.splitlines()
    assert any(path.startswith(str(work)) for path in made)
    assert not any(path.startswith(str(shared)) for path in made)


def test_the_next_to_write_removes_what_was_left(tmp_path):
    target = tmp_path / "table.csv"
    killed_while("Path.replace = killed\nfiles.write_whole(Path(sys.argv[1]), 'secret')", target)
    [left] = list(tmp_path.iterdir())
    assert (left.read_text(), unfinished_beside(target)) == ("secret", [left])
    write_whole(tmp_path / "another.csv", "x")
    assert left.exists()
    write_whole(target, "whole")
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "another.csv"}
    assert target.read_text() == "whole"


def test_the_next_start_removes_what_was_left(tmp_path, run):
    target = tmp_path / "report.html"
    killed_while("Path.replace = killed\nfiles.write_whole(Path(sys.argv[1]), 'secret')", target)
    assert len(unfinished_beside(target)) == 1
    # Bad input: nothing is written this time.
    code, _, _ = run("audit", cb.datasets.path("delinquent"), "[nobody]", "--report", target)
    assert code == 2
    assert list(tmp_path.iterdir()) == []


def test_writers_do_not_remove_each_others_files(tmp_path):
    """Eight of them, all writing the same file, none of which fails."""
    target = tmp_path / "table.csv"
    texts = [str(k) * 10_000 for k in range(8)]
    failed = []

    def work(text):
        try:
            for _ in range(100):
                write_whole(target, text)
        except cb.InvalidInput as problem:
            failed.append(problem)

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert target.read_text() in texts
    assert list(tmp_path.iterdir()) == [target]


def test_folders_of_the_living_stay(tmp_path):
    with hidden_folder(tmp_path / "work") as first, hidden_folder(tmp_path / "work") as second:
        assert first.is_dir()
        assert second.is_dir()
        assert mode_of(first) == 0o700
    assert list(tmp_path.iterdir()) == []


def test_confidential_work_is_not_done_in_shared_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    setting = "with files.private_folder() as f:\n    (f / 'x').write_text('secret')\n    killed()"
    killed_while(setting)
    place = tmp_path / "cellbounds"
    assert mode_of(place) == 0o700
    [left] = place.iterdir()
    with private_folder() as folder:
        assert folder.parent == place
        assert not left.exists()
    assert list(place.iterdir()) == []


def test_who_has_no_cache_works_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "no folder").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no folder"))
    monkeypatch.chdir(tmp_path)
    with private_folder() as folder:
        assert folder.parent == tmp_path


def test_interrupted_writing_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "table.csv", "x")
    assert list(tmp_path.iterdir()) == []


def test_replaced_tables_of_a_killed_process_come_back(tmp_path):
    release = cb.publish(cb.datasets.read("delinquent"), "[county]")
    tables = cb.synthesize(release, rng=1)
    folder = tmp_path / "tables"
    tables.write(folder)
    before = {path.name: path.read_text() for path in folder.iterdir()}
    setting = (
        "plain = Path.replace\n"
        "last = Path(sys.argv[1], 'README.md')\n"
        "Path.replace = lambda path, to: killed() if to == last else plain(path, to)\n"
        "release = cb.publish(cb.datasets.read('delinquent'), '[county]')\n"
        "cb.synthesize(release, rng=2).write(sys.argv[1], overwrite=True)"
    )
    killed_while(setting, folder)
    mixed = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(mixed) == set(before)  # each of them is there, old or new
    assert mixed != before
    with pytest.raises(cb.InvalidInput, match="already"):
        tables.write(folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == before
    assert list(tmp_path.iterdir()) == [folder]


# --- modes -----------------------------------------------------------------------------------


def test_confidential_files_are_for_their_owner(tmp_path, mask, run):
    path = cb.datasets.path("delinquent")
    reports = [tmp_path / f"report.{kind}" for kind in ("html", "json", "csv", "xlsx")]
    given = [part for report in reports for part in ("--report", report)]
    kept, told, state = tmp_path / "proofs.json", tmp_path / "told.txt", tmp_path / "x.state"
    asked = ("audit", path, "[county]", "[education]")
    assert run(*asked, *given, "--certificate", kept, "-o", told, "--state", state)[0] in (0, 1)
    written = [*reports, kept, told, state]
    for kind in ("csv", "xlsx", "parquet"):
        written.append(tmp_path / f"table.{kind}")
        cb.read_table(path).write(written[-1])
    assert {mode_of(one) for one in written} == {0o600}
    public = [tmp_path / "public.html", tmp_path / "public.json"]
    run(*asked, "--public", "--report", public[0], "--certificate", public[1])
    assert {mode_of(one) for one in public} == {0o666 & ~mask}


def test_what_is_told_of_protecting_is_for_the_owner(tmp_path, mask, run):
    table, asked = cb.datasets.path("delinquent"), "[county,education]"
    private = [tmp_path / name for name in ("in.csv", "in.xlsx", "told.txt", "told.json")]
    public = [tmp_path / name for name in ("out.csv", "out.xlsx", "said.toml")]
    first = ("--internal", private[0], "--public", public[0], "-o", private[2])
    assert run("protect", table, asked, *first)[0] == 0
    more = ("--internal", private[1], "--public", public[1], "--release", public[2])
    assert run("protect", table, asked, "--method", "round", *more)[0] == 0
    how = ("--method", "round", "--format", "json", "-o", private[3])
    assert run("compare", table, asked, *how)[0] == 0
    assert {mode_of(one) for one in private} == {0o600}
    assert {mode_of(one) for one in public} == {0o666 & ~mask}


def test_what_a_ledger_tells_its_owner_is_for_the_owner(tmp_path, run):
    table, ledger = cb.datasets.path("delinquent"), tmp_path / "x.ledger"
    assert run("ledger", "init", ledger, "--table", table, "--keep-table")[0] == 0
    before = os.umask(0)
    try:
        for number, arguments in enumerate(
            [
                ["ask", ledger, "[county]"],
                ["ask", ledger, "[county]", "--format", "json"],
                ["policy", ledger, "--policy", "strict", "--why", "x"],
                ["frontier", ledger, "[county]"],
                ["history", ledger],
                ["history", ledger, "--format", "html", "--table", table],
                ["export", ledger, "--internal"],
                ["requests", ledger],
                ["requests", ledger, "--format", "json"],
            ]
        ):
            assert run("ledger", *arguments, "-o", tmp_path / str(number))[0] in (0, 1)
            assert mode_of(tmp_path / str(number)) == 0o600, arguments
        for arguments in (["history", ledger, "--format", "html", "--public"], ["export", ledger]):
            assert run("ledger", *arguments, "-o", tmp_path / "public")[0] == 0
            assert mode_of(tmp_path / "public") == 0o666
            (tmp_path / "public").unlink()
    finally:
        os.umask(before)


def test_a_chart_of_verdicts_is_for_the_owner(tmp_path, run):
    asked = ("explore", cb.datasets.path("delinquent"), "--response", "education", "--digits", "1")
    chart, table = tmp_path / "x.svg", tmp_path / "x.txt"
    assert run(*asked, "--jobs", "1", "--plot", chart, "-o", table)[0] == 0
    assert mode_of(chart) == mode_of(table) == 0o600


@pytest.mark.parametrize(
    "write", [write_whole, lambda path, _, **o: write_excel({"a": {"b": [1]}}, path, **o)]
)
def test_files_are_never_seen_with_a_wider_mode(tmp_path, monkeypatch, write):
    before = os.umask(0)
    seen = []
    plain = Path.replace

    def looked(path, target):
        seen.append(mode_of(path))
        return plain(path, target)

    monkeypatch.setattr(Path, "replace", looked)
    opened = []
    made = os.open

    def watched(path, flags, mode=0o777, **options):
        if flags & os.O_CREAT:
            opened.append(mode)
        return made(path, flags, mode, **options)

    monkeypatch.setattr(os, "open", watched)
    try:
        write(tmp_path / "new", "x", private=True)
        (tmp_path / "new").chmod(0o640)
        write(tmp_path / "new", "y", private=True)
        write(tmp_path / "new", "z", private=False)
    finally:
        os.umask(before)
    assert opened == [0o600] * 3
    assert seen == [0o600] * 3
    assert mode_of(tmp_path / "new") == 0o640  # whoever chose a mode for a file keeps it
