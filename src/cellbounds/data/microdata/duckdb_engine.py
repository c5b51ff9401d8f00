"""DuckDB, embedded: a connection of our own, with a limit to its memory.

What DuckDB adds up in each cell, and its results as a tally.

Sums are exact: whole numbers in 128 bits, decimals with 18 digits behind the point. A number that
does not fit these, or is written in another way, counts as odd: whoever asked then reads the files
line by line, in Python, where every number is exact.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP
from typing import Any, TypeVar

import numpy as np

from cellbounds.data.microdata.selection import Selection
from cellbounds.data.microdata.tally import Tally, gathered, is_missing
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.arrays import SAFE, IntArray, whole_array
from cellbounds.runtime.files import library, private_folder
from cellbounds.runtime.interrupts import stoppable
from cellbounds.runtime.memory import allowed

__all__ = [
    "Result",
    "added_integers",
    "added_numbers",
    "answered",
    "batches_of",
    "check_memory",
    "connected",
    "is_installed",
    "listed",
    "questioned",
    "quoted",
    "text_literal",
]

SHARE = 0.5
"""Share of the free memory, or of what the whole work may take if that is less, that a tabulation
may take: others work on the same machine, and what does not fit goes to disk."""

LEAST = 256 * 2**20
"""Memory without which a tabulation goes to disk at once."""

_MEMORY = re.compile(r"[0-9]+(\.[0-9]+)? ?[KMGT]i?B", re.IGNORECASE)

_BATCH = 2**19
"""Cells at a time."""

Answer = TypeVar("Answer")


def is_installed() -> bool:
    """Whether DuckDB and what it hands its results over with are there."""
    return all(importlib.util.find_spec(name) is not None for name in ("duckdb", "pyarrow"))


@contextmanager
def connected(memory: str | None) -> Iterator[Any]:
    """A database in memory, which writes what does not fit into a folder that is removed after."""
    duckdb = _duckdb()
    with private_folder() as spill:
        connection = duckdb.connect(":memory:")
        try:
            connection.execute(f"SET temp_directory={text_literal(str(spill))}")
            # Files are local and of kinds that it knows by itself: nothing is fetched.
            connection.execute("SET autoinstall_known_extensions=false")
            connection.execute("SET enable_progress_bar=false")
            connection.execute(f"SET memory_limit={text_literal(_limit(memory))}")
            yield connection
        except duckdb.OutOfMemoryException:
            raise TooMuchWork(
                "the cells that occur do not fit the memory allowed and the disk for temporary "
                "files; allow more with memory=..., or choose fewer columns with variables=[...]"
            ) from None
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except RuntimeError as problem:
            # So DuckDB tells that somebody pressed Ctrl-C while it worked.
            if "interrupted" in str(problem):
                raise KeyboardInterrupt from None
            raise
        finally:
            connection.close()


def batches_of(connection: Any, query: str) -> Iterator[Any]:
    """The result of a query, in batches of Arrow data that are dropped one after another."""
    relation = connection.sql(query)
    # Its older name is no longer liked by later versions.
    name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_record_batch"
    reader = answered(connection, lambda: getattr(relation, name)(_BATCH))
    while (batch := answered(connection, lambda: next(reader, None))) is not None:
        yield batch


def answered(connection: Any, call: Callable[[], Answer]) -> Answer:
    """What a call to DuckDB gives; whoever interrupts the main thread ends it.

    While DuckDB plans a query it does not hear Ctrl-C, and forgets it.
    """
    return stoppable(call, connection.interrupt)


@contextmanager
def questioned() -> Iterator[list[str]]:
    """Where DuckDB may refuse a file: the reason ends up in the list, and whoever asks goes on.

    What says nothing about the file, such as too little memory, is raised.
    """
    duckdb = _duckdb()
    reasons: list[str] = []
    try:
        yield reasons
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.Error as problem:
        reasons.append(str(problem))


def quoted(name: str) -> str:
    """A name in a query."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text in a query."""
    return "'" + text.replace("'", "''") + "'"


def listed(texts: Sequence[str]) -> str:
    """A list of texts in a query."""
    return f"[{', '.join(map(text_literal, texts))}]"


def check_memory(memory: str | None) -> None:
    """Refuse a limit that is none."""
    if memory is not None and not (isinstance(memory, str) and _MEMORY.fullmatch(memory)):
        raise InvalidInput(f"memory={memory!r}; give a text, such as '2GiB' or '500MB'")


def _limit(memory: str | None) -> str:
    if memory is not None:
        return memory
    import psutil

    free = min(psutil.virtual_memory().available, allowed() or math.inf)
    most = max(LEAST, int(free * SHARE))
    return f"{most // 2**20}MiB"


def _duckdb() -> Any:
    return library("duckdb", needed_for="large files", extra="microdata")


_WHOLE = r"\s*\+?[0-9]{1,18}(\.0*)?\s*"
_DECIMAL = r"\s*\+?([0-9]{1,12}(\.[0-9]{0,18})?|\.[0-9]{1,18})\s*"
"""Numbers whose sum over a hundred billion lines stays within 38 digits, 18 of them behind the
point."""


def added_integers(column: str, selection: Selection) -> list[str]:
    """What to select about a column of integers: its sum, odd ones, and how many are there."""
    odd = f"{column} < 0" if selection.uncounted else f"{column} IS NULL OR {column} < 0"
    return [f"sum({column})", f"count(*) FILTER (WHERE {odd})", f"count({column})"]


def added_numbers(text: str, selection: Selection) -> list[str]:
    """The same about a column of text."""
    pattern = _DECIMAL if selection.rounded else _WHOLE
    fine = f"regexp_full_match({text}, '{pattern}')"
    there = f"nullif({text}, '')"
    number = f"CAST(split_part(trim({text}), '.', 1) AS UBIGINT)"
    if selection.rounded:
        number = f"CAST(trim({text}) AS DECIMAL(38, 18))"
    # A cast that may fail is not asked about texts that are no numbers.
    value = f"CASE WHEN {fine} THEN {number} END"
    odd = f"{there} IS NOT NULL AND NOT {fine}" if selection.uncounted else f"({fine}) IS NOT TRUE"
    return [f"sum({value})", f"count(*) FILTER (WHERE {odd})", f"count({there})"]


@dataclass(slots=True)
class Result:
    """Cells as they come from a query: labels, lines, and sums, odd ones and counted ones."""

    selection: Selection
    positions: Mapping[str, dict[Any, int]]
    codes: list[list[IntArray]] = field(default_factory=list)
    lines: list[IntArray] = field(default_factory=list)
    sums: list[IntArray] = field(default_factory=list)
    counted: list[IntArray] = field(default_factory=list)
    odd: int = 0

    def read(self, batches: Iterable[Any]) -> None:
        """Take batches of Arrow data; labels that no position was given yet get the next ones."""
        for batch in batches:
            self.codes.append(
                [
                    positions_in(batch.column(place), self.positions[name])
                    for place, name in enumerate(self.selection.used)
                ]
            )
            further = batch.columns[len(self.selection.used) :]
            self.lines.append(_filled(further[0]))
            if self.selection.amount is not None:
                self.sums.append(_whole(further[1]))
                self.odd += int(_filled(further[2]).sum())
                self.counted.append(_filled(further[3]) > 0)

    def tally(self, where: str, order: Mapping[str, Sequence[Any]]) -> Tally:
        """The cells, their labels in the order given."""
        columns = []
        for place, name in enumerate(self.selection.used):
            turned = {label: position for position, label in enumerate(order[name])}
            moved = np.array([turned[label] for label in self.positions[name]] + [-1])
            narrow = moved.astype(_narrowest(len(moved)))
            parts = [narrow[codes[place]] for codes in self.codes]
            columns.append(np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64))
        lines = _joined(self.lines)
        is_file = self.selection.amount is not None and not self.selection.weighted
        return gathered(
            where,
            order,
            columns,
            lines if self.selection.amount is None else _joined(self.sums),
            lines=lines if is_file else None,
            counted=_joined(self.counted).astype(bool) if is_file else None,
        )


def positions_in(column: Any, positions: dict[Any, int]) -> IntArray:
    """The position of each label of an Arrow column, missing ones -1; new labels join them."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    labels = column.dictionary.to_pylist()
    used = _filled(column.indices.cast(pyarrow.int32()), len(labels))
    moved = np.full(len(labels) + 1, -1, dtype=np.int32)
    # An engine may declare labels that do not occur: they are no business of this column.
    for place in np.flatnonzero(np.bincount(used, minlength=len(labels) + 1)).tolist():
        if place < len(labels) and not is_missing(labels[place]):
            moved[place] = positions.setdefault(labels[place], len(positions))
    return np.asarray(moved[used])


def _filled(column: Any, instead: int = 0) -> IntArray:
    """Integers of an Arrow column, with something instead of missing ones.

    Arrow's own way loads pandas first, which takes as long as counting ten million lines.
    """
    validity, values = column.buffers()
    if not len(column):
        return np.zeros(0, dtype=np.int64)
    span = slice(column.offset, column.offset + len(column))
    numbers = np.frombuffer(values, dtype=np.dtype(str(column.type)))[span]
    if not column.null_count:
        return numbers
    there = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[span]
    return np.where(there, numbers, numbers.dtype.type(instead))


def _whole(column: Any) -> IntArray:
    """Sums as whole numbers; decimals are rounded, half up. The sum of nothing is 0."""
    import pyarrow

    if pyarrow.types.is_integer(column.type):
        return _filled(column, 0)
    numbers = [
        0 if number is None else int(number.to_integral_value(rounding=ROUND_HALF_UP))
        for number in column.to_pylist()
    ]
    return whole_array(numbers, (len(numbers),))


def _joined(parts: Sequence[IntArray]) -> IntArray:
    if not parts:
        return np.zeros(0, dtype=np.int64)
    joined = np.concatenate(parts)
    if joined.dtype.kind == "i" and int(joined.max(initial=0)) * len(joined) >= SAFE:
        return joined.astype(object)
    return joined


def _narrowest(size: int) -> Any:
    """The smallest type for positions: there may be millions of cells."""
    return np.int8 if size < 2**7 else np.int16 if size < 2**15 else np.int64
