"""Times that papers print, row by row, with ours beside: ``python -m benchmarks.printed``.

The rows of document 004's Tables 9 to 11 and of Wright and Smucker's Table 8 (2014) are read from
``--papers``; without it nothing can be written. Of Table 9 HiGHS and CP-SAT bound the same tables
here as well, bound by bound, with equal answers as the condition. Times are computing time, of both
threads of CP-SAT, so that others on the machine do not count; ours are the shortest of some calls.
Random tables are drawn anew, as the papers draw theirs. Written is Markdown.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np

import cellbounds as cb
from benchmarks.arrays import IntArray
from benchmarks.errors import Mismatch
from benchmarks.peers import programs
from benchmarks.peers.solvers import CPSAT, HIGHS
from benchmarks.problems import instances, publications
from benchmarks.problems.instances import Instance
from benchmarks.report.text import duration, geometric_mean, head, markdown, times
from benchmarks.sections.rates.comparing import count_wrong

PAPERS = instances.REPOSITORY.parent / "shared" / "papers-more"
DOCUMENT_004, TABLE8 = "document-004-tables-9-10-11.csv", "wright-smucker-2014-table8.csv"
NAMES = {
    "3-way": "haberman3", "4-way": "koch4", "6-way": "czech6", "8-way": "cps8", "16-way": "nltcs16",
}  # fmt: skip
SEED, OF_EACH, LIMIT = 4, 5, 60.0
BUDGET, MOST = 0.2, 100
"""Seconds of computing time for repeating a call, and how often at most."""

Result = TypeVar("Result")


def shortest(call: Callable[[], Result]) -> tuple[Result, float]:
    """What a call gives, and the least computing time of several; two at least."""
    best, spent, calls = float("inf"), 0.0, 0
    while calls < 2 or (spent < BUDGET and calls < MOST):
        begun = time.process_time()
        result = call()
        took = time.process_time() - begun
        best, spent, calls = min(best, took), spent + took, calls + 1
    return result, best


def lines_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table of printed figures."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def seconds(text: str) -> str:
    """A printed time, as it is printed, or that there is none."""
    return f"{text} s" if text else "-"


def over(text: str, ours: float) -> str:
    """How many times as long a printed time is."""
    return f"{'>' * text.startswith('>')}{times(float(text.lstrip('>')) / ours)}" if text else "-"


def table9(papers: Path, data: Path) -> Iterator[str]:
    """Real tables, with two solvers here."""
    rows = [row for row in lines_of(papers / DOCUMENT_004) if row["table"] == "9"]
    digits = sorted({int(row["digits"]) for row in rows})
    tables = {(one.name, one.digits): one for one in instances.table9(data, digits)}
    lines = head(
        ["table", "digits", "N", "I x J", "printed: theirs", "CPLEX", "release given", "whole call",
         "theirs over ours", "CPLEX over ours", "HiGHS here", "CP-SAT here"], 1,
    )  # fmt: skip
    ratios: dict[str, list[tuple[float, float]]] = {HIGHS.name: [], CPSAT.name: []}
    publications.warm_up()
    for row in rows:
        name = NAMES[row["instance"]]
        instance = tables.get((name, int(row["digits"])))
        if instance is None:
            raise SystemExit(f"{name} is not in {data}")
        publication = publications.publish(instance)
        release = publications.build_release(publication)
        own, kernel = shortest(lambda release=release: publications.kernel(release))  # type: ignore[misc]
        _, whole = shortest(lambda given=publication: publications.whole_call(given))  # type: ignore[misc]
        cells = []
        program = programs.of_rates(instance)
        for solver in (HIGHS, CPSAT):
            begun = time.process_time()
            answer = solver.bounds(program, max_bounds=None, seconds=LIMIT, seed=SEED)
            took = time.process_time() - begun
            wrong = count_wrong(instance, program, solver, own, answer)
            ratios[solver.name].append((took / kernel, took / whole))
            cells.append(
                f"{duration(took)} ({times(took / kernel)} / {times(took / whole)})"
                + (f", {wrong} *wrong*" if wrong else "")
            )
        lines.append(
            [name, row["digits"], f"{instance.total:,}", f"{instance.rows} x {instance.columns}",
             seconds(row["decomposition_s"]), seconds(row["cplex_s"]), duration(kernel),
             duration(whole), over(row["decomposition_s"], whole), over(row["cplex_s"], whole),
             *cells]
        )  # fmt: skip
    yield markdown(lines)
    for name, each in ratios.items():
        kernel, whole = (geometric_mean([pair[k] for pair in each]) for k in (0, 1))
        mean = f"geometric mean {times(kernel)} / {times(whole)}"
        yield f"{name}: {mean} (release given / whole call)."


def random_tables(papers: Path, table: str) -> Iterator[str]:
    """Tables 10 and 11: means of several tables, and one of each size."""
    lines = head(
        ["I x J", "N printed", "N here", "printed: theirs", "CPLEX", "whole call",
         "theirs over ours", "CPLEX over ours"], 1,
    )  # fmt: skip
    rng = np.random.default_rng(SEED)
    for row in lines_of(papers / DOCUMENT_004):
        if row["table"] != table:
            continue
        size, took, totals = (int(row["I"]), int(row["J"])), [], []
        for _ in range(OF_EACH if table == "10" else 1):
            counts = (
                rng.integers(1, 26, size=size)
                if table == "10"
                else instances.mostly_large_counts(rng, *size)
            )
            instance = Instance("random", counts, digits=int(row["digits"]))
            publication = publications.publish(instance)
            took.append(shortest(lambda given=publication: publications.whole_call(given))[1])  # type: ignore[misc]
            totals.append(instance.total)
        ours = sum(took) / len(took)
        printed = sorted({f"{int(row[end]):,}" for end in ("N_min", "N_max")})
        lines.append(
            [f"{size[0]} x {size[1]}", " to ".join(printed), f"{sum(totals) // len(totals):,}",
             seconds(row["decomposition_s"]), seconds(row["cplex_s"]), duration(ours),
             over(row["decomposition_s"], ours), over(row["cplex_s"], ours)]
        )  # fmt: skip
    yield markdown(lines)


def numbers(text: str) -> list[int]:
    """The variables of a reshape: ``1,3-5`` are 1, 3, 4 and 5."""
    found = re.findall(r"(\d+)(?:-(\d+))?", text)
    return [k for first, last in found for k in range(int(first), int(last or first) + 1)]


def reshaped(data: Path, row: dict[str, str]) -> IntArray:
    """The table of a row of Table 8: rows with a zero are left out where it says so.

    Raises
    ------
    Mismatch
        If it has not the size that is printed.
    """
    counts = instances.read_counts(data / f"{NAMES[row['dataset']]}.csv")
    rows, columns = numbers(row["rows"]), numbers(row["col"])
    omitted = tuple(k for k in range(counts.ndim) if k + 1 not in (*rows, *columns))
    kept = [k for k in range(1, counts.ndim + 1) if k in (*rows, *columns)]
    margin = counts.sum(axis=omitted).transpose([kept.index(k) for k in (*rows, *columns)])
    width = int(np.prod([counts.shape[k - 1] for k in columns]))
    table = margin.reshape(-1, width)
    if row["zero_rows_removed"] == "yes":
        table = table[(table > 0).all(axis=1)]
    size = len(table), int((table.sum(axis=1) > 0).sum()), width, int(table.sum())
    printed = tuple(int(row[key]) for key in ("I", "nonzero_rows", "J", "N"))
    if size != printed:
        what = "rows, rows with somebody, columns and N"
        raise Mismatch(f"{row['label']}: {what} are {size}, {printed} are printed")
    return np.ascontiguousarray(table)


def exact_rates(papers: Path, data: Path) -> Iterator[str]:
    """Wright and Smucker's Table 8."""
    lines = head(
        ["table", "I", "J", "N", "printed: classical", "CPLEX", "theirs", "ours",
         "classical over ours", "CPLEX over ours", "theirs over ours"], 1,
    )  # fmt: skip
    for row in lines_of(papers / TABLE8):
        counts = reshaped(data, row)
        domain = cb.Domain({"row": range(len(counts)), "col": range(counts.shape[1])})
        release = cb.publish(cb.Table(domain, counts), "[col|row]")
        answer, ours = shortest(lambda release=release: cb.bounds(release))  # type: ignore[misc]
        if not ((answer.lower <= counts) & (counts <= answer.upper)).all():
            raise Mismatch(f"{row['label']}: a bound that the table itself is beyond")
        printed = [row[key] for key in ("classical_dp_s", "cplex_s", "proposed_s")]
        lines.append(
            [f"{row['label']} ({row['dataset']})", f"{len(counts):,}", str(counts.shape[1]),
             f"{int(counts.sum()):,}", *map(seconds, printed), duration(ours),
             *(over(text, ours) for text in printed)]
        )  # fmt: skip
    yield markdown(lines)


def main() -> None:
    """Measure, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=Path, default=PAPERS, help="folder of the printed figures")
    parser.add_argument("--data", type=Path, default=instances.DATA, help="folder of the tables")
    given = parser.parse_args()
    if not (given.papers / DOCUMENT_004).exists():
        raise SystemExit(f"{given.papers / DOCUMENT_004} is not there; give --papers")
    for title, part in (
        ("Document 004, Table 9", table9(given.papers, given.data)),
        (
            "Document 004, Table 10: counts uniform on 1..25, means of five",
            random_tables(given.papers, "10"),
        ),
        ("Document 004, Table 11: mostly large counts", random_tables(given.papers, "11")),
        ("Wright and Smucker 2014, Table 8: exact rates", exact_rates(given.papers, given.data)),
    ):
        print(f"\n### {title}\n", flush=True)
        for paragraph in part:
            print(f"{paragraph}\n", flush=True)


if __name__ == "__main__":
    main()
