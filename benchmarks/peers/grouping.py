"""DuckDB's own GROUP BY over the records of a Parquet file."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from benchmarks.results import Record

SETTINGS = "SELECT ALL COLUMNS, count(*) ... GROUP BY ALL, otherwise defaults"


def grouped(path: Path) -> Record:
    """Count the records of each combination that occurs."""
    import duckdb

    started = perf_counter()
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT *, count(*) FROM read_parquet(?) GROUP BY ALL", [str(path)]
        ).fetchall()
    seconds = perf_counter() - started
    return {"seconds": seconds, "counts": [[*map(str, row[:-1]), int(row[-1])] for row in found]}
