"""Which statements may be released together: the largest sets that are safe."""

from cellbounds.risk.together.margins import safe_margins
from cellbounds.risk.together.safe_sets import SafeSets, StatementSet

__all__ = ["SafeSets", "StatementSet", "safe_margins"]
