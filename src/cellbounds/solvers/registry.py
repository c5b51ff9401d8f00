"""The methods, in the order in which they are tried."""

from __future__ import annotations

from cellbounds.reductions.decomposition import DecompositionSolver
from cellbounds.results.solution import Ask, Method
from cellbounds.solvers.closed_forms import TwoCubed
from cellbounds.solvers.conditional import (
    ImprovedConditional,
    LinearConditional,
    SharpConditional,
)
from cellbounds.solvers.general import GeneralLinear, GeneralSharp

__all__ = ["ordered_methods"]


def ordered_methods(ask: Ask) -> tuple[Method, ...]:
    """All methods; `ask` answers questions about parts, for the one that splits releases."""
    return (
        SharpConditional(),
        TwoCubed(),
        DecompositionSolver(ask),
        GeneralSharp(),
        LinearConditional(),
        GeneralLinear(),
        ImprovedConditional(),
    )
