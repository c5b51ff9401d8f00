"""Record swapping beside rates: the baseline of document 004's introduction.

A share of the records exchange their responses at random, which keeps both one-way margins; the
swapped table is released. Rates of the true table, rounded, are the other release. For both:

- *risk*: how often the likeliest value of a small count (1 to 3) is the true one. After swapping
  that is taken to be the count that is shown; given rates, the mode of the exact posterior under a
  uniform prior.
- *loss*: how far the rates that are shown are from the true ones, on average over all cells; and
  how far Cramer's V that they lead to is from the true one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.inference.posterior import posterior
from cellbounds.papers.study import SMALL, random_counts
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements import Conditional, publish

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Of the records that are swapped."""

DIGITS = (1, 2, 3)
SHAPE, SPREAD = (4, 4), 1.2
PEOPLE = (135, 500)
TABLES, ROUNDS = 100, 10
"""Random tables of each size, and swapped ones of each of them and share."""


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """A release, what it gives away of small counts, and what it loses."""

    people: int
    kind: str
    how: str
    risk: float
    rate_loss: float
    association_loss: float


def swapped(counts: IntArray, share: float, rng: np.random.Generator) -> IntArray:
    """A table after a share of its records exchanged their columns at random.

    Examples
    --------
    >>> from cellbounds import datasets
    >>> counts = datasets.read("delinquent").counts
    >>> other = swapped(counts, 0.5, np.random.default_rng(1))
    >>> [bool((other.sum(axis=k) == counts.sum(axis=k)).all()) for k in (0, 1)]
    [True, True]
    """
    rows, columns = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.ravel(), axis=1)
    chosen = rng.permutation(len(rows))[: round(share * len(rows))]
    columns[chosen] = columns[rng.permutation(chosen)]
    made = np.zeros_like(counts)
    np.add.at(made, (rows, columns), 1)
    return made


def association(rates: FloatArray, weights: FloatArray) -> float:
    """Cramer's V of rates by rows with weights for the rows."""
    joint = rates * (weights / weights.sum())[:, None]
    expected = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    possible = expected > 0
    mean_square = float(((joint - expected)[possible] ** 2 / expected[possible]).sum())
    return float(np.sqrt(mean_square / (min(rates.shape) - 1)))


Losses = tuple[float, float, float]
"""Small counts guessed right, and the mean errors of rates and of Cramer's V."""


def tradeoffs(tables: int = TABLES, seed: int = 4) -> Iterator[Tradeoff]:
    """Swapping more and more records, and rates with more and more decimals, of random tables."""
    rng = np.random.default_rng(seed)
    for people in PEOPLE:
        made = [_counts(people, rng) for _ in range(tables)]
        for share in SHARES:
            seen = [_by_swapping(counts, share, rng) for counts in made for _ in range(ROUNDS)]
            yield Tradeoff(people, "records swapped", f"{share:.0%}", *np.mean(seen, axis=0))
        for digits in DIGITS:
            seen = [_by_rates(counts, digits) for counts in made]
            decimals = "1 decimal" if digits == 1 else f"{digits} decimals"
            yield Tradeoff(people, "rates", decimals, *np.mean(seen, axis=0))


def _counts(people: int, rng: np.random.Generator) -> IntArray:
    """A random table with small counts, and somebody in every row and column."""
    while True:
        counts = random_counts(SHAPE, people, SPREAD, rng)
        if _small(counts).any() and counts.sum(axis=0).all() and counts.sum(axis=1).all():
            return counts


def _small(counts: IntArray) -> BoolArray:
    return np.asarray((counts > 0) & (counts <= SMALL))


def _by_swapping(counts: IntArray, share: float, rng: np.random.Generator) -> Losses:
    shown, sums = swapped(counts, share, rng), counts.sum(axis=1)
    return _losses(counts, shown, shown / sums[:, None], sums)


def _by_rates(counts: IntArray, digits: int) -> Losses:
    domain = Domain({"row": range(counts.shape[0]), "column": range(counts.shape[1])})
    release = publish(Table(domain, counts), f"[column|row]@{digits}")
    statement, answer = release.statements[0], posterior(release)
    assert isinstance(statement, Conditional)
    modes = np.array([distribution.mode for _, distribution in answer.items()]).reshape(
        counts.shape
    )
    # Whoever holds the rates takes the rows to be as large as they are on average.
    return _losses(counts, modes, statement.rates.astype(np.float64), answer.mean.sum(axis=1))


def _losses(counts: IntArray, guess: IntArray, rates: FloatArray, rows: FloatArray) -> Losses:
    sums = counts.sum(axis=1)
    true = counts / sums[:, None]
    return (
        float((guess == counts)[_small(counts)].mean()),
        float(np.abs(rates - true).mean()),
        abs(association(rates, rows) - association(true, sums)),
    )


def swapped_at(rates: Tradeoff, seen: Sequence[Tradeoff]) -> tuple[float, float]:
    """What swapping loses at the risk of some rates, between the two nearest shares."""
    own = [losses for losses in seen if losses.people == rates.people and losses.kind != rates.kind]
    by_risk = sorted((losses.risk, losses.rate_loss, losses.association_loss) for losses in own)
    risks, *losses = zip((1.0, 0.0, 0.0), *by_risk[::-1], strict=True)
    first, second = (np.interp(rates.risk, risks[::-1], loss[::-1]) for loss in losses)
    return float(first), float(second)


def swapping_chart(seen: list[Tradeoff]) -> Any:
    """Loss against risk: lower is better at the same risk."""
    import altair as alt

    points = [
        {"risk": losses.risk, "loss": loss, "release": losses.kind, "how": losses.how, "of": of}
        | {"N": f"N = {losses.people:,}"}
        for losses in seen
        for of, loss in (("rates", losses.rate_loss), ("Cramer's V", losses.association_loss))
    ]
    base = alt.Chart(alt.Data(values=points)).encode(
        alt.X("risk:Q", title="small counts guessed right"),
        alt.Y("loss:Q", title="mean error"),
        alt.Color("release:N"),
    )
    marks = base.mark_line(point=True, strokeDash=[3, 3])
    words = base.mark_text(dy=-9, fontSize=9).encode(alt.Text("how:N"))
    return (
        alt.layer(marks, words)
        .properties(width=320, height=220)
        .facet(column=alt.Column("of:N", title=None), row=alt.Row("N:N", title=None))
        .resolve_scale(y="independent")
        .properties(title="Swapping records and rounding rates of the same table")
    )
