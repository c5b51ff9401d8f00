"""Any set of linear statements: propagation, safe dual bounds, integer walks, integer programs."""

from cellbounds.solvers.general.method import GeneralLinear, GeneralSharp

__all__ = ["GeneralLinear", "GeneralSharp"]
