"""A server on a socket: from a name on the command line to its end."""

from __future__ import annotations

import asyncio
import itertools
import signal
import socket
import stat
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from cellbounds.data.formats.kinds import files_named
from cellbounds.errors import InvalidInput
from cellbounds.ledger import Ledger
from cellbounds.ledger.journal import user_name
from cellbounds.runtime.files import private_folder
from cellbounds.runtime.inputs import check_ordinary
from cellbounds.web.access import Door
from cellbounds.web.app import Site, application
from cellbounds.web.settings import Settings
from cellbounds.web.shelf import LEDGER, Item, Shelf
from cellbounds.web.work import Workers

SQLITE = b"SQLite format 3\0"
"""How a ledger in a file begins."""

ASKING = 15.0
"""Seconds in which a question has to be there, up to the end of its headers."""

ENDING = 5
"""Seconds for pages that are being sent when the server ends."""


def is_ledger(what: str) -> bool:
    """Whether a name is that of a ledger: a database's URL, or a SQLite file."""
    if "://" in what:
        return True
    if not Path(what).is_file():
        return False  # a pipe would be waited for
    try:
        with Path(what).open("rb") as stream:
            return stream.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


@contextmanager
def opened_site(
    what: str | None,
    settings: Settings,
    *,
    tables: Sequence[str] = (),
    token: str | None = None,
    user: Callable[[], str] = user_name,
) -> Iterator[Site]:
    """Everything that the pages share, for a table, a folder, a ledger or nothing."""
    ledger, people, items = None, None, []
    if what is not None and is_ledger(what):
        ledger = Ledger.open(what)
        state = ledger.state()
        if not tables and not state.kept:
            raise InvalidInput(
                f"the ledger {what} does not keep its table; supply it (--table), once for each "
                "version"
            )
        for path in itertools.chain(*map(files_named, tables)):
            _check_lasting(path)
        people = ledger.people if ledger.people.all() else None
        sources = tuple(tables) or (f"{LEDGER}{what}",)
        name = Path(sources[-1]).name if tables else "the ledger's table"
        items = [Item("table", name, sources[-1])]
    elif what is not None:
        if tables:
            raise InvalidInput(f"{what} is no ledger; --table goes with a ledger")
        if not what.strip() or not Path(what).exists():
            raise InvalidInput(f"{what!r} is not there; name a ledger, a table or a folder")
        if not Path(what).is_dir():
            _check_lasting(what)
        items = Shelf.of_path(Path(what))
        sources = ()
    else:
        sources = ()
    if people is None and not _is_loopback(settings.host):
        raise InvalidInput(
            f"host={settings.host}: beyond this machine there must be people who log in; serve a "
            "ledger to which people were added (cellbounds ledger people)"
        )
    if settings.proxies and people is None:
        raise InvalidInput("a proxy names people of a ledger; add them (cellbounds ledger people)")
    door = Door(settings, user=user(), people=people, token=token)
    with private_folder() as folder:
        kept = settings.folder or folder
        workers = Workers(settings.workers, per_person=settings.jobs, memory=settings.memory)
        yield Site(settings, door, Shelf(kept, items), workers, ledger, what or "", sources)


def _check_lasting(path: str | Path) -> None:
    """Refuse what cannot be read again and again."""
    if stat.S_ISFIFO(check_ordinary(path).st_mode):
        raise InvalidInput(f"{path} is a pipe, which can be read only once; give a file")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class _Protocol(H11Protocol):
    """HTTP that ends connections on which no whole question comes in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a question."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what came; a question that is whole ends the waiting."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next question."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _watch(self) -> None:
        asked = self.cycle is not None and not self.cycle.response_complete
        if asked and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif not asked and self._deadline is None:
            self._deadline = self.loop.call_later(ASKING, self.transport.close)


class _Server(uvicorn.Server):
    """A server that ends when it is told to, and leaves what comes then to its caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM end the server; a second Ctrl-C does not wait for pages."""
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def listening(settings: Settings) -> socket.socket:
    """A socket at the address that was asked for."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((settings.host, settings.port))
        found.listen()  # whoever has the address waits until the first page can be made
    except OSError as problem:
        found.close()
        raise InvalidInput(
            f"{settings.host}:{settings.port} cannot be used: {problem.strerror}; choose another "
            "port (--port)"
        ) from None
    return found


def serve(
    site: Site,
    *,
    say: Callable[[str], None],
    open_browser: bool = True,
    on_start: Sequence[Callable[[Site], Any]] = (),
) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    settings = site.settings
    with listening(settings) as found:
        port = found.getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{port}/"
        if site.door.invitation:
            address += f"enter?token={site.door.invitation}"

        async def opened(_: Site) -> None:
            say(address)
            if open_browser:
                await asyncio.get_running_loop().run_in_executor(None, webbrowser.open, address)

        app = application(site, on_start=[*on_start, opened])
        config = uvicorn.Config(
            app,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            log_level="error",
            lifespan="on",
            timeout_graceful_shutdown=ENDING,
            limit_concurrency=500,
            http=_Protocol,
        )
        _Server(config).run(sockets=[found])
