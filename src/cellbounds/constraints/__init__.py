"""What a release implies: inequalities with integer coefficients over integer cells."""

from cellbounds.constraints.check import violations
from cellbounds.constraints.system import System, compile_release

__all__ = ["System", "compile_release", "violations"]
