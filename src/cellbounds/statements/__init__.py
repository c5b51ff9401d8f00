"""What was said: totals, margins, conditional rates, linear sums, side information."""

from cellbounds.statements.conditional import Conditional
from cellbounds.statements.kinds import KINDS
from cellbounds.statements.known import Known
from cellbounds.statements.linear import Linear
from cellbounds.statements.margin import Margin
from cellbounds.statements.release import Release, publish
from cellbounds.statements.statement import Statement, Tabulated
from cellbounds.statements.total import Total

__all__ = [
    "KINDS",
    "Conditional",
    "Known",
    "Linear",
    "Margin",
    "Release",
    "Statement",
    "Tabulated",
    "Total",
    "publish",
]
