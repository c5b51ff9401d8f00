"""A slice of `make faults`: kills, full disks, wrong clocks, races. Nothing is lost or half."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from unittest.mock import Mock

import pytest
from reliability.faults import command
from reliability.faults.leftovers import Secret
from reliability.faults.servers import binaries
from reliability.faults.tally import Tally

needed = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="system calls are met on Linux, with a C compiler",
)


def counted(tmp_path, *arguments):
    """What a run counts, by kind of fault."""
    file = tmp_path / "counts.json"
    done = subprocess.run(
        [sys.executable, "-m", "reliability.faults", "--json", str(file), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    tallies = json.loads(file.read_text())
    assert [words for one in tallies for words in one["faults"]] == []
    assert done.returncode == 0
    return {(one["kind"], one["storage"]): one for one in tallies}


@needed
def test_files_are_old_or_new(tmp_path):
    found = counted(tmp_path, "--database", "none", "--kills", "64", "--full", "16")
    for what in ("html", "json", "csv", "xlsx"):
        assert found["killed", f"report.{what}"]["happened"] >= 4
        assert found["disk full", f"report.{what}"]["happened"] == 2
    assert found["killed", "state"]["happened"] >= 4


@needed
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_commits_are_there_whole_or_not_at_all(tmp_path, database):
    if database == "postgres" and binaries() is None:
        pytest.skip("no PostgreSQL here: neither the wheel of pgserver nor one of the system")
    small = ("--kills", "50", "--full", "12", "--jumps", "8", "--races", "1", "--servers", "0")
    found = counted(tmp_path, "--no-files", "--database", database, *small)
    killed = found["commit killed at a call", database]
    assert killed["happened"] >= 20
    assert killed["outside"] > 0
    assert found["disk full", database]["happened"] > 0
    assert found["commit killed at random", database]["tried"] >= 20
    race = found["race of 8", database]
    assert 0 < race["acknowledged"] < 8  # safe in pairs, not all together
    assert sum(one["inside"] for one in found.values()) > 0


def test_who_ends_it_is_shown_what_was_found_until_then(monkeypatch, tmp_path, capsys):
    def trials(*_):
        yield Tally("killed", "report.html", tried=7, half=1, faults=["half a report"])
        raise SystemExit(128 + signal.SIGTERM)

    monkeypatch.setattr(command, "_trials", trials)
    monkeypatch.setattr(command, "Workshop", Mock())
    monkeypatch.setenv(command.ROOT, str(tmp_path / "root"))
    (tmp_path / "root").mkdir()
    kept = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit):
            command.main(["--json", str(tmp_path / "counts.json")])
    finally:
        signal.signal(signal.SIGTERM, kept)
    assert re.search(r"^killed +report.html +7 [^$]*half a report$", capsys.readouterr().out, re.M)
    assert json.loads((tmp_path / "counts.json").read_text())[0]["half"] == 1
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    ("content", "is_in"),
    [
        (b"Alpha,Low,48611\n", True),
        (b"<td>48,611</td>", True),
        (b"<v>48611</v>", True),
        (b"148611", False),
        (b"hash af48611b", False),
    ],
)
def test_a_secret_is_recognised(content, is_in):
    assert Secret(48611).is_in(content) is is_in


@pytest.mark.parametrize("left", [1.0, 0.7])
def test_a_secret_is_recognised_in_a_workbook_that_was_not_finished(tmp_path, left):
    path = tmp_path / "book.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("sheet.xml", "<v>7</v>" * 10 + "<v>48611</v>" + "<v>8</v>" * 1000)
        book.writestr("other.xml", bytes(range(256)))
    content = path.read_bytes()
    assert Secret(48611).is_in(content[: int(len(content) * left)])
    assert not Secret(48612).is_in(content)
