"""Which method sums over the tables of a release; keeps why the others were refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real

import numpy as np

from cellbounds.errors import CellboundsError, InvalidInput, TooMuchWork, UnsupportedRelease
from cellbounds.inference.hypergeometric import Hypergeometric, matched_tables
from cellbounds.inference.protocol import (
    DEFAULT_EFFORT,
    MOST_RECORDS,
    Fibre,
    Refusal,
    WeightedFibre,
    too_many_records,
)
from cellbounds.inference.unnamed_variables import (
    SummedFibre,
    TotalFibre,
    summed_over,
    summed_release,
)
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


def checked_generator(rng: int | np.random.Generator) -> np.random.Generator:
    """A generator, or the one of a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise InvalidInput(f"rng={rng!r}; give a seed (a whole number, 0 or more) or a Generator")
    return np.random.default_rng(rng)


def exact_fibre(release: Release, effort: float) -> Fibre | Refusal:
    """The tables of a release, if a method can sum over them.

    Raises
    ------
    InconsistentRelease
        If it was found out already that there are none.
    """
    return _fibre(gather(release), effort)


def _fibre(facts: Facts, effort: float) -> Fibre | Refusal:
    if facts.conditional is not None:
        from cellbounds.inference.rows.row_fibre import rows_fibre

        return rows_fibre(facts, effort)
    names = summed_over(facts.release)
    if names is not None:
        fibre = _summed(facts, names, effort)
        if not isinstance(fibre, Refusal) or fibre.steps is None:
            return fibre
    return _diagrams(facts, effort)


def _summed(facts: Facts, names: tuple[str, ...], effort: float) -> Fibre | Refusal:
    """Tables over the variables that are spoken of, then their parts."""
    release = facts.release
    sums: Fibre | Refusal
    if names:
        sums = _fibre(gather(summed_release(release, names)), effort)
    elif release.total.upper is None:
        return Refusal("nothing limits the tables; give Total(upper=...)")
    elif release.total.upper >= MOST_RECORDS:
        return too_many_records(release.total.upper)
    else:
        sums = TotalFibre(release.total, effort)
    if isinstance(sums, Refusal):
        return sums
    return SummedFibre(release, names, sums, partial(_diagrams, facts, effort), effort)


def _diagrams(facts: Facts, effort: float) -> Fibre | Refusal:
    from cellbounds.inference.decision_diagram.diagram_fibre import diagram_fibre

    fibre = diagram_fibre(facts, effort)
    if isinstance(fibre, Refusal) and fibre.steps == math.inf:
        # The diagram cannot even be begun, though there may be few tables.
        from cellbounds.inference.solver_enumeration import few_tables

        return few_tables(facts.release) or fibre
    return fibre


def exact_sums(release: Release, weights: Weights, effort: float) -> ExactSums | Refusal:
    """Sums of the weights of all tables, if a method can make them within the effort."""
    facts = gather(release)
    matched = matched_tables(facts, weights, effort)
    if not isinstance(matched, Refusal):
        return ExactSums(matched.name, matched, partial(_compared, facts, weights, effort))
    fibre = _fibre(facts, effort)
    if isinstance(fibre, Refusal):
        return fibre
    try:
        sums = fibre.weighted(weights)
        return ExactSums(fibre.name, sums, sums.mode)
    except TooMuchWork as problem:
        return Refusal(str(problem), effort)


def _compared(facts: Facts, weights: Weights, effort: float) -> IntArray:
    """A most probable table where a closed form gives all but that."""
    fibre = _fibre(facts, effort)
    if isinstance(fibre, Refusal):
        raise TooMuchWork(
            f"the most probable table has no closed form here, and there are too many to compare "
            f"({fibre.reason}); the cells' own modes are known"
        )
    return fibre.weighted(weights).mode()


def refused(refusal: Refusal) -> CellboundsError:
    """The error for a question that only an exact method could answer."""
    if refusal.steps is None:
        return UnsupportedRelease(refusal.reason)
    return TooMuchWork(refusal.reason)
