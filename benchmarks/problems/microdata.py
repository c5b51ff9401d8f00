"""Synthetic records in a Parquet file, as skewed as the look-alike of cps8, written in batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.errors import NotThere
from benchmarks.problems import lookalikes
from benchmarks.problems.instances import REPOSITORY

FOLDER = REPOSITORY / "build" / "benchmarks" / "data"
MODEL = "cps8"
BATCH = 1_000_000


def records_file(records: int, seed: int, folder: Path = FOLDER) -> Path:
    """Write so many records of eight variables, unless the file is there; returns its path.

    Raises
    ------
    NotThere
        If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise NotThere("pyarrow is not installed") from None
    path = folder / f"records-{records}-{seed}.parquet"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    shape = lookalikes.RECIPES[MODEL].shape
    cumulated = np.cumsum(lookalikes.weights(MODEL))
    cumulated /= cumulated[-1]
    labels = [pa.array([f"{name}{k}" for k in range(1, n + 1)]) for name, n in named(shape)]
    names = [name for name, _ in named(shape)]
    rng = np.random.default_rng([seed, records])
    beside = path.with_suffix(".new")
    schema = pa.schema([(name, pa.dictionary(pa.int8(), pa.string())) for name in names])
    with pq.ParquetWriter(beside, schema) as writer:
        for start in range(0, records, BATCH):
            drawn = np.searchsorted(cumulated, rng.random(min(BATCH, records - start)))
            levels = np.unravel_index(drawn, shape)
            columns = [
                pa.DictionaryArray.from_arrays(pa.array(level.astype(np.int8)), one)
                for level, one in zip(levels, labels, strict=True)
            ]
            writer.write_table(pa.table(dict(zip(names, columns, strict=True)), schema=schema))
    beside.replace(path)
    return path


def named(shape: tuple[int, ...]) -> list[tuple[str, int]]:
    """Return a letter and the number of levels for each variable."""
    return [(chr(ord("a") + k), levels) for k, levels in enumerate(shape)]
