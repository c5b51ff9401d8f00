"""A report on synthetic tables: what they give away, and what they are good for."""

from __future__ import annotations

import html
import math
from dataclasses import asdict, dataclass
from typing import Any

from cellbounds.data.frames import frame_of
from cellbounds.disclosure.policies import DEFAULT, read_policy
from cellbounds.utility import UtilityComparison
from cellbounds.utility.display import Section
from cellbounds.version import __version__

__all__ = ["CopyMatch", "Disclosure", "SyntheticReport"]

FORMAT = "cellbounds-synthetic-report/1"


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What somebody learns from one way to publish.

    Attributes
    ----------
    published
        What is published.
    statements
        What it comes down to, in the notation.
    tables
        How many tables are consistent with it; None if they were not counted.
    disclosed, narrow, unsafe, undecided
        Cells with one attainable count; with few; small counts that are disclosed; cells for
        which the budget did not settle that.
    values
        How many counts are attainable in a cell, the median over all cells; None if unsettled.
    verdict
        ``"safe"``, ``"unsafe"`` or ``"undecided"``.
    """

    published: str
    statements: tuple[str, ...]
    tables: int | None
    disclosed: int
    narrow: int
    unsafe: int
    undecided: int
    values: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class CopyMatch:
    """How many counts of a synthetic table are the true ones.

    Cells that everybody knows to be empty are left out.
    """

    copy: int
    cells: int
    equal: int
    small: int
    small_equal: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticReport:
    """Disclosure and utility of synthetic tables side by side with the original.

    It is for the owner: it has figures of the true table in it.

    Attributes
    ----------
    disclosures
        What is learnt from the synthetic tables by somebody who knows how they were made; if
        rates were rounded, from the rounded rates themselves; and from the true table.
    matches
        How many counts of each copy are the true ones.
    utility
        Distances, odds ratios, tests and models in each copy and in the true table.
    notes
        How to read the numbers.
    """

    disclosures: tuple[Disclosure, ...]
    matches: tuple[CopyMatch, ...]
    utility: UtilityComparison
    notes: tuple[str, ...]

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: what is published, the measure, its value.

        `utility.to_frame()` has the measures of utility.
        """
        lines: list[tuple[str, str, float | None]] = []
        for one in self.disclosures:
            for name in ("tables", "disclosed", "narrow", "unsafe", "undecided", "values"):
                value = getattr(one, name)
                lines.append((one.published, name, None if value is None else _as_float(value)))
        lines += [
            (f"copy {match.copy}", name, float(getattr(match, name)))
            for match in self.matches
            for name in ("cells", "equal", "small", "small_equal")
        ]
        names = ("published", "measure", "value")
        return frame_of({name: [row[i] for row in lines] for i, name in enumerate(names)}, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned."""
        return {
            "format": FORMAT,
            "version": __version__,
            "view": "owner",
            "rule": "; ".join(read_policy(DEFAULT).sentences),
            "disclosure": [asdict(one) for one in self.disclosures],
            "copies": [asdict(one) for one in self.matches],
            "utility": self.utility.to_dict(),
            "notes": list(self.notes),
        }

    def _sections(self) -> list[Section]:
        learnt = [
            [
                one.published,
                "not counted" if one.tables is None else _large(one.tables),
                "?" if one.values is None else f"{one.values:g}",
                *map(str, (one.disclosed, one.narrow, one.unsafe, one.undecided)),
                one.verdict,
            ]
            for one in self.disclosures
        ]
        titles = ["published", "tables", "values", "disclosed", "narrow", "unsafe", "undecided"]
        equal = [
            [str(one.copy), *map(str, (one.equal, one.cells, one.small_equal, one.small))]
            for one in self.matches
        ]
        small = f"{read_policy(DEFAULT).small} or less and equal"
        return [
            Section(
                "disclosure: what is learnt by somebody who knows how the tables were made",
                [*titles, "verdict"],
                learnt,
                frozenset({"published", "verdict"}),
            ),
            Section(
                "counts that are the true ones",
                ["copy", "equal", "of cells", small, "of such"],
                equal,
            ),
        ]

    def __str__(self) -> str:
        said = "\n".join(f"note: {note}" for note in self.notes)
        blocks = [section.text() for section in self._sections()]
        return "\n\n".join([*blocks, said, f"utility\n{self.utility}"])

    def __repr__(self) -> str:
        # Figures of a confidential table are not printed by accident.
        return f"<report on {len(self.matches)} synthetic tables, for the owner>"

    def _repr_html_(self) -> str:
        said = "".join(f"<p>note: {html.escape(note)}</p>" for note in self.notes)
        blocks = [section.html() for section in self._sections()]
        return "".join([*blocks, said, self.utility._repr_html_()])


def _as_float(number: float) -> float:
    """A number as a double; numbers of tables may be beyond it."""
    return float(number) if number < 10**308 else math.inf


def _large(number: int) -> str:
    return str(number) if number < 10**12 else f"{number:.3e}" if number < 1e300 else "above 1e300"
