"""The application: its parts, its addresses, and how pages are made."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
)
from starlette.routing import Route

from cellbounds.errors import CellboundsError, InvalidInput
from cellbounds.ledger import Ledger
from cellbounds.ledger.errors import NotAllowed
from cellbounds.report.pages.page import OUTCOMES, TEMPLATES, templates
from cellbounds.version import __version__
from cellbounds.web.access import Door, Guard, Visitor, visitor_of
from cellbounds.web.charts import Tried
from cellbounds.web.settings import Settings
from cellbounds.web.shelf import Item, Shelf
from cellbounds.web.work import GRACE, Job, TooMuchAsked, Workers

HERE = Path(__file__).parent

STATIC = {
    "report.css": TEMPLATES / "report.css",
    "report.js": TEMPLATES / "report.js",
    "ledger.css": TEMPLATES / "ledger.css",
    "web.css": HERE / "static" / "web.css",
    "web.js": HERE / "static" / "web.js",
    "icon.svg": HERE / "static" / "icon.svg",
    "htmx.min.js": HERE / "static" / "htmx.min.js",
}
"""Files that pages load; nothing else of a folder can be asked for."""

MOST_TRIED = 30
"""Designs that stay side by side; the oldest go first."""

MOST_BENCHES = 500
"""Sessions and tables of which the tried designs are remembered."""


@dataclass(eq=False)
class Bench:
    """What somebody does with a table: designs tried, the way, the last work."""

    tried: OrderedDict[str, Tried] = field(default_factory=OrderedDict)
    trail: list[str] = field(default_factory=list)
    latest: dict[Callable[..., Any], Job] = field(default_factory=dict)

    def before(self, query: str) -> str | None:
        """The design that was looked at before this one; None if there is none."""
        places = [place for place, one in enumerate(self.trail) if one == query]
        return self.trail[places[-1] - 1] if places and places[-1] else None

    def undo(self, query: str) -> str | None:
        """Go back to the design before this one, and forget what came after it."""
        before = self.before(query)
        if before is not None:
            while self.trail.pop() != query:
                pass
        return before


@dataclass(eq=False)
class Site:
    """What the pages share.

    Attributes
    ----------
    settings, door, shelf, workers
        How it behaves, who may come, the tables at hand, who does the work.
    ledger, place, tables
        The ledger that requests are about, where it is, and the sources of its table's versions.
    reading
        The reading of tables that is under way, by their keys.
    """

    settings: Settings
    door: Door
    shelf: Shelf
    workers: Workers
    ledger: Ledger | None = None
    place: str = field(default="", repr=False)
    tables: tuple[str, ...] = ()
    reading: dict[str, Job] = field(default_factory=dict)
    _benches: OrderedDict[tuple[str, str], Bench] = field(default_factory=OrderedDict)

    def bench(self, visitor: Visitor, key: str) -> Bench:
        """What somebody does with a table in this login."""
        place = visitor.token, key
        if place not in self._benches:
            self._benches[place] = Bench()
            while len(self._benches) > MOST_BENCHES:
                self._benches.popitem(last=False)
        return self._benches[place]

    def leave(self, visitor: Visitor) -> None:
        """Forget a session, and delete what was sent here in it."""
        self.shelf.forget(person=visitor.name)
        for place in [place for place in self._benches if place[0] == visitor.token]:
            del self._benches[place]

    def note(self, visitor: Visitor, key: str, one: Tried) -> None:
        """Remember a design that was looked at."""
        bench = self.bench(visitor, key)
        bench.tried[one.query] = one
        while len(bench.tried) > MOST_TRIED:
            bench.tried.popitem(last=False)
        if bench.trail[-1:] != [one.query]:
            bench.trail.append(one.query)
            del bench.trail[:-MOST_TRIED]

    async def work(
        self,
        request: Request,
        task: Callable[..., Any],
        *given: Any,
        thorough: bool = False,
        long: bool | None = None,
    ) -> Job:
        """Have something done for whoever sends a request; a page waits a moment for it.

        What is `thorough` may take its time, and what is `long` (unless said, the same) leaves a
        worker to others.
        """
        seconds = self.settings.thorough if thorough else self.settings.quick
        owner, takes = visitor_of(request).name, thorough if long is None else long
        job = await self.workers.submit(owner, task, *given, seconds=seconds, long=takes)
        await job.wait(self.settings.patience)
        return job

    async def finished(self, job: Job) -> Any:
        """What came of a job that somebody waits for.

        Raises
        ------
        InvalidInput
            If nothing came of it in time.
        """
        if not await job.wait(2.4 * job.seconds + GRACE):
            self.workers.cancel(job)
            raise InvalidInput("it could not be done in time; ask for less, or try again")
        if job.state != "done":
            raise InvalidInput(job.error)
        return job.result

    def page(self, request: Request, template: str, status: int = 200, **content: Any) -> Response:
        """A page, or a part of one."""
        return HTMLResponse(self.text(request, template, **content), status)

    def text(self, request: Request, template: str, **content: Any) -> str:
        """What a template makes of what is shown, and of what all pages share."""
        visitor = request.scope.get("visitor")
        shared = {
            "site": self,
            "visitor": visitor,
            "version": __version__,
            "outcomes": OUTCOMES,
            "path": request.url.path,
            "part": bool(request.headers.get("hx-request")),
        }
        made: str = (
            templates(HERE / "templates").get_template(template).render({**shared, **content})
        )
        return made


def site_of(request: Request) -> Site:
    """What the pages share."""
    site = request.app.state.site
    assert isinstance(site, Site)
    return site


def framed(request: Request, text: str) -> Response:
    """A page that stands for itself, such as a report, with the way back to the others.

    What it says may run in it, and no more.
    """
    start = text.find('http-equiv="Content-Security-Policy" content="')
    allowed = text[start:].split('content="', 1)[1].split('"', 1)[0] if start >= 0 else ""
    allowed = allowed.replace("&#39;", "'")
    way = site_of(request).text(request, "nav.html.j2", framed=True)
    response = HTMLResponse(text.replace("<header>", f"<header>\n{way}", 1))
    if allowed:
        response.headers["Content-Security-Policy"] = f"{allowed}; frame-ancestors 'none'"
    return response


async def static(request: Request) -> Response:
    """A file that pages load."""
    file = STATIC.get(request.path_params["name"])
    if file is None:
        raise HTTPException(404, "there is no such file")
    return FileResponse(file, headers={"Cache-Control": "max-age=3600"})


async def alive(_: Request) -> Response:
    """For a proxy that asks whether the server is there."""
    return PlainTextResponse("alive\n")


class StillReading(Exception):
    """A table is still being read: the page shows how far that is, and comes again."""

    def __init__(self, item: Item, job: Job) -> None:
        super().__init__(item.name)
        self.item, self.job = item, job


async def not_yet(request: Request, problem: Exception) -> Response:
    """What is shown while a table is being read."""
    assert isinstance(problem, StillReading)
    query = f"?{request.url.query}" if request.url.query else ""
    return site_of(request).page(
        request,
        "waiting.html.j2",
        job=problem.job,
        title=problem.item.name,
        again=f"{request.url.path}{query}",
    )


async def refused(request: Request, problem: Exception) -> Response:
    """An error in one sentence: a page, a part of one, or JSON."""
    status, said = 400, str(problem)
    if isinstance(problem, HTTPException):
        status, said = problem.status_code, problem.detail
    elif isinstance(problem, TooMuchAsked):
        status = 429
    elif isinstance(problem, NotAllowed):
        status = 403
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": said}, status)
    if request.scope.get("visitor") is None:
        return PlainTextResponse(f"{said}\n", status)
    if request.headers.get("hx-request"):
        # A part of a page is swapped in only if the answer is one; what is wrong is shown there.
        response = site_of(request).page(request, "problem.html.j2", said=said)
        response.headers["HX-Retarget"] = "#problem"
        response.headers["HX-Reswap"] = "innerHTML"
        return response
    return site_of(request).page(request, "refused.html.j2", status, said=said, status_code=status)


def application(site: Site, *, on_start: Iterable[Callable[[Site], Any]] = ()) -> Starlette:
    """The application with all its addresses."""
    from cellbounds.web import api, explore_pages, people_pages, request_pages

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await site.workers.start()
        for begin in on_start:
            await begin(site)
        try:
            yield
        finally:
            await site.workers.stop()
            site.shelf.forget()

    routes = [
        Route("/alive", alive),
        Route("/static/{name}", static),
        *people_pages.ROUTES,
        *explore_pages.ROUTES,
        *request_pages.ROUTES,
        *api.ROUTES,
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Guard, door=site.door, settings=site.settings)],
        exception_handlers={
            HTTPException: refused,
            CellboundsError: refused,
            StillReading: not_yet,
        },
    )
    app.state.site = site
    return app
