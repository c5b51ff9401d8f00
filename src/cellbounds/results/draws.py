"""Whole tables drawn from those that fit a release."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.model.priors import Belief
from cellbounds.results.answers import Answer, label_columns, notations
from cellbounds.results.distribution import Distribution, MonteCarlo
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray

FORMAT = "cellbounds-draws/1"

RESERVED = ("draw", "count", "weight", "mean", "mc_error", "effective_size", "rhat")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Draws(Answer):
    """Tables drawn from the posterior over the consistent ones.

    Attributes
    ----------
    counts
        One table after another: an array of shape (draws, *table).
    prior
        What was believed before.
    independent
        Whether the draws are independent of each other (exact draws, importance sampling).
    weights
        Importance weights that add up to one, or None if every draw counts the same.
    monte_carlo
        Errors of the means, effective sizes, R-hat.
    connected
        Markov chains: whether the moves are proven to reach every table; empty otherwise.
    chains
        How many chains the draws are from, one after the other; 0 without chains.
    rates
        Draws of the Poisson means, if they were drawn along (document 002's own chain).
    stopped_early
        Whether the work was stopped before all draws were made.
    """

    counts: IntArray
    prior: Belief
    independent: bool
    weights: FloatArray | None
    monte_carlo: MonteCarlo
    connected: str = ""
    chains: int = 0
    rates: FloatArray | None = None
    stopped_early: bool = False
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, place: int) -> Table:
        """One of the tables."""
        return Table(self.domain, self.counts[place])

    def __iter__(self) -> Iterator[Table]:
        return (Table(self.domain, counts) for counts in self.counts)

    @property
    def mean(self) -> FloatArray:
        """The average of each cell, weighted if the draws are."""
        return np.asarray(np.average(self.counts, axis=0, weights=self.weights))

    def distribution(self, *labels: Label) -> Distribution:
        """The counts of one cell among the draws."""
        return self.cell(int(np.ravel_multi_index(self._index(labels), self.domain.shape)))

    def cell(self, cell: int) -> Distribution:
        """The counts of the cell with this number among the draws."""
        drawn = self.counts.reshape(len(self.counts), -1)[:, cell]
        values, places = np.unique(drawn, return_inverse=True)
        shares = np.bincount(places, weights=self.weights, minlength=len(values))
        return Distribution(values, shares / shares.sum())

    def resampled(self, size: int, rng: np.random.Generator) -> IntArray:
        """Tables drawn anew from weighted ones, so that each counts the same."""
        if size < 1:
            raise InvalidInput(f"size={size}; give the number of tables, 1 or more")
        chosen = rng.choice(len(self.counts), size=size, p=self.weights)
        return np.asarray(self.counts[chosen])

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: the number of the draw, labels, count (and weight)."""
        return frame_of(self.columns(), backend)

    def columns(self) -> dict[str, list[Any]]:
        """The number of the draw, labels, count (and weight), column by column."""
        size = self.domain.size
        cells = label_columns(self.domain, RESERVED)
        columns: dict[str, list[Any]] = {"draw": np.repeat(np.arange(len(self)), size).tolist()}
        columns |= {name: labels * len(self) for name, labels in cells.items()}
        columns["count"] = self.counts.ravel().tolist()
        if self.weights is not None:
            columns["weight"] = np.repeat(self.weights, size).tolist()
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned."""
        return {
            **self._head(),
            "format": FORMAT,
            "prior": repr(self.prior),
            "independent": self.independent,
            "connected": self.connected or None,
            "chains": self.chains,
            "stopped_early": self.stopped_early,
            "notes": list(self.notes),
            "variables": {name: list(self.domain.levels(name)) for name in self.domain.names},
            "counts": self.counts.tolist(),
            "weights": None if self.weights is None else self.weights.tolist(),
        }

    def _rows(self, most: int) -> tuple[list[str], list[list[str]]]:
        checks = self.monte_carlo
        names = ["mean", "mc_error", "effective_size"]
        columns = [self.mean, checks.error, checks.effective_size]
        if checks.rhat is not None:
            names.append("rhat")
            columns.append(checks.rhat)
        numbers = zip(self.domain.cells(), *(column.flat for column in columns), strict=True)
        return names, [
            [*map(str, labels), *(f"{value:.4g}" for value in row)]
            for labels, *row in itertools.islice(numbers, most)
        ]

    def _title(self) -> str:
        given = ", ".join(notations(self.release))
        drawn = "1 table" if len(self) == 1 else f"{len(self)} tables"
        return f"{drawn} drawn given {given}; prior: {self.prior.name}"

    def _remarks(self) -> str:
        lines = [f"{self.method}: {'independent' if self.independent else 'dependent'} draws"]
        if self.connected:
            lines.append(f"connected: {self.connected}")
        if self.stopped_early:
            lines.append("stopped early: fewer draws than asked for")
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return f"<{self._title()}>"
