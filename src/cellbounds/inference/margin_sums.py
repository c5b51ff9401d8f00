"""The posterior of the sums of a margin, by the methods that sum over whole tables.

First the table is made smaller where that changes nothing (`reduced`): variables that neither a
statement nor the question names are summed over, and, where all cells have weights f**n / n!, so
are variables that one exact margin alone tells of. If the margin is then all that is left, its
sums are cells. Otherwise the tables are listed if they are few; or the mass of all tables with a
given sum is found, sum after sum, by whatever method takes the release with that sum said too.
``docs/theory/tables.md`` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.errors import InconsistentRelease, InvalidInput, TooMuchWork
from cellbounds.inference.chooser import exact_fibre, exact_sums
from cellbounds.inference.enumeration import ListedFibre
from cellbounds.inference.protocol import NO_WEIGHT
from cellbounds.inference.unnamed_variables import merged_weights
from cellbounds.model.likelihoods import factors_of
from cellbounds.model.priors import Weights
from cellbounds.results.cell_index import CellIndex
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.scaled_floats import UNIT, FloatArray
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Known, Margin, Release, Statement, Total

MOST_LISTED = 20_000
"""Tables that are listed to add up their weights."""

MOST_SUMS = 2_000
"""Sums, of all cells asked about together, whose masses are found one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class MarginSums:
    """The distributions of the sums that were asked about, by their number, and how they came."""

    name: str
    error: float
    distributions: Sequence[Distribution]


def reduced(release: Release, weights: Weights, over: tuple[str, ...]) -> tuple[Release, Weights]:
    """A release about fewer variables and weights under which the margin has the same posterior.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("koch4")
    >>> release = cb.publish(table, "[status,recovery]", "[status,treatment]")
    >>> weights = cb.priors.Multinomial().weights(release.domain)
    >>> reduced(release, weights, ("status", "treatment"))[0]
    Release([status], [status,treatment], N=193)
    """
    domain = release.domain
    if len(set(weights.kinds)) == 1 and weights.kinds[0][0] is None:
        bases = frozenset(map(domain.base, over))
        release = Release(domain, _without_leaves(release, bases))
    named = {*release.named_variables, *map(domain.base, over)}
    names = tuple(name for name in domain.names if name in named)
    if len(names) == len(domain.names):
        return release, weights
    behind = cells_behind(domain, names)
    merged = merged_weights(weights, behind.cells.reshape(behind.size, -1))
    return (release, weights) if merged is None else (release.restricted(names), merged)


def _without_leaves(release: Release, kept: frozenset[str]) -> list[Statement]:
    """The statements without variables that one exact margin alone tells of.

    Given the counts over all other variables, the records of each cell of the margin get their
    levels of such a variable in a number of ways that does not depend on those counts.
    """
    domain, statements, total = release.domain, list(release.statements), release.total
    while True:
        told = [statement.base_variables(domain) for statement in statements]
        leaf = next(
            (
                (place, name)
                for place, statement in enumerate(statements)
                if isinstance(statement, Margin) and statement.fixed_counts(domain) is not None
                for name in statement.variables
                if name not in kept and sum(name in names for names in told) == 1
            ),
            None,
        )
        if leaf is None:
            return statements
        place, name = leaf
        counts = statements[place].fixed_counts(domain)
        assert counts is not None  # it was found to be exact
        variables = statements[place].variables
        rest = tuple(other for other in variables if other != name)
        summed = counts.sum(axis=variables.index(name))
        if rest:
            statements[place] = Margin(rest, summed)
        elif total.allows(int(summed)):
            total = Total(int(summed))
            others = [*statements[:place], *statements[place + 1 :]]
            statements = [other for other in others if not isinstance(other, Total)] + [total]
        else:
            raise InconsistentRelease(
                f"{statements[place].notation} and {total.notation} give different totals"
            )


def margin_sums(
    release: Release,
    weights: Weights,
    over: tuple[str, ...],
    places: CellIndex,
    effort: float,
    budget: Budget,
    *,
    most_listed: int = MOST_LISTED,
) -> MarginSums:
    """The distributions of the sums over some variables, exactly.

    Raises
    ------
    TooMuchWork
        If that cannot be had.
    """
    release, weights = reduced(release, weights, over)
    if set(over) == set(release.domain.names):
        # The sums are cells of what is left.
        sums = exact_sums(release, weights, effort)
        cells = cell_numbers(release, over, places)
        distributions = list(map(sums.weighted.distribution, cells))
        return MarginSums(sums.name, sums.weighted.error, distributions)
    with suppress(TooMuchWork):
        return _listed(release, weights, asked_groups(release, over, places), effort, most_listed)
    return _conditioned(release, weights, over, places, effort, budget)


def cell_numbers(release: Release, over: tuple[str, ...], places: CellIndex) -> list[int]:
    """The cells of a table that a question over all its variables, in any order, is about."""
    domain = release.domain
    numbers = np.arange(domain.size).reshape(domain.shape)
    turned = numbers.transpose([domain.names.index(name) for name in over])
    return list(places.picked(turned).ravel().tolist())


def _listed(
    release: Release,
    weights: Weights,
    groups: Iterator[IntArray],
    effort: float,
    most_listed: int,
) -> MarginSums:
    """Every table, if they are few: each sum has the weights of its tables."""
    fibre = exact_fibre(release, effort)
    tables = list(islice(fibre.listed(), most_listed + 1))
    if len(tables) > most_listed:
        raise TooMuchWork(f"more than {most_listed:,} tables fit")
    listed = np.array(tables, dtype=np.int64).reshape(len(tables), release.domain.size)
    weighed = ListedFibre(listed, factors_of(release)).weighted(weights)
    name = f"{fibre.name}, every table listed"
    return MarginSums(name, weighed.error, list(map(weighed.sums, groups)))


def asked_groups(release: Release, over: tuple[str, ...], places: CellIndex) -> Iterator[IntArray]:
    """The cells of the table behind each sum that is asked about."""
    behind = cells_behind(release.domain, over)
    numbers = np.arange(behind.size).reshape(release.domain.project(over).shape)
    return map(behind.cells_of, places.picked(numbers).ravel().tolist())


def _conditioned(
    release: Release,
    weights: Weights,
    over: tuple[str, ...],
    places: CellIndex,
    effort: float,
    budget: Budget,
) -> MarginSums:
    """The mass of the tables with each sum that a cell of the margin can have."""
    margin = release.domain.project(over)
    labels = [margin.labels(position) for position in places]
    ends = bounds(release, over=over, cells=labels, budget=budget.resumed(None))
    limits = [(int(ends[cell][0]), int(ends[cell][1])) for cell in labels]
    number = sum(high - low + 1 for low, high in limits)
    if number > MOST_SUMS:
        raise TooMuchWork(
            f"the sums can have {number:,} values, and the masses of up to {MOST_SUMS:,} are found "
            "one by one"
        )
    methods: dict[str, None] = {}
    errors, distributions = [0.0], []
    for cell, (low, high) in zip(labels, limits, strict=True):
        logs = np.full(high - low + 1, -math.inf)
        if low == high:
            logs[0] = 0.0
        for place, value in enumerate(range(low, high + 1) if low < high else ()):
            if budget.spent:
                raise TooMuchWork("the masses of the sums took too long")
            given = Known(over, lower={cell: value}, upper={cell: value})
            more = Release(release.domain, [*release.statements, given])
            with suppress(InconsistentRelease, InvalidInput):  # no table, or none with a weight
                sums = exact_sums(more, weights, effort / number)
                logs[place] = sums.weighted.log_mass
                methods[sums.name] = None
                errors.append(sums.weighted.error + 4 * UNIT * (1 + abs(logs[place])))
        distributions.append(_distribution(low, logs))
    if not methods and any(factor == 0 for _, factor in weights.kinds):
        # Nothing was weighed, so that it is not known yet whether any table has a weight.
        exact_sums(release, weights, effort)
    name = f"{', '.join(methods)}, given each sum" if methods else "bounds that meet"
    return MarginSums(name, 2 * max(errors), distributions)


def _distribution(low: int, logs: FloatArray) -> Distribution:
    """The distribution of the counts from `low` on with masses of these logarithms."""
    largest = logs.max()
    if largest == -math.inf:
        raise InvalidInput(NO_WEIGHT)
    possible = np.flatnonzero(logs > -math.inf)
    chances = np.exp(logs[possible] - largest)
    return Distribution(low + possible, chances / chances.sum())
