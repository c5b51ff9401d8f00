"""A table as the same bytes however it is kept: what its digests are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from cellbounds.data.domain import Domain
from cellbounds.data.storage.dense import DENSE_LIMIT
from cellbounds.data.storage.sparse import Sparse

__all__ = ["canonical_bytes"]

_AT_ONCE = 2**16
"""Numbers that are put together before they are handed on."""


def canonical_bytes(domain: Domain, cells: Sparse) -> Iterator[bytes]:
    """Levels, the places of structural zeros, and counts, in JSON and in pieces.

    Every count in order where a table can be listed cell by cell; beyond that, the place and the
    count of each occupied cell.
    """
    levels = [[name, list(map(str, domain.levels(name)))] for name in domain.names]
    closed = json.dumps(cells.closed.numbers())
    yield f"[{json.dumps(levels)}, {closed}, [".encode()
    listed = zip(cells.occupied.numbers(), cells.occupied.counts.tolist(), strict=True)
    if domain.size <= DENSE_LIMIT:
        yield from _joined(_every_count(listed, domain.size))
    else:
        yield from _joined(f"[{place}, {count}]" for place, count in listed)
    yield b"]]"


def _every_count(listed: Iterable[tuple[int, int]], size: int) -> Iterator[str]:
    """Counts as texts, long stretches of zeros as one text."""
    done = 0
    for place, count in listed:
        yield from _zeros(place - done)
        yield str(count)
        done = place + 1
    yield from _zeros(size - done)


def _zeros(number: int) -> Iterator[str]:
    while number:
        some = min(number, _AT_ONCE)
        yield ", ".join(["0"] * some)
        number -= some


def _joined(texts: Iterable[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    begun = False
    for text in texts:
        waiting.append(text)
        if len(waiting) >= _AT_ONCE:
            yield ((", " if begun else "") + ", ".join(waiting)).encode()
            waiting, begun = [], True
    if waiting:
        yield ((", " if begun else "") + ", ".join(waiting)).encode()
