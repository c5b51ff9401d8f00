"""Files written whole or not at all, and the optional libraries that some of them need."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from typing import Any

from cellbounds.errors import InvalidInput

__all__ = ["is_stream", "library", "write_whole"]


def library(name: str, *, needed_for: str, extra: str) -> Any:
    """Import an optional library, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        needed = name.partition(".")[0]
        raise InvalidInput(
            f"{needed_for} need {needed}; install it with pip install 'cellbounds[{extra}]'"
        ) from None


def is_stream(path: Path) -> bool:
    """Whether a path is written to as it is: a terminal, a pipe, a device, an open stream.

    Examples
    --------
    >>> is_stream(Path("/dev/null")), is_stream(Path("table.csv"))
    (True, False)
    """
    # An open stream may lead to an ordinary file that already holds what others wrote to it.
    opened = str(path.absolute()).startswith(("/dev/std", "/dev/fd/", "/proc/self/fd/"))
    return path.exists() and (opened or not (path.is_file() or path.is_dir()))


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file at once: readers see the old content or the new, never a part.

    What is not an ordinary file (a terminal, a pipe, /dev/null) is written to as it is; a link
    keeps pointing where it does.
    """
    target = Path(os.path.realpath(path))
    # Bytes as they are: newlines are not translated.
    raw = content.encode("utf-8") if isinstance(content, str) else content
    temporary: str | None = None
    try:
        if is_stream(path):
            # By its own name: what a pipe's link leads to is no path.
            with path.open("ab") as stream:
                stream.write(raw)
            return
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
        Path(temporary).chmod(target.stat().st_mode if target.exists() else _usual_mode())
        Path(temporary).replace(target)
    except OSError as problem:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise InvalidInput(f"{path} cannot be written: {problem.strerror}") from None


def _usual_mode() -> int:
    """The mode of a new file; private temporary files have another."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
