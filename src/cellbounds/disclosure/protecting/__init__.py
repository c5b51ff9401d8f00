"""Tables made ready for publication: the least is lost, against an attacker who is named."""

from cellbounds.disclosure.protecting.comparing import Compared, Comparison, compare
from cellbounds.disclosure.protecting.intervals import RangeCell, Ranged
from cellbounds.disclosure.protecting.protected import HiddenCell, Protected, Unprotectable
from cellbounds.disclosure.protecting.protection import protect
from cellbounds.disclosure.protecting.recoding import Recoded
from cellbounds.disclosure.protecting.rounding import Rounded

__all__ = [
    "Compared",
    "Comparison",
    "HiddenCell",
    "Protected",
    "RangeCell",
    "Ranged",
    "Recoded",
    "Rounded",
    "Unprotectable",
    "compare",
    "protect",
]
