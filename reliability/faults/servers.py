"""A private PostgreSQL server: from the wheel of pgserver, or from the system.

Its data are in a folder of its own and it listens on a socket there, on no port. Nothing is
installed and no user is created: if this runs as root, who may not run the server, it runs as
nobody.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil

__all__ = ["Server", "binaries"]

USER = "ledger"

RECOVERY_SECONDS = 60.0


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
    """A running server.

    Parameters
    ----------
    folder
        Of its programs (see :func:`binaries`).
    fsync
        Whether it waits for the disk; most tests need not.
    environment
        For its processes, instead of this one's.
    home
        A folder that exists, for its data and its socket; one of its own unless given.
    """

    def __init__(
        self,
        folder: Path,
        *,
        fsync: bool = False,
        environment: dict[str, str] | None = None,
        home: Path | None = None,
    ) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="pg-")) if home is None else home
        self.data = self.home / "data"
        self._bin = folder
        self._shared: str | None = None
        self._fsync = "on" if fsync else "off"
        self._as: dict[str, Any] = {"cwd": "/", "env": environment}
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
        """Start it, and wait until it answers."""
        options = (
            f"-c listen_addresses='' -c fsync={self._fsync} -c max_connections=60 "
            # After a crash everything is flushed to the disk: at once, rather than file by file.
            f"-c recovery_init_sync_method=syncfs -k {self.home}"
        )
        self._run("pg_ctl", "-w", "-l", str(self.home / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Stop it at once, without tidying up."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """Kill all its processes outright."""
        main = self._main()
        if main is not None:
            every = [main, *main.children(recursive=True)]
            for process in every:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL)
            psutil.wait_procs(every, timeout=RECOVERY_SECONDS)

    def revive(self) -> None:
        """Wait until it has recovered from a crash; start it again if it has gone altogether."""
        import psycopg

        until = time.monotonic() + RECOVERY_SECONDS
        while True:
            try:
                if self._main() is None:
                    self.start()
                self.connect().close()
            except (psycopg.OperationalError, AssertionError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def _main(self) -> psutil.Process | None:
        """Its first process, if it runs."""
        try:
            found = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
            alive = found.status() != psutil.STATUS_ZOMBIE
        except (FileNotFoundError, IndexError, psutil.NoSuchProcess):
            return None
        return found if alive else None

    def remove(self) -> None:
        """Stop it and remove its data."""
        self.stop()
        shutil.rmtree(self.home)

    def connect(self, database: str = "postgres") -> Any:
        """A connection of one's own."""
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
