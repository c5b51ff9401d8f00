"""One invocation: words, files, streams and surroundings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SECRET", "Case", "File"]

SECRET = 918273
"""A count that is planted in confidential tables: no message may show it."""

LONGEST_BUDGET = 20.0
"""A budget beyond this (in seconds) is not waited for."""


@dataclass(slots=True)
class File:
    """Something that is there before the program starts.

    Attributes
    ----------
    name
        Relative to the working folder; bytes that are not UTF-8 are escaped as in :mod:`os`.
    content, tree, style
        What it holds: bytes, or plain values that are still to be rendered as toml, json or yaml.
    kind
        ``file``, ``folder``, ``pipe`` (the content comes once), ``endless`` (it never ends),
        ``link`` (to `target`) or ``sparse`` (as long as `length` says, without using the disk).
    mode
        Its permissions.
    lasting
        Whether the program may change it: a ledger, a state.
    """

    name: str
    content: bytes = b""
    tree: Any = None
    style: str = ""
    kind: str = "file"
    target: str = ""
    length: int = 0
    mode: int = 0o644
    lasting: bool = False


@dataclass(slots=True)
class Case:
    """An invocation and everything around it.

    Attributes
    ----------
    command
        Its name, such as ``ledger ask``.
    words
        What stands after the program's name on the command line.
    stdin
        What standard input holds; nothing unless given.
    stdout, stderr
        ``file``, ``full`` (a full disk), ``closed``, or ``broken`` (a pipe that nobody reads).
    interrupt
        Seconds after which Ctrl-C is sent.
    confidential
        Whether :data:`SECRET` stands in a table.
    mutations
        What was done to the valid invocation, in words.
    """

    seed: int
    number: int
    command: str = ""
    words: list[str] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    stdout: str = "file"
    stderr: str = "file"
    interrupt: float | None = None
    confidential: bool = False
    mutations: list[str] = field(default_factory=list)

    def value_of(self, option: str) -> str | None:
        """What the command line says last for an option."""
        found = None
        for word, following in zip(self.words, [*self.words[1:], ""], strict=True):
            if word == option:
                found = following
            elif word.startswith(f"{option}="):
                found = word[len(option) + 1 :]
        return found

    @property
    def budget(self) -> float | None:
        """The seconds that the program was given, if they are few enough to hold it to them."""
        try:
            seconds = float(self.value_of("--seconds") or "nan")
        except ValueError:
            return None
        return seconds if math.isfinite(seconds) and 0 <= seconds <= LONGEST_BUDGET else None
