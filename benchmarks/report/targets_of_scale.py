"""The targets of records, processes, start-up and sparse tables."""

from __future__ import annotations

import os

from benchmarks.report.judging import NOT_MEASURED, Judge, Judgement, Target
from benchmarks.report.scale import shortest
from benchmarks.report.text import duration, megabytes, times
from benchmarks.results import Record, Results
from benchmarks.sections.scale.microdata import DUCKDB, OURS
from benchmarks.sections.scale.parallel import LIBRARY
from benchmarks.sections.scale.starting import AUDIT, BARE, HELP, IMPORT, NUMPY

RECORDS, RECORDS_FACTOR, RECORDS_MEMORY = 50_000_000, 1.3, 2 * 2**30
SPEED_UP = 1.7
MOST_IMPORT, MOST_HELP, MOST_AUDIT = 0.3, 0.5, 3.0
BYTES_A_COUNT = 8


def microdata(results: Results) -> Judgement:
    """Judge the tabulation of many records, by time and by memory."""
    records = list(results.of("microdata").values())
    if not records:
        return NOT_MEASURED
    runs = records[0]["runs"]
    ours, theirs = shortest(runs[OURS]), shortest(runs[DUCKDB])
    if ours is None or theirs is None:
        return Judgement("a process was ended, or failed", False, "see the section on records")
    memory = max(run["memory_after"] for run in runs[OURS] if "seconds" in run)
    measured = (
        f"{times(ours / theirs)} ({duration(ours)} and {duration(theirs)}), peak memory "
        f"{megabytes(memory)}, for {records[0]['records']:,} records"
    )
    if records[0]["records"] < RECORDS:
        return Judgement(measured, None, "fewer records in this profile")
    met = ours <= RECORDS_FACTOR * theirs and memory <= RECORDS_MEMORY
    peer = max(run["memory_after"] for run in runs[DUCKDB] if "seconds" in run)
    why = f"DuckDB alone takes {megabytes(peer)}; ours takes {duration(ours - theirs)} more"
    return Judgement(measured, met, "" if met else why)


def parallel(results: Results) -> Judgement:
    """Judge the study by two processes."""
    record = results.get("parallel", LIBRARY)
    if record is None:
        return NOT_MEASURED
    alone = record["seconds"]["1"]
    several = record["seconds"][str(record["workers"])]
    measured = (
        f"{times(alone / several)} ({duration(alone)} and {duration(several)}, "
        f"{record['designs']:,} designs)"
    )
    if not record["all_subsets"] or len(record["digits"]) < 4:
        return Judgement(measured, None, "a part of the study in this profile")
    met = alone / several >= SPEED_UP
    over = several - alone / record["workers"]
    why = (
        f"{duration(max(over, 0.0))} more than {duration(alone / record['workers'])}, one process' "
        f"time over {record['workers']}; starting the processes is included, and the machine has "
        f"{os.cpu_count()} cores"
    )
    return Judgement(measured, met, "" if met else why)


def started(name: str, most: float) -> Judge:
    """Judge how much longer a process takes than a bare start of Python."""

    def judge(results: Results) -> Judgement:
        found = starts(results)
        if found is None:
            return NOT_MEASURED
        more = found[name] - found[BARE]
        numpy = found[NUMPY] - found[BARE]
        why = f"importing numpy alone takes {duration(numpy)}"
        measured = f"{duration(more)} more than the {duration(found[BARE])} of a bare start"
        return Judgement(measured, more < most, "" if more < most else why)

    return judge


def audit(results: Results) -> Judgement:
    """Judge a small audit from end to end by the time of the import."""
    found = starts(results)
    if found is None:
        return NOT_MEASURED
    ratio = found[AUDIT] / found[IMPORT]
    more = found[AUDIT] - found[BARE], found[IMPORT] - found[BARE]
    measured = f"{times(ratio)} ({duration(found[AUDIT])} and {duration(found[IMPORT])})"
    why = (
        f"less a bare start of Python {duration(more[0])} and {duration(more[1])}, importing numpy "
        f"{duration(found[NUMPY] - found[BARE])} of them"
    )
    return Judgement(measured, ratio <= MOST_AUDIT, "" if ratio <= MOST_AUDIT else why)


def starts(results: Results) -> dict[str, float] | None:
    """Return the times of all starts."""
    records = list(results.of("start").values())
    return dict(records[0]["seconds"]) if records else None


def nltcs16(results: Results) -> Judgement:
    """Judge a question about few of sixteen variables by what it allocates."""
    found = [row for name, row in results.of("sparse").items() if name.startswith("nltcs16")]
    if not found or "bounds" not in found[0]:
        return NOT_MEASURED
    row = found[0]
    dense = BYTES_A_COUNT * row["cells"]
    measured = (
        f"publishing and bounding allocate {row['traced']:,} bytes at most; {row['cells']:,} dense "
        f"counts are {dense:,}; {duration(row['publish'] + row['bounds'])}"
    )
    met = row["traced"] < dense
    why = f"{row['occupied']:,} cells hold somebody, of {row['variables']} variables"
    return Judgement(measured, met, "" if met else why)


def twenty_way(results: Results) -> Judgement:
    """Judge questions about a table of 10^12 cells: answered, and in which memory."""
    found = [row for name, row in results.of("sparse").items() if name.startswith("20-way")]
    if not found:
        return NOT_MEASURED
    answered: list[Record] = [row for row in found if "bounds" in row]
    if len(answered) < len(found):
        return Judgement("a process was ended", False, "see the section on sparse tables")
    slowest = max(row["table"] + row["publish"] + row["bounds"] for row in answered)
    memory = max(row["memory_after"] for row in answered)
    measured = (
        f"{len(answered)} questions about {answered[0]['cells']:.1e} cells, "
        f"{answered[0]['occupied']:,} of them occupied: at most {duration(slowest)}, "
        f"{megabytes(memory)}"
    )
    return Judgement(measured, memory < answered[0]["cells"])


TARGETS = (
    Target(
        "50 million records of 8 variables in Parquet, tabulated",
        "DuckDB's own GROUP BY",
        f"within {RECORDS_FACTOR:g} times, and 2 GiB",
        microdata,
    ),
    Target(
        "the full study of cps8, all predictors, 1-4 digits, by two processes",
        "one process",
        f"at least {SPEED_UP:g} times faster",
        parallel,
    ),
    Target(
        "`import cellbounds`",
        "a bare start of Python",
        f"less than {MOST_IMPORT:g} s more",
        started(IMPORT, MOST_IMPORT),
    ),
    Target(
        "`cellbounds --help`",
        "a bare start of Python",
        f"less than {MOST_HELP:g} s more",
        started(HELP, MOST_HELP),
    ),
    Target(
        "`cellbounds audit` of a small table, end to end",
        "`import cellbounds`, end to end",
        f"within {MOST_AUDIT:g} times",
        audit,
    ),
    Target(
        "nltcs16 as records, a question about four variables",
        "65,536 dense counts",
        "nothing of that size is made",
        nltcs16,
    ),
    Target(
        "a 20-way table of 10^12 cells, rates of four variables; chosen cells",
        "10^12 dense counts",
        "nothing of that size is made",
        twenty_way,
    ),
)
