"""Reading the same source in every way there is, and comparing what comes out."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest

import cellbounds as cb
from cellbounds.data.formats import parquet
from cellbounds.data.microdata import csv_files, duckdb_engine, parquet_files, sources


class Ways:
    """Reads at once, a batch at a time in Python, and by DuckDB; counts what DuckDB settled."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch
        self.settled = 0
        self.asked = 0

    def at_once(self, source, **options):
        return outcome(source, options)

    def in_batches(self, source, *, rows=3, **options):
        with self.monkeypatch.context() as patch:
            large_everywhere(patch)
            patch.setattr(csv_files, "is_installed", lambda: False)
            patch.setattr(parquet_files, "is_installed", lambda: False)
            patch.setattr(csv_files, "_BATCH", rows)
            return outcome(source, options)

    def by_duckdb(self, source, *, prefix=2, **options):
        with self.monkeypatch.context() as patch:
            large_everywhere(patch)
            patch.setattr(csv_files, "_PREFIX", prefix)
            patch.setattr(csv_files, "_BATCH", prefix)
            patch.setattr(parquet, "_BATCH", prefix)
            for module, name in ((csv_files, "quick_csv"), (parquet_files, "quick_parquet")):
                patch.setattr(module, name, self._spied(getattr(module, name)))
            as_texts = outcome(source, options)
            seen = self.settled, self.asked
            patch.setattr(parquet_files, "_FEW_CELLS", 0)
            as_numbers = outcome(source, options)
            self.settled, self.asked = seen
            assert as_texts == as_numbers
            return as_numbers

    def _spied(self, quick):
        def spy(*arguments):
            self.asked += 1
            found = quick(*arguments)
            self.settled += found is not None
            return found

        return spy

    def agree(self, source, *, also_at_once=True, **options):
        """Read in all ways; they must say the same. Returns a table, or the words of a refusal."""
        found = self.by_duckdb(source, **options)
        others = [self.in_batches(source, **options)]
        if also_at_once:
            others.append(self.at_once(source, **options))
        for other in others:
            # Where two things are wrong, either may be named.
            both_refuse = isinstance(other, str) and isinstance(found, str)
            assert both_refuse or other == found
        return found if isinstance(found, str) else found[0]


def large_everywhere(patch):
    patch.setattr(sources, "LARGE_TEXT", -1)
    patch.setattr(sources, "LARGE_PARQUET", -1)


def outcome(source, options):
    """A table with the types of its labels, or what a refusal says."""
    try:
        table = cb.read_table(source, **options)
    except cb.InvalidInput as refused:
        # Only who has read everything knows the byte; the others know the line.
        return re.sub(r"\((byte|after line) \d+\)", "(somewhere)", str(refused))
    places, counts = table.cells()
    types = [[type(one) for one in table.domain.levels(name)] for name in table.domain.names]
    return Compared(table, types, places.tolist(), counts.tolist())


class Compared(tuple):
    """A table and all that must be the same about it."""

    __slots__ = ()

    def __new__(cls, *parts):
        return super().__new__(cls, parts)


@pytest.fixture
def ways(monkeypatch):
    return Ways(monkeypatch)


@pytest.fixture
def spilling(monkeypatch):
    """The folders for temporary files that were made, with whether they were found again."""
    made = []
    found = duckdb_engine.private_folder

    @contextmanager
    def remembered():
        with found() as folder:
            made.append(folder)
            yield folder

    monkeypatch.setattr(duckdb_engine, "private_folder", remembered)
    return made
