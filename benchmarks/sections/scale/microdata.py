"""Records in a Parquet file: ``read_table`` beside DuckDB's own GROUP BY, in turn."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.errors import Mismatch, NotThere
from benchmarks.measuring.apart import apart
from benchmarks.peers import grouping
from benchmarks.problems.microdata import records_file
from benchmarks.profiles import Profile
from benchmarks.results import Record
from benchmarks.running import Tasks

OURS, DUCKDB = "read_table", "DuckDB GROUP BY"


def microdata(profile: Profile) -> Tasks:
    """One file of records."""
    return {f"{profile.microdata.records:,} records": lambda _: measure(profile)}


def measure(profile: Profile) -> Record:
    """Count the records by both, in fresh processes and in turn.

    Raises
    ------
    Mismatch
        If the counts differ.
    """
    plan = profile.microdata
    if find_spec("duckdb") is None:
        raise NotThere("DuckDB is not installed")
    started = perf_counter()
    path = records_file(plan.records, profile.seed)
    written = perf_counter() - started
    runs: dict[str, list[Record]] = {OURS: [], DUCKDB: []}
    counts: list[dict[tuple[str, ...], int]] = []
    for _ in range(plan.rounds):
        for name, question in ((OURS, read), (DUCKDB, grouping.grouped)):
            run = apart(question, path, limit=plan.limit)
            listed = run.pop("counts", None)
            if listed is not None:
                counts.append({tuple(row[:-1]): row[-1] for row in listed})
            runs[name].append(run)
    if any(one != counts[0] for one in counts):
        msg = f"{OURS} and {DUCKDB} count the records of {path.name} differently"
        raise Mismatch(msg)
    return {
        "records": plan.records,
        "variables": len(next(iter(counts[0]))) if counts else 0,
        "occupied": len(counts[0]) if counts else 0,
        "file_bytes": path.stat().st_size,
        "written_seconds": written,
        "runs": runs,
    }


def read(path: Path) -> Record:
    """Tabulate the records by this library."""
    import duckdb  # noqa: F401 - loaded before the clock starts, as for DuckDB alone

    import cellbounds as cb

    started = perf_counter()
    table = cb.read_table(path, count=None)
    seconds = perf_counter() - started
    counts = np.asarray(table.counts)
    levels = [table.domain.levels(name) for name in table.domain.names]
    return {
        "seconds": seconds,
        "counts": [
            [*(str(one[k]) for one, k in zip(levels, cell, strict=True)), int(counts[tuple(cell)])]
            for cell in np.argwhere(counts > 0).tolist()
        ],
    }
