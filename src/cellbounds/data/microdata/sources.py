"""Which files a path, a folder, a pattern or a list of them stands for."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellbounds.data.formats import HEAD, Kind, check_name, kind_of
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import check_ordinary, opened, read_bytes

__all__ = ["Files", "files_of", "is_paths"]

_TABLES = (".csv", ".csv.gz", ".parquet", ".pq")
"""What is read in a folder."""

_OTHERS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods", ".tsv", ".tsv.gz", ".feather", ".arrow")
"""What may be meant as a part of the table, but is not read there."""


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one kind that hold one table, in order; `where` is how they were named."""

    where: str
    paths: tuple[Path, ...]
    kind: Kind


def is_paths(source: Any) -> bool:
    """Whether a list is one of paths, and not of counts."""
    if not isinstance(source, list | tuple) or not source:
        return False
    if not all(isinstance(one, str | Path) for one in source):
        return False
    return not all(isinstance(one, str) and one.strip().isdigit() for one in source)


def files_of(source: str | Path | Sequence[str | Path]) -> Files | Path:
    """The files behind a source; a lone file that is named as such stays a path."""
    if not isinstance(source, str | Path):
        _check_named(*source)
        where = f"{len(source)} files from {source[0]}"
        return _of_one_kind(where, [path for one in source for path in _expanded(one)])
    _check_named(source)
    path = Path(source)
    if path.is_dir():
        return _of_one_kind(str(path), _below(path))
    found = _expanded(source)
    if found == [path]:
        return path
    return _of_one_kind(str(source), found)


def _check_named(*sources: str | Path) -> None:
    for source in sources:
        # An empty path would be the current folder, which nobody has named; a line break or the
        # like may stand in a name, but nothing after a NUL would be looked at.
        if not str(source).strip() or "\0" in str(source):
            raise InvalidInput(
                f"the name of a table is {str(source)!r}; name a file, a folder or a pattern"
            )


def _expanded(source: str | Path) -> list[Path]:
    """The files that a path or a pattern names."""
    path = Path(source)
    if path.is_dir():
        return _below(path)
    if path.exists() or not glob.has_magic(str(source)):
        return [path]
    # `Path.glob` would find hidden files, which a shell and this leave out.
    matches = glob.glob(str(source), recursive=True)  # noqa: PTH207 - absolute patterns too
    found = [Path(one) for one in sorted(matches)]
    files = [below for one in found for below in (_below(one) if one.is_dir() else [one])]
    if not files:
        raise InvalidInput(f"no file matches the pattern {str(source)!r}; correct it")
    # A pattern may name a folder and what is in it.
    return list(dict.fromkeys(files))


def _below(folder: Path) -> list[Path]:
    """The table files in a folder and the folders below, sorted by their paths."""
    found: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=_unreadable):
        # Writers leave markers, logs and unfinished parts under such names.
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += [Path(root, name) for name in names if not name.startswith((".", "_"))]
    found.sort(key=lambda path: path.relative_to(folder).parts)
    odd = next((path for path in found if path.name.lower().endswith(_OTHERS)), None)
    if odd is not None:
        raise InvalidInput(
            f"{folder} holds {odd}; of a folder, only CSV files (.csv, .csv.gz) or Parquet files "
            "are read as one table. Move it elsewhere, or name the files by a pattern"
        )
    tables = [path for path in found if path.name.lower().endswith(_TABLES)]
    if not tables:
        raise InvalidInput(
            f"{folder} is a directory without any table file; it needs files that end in "
            f"{', '.join(_TABLES)}"
        )
    return tables


def _unreadable(problem: OSError) -> None:
    raise InvalidInput(f"{problem.filename} cannot be read: {problem.strerror}")


def _of_one_kind(where: str, paths: Iterable[Path]) -> Files:
    kinds: dict[Kind, Path] = {}
    listed = tuple(paths)
    for path in listed:
        if listed.count(path) > 1:
            raise InvalidInput(f"{where}: {path} is named twice; its records would count twice")
        kinds.setdefault(_kind(path), path)
    if Kind.EXCEL in kinds:
        raise InvalidInput(
            f"{where}: {kinds[Kind.EXCEL]} is an Excel workbook, which is read alone; save it as "
            "CSV or Parquet, or name it alone"
        )
    if len(kinds) > 1:
        raise InvalidInput(
            f"{where} holds CSV files ({kinds[Kind.TEXT]}) and Parquet files "
            f"({kinds[Kind.PARQUET]}); one table needs files of one kind: name them by a pattern"
        )
    return Files(where, listed, next(iter(kinds)))


def _kind(path: Path) -> Kind:
    if not stat.S_ISREG(check_ordinary(path).st_mode):
        raise InvalidInput(f"{path} is a pipe, which is read alone; name it alone")
    with opened(path) as stream:
        head = stream.read(HEAD)
    if head.startswith(b"PK\x03\x04"):
        head = read_bytes(path)
    if not head:
        raise InvalidInput(
            f"{path} is empty; every file of a table needs its columns: take it away or write it "
            "again"
        )
    kind = kind_of(path, head)
    check_name(path, kind)
    return kind
