"""What went before: a ledger of releases about one confidential table."""

from cellbounds.ledger.chain import Check, Entry
from cellbounds.ledger.errors import BrokenChain, LedgerBusy, LedgerError, NotSafe
from cellbounds.ledger.frontier import LedgerFrontier
from cellbounds.ledger.judgement import LedgerAnswer
from cellbounds.ledger.ledger import Ledger

__all__ = [
    "BrokenChain",
    "Check",
    "Entry",
    "Ledger",
    "LedgerAnswer",
    "LedgerBusy",
    "LedgerError",
    "LedgerFrontier",
    "NotSafe",
]
