"""Bringing a ledger's database from an older schema to this version's."""

from __future__ import annotations

from importlib import resources
from typing import Any

from sqlalchemy import Connection, inspect, text

from cellbounds.ledger.errors import LedgerError
from cellbounds.ledger.schema import HEAD

__all__ = ["VERSION_TABLE", "migrate", "revision_of"]

VERSION_TABLE = "ledger_schema"
"""Where Alembic keeps the revision; a name of its own, as a team's database has other tenants."""


def revision_of(connection: Connection) -> str | None:
    """The revision of the schema in a database; None if it holds no ledger."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(
        text(f"SELECT version_num FROM {VERSION_TABLE}")
    ).scalar_one_or_none()
    return None if found is None else str(found)


def migrate(connection: Connection, shown: str, to: str = HEAD) -> None:
    """Run the migrations that are missing, inside the transaction that is open.

    Raises
    ------
    LedgerError
        If the schema is not one that this version knows.
    """
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    found = revision_of(connection)
    if found == to:
        return
    config = Config()
    folder = resources.files("cellbounds.ledger") / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    script = ScriptDirectory.from_config(config)
    known = {one.revision for one in script.walk_revisions()}
    if found is not None and found not in known:
        raise LedgerError(
            f"the ledger {shown} has the schema {found}, which this version does not know (it "
            f"knows {', '.join(sorted(known))}); install a newer version of cellbounds. Nothing "
            "was written"
        )

    def steps(revision: Any, _: Any) -> Any:
        return script._upgrade_revs(to, revision)  # as in Alembic's own documentation

    with EnvironmentContext(config, script, fn=steps, destination_rev=to) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE)
        with environment.begin_transaction():
            environment.run_migrations()
