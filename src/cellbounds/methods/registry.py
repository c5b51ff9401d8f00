"""The methods, in the order in which they are tried."""

from __future__ import annotations

from cellbounds.methods.conditional import (
    ImprovedConditional,
    LinearConditional,
    SharpConditional,
)
from cellbounds.methods.cube import TwoCubed
from cellbounds.methods.general import GeneralLinear, GeneralSharp
from cellbounds.methods.gluing import Gluing
from cellbounds.methods.protocol import Ask, Method

__all__ = ["ordered_methods"]


def ordered_methods(ask: Ask) -> tuple[Method, ...]:
    """All methods; `ask` answers questions about parts, for the one that splits releases."""
    return (
        SharpConditional(),
        TwoCubed(),
        Gluing(ask),
        GeneralSharp(),
        LinearConditional(),
        GeneralLinear(),
        ImprovedConditional(),
    )
