"""What a server is told: where it listens, who may come, and how much of everything it gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

from cellbounds.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server behaves.

    Attributes
    ----------
    host, port
        Where it listens; port 0 takes a free one.
    names
        Names by which browsers may ask for it besides those of this machine, as a proxy passes on.
    proxies, header
        Addresses (or networks) whose `header` names the person; nobody else's header counts.
    secure
        Whether browsers reach it by https, so that cookies are not sent otherwise.
    workers
        Processes that do the work.
    quick, thorough
        Seconds for a look while exploring, and for what somebody waits for: a search, a decision.
    patience
        Seconds that a page waits for its answer before it shows how far the work is.
    jobs
        Jobs that one person may have under way.
    upload, uploads
        Bytes of one file that is sent here, and files that one person may have here.
    folder
        Where uploads are kept; a private folder of this run unless given.
    hours
        After which a session ends.
    attempts, lockout
        Wrong passwords of one name or address, and the seconds in which they are counted.
    """

    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    header: str = "X-Remote-User"
    secure: bool = False
    workers: int = 2
    quick: float = 4.0
    thorough: float = 30.0
    patience: float = 1.0
    jobs: int = 4
    upload: int = 2**25
    uploads: int = 20
    folder: Path | None = None
    hours: float = 12.0
    attempts: int = 10
    lockout: float = 900.0
    networks: tuple[object, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.port < 65536:
            raise InvalidInput(f"port={self.port}; give a number from 0 (a free one) to 65535")
        for name in ("workers", "jobs", "uploads", "upload", "attempts"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}={getattr(self, name)}; give a number of 1 or more")
        for name in ("quick", "thorough", "patience", "hours", "lockout"):
            if not 0 < getattr(self, name) < 1e6:
                raise InvalidInput(f"{name}={getattr(self, name)}; give a number above 0")
        for what, texts in (("name", self.names), ("header", (self.header,))):
            for text in texts:
                if not re.fullmatch(r"[\w.:\[\]-]+", text, re.ASCII):
                    raise InvalidInput(f"{what}={text!r}; give letters, digits, - and . alone")
        object.__setattr__(self, "networks", tuple(_network(one) for one in self.proxies))

    def hosts(self, port: int) -> frozenset[str]:
        """What the Host header of a request may say."""
        local = ("127.0.0.1", "localhost", "[::1]")
        own = self.host if ":" not in self.host else f"[{self.host}]"
        named = {f"{name}:{port}" for name in (*local, own)} | {*self.names}
        return frozenset(named | ({*local} if port == 80 else set()))


def _network(text: str) -> object:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise InvalidInput(
            f"the proxy {text!r} is no address; give one such as 10.0.0.5 or 10.0.0.0/24"
        ) from None


def listed(texts: Sequence[str]) -> tuple[str, ...]:
    """Names without blanks, each once."""
    return tuple(dict.fromkeys(text.strip().lower() for text in texts if text.strip()))
