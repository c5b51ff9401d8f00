"""Records or cells in CSV files of any size.

CSV files tabulated by DuckDB, where it reads them as our own reader does.

Our reader takes every field as it stands and refuses lines of another length. DuckDB is more
lenient: it drops spaces around quotes, lets a delimiter too many pass at the end of a line, takes
any bytes in a column that is not asked for, and has its own mind about lines that end in different
ways. So the bytes are looked at first, which costs little, and files with such things are read by
our own reader.
"""

from __future__ import annotations

import codecs
import gzip
import itertools
import re
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.formats.delimited import codec_of, csv_stream
from cellbounds.data.formats.kinds import SourceColumns
from cellbounds.data.microdata.duckdb_engine import (
    Result,
    added_numbers,
    batches_of,
    connected,
    is_installed,
    listed,
    questioned,
    quoted,
    text_literal,
)
from cellbounds.data.microdata.selection import Selection
from cellbounds.data.microdata.sources import Files
from cellbounds.data.microdata.tally import Tally, tally_of
from cellbounds.data.spreadsheets import is_safe, restored_cell
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import GZIP

__all__ = ["check_same_columns", "csv_files"]

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

    def tally(self, selection: Selection, memory: str | None) -> Tally:
        """Count what is in the files, by DuckDB if it reads them the same way."""
        tallied = quick_csv(self, selection, memory)
        if tallied is None:
            tallied = tally_of(self.where, self.chunks(), selection)
        if not len(tallied.amounts):
            raise InvalidInput(
                f"{self.where} has a header but no data lines; add one line for each cell"
            )
        return self._restored(tallied)

    def chunks(self) -> Generator[SourceColumns, None, None]:
        """Columns of text, a batch of rows at a time, under the names of :attr:`header`."""
        for path, written in zip(self.paths, self.headers, strict=True):
            names = [restored_cell(name) if self.guarded else name for name in written]
            start = 0
            with csv_stream(path, encoding=self.encoding, delimiter=self.delimiter) as opened:
                _, rows = opened
                while batch := list(itertools.islice(rows, _BATCH)):
                    values = dict(zip(names, zip(*batch, strict=True), strict=True))
                    yield SourceColumns(str(path), values, start=start)
                    start += len(batch)

    def _restored(self, tally: Tally) -> Tally:
        """Take apostrophes before formulas away, if every field of every file is guarded so."""
        if not any(restored_cell(label) != label for label in _texts(tally)):
            return tally
        if self.guarded is False or not (self.guarded or _is_guarded(self)):
            return tally
        levels = {name: list(map(restored_cell, labels)) for name, labels in tally.levels.items()}
        return replace(tally, levels=levels)


def csv_files(files: Files, *, encoding: str, delimiter: str) -> CsvFiles:
    """Look at the headers of CSV files: they must name the same columns."""
    headers: list[tuple[str, ...]] = []
    for path in files.paths:
        with csv_stream(path, encoding=encoding, delimiter=delimiter) as (header, _):
            headers.append(tuple(header))
        check_same_columns(files.paths[0], headers[0], path, header)
    listed_files = CsvFiles(files.where, files.paths, encoding, delimiter, tuple(headers))
    if any(restored_cell(name) != name for header in headers for name in header):
        return replace(listed_files, guarded=_is_guarded(listed_files))
    return listed_files


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


_BLOCK = 2**20
_PREFIX = 2**16
"""Lines at the beginning in which most labels are found, in order, without asking again."""

_LONGEST = 2**17
"""Characters of a label that our own reader takes."""

_MARGIN = 64
"""Bytes of a block that are looked at again with the next one."""


def quick_csv(files: CsvFiles, selection: Selection, memory: str | None) -> Tally | None:
    """The tally, or None if the files have to be read line by line."""
    if not is_installed() or not _is_plain(files):
        return None
    looks = [_look(path, files.delimiter.encode()) for path in files.paths]
    if any(look is None for look in looks):
        return None
    with connected(memory) as connection, questioned():
        return _CsvQuery(files, selection, connection, [look for look in looks if look]).tally()
    return None


def _is_plain(files: CsvFiles) -> bool:
    """Whether encoding, delimiter and headers are such that DuckDB can be asked at all."""
    if codec_of(files.encoding) not in ("utf-8-sig", "utf_8_sig"):
        return False
    # Of a lone column, an empty line would be a line; a space may be taken for padding.
    one_header = len(set(files.headers)) == 1 and len(files.headers[0]) > 1
    return one_header and files.delimiter.isascii() and files.delimiter not in " '\\#"


@dataclass(frozen=True, slots=True)
class _Look:
    """What the bytes of a file say: is it packed, how many delimiters has it."""

    packed: bool
    delimiters: int


def _look(path: Path, delimiter: bytes) -> _Look | None:
    """Look at the bytes of a file; None if it is not for DuckDB."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    delimiters, last = 0, b""
    returns, ends, both = 0, 0, 0
    try:
        for block in _blocks(path):
            # An empty line before the header would be taken for the header.
            if not last and block.removeprefix(codecs.BOM_UTF8)[:1] in (b"\n", b"\r"):
                return None
            if b"\x00" in block:
                return None
            if b'"' in block and _has_padded_quotes(last + block, delimiter):
                return None
            if not block.isascii() or decoder.getstate()[0]:
                decoder.decode(block)
            # Counting in arrays is ten times faster where what is counted is frequent.
            numbers = np.frombuffer(block, dtype=np.uint8)
            delimiters += int(np.count_nonzero(numbers == delimiter[0]))
            ends += int(np.count_nonzero(numbers == ord("\n")))
            if b"\r" in block:
                returns += block.count(b"\r")
                both += block.count(b"\r\n")
            both += last.endswith(b"\r") and block.startswith(b"\n")
            last = block[-_MARGIN:]
        decoder.decode(b"", final=True)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return None
    # Lines that end in several ways are taken apart in ways of their own.
    if returns and not returns == ends == both:
        return None
    return _Look(_is_packed(path), delimiters)


def _has_trailing(path: Path, delimiter: bytes) -> bool:
    """Whether a delimiter stands at the end of a line somewhere."""
    last = b""
    for block in _blocks(path):
        seam = last + block
        if delimiter + b"\n" in seam or delimiter + b"\r" in seam:
            return True
        last = block[-1:]
    return last == delimiter


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as raw:
        stream: Any = gzip.GzipFile(fileobj=raw) if raw.peek(2).startswith(GZIP) else raw
        yield from iter(lambda: stream.read(_BLOCK), b"")


def _is_packed(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(GZIP)) == GZIP


def _has_padded_quotes(text: bytes, delimiter: bytes) -> bool:
    """Whether spaces stand between a quote and the beginning or end of its field."""
    if not any(pair in text for pair in (b' "', b'" ', b'\t"', b'"\t')):
        return False
    edge = re.escape(delimiter) + rb"\r\n"
    padded = rb'(?:^|[%b])[ \t]+"|"[ \t]+(?:[%b]|$)' % (edge, edge)
    # So much space at the end might be the beginning of such a place.
    return not text[-_MARGIN // 2 :].strip() or re.search(padded, text) is not None


class _CsvQuery:
    """The questions to one connection about some files."""

    def __init__(
        self, files: CsvFiles, selection: Selection, connection: Any, looks: Sequence[_Look]
    ) -> None:
        self.files = files
        self.selection = selection
        self.connection = connection
        self.looks = looks
        self.delimiter = files.delimiter.encode()
        columns = ", ".join(f"{text_literal(name)}: 'VARCHAR'" for name in files.header)
        self.sources = [
            f"read_csv({listed(list(map(str, paths)))}, columns={{{columns}}}, header=true, "
            f"auto_detect=false, delim={text_literal(files.delimiter)}, quote='\"', escape='\"', "
            "strict_mode=true, null_padding=false, ignore_errors=false, hive_partitioning=false, "
            f"compression='{'gzip' if packed else 'none'}')"
            for packed, paths in self._runs()
        ]

    def _runs(self) -> Iterator[tuple[bool, list[Path]]]:
        """Files that follow each other and are packed in the same way."""
        both = zip(self.looks, self.files.paths, strict=True)
        for packed, run in itertools.groupby(both, key=lambda pair: pair[0].packed):
            yield packed, [path for _, path in run]

    def tally(self) -> Tally | None:
        chosen = ", ".join(map(quoted, self.selection.used))
        amount = self.selection.amount
        sums = [] if amount is None else added_numbers(quoted(amount), self.selection)
        column = [] if amount is None else [quoted(amount)]
        source = " UNION ALL ".join(
            f"SELECT {', '.join([chosen, *column])} FROM {source}" for source in self.sources
        )
        result = Result(self.selection, {name: {} for name in self.selection.used})
        result.read(
            batches_of(
                self.connection,
                f"SELECT {', '.join([chosen, 'count(*)', *sums])} FROM ({source}) "
                f"GROUP BY {chosen}",
            )
        )
        missing = any((code < 0).any() for codes in result.codes for code in codes)
        if (
            result.odd
            or not self._is_even(result)
            or (missing and self.selection.missing == "error")
        ):
            return None
        if any(len(text) >= _LONGEST for labels in result.positions.values() for text in labels):
            return None
        return result.tally(self.files.where, self._ordered(result))

    def _is_even(self, result: Result) -> bool:
        """Whether no line has a delimiter too many at its end, as far as can be seen."""
        lines = sum(int(lines.sum()) for lines in result.lines) + len(self.files.paths)
        if sum(look.delimiters for look in self.looks) == lines * (len(self.files.header) - 1):
            return True
        # Perhaps labels hold delimiters.
        return not any(_has_trailing(path, self.delimiter) for path in self.files.paths)

    def _ordered(self, result: Result) -> dict[str, list[str]]:
        """The labels of each column in the order in which they first appear."""
        appearing: dict[str, dict[str, None]] = {name: {} for name in self.selection.used}
        read = 0
        with closing(self.files.chunks()) as chunks:
            for columns in chunks:
                for name in appearing:
                    appearing[name].update(dict.fromkeys(columns.values[name]))
                read += len(columns.values[self.selection.used[0]])
                if read >= _PREFIX:
                    break
        for labels in appearing.values():
            labels.pop("", None)
        unseen = [
            name for name in appearing if result.positions[name].keys() - appearing[name].keys()
        ]
        if unseen:
            for name, later in self._appearing(unseen).items():
                appearing[name].update(dict.fromkeys(later))
        return {name: list(labels) for name, labels in appearing.items()}

    def _appearing(self, names: list[str]) -> dict[str, list[str]]:
        """All labels of some columns in the order in which they first appear: lines are numbered.

        One thread reads the files from their beginning to their end, so that lines have the
        numbers that they have in the files.
        """
        self.connection.execute("SET threads=1")
        columns = ", ".join(map(quoted, names))
        source = " UNION ALL ".join(
            f"SELECT {place} AS part_, {columns}, row_number() OVER () AS line_ FROM {source}"
            for place, source in enumerate(self.sources)
        )
        sets = ", ".join(f"({quoted(name)})" for name in names)
        rows = self.connection.execute(
            f"SELECT {columns}, min(part_ * 1000000000000000 + line_) AS first_ FROM ({source}) "
            f"GROUP BY GROUPING SETS ({sets}) ORDER BY first_"
        ).fetchall()
        # Of a set, all other columns are empty; missing labels are no labels.
        return {
            name: [row[place] for row in rows if row[place] is not None]
            for place, name in enumerate(names)
        }
