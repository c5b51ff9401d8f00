"""Who asks: the link that is good once, sessions, forms that nobody can forge, and the headers.

Every request passes the guard, whoever sends it and wherever from: the port of 127.0.0.1 is open
to all users of a machine, and any page in a browser can send requests to it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cellbounds.errors import CellboundsError
from cellbounds.ledger.people import ROLES, People, Person
from cellbounds.runtime.memory import size_text
from cellbounds.web.settings import Settings

SEES = {
    "tables": "counts",
    "own files": "explore",
    "own requests": "request",
    "requests": "reasons",
    "audits": "counts",
    "decisions": "decide",
    "history": "history",
    "people": "people",
}
"""What pages have, and the right that it takes (`RIGHTS` of the ledger's people)."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What a page may load and run: files of this server, and nothing that stands in the page."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": browsers then say that a form of ours comes from nowhere (Origin: null).
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

UPLOADS = ("/drop", "/requests/import")
"""Addresses that take files."""

FORM, FIRST = 2**20, 2**16
"""Bytes that other addresses take, and those that strangers may send."""

OPEN = ("/enter", "/login", "/api/1/session", "/api/1/openapi.json", "/alive")
"""Addresses for those who have no session yet, besides files such as the style sheet."""

HEARD_OUT, PATIENT = 2**24, 5.0
"""Bytes of a request that is refused that are read all the same, and seconds."""

SAFE_METHODS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who sends a request, and the token of the session; `bearer` if a program holds it."""

    person: Person
    token: str = field(repr=False)
    bearer: bool = False

    @property
    def name(self) -> str:
        """What the person is called."""
        return self.person.name

    @property
    def form_token(self) -> str:
        """What every form of a login carries; nobody without the cookie can work it out."""
        return hmac.new(self.token.encode(), b"cellbounds form", hashlib.sha256).hexdigest()

    def may(self, what: str) -> bool:
        """Whether the person has the right that something takes."""
        return self.person.may(SEES[what])

    def require(self, what: str) -> None:
        """Refuse whoever may not."""
        if not self.may(what):
            raise HTTPException(
                403, f"your role does not allow this ({what}); ask whoever administers the ledger"
            )


class Attempts:
    """Wrong passwords of late, by address; those of a name are the ledger's to count."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic):
        self.most, self.seconds, self._clock = most, seconds, clock
        self._failed: dict[str, list[float]] = {}

    def check(self, address: str) -> None:
        """Refuse more attempts where there were too many.

        Raises
        ------
        HTTPException
            429.
        """
        since = self._clock() - self.seconds
        recent = {at: [one for one in times if one > since] for at, times in self._failed.items()}
        self._failed = {at: times for at, times in recent.items() if times}
        if len(self._failed.get(address, ())) >= self.most:
            raise HTTPException(429, "too many wrong passwords; wait a quarter of an hour")

    def failed(self, address: str) -> None:
        """Note a wrong password."""
        self._failed.setdefault(address, []).append(self._clock())


HASHING = 2
"""Passwords that are compared at a time; each takes 64 MiB for a moment."""


class Door:
    """Sessions: of one user who has the link, or of people in a ledger's database."""

    def __init__(
        self,
        settings: Settings,
        *,
        user: str,
        people: People | None = None,
        token: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings, self.people = settings, people
        self.owner = Person(user, frozenset(ROLES))
        self.attempts = Attempts(settings.attempts, settings.lockout, clock)
        self._clock = clock
        self._sessions: dict[str, float] = {}
        self._hashing = asyncio.Semaphore(HASHING)
        self.invitation = "" if people is not None else secrets.token_urlsafe(32)
        self.program_token = token or ""
        self._proxy_secret = secrets.token_bytes(32)

    @property
    def is_team(self) -> bool:
        """Whether people log in."""
        return self.people is not None

    def cookie_name(self, port: int) -> str:
        """Cookies do not tell ports apart, so their names do."""
        return f"cellbounds-{port}"

    def enter(self, token: str) -> str | None:
        """Exchange the link's token for a session; the second who tries gets nothing."""
        given, expected = token.encode(), self.invitation.encode()
        if not expected or not hmac.compare_digest(given, expected):
            return None
        self.invitation = ""
        return self._begin()

    def _begin(self) -> str:
        session = secrets.token_urlsafe(32)
        self._sessions[_digest(session)] = self._clock() + 3600 * self.settings.hours
        return session

    async def login(self, request: Request, name: str, password: str) -> str | None:
        """A session for somebody who knows a password."""
        people = self.people
        assert people is not None  # the page is there for teams
        address = request.client.host if request.client else ""
        # Behind a proxy everybody has one address: nobody may keep all others out.
        counts = bool(address) and not self.settings.is_proxy(address)
        if counts:
            self.attempts.check(address)
        async with self._hashing:
            person = await run_in_threadpool(people.entitled, name, password)
        if person is None or not person.active:
            if counts:
                self.attempts.failed(address)
            return None
        return await run_in_threadpool(people.begin, person.name, hours=self.settings.hours)

    def leave(self, visitor: Visitor) -> None:
        """End a session."""
        self._sessions.pop(_digest(visitor.token), None)
        if self.people is not None and visitor.token:
            self.people.end(visitor.token)

    def visitor(self, scope: Scope, port: int) -> Visitor | None:
        """Who sends a request; None for whoever has no session."""
        headers = Headers(scope=scope)
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._known(bearer.strip(), bearer=True)
        if self.people is not None and self._by_proxy(scope):
            names = headers.getlist(self.settings.header)
            # Of several, one is what a browser sent: the proxy does not remove it.
            person = self.people.get(names[0]) if len(names) == 1 else None
            if person is not None and person.active:
                # The proxy vouches for every request; forms are bound to the person.
                return Visitor(person, self._proxy_token(person.name))
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return None
        found = cookies.get(self.cookie_name(port))
        return None if found is None else self._known(found.value)

    def _known(self, token: str, *, bearer: bool = False) -> Visitor | None:
        if not token:
            return None
        if self.people is not None:
            person = self.people.session(token)
            if person is None or not person.active:
                return None
            return Visitor(person, token, bearer)
        if bearer:
            expected = self.program_token.encode()
            same = bool(expected) and hmac.compare_digest(token.encode(), expected)
            return Visitor(self.owner, token, bearer=True) if same else None
        until = self._sessions.get(_digest(token))
        if until is None or until < self._clock():
            return None
        return Visitor(self.owner, token)

    def _by_proxy(self, scope: Scope) -> bool:
        client = scope.get("client")
        return client is not None and self.settings.is_proxy(client[0])

    def _proxy_token(self, name: str) -> str:
        return hmac.new(self._proxy_secret, name.encode(), hashlib.sha256).hexdigest()

    def with_cookie(self, response: Response, session: str, port: int) -> Response:
        """Hand the session to the browser, out of reach for scripts and for other sites."""
        response.set_cookie(
            self.cookie_name(port),
            session,
            max_age=int(3600 * self.settings.hours),
            httponly=True,
            samesite="strict",
            secure=self.settings.secure,
        )
        return response


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def visitor_of(request: Request) -> Visitor:
    """Who sends a request that passed the guard."""
    visitor = request.scope["visitor"]
    assert isinstance(visitor, Visitor)
    return visitor


async def checked_form(request: Request, *, files: int = 1) -> Any:
    """The fields of a form of this login, with so many files at most.

    Raises
    ------
    HTTPException
        403 if the form is not one that this login was given.
    """
    visitor = visitor_of(request)
    given = request.headers.get("x-form-token", "")
    form = await request.form(max_files=files, max_fields=4_000)
    token = given or form.get("form_token", "")
    if visitor.bearer:
        return form
    if not isinstance(token, str) or not hmac.compare_digest(
        token.encode(), visitor.form_token.encode()
    ):
        raise HTTPException(403, "this form is not one of your session; open its page again")
    return form


class _TooLarge(Exception):
    pass


class _TooSlow(Exception):
    pass


class Guard:
    """The first that a request meets: Host, size, session, origin; and the headers of answers."""

    def __init__(self, app: ASGIApp, *, door: Door, settings: Settings) -> None:
        self.app, self.door, self.settings = app, door, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def guarded_send(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if name not in headers:
                        headers[name] = value
            await send(message)

        try:
            if self.door.is_team:  # people are looked up in a database, which may be far away
                refusal = await run_in_threadpool(self._refusal, scope)
            else:
                refusal = self._refusal(scope)
        except CellboundsError:
            refusal = _said(scope, "the ledger cannot be read now; try again in a minute", 503)
        if refusal is not None:
            await _heard_out(scope, receive)
            await refusal(scope, receive, guarded_send)
            return
        most = left = self._most(scope)
        ending = time.monotonic() + self.settings.sending
        whole = False

        async def guarded_receive() -> Message:
            nonlocal left, whole
            if whole:  # what comes now is that somebody went away
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, ending - time.monotonic()))
            except TimeoutError:
                raise _TooSlow from None
            left -= len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if left < 0:
                raise _TooLarge
            return message

        try:
            await self.app(scope, guarded_receive, guarded_send)
        except (_TooLarge, _TooSlow) as problem:
            if started:
                raise
            if isinstance(problem, _TooLarge):
                if not whole:
                    await _heard_out(scope, receive)
                refusal = _too_large(scope, most)
            else:
                refusal = _last(_said(scope, "what was sent did not come in time", 408))
            await refusal(scope, receive, guarded_send)
        except Exception as problem:  # noqa: BLE001 - its text may hold confidential counts
            if started:
                raise ConnectionError("an answer broke off") from None
            said = f"internal error ({type(problem).__name__}); please report it"
            await _said(scope, said, 500)(scope, receive, guarded_send)

    def _most(self, scope: Scope) -> int:
        """Bytes that a request may have."""
        if scope.get("visitor") is None:
            return FIRST
        return self.settings.upload + FIRST if scope["path"] in UPLOADS else FORM

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        port = scope["server"][1]
        hosts = self.settings.hosts(port)
        if headers.get("host", "").lower() not in hosts:
            return PlainTextResponse("this server does not have that name\n", 421)
        path, method = scope["path"], scope["method"]
        visitor = scope["visitor"] = self.door.visitor(scope, port)
        length, most = headers.get("content-length", "0"), self._most(scope)
        if not length.isdecimal() or len(length) > 18 or int(length) > most:
            return _too_large(scope, most)
        bearer = visitor is not None and visitor.bearer
        if method not in SAFE_METHODS and not bearer and not self._own_origin(headers, hosts):
            return _said(scope, "requests from other sites are not taken", 403)
        if visitor is None and path not in OPEN and not path.startswith("/static/"):
            return self._stranger(scope, headers)
        return None

    def _own_origin(self, headers: Headers, hosts: frozenset[str]) -> bool:
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return False
        origin = headers.get("origin")
        if origin is None:
            return True
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and host.lower() in hosts

    def _stranger(self, scope: Scope, headers: Headers) -> Response:
        path = scope["path"]
        if path.startswith("/api/"):
            return _said(scope, "no session; send Authorization: Bearer TOKEN", 401)
        if self.door.is_team and not headers.get("hx-request"):
            return RedirectResponse("/login", 303)
        response = _said(
            scope,
            "You have no session here. Open the link that `cellbounds serve` printed; it is good "
            "once. If it was used already, start the server again.",
            401,
        )
        if headers.get("hx-request"):
            response.headers["HX-Refresh"] = "true"
        return response


async def _heard_out(scope: Scope, receive: Receive) -> None:
    """Read on, and keep nothing, so that a person who still sends is told why that is refused.

    A connection that is closed before loses the answer. Strangers are not waited for.
    """
    if scope.get("visitor") is None:
        return
    left, ending = HEARD_OUT, time.monotonic() + PATIENT
    with suppress(TimeoutError):
        while left > 0:
            message = await asyncio.wait_for(receive(), max(0.0, ending - time.monotonic()))
            if not message.get("more_body", False):
                return
            left -= len(message.get("body", b""))


def _too_large(scope: Scope, most: int) -> Response:
    said = f"that is more than {size_text(most)}, which is all that is taken"
    return _last(_said(scope, said, 413))


def _last(response: Response) -> Response:
    """An answer after which nothing more is read."""
    response.headers["Connection"] = "close"
    return response


def _said(scope: Scope, text: str, status: int) -> Response:
    """A refusal as text, or as JSON for programs."""
    if scope["path"].startswith("/api/"):
        return JSONResponse({"error": text}, status)
    return PlainTextResponse(text + "\n", status)
