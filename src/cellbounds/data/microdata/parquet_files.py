"""Records or cells in Parquet files of any size, through Arrow, counted by several threads."""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from cellbounds.data.formats.kinds import Coded, SourceColumns
from cellbounds.data.microdata.tally import CELL_BYTES, Selection, Tabulation, Tally, tally_of
from cellbounds.data.reading import check_same_columns
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.files import library

_FLOATS = {"float": "float32", "double": "float64"}


def source_column(column: Any) -> Coded | list[Any]:
    """A column of labels: numbered, or as a list if its values are no labels.

    Texts that a writer did not mark as such become texts.
    """
    import pyarrow

    types = pyarrow.types
    if types.is_nested(column.type):
        listed: list[Any] = column.to_pylist()
        return listed
    if not types.is_dictionary(column.type):
        column = column.dictionary_encode()
    labels = column.dictionary
    if types.is_binary(labels.type) or types.is_large_binary(labels.type):
        labels = labels.cast(pyarrow.string())
    values = labels.to_pylist()
    indices = column.indices
    if indices.type != pyarrow.int32():
        indices = indices.cast(pyarrow.int32())
    if indices.null_count:
        values.append(None)
    codes = _plain(indices, instead=len(values) - 1)
    if codes.view(np.uint32).max(initial=0) >= max(len(values), 1):
        raise ValueError("a number that no label has")
    return Coded(values, codes)


def number_column(column: Any) -> Coded | list[Any] | IntArray:
    """A column of numbers: an array, if none of them is missing."""
    import pyarrow

    is_binary = pyarrow.types.is_integer(column.type) or str(column.type) in _FLOATS
    return _plain(column) if is_binary and not column.null_count else source_column(column)


def _plain(column: Any, instead: int = 0) -> IntArray:
    """Numbers of an Arrow column, with something instead of missing ones.

    Arrow's own way loads pandas first, which takes as long as counting ten million lines.
    """
    validity, values = column.buffers()
    span = slice(column.offset, column.offset + len(column))
    kind = np.dtype(_FLOATS.get(str(column.type), str(column.type)))
    numbers = np.frombuffer(values or b"", dtype=kind)[span]
    if not column.null_count:
        return numbers
    there = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[span]
    return np.where(there, numbers, numbers.dtype.type(instead))


_UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")


@dataclass(frozen=True, slots=True)
class ParquetBatches:
    """A Parquet file that is read a batch at a time: its schema, and the lines of its row groups.

    `source` is what its bytes are read from: a path, or a buffer.
    """

    path: str
    source: Any
    schema: Any
    names: list[str]
    metadata: Any
    stamp: tuple[int, ...] | None

    @property
    def groups(self) -> list[int]:
        """The lines of each row group."""
        return [self.metadata.row_group(k).num_rows for k in range(self.metadata.num_row_groups)]

    def chunks(
        self, selection: Selection, group: int, start: int, lines: int
    ) -> Iterator[SourceColumns]:
        """The columns that are used, so many lines of a row group at a time."""
        import pyarrow

        types = pyarrow.types
        self._check_unchanged()
        with _careful(self.path):
            # Texts come as numbers of labels, which is how they are stored.
            names = [name for name in self.names if _is_text(self.schema.field(name).type)]
            file = _opened(self.source, read_dictionary=names, metadata=self.metadata)
            batches = file.iter_batches(lines, row_groups=[group], columns=selection.columns)
            for batch in batches:
                columns = {name: batch.column(name) for name in selection.columns}
                values: dict[str, Any] = {
                    name: source_column(columns[name]) for name in selection.used
                }
                if selection.amount is not None:
                    values[selection.amount] = number_column(columns[selection.amount])
                declared = {
                    name: column.dictionary.to_pylist()
                    for name, column in columns.items()
                    if types.is_dictionary(self.schema.field(name).type)
                    and types.is_dictionary(column.type)
                }
                yield SourceColumns(self.path, values, declared, start=start)
                start += batch.num_rows
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if _stamp(self.source) != self.stamp:
            raise InvalidInput(f"{self.path} was changed while it was read; read it again")


def parquet_batches(path: str, source: Any) -> ParquetBatches:
    """What the end of a Parquet file says about its columns; nothing else is read."""
    stamp = _stamp(source)
    with _careful(path):
        file = _opened(source)
        schema, metadata = file.schema_arrow, file.metadata
    return ParquetBatches(path, source, schema, _names(path, schema), metadata, stamp)


def _stamp(source: Any) -> tuple[int, ...] | None:
    """What tells a file from one that took its place; None if it is not one, or gone."""
    if not isinstance(source, str | Path):
        return None
    try:
        state = Path(source).stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns


def _is_text(type_: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(type_):
        return _is_text(type_.value_type)
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_binary(type_))


def _opened(source: Any, **options: Any) -> Any:
    import pyarrow
    from pyarrow import parquet

    stream = pyarrow.BufferReader(source) if isinstance(source, bytes) else str(source)
    return parquet.ParquetFile(stream, page_checksum_verification=True, **options)


@contextmanager
def _careful(path: str) -> Iterator[None]:
    """Say of which file the library complains."""
    import pyarrow

    try:
        yield
    except InvalidInput:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as problem:
        reason = (str(problem).splitlines() or ["no reason given"])[0][:200]
        raise InvalidInput(
            f"{path} is a damaged, unfinished or unusual Parquet file ({reason}); write it again, "
            "or read it into a data frame and pass that"
        ) from None


def _names(path: str, schema: Any) -> list[str]:
    names = list(schema.names)
    for name, times in Counter(names).items():
        if not name.strip() or times > 1:
            raise InvalidInput(
                f"{path}: column name {name!r} is empty or stands twice; give every column a name "
                "of its own"
            )
    # pandas stores the line numbers of a frame that was filtered or sorted.
    return [name for name in names if not _UNNAMED_INDEX.fullmatch(name)]


_MOST_THREADS = 8
"""More of them would keep more lines in memory, and wait for whoever puts parts together."""

_MOST_LINES = 2**22
"""Lines of a row group up to which a thread counts all of them before it hands them over."""

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Parquet files with the same columns, in order; so many lines are read at a time."""

    where: str
    files: tuple[ParquetBatches, ...]
    lines: int

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return self.files[0].names

    def tally(self, selection: Selection, memory: int | None) -> Tally:
        """Count what is in the files."""
        tasks = [
            (file, group, start)
            for file in self.files
            for group, start in enumerate(itertools.accumulate(file.groups, initial=0))
            if group < len(file.groups)
        ]
        longest = max(max(file.groups, default=0) for file in self.files)
        if not longest:
            raise InvalidInput(f"{self.where} has no data lines; add one line for each cell")
        tabulation = Tabulation(self.where, selection, memory)

        def counted(task: tuple[ParquetBatches, int, int]) -> Iterator[Tally]:
            file, group, start = task
            return map(tabulation.part, file.chunks(selection, group, start, self.lines))

        parts: Iterable[Iterable[Tally]] = map(counted, tasks)
        # Row groups that were counted wait for those before them: they need memory, too.
        most = len(tasks) if memory is None else memory // (CELL_BYTES * max(longest, 1))
        if len(tasks) > 1 and most > 2 and longest <= _MOST_LINES:
            parts = _side_by_side(lambda task: list(counted(task)), tasks, most)
        return tally_of(tabulation, itertools.chain.from_iterable(parts))


def _side_by_side(
    work: Callable[[Task], Answer], tasks: Iterable[Task], most: int
) -> Iterator[Answer]:
    """Answers in the order of the tasks; threads work on the next few meanwhile.

    At most so many are under way or wait, one of them with whoever listens.
    """
    import pyarrow

    threads = min(pyarrow.cpu_count(), _MOST_THREADS, max(most - 2, 1))
    waiting: deque[Future[Answer]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def parquet_files(where: str, sources: Sequence[tuple[str, Any]], lines: int) -> ParquetFiles:
    """Look at the schemas of Parquet files, each with its name and where its bytes are.

    They must name the same columns of like types.
    """
    library("pyarrow.parquet", needed_for="Parquet files", extra="parquet")
    first, *others = files = [parquet_batches(path, source) for path, source in sources]
    for file in others:
        check_same_columns(first.path, first.names, file.path, file.names)
        for name in first.names:
            kinds = [_kind(parts.schema.field(name).type) for parts in (first, file)]
            if kinds[0] != kinds[1]:
                raise InvalidInput(
                    f"column {name!r} holds {kinds[0]} in {first.path}, but {kinds[1]} in "
                    f"{file.path}; files of one table need columns of one type"
                )
    if not first.names:
        raise InvalidInput(f"{where} has no columns; it needs one for each variable")
    return ParquetFiles(where, tuple(files), lines)


def _kind(type_: Any) -> str:
    """What a column holds, in the words of somebody who looks at labels."""
    from pyarrow import types

    if types.is_dictionary(type_):
        return _kind(type_.value_type)
    name = str(type_)
    if name in ("string", "large_string", "string_view", "binary", "large_binary"):
        return "text"
    if types.is_integer(type_):
        return "whole numbers"
    return "dates" if types.is_date(type_) else {"bool": "truth values"}.get(name, name)
