"""Smucker, Slavković and Zhu 2008: k-way tables given conditional frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from cellbounds.papers.printed_figures import Comparison, compared_cells, labels_text
from cellbounds.papers.tables import example_table
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Conditional, Release, Total, publish

__all__ = ["compare"]

DOCUMENT = "000"

DISPLAYED = [
    "0.107 0.714 0.179", "0.333 0.424 0.243", "0.103 0.483 0.414", "0.25 0.542 0.208",
    "0.5 0.5 0", "0.524 0.476 0", "0.188 0.562 0.25", "0.333 0.5 0.167",
]  # fmt: skip
"""Rates of koch4 as the document displays them."""

SHARP = {
    ("1", "1", "1"): ["[3,6]", "[20,40]", "[5,10]"],
    ("1", "1", "2"): ["[11,11]", "[14,14]", "[8,8]"],
}
LINEAR = {
    ("1", "1", "1"): ["[0.11,19.93]", "[0.71,132.86]", "[0.18,33.21]"],
    ("1", "1", "2"): ["[0.33,62]", "[0.42,78.91]", "[0.24,45.09]"],
}
MP3_SHARP = ["[3,27]", "[2,18]", "[1,9]", "[4,36]"]
MP3_LINEAR = ["[0.6,29.4]", "[0.4,19.6]", "[0.2,9.8]", "[0.8,39.2]"]


def compare() -> Iterator[Comparison]:
    """The 2 x 2 and the 4-way example beside ours."""
    mp3 = example_table("mp3")
    release = publish(mp3, "[mp3|gender]")
    for kind, printed in (("sharp", MP3_SHARP), ("linear", MP3_LINEAR)):
        answer = bounds(release, kind=kind)
        yield from compared_cells(DOCUMENT, f"2 x 2 example, {kind}", printed, answer)
    koch = example_table("koch4")
    full = publish(koch, "[recovery|center,status,treatment]")
    sharp, linear = bounds(full), bounds(full, kind="linear")
    for printed_cells, answer, what in ((SHARP, sharp, "sharp"), (LINEAR, linear, "linear")):
        for row, texts in printed_cells.items():
            for text, level in zip(texts, koch.domain.levels("recovery"), strict=True):
                low, high = answer[(*row, level)]
                ours = f"[{_two_places(low)},{_two_places(high)}]"
                item = labels_text((*row, level))
                yield Comparison(DOCUMENT, f"4-way example, {what}", item, text, ours)
    shown = Conditional(
        ["recovery"],
        given=["center", "status", "treatment"],
        rates=_shaped([line.split() for line in DISPLAYED]),
        eps="0.001",
    )
    intruder = attainable(Release(koch.domain, [Total(193), shown]))
    owner = attainable(full)
    same = all(values == owner[labels] for labels, values in intruder.items())
    yield Comparison(
        DOCUMENT,
        "Discussion",
        "sharp bounds from the displayed decimals",
        "an intruder cannot compute them",
        "the same counts as from exact rates" if same else "other counts",
        "three decimals within 0.001 leave exactly the counts that the exact rates leave",
    )


def _two_places(value: Any) -> str:
    """Rounded half up to two decimals, without trailing zeros, as the document prints."""
    hundredths = int(Fraction(value) * 100 + Fraction(1, 2))
    text = f"{hundredths // 100}.{hundredths % 100:02d}"
    return text.rstrip("0").rstrip(".")


def _shaped(rows: list[list[str]]) -> Any:
    """Eight rows as center x status x treatment."""
    return [[rows[0:2], rows[2:4]], [rows[4:6], rows[6:8]]]
