"""What was said: totals, margins, conditional rates, linear sums, prior knowledge."""

from cellbounds.statements.conditional import Conditional
from cellbounds.statements.linear import Linear
from cellbounds.statements.margins import Margin
from cellbounds.statements.publishing import publish
from cellbounds.statements.release import Release, Statement
from cellbounds.statements.statements import Prior, Total

__all__ = ["Conditional", "Linear", "Margin", "Prior", "Release", "Statement", "Total", "publish"]
