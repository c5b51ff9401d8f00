"""Entries cannot be replaced either, and the triggers hold for whoever connects."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

SAYS = "entries of a ledger are never changed or removed"

# INSERT OR REPLACE removes the row in its way without a word to the other triggers, unless the
# one who does it asks for that; a row is found by its number and by SQLite's own.
SQLITE = {
    **{
        f"entries_no_{what}": f"CREATE TRIGGER entries_no_{what} BEFORE {what.upper()} ON entries "
        f"BEGIN SELECT RAISE(ABORT, '{SAYS}'); END"
        for what in ("update", "delete")
    },
    "entries_no_replace": "CREATE TRIGGER entries_no_replace BEFORE INSERT ON entries "
    "WHEN EXISTS (SELECT 1 FROM entries WHERE rowid = NEW.rowid "
    "OR (ledger = NEW.ledger AND number = NEW.number)) "
    f"BEGIN SELECT RAISE(ABORT, '{SAYS}'); END",
}
"""The triggers of SQLite by their names, as they stand in its schema."""

POSTGRES = "entries_no_change", f" BEGIN RAISE EXCEPTION '{SAYS}'; END "
"""The trigger of PostgreSQL, and the text of its function."""


def upgrade() -> None:
    """Make the trigger that is missing, or let the one that is there always fire."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(SQLITE["entries_no_replace"])
    else:  # also where session_replication_role or the like puts ordinary triggers out of force
        op.execute(f"ALTER TABLE entries ENABLE ALWAYS TRIGGER {POSTGRES[0]}")
