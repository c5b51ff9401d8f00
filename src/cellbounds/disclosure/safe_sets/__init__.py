"""Which statements may be released together: the largest sets that are safe."""

from cellbounds.disclosure.safe_sets.margins import safe_margins
from cellbounds.disclosure.safe_sets.statement_sets import SafeSets, StatementSet

__all__ = ["SafeSets", "StatementSet", "safe_margins"]
