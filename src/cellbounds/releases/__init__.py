"""What was said: totals, margins, conditional rates, linear sums, prior knowledge."""

from cellbounds.releases.conditional import Conditional
from cellbounds.releases.linear import Linear
from cellbounds.releases.margins import Margin
from cellbounds.releases.publishing import publish
from cellbounds.releases.release import Release, Statement
from cellbounds.releases.statements import Prior, Total

__all__ = ["Conditional", "Linear", "Margin", "Prior", "Release", "Statement", "Total", "publish"]
