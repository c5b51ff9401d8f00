"""Killing a process, filling its disk or turning its clock at a chosen system call."""

from __future__ import annotations

import enum
import mmap
import os
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["EVERYBODY", "Action", "Calls", "Control", "Fault", "build_library"]

SOURCE = Path(__file__).with_name("interposed.c")

_FIELDS = struct.Struct("7q4000s")
"""As in interposed.c: pid, kinds, at, action, seen, done, clock, calls."""

EVERYBODY = -1


class Calls(enum.IntFlag):
    """Which system calls count."""

    FILES = 1
    """What changes a file or a folder: write, fsync, truncate, chmod, rename, unlink, open."""
    SPACE = 2
    """Those of them that need room on the disk."""
    SOCKETS = 4
    """What is sent to, or was received from, a server."""
    GROWTH = 8
    """What makes a file or makes one larger; a file that is written over keeps its room."""


class Action(enum.IntEnum):
    """What happens at the chosen call."""

    NOTHING = 0
    KILL_BEFORE = 1
    KILL_HALFWAY = 2
    KILL_AFTER = 3
    FULL = 4
    """The disk is full from here on."""
    FULL_HALFWAY = 5
    """The same, after half of what is to be written."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that happens at the `at`-th of the calls that count."""

    calls: Calls
    action: Action = Action.NOTHING
    at: int = 0

    def __str__(self) -> str:
        return f"{self.action.name.lower().replace('_', ' ')} at call {self.at}"


class Control:
    """What the library does in the processes that were started with it.

    Parameters
    ----------
    path
        The file that these processes share; made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            path.write_bytes(bytes(_FIELDS.size))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _FIELDS.size)

    def environment(self, library: Path) -> dict[str, str]:
        """What processes that obey have to be started with."""
        return {"LD_PRELOAD": str(library), "FAULTS_CONTROL": str(self.path)}

    def arm(self, fault: Fault, whose: int) -> None:
        """Count the calls of a process from now on, and let the fault happen."""
        self._set(1, fault.calls, fault.at, fault.action, 0, 0)
        self._set(0, whose)

    def disarm(self) -> None:
        """Nothing happens any more."""
        self._set(0, 0)

    def turn_clock(self, seconds: int) -> None:
        """Let the clock of everybody be wrong by so many seconds."""
        self._set(6, seconds)

    @property
    def calls(self) -> str:
        """The calls that were counted, a letter each: write, fsync, rename, ..."""
        fields = _FIELDS.unpack(self._shared[:])
        return str(fields[7][: fields[4]], "ascii")

    @property
    def happened(self) -> bool:
        """Whether the fault happened."""
        return bool(_FIELDS.unpack(self._shared[:])[5])

    def _set(self, first: int, *values: int) -> None:
        struct.pack_into(f"{len(values)}q", self._shared, 8 * first, *values)


def build_library(folder: Path) -> Path:
    """Compile the library that meets the system calls."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise SystemExit("no C compiler (cc), which faults at chosen calls need; install one")
    made = folder / "interposed.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, SOURCE, "-ldl"], check=True)
    return made
