"""The schemas of a ledger's database, one step after another (Alembic)."""
