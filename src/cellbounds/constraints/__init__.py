"""What a release implies: sums with integer coefficients over integer cells, between limits."""

from cellbounds.constraints.behind import Behind, cells_behind, group_of_levels
from cellbounds.constraints.check import violations
from cellbounds.constraints.system import NO_LOWER, NO_UPPER, System, compile_release

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
