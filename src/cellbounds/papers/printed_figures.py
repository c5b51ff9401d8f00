"""One printed figure of a paper beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cellbounds.results import Bounds

__all__ = ["Comparison", "compared_cells", "interval_text", "labels_text", "set_text"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a document prints, what we find, and why they differ if the document is wrong."""

    document: str
    place: str
    item: str
    printed: str
    ours: str
    error: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both say the same."""
        return self.printed == self.ours

    @property
    def as_expected(self) -> bool:
        """Whether they agree, or differ where the document is known to be wrong."""
        return self.agrees != bool(self.error)


def decimal_text(value: Fraction | int) -> str:
    """A number whose decimals end, written out; a fraction otherwise."""
    exact = Fraction(value)
    places = 0
    while places < 12 and (exact * 10**places).denominator != 1:
        places += 1
    if places == 12:
        return str(exact)
    whole = int(exact * 10**places)
    return f"{whole // 10**places}.{whole % 10**places:0{places}d}" if places else str(whole)


def interval_text(low: Any, high: Any) -> str:
    """An interval as the papers print it."""
    return f"[{decimal_text(low)},{decimal_text(high)}]"


def set_text(values: Any) -> str:
    """A set of numbers in increasing order."""
    return "{" + ",".join(map(str, sorted(values))) + "}"


def labels_text(labels: Sequence[object]) -> str:
    """A cell by its labels."""
    return ", ".join(map(str, labels))


def compared_cells(
    document: str, place: str, printed: Sequence[str], answer: Bounds
) -> Iterator[Comparison]:
    """Printed intervals beside the bounds of the cells, in their order."""
    ends = zip(answer.lower.flat, answer.upper.flat, strict=True)
    for text, labels, (low, high) in zip(printed, answer.domain.cells(), ends, strict=True):
        yield Comparison(document, place, labels_text(labels), text, interval_text(low, high))
