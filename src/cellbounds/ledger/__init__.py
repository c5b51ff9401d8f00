"""What went before: a ledger of releases about one confidential table."""

from cellbounds.ledger.chain import Check, Entry
from cellbounds.ledger.errors import BrokenChain, LedgerBusy, LedgerError, NotSafe
from cellbounds.ledger.frontier import Frontier
from cellbounds.ledger.judgement import Answer
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
