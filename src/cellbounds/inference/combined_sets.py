"""Document 002's combination of sub-reference sets, and what it should have been.

The tables that fit a statement over some of the variables fall apart into sets, one for each
summed table [TR] that fits. Given a summed table its cells are split independently: multinomial
for Poisson and multinomial cells, Dirichlet-multinomial for Gamma means, so that draws within a
set need no chain.

The document averages draws of all sets, equally or by the number of moves within each. Such
averages do not follow the posterior: with the 37 single-table sets of its example the equal
average of the first cell is always 20, whatever the prior. The posterior chooses a set with the
mass that the prior gives it, and draws a table from it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.errors import InvalidInput, TooMuchWork, UnsupportedRelease
from cellbounds.inference.chooser import checked_effort, exact_fibre
from cellbounds.inference.protocol import NO_WEIGHT, Fibre
from cellbounds.inference.unnamed_variables import merged_weights, split_tables
from cellbounds.model.constraints import compile_release
from cellbounds.model.likelihoods import factors_of
from cellbounds.model.priors import Belief, Weights, belief_of
from cellbounds.model.problem import make_problem
from cellbounds.runtime.arguments import checked_generator, checked_whole
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements import Release

ESTIMATORS = {
    "equal": "document 002's equal average of the sets; does not target the posterior",
    "moves": "document 002's average weighted by moves; does not target the posterior",
    "posterior": "a set drawn by its posterior mass, then a table of it",
}

MOST_SETS = 1_000_000
"""Summed tables that are listed at most."""


@dataclass(frozen=True, slots=True, eq=False)
class SummedSets:
    """The sets that the consistent tables fall into, one for each summed table.

    `summed` holds the summed tables (one in each row), `grid` the cells of the domain behind each
    summed cell (one line a summed cell). `weights` are those of the cells, `merged` those of the
    summed cells.
    """

    summed: IntArray
    grid: IntArray
    weights: Weights
    merged: Weights

    @property
    def masses(self) -> FloatArray:
        """The posterior probability of each set."""
        logs = self.merged.logs(self.summed)
        if logs.max() == -np.inf:
            raise InvalidInput(NO_WEIGHT)
        shares = np.exp(logs - logs.max())
        return np.asarray(shares / shares.sum())

    @property
    def moves(self) -> IntArray:
        """For each set, the moves within it that can be made from some table of it.

        A count passes between two parts of a summed cell that holds somebody.
        """
        return np.asarray((self.summed > 0).sum(axis=1) * math.comb(self.grid.shape[1], 2))

    def split(self, summed: IntArray, rng: np.random.Generator) -> IntArray:
        """Split summed tables (one in each row) into tables, each at random."""
        return split_tables(self.weights, self.grid, summed, rng)


def summed_sets(
    release: Release, variables: Iterable[str], summed: IntArray | Fibre, weights: Weights
) -> SummedSets:
    """The sets of a release whose statements are all about some of the variables.

    Parameters
    ----------
    release
        What was said.
    variables
        Those that no statement goes beyond, in the order of the summed tables.
    summed
        All summed tables that fit, flat, one in each row; or the fibre that lists them.
    weights
        The weights of the cells of the release's domain.

    Raises
    ------
    UnsupportedRelease
        If a statement is about other variables too, or the split has no closed form (parts of
        one summed cell with different factors and shapes).
    InvalidInput
        If a summed table does not fit.
    """
    names = release.domain.distinct(variables)
    for statement in release.statements:
        beyond = statement.base_variables(release.domain) - set(names)
        if beyond:
            raise UnsupportedRelease(
                f"{statement.notation} is about {', '.join(sorted(beyond))} too; sets of summed "
                f"tables need statements about {', '.join(names)} only"
            )
    behind = cells_behind(release.domain, names)
    grid = behind.cells.reshape(behind.size, -1)
    merged = merged_weights(weights, grid)
    if merged is None:
        raise UnsupportedRelease(
            "the parts of one summed cell have different factors, or shapes and none; their split "
            "has no closed form, so run a chain instead"
        )
    if not isinstance(summed, np.ndarray):
        summed = np.array(list(itertools.islice(summed.listed(), MOST_SETS + 1)))
        if len(summed) > MOST_SETS:
            raise TooMuchWork(f"more than {MOST_SETS} summed tables fit; run a chain instead")
    tables = summed.astype(np.int64)
    if tables.ndim != 2 or tables.shape[1] != behind.size or not len(tables):
        raise InvalidInput(
            f"summed tables of shape {tables.shape}; give at least one, with {behind.size} cells "
            "each"
        )
    problem = make_problem(compile_release(release), release.domain.size)
    for number, table in enumerate(tables):
        counts = np.zeros(release.domain.size, dtype=np.int64)
        counts[grid[:, 0]] = table
        if not problem.holds(counts):
            raise InvalidInput(
                f"summed table {number + 1} contradicts the release; list those that fit"
            )
    return SummedSets(tables, grid, weights, merged)


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """What a combination gave.

    Attributes
    ----------
    estimator, meaning
        Which one, and in words.
    values
        (draws, cells): averages (floats) for the document's estimators, tables of counts for the
        posterior.
    shares
        The weight of each set.
    """

    estimator: str
    values: IntArray | FloatArray
    shares: FloatArray

    @property
    def meaning(self) -> str:
        """What the estimator does, in words."""
        return ESTIMATORS[self.estimator]

    @property
    def targets_posterior(self) -> bool:
        """Whether the values follow the posterior."""
        return self.estimator == "posterior"


def combine(sets: SummedSets, estimator: str, size: int, rng: np.random.Generator) -> Combined:
    """Combine draws from all sets.

    Parameters
    ----------
    sets
        The sets.
    estimator
        ``"equal"``: draw j is the average over all sets of one draw from each (the document's
        formula lacks the division by their number). ``"moves"``: the same, weighted by the number
        of moves within each set, as we read the document. ``"posterior"``: a set by its posterior
        mass, then a draw from it.
    size
        How many values.
    rng
        Where randomness comes from.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.model.priors import GammaPoisson
    >>> domain = cb.Domain({"row": [1, 2]})
    >>> release = cb.Release(domain, [cb.Total(4)])
    >>> tables = np.array([[k, 4 - k] for k in range(5)])
    >>> sets = summed_sets(release, ["row"], tables, GammaPoisson(9, 1).weights(domain))
    >>> combine(sets, "equal", 2, np.random.default_rng(1)).values
    array([[2., 2.],
           [2., 2.]])
    """
    if estimator not in ESTIMATORS:
        raise InvalidInput(f"estimator {estimator!r}; choose one of {', '.join(ESTIMATORS)}")
    size, count = checked_whole("size", size), len(sets.summed)
    if estimator == "posterior":
        shares = sets.masses
        chosen = rng.choice(count, size=size, p=shares)
        return Combined(estimator, sets.split(sets.summed[chosen], rng), shares)
    parts = sets.moves if estimator == "moves" else np.ones(count)
    if not parts.any():
        raise InvalidInput(
            "no set has moves within it (nothing is summed over), so that the weights of "
            "document 002 are 0/0; use 'equal' or 'posterior'"
        )
    shares = parts / parts.sum()
    values = np.zeros((size, sets.grid.size))
    for table, share in zip(sets.summed, shares.tolist(), strict=True):
        values += share * sets.split(np.tile(table, (size, 1)), rng)
    return Combined(estimator, values, shares)


def combine_sets(
    release: Release,
    size: int,
    *,
    estimator: str = "posterior",
    prior: Belief | str = "uniform",
    rng: int | np.random.Generator = 0,
    effort: float | None = None,
) -> Combined:
    """Combine draws from the sets that the consistent tables fall into, as document 002 does.

    The tables that fit statements about some of the variables fall apart into one set for each
    summed table that fits.

    Parameters
    ----------
    release
        What was said; at least one variable of its domain must be summed over by every statement.
    size
        How many values.
    estimator
        ``"posterior"``: a set by its posterior mass, then a table of it, which is what
        :func:`sample` gives too. ``"equal"`` and ``"moves"`` are the document's averages over all
        sets, which do not follow the posterior.
    prior, rng, effort
        As for :func:`sample`.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("analgesic"), "[response|treatment]@1")
    >>> combined = cb.inference.combined_sets.combine_sets(release, 3, estimator="equal")
    >>> combined.meaning
    "document 002's equal average of the sets; does not target the posterior"
    """
    names = release.named_variables
    if len(names) in (0, len(release.domain.names)):
        raise UnsupportedRelease(
            "no variable is summed over, or all are; there is one set of all tables"
        )
    if factors_of(release):
        raise UnsupportedRelease(
            "the release has figures that were made by chance, whose weights this average does "
            "not know; use sample()"
        )
    fibre = exact_fibre(release.restricted(names), checked_effort(effort))
    weights = belief_of(prior).weights(release.domain)
    sets = summed_sets(release, names, fibre, weights)
    return combine(sets, estimator, size, checked_generator(rng))
