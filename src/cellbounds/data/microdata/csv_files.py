"""Records or cells in CSV files of any size."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cellbounds.data.formats import Columns, csv_stream
from cellbounds.data.microdata.asking import Asked
from cellbounds.data.microdata.sources import Files
from cellbounds.data.microdata.tally import Tally, tally_of
from cellbounds.data.spreadsheets import is_safe, restored_cell
from cellbounds.errors import InvalidInput

__all__ = ["CsvFiles", "csv_files"]

_BATCH = 2**15
"""Rows at a time: a few megabytes of Python values."""


@dataclass(frozen=True, slots=True)
class CsvFiles:
    """CSV files with the same columns.

    Parameters
    ----------
    where, paths
        How the files were named, and the files in order.
    encoding, delimiter
        How they are written.
    headers
        The columns of each file as written.
    guarded
        Whether apostrophes stand before what looks like a formula; None if nobody has looked yet.
    """

    where: str
    paths: tuple[Path, ...]
    encoding: str
    delimiter: str
    headers: tuple[tuple[str, ...], ...]
    guarded: bool | None = None

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return [restored_cell(name) if self.guarded else name for name in self.headers[0]]

    def tally(self, asked: Asked, memory: str | None) -> Tally:
        """Count what is in the files, by DuckDB if it reads them the same way."""
        from cellbounds.data.microdata.quick_csv import quick_csv

        found = quick_csv(self, asked, memory)
        if found is None:
            found = tally_of(self.where, self.chunks(), asked)
        if not len(found.amounts):
            raise InvalidInput(
                f"{self.where} has a header but no data lines; add one line for each cell"
            )
        return self._restored(found)

    def chunks(self) -> Generator[Columns, None, None]:
        """Columns of text, a batch of rows at a time, under the names of :attr:`header`."""
        for path, written in zip(self.paths, self.headers, strict=True):
            names = [restored_cell(name) if self.guarded else name for name in written]
            start = 0
            with csv_stream(path, encoding=self.encoding, delimiter=self.delimiter) as opened:
                _, rows = opened
                while batch := list(itertools.islice(rows, _BATCH)):
                    values = dict(zip(names, zip(*batch, strict=True), strict=True))
                    yield Columns(str(path), values, start=start)
                    start += len(batch)

    def _restored(self, tally: Tally) -> Tally:
        """Take apostrophes before formulas away, if every field of every file is guarded so."""
        if not any(restored_cell(label) != label for label in _texts(tally)):
            return tally
        if self.guarded is False or not (self.guarded or _is_guarded(self)):
            return tally
        levels = {name: list(map(restored_cell, found)) for name, found in tally.levels.items()}
        return replace(tally, levels=levels)


def csv_files(files: Files, *, encoding: str, delimiter: str) -> CsvFiles:
    """Look at the headers of CSV files: they must name the same columns."""
    headers: list[tuple[str, ...]] = []
    for path in files.paths:
        with csv_stream(path, encoding=encoding, delimiter=delimiter) as (header, _):
            headers.append(tuple(header))
        check_same_columns(files.paths[0], headers[0], path, header)
    found = CsvFiles(files.where, files.paths, encoding, delimiter, tuple(headers))
    if any(restored_cell(name) != name for header in headers for name in header):
        return replace(found, guarded=_is_guarded(found))
    return found


def check_same_columns(
    first: Path, expected: Sequence[str], path: Path, header: Sequence[str]
) -> None:
    """Refuse a file with other columns than the first one; their order does not matter."""
    for has, lacks, name in itertools.chain(
        ((path, first, name) for name in header if name not in expected),
        ((first, path, name) for name in expected if name not in header),
    ):
        raise InvalidInput(
            f"{has} has a column {name!r}, but {lacks} has not; files of one table need the same "
            "columns"
        )


def _texts(tally: Tally) -> Iterator[Any]:
    return itertools.chain.from_iterable(tally.levels.values())


def _is_guarded(files: CsvFiles) -> bool:
    """Whether every field is as :func:`~cellbounds.data.spreadsheets.safe_cell` writes it."""
    seen: set[str] = set()
    for path in files.paths:
        with csv_stream(path, encoding=files.encoding, delimiter=files.delimiter) as opened:
            header, rows = opened
            for row in itertools.chain([header], rows):
                new = [field for field in row if field not in seen]
                if not all(map(is_safe, new)):
                    return False
                if len(seen) < _BATCH:
                    seen.update(new)
    return True
