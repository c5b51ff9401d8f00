"""What went before: a ledger of releases about one confidential table."""

from cellbounds.ledger.chain import Check, Entry
from cellbounds.ledger.errors import BrokenChain, LedgerBusy, LedgerError, NotAllowed, NotSafe
from cellbounds.ledger.frontier import LedgerFrontier
from cellbounds.ledger.judgement import LedgerAnswer
from cellbounds.ledger.ledger import Ledger
from cellbounds.ledger.people import People, Person
from cellbounds.ledger.requests import Request, Requests

__all__ = [
    "BrokenChain",
    "Check",
    "Entry",
    "Ledger",
    "LedgerAnswer",
    "LedgerBusy",
    "LedgerError",
    "LedgerFrontier",
    "NotAllowed",
    "NotSafe",
    "People",
    "Person",
    "Request",
    "Requests",
]
