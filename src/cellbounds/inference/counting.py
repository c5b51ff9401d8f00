"""How many tables fit a release, and which."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InconsistentRelease, TooMuchWork, Unsettled
from cellbounds.inference.chooser import checked_effort, exact_fibre
from cellbounds.runtime.arguments import checked_generator, checked_whole
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted, stopped_late
from cellbounds.statements import Release

if TYPE_CHECKING:
    from cellbounds.inference.importance.importance_sampling import Estimate

ESTIMATE_SECONDS = 10.0
"""How long the estimate may take that goes with a refusal to count."""

LISTING_EFFORT = 50_000_000
"""Steps that may be spent before the first table is listed."""


class TooManyTables(TooMuchWork):
    """Counting exactly would take too long; `estimate` says about how many there are."""

    def __init__(self, message: str, estimate: Estimate) -> None:
        super().__init__(message)
        self.estimate = estimate

    def __reduce__(self) -> tuple[type[TooManyTables], tuple[str, Estimate]]:
        return type(self), (str(self), self.estimate)


@budgeted
def count_tables(
    release: Release,
    *,
    effort: float | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> int:
    """The number of tables that fit a release, exactly.

    Figures that were made by chance only say which tables are possible here, not how likely.

    Parameters
    ----------
    release
        What was said. Something must limit the tables: N, or margins.
    effort
        Steps that the work may take (2e9 by default, some seconds to a minute).
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone.

    Raises
    ------
    TooManyTables
        If it would take more steps; with an estimate by sequential importance sampling and its
        error.
    Unsettled
        If the budget was spent before they were counted.
    UnsupportedRelease
        If nothing limits the tables.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("delinquent")
    >>> cb.count_tables(cb.publish(table, "[education|county]@2", rounding="consistent"))
    5
    >>> cb.count_tables(cb.publish(cb.datasets.read("census3"), "[gender,race]", "[race,income]"))
    16788429
    """
    limit = checked_effort(effort)
    try:
        return exact_fibre(release, limit).count()
    except InconsistentRelease:
        return 0
    except TooMuchWork as problem:
        part = budget.share(most=ESTIMATE_SECONDS)
        estimate = estimate_tables(release, budget=part)
        raise TooManyTables(f"{problem}; an estimate instead: {estimate}", estimate) from None


@budgeted
def estimate_tables(
    release: Release,
    *,
    draws: int = 1000,
    rng: int | np.random.Generator = 0,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Estimate:
    """The number of tables that fit a release, by sequential importance sampling.

    Parameters
    ----------
    release
        What was said. Every cell must have an upper limit.
    draws, rng
        How many tables are drawn, and a seed or generator.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone; what was drawn by then is
        kept. The answer is the same with any number of workers.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("census3")
    >>> release = cb.publish(table, "[gender,race]", "[gender,income]", "[race,income]")
    >>> estimate = cb.estimate_tables(release, draws=2000)
    >>> abs(estimate.value - 441) < 5 * estimate.relative_error * 441
    True
    """
    from cellbounds.inference.importance.importance_sampling import estimate_count

    draws = checked_whole("draws", draws, 2)
    return estimate_count(release, draws=draws, rng=checked_generator(rng), budget=budget)


@budgeted
def tables(
    release: Release,
    limit: int | None = None,
    *,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Iterator[Table]:
    """Every table that fits a release, one after another, in a fixed order.

    The order is that of the cells in which the method works, each from its smallest count on: the
    same on every run. Tables are made when asked for, so the first ones come at once however many
    there are.

    Parameters
    ----------
    release
        What was said.
    limit
        At most so many.
    budget, seconds
        What the work may cost, from the call to the last table that is asked for.

    Raises
    ------
    Unsettled
        While tables are asked for, if the budget is spent before the last one.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    >>> for table in cb.tables(release, limit=2):
    ...     print(table.counts.tolist())
    [[3, 2], [9, 36]]
    [[6, 4], [8, 32]]
    """
    if limit is not None:
        checked_whole("limit", limit, 0)
    return _timed(release.domain, itertools.islice(_listed(release), limit), budget)


def _timed(domain: Domain, listed: Iterator[IntArray], budget: Budget) -> Iterator[Table]:
    while True:
        with stopped_late(budget):
            counts = next(listed, None)
        if counts is None:
            return
        if budget.spent:
            raise Unsettled("the budget was spent before the last table; give more seconds")
        yield Table(domain, counts.reshape(domain.shape))


def _listed(release: Release) -> Iterator[IntArray]:
    try:
        return exact_fibre(release, LISTING_EFFORT).listed()
    except InconsistentRelease:
        return iter(())
    except TooMuchWork:
        from cellbounds.inference.solver_enumeration import searched_tables

        return searched_tables(release)
