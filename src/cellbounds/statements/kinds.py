"""The kinds of statements: a new one is a module beside this one, and a line here."""

from cellbounds.statements.conditional import Conditional
from cellbounds.statements.known import Known
from cellbounds.statements.linear import Linear
from cellbounds.statements.margin import Margin
from cellbounds.statements.statement import Statement
from cellbounds.statements.total import Total

KINDS: list[type[Statement]] = [Conditional, Margin, Linear, Known, Total]
"""In the order in which files list them; the total comes last."""
