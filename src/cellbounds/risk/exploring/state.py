"""A search on disk: what was found so far, so that it can be stopped and resumed.

A line of JSON for each design, after a line that says what is being searched. Lines are only ever
appended, each by one call, so that a process that is killed leaves at most its last line torn.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from cellbounds.checkpoints import check_ordinary, content_of, lock
from cellbounds.errors import InvalidInput
from cellbounds.risk.exploring.designs import Design
from cellbounds.risk.exploring.judged import Judged
from cellbounds.risk.exploring.measuring import Settings
from cellbounds.table import Table
from cellbounds.version import __version__

__all__ = ["State", "header_of"]

FORMAT = "cellbounds-explore-state/1"

PRIVATE = 0o600
"""For the owner only: what is safe to publish about a table says something about it."""


def header_of(table: Table, designs: Sequence[Design], settings: Settings) -> dict[str, str]:
    """What tells one search from another: table, designs and all that they are judged by."""
    options = {
        "designs": [one.to_dict() for one in designs],
        "policy": settings.policy.to_dict(),
        "independent": settings.independent,
        "use": settings.use,
        "utility": _name_of(settings.utility),
    }
    canonical = json.dumps(options, sort_keys=True, default=str)
    return {
        "format": FORMAT,
        "version": __version__,
        "table": table.digest,
        "options": hashlib.sha256(canonical.encode()).hexdigest(),
    }


def _name_of(utility: Callable[..., float] | None) -> str | None:
    """A function's name: the only thing about it that can be compared."""
    if utility is None:
        return None
    named = utility if hasattr(utility, "__qualname__") else type(utility)
    return f"{named.__module__}.{named.__qualname__}"


class State:
    """What was found so far, in a file that is created if it is not there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "search.jsonl"
    >>> header = {"format": FORMAT, "version": "1", "table": "ab", "options": "cd"}
    >>> with State(path, header, []) as state:
    ...     state.found
    {}
    """

    def __init__(self, path: str | Path, header: dict[str, str], designs: Sequence[Design]) -> None:
        self.path = Path(path)
        self._designs = designs
        first = _line(header)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, PRIVATE)
        except OSError as problem:
            raise InvalidInput(f"{path} cannot be written: {problem.strerror}") from None
        try:
            check_ordinary(self.path, self._file)
            lock(self.path, self._file)
            content = content_of(self._file)
            if first.startswith(content):  # new, or killed while its first line was written
                self.found: dict[int, Judged] = {}
                os.ftruncate(self._file, 0)
                self._write(first)
                return
            whole = content[: content.rfind(b"\n") + 1]
            said, *lines = whole.splitlines() or [b""]
            _check_header(self.path, said, header)
            self.found, kept = self._read(lines)
            os.ftruncate(self._file, len(said) + 1 + kept)
        except OSError as problem:
            os.close(self._file)
            raise InvalidInput(f"{path} cannot be used as a state: {problem.strerror}") from None
        except InvalidInput:
            os.close(self._file)
            raise

    def _read(self, lines: Sequence[bytes]) -> tuple[dict[int, Judged], int]:
        """What the lines say, and how many bytes of them are whole."""
        found: dict[int, Judged] = {}
        length = 0
        for number, line in enumerate(lines, 2):
            try:
                said = json.loads(line)
                place = said["place"]
                found[place] = Judged.of(self._designs[place], said)
            except (ValueError, KeyError, IndexError, TypeError):
                if number == len(lines) + 1:
                    break  # torn by a crash: this design is judged again
                raise InvalidInput(
                    f"line {number} of {self.path} is damaged; delete the file to begin anew"
                ) from None
            length += len(line) + 1
        return found, length

    def add(self, place: int, judged: Judged) -> None:
        """Keep what was found about the design at a place."""
        self._write(_line({"place": place, **judged.found()}))

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._file, line)
        except OSError as problem:
            raise InvalidInput(f"{self.path} cannot be written: {problem.strerror}") from None
        if written < len(line):
            raise InvalidInput(f"{self.path} cannot be written: the disk is full")

    def __enter__(self) -> State:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _check_header(path: Path, line: bytes, expected: dict[str, str]) -> None:
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise InvalidInput(f"{path} is no state of a search; give the name of a new file")
    for what, words in (
        ("version", "made by another version of cellbounds"),
        ("table", "the state of a search about another table"),
        ("options", "the state of a search with other designs, policy or options"),
    ):
        if said.get(what) != expected[what]:
            raise InvalidInput(
                f"{path} is {words}; resume with what it was begun with, or name a new file"
            )
