"""Errors of databases in words: what happened, that nothing was lost, and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from cellbounds.ledger.errors import LedgerBusy, LedgerError, ReadOnly
from cellbounds.ledger.locations import Place

__all__ = ["damaged", "explained"]

_SQLITE = {
    "READONLY": "is read-only; give yourself the right to write to the file and its folder",
    "PERM": "may not be opened; give yourself the right to read it",
    "AUTH": "may not be opened; give yourself the right to read it",
    "FULL": "has no room left on its disk; make room, and try again",
    "IOERR": "cannot be read or written (no room left, or a broken disk); make room or look at the "
    "disk, and try again",
    "CANTOPEN": "cannot be opened; check that the file and its folder are there and yours to use, "
    "and that the disk has room",
    "NOTADB": "is not a ledger, nor any SQLite database; check the name",
}

_POSTGRES = {
    "25006": "is read-only; connect to the primary server",
    "42501": "does not let this user read or write; ask for the right to use its tables",
    "53100": "has no room left on its disk; make room, and try again",
    "53300": "has no connection free; try again later",
    "3D000": "has no such database; create it, or correct the URL",
    "28P01": "does not accept this user or password; correct the URL",
    "28000": "does not accept this user or password; correct the URL",
    "3F000": "has no schema to put tables in; ask for one",
    "57P01": "was shut down; try again later",
    "57P03": "is starting up or shutting down; try again later",
}

_READ_ONLY = {"READONLY", "25006", "42501"}
"""What both say to somebody who may read and not write."""

_BUSY_SQLITE, _BUSY_POSTGRES = ("BUSY", "LOCKED"), ("55P03", "40P01", "40001")


@contextmanager
def explained(place: Place) -> Iterator[None]:
    """Turn the database's errors into ours, without the statement and its values."""
    try:
        yield
    except (exc.DBAPIError, sqlite3.Error) as problem:
        raise _explained(problem, place) from None
    except exc.SQLAlchemyError as problem:
        # Its text may hold the URL with the password: only its kind is shown.
        raise LedgerError(
            f"the ledger {place.shown} cannot be used ({type(problem).__name__}); check the URL"
        ) from None


def _explained(problem: exc.DBAPIError | sqlite3.Error, place: Place) -> LedgerError:
    origin = problem.orig if isinstance(problem, exc.DBAPIError) else problem
    if isinstance(origin, sqlite3.Error):
        return _of_sqlite(origin, place)
    state = getattr(origin, "sqlstate", None)
    if state in _BUSY_POSTGRES:
        return _busy(place)
    if state is None or state.startswith("08"):
        return LedgerError(
            f"the server of the ledger {place.shown} does not answer or broke off; if it broke off "
            "while committing, look at the history before you try again"
        )
    known = _POSTGRES.get(state, f"reports the error {state}; look at the server's log")
    kind = ReadOnly if state in _READ_ONLY else LedgerError
    return kind(f"the server of the ledger {place.shown} {known}. Nothing was written")


def _of_sqlite(origin: sqlite3.Error, place: Place) -> LedgerError:
    code = getattr(origin, "sqlite_errorname", None) or ""
    kind = code.removeprefix("SQLITE_").partition("_")[0]
    if kind in _BUSY_SQLITE:
        return _busy(place)
    if kind == "CORRUPT":
        return damaged(place)
    known = _SQLITE.get(kind, f"cannot be used ({code or type(origin).__name__})")
    made = ReadOnly if kind in _READ_ONLY else LedgerError
    return made(f"the ledger {place.shown} {known}. Nothing was written")


def damaged(place: Place) -> LedgerError:
    """A file whose content is no longer what SQLite wrote."""
    return LedgerError(
        f"the ledger {place.shown} is damaged; restore it from a copy. Nothing was written"
    )


def _busy(place: Place) -> LedgerBusy:
    return LedgerBusy(
        f"the ledger {place.shown} is locked: somebody else is committing. Nothing was written; "
        "try again, or wait longer (wait=, --wait)"
    )
