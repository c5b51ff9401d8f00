"""The posterior of the cells of a table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.model.priors import Belief, GammaPoisson
from cellbounds.results.answers import CellAnswer, label_columns, labelled, notations
from cellbounds.results.distribution import Distribution, MonteCarlo, Rate, checked_probability
from cellbounds.results.evidence import Evidence
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray

FORMAT = "cellbounds-posterior/1"

SMALL = 3
"""Counts up to this one are summed up as small."""

SUMMARY = ("mean", "sd", "median", "mode", "q025", "q975", f"at_most_{SMALL}")
CHECKS = ("mc_error", "effective_size", "rhat")
RESERVED = (*SUMMARY, *CHECKS, "counts", "probabilities")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Posterior(CellAnswer):
    """How likely each count of each cell, or of each sum of a margin, is.

    Attributes
    ----------
    prior
        What was believed before.
    error
        Exact answers: no probability is further from the truth than this part of itself (double
        precision without cancellation; 0: exact). Estimates: None, see `monte_carlo`.
    evidence
        EXACT if summed over every consistent table, ESTIMATED if drawn.
    monte_carlo
        Errors, effective sizes and R-hat of an estimate; None if exact.
    """

    prior: Belief
    error: float | None
    monte_carlo: MonteCarlo | None
    _distribution: Callable[[int], Distribution]
    _mode: Callable[[], IntArray] | None
    notes: tuple[str, ...] = ()
    _made: dict[int, Distribution] = field(default_factory=dict, repr=False)

    @property
    def exact(self) -> bool:
        """Whether every consistent table was summed over."""
        return self.evidence is Evidence.EXACT

    def __getitem__(self, labels: Label | tuple[Label, ...]) -> Distribution:
        """The distribution of the cell with these labels."""
        position = self._index(labels if isinstance(labels, tuple) else (labels,))
        return self.at(self._places.number(position))

    def at(self, cell: int) -> Distribution:
        """The distribution of the cell with this number among those asked about."""
        distribution = self._made.get(cell)
        if distribution is None:
            distribution = self._made[cell] = self._distribution(cell)
        return distribution

    def items(self) -> Iterator[tuple[tuple[Label, ...], Distribution]]:
        """Labels and distribution of every cell, in order."""
        for cell, labels in enumerate(self.cells()):
            yield labels, self.at(cell)

    def _each(self, what: Callable[[Distribution], Any], kind: type) -> Any:
        values = [what(distribution) for _, distribution in self.items()]
        return np.array(values, dtype=kind).reshape(self._places.shape)

    @property
    def mean(self) -> FloatArray:
        """The expected count of each cell."""
        return np.asarray(self._each(lambda distribution: distribution.mean, np.float64))

    @property
    def sd(self) -> FloatArray:
        """The standard deviation of each cell."""
        return np.asarray(self._each(lambda distribution: distribution.sd, np.float64))

    @property
    def median(self) -> IntArray:
        """The median of each cell."""
        return self.quantile("0.5")

    @property
    def mode(self) -> IntArray:
        """The most probable count of each cell, one by one (see `joint_mode` for whole tables)."""
        return np.asarray(self._each(lambda distribution: distribution.mode, np.int64))

    def quantile(self, probability: object) -> IntArray:
        """The smallest count of each cell with at least this probability at or below it."""
        level = checked_probability(probability)
        return np.asarray(self._each(lambda distribution: distribution.quantile(level), np.int64))

    def at_most(self, count: int) -> FloatArray:
        """The probability of each cell to hold at most so many."""
        return np.asarray(self._each(lambda distribution: distribution.at_most(count), np.float64))

    @property
    def joint_mode(self) -> Table:
        """A most probable table (the most probable one drawn, if the answer is an estimate)."""
        self._check_whole("a most probable table has every cell")
        assert self._mode is not None  # of a question about every cell
        return Table(self.domain, self._mode().reshape(self.domain.shape))

    @property
    def rates(self) -> Rates:
        """The posterior of the Poisson means behind the counts (document 002's lambda)."""
        if not isinstance(self.prior, GammaPoisson):
            raise InvalidInput(
                f"the prior is {self.prior.name}: its means have no distribution; give "
                "prior=cb.priors.GammaPoisson(shape, scale)"
            )
        self._check_whole("means belong to the cells of the table")
        return Rates(self, *self.prior.parameters(self.domain))

    def _check_whole(self, why: str) -> None:
        if self.over != self.release.domain.names or self._places.chosen is not None:
            raise InvalidInput(f"{why}; ask for the posterior without over= and cells=")

    def plot(self, *labels: Label, **named: Posterior) -> Any:
        """A chart of the cells' distributions, or of one cell's, for notebooks and files.

        Other posteriors of the same table can be laid over it by name, such as
        ``conditional.plot("1", "Poor", margins=other)``. Save it with
        :func:`cellbounds.results.charts.save_chart`.
        """
        from cellbounds.results.charts import posterior_chart

        cell = None if not labels else self._places.number(self._index(tuple(labels)))
        return posterior_chart({self.given: self, **named}, cell)

    def _summary(self, distribution: Distribution, cell: int) -> dict[str, float | int]:
        low, high = distribution.interval("0.95")
        middle = (distribution.mean, distribution.sd, distribution.median, distribution.mode)
        numbers = (*middle, low, high, distribution.at_most(SMALL))
        summary: dict[str, float | int] = dict(zip(SUMMARY, numbers, strict=True))
        if self.monte_carlo is not None:
            checks = self.monte_carlo
            summary["mc_error"] = float(checks.error.flat[cell])
            summary["effective_size"] = float(checks.effective_size.flat[cell])
            if checks.rhat is not None:
                summary["rhat"] = float(checks.rhat.flat[cell])
        return summary

    def _summaries(self) -> Iterator[tuple[tuple[Label, ...], dict[str, float | int]]]:
        for cell, (labels, distribution) in enumerate(self.items()):
            yield labels, self._summary(distribution, cell)

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: labels and a summary of each cell."""
        return frame_of(self.columns(), backend)

    def columns(self) -> dict[str, list[Any]]:
        """Labels and a summary of each cell, column by column."""
        columns = label_columns(self.domain, RESERVED, self.cells())
        for _, summary in self._summaries():
            for name, value in summary.items():
                columns.setdefault(name, []).append(value)
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned: every cell with its summary and its whole distribution."""
        cells = [
            {
                **labelled(self.domain, labels, RESERVED),
                **{name: None if value != value else value for name, value in summary.items()},
                "counts": self.at(cell).values.tolist(),
                "probabilities": self.at(cell).probabilities.tolist(),
            }
            for cell, (labels, summary) in enumerate(self._summaries())
        ]
        return {
            **self._head(),
            "format": FORMAT,
            "prior": repr(self.prior),
            "error": self.error,
            "notes": list(self.notes),
            "cells": cells,
        }

    def _rows(self, most: int) -> tuple[list[str], list[list[str]]]:
        names: list[str] = []
        rows = []
        for labels, summary in itertools.islice(self._summaries(), most):
            names = list(summary)
            shown = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in summary.values()]
            rows.append([*map(str, labels), *shown])
        return names, rows

    @property
    def given(self) -> str:
        """The statements, for titles."""
        return ", ".join(notations(self.release))

    def _title(self) -> str:
        return f"posterior{self._about()} given {self.given}; prior: {self.prior.name}"

    def _remarks(self) -> str:
        if self.error is not None:
            how = f"exact, relative error at most {self.error:.1g}"
        else:
            how = "estimated by Monte Carlo"
        return "\n".join([f"{self.method}: {how}", *self.notes])


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """The posteriors of all Poisson means; look them up by the labels of their cells."""

    _posterior: Posterior
    _shapes: list[Any]
    _scales: list[Any]

    def __getitem__(self, labels: Label | tuple[Label, ...]) -> Rate:
        """The posterior of one cell's mean."""
        domain = self._posterior.domain
        index = domain.index(labels if isinstance(labels, tuple) else (labels,))
        return self._at(int(np.ravel_multi_index(index, domain.shape)))

    def _at(self, cell: int) -> Rate:
        shape, scale = float(self._shapes[cell]), float(self._scales[cell])
        return Rate(self._posterior.at(cell), shape, scale)

    @property
    def mean(self) -> FloatArray:
        """The expected mean of each cell."""
        domain = self._posterior.domain
        means = [self._at(cell).mean for cell in range(domain.size)]
        return np.array(means).reshape(domain.shape)

    def quantile(self, probability: object) -> FloatArray:
        """The point of each cell below which its mean lies with this probability."""
        domain = self._posterior.domain
        points = [self._at(cell).quantile(probability) for cell in range(domain.size)]
        return np.array(points).reshape(domain.shape)
