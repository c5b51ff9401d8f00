"""People with their roles and sessions, and what is noted of requests that wait."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "people",
        sa.Column("ledger", sa.String(200), primary_key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("roles", sa.String(200), nullable=False),
        sa.Column("secret", sa.String(500), nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("locked_until", sa.String(40), nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("ledger", sa.String(200), primary_key=True),
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("expires", sa.String(40), nullable=False),
    )
    op.create_table(
        "waiting",
        sa.Column("ledger", sa.String(200), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("figures", sa.Text, nullable=False),
        sa.Column("judged", sa.Text, nullable=False),
        sa.Column("mark", sa.String(64), nullable=False),
    )
