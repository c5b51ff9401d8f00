"""Records or cells in Parquet files of any size, counted by several threads."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from cellbounds.data.formats.parquet import ParquetBatches, parquet_batches
from cellbounds.data.microdata.csv_files import check_same_columns
from cellbounds.data.microdata.selection import Selection
from cellbounds.data.microdata.tally import CELL_BYTES, Tabulation, Tally, tally_of
from cellbounds.errors import InvalidInput

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
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(type_):
        return _kind(type_.value_type)
    kinds = {
        "text": (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_binary,
            types.is_large_binary,
        ),
        "truth values": (types.is_boolean,),
        "whole numbers": (types.is_integer,),
        "dates": (types.is_date,),
    }
    fitting = (kind for kind, checks in kinds.items() if any(check(type_) for check in checks))
    return next(fitting, str(type_))
