"""Ctrl-C at any moment: status 130 and one line, from compiled code and imports too."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import cellbounds as cb
from cellbounds.cli.interrupts import Interruption
from strategies import LONG

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")

PATIENCE = 120
"""Seconds after which something has gone wrong, on any machine."""

COMPILED = """
import os, signal, sys, threading
import numpy as np
from cellbounds.runtime.compilation import compiled

@compiled
def slow(steps):
    total = 0.0
    for k in range(steps):
        total += np.sin(k * 1.0)
    return np.full(3, total), np.full(2, total)

signal.signal(signal.SIGUSR2, signal.default_int_handler)
slow(1)
try:
    # From within: on a busy machine, whoever is outside may come too late.
    threading.Timer(0.1, os.kill, (os.getpid(), int(sys.argv[1]))).start()
    slow(10**8)
except KeyboardInterrupt:
    print("interrupted")
print(slow(1)[0])
"""


def started(*command, **options):
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR2])
def test_signals_wait_for_compiled_code(tmp_path, number):
    """Numba goes on with results that are not there, if what makes them is interrupted."""
    script = tmp_path / "script.py"
    script.write_text(COMPILED)
    process = started(script, int(number))
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert out.splitlines() == ["interrupted", "[0. 0. 0.]"]


HALFWAY = """
import os, signal
os.kill(os.getpid(), signal.SIGINT)
for _ in range(1000):
    pass
whole = True
"""

COMMAND = """
import sys, time
from contextlib import suppress
from cellbounds import cli
from cellbounds.cli import interrupts
from cellbounds.runtime.interrupts import uninterrupted

interrupts.GRACE, interrupts.ONCE = 60, 0.2
sys.path.insert(0, sys.argv[1])

class Stubborn:
    def __del__(self):
        print("begun", flush=True)
        time.sleep(60)

def work(**_):
    {work}

cli.commands.main = work
cli.main()
"""


def work_interrupted(tmp_path, work, times=1):
    (tmp_path / "halfway.py").write_text(HALFWAY)
    script = tmp_path / "script.py"
    script.write_text(COMMAND.replace("{work}", work.replace("\n", "\n    ")))
    process = started(script, tmp_path)
    for _ in range(times):
        begun = process.stdout.readline()
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert times == 0 or begun == "begun\n", err
    return process.returncode, out, err


def test_modules_are_loaded_to_their_end(tmp_path):
    work = "try:\n    import halfway\n    time.sleep(60)\nfinally:\n    print(halfway.whole)"
    assert work_interrupted(tmp_path, work, times=0) == (130, "True\n", "interrupted\n")


def test_code_that_does_not_return_is_ended(tmp_path):
    work = "interrupts.GRACE = 0.2\nprint('begun', flush=True)\nuninterrupted(time.sleep, 600)"
    assert work_interrupted(tmp_path, work) == (130, "", "interrupted\n")


def test_what_is_ended_at_once_leaves_nothing_unfinished(tmp_path):
    work = (
        "from pathlib import Path\nfrom cellbounds.runtime.files import hidden_folder\n"
        "with hidden_folder(Path(sys.argv[1]) / 'target') as folder:\n"
        "    (folder / 'part').write_text('secret')\n"
        "    interrupts.GRACE = 0.2\n    print('begun', flush=True)\n"
        "    uninterrupted(time.sleep, 600)"
    )
    assert work_interrupted(tmp_path, work) == (130, "", "interrupted\n")
    assert {path.name for path in tmp_path.iterdir()} == {"halfway.py", "script.py"}


def test_who_interrupts_again_ends_it(tmp_path):
    again = (
        "with suppress(KeyboardInterrupt):\n    print('begun', flush=True)\n    time.sleep(60)\n"
    )
    work = f"{again}time.sleep(0.5)\nprint('begun', flush=True)\ntime.sleep(600)"
    assert work_interrupted(tmp_path, work, times=2) == (130, "", "interrupted\n")


def test_signals_that_come_twice_interrupt_once(tmp_path):
    """Some programs send each signal to a process, and to its group as well."""
    work = (
        "interrupts.ONCE = 600\ntry:\n    print('begun', flush=True)\n    time.sleep(60)\n"
        "finally:\n    print('begun', flush=True)\n    time.sleep(1)\n    print('kept')"
    )
    assert work_interrupted(tmp_path, work, times=2) == (130, "kept\n", "interrupted\n")


def test_who_interrupts_the_end_changes_nothing(tmp_path):
    """What was decided stands, and is all that is said, while libraries put themselves away."""
    work = (
        "import atexit\nfrom cellbounds import InvalidInput\n"
        "atexit.register(lambda: (print('begun', flush=True), time.sleep(1)))\n"
        "raise InvalidInput('no such table')"
    )
    assert work_interrupted(tmp_path, work) == (2, "", "error: no such table\n")


def test_interruptions_in_destructors_are_not_lost(tmp_path):
    work = "Stubborn()\ntime.sleep(600)"
    assert work_interrupted(tmp_path, work) == (130, "", "interrupted\n")


def test_nothing_is_raised_where_it_would_be_lost_again():
    """The hook for what nobody can catch: what is raised there nobody can catch either."""
    interruption = Interruption()

    class Again:
        def send(self, _content):
            interruption.handle(signal.SIGINT, sys._getframe())

    with interruption.signals, interruption.wake:
        with pytest.raises(KeyboardInterrupt):
            interruption.handle(signal.SIGINT, None)
        interruption.wake = Again()
        interruption.unraisable(SimpleNamespace(exc_value=KeyboardInterrupt()))
    assert not interruption.raised
    with pytest.raises(KeyboardInterrupt):
        interruption.handle(signal.SIGINT, None)


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A table that takes a while with every command."""
    path = tmp_path_factory.mktemp("tables") / "big.csv"
    places = [(a, b, c, d) for a in range(5) for b in range(6) for c in range(4) for d in range(5)]
    lines = [f"a{a},b{b},c{c},d{d},{k * k * 31 % 257}" for k, (a, b, c, d) in enumerate(places)]
    path.write_text("\n".join(["a,b,c,d,count", *lines]) + "\n")
    return path


COMMANDS = {
    "posterior": ("[a|b,c]@1",),
    "sample": ("[a,b]", "[b,c]", "[c,d]", "[a,d]", "--size", "100000"),
    "count": ("[a|b,c]@1",),
    "audit": ("[a,b]", "[b,c]", "[c,d]", "[a,d]", "--report", "report.xlsx"),
    "explore": ("--response", "a", "--digits", "1-3", "--state", "explore.state"),
    "suggest": ("[a,b]", "[b,c]", "[c,d]", "--save", "saved"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_can_be_interrupted_at_any_moment(tmp_path, big, command):
    moments = random.Random(command)
    for number in range(3 if LONG else 1):
        here = tmp_path / str(number)
        here.mkdir()
        process = started("-m", "cellbounds.cli", command, big, *COMMANDS[command], cwd=here)
        time.sleep(moments.uniform(0.2, 3))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        left = {path.name for path in here.iterdir()} - {"explore.state"}
        if process.returncode == 130:
            said = [line for line in err.splitlines() if not line.startswith("cellbounds: ")]
            assert [line.partition(":")[0] for line in said] == ["interrupted"], err
            assert (out, left) == ("", set())
        else:  # done before
            assert process.returncode in (0, 1, 3), err
        assert "Traceback" not in err


def test_the_package_alone_leaves_ctrl_c_as_it_is():
    code = "import signal, cellbounds; print(signal.getsignal(2) is signal.default_int_handler)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"
    assert cb.__version__
