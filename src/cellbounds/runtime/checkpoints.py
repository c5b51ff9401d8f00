"""Long work on disk: what was proven and found so far, so that it can be stopped and resumed.

A file of lines, after one that says what was asked. Lines are only ever appended, each by one
call, so that a process that is killed leaves at most its last line torn. Each line carries a
checksum against accidental damage; it does not protect against somebody who forges the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import weakref
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import limit
from cellbounds.runtime.memory import size_text
from cellbounds.version import __version__

PRIVATE = 0o600
"""For the owner only: tables that were found with the help of the owner's lean towards it."""

HOW = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)

BEGIN = b'["'
SUM = 8
"""Hexadecimal digits of a checksum."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a state is kept for, and how one of something else is told.

    Attributes
    ----------
    what
        In words.
    format
        The first thing that a header says.
    differences
        Entries of the header that must agree, and what a file is in which one does not.
    """

    what: str
    format: str
    differences: tuple[tuple[str, str], ...]


QUESTION = Purpose(
    "a question",
    "cellbounds-state/1",
    (
        ("release", "the state of a question about another release"),
        ("question", "the state of a question about other cells, or of another kind"),
        ("start", "the state of a question with (or without) the owner's table to start from"),
    ),
)


def header_of(
    release: str,
    kind: str,
    over: Sequence[str],
    cells: Sequence[Sequence[int]] | None,
    *,
    start: bool,
) -> dict[str, Any]:
    """What tells one question from another.

    Parameters
    ----------
    release
        The digest of the release.
    kind, over, cells
        What is asked about it.
    start
        Whether the owner's table helps. What is found with its help is as confidential as the
        table, and must not get into answers that are to be public.
    """
    question = json.dumps([kind, list(over), None if cells is None else [list(c) for c in cells]])
    return {
        "format": QUESTION.format,
        "version": __version__,
        "release": release,
        "question": hashlib.sha256(question.encode()).hexdigest(),
        "start": start,
    }


class Checkpoint:
    """A file that keeps what was proven and found; made if it is not there.

    Parameters
    ----------
    path
        Where it is.
    header
        What is asked (see :func:`header_of`).
    purpose
        What it is kept for: a question, unless said.

    Raises
    ------
    InvalidInput
        If the file belongs to another question or version, is damaged, is being written by
        another process, or cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bounds.state"
    >>> header = header_of("ab12", "sharp", ["county"], None, start=False)
    >>> Checkpoint(path, header).add("part", {"bounds": [[0, 1, 7]]})
    >>> list(Checkpoint(path, header).entries("part"))
    [{'bounds': [[0, 1, 7]]}]
    """

    def __init__(
        self, path: str | Path, header: dict[str, Any], purpose: Purpose = QUESTION
    ) -> None:
        self.path = Path(path)
        self.start = bool(header.get("start"))
        is_new = not os.path.lexists(path)
        try:
            self._file = os.open(self.path, HOW, PRIVATE)
        except OSError as problem:
            raise InvalidInput(f"{path} cannot be written: {problem.strerror}") from None
        # Answers go on working when they are asked for more, so the file is open while they live.
        self._end = weakref.finalize(self, os.close, self._file)
        try:
            # Pipes and devices keep nothing, and some never end.
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise InvalidInput(
                    f"{path} is no ordinary file, which a state must be; name a new file"
                )
            _lock(self.path, self._file)
            first = json.dumps(header, separators=(",", ":")).encode() + b"\n"
            begun = next(self._lines(), b"")
            # New, or killed while its first line was written.
            if os.fstat(self._file).st_size <= len(begun) and first.startswith(begun):
                os.ftruncate(self._file, 0)
                self._begin(first, is_new)
                return
            _check_header(self.path, begun.rpartition(b"\n")[0], header, purpose)
            os.ftruncate(self._file, self._sound())
        except OSError as problem:
            self.close()
            raise InvalidInput(f"{path} cannot be used as a state: {problem.strerror}") from None
        except InvalidInput:
            self.close()
            raise

    def _begin(self, first: bytes, is_new: bool) -> None:
        try:
            self._write(first)
        except InvalidInput:
            if is_new:  # while it is locked: nobody else has begun to use it
                self.path.unlink(missing_ok=True)
            raise

    def __repr__(self) -> str:
        return f"<Checkpoint {self.path}>"

    def close(self) -> None:
        """Give the file free; what is added later is an error."""
        self._end()

    def entries(self, part: str) -> Iterator[dict[str, Any]]:
        """What was added about a part of the question, in order."""
        mark = json.dumps(part).encode()
        for number, line in enumerate(self._lines(), 1):
            if number > 1 and line.startswith(mark, len(BEGIN) + SUM + 2):
                try:
                    content = json.loads(line)[2]
                except (ValueError, IndexError):
                    content = None
                if not isinstance(content, dict):
                    raise damaged(self.path, f"line {number}")
                yield content

    def _lines(self) -> Iterator[bytes]:
        """The lines with their ends, one after another; the last one may be torn."""
        # Not opened again, since closing it would give up the lock; nor read at once.
        with open(self._file, "rb", closefd=False) as stream:
            stream.seek(0)
            most = limit("bytes")
            while line := stream.readline(most + 1):
                if len(line) > most:
                    raise InvalidInput(
                        f"{self.path} is no state: it has a line of more than {size_text(most)}; "
                        "give the name of a new file"
                    )
                yield line

    def _sound(self) -> int:
        """How many bytes are whole lines; the last one may have been torn by a crash."""
        length, size = 0, os.fstat(self._file).st_size
        for number, line in enumerate(self._lines(), 1):
            end = length + len(line)
            checksum, body = line[len(BEGIN) : len(BEGIN) + SUM], line[len(BEGIN) + SUM + 2 : -1]
            sound = line[: len(BEGIN)] == BEGIN and checksum == b"%08x" % zlib.crc32(body)
            if not line.endswith(b"\n"):
                break
            if number > 1 and not sound:
                if end == size:
                    break
                raise damaged(self.path, f"line {number}")
            length = end
        return length

    def add(self, part: str, entry: dict[str, Any]) -> None:
        """Keep something about a part of the question."""
        body = json.dumps([part, entry], separators=(",", ":"))[1:].encode()
        self._write(b'["%08x",%s\n' % (zlib.crc32(body), body))

    def _write(self, line: bytes) -> None:
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
        except OSError as problem:
            raise InvalidInput(
                f"{self.path} cannot be written: {problem.strerror}; what it holds so far is kept"
            ) from None
        if written < len(line):
            with contextlib.suppress(OSError):  # else the next to read it drops the torn line
                os.ftruncate(self._file, before)
            raise InvalidInput(
                f"{self.path} cannot be written: the disk is full; what it holds so far is kept"
            )


def damaged(path: Path, where: str) -> InvalidInput:
    """The error for a file that does not hold what was written into it."""
    return InvalidInput(f"{where} of {path} is damaged; delete the file to begin anew")


def _lock(path: Path, file: int) -> None:
    """Keep other processes out, where the system can."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise InvalidInput(
            f"{path} is being written by another process; wait until it ends, or name a new file"
        ) from None
    except OSError:  # some network drives know no locks
        return


def _check_header(path: Path, line: bytes, expected: dict[str, Any], purpose: Purpose) -> None:
    try:
        content = json.loads(line)
    except ValueError:
        content = None
    if not isinstance(content, dict) or content.get("format") != purpose.format:
        raise InvalidInput(f"{path} is no state of {purpose.what}; give the name of a new file")
    version = ("version", "made by another version of cellbounds")
    for what, words in (version, *purpose.differences):
        if content.get(what) != expected[what]:
            raise InvalidInput(
                f"{path} is {words}; resume with what it was begun with, or name a new file"
            )
