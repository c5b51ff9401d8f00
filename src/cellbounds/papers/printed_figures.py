"""What the papers print, figure by figure, and how ours stand beside it.

`data/printed.csv` holds every printed figure in the order of the papers: where it stands, what it
is about, why it differs from ours if it is known to be wrong and, for a figure from a Markov chain,
by how much the simulation may be off.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from importlib import resources

import numpy as np

from cellbounds.papers.data_files import NotAtHand
from cellbounds.results import Bounds
from cellbounds.runtime.arrays import IntArray

Figures = Iterable[tuple[str, Iterable[str] | NotAtHand]]
"""Our figures: places of a paper, each with texts in the order of what is printed there.

Or with the file that all figures of the place would need.
"""


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """What a document prints, what we find, and why they differ if the document is wrong."""

    document: str
    place: str
    item: str
    printed: str
    ours: str
    error: str = ""
    tolerance: float = 0.0
    missing: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether both say the same, or numbers no further apart than a simulation may be.

        None if the data that ours would be made from are not at hand.
        """
        if self.missing:
            return None
        if not self.tolerance:
            return self.printed == self.ours
        pairs = zip(_numbers(self.printed), _numbers(self.ours), strict=True)
        return max(abs(printed - ours) for printed, ours in pairs) <= self.tolerance

    @property
    def as_expected(self) -> bool:
        """Whether they agree, or differ where the document is known to be wrong; or unknown."""
        return self.agrees is None or self.agrees != bool(self.error)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[-\d.]+", text)]


def printed_figures(document: str) -> list[PrintedFigure]:
    """The figures that a document prints, with nothing beside them yet."""
    text = (resources.files("cellbounds.papers") / "data" / "printed.csv").read_text("utf-8")
    return [
        PrintedFigure(
            document=name,
            place=place,
            item=item,
            printed=printed,
            ours="",
            error=error,
            tolerance=float(tolerance or 0),
        )
        for name, place, item, printed, error, tolerance in csv.reader(text.splitlines())
        if name == document
    ]


def beside(document: str, ours: Figures) -> list[PrintedFigure]:
    """What a document prints with our figures beside it."""
    left: defaultdict[str, list[str]] = defaultdict(list)
    missing: dict[str, str] = {}
    for place, texts in ours:
        if isinstance(texts, NotAtHand):
            missing[place] = texts.file
        else:
            left[place] += texts
    compared = [
        replace(figure, missing=missing[figure.place])
        if figure.place in missing
        else replace(figure, ours=left[figure.place].pop(0))
        for figure in printed_figures(document)
    ]
    assert not any(left.values()), f"more figures than document {document} prints"
    return compared


def decimal_text(value: Fraction | int) -> str:
    """A number whose decimals end, written out; a fraction otherwise."""
    exact = Fraction(value)
    places = next((k for k in range(12) if (exact * 10**k).denominator == 1), None)
    return str(exact) if places is None else f"{Decimal(int(exact * 10**places)).scaleb(-places):f}"


def interval_texts(
    answer: Bounds, written: Callable[[Fraction | int], str] = decimal_text
) -> list[str]:
    """The bounds of the cells as the papers print them, in their order."""
    ends = zip(answer.lower.flat, answer.upper.flat, strict=True)
    return [f"[{written(low)},{written(high)}]" for low, high in ends]


def joined(parts: Iterable[object]) -> str:
    """Several figures as one text."""
    return " ".join(map(str, parts))


def with_totals(counts: IntArray) -> IntArray:
    """A two-way table with its row totals, and its column totals below."""
    wide = np.column_stack([counts, counts.sum(axis=1)])
    return np.vstack([wide, wide.sum(axis=0)])
