"""Limits of memory: sizes in words, work that is stopped wherever it is, work that is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest

import cellbounds as cb
from cellbounds.runtime.memory import LEAST, allowed, limited, parse_size, size_text

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GiB", 2**31),
        ("2G", 2**31),
        ("2gib", 2**31),
        ("2 GB", 2 * 10**9),
        ("500MB", 500 * 10**6),
        ("500M", 500 * 2**20),
        ("1.5G", 3 * 2**29),
        ("0.25TiB", 2**38),
        ("1000000kB", 10**9),
        ("200000K", 200_000 * 1024),
        ("134217728", 2**27),
        ("134217728B", 2**27),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size
    with limited(text):
        assert allowed() == size
    assert allowed() is None


@pytest.mark.parametrize("text", ["", "G", "-2G", "2X", "two", "2G 3", "1e9", "nan", "2,5G", "٢G."])
def test_what_is_no_size(text):
    with pytest.raises(cb.InvalidInput, match="no size; give a number and a unit, such as 2GiB"):
        parse_size(text)


def test_too_little_is_refused():
    for text in ("0", "2", "127MiB", "0.01G"):
        with pytest.raises(cb.InvalidInput, match="too little to work with; give 128 MiB or more"):
            parse_size(text)
    with pytest.raises(cb.InvalidInput, match="without a unit is in bytes"):
        parse_size("500")
    for wrong in (True, 1.5, b"2G"):
        with pytest.raises(cb.InvalidInput, match="memory="), limited(wrong):
            pass
    with limited(LEAST * 64):
        assert allowed() == LEAST * 64


@pytest.mark.parametrize(
    ("size", "text"), [(100, "100 bytes"), (2048, "2 KiB"), (2**27, "128 MiB"), (2**31, "2 GiB")]
)
def test_words_for_sizes(size, text):
    assert size_text(size) == text


def test_limits_within_limits():
    with limited("8GiB"):
        with limited("4GiB"):
            assert allowed() == 2**32
        assert allowed() == 2**33


def test_no_limit():
    with limited(None):
        assert allowed() is None


def test_only_the_main_thread_can_be_limited():
    caught = []

    def work():
        try:
            with limited("2GiB"):
                pass
        except cb.InvalidInput as problem:
            caught.append(str(problem))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert caught == ["a limit of memory can be set in the main thread only"]


@posix
def test_what_was_there_is_put_back():
    def mine(_number, _frame):
        pass

    before = signal.signal(signal.SIGUSR2, mine)
    try:
        with limited("64GiB"):
            assert signal.getsignal(signal.SIGUSR2) is not mine
        assert signal.getsignal(signal.SIGUSR2) is mine
        with pytest.raises(ZeroDivisionError), limited("64GiB"):
            raise ZeroDivisionError
        assert signal.getsignal(signal.SIGUSR2) is mine
    finally:
        signal.signal(signal.SIGUSR2, before)


def told(code):
    """What a process of its own says, and how it ends."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False
    )
    return done.returncode, done.stdout, done.stderr


HEAD = """
import sys, threading, time
import numpy as np
import cellbounds as cb
from cellbounds.runtime.memory import limited
def eat(held, until=None):
    while until is None or not until.is_set():
        held.append(np.ones(2_000_000))
        time.sleep(0.002)
"""


@posix
def test_python_that_takes_too_much_is_stopped():
    """Even if it catches every error; what is to be cleaned up is."""
    code = HEAD + (
        "held = []\n"
        "try:\n"
        "    with limited('400MiB'):\n"
        "        try:\n"
        "            eat(held)\n"
        "        except Exception:\n"
        "            print('caught by the work')\n"
        "        finally:\n"
        "            print('cleaned')\n"
        "except cb.TooMuchWork as problem:\n"
        "    print(problem, len(held) < 100)\n"
    )
    status, out, err = told(code)
    assert (status, err) == (0, "")
    assert out.startswith("cleaned\nthe work needs more than the 400 MiB of memory allowed; allow ")
    assert out.endswith(" True\n")


@posix
def test_waiting_is_woken():
    """The main thread waits for a thread that eats; children count as well."""
    code = HEAD + (
        "held, until = [], threading.Event()\n"
        "try:\n"
        "    with limited('400MiB'):\n"
        "        threading.Thread(target=eat, args=(held, until), daemon=True).start()\n"
        "        try:\n"
        "            threading.Event().wait()\n"
        "        finally:\n"
        "            until.set()\n"
        "except cb.TooMuchWork:\n"
        "    print('woken')\n"
    )
    assert told(code)[:2] == (0, "woken\n")


@posix
def test_children_count():
    code = HEAD + (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', "
        "'import time; held = bytearray(10**9); time.sleep(60)'])\n"
        "try:\n"
        "    with limited('500MiB'):\n"
        "        child.wait()\n"
        "except cb.TooMuchWork:\n"
        "    print('woken')\n"
        "finally:\n"
        "    child.kill()\n"
    )
    assert told(code)[:2] == (0, "woken\n")


@posix
def test_compiled_code_that_does_not_listen_is_ended():
    """A main thread that no signal reaches, and a child that must not be left behind."""
    code = HEAD + (
        "import signal, subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "with limited('400MiB', patience=0.2):\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})\n"
        "    time.sleep(0.7)\n"
        "    held = np.ones(70_000_000)\n"
        "    time.sleep(60)\n"
    )
    status, out, err = told(code)
    assert status == 3
    assert err.startswith("undecided: the work needs more than the 400 MiB of memory allowed")
    # Who has no parent left to be told stays a zombie where nobody takes care of those.
    child = int(out)
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_enough_memory_changes_nothing():
    release = cb.publish(cb.datasets.read("delinquent"), "[education|county]@2")
    truth = cb.bounds(release)
    with limited("16GiB"):
        answer = cb.bounds(release)
    assert (answer.lower == truth.lower).all()


# The command line --------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    rows = [f"{a},{b},{(3 * a + 5 * b) % 7}" for a in range(4) for b in range(3)]
    path.write_text("a,b,count\n" + "\n".join(rows) + "\n", "utf-8")
    return path


def test_a_command_below_its_limit(run, table):
    plain = run("audit", table, "[b|a]@1", "--format", "csv")
    assert run("audit", table, "[b|a]@1", "--format", "csv", "--memory", "16GiB") == plain


def test_sizes_of_commands(run, table):
    code, out, err = run("audit", table, "[b|a]@1", "--memory", "much")
    assert (code, out) == (2, "")
    assert "'much' is no size" in err


@posix
def test_a_command_above_its_limit_gives_up(run, table, tmp_path, monkeypatch):
    """Stopped in the middle: status 3, the remedy, and nothing written."""
    import cellbounds.disclosure.auditing as auditing

    held = []

    def hungry(*_, **__):
        while True:
            held.append(np.ones(1_000_000))
            time.sleep(0.002)

    monkeypatch.setattr(auditing, "cases_of", hungry)
    limit = psutil.Process().memory_info().rss + 2**28
    output = tmp_path / "out.txt"
    code, out, err = run("audit", table, "[b|a]@1", "--memory", str(limit), "-o", output)
    held.clear()
    assert (code, out) == (3, "")
    assert "of memory allowed; allow more, or ask for less" in err
    assert not output.exists()
