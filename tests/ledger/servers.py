"""A private PostgreSQL server for the tests: from the wheel of pgserver, or from the system.

Its data are in a folder of its own and it listens on a socket there, on no port. Nothing is
installed and no user is created: if the tests run as root, who may not run the server, it runs as
nobody.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

USER = "ledger"


def binaries() -> Path | None:
    """Where initdb and pg_ctl are; None if there is no PostgreSQL at all."""
    found = importlib.util.find_spec("pgserver")  # not imported: only its files are used
    if found is not None and found.origin is not None:
        wheel = Path(found.origin).parent / "pginstall" / "bin"
        if (wheel / "initdb").exists():
            return wheel
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists():
            return folder
    system = shutil.which("initdb")
    return None if system is None else Path(os.path.realpath(system)).parent


def _copied(folder: Path, home: Path) -> Path:
    """The programs in another place; a wheel's libraries stand beside its package, and still do."""
    package = folder.parents[1]
    programs = home / package.name / folder.parent.name
    shutil.copytree(folder.parent, programs, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, home / libraries.name, symlinks=True)
    return programs / folder.name


class Server:
    """A running server."""

    def __init__(self, folder: Path) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="pg-"))
        self.data = self.home / "data"
        self._bin, self._shared = folder, None
        self._as: dict[str, Any] = {"cwd": "/"}
        if os.geteuid() == 0:
            import pwd

            nobody = pwd.getpwnam("nobody")
            os.chown(self.home, nobody.pw_uid, nobody.pw_gid)
            self._as |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            if not self._runs():  # an environment that nobody may read: a copy that all may
                self._bin = _copied(folder, self.home)
        self._run(
            "initdb", "--auth=trust", "--encoding=utf8", "--locale=C", "--no-sync", "-U", USER
        )
        self.start()

    def _runs(self) -> bool:
        try:
            done = subprocess.run(
                [self._bin / "initdb", "--version"], capture_output=True, check=False, **self._as
            )
        except PermissionError:
            return False
        return done.returncode == 0

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), "-D", str(self.data), *arguments]
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,  # a pipe would stay open as long as the server runs
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=60,
            **self._as,
        )
        assert done.returncode == 0, f"{command} failed; see {self.home / 'log'}"

    def start(self) -> None:
        options = f"-c listen_addresses='' -c fsync=off -c max_connections=60 -k {self.home}"
        self._run("pg_ctl", "-w", "-l", str(self.home / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.home)

    def connect(self, database: str = "postgres") -> Any:
        import psycopg

        return psycopg.connect(host=str(self.home), user=USER, dbname=database, autocommit=True)

    def shared(self) -> str:
        """A place for a new ledger in a database that ledgers share."""
        if self._shared is None:
            self._shared = self.url()
        return f"{self._shared}&ledger={uuid.uuid4().hex[:12]}"

    def url(self) -> str:
        """A new, empty database."""
        name = f"t{uuid.uuid4().hex[:12]}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://{USER}:unused-secret@/{name}?host={quote(str(self.home))}"
