"""Smucker, Slavković and Zhu 2008: k-way tables given conditional frequencies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cellbounds import datasets
from cellbounds.papers.data_files import DataFiles
from cellbounds.papers.printed_figures import (
    Figures,
    decimal_text,
    interval_texts,
    joined,
    with_totals,
)
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Conditional, Release, Total, publish

TITLE = "Smucker, Slavković, Zhu 2008: k-way tables given conditionals"

DISPLAYED = """0.107 0.714 0.179  0.333 0.424 0.243  0.103 0.483 0.414  0.25 0.542 0.208
               0.5 0.5 0  0.524 0.476 0  0.188 0.562 0.25  0.333 0.5 0.167"""
"""Rates of koch4 as the document displays them."""


def figures(_: DataFiles) -> Figures:
    """Our figures for the 2 x 2 and the 4-way example."""
    koch = datasets.read("koch4")
    yield "2-way table", [joined(with_totals(datasets.read("mp3").counts).flat)]
    rounded = publish(koch, "[recovery|center,status,treatment]@3", rounding="consistent")
    statement = rounded.statements[0]
    assert isinstance(statement, Conditional)
    shares = joined(decimal_text(Fraction(str(rate))) for rate in statement.rates.flat)
    yield "4-way table", [joined(koch.counts.flat), shares]
    small = publish(datasets.read("mp3"), "[mp3|gender]")
    full = publish(koch, "[recovery|center,status,treatment]")
    for kind in ("sharp", "linear"):
        yield f"2 x 2 example, {kind}", interval_texts(bounds(small, kind=kind))
        # Of the 4-way table the document shows the first two rows.
        cells = interval_texts(bounds(full, kind=kind), _two_places)
        yield f"4-way example, {kind}", cells[:6]
    rates = np.reshape(DISPLAYED.split(), koch.domain.shape).tolist()
    given = ["center", "status", "treatment"]
    shown = Conditional(["recovery"], given=given, rates=rates, eps="0.001")
    intruder, owner = attainable(Release(koch.domain, [Total(193), shown])), attainable(full)
    same = all(values == owner[labels] for labels, values in intruder.items())
    yield "Discussion", ["the same counts as from exact rates" if same else "other counts"]


def _two_places(value: Fraction | int) -> str:
    """Rounded half up to two decimals, without trailing zeros, as the document prints."""
    hundredths = int(Fraction(value) * 100 + Fraction(1, 2))
    return f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".")
