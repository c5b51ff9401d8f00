"""What went before: a ledger of releases about one confidential table."""

from cellbounds.ledger.answers import Answer
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.checking import Check
from cellbounds.ledger.errors import BrokenChain, LedgerBusy, LedgerError, NotSafe
from cellbounds.ledger.frontier import Frontier
from cellbounds.ledger.ledger import Ledger

__all__ = [
    "Answer",
    "BrokenChain",
    "Check",
    "Entry",
    "Frontier",
    "Ledger",
    "LedgerBusy",
    "LedgerError",
    "NotSafe",
]
