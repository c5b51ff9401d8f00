"""Questions about sparse tables, each in a process of its own, none of the size of the domain."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

import cellbounds as cb
from benchmarks.errors import Mismatch
from benchmarks.measuring.apart import apart
from benchmarks.problems.owned import owned
from benchmarks.problems.sparse import (
    chain_bounds,
    chosen_cells,
    levels_of,
    listed_cells,
    sparse_table,
)
from benchmarks.profiles import Profile
from benchmarks.results import Record
from benchmarks.running import Tasks
from cellbounds.results import Bounds

FEW = 4  # variables that a question names
RECORDS = "nltcs16"


def sparse(profile: Profile) -> Tasks:
    """A synthetic table of 10^12 cells, and nltcs16 given as records."""
    plan = profile.sparse
    shape = (plan.levels,) * plan.variables
    given = (shape, plan.occupied, profile.seed)
    return {
        "20-way: rates of few variables": lambda _: apart(few_variables, *given, limit=plan.limit),
        "20-way: a chain of margins, chosen cells": lambda _: apart(
            chain, *given, plan.asked, limit=plan.limit
        ),
        "nltcs16 as records: rates of few variables": lambda _: apart(
            from_records, profile.data, limit=plan.limit
        ),
    }


def few_variables(shape: tuple[int, ...], occupied: int, seed: int) -> Record:
    """Publish rates of the last of four variables, and bound the cells of these four."""
    places, counts = listed_cells(shape, occupied, seed)
    started = perf_counter()
    table = sparse_table(shape, places, counts)
    built = perf_counter()
    names = table.domain.names[:FEW]
    release, answer, times = asked_rates(table, names)
    small = np.zeros(shape[:FEW], dtype=np.int64)
    np.add.at(small, tuple(places[:, axis] for axis in range(FEW)), counts)
    dense = cb.read_table(
        small, domain=cb.Domain({n: levels_of(k) for n, k in zip(names, shape, strict=False)})
    )
    require_equal(dense, names, answer)
    return {
        **sizes(shape, places),
        "statements": len(release.statements),
        "asked": int(small.size),
        "table": built - started,
        **times,
    }


def chain(shape: tuple[int, ...], occupied: int, seed: int, asked: int) -> Record:
    """Publish the margins of all neighbouring variables, and bound chosen cells."""
    places, counts = listed_cells(shape, occupied, seed)
    chosen = chosen_cells(places, shape, asked, seed)
    started = perf_counter()
    table = sparse_table(shape, places, counts)
    built = perf_counter()
    release = cb.publish(table, *(f"[{a},{b}]" for a, b in pairwise(table.domain.names)))
    published = perf_counter()
    cells = [tuple(str(level + 1) for level in place) for place in chosen.tolist()]
    answer = cb.bounds(release, cells=cells)
    bounded = perf_counter()
    lower, upper = chain_bounds(places, counts, chosen)
    if not (np.array_equal(answer.lower, lower) and np.array_equal(answer.upper, upper)):
        raise Mismatch("bounds of chosen cells differ from the closed form")
    return {
        **sizes(shape, places),
        "statements": len(release.statements),
        "asked": len(chosen),
        "method": answer.method,
        "evidence": answer.evidence.value,
        "table": built - started,
        "publish": published - built,
        "bounds": bounded - published,
    }


def from_records(data: Path) -> Record:
    """Read nltcs16 as records from a Parquet file, and ask about four of its variables."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = owned(RECORDS, data)
    names = source.table.domain.names
    counts = source.counts
    places = np.repeat(np.argwhere(counts > 0), counts[counts > 0], axis=0)
    levels = [np.array([str(one) for one in source.table.domain.levels(name)]) for name in names]
    columns = {name: levels[k][places[:, k]] for k, name in enumerate(names)}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        pq.write_table(pa.table(columns), path)
        started = perf_counter()
        table = cb.read_table(path, count=None)
        read = perf_counter()
        again = cb.read_table(path, count=None)  # nothing has been asked of it yet
    few = names[:FEW]
    release, answer, times = asked_rates(table, few)
    tracemalloc.start()
    asked_rates(again, few)
    _, traced = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    require_equal(table.margin(few), few, answer)
    return {
        **sizes(counts.shape, places),
        "label": source.label,
        "traced": traced,
        "statements": len(release.statements),
        "asked": int(answer.lower.size),
        "table": read - started,
        **times,
    }


def asked_rates(
    table: cb.Table, names: tuple[str, ...]
) -> tuple[cb.Release, Bounds, dict[str, float]]:
    """Publish the rates of the last variable given the others, and bound their cells."""
    started = perf_counter()
    release = cb.publish(table, notation(names))
    published = perf_counter()
    answer = cb.bounds(release, over=list(names))
    bounded = perf_counter()
    return release, answer, {"publish": published - started, "bounds": bounded - published}


def require_equal(dense: cb.Table, names: tuple[str, ...], answer: Bounds) -> None:
    """Raise `Mismatch` unless the same question about the small table alone has that answer."""
    right = cb.bounds(cb.publish(dense, notation(names)))
    if not (
        np.array_equal(right.lower, answer.lower) and np.array_equal(right.upper, answer.upper)
    ):
        raise Mismatch("bounds differ from those of the small table alone")


def notation(names: tuple[str, ...]) -> str:
    """Write the rates of the last variable given the others, to two decimals."""
    return f"[{names[-1]}|{','.join(names[:-1])}]@2"


def sizes(shape: tuple[int, ...], places: np.ndarray) -> Record:
    """Return how large a domain is, and how many of its cells hold somebody."""
    return {
        "variables": len(shape),
        "cells": prod(shape),
        "occupied": len(np.unique(places, axis=0)),
    }
