"""Whom the server believes, and how long it listens: the parts by themselves."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request

from cellbounds.errors import InvalidInput
from cellbounds.ledger import LedgerError
from cellbounds.ledger.people import Person
from cellbounds.web import serving
from cellbounds.web.access import Attempts, Door, Guard
from cellbounds.web.settings import Settings

DAN = Person("dan", frozenset({"decides"}))


class Book:
    """People who are known by name alone."""

    def __init__(self, *people):
        self.people = {person.name: person for person in people}

    def get(self, name):
        return self.people.get(name)

    def session(self, token):
        return DAN if token == "right" else None


def scope(client="10.0.0.5", path="/", method="GET", **headers):
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http",
        "path": path,
        "method": method,
        "headers": [(b"host", b"127.0.0.1:80"), *named],
        "client": (client, 1),
        "server": ("127.0.0.1", 80),
    }


def door(*proxies, book=None, **settings):
    how = Settings(proxies=proxies, **settings)
    return Door(how, user="x", people=book or Book(DAN, Person("eve", frozenset({"asks"}), False)))


@pytest.mark.parametrize(
    ("proxies", "client", "name", "known"),
    [
        (["10.0.0.5"], "10.0.0.5", "dan", True),
        (["10.0.0.0/24"], "10.0.0.5", "dan", True),
        (["2001:db8::/32"], "2001:db8::1", "dan", True),
        ([], "10.0.0.5", "dan", False),
        (["10.0.0.6"], "10.0.0.5", "dan", False),
        (["10.0.0.5"], "127.0.0.1", "dan", False),
        (["10.0.0.5"], "10.0.0.5", "eve", False),
        (["10.0.0.5"], "10.0.0.5", "nobody", False),
        (["10.0.0.5"], "10.0.0.5", "", False),
        (["10.0.0.5"], "unix:", "dan", False),
    ],
)
def test_a_header_names_somebody_only_if_the_proxy_sends_it(proxies, client, name, known):
    found = door(*proxies).visitor(scope(client, x_remote_user=name), 80)
    assert (found is not None) == known
    if known:
        assert (found.name, found.bearer) == ("dan", False)
        assert len(found.form_token) == 64


def test_two_names_are_none():
    """The proxy added one, and did not take away what the browser sent."""
    asked = scope(x_remote_user="dan")
    asked["headers"].append((b"x-remote-user", b"dan"))
    assert door("10.0.0.5").visitor(asked, 80) is None


def test_a_proxy_that_is_no_address_is_refused():
    with pytest.raises(InvalidInput, match="the proxy 'localhost' is no address"):
        Settings(proxies=("localhost",))


def test_wrong_passwords_of_an_address_are_counted_for_a_while():
    clock = [0.0]
    attempts = Attempts(2, 60, lambda: clock[0])
    attempts.failed("a")
    attempts.check("a")
    attempts.failed("a")
    attempts.check("b")
    with pytest.raises(HTTPException) as refused:
        attempts.check("a")
    assert refused.value.status_code == 429
    clock[0] = 61
    attempts.check("a")
    assert not attempts._failed


def test_who_tries_many_passwords_is_sent_away():
    """By address, whatever the name; behind a proxy all have one address, and none is counted."""

    class Wrong(Book):
        def entitled(self, name, password):
            return None

    def tried(known, address, times):
        async def all_of_them():
            request = Request(scope(address))
            return [await known.login(request, f"name {k}", "guess") for k in range(times)]

        return asyncio.run(all_of_them())

    book = Wrong()
    known = door("10.0.0.5", book=book, attempts=3)
    assert tried(known, "10.0.0.9", 3) == [None] * 3
    with pytest.raises(HTTPException) as refused:
        tried(known, "10.0.0.9", 1)
    assert refused.value.status_code == 429
    assert tried(known, "10.0.0.8", 1) == [None]
    assert tried(known, "10.0.0.5", 9) == [None] * 9


def answered(guard, asked, *messages):
    """The status of an answer; after these messages nothing comes."""
    sent, left = [], [*messages]

    async def receive():
        if not left:
            await asyncio.sleep(60)
        return left.pop(0)

    async def send(message):
        sent.append(message)

    async def once():
        await asyncio.wait_for(guard(asked, receive, send), 10)

    asyncio.run(once())
    return sent[0]["status"], dict(sent[0]["headers"])


async def reads(_, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body"})


def part(size, more=True):
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


def test_a_body_has_to_come_in_time_and_in_size():
    known = door(sending=0.2, upload=2**21)
    guard = Guard(reads, door=known, settings=known.settings)
    asked = {"authorization": "Bearer right"}
    post = lambda path, **more: scope(path=path, method="POST", **asked, **more)  # noqa: E731
    assert answered(guard, post("/drop"), part(9, more=False))[0] == 200
    status, headers = answered(guard, post("/drop"), part(9))
    assert (status, headers[b"connection"]) == (408, b"close")
    assert answered(guard, post("/drop"), *[part(2**20)] * 2, part(9, more=False))[0] == 200
    assert answered(guard, post("/drop"), *[part(2**20)] * 3)[0] == 413
    assert answered(guard, post("/people"), *[part(2**20)] * 2)[0] == 413
    assert answered(guard, post("/drop", content_length=str(10 * 2**30)))[0] == 413
    assert answered(guard, post("/drop", content_length="9" * 5000))[0] == 413
    assert answered(guard, scope(path="/login", method="POST"), part(2**17))[0] == 413


def test_a_ledger_that_cannot_be_read_is_said():
    class Broken(Book):
        def session(self, token):
            raise LedgerError("a secret place")

    known = door(book=Broken())
    guard = Guard(reads, door=known, settings=known.settings)
    assert answered(guard, scope(authorization="Bearer right"))[0] == 503


def test_who_says_nothing_is_not_waited_for(monkeypatch):
    """Connections without a whole question end; others are answered meanwhile."""
    monkeypatch.setattr(serving, "ASKING", 0.3)

    async def hello(_, __, send):
        await asyncio.sleep(0.6)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello"})

    async def connected(port, text):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        return answer

    async def several():
        with serving.listening(Settings()) as found:
            port = found.getsockname()[1]
            config = uvicorn.Config(
                hello, log_level="error", lifespan="off", http=serving._Protocol
            )
            server = serving._Server(config)
            running = asyncio.create_task(server.serve(sockets=[found]))
            head = b"GET / HTTP/1.1\r\nHost: x\r\n"
            silent, slow, whole = await asyncio.gather(
                connected(port, b""),
                connected(port, head),
                connected(port, head + b"Connection: close\r\n\r\n"),
            )
            server.should_exit = True
            await running
        assert (silent, slow) == (b"", b"")
        assert b"hello" in whole

    asyncio.run(several())
