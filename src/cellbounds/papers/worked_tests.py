"""p-values that are printed elsewhere, beside those of exact conditional tests here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cellbounds import datasets
from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.utility import exact_test

TEA = [[3, 1], [1, 3]]
SCORES = [[11, 5, 2], [4, 9, 1], [2, 3, 3]]
JOBS = [[1, 2, 1, 0], [3, 3, 6, 1], [10, 10, 14, 9], [6, 7, 12, 11]]


def two_way(counts: list[list[int]]) -> Table:
    """A table of counts by row and column."""
    rows, columns = np.shape(counts)
    return Table(Domain({"row": range(rows), "column": range(columns)}), counts)


def worked_tests() -> Iterator[tuple[str, str, str, str, str]]:
    """Table, what is given, statistic, the value elsewhere and ours, as texts."""
    given = "[row][column]"
    tea = exact_test(two_way(TEA), given, "probability")
    yield "Fisher's lady tasting tea", given, "probability", "34/70", str(tea.exact)
    scores = exact_test(two_way(SCORES), given)
    printed = "0.07035480 of 2,366 tables (Aoki 2016)"
    yield (
        "scores of 40 students", given, "chi-squared", printed,
        f"{scores.p:.8f} of {scores.tables:,} tables",
    )  # fmt: skip
    jobs = exact_test(two_way(JOBS), given, "probability", draws=200_000)
    ours = f"{jobs.p:.4f}, standard error {jobs.error:.4f}: drawn, of 90 million tables"
    yield "job satisfaction (Agresti 2002)", given, "probability", "0.7827 (R)", ours
    trial, census = datasets.read("analgesic"), datasets.read("census3")
    for name, table, model in (
        ("analgesic", trial, "[status,treatment][status,response][treatment,response]"),
        ("census3", census, "[gender,race][gender,income][race,income]"),
    ):
        for statistic in ("chi-squared", "G"):
            test = exact_test(table, model, statistic)
            ours = f"{test.p:.4f} of {test.tables:,} tables"
            yield name, model, statistic, "-", ours
