"""The tables of a ledger's database, as they are in this version."""

from __future__ import annotations

from sqlalchemy import Column, Integer, MetaData, String, Table, Text

__all__ = ["HEAD", "READABLE", "entries", "kept_tables", "ledgers"]

READABLE, HEAD = "0002", "0003"
"""The oldest schema that can be read as it is, and the one that this version writes."""

metadata = MetaData()

ledgers = Table(
    "ledgers",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("entries", Integer, nullable=False),
    Column("head", String(64), nullable=False),
)
"""The head of each chain. Whoever commits holds its row locked."""

entries = Table(
    "entries",
    metadata,
    Column("ledger", String(200), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("body", Text, nullable=False),
    Column("hash", String(64), nullable=False),
)
"""The chain. Triggers refuse to change, replace or remove what is in it."""

kept_tables = Table(
    "kept_tables",
    metadata,
    Column("ledger", String(200), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("body", Text, nullable=False),
)
"""Confidential tables, where their owner asked to keep them here."""
