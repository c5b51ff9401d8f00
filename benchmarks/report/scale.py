"""Records, processes, start-up, sparse tables, and how margins grow with cells."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.grouping import SETTINGS
from benchmarks.report.numbers import outcome
from benchmarks.report.plots import Plots, Series
from benchmarks.report.text import duration, head, markdown, megabytes, times
from benchmarks.results import Record, Results
from benchmarks.sections.scale import cells as cell_series
from benchmarks.sections.scale.microdata import DUCKDB, OURS
from benchmarks.sections.scale.starting import AUDIT, BARE, HELP, IMPORT, NUMPY


def start(results: Results, plots: Plots) -> list[str]:
    """Write what each start takes, also less a bare start of Python."""
    del plots
    found = list(results.of("start").values())
    if not found:
        return []
    seconds = found[0]["seconds"]
    lines = head(["process", "time", "less a bare start", "over a bare start", "over the import"])
    for name in (BARE, NUMPY, IMPORT, HELP, AUDIT):
        took = seconds[name]
        lines.append(
            [
                f"`{name}`",
                duration(took),
                duration(max(0.0, took - seconds[BARE])) if name != BARE else "-",
                times(took / seconds[BARE]),
                times(took / seconds[IMPORT]),
            ]
        )
    return [
        f"New processes, in turn, the shortest of {found[0]['rounds']} each. The audit is of "
        f"{found[0]['audited']}: reading the table, bounds of every cell, the verdict, and text.",
        markdown(lines),
    ]


def microdata(results: Results, plots: Plots) -> list[str]:
    """Write the time and the memory of both programs."""
    del plots
    paragraphs = []
    for record in results.of("microdata").values():
        own = shortest(record["runs"][DUCKDB])
        lines = head(
            ["program", "shortest", "longest", "over DuckDB", "peak memory", "of it the call"]
        )
        for name, runs in record["runs"].items():
            done = [run for run in runs if "seconds" in run]
            if not done:
                lines.append([name, outcome(runs[0]), "-", "-", "-", "-"])
                continue
            lines.append(
                [
                    name,
                    duration(min(run["seconds"] for run in done)),
                    duration(max(run["seconds"] for run in done)),
                    times(min(run["seconds"] for run in done) / own) if own else "-",
                    megabytes(max(run["memory_after"] for run in done)),
                    megabytes(max(run["memory_after"] - run["memory_before"] for run in done)),
                ]
            )
        paragraphs += [
            f"{record['records']:,} synthetic records of {record['variables']} variables in one "
            f"Parquet file of {megabytes(record['file_bytes'])} "
            f"({record['occupied']:,} combinations occur). `read_table(path, count=None)` beside "
            f"DuckDB's own GROUP BY ({SETTINGS}), each in a fresh process, in turn, "
            f"{len(record['runs'][OURS])} times; both libraries are loaded before the clock "
            "starts. The counts are equal.",
            markdown(lines),
        ]
    return paragraphs


def shortest(runs: Sequence[Record]) -> float | None:
    """Return the shortest time of several runs; None if none came to an end."""
    return min((run["seconds"] for run in runs if "seconds" in run), default=None)


def parallel(results: Results, plots: Plots) -> list[str]:
    """Write the time of one process and of several."""
    del plots
    records = results.of("parallel")
    if not records:
        return []
    first = next(iter(records.values()))
    workers = str(first["workers"])
    lines = head(["by", "designs", "1 process", f"{workers} processes", "speed-up"])
    for name, record in records.items():
        alone, several = record["seconds"]["1"], record["seconds"][workers]
        lines.append(
            [
                f"`{name}`",
                f"{record['designs']:,}",
                duration(alone),
                duration(several),
                times(alone / several),
            ]
        )
    subsets = "all subsets" if first["all_subsets"] else "small subsets"
    return [
        f"A study of {first['table']}: the rates of its last variable given {subsets} of the "
        f"others, to {', '.join(map(str, first['digits']))} decimals. Starting the processes is "
        "part of the time (for the command, starting everything). In turn, the shortest of "
        f"{first['rounds']}. Every design is judged the same.",
        markdown(lines),
    ]


def sparse(results: Results, plots: Plots) -> list[str]:
    """Write the times and the memory of each question."""
    del plots
    records = results.of("sparse")
    if not records:
        return []
    names = ["question", "cells", "of them occupied", "asked about"]
    names += ["table", "publish", "bounds", "peak memory", "of it the question"]
    lines = head(names)
    for name, row in records.items():
        if "bounds" not in row:
            lines.append([name, outcome(row), *["-"] * (len(names) - 2)])
            continue
        lines.append(
            [
                name,
                f"{row['cells']:,}",
                f"{row['occupied']:,}",
                f"{row['asked']:,}",
                duration(row["table"]),
                duration(row["publish"]),
                duration(row["bounds"]),
                megabytes(row["memory_after"]),
                megabytes(row["memory_after"] - row["memory_before"]),
            ]
        )
    return [
        "Each question once, in a process of its own. Nothing of the size of the domain fits into "
        "the memory that is shown where a domain has 10^12 cells. *Rates of few variables*: rates "
        "to two decimals of one variable given three others are published, and the cells of these "
        "four bounded; equal to the bounds of the four-way table alone. *A chain of margins*: the "
        "margins of all neighbouring variables are published, and chosen cells bounded, half of "
        "them occupied; equal to the closed form.",
        markdown(lines),
    ]


def cells(results: Results, plots: Plots) -> list[str]:
    """Write three series of tables with more and more cells."""
    found = results.by_part("cells")
    if not found:
        return []
    paragraphs = [
        "Bounds of every cell of dense tables: a chain of three-way margins of binary variables "
        "(decomposable), beside numpy summing the same margins, and cubes with all two-way "
        "margins (not decomposable; skewed counts). And bounds of chosen cells of sparse tables "
        "with a domain of up to 10^12 cells, given the margins of neighbouring variables."
    ]
    lines = head(["series", "cells", "whole call", "numpy: the margins", "ratio", "peak memory"])
    for part, records in found.items():
        for row in records:
            took = seconds_of(row)
            if took is None:
                lines.append([part, f"{row['cells']:,}", outcome(row), "-", "-", "-"])
                continue
            numpy = row.get("numpy_seconds")
            lines.append(
                [
                    part,
                    f"{row['cells']:,}",
                    duration(took),
                    duration(numpy) if numpy else "-",
                    times(took / numpy) if numpy else "-",
                    megabytes(row.get("memory_after")),
                ]
            )
    series = [
        Series(part, [(row["cells"], took) for row in records if (took := seconds_of(row))])
        for part, records in found.items()
    ]
    chain = found.get(cell_series.CHAIN, [])
    series.append(Series("numpy: margins", [(row["cells"], row["numpy_seconds"]) for row in chain]))
    drawn = [one for one in series if one.points]
    return [*paragraphs, markdown(lines), plots.lines("growth-cells", "Number of cells", drawn)]


def seconds_of(row: Record) -> float | None:
    """Return the time of the bounds in a record of any series; None if there are none."""
    found = row.get("bounds", row.get("seconds"))
    return None if found is None else float(found)
