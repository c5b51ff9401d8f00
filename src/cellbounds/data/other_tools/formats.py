"""The formats of other tools, and which of them a file has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellbounds.data.other_tools import acro, suppression_frames, tau_argus
from cellbounds.data.other_tools.building import Reading
from cellbounds.data.other_tools.lines import read_text
from cellbounds.data.other_tools.suppression_frames import has_statuses
from cellbounds.data.published import PublishedTable
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import opened


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name, whether a file looks like it, and how it is read."""

    name: str
    recognises: Callable[[Path, str], bool]
    read: Callable[[Path, str, Reading], tuple[PublishedTable, ...]]


FORMATS = (
    Format(acro.NAME, acro.recognises, acro.read),
    Format(suppression_frames.NAME, suppression_frames.recognises, suppression_frames.read),
    Format(tau_argus.NAME, tau_argus.recognises, tau_argus.read),
)
"""In the order in which files are tried."""


def format_of(path: Path, text: str, name: str | None) -> Format | None:
    """The format of a file: the one that is named, or the first that it looks like."""
    if name is None:
        return next((each for each in FORMATS if each.recognises(path, text)), None)
    named = next((each for each in FORMATS if each.name == name), None)
    if named is None:
        names = ", ".join(each.name for each in FORMATS)
        raise InvalidInput(f"there is no format {name!r}; choose one of {names}")
    return named


def read_protected(
    source: Any, reading: Reading | None = None, *, tool: str | None = None
) -> tuple[PublishedTable, ...] | None:
    """Read what another tool wrote; None if it looks like nothing of theirs.

    Parameters
    ----------
    source
        A text file, the folder with ACRO's ``results.json``, or a frame with statuses.
    reading
        What it does not say itself.
    tool
        The format to read it as, whatever it looks like.
    """
    known = reading or Reading()
    if not isinstance(source, str | Path):
        names = [str(name) for name in getattr(source, "columns", ())]
        framed = tool == suppression_frames.NAME or (tool is None and has_statuses(names))
        return (suppression_frames.read_frame(source, known),) if framed else None
    path = Path(source)
    if path.is_dir() and (path / "results.json").is_file():
        path = path / "results.json"
    if tool is None and not _is_text(path):
        return None
    text = read_text(path)
    kind = format_of(path, text, tool)
    return None if kind is None else kind.read(path, text, known)


def _is_text(path: Path) -> bool:
    """Whether a file can be looked at: a pipe is read once, and workbooks are read elsewhere."""
    if not path.is_file():
        return False
    with opened(path) as stream:
        return not stream.read(4).startswith((b"PK", b"PAR1", b"<"))
