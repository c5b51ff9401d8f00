"""DuckDB, embedded: a connection of our own, with a limit to its memory."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.files import library, private_folder
from cellbounds.runtime.interrupts import stoppable
from cellbounds.runtime.memory import allowed

__all__ = [
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
