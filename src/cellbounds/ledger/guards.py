"""What keeps entries as they are in the database itself, and whether it is still in force."""

from __future__ import annotations

from sqlalchemy import Connection, text

from cellbounds.ledger.migrations.versions.guards_0003 import POSTGRES, SQLITE

__all__ = ["guards_fault"]

EVENTS = 2 | 8 | 16 | 32
"""PostgreSQL's number for a trigger that comes before each UPDATE, DELETE and TRUNCATE."""

_TRIGGERS_OF_SQLITE = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"

_TRIGGERS_OF_POSTGRES = """
SELECT t.tgname,
       t.tgenabled = 'A' AND t.tgtype = :events AND t.tgqual IS NULL AND t.tgattr = ''
       AND p.prosrc = :body AND l.lanname = 'plpgsql' AND p.proconfig IS NULL
FROM pg_trigger t
JOIN pg_proc p ON p.oid = t.tgfoid
JOIN pg_language l ON l.oid = p.prolang
WHERE t.tgrelid = to_regclass('entries') AND NOT t.tgisinternal
"""

_RULES_OF_POSTGRES = "SELECT rulename FROM pg_rewrite WHERE ev_class = to_regclass('entries')"


def guards_fault(connection: Connection) -> str:
    """What is wrong with the triggers that keep entries as they are; empty if nothing is."""
    if connection.dialect.name == "sqlite":
        found = {name: sql == SQLITE.get(name) for name, sql in _rows(connection)}
        expected = set(SQLITE)
    else:
        name, body = POSTGRES
        query = text(_TRIGGERS_OF_POSTGRES)
        values = {"events": EVENTS, "body": body}
        found = {one: bool(right) for one, right in connection.execute(query, values)}
        found |= {one: False for (one,) in connection.execute(text(_RULES_OF_POSTGRES))}
        expected = {name}
    for name in sorted(expected | set(found)):
        if name not in found:
            return f"the trigger {name!r} was dropped"
        if not found[name]:
            was = "altered or put out of force" if name in expected else "added by somebody else"
            return f"the trigger or rule {name!r} was {was}"
    return ""


def _rows(connection: Connection) -> list[tuple[str, str]]:
    """The triggers of every table of the file: no other is needed there."""
    return [(str(name), str(sql)) for name, sql in connection.execute(text(_TRIGGERS_OF_SQLITE))]
