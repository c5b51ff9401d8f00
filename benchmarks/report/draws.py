"""The sections on draws and on estimates."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, floor, inf, log

from benchmarks.report.numbers import number, outcome, refusals, took
from benchmarks.report.plots import Plots
from benchmarks.report.text import duration, markdown, significant, times
from benchmarks.results import Record, Results
from benchmarks.sections.counting import tasks
from benchmarks.sections.counting.drawing import METHODS


def sampling(results: Results, plots: Plots) -> list[str]:
    """Write what was drawn, and what was estimated."""
    del plots
    found = results.by_part("sampling")
    paragraphs: list[str] = []
    for part, title, write in (
        (tasks.DRAWS, "Effective draws per second", compared),
        (tasks.ESTIMATES, "Estimated numbers of tables", estimates),
    ):
        if part in found:
            paragraphs += [f"### {title}", *write(found[part])]
    return paragraphs


def patience(rows: Sequence[Record]) -> float:
    """Return how long drawing may take."""
    return max((float(row["patience"]) for row in rows if "patience" in row), default=0.0)


def compared(rows: Sequence[Record]) -> list[str]:
    """Effective draws per second of each method, and how far its means are off."""
    head = ["release", "cells", "exact", "ESS/s"]
    for method in METHODS[1:]:
        head += [method, "ESS", "ESS/s", f"exact over {method}"]
    head += [f"{method}: off" for method in METHODS]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    reasons = []
    for row in rows:
        name = row.get("case", "?")
        if "exact" not in row:
            lines.append([name, "", outcome(row), *["-"] * (len(head) - 3)])
            continue
        reasons += [(name, method, row[method]) for method in METHODS]
        rates = {method: rate(row[method]) for method in METHODS}
        line = [name, f"{row['cells']:,}", took(row["exact"]), shown(rates["exact"])]
        for method in METHODS[1:]:
            found, own, best = row[method], rates[method], rates["exact"]
            effective = f"{found['effective']:,.0f}" if "effective" in found else "-"
            ratio = times(best / own) if own and best else "-"
            line += [took(found), effective, shown(own), ratio]
        line += [f"{row[m]['apart']:.1f}" if "apart" in row[m] else "-" for m in METHODS]
        lines.append(line)
    size = next((row["size"] for row in rows if "size" in row), 0)
    return [
        f"{size:,} draws by each method, or as many as are ready after {duration(patience(rows))}, "
        "everything included (moves, burn-in and thinning as usual, diagnostics). ESS: the "
        "effective size of the worst cell. *Off*: the largest distance of a mean from the exact "
        "one among all cells, in units of its stated error (2 to 3.5 are usual for the largest "
        "of 4 to 100).",
        markdown(lines),
        *refusals(reasons),
        *broken(rows),
    ]


def broken(rows: Sequence[Record]) -> list[str]:
    """Say where moves are not proven to connect the tables, and what else was said of draws."""
    lines = []
    for row in rows:
        chain = row.get("chain", {})
        said = [chain["connected"]] if "connected" in chain else []
        said += [note for note in chain.get("notes", []) if not note.startswith("acceptance")]
        said += [
            f"importance sampling {note}" for note in row.get("importance", {}).get("notes", [])
        ]
        if said:
            lines.append(f"- {row['case']}: {'; '.join(said)}")
    return ["\n".join(["What the draws say of themselves:", "", *lines])] if lines else []


def rate(found: Record) -> float:
    """Effective draws per second; 0 if there are none."""
    return float(found["effective"] / found["seconds"]) if "effective" in found else 0.0


def shown(value: float) -> str:
    """Write a rate."""
    return significant(value) if value else "-"


def estimates(rows: Sequence[Record]) -> list[str]:
    """Estimates beside the exact numbers."""
    head = ["release", "tables", "estimate", "ratio", "stated error", "off", "draws"]
    head += ["effective", "dead ends", "estimate took", "count took"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for row in rows:
        name = row.get("case", "?")
        if "log_estimate" not in row:
            lines.append([name, "", outcome(row), *["-"] * (len(head) - 3)])
            continue
        counted = row.get("count", {})
        exact = number(int(counted["count"])) if "count" in counted else "not counted"
        lines.append(
            [
                name,
                exact,
                power_of_ten(row["log_estimate"]),
                f"{row['ratio']:.3f}" if "ratio" in row else "-",
                f"{row['stated']:.1%}" if row["stated"] < inf else "unknown",
                f"{row['apart']:.1f}" if "apart" in row else "-",
                f"{row['draws']:,}",
                f"{row['effective']:,.0f}",
                f"{row['dead_ends']:,}",
                duration(row["seconds"]),
                took(counted) if counted else "-",
            ]
        )
    return [
        f"Sequential importance sampling, at most {duration(patience(rows))}. *Off*: the distance "
        "of the estimate from the exact number in units of its stated error.",
        markdown(lines),
        *refusals([(row.get("case", "?"), "estimate", row) for row in rows]),
    ]


def power_of_ten(log_value: float) -> str:
    """Write a number that is given by its logarithm.

    Examples
    --------
    >>> power_of_ten(log(441)), power_of_ten(1000.0)
    ('441', '1.97e434')
    """
    if log_value < log(1e7):
        return f"{exp(log_value):,.0f}"
    power = floor(log_value / log(10))
    return f"{exp(log_value - power * log(10)):.2f}e{power}"
