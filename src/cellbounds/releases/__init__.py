"""What was said: totals, margins, conditional rates, prior knowledge."""

from cellbounds.releases.conditional import Conditional
from cellbounds.releases.publishing import publish
from cellbounds.releases.release import Release, Statement
from cellbounds.releases.statements import Margin, Prior, Total

__all__ = ["Conditional", "Margin", "Prior", "Release", "Statement", "Total", "publish"]
