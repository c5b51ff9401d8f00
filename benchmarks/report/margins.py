"""Margins: small tables beside the solvers, decomposable and other models."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measuring.measurement import LONG_CALL
from benchmarks.peers.solvers import SOLVERS
from benchmarks.report import searches
from benchmarks.report.plots import Plots
from benchmarks.report.text import duration, geometric_mean, head, markdown, share, times
from benchmarks.results import Record, Results
from benchmarks.sections.margins import tasks


def margins(results: Results, plots: Plots) -> list[str]:
    """Write what was measured of margins, part by part."""
    del plots
    found = results.by_part("margins")
    paragraphs: list[str] = []
    for part, title, write in (
        (tasks.SMALL, "Small tables: one optimisation per bound", small_tables),
        (tasks.CHAIN, "A chain of three-way margins", decomposable_chain),
        (tasks.MODELS, "Hierarchical models of czech6", hierarchical_models),
        (
            tasks.BUDGETED,
            "All margins of one size of cps8, under a short budget",
            searches.budgeted,
        ),
    ):
        if part in found:
            paragraphs += [f"### {title}", *write(found[part])]
    return paragraphs


def small_tables(records: Sequence[Record]) -> list[str]:
    """Write one line per table with the time and the ratio of each solver, then the means."""
    peers = [one.name for one in SOLVERS if any(one.name in row["peers"] for row in records)]
    names = [
        "table",
        "margins",
        "cells",
        "zeros",
        "N",
        "whole call",
        *peers,
        "proofs by integer programs",
    ]
    lines = head(names, left=2)
    for row in records:
        lines.append(
            [
                row["table"],
                f"all {row['ways']}-way",
                f"{row['cells']:,}",
                f"{row['zeros']:,}",
                f"{row['total']:,}",
                duration(row["seconds"]),
                *(peer_cell(row, peer) for peer in peers),
                "yes" if row["integer_programs"] else "no",
            ]
        )
    cubes = [row for row in records if row["ways"] == 2]
    if len(cubes) > 1:
        means = [geometric_mean(ratios(cubes, peer)) for peer in peers]
        title = f"**geometric mean of the {len(cubes)} tables 4x4x4**"
        lines.append([title, *[""] * 5, *map(times, means), ""])
    return [
        f"At most {duration(records[0]['limit'])} for each bound, counts up to the smallest margin "
        "above them; solvers run once. The whole call starts from the release, has no table to "
        "start from, and is the shortest of at least two if it takes up to "
        f"{duration(LONG_CALL)}. The answers are equal in every bound that a solver proved, and "
        "attained. ≈ in proportion to a sample of the bounds; ≥ some bounds ran into the limit, "
        "or ended with a table that fails in integers; *wrong*: claimed as proven, refuted by a "
        "table of ours.",
        markdown(lines),
    ]


def ratios(records: Sequence[Record], peer: str) -> list[float]:
    """Return how many times longer a solver took than our whole call, table by table."""
    return [
        row["peers"][peer]["seconds"] / row["seconds"] for row in records if peer in row["peers"]
    ]


def peer_cell(row: Record, peer: str) -> str:
    """Write the time of a solver, its ratio, and whatever has to be said about it."""
    if peer not in row["peers"]:
        return "-"
    found = row["peers"][peer]
    sampled = found["asked"] < found["possible"]
    mark = "≥ " if found["unsolved"] else "≈ " if sampled else ""
    sample = f"; {found['asked']} of {found['possible']} bounds" if sampled else ""
    wrong = f"; *{found['wrong']} wrong*" if found["wrong"] else ""
    ratio = times(found["seconds"] / row["seconds"])
    return f"{mark}{duration(found['seconds'])} ({ratio}{sample}{wrong})"


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
    return [
        "The margins over the variables 1-2-3, 2-3-4, and so on make a decomposable model. The "
        "whole call, from the release, beside numpy that sums these margins from the table, and "
        "beside numpy that goes on to the closed form (the least margin above; margins less "
        "borders below). Bounds of all cells are equal to the closed form.",
        markdown(lines),
    ]


def hierarchical_models(records: Sequence[Record]) -> list[str]:
    """Say what was found over many models."""
    head = ["table", "models", "all bounds EXACT", "total", "median", "longest", "methods"]
    head += ["with proofs by integer programs", "with an integrality gap"]
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
