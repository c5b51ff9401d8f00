"""Synthetic tables as files: CSV and a README of what they keep, all of them or none."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from cellbounds.data.domain import Domain
from cellbounds.data.formats.writing import text_levels
from cellbounds.data.spreadsheets import csv_text, safe_cell
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import hidden_folder, remove_abandoned, unfinished_beside
from cellbounds.runtime.interrupts import uninterrupted
from cellbounds.statements.release_files import figure_column
from cellbounds.version import __version__

README, REPLACED = "README.md", "replaced"

ESCAPED = """
Some labels begin like a formula, or with an apostrophe before one. They are written
with one more apostrophe, so that no spreadsheet runs them; cellbounds takes it off.
"""

_COPY = re.compile(r"synthetic-[0-9]+\.csv")


def write_folder(
    folder: str | Path,
    tables: Sequence[Table],
    kept: Sequence[str],
    made: Sequence[str],
    *,
    overwrite: bool,
) -> list[Path]:
    """Write one CSV file a table and a README into a folder, all of them or none.

    Parameters
    ----------
    folder
        Where.
    tables
        The tables, all over the same domain.
    kept, made
        What the tables keep and how they were made, one text a line.
    overwrite
        Whether files of these names may be replaced.
    """
    target = Path(folder)
    domain = tables[0].domain
    text_levels({name: domain.levels(name) for name in domain.names})
    texts = {f"synthetic-{i}.csv": _csv_text(table) for i, table in enumerate(tables, start=1)}
    texts[README] = _readme(domain, list(texts), kept, made)
    try:
        _recover(target.absolute())
        _check_folder(target, texts, overwrite)
        _write(target, texts)
    except OSError as problem:
        raise InvalidInput(
            f"{target} cannot be written: {problem.strerror}; nothing was changed"
        ) from None
    return [target / name for name in texts]


def _csv_text(table: Table) -> str:
    header = [*table.domain.names, figure_column("count", table.domain)]
    cells = zip(table.domain.cells(), table.counts.flat, strict=True)
    return csv_text(header, ([*map(str, labels), int(count)] for labels, count in cells))


def _readme(domain: Domain, names: Sequence[str], kept: Sequence[str], made: Sequence[str]) -> str:
    levels = (f"{_inline(name)} ({len(domain.levels(name))} levels)" for name in domain.names)
    single = len(names) == 1
    template = resources.files("cellbounds.synthetic") / "README.template.md"
    text = template.read_text(encoding="utf-8").format(
        files=names[0] if single else f"{names[0]} to {names[-1]} ({len(names)} tables)",
        column=_inline(figure_column("count", domain)),
        variables=", ".join(levels),
        agreement="The table agrees" if single else "Every table agrees",
        kept="\n".join(f"- {_inline(text)}" for text in kept),
        made="\n".join(f"- {_line(text)}" for text in made),
        version=__version__,
        copies=f"{len(names)} {'copy' if single else 'copies'}",
    )
    texts = [str(text) for name in domain.names for text in (name, *domain.levels(name))]
    if any(safe_cell(text) != text for text in texts):
        text += ESCAPED
    return text


def _line(text: str) -> str:
    return " ".join(text.split())


def _inline(text: str) -> str:
    """A text as code, whatever is in it."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{_line(text)}{pad}{fence}"


def _check_folder(target: Path, texts: Mapping[str, str], overwrite: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise InvalidInput(f"{target} is not a folder; give the name of a folder")
    there = {path.name: path for path in target.iterdir()}
    taken = [name for name in texts if name in there]
    if taken and not overwrite:
        raise InvalidInput(
            f"{target} has {', '.join(taken[:3])}{', ...' * (len(taken) > 3)} already; choose "
            "another folder, or give overwrite=True (--overwrite)"
        )
    for name in taken:
        if not there[name].is_file():
            raise InvalidInput(f"{there[name]} is not a file; choose another folder")
    stale = [name for name in there if _COPY.fullmatch(name) and name not in texts]
    if stale:
        raise InvalidInput(
            f"{target} has {min(stale)}, which is none of these tables; remove it, or choose "
            "another folder"
        )


def _write(target: Path, texts: Mapping[str, str]) -> None:
    """Write into a folder beside the target, then move: at once if the target is new."""
    beside = target.absolute()
    with hidden_folder(beside) as hidden:
        staged = hidden / "tables"
        staged.mkdir()
        for name, text in texts.items():
            (staged / name).write_text(text, encoding="utf-8", newline="")
        if target.exists():
            uninterrupted(_move_into, target, staged, list(texts))
        else:
            staged.rename(beside)


def _replaced(target: Path) -> Path:
    """Where files are that are being replaced: kept, whatever happens."""
    return target.parent / f".{target.name}.{REPLACED}"  # "/" has no name


def _recover(target: Path) -> None:
    """Bring back what a process that was killed was about to replace."""
    remove_abandoned(target)
    if _replaced(target).is_dir() and target.is_dir() and not unfinished_beside(target):
        for path in _replaced(target).iterdir():
            _bring_back(path, target / path.name)
        _replaced(target).rmdir()


def _bring_back(kept: Path, place: Path) -> None:
    """Put a file back where it was; where it still is, replacing it by itself does nothing."""
    kept.replace(place)
    kept.unlink(missing_ok=True)


def _keep(place: Path, kept: Path) -> None:
    """Keep a file under another name, and where it is: it is there whenever somebody looks."""
    try:
        os.link(place, kept)
    except OSError:  # some file systems know no second names
        place.rename(kept)


def _move_into(target: Path, staged: Path, names: Sequence[str]) -> None:
    """Move files into a folder that exists; what they replace comes back if one cannot be moved."""
    replaced = _replaced(target.absolute())
    replaced.mkdir(mode=0o700)
    finished = False
    try:
        for name in names:
            if (target / name).exists():
                _keep(target / name, replaced / name)
            (staged / name).replace(target / name)
        finished = True
    finally:
        if not finished:
            _move_back(target, staged, names)
    shutil.rmtree(replaced)


def _move_back(target: Path, staged: Path, names: Sequence[str]) -> None:
    replaced = _replaced(target.absolute())
    for name in names:
        if (replaced / name).exists():
            _bring_back(replaced / name, target / name)
        elif not (staged / name).exists():
            (target / name).unlink(missing_ok=True)
    # Files that could not be brought back stay where they are.
    if not any(replaced.iterdir()):
        replaced.rmdir()
