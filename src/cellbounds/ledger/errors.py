"""What can go wrong with a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cellbounds.errors import CellboundsError

if TYPE_CHECKING:
    from cellbounds.ledger.judgement import LedgerAnswer


class LedgerError(CellboundsError):
    """A ledger cannot be read or written; the message says why, and what to do."""


class LedgerBusy(LedgerError):
    """Somebody else is committing, and did not finish while we waited."""


class ReadOnly(LedgerError):
    """A ledger that may be read, and not written."""


class NotAllowed(LedgerError):
    """Somebody may not do what they asked for; the message says who may."""


class BrokenChain(LedgerError):
    """An entry of a ledger is not what it was when it was written.

    Attributes
    ----------
    number
        The first entry that is wrong.
    """

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


class NotSafe(LedgerError):
    """A release was not committed, because it is not known to be safe with what is out.

    Attributes
    ----------
    answer
        The verdict and its reasons.
    """

    def __init__(self, message: str, answer: LedgerAnswer) -> None:
        super().__init__(message)
        self.answer = answer
