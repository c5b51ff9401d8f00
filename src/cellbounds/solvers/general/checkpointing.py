"""What a search has found, written down as it goes, and read again.

Bounds are kept with what proved them, and are taken for proven when they are read. Tables are
checked in exact arithmetic, as tables of any origin are.
"""

from __future__ import annotations

import hashlib
import json
import time
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.errors import CellboundsError
from cellbounds.model.targets import Targets
from cellbounds.results.values import ValueSet
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.checkpoints import Checkpoint, damaged
from cellbounds.solvers.general.search import Proof, Search
from cellbounds.statements import Release

__all__ = ["Kept", "KeptFractions", "part_of"]

EVERY = 1.0
"""Seconds between two lines, unless there is a reason to write at once."""


def part_of(release: Release, asked: Targets, kind: str) -> str:
    """A name for one question about one release, which parts of a larger one have too."""
    known = hashlib.sha256(json.dumps([kind, release.digest]).encode())
    for one in (asked.behind.starts, asked.behind.cells):
        known.update(np.ascontiguousarray(one, dtype=np.int64).tobytes())
    return known.hexdigest()[:24]


class Kept:
    """The lines of a checkpoint that are about one search."""

    def __init__(self, checkpoint: Checkpoint, search: Search) -> None:
        """Read what there is into the search.

        Raises
        ------
        InvalidInput
            If the file holds something that cannot be about this search.
        """
        self._checkpoint = checkpoint
        self._part = part_of(search.release, search.asked, "sharp")
        self._last = time.monotonic()
        self._new: list[tuple[int, ValueSet]] = []
        self.values: dict[int, ValueSet] = {}
        for entry in checkpoint.entries(self._part):
            try:
                self._take(search, entry)
            except (CellboundsError, KeyError, IndexError, TypeError, ValueError, OverflowError):
                raise damaged(checkpoint.path, "a line") from None
        self._tables = len(search.pool)
        self._low, self._high = search.low.copy(), search.high.copy()
        self._endless = search.endless.copy()

    def _take(self, search: Search, entry: dict[str, Any]) -> None:
        """Take over one line: tables first, since bounds are compared with them."""
        size = search.asked.size
        for where, counts in entry["tables"]:
            table = np.zeros(len(search.full.lower), dtype=np.int64)
            at = slice(None) if where is None else np.array(where, dtype=np.int64)
            table[at] = np.array(counts, dtype=np.int64)
            search.start_from(table)
        for place, side, value, proof in entry["bounds"]:
            if not (0 <= place < size and side in (0, 1) and 0 <= proof < len(Proof.NAMES)):
                raise IndexError
            search.prove(place, side, value, proof)
        search.endless[np.array(entry["endless"], dtype=np.int64)] = True
        for place, progressions in entry["values"]:
            if not 0 <= place < size:
                raise IndexError
            self.values[place] = ValueSet([tuple(one) for one in progressions])

    def found(self, place: int, values: ValueSet) -> None:
        """Keep the values of one sum, if nothing about them is open."""
        if values.settled and place not in self.values:
            self.values[place] = values
            self._new.append((place, values))

    def write(self, search: Search, *, now: bool) -> None:
        """Write what is new, at once or if the last time was long ago."""
        if not now and time.monotonic() - self._last < EVERY:
            return
        pool = search.pool
        bounds = [
            [int(place), side, int(proven[place]), int(search.proofs[side, place])]
            for side, proven, known in ((0, search.low, self._low), (1, search.high, self._high))
            for place in np.flatnonzero(proven != known)
        ]
        entry = {
            "tables": [_plain(pool.packed(k)) for k in range(self._tables, len(pool))],
            "bounds": bounds,
            "endless": np.flatnonzero(search.endless & ~self._endless).tolist(),
            "values": [[place, values.to_list()] for place, values in self._new],
        }
        if any(entry.values()):
            self._checkpoint.add(self._part, entry)
        self._tables, self._new = len(pool), []
        self._low, self._high = search.low.copy(), search.high.copy()
        self._endless = search.endless.copy()
        self._last = time.monotonic()


class KeptFractions:
    """The lines of a checkpoint that are about exact linear bounds."""

    def __init__(self, checkpoint: Checkpoint, release: Release, asked: Targets) -> None:
        """Read what there is: the ends of each sum, None for one without end."""
        self._checkpoint = checkpoint
        self._part = part_of(release, asked, "linear")
        self._last = time.monotonic()
        self._new: list[list[Any]] = []
        self.found: dict[int, tuple[Fraction, Fraction | None]] = {}
        for entry in checkpoint.entries(self._part):
            try:
                for place, low, high in entry["ends"]:
                    end = None if high is None else Fraction(high)
                    self.found[place] = Fraction(low), end
            except (KeyError, TypeError, ValueError, ZeroDivisionError):
                raise damaged(checkpoint.path, "a line") from None

    def add(self, place: int, ends: tuple[Fraction, Fraction | None]) -> None:
        """Keep the ends of one sum."""
        self.found[place] = ends
        low, high = ends
        self._new.append([place, str(low), None if high is None else str(high)])
        self.write(now=False)

    def write(self, *, now: bool) -> None:
        """Write what is new, at once or if the last time was long ago."""
        if self._new and (now or time.monotonic() - self._last >= EVERY):
            self._checkpoint.add(self._part, {"ends": self._new})
            self._new, self._last = [], time.monotonic()


def _plain(packed: tuple[IntArray | None, IntArray]) -> list[Any]:
    where, counts = packed
    return [None if where is None else where.tolist(), counts.tolist()]
