"""The methods, in the order in which they are tried."""

from __future__ import annotations

from cellbounds.methods.conditional import (
    ImprovedConditional,
    LinearConditional,
    SharpConditional,
)
from cellbounds.methods.protocol import Method

__all__ = ["METHODS"]

METHODS: tuple[Method, ...] = (SharpConditional(), LinearConditional(), ImprovedConditional())
