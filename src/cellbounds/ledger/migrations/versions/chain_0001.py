"""The chain of entries, and the heads; entries cannot be changed or removed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_SAYS = "entries of a ledger are never changed or removed"


def upgrade() -> None:
    """Make the tables and the triggers."""
    op.create_table(
        "ledgers",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("entries", sa.Integer, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
    )
    op.create_table(
        "entries",
        sa.Column("ledger", sa.String(200), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        for what in ("update", "delete"):
            op.execute(
                f"CREATE TRIGGER entries_no_{what} BEFORE {what.upper()} ON entries "
                f"BEGIN SELECT RAISE(ABORT, '{_SAYS}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION entries_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_SAYS}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER entries_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON entries "
        "FOR EACH STATEMENT EXECUTE FUNCTION entries_append_only()"
    )
