"""One statement of conditional rates: sharp, linear and improved answers."""

from cellbounds.solvers.conditional.improved import ImprovedConditional
from cellbounds.solvers.conditional.linear import LinearConditional
from cellbounds.solvers.conditional.sharp import SharpConditional

__all__ = ["ImprovedConditional", "LinearConditional", "SharpConditional"]
