"""One statement of conditional rates: sharp, linear and improved answers."""

from cellbounds.methods.conditional.improved import ImprovedConditional
from cellbounds.methods.conditional.linear import LinearConditional
from cellbounds.methods.conditional.sharp import SharpConditional

__all__ = ["ImprovedConditional", "LinearConditional", "SharpConditional"]
