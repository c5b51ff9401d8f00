"""Which method sums over the tables of a release."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from numbers import Real

from cellbounds.errors import InvalidInput, TooMuchWork, UnsupportedRelease
from cellbounds.inference.hypergeometric import Hypergeometric, matched_tables
from cellbounds.inference.protocol import DEFAULT_EFFORT, Fibre, WeightedFibre, check_records
from cellbounds.inference.unnamed_variables import SummedFibre, TotalFibre
from cellbounds.model.likelihoods import Factor, factors_of
from cellbounds.model.priors import Weights
from cellbounds.model.structure import Facts, gather
from cellbounds.runtime.arrays import IntArray
from cellbounds.statements import Release


@dataclass(frozen=True, slots=True, eq=False)
class ExactSums:
    """Sums over all tables, the name of the method that made them, and the best table."""

    name: str
    weighted: WeightedFibre | Hypergeometric
    mode: Callable[[], IntArray]


def checked_effort(effort: float | None) -> float:
    """The number of steps that exact work may take."""
    if effort is None:
        return DEFAULT_EFFORT
    if isinstance(effort, bool) or not isinstance(effort, Real) or not 0 < effort < float("inf"):
        raise InvalidInput(
            f"effort={effort!r}; give the number of steps that exact work may take, such as "
            f"{DEFAULT_EFFORT:.0e}"
        )
    return float(effort)


def exact_fibre(release: Release, effort: float, *, weighed: bool = False) -> Fibre:
    """The tables of a release, as a method can sum over them.

    `weighed`: their weights are summed too, by those of figures that were made by chance as well.
    Without it such figures only say which tables are possible.

    Raises
    ------
    InconsistentRelease
        If it was found out already that there are none.
    TooMuchWork
        If no method can within the effort.
    UnsupportedRelease
        If nothing limits the tables.
    """
    facts = gather(release)
    factors = factors_of(release) if weighed else ()
    # Rows of rates have no place for a weight of their sums.
    if facts.conditional is not None and not factors:
        from cellbounds.inference.rows.row_fibre import rows_fibre

        return rows_fibre(facts, effort)
    names = release.named_variables
    if len(names) < len(release.domain.names):
        with suppress(TooMuchWork):
            return _summed(facts, names, effort, factors)
    return _diagrams(facts, effort, factors)


def _summed(
    facts: Facts, names: tuple[str, ...], effort: float, factors: tuple[Factor, ...]
) -> Fibre:
    """Tables over the variables that are spoken of, then their parts."""
    release, total = facts.release, facts.release.total
    if names:
        sums = exact_fibre(release.restricted(names), effort, weighed=bool(factors))
    elif total.upper is None:
        raise UnsupportedRelease("nothing limits the tables; give Total(upper=...)")
    else:
        check_records(total.upper)
        sums = TotalFibre(total, effort)
    return SummedFibre(release, names, sums, partial(_diagrams, facts, effort, factors), effort)


def _diagrams(facts: Facts, effort: float, factors: tuple[Factor, ...]) -> Fibre:
    from cellbounds.inference.decision_diagram.diagram_fibre import diagram_fibre
    from cellbounds.inference.decision_diagram.layers import SumsTooWide

    try:
        return diagram_fibre(facts, effort, factors=factors)
    except SumsTooWide:
        # The diagram cannot even be begun, though there may be few tables.
        from cellbounds.inference.solver_enumeration import few_tables

        fibre = few_tables(facts.release)
        if fibre is None:
            raise
        return fibre


def exact_sums(release: Release, weights: Weights, effort: float) -> ExactSums:
    """Sums of the weights of all tables, if a method can make them; raises as `exact_fibre`."""
    matched = matched_tables(gather(release), weights, effort)
    if matched is not None:
        return ExactSums(matched.name, matched, partial(_compared, release, weights, effort))
    fibre = exact_fibre(release, effort, weighed=True)
    sums = fibre.weighted(weights)
    return ExactSums(fibre.name, sums, sums.mode)


def _compared(release: Release, weights: Weights, effort: float) -> IntArray:
    """A most probable table where a closed form gives all but that."""
    try:
        fibre = exact_fibre(release, effort, weighed=True)
    except TooMuchWork as problem:
        raise TooMuchWork(
            f"the most probable table has no closed form here, and there are too many to compare "
            f"({problem}); the cells' own modes are known"
        ) from None
    return fibre.weighted(weights).mode()
