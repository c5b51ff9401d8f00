"""Who is exactly known in a published table, as it grows: ``python -m benchmarks.exactly_known``.

Made-up tables of municipalities in regions by age and sex: counts below 5 are hidden and 2% of the
others, all subtotals are shown. The attack on all hidden cells at once, with its proofs, beside one
linear program for each end of each hidden cell (HiGHS, one model, warm started), as an audit by
programs has them; these are asked for a random sample, and times are in proportion. What both say
of the sample is compared. Times are computing time of one core, so that others on the machine do
not count. Written are a Markdown table, and its plot beside the report.
"""

from __future__ import annotations

import argparse
import csv
import io
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cellbounds as cb
from benchmarks.arrays import BoolArray, IntArray
from benchmarks.errors import Mismatch
from benchmarks.report.plots import Plots, Series
from benchmarks.report.text import duration, head, markdown, times
from cellbounds.disclosure.policies.intruder import Intruder
from cellbounds.disclosure.published_cells import work_out

AGES, SEXES = 10, 5
SIZES = ((1, 100), (4, 100), (10, 100), (50, 100), (200, 100))
WARMING_UP = (1, 40)
LEAST = (0, 1)
SAMPLE = 40
HIDDEN = "x"
PLOTS = Path("docs/benchmarks")


@dataclass(frozen=True, slots=True)
class Line:
    """What was measured on one table, for one attacker."""

    cells: int
    hidden: int
    least: int
    known: int
    reading: float
    ours: float
    programs: float
    only_in_integers: int


def made_up(regions: int, places: int) -> tuple[IntArray, BoolArray]:
    """Counts by municipality, age and sex, and which are hidden."""
    rng = np.random.default_rng(3)
    counts = rng.negative_binomial(0.8, 0.8 / 25.8, size=(regions * places, AGES, SEXES))
    hidden = (counts > 0) & ((rng.random(counts.shape) < 0.02) | (counts < 5))
    return counts, hidden


def sheet(counts: IntArray, hidden: BoolArray, places: int) -> tuple[str, dict[str, Any]]:
    """The table as it is published, and its hierarchy."""
    regions = [f"R{k}" for k in range(len(counts) // places)]
    names = [f"{regions[k // places]}-{k}" for k in range(len(counts))]
    within = {region: names[k * places : (k + 1) * places] for k, region in enumerate(regions)}
    rows = [*names, *regions, "Total"]
    by_region = counts.reshape(len(regions), places, AGES, SEXES).sum(axis=1)
    levels = np.concatenate([counts, by_region, counts.sum(axis=0, keepdims=True)])
    for axis in (1, 2):
        levels = np.concatenate([levels, levels.sum(axis=axis, keepdims=True)], axis=axis)
    marks = np.zeros(levels.shape, dtype=bool)
    marks[: len(counts), :AGES, :SEXES] = hidden
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(["place", "age", "sex", "count"])
    ages = [*(f"a{k}" for k in range(AGES)), "Total"]
    sexes = [*(f"s{k}" for k in range(SEXES)), "Total"]
    for place, row, shown in zip(rows, levels.tolist(), marks.tolist(), strict=True):
        for age, line, masked in zip(ages, row, shown, strict=True):
            for sex, count, mark in zip(sexes, line, masked, strict=True):
                lines.writerow([place, age, sex, HIDDEN if mark else count])
    return text.getvalue(), {"place": within}


class Programs:
    """The hidden counts between the subtotals, for one program after the other."""

    def __init__(self, counts: IntArray, hidden: BoolArray, places: int, least: int) -> None:
        import highspy

        where = np.argwhere(hidden)
        place, age, sex = where.T
        labels = (
            place * AGES + age,
            place * SEXES + sex,
            (place // places * AGES + age) * SEXES + sex,
        )
        own, rows = counts[hidden], 0
        index, sums = [], []
        for label in labels:
            _, inverse = np.unique(label, return_inverse=True)
            index.append(rows + inverse)
            sums.append(np.bincount(inverse, weights=own))
            rows += len(sums[-1])
        model, size = highspy.HighsLp(), len(own)
        model.num_col_, model.num_row_ = size, rows
        model.col_cost_ = np.zeros(size)
        model.col_lower_, model.col_upper_ = np.full(size, float(least)), np.full(size, np.inf)
        model.row_lower_ = model.row_upper_ = np.concatenate(sums)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.arange(size + 1) * len(labels)
        model.a_matrix_.index_ = np.stack(index, axis=1).ravel()
        model.a_matrix_.value_ = np.ones(size * len(labels))
        self._solver, self._sense = highspy.Highs(), highspy.ObjSense
        self._solver.setOptionValue("output_flag", False)
        self._solver.passModel(model)

    def ends(self, cell: int) -> tuple[float, float]:
        """Least and largest count of a hidden cell, by two programs."""
        self._solver.changeColCost(cell, 1.0)
        found = []
        for sense in (self._sense.kMinimize, self._sense.kMaximize):
            self._solver.changeObjectiveSense(sense)
            self._solver.run()
            found.append(self._solver.getInfo().objective_function_value)
        self._solver.changeColCost(cell, 0.0)
        return found[0], found[1]


def measure(regions: int, places: int) -> list[Line]:
    """One table, for both attackers.

    Raises
    ------
    Mismatch
        If a program proves what the attack has not found, or refutes it.
    """
    counts, hidden = made_up(regions, places)
    text, hierarchies = sheet(counts, hidden, places)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "published.csv"
        path.write_text(text, encoding="utf-8")
        begun = time.process_time()
        published = cb.read_published(path, hierarchies=hierarchies)
        reading = time.process_time() - begun
    names = [line["place"] for line in csv.DictReader(io.StringIO(text))][
        :: (AGES + 1) * (SEXES + 1)
    ]
    labels = [(names[i], f"a{j}", f"s{k}") for i, j, k in np.argwhere(hidden).tolist()]
    lines = []
    for least in LEAST:
        begun = time.process_time()
        risk = work_out(published, intruder=Intruder(zeros="shown" if least else "never"))
        ours = time.process_time() - begun
        found = {cell.labels: cell.disclosed for cell in risk.tables[0].cells}
        if risk.unsettled or len(found) != len(labels):
            raise Mismatch(f"{risk.unsettled} cells are open, {len(found)} of {len(labels)} named")
        known = np.array([found[each] for each in labels])
        begun = time.process_time()
        programs = Programs(counts, hidden, places, least)
        building = time.process_time() - begun
        programs.ends(0)  # the first solve begins from nothing
        rng = np.random.default_rng(least)
        sample = rng.choice(len(known), size=min(SAMPLE, len(known)), replace=False)
        begun, integers = time.process_time(), 0
        widths = [(cell, np.subtract(*programs.ends(int(cell))[::-1])) for cell in sample]
        each = (time.process_time() - begun) / len(sample)
        for cell, width in widths:
            if (width < 0.5) and not known[cell]:
                raise Mismatch(f"hidden cell {cell} is known by programs, and not by the attack")
            integers += int(width >= 0.5 and known[cell])
        lines.append(
            Line(counts.size, len(known), least, int(known.sum()), reading, ours,
                 building + each * len(known), integers)
        )  # fmt: skip
    return lines


def report(lines: list[Line], plots: Plots) -> str:
    """The table and its plot."""
    names = [
        "cells",
        "hidden",
        "at least",
        "exactly known",
        "reading",
        "the attack",
        "programs, one for each end",
    ]
    table = head([*names, "ratio", "known in whole numbers only"], 0)
    for line in lines:
        table.append(
            [f"{line.cells:,}", f"{line.hidden:,}", str(line.least), f"{line.known:,}",
             duration(line.reading), duration(line.ours), f"≈ {duration(line.programs)}",
             times(line.programs / line.ours), f"{line.only_in_integers} of {SAMPLE}"]
        )  # fmt: skip
    series = []
    for least in LEAST:
        own = [line for line in lines if line.least == least]
        for name, field in (("attack", "ours"), ("programs", "programs")):
            points = [(line.cells, getattr(line, field)) for line in own]
            series.append(Series(f"{name}, at least {least}", points))
    return markdown(table) + "\n\n" + plots.lines("growth-published", "cells", series)


def main() -> None:
    """Measure, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--size", nargs=2, type=int, action="append", metavar=("REGIONS", "MUNICIPALITIES"),
        help="a table of so many (several times for several)",
    )  # fmt: skip
    parser.add_argument("--plots", type=Path, default=PLOTS, help="where the plot goes")
    given = parser.parse_args()
    made_up_sizes = [tuple(size) for size in given.size] if given.size else SIZES
    measure(*WARMING_UP)
    lines: list[Line] = []
    for regions, places in made_up_sizes:
        lines += measure(regions, places)
        print(report(lines, Plots(given.plots, given.plots.name)), flush=True)


if __name__ == "__main__":
    main()
