"""What the commands write, and where."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TextIO

import click

from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.files import is_stream, remove_abandoned, write_whole
from cellbounds.text import legible

if TYPE_CHECKING:
    from cellbounds.report.formats import Renderable
    from cellbounds.results.answers import CertifiedAnswer


def check_suffix(path: str, suffixes: Sequence[str]) -> None:
    """Refuse the name of a file whose ending says nothing about its kind."""
    if Path(path).suffix.lower() not in suffixes:
        raise InvalidInput(f"{path} cannot be written; end its name with {' or '.join(suffixes)}")


def check_outputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """Refuse, before any work, files that cannot be written or would replace something needed.

    That is an input, or another output. What is not given is None, and inputs need not be files.
    """
    needed = [(path, "an input") for path in inputs if path is not None]
    for path in outputs:
        if path is None:
            continue
        target = Path(path)
        stream = is_stream(target)
        place = target if stream else Path(os.path.realpath(target)).parent
        why = "" if os.access(place, os.W_OK) else "permission denied"
        if target.is_dir():
            why = "it is a folder"
        elif not place.exists():
            why = f"there is no folder {target.parent}"
        if why:
            raise InvalidInput(f"{path} cannot be written: {why}; name another file")
        remove_abandoned(target)
        if stream:
            continue
        for other, what in needed:
            exist = Path(path).exists() and Path(other).exists()
            same = os.path.realpath(path) == os.path.realpath(other)
            if Path(path).samefile(other) if exist else same:
                raise InvalidInput(
                    f"{path} cannot be written: it is {what} ({other}); name another file"
                )
            if _is_among(path, other):
                raise InvalidInput(
                    f"{path} cannot be written: it would be read as a part of {other} next time; "
                    "name a file elsewhere"
                )
        needed.append((path, "another output"))


def _is_among(path: str, source: str) -> bool:
    """Whether a file would be one of those that a folder or a pattern stands for."""
    written = Path(os.path.realpath(path))
    if Path(source).is_dir():
        return written.is_relative_to(os.path.realpath(source))
    if Path(source).exists() or not has_magic(source):
        return False
    pattern = str(Path(source).absolute())
    places = {str(written), str(Path(path).absolute())}
    if "**" in pattern:
        return any(fnmatch(place, pattern) for place in places)
    return any(Path(place).match(pattern) for place in places)


def open_output(path: str) -> None:
    """See, by opening it, whether something can be written there; nothing is."""
    target = Path(path)
    try:
        if not is_stream(target):
            # Files are written beside their place first, and then put there.
            with tempfile.TemporaryFile(dir=Path(os.path.realpath(target)).parent):
                return
        if not target.is_fifo():  # a pipe may wait for its reader
            os.close(os.open(target, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY))
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be written: {problem.strerror}; name another file"
        ) from None


def write_text(
    text: str, output: str | None, style: str = "table", *, private: bool = False
) -> None:
    """Write to a file, whole or not at all, or to standard output.

    Tables are for people: what they cannot see is shown as an escape, and what their terminal
    cannot show as well. Other styles are data, which stay as they are. What is `private` goes into
    a file for its owner only.
    """
    if style == "table":
        text = legible(text)
    if output is not None and Path(output).absolute() != Path("/dev/stdout"):
        write_whole(Path(output), text, private=private)
        return
    if style == "table":
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        # In colour: else what looks like one would be taken out of the data.
        click.echo(text, nl=False, color=True)
    except BrokenPipeError:
        # The reader has left; the verdict is the same, whether or not anybody reads it.
        drop_output()
    except OSError as problem:
        drop_output()
        raise InvalidInput(
            f"standard output cannot be written: {problem.strerror}; write to a file with -o"
        ) from None


def write_result(result: Renderable, given: SimpleNamespace, *, private: bool = False) -> None:
    """Write a result as the options ``--format`` and ``--output`` say."""
    from cellbounds.report.formats import render

    write_text(render(result, given.style), given.output, given.style, private=private)


def write_plain(result: Any, style: str, output: str | None, *, private: bool = False) -> None:
    """Write what has plain values for JSON, and a text for people."""
    from cellbounds.report.formats import json_text

    text = json_text(result.to_dict(), indent=2) if style == "json" else f"{result}\n"
    write_text(text, output, style, private=private)


DRAWING = {".svg": 0.5, ".png": 0.5, ".html": 1.6}
"""Seconds that a chart takes, most of them for starting what draws it; nothing can stop that."""


def save_chart(result: Any, path: str, budget: Budget, *, private: bool = False) -> None:
    """Draw a result to a file, if there is time for it."""
    from cellbounds.results import charts

    with unwritten(path):
        if not budget.affords(DRAWING[Path(path).suffix.lower()]):
            raise Unsettled("the budget is spent; give more seconds")
        charts.save_chart(result.plot(), path, private=private)


@contextmanager
def unwritten(path: str) -> Iterator[None]:
    """Say that a file beside the answer is not written, if that would take too long."""
    try:
        yield
    except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
        say(f"{path} was not written: {problem}")


def drop_output() -> None:
    """Let what standard output still holds go nowhere, so that shutdown does not fail on it."""
    _drop(sys.stdout)


def say(message: str) -> None:
    """Say something on standard error, if anybody hears it.

    A message is one line, which logs and scripts can search; a terminal shows it in several.
    """
    with said():
        terminal = sys.stderr is not None and sys.stderr.isatty()
        click.echo(legible(message, fitted=terminal), err=True)


@contextmanager
def said() -> Iterator[None]:
    """Where standard error is written to: the status is the same if it cannot be written."""
    try:
        yield
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    # What stands in for a standard stream in a test or a notebook may have no descriptor.
    with suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


CERTIFYING = 0.75
"""The part of what is left for finding witnesses and proofs; then they are to be written."""


def write_certificate(answer: CertifiedAnswer, path: str, budget: Budget, *, private: bool) -> None:
    """Write the certificate of an answer."""
    part = budget.before_writing(answer.size, CERTIFYING)
    certificate = answer.certificate(budget=part)
    text = json.dumps(certificate, ensure_ascii=False) + "\n"
    write_text(text, path, "json", private=private)
