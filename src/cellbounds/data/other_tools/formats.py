"""The formats of other tools, and which of them a file has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cellbounds.data.other_tools import acro, suppression_frames, tau_argus
from cellbounds.data.other_tools.building import Reading
from cellbounds.data.other_tools.lines import read_text
from cellbounds.data.published import PublishedTable
from cellbounds.errors import InvalidInput


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


def format_of(path: Path, text: str, name: str | None = None) -> Format | None:
    """The format of a file: the one that is named, or the first that it looks like."""
    if name is None:
        return next((each for each in FORMATS if each.recognises(path, text)), None)
    found = next((each for each in FORMATS if each.name == name), None)
    if found is None:
        names = ", ".join(each.name for each in FORMATS)
        raise InvalidInput(f"there is no format {name!r}; choose one of {names}")
    return found


def read_protected(
    source: str | Path, reading: Reading | None = None, *, format_name: str | None = None
) -> tuple[PublishedTable, ...] | None:
    """Read a file that another tool wrote; None if it looks like none of their formats.

    Parameters
    ----------
    source
        A file, or the folder with ACRO's ``results.json``.
    reading
        What the file does not say itself.
    format_name
        The format to read it as, whatever it looks like.
    """
    path = Path(source)
    if path.is_dir() and (path / "results.json").is_file():
        path = path / "results.json"
    text = read_text(path)
    found = format_of(path, text, format_name)
    return None if found is None else found.read(path, text, reading or Reading())
