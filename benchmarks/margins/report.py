"""From raw figures to the report of the benchmarks of margins."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.margins import report_searches
from benchmarks.margins.records import Record, Records
from benchmarks.margins.report_searches import share
from benchmarks.margins.solvers import CPSAT_SETTINGS
from benchmarks.measurement import LONG_CALL
from benchmarks.report import duration, markdown, times

TARGET_CZECH6, TARGET_CUBES = 10, 100
TARGET_DECOMPOSABLE = 20


def render(records: Records) -> str:
    """Write the report from whatever has been measured so far."""
    parts = ["# Benchmarks of margins", "\n".join(f"- {line}" for line in records.machines())]
    for section, title, paragraphs in (
        ("small", "Small tables: one search per bound", small_tables),
        ("decomposable", "A chain of three-way margins", decomposable_chain),
        ("czech6-models", "Hierarchical models of czech6", hierarchical_models),
        ("cps8", "All margins of one size of cps8", report_searches.budgeted),
        ("cps8-solvers", "Three cells of cps8, one optimisation per bound", report_searches.asked),
        ("nltcs16-2way", "All two-way margins of nltcs16", report_searches.budgeted),
    ):
        found = records.of(section)
        if found:
            parts += [f"## {title}", *paragraphs(found)]
    return "\n\n".join(parts) + "\n"


def small_tables(records: Sequence[Record]) -> list[str]:
    """One line per table with the ratio, then the geometric means and the targets."""
    head = ["table", "margins", "cells", "zeros", "N", "whole call", "CP-SAT", "ratio"]
    lines = [[*head, "integer programs"], ["---", "---", *["---:"] * 6, "---"]]
    for row in records:
        at_least = "≥ " if row["cpsat_unsolved"] else ""
        lines.append(
            [
                row["table"],
                f"all {row['ways']}-way",
                f"{row['cells']:,}",
                f"{row['zeros']:,}",
                f"{row['total']:,}",
                duration(row["seconds"]),
                at_least + duration(row["cpsat_seconds"]),
                at_least + times(row["cpsat_seconds"] / row["seconds"]),
                "yes" if row["integer_programs"] else "no",
            ]
        )
    said = []
    for target, chosen in (
        (TARGET_CZECH6, [row for row in records if row["ways"] == 3]),
        (TARGET_CUBES, [row for row in records if row["ways"] == 2]),
    ):
        if not chosen:
            continue
        mean = geometric_mean([row["cpsat_seconds"] / row["seconds"] for row in chosen])
        name = chosen[0]["table"]
        if len(chosen) > 1:
            name = f"geometric mean of the {len(chosen)} tables 4x4x4"
        verdict = "met" if mean >= target else "missed"
        said.append(f"- {name}: {times(mean)}; target {target}x, {verdict}")
    return [
        f"CP-SAT: one model, one search per bound, {CPSAT_SETTINGS}, otherwise defaults, at most "
        f"{duration(records[0]['limit'])} each, counts up to the smallest margin above them; run "
        "once. The whole call starts from the release, has no table to start from, and is the "
        f"best of at least two if it takes up to {duration(LONG_CALL)}. The answers are equal "
        "in every bound that the search proved, and attained. ≥ some searches ran into the limit.",
        markdown(lines),
        "\n".join(said),
    ]


def decomposable_chain(records: Sequence[Record]) -> list[str]:
    """Compare with numpy summing the same margins."""
    head = ["table", "margins", "cells", "whole call", "numpy: the margins", "ratio"]
    head += ["numpy: margins and closed form", "ratio"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for row in records:
        ratio = row["seconds"] / row["numpy_seconds"]
        lines.append(
            [
                row["table"],
                f"{row['margins']}",
                f"{row['cells']:,}",
                duration(row["seconds"]),
                duration(row["numpy_seconds"]),
                times(ratio),
                duration(row["formula_seconds"]),
                times(row["seconds"] / row["formula_seconds"]),
            ]
        )
    worst = max(row["seconds"] / row["numpy_seconds"] for row in records)
    met = "met" if worst <= TARGET_DECOMPOSABLE else "missed"
    return [
        "The margins over the variables 1-2-3, 2-3-4, and so on make a decomposable model. The "
        "whole call, from the release, beside numpy that sums these margins from the table, and "
        "beside numpy that goes on to the closed form (the least margin above; margins less "
        "borders below). Bounds of all cells are equal to the closed form.",
        markdown(lines),
        f"Target: within {TARGET_DECOMPOSABLE}x of numpy summing the margins; {met}.",
    ]


def hierarchical_models(records: Sequence[Record]) -> list[str]:
    """Say what was found over many models."""
    head = ["table", "models", "all bounds EXACT", "total", "median", "longest", "methods"]
    head += ["with integer programs", "with an integrality gap"]
    lines = [head, ["---", "---", *["---:"] * 4, "---", "---:", "---:"]]
    for row in records:
        possible = row.get("possible")
        if possible is None:
            which = f"{row['models']:,} not decomposable, at random"
        elif possible == row["models"]:
            which = f"all {possible:,} decomposable"
        else:
            which = f"{row['models']:,} of {possible:,} decomposable, at random"
        gaps = f"{row['gaps']:,} ({row['bounds_with_gap']:,} bounds)" if "gaps" in row else "none"
        lines.append(
            [
                row["table"],
                which,
                share(row["exact"], row["models"]),
                duration(row["seconds"]),
                duration(row["median"]),
                duration(row["longest"]),
                "; ".join(f"{name} {count:,}" for name, count in row["methods"].items()),
                f"{row['integer_programs']:,}",
                gaps,
            ]
        )
    return [
        "Every model was answered once, without a table to start from. Decomposable ones equal "
        "the closed form in all cells, so they have no gap. An integrality gap: some sharp bound "
        "is not the linear one, an exact fraction, rounded inwards.",
        markdown(lines),
    ]


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
