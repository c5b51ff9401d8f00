"""This library, asked the same question as its peers, in two ways.

The *whole call* starts from text, as a reader of the publication would: it builds the release
and asks for its bounds. The *kernel* starts from a release that is already built.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import cellbounds as cb
from benchmarks.arrays import IntArray
from benchmarks.problems.instances import SMALLEST, Instance
from cellbounds.solvers.conditional.small_tables import sharp_ends


@dataclass(frozen=True, slots=True)
class Publication:
    """What was printed about a table: labels, total, decimals and their tolerance."""

    row_labels: list[str]
    column_labels: list[str]
    total: int
    rates: list[list[str]]
    eps: str


def publish(instance: Instance) -> Publication:
    """Print the rates of an instance as decimals."""

    def decimal(numerator: int) -> str:
        whole, part = divmod(numerator, instance.scale)
        return f"{whole}.{part:0{instance.digits}d}"

    return Publication(
        row_labels=[f"r{i}" for i in range(1, instance.rows + 1)],
        column_labels=[f"c{j}" for j in range(1, instance.columns + 1)],
        total=instance.total,
        rates=[[decimal(rate) for rate in row] for row in instance.rates.tolist()],
        eps=decimal(1),
    )


def build_release(publication: Publication) -> cb.Release:
    """Turn the printed figures into a release."""
    domain = cb.Domain({"row": publication.row_labels, "col": publication.column_labels})
    conditional = cb.Conditional(
        ["col"], given=["row"], rates=publication.rates, eps=publication.eps
    )
    return cb.Release(domain, [cb.Total(publication.total), conditional])


def kernel(release: cb.Release) -> tuple[IntArray, IntArray]:
    """Bound every cell of a release that is already built."""
    answer = cb.bounds(release)
    return answer.lower, answer.upper


def whole_call(publication: Publication) -> tuple[IntArray, IntArray]:
    """Bound every cell, starting from the printed figures."""
    answer = cb.bounds(build_release(publication))
    return answer.lower, answer.upper


def warm_up() -> None:
    """Ask about a small table until its bounds are left to compiled code.

    A process does that when it has worked for a second on such tables; before, calls take longer.
    """
    release = build_release(publish(Instance("warming up", SMALLEST, digits=1)))
    while not sharp_ends.pays:
        cb.bounds(release)
    cb.bounds(release)


def attainable(publication: Publication) -> list[list[IntArray]]:
    """List every attainable value of every cell, in increasing order."""
    values = cb.attainable(build_release(publication))
    return [
        [np.array(sorted(values[row, column])) for column in publication.column_labels]
        for row in publication.row_labels
    ]
