"""What can go wrong, under one root.

A message says what was found and where, which rule it breaks, and what to do about it. It never
contains a confidential count: cells are named by their labels. It is one line that a terminal can
show, whatever it quotes.
"""

from __future__ import annotations

from cellbounds.text import one_line


class CellboundsError(Exception):
    """Root of every error that cellbounds raises on purpose."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class InvalidInput(CellboundsError, ValueError):
    """A table, a statement, a file or an argument is not what it has to be."""


class InconsistentRelease(CellboundsError):
    """No table of counts fits everything that the release says."""


class UnsupportedRelease(CellboundsError):
    """The release is legal, but no method here answers this question about it."""


class TooMuchWork(CellboundsError):
    """The exact answer exists, but would take more than the stated effort."""


class Unsettled(CellboundsError):
    """The budget was spent before this was settled; what is known is OUTER and INNER."""
