"""The parts of the report about large tables under a budget."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report.plots import Plots
from benchmarks.report.text import duration, markdown, megabytes, share
from benchmarks.results import Record, Results
from benchmarks.sections.margins import tasks

BUDGETED = (
    "Every cell is bounded from all margins over so many variables, with the owner's table as "
    "the first witness. *Settled*: a table attains what is proven. *Small counts* are those of "
    "3 or less; a verdict is decided if two tables differ there, or one value is proven. Peak "
    "memory is that of the calling process, and at most that of the largest worker."
)


def hour(results: Results, plots: Plots) -> list[str]:
    """Write what took long: all bounds under budgets, then what the solvers make of three cells."""
    del plots
    found = results.by_part("hour")
    paragraphs: list[str] = []
    for part, title, write in (
        (tasks.BUDGETED, "All margins of one size", budgeted),
        (tasks.ASKED, "Three cells, one optimisation per bound", asked),
    ):
        if part in found:
            paragraphs += [f"### {title}", *write(found[part])]
    return paragraphs


def budgeted(records: Sequence[Record]) -> list[str]:
    """One line per size of margins, then what each step settled and what proved the bounds."""
    return [
        f"{BUDGETED} {records[0]['workers']} workers.",
        overview(records),
        "What is open: how far apart what is proven and what is attained are, and how many "
        "attained values differ from the owner's count, which is where all of them start.",
        open_bounds(records),
        "What settled the bounds, step by step:",
        steps(records),
        "What proved the bounds: settled, and still open.",
        proofs(records),
    ]


def overview(records: Sequence[Record]) -> str:
    """Say how far each question came."""
    head = ["table", "margins", "cells", "budget", "time", "bounds settled", "cells exact"]
    head += ["verdicts on small counts decided", "of them disclosed", "peak memory"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    lines += [
        [
            row["table"],
            f"{row['margins']} {row['ways']}-way",
            f"{row['cells']:,}",
            duration(row["budget"]),
            duration(row["seconds"]),
            share(row["settled"], row["bounds"]),
            share(row["exact_cells"], row["cells"]),
            share(row["small_cells"] - row["small_undecided"], row["small_cells"]),
            f"{row['small_disclosed']:,}",
            f"{megabytes(row['memory_self'])} + {megabytes(row['memory_worker'])}",
        ]
        for row in records
    ]
    return markdown(lines)


def open_bounds(records: Sequence[Record]) -> str:
    """Say what is known of the bounds that are not settled."""
    head = [
        "table",
        "margins",
        "evidence",
        "lower settled",
        "upper settled",
        "open: OUTER and INNER only",
    ]
    head += ["of them moved from the owner's count", "median distance", "largest"]
    lines = [head, ["---", "---", "---", *["---:"] * (len(head) - 3)]]
    lines += [
        [
            row["table"],
            f"{row['ways']}-way",
            row["evidence"].upper(),
            share(row["settled_lower"], row["cells"]),
            share(row["settled_upper"], row["cells"]),
            share(row["bounds"] - row["settled"], row["bounds"]),
            f"{row['open_moved']:,}",
            f"{row['open_gap'][0]:,}",
            f"{row['open_gap'][1]:,}",
        ]
        for row in records
    ]
    return markdown(lines)


def steps(records: Sequence[Record]) -> str:
    """Say what each step of a search took and settled."""
    lines = [["table", "margins", "step", "time", "settled", "left open"]]
    lines.append(["---", "---", "---", *["---:"] * 3])
    for row in records:
        before = row["bounds"]
        for step, seconds, left in row["steps"]:
            settled = before - left
            lines.append(
                [
                    row["table"],
                    f"{row['ways']}-way",
                    step,
                    duration(seconds),
                    f"{settled:,}",
                    f"{left:,}",
                ]
            )
            before = left
    return markdown(lines)


def proofs(records: Sequence[Record]) -> str:
    """Say what proved the bounds, those that are settled and those that are open."""
    names = {"propagation": "propagation", "dual": "linear program", "solver": "integer program"}
    lines = [["table", "margins", *names.values()], ["---", "---", *["---:"] * len(names)]]
    for row in records:
        found = [row["proofs"].get(name, [0, 0]) for name in names]
        lines.append(
            [row["table"], f"{row['ways']}-way", *(f"{one:,} + {two:,}" for one, two in found)]
        )
    return markdown(lines)


def asked(records: Sequence[Record]) -> list[str]:
    """One line per bound: what each solver settled within its limit."""
    head = ["margins", "table", "bound", "solver", "time", "settled", "best table", "proven"]
    head += ["ours: proven, attained"]
    lines = [head, ["---"] * 4 + ["---:"] * 5]
    settled: dict[str, list[bool]] = {}
    for row in records:
        for claim in row["claims"]:
            settled.setdefault(claim["solver"], []).append(claim["optimum"] is not None)
            place = ", ".join(str(level + 1) for level in claim["cell"])
            verdict = "no" if claim["optimum"] is None else str(claim["optimum"])
            lines.append(
                [
                    f"{row['ways']}-way",
                    row["table"],
                    f"{claim['side']} ({place})",
                    claim["solver"],
                    duration(claim["seconds"]),
                    f"*{verdict}, wrong*" if claim["wrong"] else verdict,
                    "-" if claim["best"] is None else str(claim["best"]),
                    "-" if claim["limit"] is None else f"{claim['limit']:g}",
                    "-" if claim["ours"] is None else "{}, {}".format(*claim["ours"]),
                ]
            )
    said = [f"{solver} settled {sum(one)} of {len(one)} bounds." for solver, one in settled.items()]
    return [
        f"Three cells with small counts, at most {duration(records[0]['limit'])} for each bound. "
        "Their tables are checked in integers. *wrong*: claimed as proven, refuted by a table of "
        "ours.",
        markdown(lines),
        " ".join(said),
    ]
