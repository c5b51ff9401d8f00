"""The database behind a ledger, for doing harm; and being a user who may do less."""

from __future__ import annotations

import contextlib
import os
import sqlite3


@contextlib.contextmanager
def raw(ledger):
    """The database itself."""
    place = ledger.book.place
    if place.file is not None:
        connection = sqlite3.connect(place.file, isolation_level=None)
    else:
        import psycopg

        address = place.url.replace("postgresql+psycopg", "postgresql")
        connection = psycopg.connect(address, autocommit=True)
    try:
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def unprivileged():
    """Root may write everywhere, so be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    import pwd

    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
