"""Reading the same source in every way there is, and comparing what comes out."""

from __future__ import annotations

import re

import pytest

import cellbounds as cb
from cellbounds.data.microdata.csv_files import CsvFiles
from cellbounds.data.reading import Sizes, source_of


class Ways:
    """Reads at once, a batch at a time in Python, and by Arrow; counts what Arrow settled."""

    def __init__(self):
        self.settled = 0
        self.tried = 0

    def at_once(self, source, **options):
        return outcome(source, Sizes(), options)

    def in_batches(self, source, *, rows=3, **options):
        return outcome(source, Sizes(large=-1, rows=rows, lines=rows, quick=False), options)

    def by_arrow(self, source, *, block=2**20, lines=2, **options):
        sizes = Sizes(large=-1, block=block, lines=lines)
        return outcome(source, sizes, options, lambda records: Observed(records, self))

    def agree(self, source, *, also_at_once=True, **options):
        """Read in all ways; they must say the same. Returns a table, or the words of a refusal."""
        found = self.by_arrow(source, **options)
        others = [self.in_batches(source, **options)]
        if also_at_once:
            others.append(self.at_once(source, **options))
        for other in others:
            # Where two things are wrong, either may be named.
            both_refuse = isinstance(other, str) and isinstance(found, str)
            assert both_refuse or other == found
        return found if isinstance(found, str) else found[0]


class Observed:
    """A source that says whether Arrow reads it as our own reader does."""

    def __init__(self, records, ways):
        self.records, self.ways = records, ways
        self.where, self.header = records.where, records.header

    def tally(self, selection, memory):
        self.ways.tried += 1
        if isinstance(self.records, CsvFiles):
            self.ways.settled += self.records.quick_tally(selection, memory) is not None
        return self.records.tally(selection, memory)


def outcome(source, sizes, options, observed=lambda records: records):
    """A table with the types of its labels, or what a refusal says."""
    how = {"encoding": "utf-8", "delimiter": ",", "sheet": None}
    options = dict(options)
    how |= {name: options.pop(name) for name in how.keys() & options.keys()}
    try:
        table = cb.read_table(observed(source_of(source, **how, sizes=sizes)), **options)
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
def ways():
    return Ways()
