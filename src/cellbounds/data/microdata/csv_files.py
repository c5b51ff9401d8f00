"""Records or cells in CSV files of any size.

Our own reader takes every field as it stands and refuses lines of another length. Arrow's reader
takes files apart in the same way and ten times as fast, but for three things: it lets text behind a
closing quote and an open quote at the end of a file pass, and any bytes in columns that are not
asked for. So the bytes are looked at on their way to it, which costs little, and files with such
things, or with an error that our own reader names better, are read by that one.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import importlib.util
import io
import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.formats.delimited import codec_of, csv_stream
from cellbounds.data.formats.kinds import SourceColumns
from cellbounds.data.microdata.parquet_files import source_column
from cellbounds.data.microdata.tally import Selection, Tabulation, Tally, tally_of
from cellbounds.data.reading import Sizes, check_same_columns
from cellbounds.data.spreadsheets import is_safe, restored_cell
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import GZIP

_REMEMBERED = 2**15
"""Fields that were looked at and need not be looked at again."""


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
    sizes
        How many rows are read at a time, and whether Arrow may read them.
    guarded
        Whether apostrophes stand before what looks like a formula; None if nobody has looked yet.
    """

    where: str
    paths: tuple[Path, ...]
    encoding: str
    delimiter: str
    headers: tuple[tuple[str, ...], ...]
    sizes: Sizes
    guarded: bool | None = None

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return self._names(self.headers[0])

    def tally(self, selection: Selection, memory: int | None) -> Tally:
        """Count what is in the files, read by Arrow if it reads them the same way."""
        tallied = self.quick_tally(selection, memory)
        if tallied is None:
            tabulation = Tabulation(self.where, selection, memory)
            tallied = tally_of(tabulation, map(tabulation.part, self.chunks()))
        if not all(tallied.levels.values()):
            raise InvalidInput(
                f"{self.where} has a header but no data lines; add one line for each cell"
            )
        return self._restored(tallied)

    def chunks(self) -> Iterator[SourceColumns]:
        """Columns of text, a batch of rows at a time, under the names of :attr:`header`."""
        for path, written in zip(self.paths, self.headers, strict=True):
            names, start = self._names(written), 0
            with csv_stream(path, self.encoding, self.delimiter) as (_, rows):
                while batch := list(itertools.islice(rows, self.sizes.rows)):
                    values = dict(zip(names, zip(*batch, strict=True), strict=True))
                    yield SourceColumns(str(path), values, start=start)
                    start += len(batch)

    def quick_tally(self, selection: Selection, memory: int | None) -> Tally | None:
        """The tally, or None if the files have to be read line by line."""
        if not (
            self.sizes.quick
            and importlib.util.find_spec("pyarrow")
            and codec_of(self.encoding) in ("utf-8-sig", "utf_8_sig")
            and self.delimiter.isascii()
        ):
            return None
        import pyarrow

        tabulation = Tabulation(self.where, selection, memory)
        chunks = itertools.chain.from_iterable(
            self._arrow_chunks(path, written, selection)
            for path, written in zip(self.paths, self.headers, strict=True)
        )
        try:
            tallied = tally_of(tabulation, map(tabulation.part, chunks))
        except (_Unusual, InvalidInput, pyarrow.ArrowException, OSError, EOFError, zlib.error):
            return None
        labels = itertools.chain.from_iterable(tallied.levels.values())
        longest = max((len(label or "") for label in labels), default=0)
        return tallied if longest < csv.field_size_limit() else None

    def _arrow_chunks(
        self, path: Path, written: Sequence[str], selection: Selection
    ) -> Iterator[SourceColumns]:
        """Columns as Arrow reads them, some lines at a time."""
        import pyarrow
        from pyarrow import csv as arrow_csv

        names = dict(zip(self._names(written), written, strict=True))
        chosen = {names[name]: name for name in selection.columns}
        text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        start = 0
        with path.open("rb") as raw:
            packed = raw.peek(2).startswith(GZIP)
            plain: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            reader = arrow_csv.open_csv(
                _Plain(plain, self.delimiter),
                arrow_csv.ReadOptions(block_size=self.sizes.block),
                arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(written, text), include_columns=list(chosen)
                ),
            )
            for batch in reader:
                columns = zip(chosen.values(), batch.columns, strict=True)
                values = {name: source_column(column) for name, column in columns}
                yield SourceColumns(str(path), values, start=start)
                start += batch.num_rows

    def _names(self, written: Sequence[str]) -> list[str]:
        return [restored_cell(name) if self.guarded else name for name in written]

    def _restored(self, tally: Tally) -> Tally:
        """Take apostrophes before formulas away, if every field of every file is guarded so."""
        levels = {
            name: [label and restored_cell(label) for label in labels]
            for name, labels in tally.levels.items()
        }
        if levels == tally.levels or self.guarded is False:
            return tally
        return replace(tally, levels=levels) if self.guarded or _is_guarded(self) else tally


def csv_files(
    where: str, paths: Sequence[Path], *, encoding: str, delimiter: str, sizes: Sizes
) -> CsvFiles:
    """Look at the headers of CSV files: they must name the same columns."""
    headers: list[tuple[str, ...]] = []
    for path in paths:
        with csv_stream(path, encoding, delimiter) as (header, _):
            headers.append(tuple(header))
        check_same_columns(paths[0], headers[0], path, header)
    listed_files = CsvFiles(where, tuple(paths), encoding, delimiter, tuple(headers), sizes)
    if any(restored_cell(name) != name for header in headers for name in header):
        return replace(listed_files, guarded=_is_guarded(listed_files))
    return listed_files


def _is_guarded(files: CsvFiles) -> bool:
    """Whether every field is as :func:`~cellbounds.data.spreadsheets.safe_cell` writes it."""
    seen: set[str] = set()
    for path in files.paths:
        with csv_stream(path, files.encoding, files.delimiter) as (header, rows):
            for row in itertools.chain([header], rows):
                new = [field for field in row if field not in seen]
                if not all(map(is_safe, new)):
                    return False
                if len(seen) < _REMEMBERED:
                    seen.update(new)
    return True


class _Unusual(Exception):
    """Something that Arrow would take in another way."""


class _Plain(io.RawIOBase):
    """The bytes of a file, looked at on their way.

    They must be UTF-8 without NUL. Quotes open and close fields in turn: one that opens stands at
    the beginning of a field, one that closes at its end, and two in a row are a quote in a field.
    Fields in quotes hold no carriage returns.
    """

    def __init__(self, stream: Any, delimiter: str) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._edges = np.zeros(256, dtype=bool)
        self._edges[list(f'{delimiter}\r\n"'.encode())] = True
        self._begun = False
        self._quotes = 0
        # The last two bytes: what stands behind the last one is not known yet.
        self._last = b"\n\n"

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        block: bytes = self._stream.read(size)
        self._look(block if self._begun else block.removeprefix(codecs.BOM_UTF8), final=not block)
        self._begun = True
        return block

    def _look(self, block: bytes, *, final: bool) -> None:
        try:
            if not block.isascii() or self._decoder.getstate()[0]:
                self._decoder.decode(block, final)
        except UnicodeDecodeError:
            raise _Unusual from None
        text = self._last + (b"\n" if final else block)
        self._last = text[-2:]
        if b"\x00" in block:
            raise _Unusual
        numbers = np.frombuffer(text, dtype=np.uint8)
        if b"\r" in text and (b'"' in text or self._quotes % 2):
            # Arrow loses a line feed where a block ends between it and the return before it.
            quotes = self._quotes + np.cumsum(numbers[1:-1] == ord('"'))
            if (quotes[numbers[1:-1] == ord("\r")] % 2).any():
                raise _Unusual
        if b'"' in text:
            places = np.flatnonzero(numbers[1:-1] == ord('"')) + 1
            opens = (np.arange(len(places)) + self._quotes) % 2 == 0
            self._quotes += len(places)
            if not self._edges[numbers[np.where(opens, places - 1, places + 1)]].all():
                raise _Unusual
        if final and self._quotes % 2:
            raise _Unusual
