"""Smucker and Slavković 2008: two-way tables given conditional frequencies."""

from __future__ import annotations

import numpy as np

from cellbounds import datasets
from cellbounds.data.table import Table
from cellbounds.papers.data_files import DataFiles
from cellbounds.papers.printed_figures import Figures, interval_texts, joined
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Conditional, Release, Total, publish

TITLE = "Smucker, Slavković 2008: two-way tables given conditionals"

TABLE_3_RATES = {1: "0.8 0.2  0.3 0.7", 2: "0.75 0.25  0.33 0.67"}
TABLE_5_RATES = {
    1: "0.7 0.1 0.1 0.1  0.3 0.2 0.2 0.3  0.1 0.4 0.4 0.1  0.3 0.4 0.2 0.1",
    2: "0.75 0.05 0.15 0.05  0.37 0.18 0.18 0.27  0.12 0.4 0.4 0.08  0.34 0.4 0.2 0.06",
    3: "0.75 0.05 0.15 0.05  0.363 0.182 0.182 0.273  0.12 0.4 0.4 0.08  0.343 0.4 0.2 0.057",
}


def figures(_: DataFiles) -> Figures:
    """Our figures for Tables 1 to 5."""
    mp3, children = datasets.read("mp3"), datasets.read("delinquent")
    yield "Table 1", [joined(mp3.counts.flat)]
    given_gender = mp3.conditional(["mp3"], given=["gender"])
    given_answer = mp3.conditional(["gender"], given=["mp3"]).T
    yield "matrices of rates", [joined(given_gender.flat), joined(given_answer.flat)]
    yield "Table 4", [joined(children.counts.flat)]
    rows, columns = publish(mp3, "[mp3|gender]"), publish(mp3, "[gender|mp3]")
    yield "Table 2, sharp", interval_texts(bounds(rows))
    yield "Table 2, linear", interval_texts(bounds(rows, kind="linear"))
    yield "Table 3, sharp", interval_texts(bounds(columns))
    for digits, text in TABLE_3_RATES.items():
        yield f"Table 3, linear, {digits} decimals", _relaxed(mp3, "gender", "mp3", text)
    yield "Table 4, sharp", interval_texts(bounds(publish(children, "[education|county]")))
    for digits, text in TABLE_5_RATES.items():
        place = f"Table 5, linear, {digits} decimals"
        yield place, _relaxed(children, "education", "county", text)


def _relaxed(table: Table, response: str, given: str, rates: str) -> list[str]:
    """Decimals taken for exact: no table of counts need exist, the relaxation does."""
    shape = (len(table.domain.levels(given)), -1)
    exact = Conditional(
        [response], given=[given], rates=np.reshape(rates.split(), shape).tolist(), eps="0"
    )
    release = Release(table.domain, [Total(table.total), exact])
    return interval_texts(bounds(release, kind="linear"))
