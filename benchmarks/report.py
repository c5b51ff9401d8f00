"""From measurements to Markdown tables of ratios and log-log plots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt

from benchmarks.measurement import CPSAT, HIGHS, KERNEL, PAPER, WHOLE_CALL, Measurement

PEERS = (PAPER, HIGHS, CPSAT)
LEGEND = (
    "Each peer's time is followed by how many times longer it took than our kernel / our whole "
    "call. ≈ in proportion to a sample of the bounds; ≥ some of them ran into the time limit; "
    "*wrong*: claimed as proven, refuted by a table checked in integers."
)


@dataclass(frozen=True, slots=True)
class Variable:
    """What a series varies: its title, its symbol, and its value at a measurement."""

    title: str
    symbol: str
    attribute: str
    file_name: str

    def at(self, row: Measurement) -> int:
        """Return the value of the variable where `row` was measured."""
        value: int = getattr(row, self.attribute)
        return 10**value if self.attribute == "digits" else value


PEOPLE = Variable("Number of people", "N", "total", "growth-people.svg")
ROWS = Variable("Number of rows", "I", "rows", "growth-rows.svg")
PRECISION = Variable("Precision of the rates", "1/eps", "digits", "growth-precision.svg")


def comparison_table(rows: Sequence[Measurement]) -> str:
    """Write one line per instance and one column per method, then the geometric means.

    Parameters
    ----------
    rows : sequence of Measurement
        The measurements of one section.
    """
    peers = [peer for peer in PEERS if any(row.method == peer for row in rows)]
    lines = [
        ["instance", "I x J", "N", "digits", KERNEL, WHOLE_CALL, *peers],
        ["---", *["---:"] * (5 + len(peers))],
    ]
    for by_method in grouped(rows):
        kernel, whole = by_method[KERNEL], by_method[WHOLE_CALL]
        size = f"{kernel.rows} x {kernel.columns}"
        lines.append(
            [kernel.instance, size, f"{kernel.total:,}", str(kernel.digits)]
            + [duration(kernel.seconds), duration(whole.seconds)]
            + [peer_cell(by_method.get(peer), kernel, whole) for peer in peers]
        )
    means = ["**geometric mean**", "", "", "", "", ""]
    means += [" / ".join(times(mean) for mean in mean_ratios(rows, peer)) for peer in peers]
    return markdown([*lines, means])


def grouped(rows: Iterable[Measurement]) -> list[dict[str, Measurement]]:
    """Gather the measurements of each instance by method, in the order they were taken."""
    groups: dict[tuple[str, int], dict[str, Measurement]] = {}
    for row in rows:
        groups.setdefault((row.instance, row.digits), {})[row.method] = row
    return list(groups.values())


def mean_ratios(rows: Sequence[Measurement], peer: str) -> tuple[float, float]:
    """Return the geometric means of a peer's time over our kernel's and our whole call's."""
    groups = [group for group in grouped(rows) if peer in group]

    def mean(own: str) -> float:
        logs = [math.log(group[peer].seconds / group[own].seconds) for group in groups]
        return math.exp(math.fsum(logs) / len(logs))

    return mean(KERNEL), mean(WHOLE_CALL)


def peer_cell(peer: Measurement | None, kernel: Measurement, whole: Measurement) -> str:
    """Write a peer's time, its two ratios, and whatever has to be said about it."""
    if peer is None:
        return "-"
    mark = "≥ " if peer.unsolved else "≈ " if peer.extrapolated else ""
    ratios = f"{times(peer.seconds / kernel.seconds)} / {times(peer.seconds / whole.seconds)}"
    remarks = ""
    if peer.extrapolated or peer.unsolved or peer.wrong:
        remarks = f"; {peer.asked} of {peer.possible} bounds"
    if peer.unsolved:
        remarks += f", {peer.unsolved} unsolved"
    if peer.wrong:
        remarks += f", *{peer.wrong} wrong*"
    return f"{mark}{duration(peer.seconds)} ({ratios}{remarks})"


def growth_table(
    rows: Sequence[Measurement], variable: Variable, baseline: int | None = None
) -> str:
    """Write one line per point of a series, with its time relative to the baseline point.

    Parameters
    ----------
    rows : sequence of Measurement
        The measurements of one series.
    variable : Variable
        What the series varies.
    baseline : int, optional
        The value of the variable that the others are compared with; by default the first.
    """
    points = grouped(rows)
    start = variable.at(points[0][KERNEL]) if baseline is None else baseline
    first = next(point for point in points if variable.at(point[KERNEL]) == start)
    relative = f"against {variable.symbol} = {start:,}"
    head = [variable.symbol, KERNEL, relative, WHOLE_CALL, relative]
    lines = [[*head, "peak memory", "of it the call", PAPER], ["---:"] * 8]
    for point in points:
        kernel, whole = point[KERNEL], point[WHOLE_CALL]
        line = [f"{variable.at(kernel):,}"]
        for row in (kernel, whole):
            ratio = row.seconds / first[row.method].seconds
            line += [duration(row.seconds), times(ratio)]
        line += [megabytes(whole.peak_bytes), megabytes(whole.call_bytes)]
        line.append(duration(point[PAPER].seconds) if PAPER in point else "-")
        lines.append(line)
    return markdown(lines)


def growth_plot(rows: Sequence[Measurement], variable: Variable) -> alt.Chart:
    """Plot time against the variable of a series, both on logarithmic scales."""
    values = [{"x": variable.at(row), "seconds": row.seconds, "method": row.method} for row in rows]
    # Lines at powers of ten only: the default grid of a logarithmic axis hides the curves.
    across = alt.Axis(format=".0e", values=powers_of_ten([variable.at(row) for row in rows]))
    up = alt.Axis(format=".0e", values=powers_of_ten([row.seconds for row in rows]))
    order = list(dict.fromkeys(row.method for row in rows))
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=values), width=420, height=260)
        .mark_line(point=True)
        .encode(
            alt.X("x:Q", axis=across)
            .scale(type="log")
            .title(f"{variable.title}, {variable.symbol}"),
            alt.Y("seconds:Q", axis=up).scale(type="log").title("seconds"),
            alt.Color("method:N").scale(domain=order).title("method"),
            alt.Shape("method:N").scale(domain=order).title("method"),
        )
    )
    return chart


def powers_of_ten(values: Sequence[float]) -> list[float]:
    """Return the powers of ten that enclose the values."""
    first = math.floor(math.log10(min(values)))
    last = math.ceil(math.log10(max(values)))
    return [10.0**k for k in range(first, last + 1)]


def write_growth_plot(rows: Sequence[Measurement], variable: Variable, folder: Path) -> str:
    """Save the plot of a series as SVG and return the Markdown that shows it."""
    growth_plot(rows, variable).save(folder / variable.file_name, format="svg")
    return f"![{variable.title} against time]({variable.file_name})"


def markdown(lines: Iterable[Iterable[str]]) -> str:
    """Join cells into the lines of a Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def duration(seconds: float) -> str:
    """Write a time with three significant digits in a unit that suits it."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds * 1e6)} µs"


def times(ratio: float) -> str:
    """Write a ratio with three significant digits."""
    return f"{significant(ratio)}x"


def significant(value: float) -> str:
    """Write a positive number with three significant digits and grouped thousands."""
    if value <= 0:
        return "0"
    decimals = 2 - math.floor(math.log10(value))
    return f"{round(value, decimals):,.{max(decimals, 0)}f}"


def megabytes(size: int | None) -> str:
    """Write a size in millions of bytes."""
    return "-" if size is None else f"{size / 1e6:,.0f} MB"
