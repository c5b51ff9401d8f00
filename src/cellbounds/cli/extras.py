"""What needs a library that a plain install does not have: said before any work starts."""

from __future__ import annotations

from types import SimpleNamespace

from cellbounds.runtime.files import library


def check_extras(given: SimpleNamespace) -> None:
    """Refuse what needs a library that is not installed, and name the command that installs it.

    Looked at are a cluster (``--scheduler``), a ledger on a server, and all tables to be read.
    """
    named = vars(given)
    if named.get("scheduler") is not None:
        library("distributed", needed_for="clusters (--scheduler)", extra="dask")
    if "place" in named:
        from cellbounds.ledger.locations import Place

        if Place.of(named["place"]).url is not None:
            library("psycopg", needed_for="ledgers on PostgreSQL", extra="postgres")
    named_tables = [named.get(name) for name in ("table", "source", "later")]
    tables = [path for path in (*named_tables, *named.get("tables", ())) if path]
    if tables:
        from cellbounds.data.microdata.sources import holds_parquet

        if any(map(holds_parquet, tables)):
            library("pyarrow.parquet", needed_for="Parquet files", extra="parquet")
