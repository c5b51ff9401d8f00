"""Rounded rates: tables of ratios, and how the cost grows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measuring.measurement import KERNEL, PAPER, WHOLE_CALL, Measurement
from benchmarks.peers.solvers import SOLVERS
from benchmarks.report.plots import Plots, Series
from benchmarks.report.text import duration, geometric_mean, markdown, megabytes, times
from benchmarks.results import Record, Results
from benchmarks.sections.rates import growing, tasks

PEERS = (PAPER, *(solver.name for solver in SOLVERS))
LEGEND = (
    "Each peer's time is followed by how many times longer it took than our kernel / our whole "
    "call. ≈ in proportion to a sample of the bounds, chosen at random; ≥ some of them ran into "
    "the time limit, or ended with a table that fails in integers; *wrong*: claimed as proven, "
    "refuted by a table checked in integers. Our times and document 004's are the shortest of "
    "several calls; solvers run once."
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


PEOPLE = Variable("Number of people", "N", "total", "growth-people")
ROWS = Variable("Number of rows", "I", "rows", "growth-rows")
COLUMNS = Variable("Number of columns", "J", "columns", "growth-columns")
PRECISION = Variable("Precision of the rates", "1/eps", "digits", "growth-precision")


def rates(results: Results, plots: Plots) -> list[str]:
    """Write the comparisons, table by table of document 004."""
    records = results.of("rates")
    rows = measurements(records)
    parts = [LEGEND]
    for title in (tasks.TABLE9, tasks.TABLE10, tasks.TABLE11):
        chosen = [row for row in rows if row.section == title]
        if not chosen:
            continue
        limits = {
            record["solver_seconds"]
            for record in records.values()
            if any(one["section"] == title for one in record["measurements"])
        }
        limit = " or ".join(duration(one) for one in sorted(limits))
        parts += [
            f"### {title}",
            f"Time limit of a solver for each bound: {limit}.",
            comparison_table(chosen),
            ratio_plot(title, chosen, plots),
        ]
    return parts


def growth(results: Results, plots: Plots) -> list[str]:
    """Write every series, with its plot, and the large table."""
    rows = measurements(results.of("growth"))
    parts = []
    for title, variable, baseline in (
        (growing.IN_PEOPLE, PEOPLE, growing.BASELINE),
        (growing.IN_ROWS, ROWS, None),
        (growing.IN_COLUMNS, COLUMNS, None),
        (growing.IN_DIGITS, PRECISION, None),
    ):
        points = [row for row in rows if row.section == title]
        if points:
            parts += [
                f"### {title}",
                growth_table(points, variable, baseline),
                growth_plot(points, variable, plots),
            ]
    large = [row for row in rows if row.section == growing.LARGE]
    if large:
        size = f"{large[0].rows:,} x {large[0].columns}, {large[0].digits} digits"
        parts += [f"### {growing.LARGE}: {size}", growth_table(large, ROWS)]
    return parts


def measurements(records: Mapping[str, Record]) -> list[Measurement]:
    """Return the measurements of all records, in their order."""
    return [Measurement(**one) for record in records.values() for one in record["measurements"]]


def ratio_plot(title: str, rows: Sequence[Measurement], plots: Plots) -> str:
    """Plot how many times longer each peer took than our whole call, instance by instance."""
    series = []
    for peer in PEERS:
        groups = [group for group in grouped(rows) if peer in group]
        points = [
            (
                f"{group[peer].instance}, {group[peer].digits}",
                group[peer].seconds / group[WHOLE_CALL].seconds,
            )
            for group in groups
        ]
        if points:
            series.append((peer, points))
    number = title.partition(":")[0].lower().replace(" ", "-")
    return plots.ratios(f"rates-{number}", f"{title}: time over our whole call", series)


def growth_plot(rows: Sequence[Measurement], variable: Variable, plots: Plots) -> str:
    """Plot time against the variable of a series, both on logarithmic scales."""
    methods = list(dict.fromkeys(row.method for row in rows))
    series = [
        Series(method, [(variable.at(row), row.seconds) for row in rows if row.method == method])
        for method in methods
    ]
    return plots.lines(variable.file_name, f"{variable.title}, {variable.symbol}", series)


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
        return geometric_mean([group[peer].seconds / group[own].seconds for group in groups])

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
    first = next((point for point in points if variable.at(point[KERNEL]) == start), points[0])
    start = variable.at(first[KERNEL])
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
