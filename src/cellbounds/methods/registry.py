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
from cellbounds.methods.protocol import Method

__all__ = ["METHODS"]

METHODS: tuple[Method, ...] = (
    SharpConditional(),
    TwoCubed(),
    Gluing(),
    GeneralSharp(),
    LinearConditional(),
    GeneralLinear(),
    ImprovedConditional(),
)
