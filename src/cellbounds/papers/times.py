"""Printed running times beside ours: document 004's Tables 9 to 11, Wright and Smucker's Table 8.

Theirs are of other machines and years, ours of this one: they stand beside each other and are not
judged. What is judged is that the tables have the size that is printed.
"""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from importlib import resources

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.papers.data_files import DataFiles, NotAtHand
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.solve import bounds
from cellbounds.statements import publish

LARGE = 0.95
"""Table 11: the share of counts from 5 to 499; the others are 0 to 4."""

SEED = 4

ROUNDS = 3
"""The shortest of so many calls counts."""


@dataclass(frozen=True, slots=True)
class Timing:
    """A line of a table of times.

    Attributes
    ----------
    document, place
        Where it stands.
    data
        The table that was taken; empty for random ones.
    digits
        Of the rates; None if they were exact.
    rows, columns, people
        Its size as printed; a range where several random tables were taken.
    printed, solver
        The printed seconds of their method, and of CPLEX (as printed: some were stopped).
    ours
        Our seconds for all bounds; None if the table is not at hand.
    missing
        The file that is not at hand.
    as_printed
        Whether the table that we took has the size that is printed; a random one, nearly.
    """

    document: str
    place: str
    data: str
    digits: int | None
    rows: int
    columns: int
    people: str
    printed: float
    solver: str
    ours: float | None = None
    missing: str = ""
    as_printed: bool = True

    @property
    def work(self) -> float:
        """(I ln I)(N ln N), by which document 004's time is said to grow."""
        total = int(self.people.split("-")[0])
        return self.rows * math.log(self.rows) * total * math.log(total)


def printed_times() -> Iterator[Timing]:
    """Every printed time, without ours."""
    for line in _lines():
        size = (int(line["rows"]), int(line["columns"]))
        digits = int(line["digits"]) if line["digits"] else None
        about = (line["document"], line["place"], line["data"], digits, *size, line["people"])
        yield Timing(*about, float(line["seconds"]), line["cplex_seconds"])


def _lines() -> list[dict[str, str]]:
    text = (resources.files("cellbounds.papers") / "data" / "printed_times.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def timings(data: DataFiles, documents: Collection[str]) -> Iterator[Timing]:
    """Every time that some documents print, with ours."""
    rng = np.random.default_rng(SEED)
    for line, printed in zip(_lines(), printed_times(), strict=True):
        if printed.document not in documents:
            continue
        size = (printed.rows, printed.columns)
        if printed.data:
            counts = _two_way(data.get(printed.data), line["given"], line["responses"], size[0])
        else:
            counts = _random(printed.place, size, rng)
        if isinstance(counts, NotAtHand):
            yield replace(printed, missing=counts.file)
            continue
        alike = counts.shape == size and _near(int(counts.sum()), printed.people, printed.data)
        yield replace(printed, ours=_seconds(counts, printed.digits), as_printed=alike)


def _two_way(
    table: Table | NotAtHand, given: str, responses: str, rows: int
) -> IntArray | NotAtHand:
    """A table reshaped; if fewer rows are printed than it has, those without a zero."""
    if isinstance(table, NotAtHand):
        return table
    names = table.domain.names
    wanted = [[names[int(number) - 1] for number in text.split()] for text in (given, responses)]
    height = math.prod(len(table.domain.levels(name)) for name in wanted[0])
    counts = table.margin([*wanted[0], *wanted[1]]).counts.reshape(height, -1)
    return counts if rows == height else np.asarray(counts[(counts > 0).all(axis=1)])


def _random(place: str, size: tuple[int, int], rng: np.random.Generator) -> IntArray:
    if place == "Table 10":
        return rng.integers(1, 26, size)
    large, small = rng.integers(5, 500, size), rng.integers(0, 5, size)
    return np.where(rng.random(size) < LARGE, large, small)


def _near(total: int, people: str, data: str) -> bool:
    """Whether a table has as many people as printed; a random one within a fifth."""
    if data:
        return people == str(total)
    ends = [int(end) for end in people.split("-")]
    return 0.8 * min(ends) <= total <= 1.2 * max(ends)


def _seconds(counts: IntArray, digits: int | None) -> float:
    domain = Domain(dict(zip(("row", "column"), map(range, counts.shape), strict=True)))
    text = "[column|row]" if digits is None else f"[column|row]@{digits}"
    rounding = None if digits is None else "consistent"
    rule = "rounding" if rounding is None else "interval"
    release = publish(Table(domain, counts), text, rounding=rounding, rule=rule)
    taken = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        bounds(release)
        taken.append(time.perf_counter() - begun)
    return min(taken)
