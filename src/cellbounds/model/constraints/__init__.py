"""What a release implies: sums with integer coefficients over integer cells, between limits."""

from cellbounds.model.constraints.behind import Behind, cells_behind, group_of_levels
from cellbounds.model.constraints.check import violations
from cellbounds.model.constraints.system import NO_LOWER, NO_UPPER, System, compile_release

__all__ = [
    "NO_LOWER",
    "NO_UPPER",
    "Behind",
    "System",
    "cells_behind",
    "compile_release",
    "group_of_levels",
    "violations",
]
