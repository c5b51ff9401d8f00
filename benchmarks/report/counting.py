"""Counting and posteriors."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from benchmarks.report.numbers import number, outcome, refusals, took
from benchmarks.report.plots import Plots, Series
from benchmarks.report.text import duration, head, markdown, megabytes, times
from benchmarks.results import Record, Results
from benchmarks.sections.counting import tasks
from benchmarks.sections.counting.growing import FEWEST_STEPS
from benchmarks.sections.counting.questions import LONG, VERY_LONG

LARGEST_MEMORY = 2 * 2**30
SMALL_ERROR = 0.01  # of a mean, in people
TIMES = (
    "Times are the shortest of several calls, of two if they take more than "
    f"{duration(LONG)}, of one if it takes more than {duration(VERY_LONG)}; *first* is the first "
    "call of a process, with what it has to load or compile."
)


def posterior(results: Results, plots: Plots) -> list[str]:
    """Write document 002's examples."""
    del plots
    rows = list(results.of("posterior").values())
    return documents_examples(rows) if rows else []


def counting(results: Results, plots: Plots) -> list[str]:
    """Write what was counted, part by part."""
    found = results.by_part("counting")
    paragraphs: list[str] = [TIMES]
    for part, title, write in (
        (tasks.RESHAPES, "Reshapes of Table 9 given rounded rates", reshapes),
        (tasks.MARGINS, "Margins", margins),
        (tasks.LISTING, "Beside 4ti2 and LattE", listing),
    ):
        if part in found:
            paragraphs += [f"### {title}", *write(found[part])]
    if tasks.GROWTH in found:
        rows = found[tasks.GROWTH]
        title = "### Growing two-way tables given both margins"
        paragraphs += [title, *growth(rows), growth_plot(rows, plots)]
    return paragraphs


def documents_examples(rows: Sequence[Record]) -> list[str]:
    """The exact posterior of each example, then every chain beside it."""
    head = ["example", "tables", "exact posterior of all cells", "first", "relative error at most"]
    lines = [head, ["---", *["---:"] * 4]]
    chains = [
        [
            "example",
            "chain",
            "draws alone",
            "ratio",
            "with the document's figures",
            "ratio",
            "with diagnostics",
            "ratio",
            "largest error of a mean",
            "its stated error",
            "most stated errors off",
            "smallest effective size",
            "for a stated error of 0.01",
        ],
        ["---", "---", *["---:"] * 11],
    ]
    for row in rows:
        if "runs" not in row:
            lines.append([row.get("case", "?"), *[outcome(row)] * 4])
            continue
        lines.append(
            [
                row["case"],
                number(row["tables"]),
                took(row),
                duration(row["first"]),
                f"{row['relative_error']:.1e}",
            ]
        )
        for run in row["runs"]:
            alone, figures, whole = run["alone"], run["figures"], run["seconds"]
            longer = (run["largest_stated"] / SMALL_ERROR) ** 2
            chains.append(
                [
                    row["case"],
                    run["run"],
                    duration(alone),
                    times(alone / row["seconds"]),
                    duration(figures),
                    times(figures / row["seconds"]),
                    duration(whole),
                    times(whole / row["seconds"]),
                    f"{run['off']:.3f}",
                    f"{run['stated']:.3f}",
                    f"{run['apart']:.1f}",
                    f"{run['effective']:,.0f}",
                    f"≈ {duration(alone * longer)}",
                ]
            )
    draws = next((row["draws"] for row in rows if "draws" in row), 0)
    return [
        "The exact posterior is that of all cells: distribution, mean, quantiles, and a most "
        f"probable table. The document's own chain: {draws:,} draws, every step one, from the "
        "true table, Poisson means drawn along; then the same with the means integrated out; "
        "then the chains that this library runs if asked for as many draws (four, thinned, after "
        "a burn-in). *Draws alone*: moves and steps. *The document's figures*: and means, "
        "quantiles and errors by batch means. *Diagnostics*: the whole call, with effective "
        "sizes, R-hat and what is known of connectedness. Ratios are to the exact posterior. The "
        "last column is in proportion: draws alone, as many as bring the largest stated error of "
        "a mean down to 0.01.",
        markdown(lines),
        markdown(chains),
    ]


def reshapes(rows: Sequence[Record]) -> list[str]:
    """Count, posteriors and draws of each reshape."""
    asked = ("count", "posterior, uniform", "posterior, Gamma", "draws")
    head = ["table", "I x J", "N", "tables", "count", "first", "by the definition"]
    head += ["posterior, uniform", "posterior, Gamma", f"{rows[0]['drawn']:,} draws"]
    head += ["peak memory of the count", "largest of all"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    largest = 0
    for row in rows:
        counted = row["count"]
        peaks = [row[name].get("memory_after", 0) for name in asked]
        largest = max(largest, *peaks)
        first = duration(counted["first"]) if "first" in counted else "-"
        lines.append(
            [row["case"], f"{row['rows']} x {row['columns']}", f"{row['total']:,}"]
            + [number(int(row["right"])), took(counted), first, duration(row["direct_seconds"])]
            + [took(row[name]) for name in asked[1:]]
            + [megabytes(counted.get("memory_after")), megabytes(max(peaks))]
        )
    below = "below" if largest < LARGEST_MEMORY else "ABOVE"
    return [
        "Each question in a process of its own. All counts are equal to those that follow from "
        "the definition: for each row sum the rows that fit, then a product of polynomials "
        f"(python-flint), whose time is given beside. The Gamma prior is {rows[0]['gamma']}; "
        "draws are independent and exact, with a uniform prior; posteriors are of all cells, "
        "with quantiles and a most probable table.",
        markdown(lines),
        f"Largest peak memory of a process: {megabytes(largest)}, {below} 2 GiB "
        "(the imports alone take about "
        f"{megabytes(min(row['count'].get('memory_before', 0) for row in rows))}).",
        *refusals([(row["case"], name, row[name]) for row in rows for name in asked]),
    ]


def margins(rows: Sequence[Record]) -> list[str]:
    """Counts, posteriors and draws of margins; then the decomposable models."""
    counted = [row for row in rows if "count" in row]
    head = ["margins", "cells", "N", "tables", "count", "first", "posterior", "draws", "memory"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    asked = ("count", "posterior", "draws")
    for row in counted:
        found = row["count"]
        tables = number(int(found["count"])) if "count" in found else "-"
        first = duration(found["first"]) if "first" in found else "-"
        peak = max(row[name].get("memory_after", 0) for name in asked)
        lines.append(
            [
                row["case"],
                f"{row['cells']:,}",
                f"{row['total']:,}",
                tables,
                took(found),
                first,
                took(row["posterior"]),
                took(row["draws"]),
                megabytes(peak),
            ]
        )
    parts = [
        "What was counted is equal to the known numbers of tables: 441; 16,788,429; and "
        "1,225,914,276,768,514 for the real table of hair and eye colour. Posteriors and "
        f"{rows[0]['drawn']:,} exact draws with a uniform prior; memory is the largest peak of "
        "the three processes.",
        markdown(lines),
        *refusals([(row["case"], name, row[name]) for row in counted for name in asked]),
    ]
    for row in rows:
        if "models" in row:
            parts += models(row)
    return parts


def models(row: Record) -> list[str]:
    """Times of decomposable models, those whose posterior takes longest first."""
    found = sorted(row["models"], key=lambda one: -one["posterior"].get("seconds", math.inf))
    lines = [
        ["cliques", "posterior of all cells", f"{row['drawn']:,} draws"],
        ["---", "---:", "---:"],
    ]
    lines += [
        [" ".join(one["cliques"]), took(one["posterior"]), took(one["draws"])] for one in found
    ]
    slowest = [one["posterior"].get("seconds", math.inf) for one in found]
    middle = statistics.median(slowest)
    return [
        f"{row['table']}, {len(found):,} of {row['possible']:,} decomposable models at random, "
        "hypergeometric law. Posterior of all cells: "
        f"median {duration(middle) if middle < math.inf else 'not reached'}. Variables are "
        r"numbered from 1. \*: without a most probable table, which is not known in closed form.",
        markdown(lines),
    ]


def growth(rows: Sequence[Record]) -> list[str]:
    """One line a point, one table for all series."""
    head = ["series", "I x J", "N", "tables", "count", "least effort", "memory"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    reasons = []
    for row in rows:
        for point in row["points"]:
            shape = " x ".join(map(str, point["shape"]))
            line = [row["series"], shape, f"{point['total']:,}"]
            if "count" in point:
                line += [number(int(point["count"])), took(point)]
                line += [f"{point['effort']:,}" if "effort" in point else "-"]
            else:
                line += ["-", outcome(point), "-"]
                reasons.append((f"{shape}, N = {point['total']:,}", "count", point))
            lines.append([*line, megabytes(point.get("memory_after"))])
    return [
        "Margins of one random table each (Dirichlet probabilities, one multinomial draw); N is "
        "doubled, or the number of columns with five people a cell, until counting is refused. "
        f"*Least effort*: the least power of two (from {FEWEST_STEPS:,} on) that suffices as "
        f"`effort=`, looked for where counting takes up to {duration(LONG)}.",
        markdown(lines),
        *refusals(reasons),
    ]


def growth_plot(rows: Sequence[Record], plots: Plots) -> str:
    """Plot the time of a count against N, shape by shape."""
    series = [
        Series(
            row["series"],
            [(point["total"], point["seconds"]) for point in row["points"] if "seconds" in point],
        )
        for row in rows
    ]
    return plots.lines("counting-growth", "Number of people, N", series)


def listing(rows: Sequence[Record]) -> list[str]:
    """Write our count and our bounds beside programs that list or count all tables."""
    lines = head(["release", "cells", "tables", "count", "bounds", "4ti2", "LattE"])
    for row in rows:
        tables = number(int(row["count"])) if "count" in row else "refused"
        count = duration(row["count_seconds"]) if "count" in row else "-"
        line = [row["case"], f"{row['cells']:,}", tables, count, duration(row["bounds_seconds"])]
        lines.append([*line, *(listed(found, row) for found in row["peers"].values())])
    remarks = {
        f"{name}: {found['missing']}."
        for row in rows
        for name, found in row["peers"].items()
        if "missing" in found
    }
    return [
        "4ti2's zsolve lists every table, so that their number and the bounds of all cells follow "
        "(each followed by how many times longer it took than our bounds); LattE's count only "
        "counts them. The limit for each is "
        f"{duration(rows[0]['limit'])}; ≥ it was ended then. Numbers and bounds are equal wherever "
        "they came to an end. The time of a program includes starting it and reading its answer.",
        markdown(lines),
        *sorted(remarks),
        *refusals([(row["case"], "count", row) for row in rows]),
    ]


def listed(found: Record, row: Record) -> str:
    """Write the time of a program, and its ratio to our bounds."""
    if "missing" in found:
        return "-"
    ratio = times(found["seconds"] / row["bounds_seconds"])
    if found["tables"] is None:
        return f"≥ {duration(found['seconds'])} (≥ {ratio})"
    return f"{duration(found['seconds'])} ({ratio})"
