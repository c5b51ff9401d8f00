"""What a server is told: where it listens, who may come, and how much of everything it gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path

from cellbounds.errors import InvalidInput
from cellbounds.runtime.memory import parse_size


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
    memory
        What one of these processes may take.
    jobs, waiting
        Jobs that one person may have under way, and requests that may wait for a decision.
    upload, uploads
        Bytes of what is sent here at once, and files that one person may have here.
    sending
        Seconds in which what is sent has to be here.
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
    memory: str = "4GiB"
    quick: float = 4.0
    thorough: float = 30.0
    patience: float = 1.0
    jobs: int = 4
    waiting: int = 200
    upload: int = 2**25
    uploads: int = 20
    sending: float = 120.0
    folder: Path | None = None
    hours: float = 12.0
    attempts: int = 10
    lockout: float = 900.0
    networks: tuple[IPv4Network | IPv6Network, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.port < 65536:
            raise InvalidInput(f"port={self.port}; give a number from 0 (a free one) to 65535")
        for name in ("workers", "jobs", "waiting", "uploads", "upload", "attempts"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}={getattr(self, name)}; give a number of 1 or more")
        for name in ("quick", "thorough", "patience", "sending", "hours", "lockout"):
            if not 0 < getattr(self, name) < 1e6:
                raise InvalidInput(f"{name}={getattr(self, name)}; give a number above 0")
        for what, texts in (("name", self.names), ("header", (self.header,))):
            for text in texts:
                if not re.fullmatch(r"[\w.:\[\]-]+", text, re.ASCII):
                    raise InvalidInput(f"{what}={text!r}; give letters, digits, - and . alone")
        parse_size(self.memory)
        object.__setattr__(self, "networks", tuple(_network(one) for one in self.proxies))

    def is_proxy(self, address: str) -> bool:
        """Whether an address is that of a proxy that was named."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self.networks)

    def hosts(self, port: int) -> frozenset[str]:
        """What the Host header of a request may say."""
        local = ("127.0.0.1", "localhost", "[::1]")
        own = self.host if ":" not in self.host else f"[{self.host}]"
        named = {f"{name}:{port}" for name in (*local, own)} | {*self.names}
        return frozenset(named | ({*local} if port == 80 else set()))


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise InvalidInput(
            f"the proxy {text!r} is no address; give one such as 10.0.0.5 or 10.0.0.0/24"
        ) from None


def listed(texts: Sequence[str]) -> tuple[str, ...]:
    """Names without blanks, each once."""
    return tuple(dict.fromkeys(text.strip().lower() for text in texts if text.strip()))
