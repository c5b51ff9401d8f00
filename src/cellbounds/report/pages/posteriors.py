"""How likely the counts of a few cells are: summed exactly, or drawn if a seed is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.errors import CellboundsError, InconsistentRelease, TooMuchWork
from cellbounds.inference.chooser import ExactSums, exact_sums
from cellbounds.inference.posterior import posterior
from cellbounds.model.priors import belief_of
from cellbounds.model.structure import gather
from cellbounds.report.pages.plain import plain_label
from cellbounds.results import Distribution
from cellbounds.statements import Release

__all__ = ["MOST_PLOTS", "Chances", "chances_of", "plotted"]

ROW_EFFORT, EFFORT = 5e7, 1e7
"""Steps that the exact sums may take, for one conditional and for all else: a few seconds."""

DRAWS = 2_000
"""Tables that are drawn where the exact sums would take more, if a seed is given."""

DRAW_SECONDS = 20.0
"""A time for that if there is no budget."""

MOST_PLOTS, MOST_BARS = 12, 40
"""Cells that are plotted, and bars of a plot."""

PRIOR = "uniform"


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """The distribution of each cell of the table, or why there is none."""

    said: str
    method: str | None = None
    at: Callable[[tuple[Label, ...]], Distribution] | None = None


def chances_of(
    release: Release, over: tuple[str, ...], *, seed: int | None, seconds: float | None
) -> Chances:
    """The posterior of the cells under a uniform prior over the consistent tables."""
    domain = release.domain
    if set(over) != set(domain.names):
        return Chances(
            "not worked out: the cells here are those of a margin, and posteriors are of the cells "
            "of the whole table"
        )

    def place(labels: tuple[Label, ...]) -> int:
        ordered = dict(zip(over, labels, strict=True))
        index = domain.index([ordered[name] for name in domain.names])
        return int(np.ravel_multi_index(index, domain.shape))

    try:
        effort = EFFORT if gather(release).conditional is None else ROW_EFFORT
        found = exact_sums(release, belief_of(PRIOR).weights(domain), effort)
        if isinstance(found, ExactSums):
            sums = found.weighted
            return Chances(
                "exact: every consistent table is summed over",
                found.name,
                lambda labels: sums.distribution(place(labels)),
            )
        if found.steps is None:
            return Chances(f"not worked out: {found.reason}")
        if seed is None:
            return Chances(f"not worked out: {found.reason} (a report with a seed estimates it)")
        drawn = posterior(
            release,
            PRIOR,
            effort=effort,
            draws=DRAWS,
            rng=seed,
            seconds=DRAW_SECONDS if seconds is None else max(seconds, 1.0),
        )
    except InconsistentRelease:
        raise
    except CellboundsError as problem:
        return Chances(f"not worked out: {problem}")
    said = f"estimated from {DRAWS:,} tables, seed {seed}: {'; '.join(drawn.notes)}"
    return Chances(said, drawn.method, lambda labels: drawn.at(place(labels)))


def plotted(
    chances: Chances, cells: Iterable[tuple[tuple[Label, ...], int | None]], left: int, chosen: str
) -> dict[str, Any]:
    """The section of a report: the distributions of some cells, with their counts if given.

    `left` is how many more cells there are, `chosen` what they have in common.
    """
    plots: list[dict[str, Any]] = []
    said = chances.said
    for labels, count in cells if chances.at is not None else ():
        assert chances.at is not None  # said by the loop's condition
        try:
            found = chances.at(labels)
        except TooMuchWork as problem:
            said = f"{said}; the others are not worked out: {problem}"
            break
        plots.append({"labels": [plain_label(one) for one in labels], **_summary(found)})
        if count is not None:
            plots[-1]["count"] = count
    return {
        "prior": PRIOR,
        "method": chances.method,
        "said": said,
        "chosen": chosen,
        "left_out": left,
        "cells": plots,
    }


def _summary(found: Distribution) -> dict[str, Any]:
    low, high = found.interval("0.95")
    return {
        "mean": _rounded(found.mean),
        "sd": _rounded(found.sd),
        "interval95": [low, high],
        "bars": _bars(found),
    }


def _bars(found: Distribution) -> list[list[int | float]]:
    """First and last count of each bar, and its probability: one count a bar if they are few."""
    first, last = int(found.values[0]), int(found.values[-1])
    width = -(-(last - first + 1) // MOST_BARS)
    sums = np.zeros((last - first) // width + 1)
    np.add.at(sums, (found.values - first) // width, found.probabilities)
    return [
        [first + width * k, min(first + width * (k + 1) - 1, last), _rounded(float(chance))]
        for k, chance in enumerate(sums)
    ]


def _rounded(value: float) -> float:
    """Six digits: the last bits of a sum may differ between machines."""
    return float(f"{value:.6g}")
