"""What people at a server do: look, ask, read, and wait between; and how long answers take."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx

from reliability.serving import PASSWORD

__all__ = ["Visit", "Visits", "live"]

DESIGNS = (
    "[{a}|{b}]@2",
    "[{a}|{b},{c}]@1",
    "[{a},{b}]",
    "[{a},{b},{c}]",
    "[{a},{b}|{c},{d}]@2",
    "[{a},{b},{c}]~5",
    "[{a}|{b},{c},{d},{e}]@3",
)


@dataclass(frozen=True, slots=True)
class Visit:
    """One question: what kind, how long its answer took, and its status (0: none came)."""

    kind: str
    seconds: float
    status: int


@dataclass(slots=True)
class Visits:
    """Everything that was asked, and what was wrong with it."""

    all: list[Visit] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    async def made(
        self, kind: str, ask: Callable[[], Awaitable[httpx.Response]]
    ) -> httpx.Response | None:
        """Ask, and note how long it took."""
        begun = time.perf_counter()
        try:
            answer = await ask()
        except httpx.HTTPError as problem:
            self.all.append(Visit(kind, time.perf_counter() - begun, 0))
            self.errors.append(f"{kind}: {type(problem).__name__}")
            return None
        self.all.append(Visit(kind, time.perf_counter() - begun, answer.status_code))
        if answer.status_code >= 400:
            self.errors.append(f"{kind}: {answer.status_code} {answer.text[:200]!r}")
        return answer


async def entered(client: httpx.AsyncClient, name: str) -> str:
    """Log in; the token that forms carry."""
    done = await client.post("/login", data={"name": name, "password": PASSWORD})
    if done.status_code != 303:
        raise RuntimeError(f"{name} could not log in: {done.status_code} {done.text[:200]!r}")
    found = re.search(r'name="form_token" value="([0-9a-f]+)"', (await client.get("/")).text)
    if found is None:
        raise RuntimeError("the page has no form")
    return found[1]


def design(names: list[str], chance: random.Random) -> str:
    """Something to publish."""
    chosen = dict(zip("abcde", chance.sample(names, 5), strict=True))
    return chance.choice(DESIGNS).format(**chosen)


async def live(
    base: str,
    name: str,
    names: list[str],
    visits: Visits,
    *,
    every: float,
    until: float,
    audits: bool,
    seed: int,
) -> None:
    """One person: a question each `every` seconds; who `audits` asks for reports, one by one."""
    chance = random.Random(seed)
    async with httpx.AsyncClient(base_url=base, timeout=90, trust_env=False) as client:
        token = await entered(client, name)
        if not audits:
            await asyncio.sleep(chance.uniform(0, every))
        while time.monotonic() < until:
            begun = time.monotonic()
            if audits:
                await _audit(client, names, visits, chance)
                continue
            await _something(client, token, names, visits, chance)
            await asyncio.sleep(max(0.0, every - (time.monotonic() - begun)))


async def _audit(
    client: httpx.AsyncClient, names: list[str], visits: Visits, chance: random.Random
) -> None:
    query = {"s": design(names, chance)}
    await visits.made("audit", lambda: client.get("/table/table/file.html", params=query))


async def _something(
    client: httpx.AsyncClient,
    token: str,
    names: list[str],
    visits: Visits,
    chance: random.Random,
) -> None:
    kind = chance.choices(
        ["look", "home", "requests", "request", "ask", "api"], [45, 5, 20, 20, 2, 8]
    )[0]
    if kind == "look":
        query = {"s": design(names, chance)}
        await visits.made(kind, lambda: client.get("/table/table", params=query))
    elif kind == "ask":
        form = {"form_token": token, "s": design(names, chance), "n": "1", "why": "a study"}
        await visits.made(kind, lambda: client.post("/requests", data=form))
    elif kind == "request":
        page = await visits.made("requests", lambda: client.get("/requests"))
        numbers = re.findall(r'href="/requests/(\d+)"', page.text if page else "")
        if numbers:
            number = chance.choice(numbers)
            await visits.made(kind, lambda: client.get(f"/requests/{number}"))
    else:
        path = {"home": "/", "requests": "/requests", "api": "/api/1/requests?status=waiting"}
        await visits.made(kind, lambda: client.get(path[kind]))
