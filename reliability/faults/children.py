"""Commands in processes of their own, forked from one that has everything loaded."""

from __future__ import annotations

import contextlib
import io
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cellbounds import cli
from reliability.faults.interposing import Control, Fault

__all__ = ["Child", "Ending", "killed_sometime", "run", "run_here", "start"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: its exit status, negative if it was killed, and what it said."""

    status: int
    out: str
    err: str
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether it was killed outright."""
        return self.status == -signal.SIGKILL

    @property
    def well_said(self) -> bool:
        """Whether it ended with a status of the contract, and what went wrong is one line."""
        lines = [line for line in self.err.splitlines() if not line.startswith("cellbounds: ")]
        if self.status == 2:
            return len(lines) == 1 and lines[0].startswith("error: ")
        return self.status in (0, 1, 3) and "Traceback" not in self.err


@dataclass(frozen=True, slots=True)
class Child:
    """A command that is running."""

    pid: int
    _out: int
    _err: int
    _begun: float

    def wait_for_words(self) -> None:
        """Wait until it says something on standard output, or ends."""
        select.select([self._out], [], [])

    def kill(self) -> None:
        """Kill it outright."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> Ending:
        """Wait until it ends."""
        out, err = _all_of(self._out), _all_of(self._err)
        _, status = os.waitpid(self.pid, 0)
        taken = time.monotonic() - self._begun
        return Ending(os.waitstatus_to_exitcode(status), out, err, taken)


def _all_of(file: int) -> str:
    with open(file, encoding="utf-8", errors="replace") as stream:
        return stream.read()


def start(
    arguments: Sequence[str],
    folder: Path,
    control: Control,
    fault: Fault | None = None,
    gate: tuple[int, int] | None = None,
) -> Child:
    """Start a command in a folder, and count its system calls if there is a fault to happen.

    It waits at a gate, if there is one: a pipe, until the end to write to is closed.
    """
    out, to_out = os.pipe()
    err, to_err = os.pipe()
    begun = time.monotonic()
    pid = os.fork()
    if pid:
        os.close(to_out)
        os.close(to_err)
        return Child(pid, out, err, begun)
    status = 71
    try:
        os.chdir(folder)
        os.dup2(to_out, 1)
        os.dup2(to_err, 2)
        if gate is not None:
            os.close(gate[1])
            os.read(gate[0], 1)
        os.closerange(3, 256)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        if fault is not None:
            control.arm(fault, os.getpid())
        status = _main(arguments)
        if fault is not None:
            control.disarm()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _main(arguments: Sequence[str]) -> int:
    sys.argv = ["cellbounds", *arguments]
    try:
        cli.main()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 72
    return 73


def run(
    arguments: Sequence[str], folder: Path, control: Control, fault: Fault | None = None
) -> Ending:
    """Run a command in a process of its own."""
    return start(arguments, folder, control, fault).wait()


def killed_sometime(
    arguments: Sequence[str],
    folder: Path,
    control: Control,
    chance: random.Random,
    usual: float,
    kill: Callable[[Child], object] = Child.kill,
) -> Ending:
    """Run a command and kill it at a random moment, or as soon as it has said that it is done."""
    child = start(arguments, folder, control)
    if chance.random() < 0.2:
        child.wait_for_words()
    else:
        time.sleep(chance.uniform(0.0, 1.1 * usual))
    kill(child)
    return child.wait()


def run_here(arguments: Sequence[str], folder: Path) -> None:
    """Run a command in this process, so that those forked later find everything loaded."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = _main(arguments)
    finally:
        os.chdir(before)
    if status not in (0, 1):
        raise RuntimeError(f"{' '.join(arguments)} ended with {status} where nothing was wrong")
