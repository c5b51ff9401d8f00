"""A client of `cellbounds serve` for programs: what is asked and answered is JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from cellbounds.errors import CellboundsError, InvalidInput

LARGEST = 2**26
"""Bytes of an answer."""


class ServerError(CellboundsError):
    """A server refused, or did not answer.

    Attributes
    ----------
    status
        The status of HTTP; 0 if there was no answer.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _Nowhere(HTTPRedirectHandler):
    """A token goes to the server that it is for, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""


@dataclass(frozen=True, slots=True)
class Client:
    """Somebody at a server.

    Parameters
    ----------
    address
        Where it is, such as ``http://127.0.0.1:8000``.
    token
        What ``serve --token-file`` writes for one user, or :meth:`login` gives to one of a team.
    timeout
        Seconds to wait for an answer.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8000", "a token")
    >>> client
    Client(address='http://127.0.0.1:8000', timeout=90.0)
    >>> Client("file:///etc", "a token")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    cellbounds.errors.InvalidInput: the address 'file:///etc'; give one such as http://127.0.0.1:8000
    """

    address: str
    token: str = field(repr=False)
    timeout: float = 90.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidInput(
                f"the address {self.address!r}; give one such as http://127.0.0.1:8000"
            )

    @classmethod
    def login(cls, address: str, name: str, password: str, *, timeout: float = 90.0) -> Client:
        """Somebody of a team, by name and password."""
        nobody = cls(address, "", timeout)
        given = nobody._asked("POST", "/session", {"name": name, "password": password})
        return cls(address, given["token"], timeout)

    def tables(self) -> list[dict[str, Any]]:
        """The tables at hand, with their variables."""
        return list(self._asked("GET", "/tables")["tables"])

    def judge(
        self, table: str, statements: Sequence[str], *, total: bool = True, policy: str = ""
    ) -> dict[str, Any]:
        """The verdict on a release by itself, whatever is out; `table` is its key in `tables`."""
        asked = {"table": table, "statements": list(statements), "total": total}
        return self._asked("POST", "/judge", {**asked, **({"policy": policy} if policy else {})})

    def submit(
        self, statements: Sequence[str], *, why: str, total: bool = True, batch: str = ""
    ) -> dict[str, Any]:
        """Ask for a release; somebody decides on it."""
        asked = {"statements": list(statements), "why": why, "total": total, "batch": batch}
        return self._asked("POST", "/requests", asked)

    def requests(self, status: str = "") -> list[dict[str, Any]]:
        """What was asked for, the newest first; with a status, those alone."""
        query = f"?{urlencode({'status': status})}" if status else ""
        return list(self._asked("GET", f"/requests{query}")["requests"])

    def request(self, number: int) -> dict[str, Any]:
        """A request, and what became of it."""
        return self._asked("GET", f"/requests/{int(number)}")

    def decide(self, number: int, decision: str, *, why: str) -> dict[str, Any]:
        """Approve or refuse a request; what is not safe goes on waiting, with the status 409."""
        asked = {"decision": decision, "why": why}
        return self._asked("POST", f"/requests/{int(number)}/decision", asked)

    def wait(self, number: int, *, seconds: float, every: float = 1.0) -> dict[str, Any]:
        """A request as soon as somebody has decided on it, or as it is when the time is over."""
        until = time.monotonic() + seconds
        while True:
            request = self.request(number)
            left = until - time.monotonic()
            if request["status"] != "waiting" or left <= 0:
                return request
            time.sleep(min(every, left))

    def _asked(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        url = f"{self.address.rstrip('/')}/api/1{path}"
        # Not through a proxy of the environment: what is sent is confidential.
        opener = build_opener(_Nowhere, ProxyHandler({}))
        asked = Request(url, data, headers, method=method)
        try:
            with opener.open(asked, timeout=self.timeout) as answer:
                return _plain(answer.read(LARGEST + 1), answer.status)
        except HTTPError as problem:
            with problem:
                said = _plain(problem.read(LARGEST + 1), problem.code, refused=True)
            raise ServerError(f"the server refused: {said['error']}", problem.code) from None
        except (URLError, OSError) as problem:
            reason = getattr(problem, "reason", problem)
            raise ServerError(
                f"{self.address} does not answer ({reason}); check the address, and that it runs", 0
            ) from None


def _plain(raw: bytes, status: int, *, refused: bool = False) -> dict[str, Any]:
    try:
        values = json.loads(raw) if len(raw) <= LARGEST else None
    except ValueError:
        values = None
    if isinstance(values, dict) and (not refused or isinstance(values.get("error"), str)):
        return values
    raise ServerError(
        f"the answer (status {status}) is none of cellbounds serve; check the address", status
    )
