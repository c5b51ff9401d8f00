"""Explore: pick or drop a table, click a design together, see at once what it gives away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cellbounds.data.domain import Domain
from cellbounds.disclosure.policies import profiles
from cellbounds.errors import CellboundsError, InvalidInput
from cellbounds.statements.rounding import ROUNDINGS
from cellbounds.web import tasks
from cellbounds.web.access import checked_form, visitor_of
from cellbounds.web.app import Site, StillReading, framed, site_of
from cellbounds.web.charts import Tried, drawn
from cellbounds.web.choices import DIGITS, MOST_STATEMENTS, Choice
from cellbounds.web.shelf import Item, stamp_of
from cellbounds.web.work import Job

TYPES = {
    "zip": "application/zip",
    "html": "text/html; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
}
"""Endings of files that can be taken away."""

REPORTS, TABLES = ("zip", "html", "xlsx", "json"), ("zip", "xlsx", "csv")
"""Those of a design, and those of a table that a method protects."""


async def home(request: Request) -> Response:
    """The tables at hand, and where to drop another one."""
    site, visitor = site_of(request), visitor_of(request)
    items = [
        item
        for item in site.shelf.visible(visitor.name)
        if visitor.may("own files" if item.owner else "tables")
    ]
    return site.page(request, "home.html.j2", items=items)


async def drop(request: Request) -> Response:
    """Take a file in: a table to explore, or one that was protected elsewhere."""
    site, visitor = site_of(request), visitor_of(request)
    visitor.require("own files")
    form = await checked_form(request)
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise InvalidInput("no file came; choose one, or drop it on the page")
    settings = site.settings
    item = await site.shelf.add(file, visitor.name, most=settings.upload, many=settings.uploads)
    try:
        job = await site.work(request, tasks.understood, item.source)
        kind = (await site.finished(job))["kind"]
    except CellboundsError:
        site.shelf.remove(item)
        raise
    site.shelf.learn(replace(item, published=kind == "published"), {})
    return RedirectResponse(f"/{kind}/{item.key}", 303)


async def remove(request: Request) -> Response:
    """Delete a file that somebody sent here."""
    site, visitor = site_of(request), visitor_of(request)
    await checked_form(request)
    item = site.shelf.get(request.path_params["key"], visitor.name)
    if item is None or not item.owner:
        raise HTTPException(404, "there is no such file of yours")
    site.shelf.remove(item)
    return RedirectResponse("/", 303)


async def _item(request: Request) -> Item:
    """The table that an address names, its variables known."""
    site, visitor = site_of(request), visitor_of(request)
    item = site.shelf.get(request.path_params["key"], visitor.name)
    if item is None:
        raise HTTPException(404, "there is no such table here; it may have been removed")
    visitor.require("own files" if item.owner else "tables")
    return await described_item(request, item)


async def described_item(request: Request, item: Item, *, patient: bool = False) -> Item:
    """A table, its variables known; unless `patient`, a page that has to wait says so.

    Raises
    ------
    StillReading
        If that is so.
    """
    site = site_of(request)
    stamp = await run_in_threadpool(stamp_of, item.source)
    if item.about.get("stamp") == stamp:
        return item
    job = site.reading.get(item.key)
    if job is None:
        seconds = site.settings.thorough
        given = tasks.described, item.source, stamp
        job = await site.workers.submit(visitor_of(request).name, *given, seconds=seconds)
        site.reading[item.key] = job
    if not (patient or await job.wait(site.settings.patience)):
        raise StillReading(item, job)
    try:
        return site.shelf.learn(item, await site.finished(job))
    finally:
        site.reading.pop(item.key, None)


async def explore(request: Request) -> Response:
    """A table and a design, as the address has it."""
    item = await _item(request)
    choice = Choice.of(Query(request), item.about["domain"])
    return await _shown(request, item, choice)


async def choose(request: Request) -> Response:
    """What was clicked together, under its address."""
    item = await _item(request)
    domain = item.about["domain"]
    fields = Query(request)
    choice = Choice.from_form(fields, domain)
    if fields.get("more"):
        if len(choice.statements) >= MOST_STATEMENTS:
            raise InvalidInput(f"a page takes {MOST_STATEMENTS} statements")
        choice = choice.with_statement()
    if fields.get("less"):
        place = fields.get("less")
        choice = choice.without(int(place) if place.isdecimal() else -1)
    return await _moved(request, item, choice)


async def hide(request: Request) -> Response:
    """Hide a figure, or show it again, by its place in the map."""
    item = await _item(request)
    domain: Domain = item.about["domain"]
    fields = Query(request)
    choice = Choice.of(fields, domain)
    names = tuple(fields.getlist("over"))
    place, order = _statement_of(choice, domain, names)
    whole = [request.names for request in choice.requests(domain)][place]
    sizes = _sizes(choice, domain, names)
    cell = fields.get("cell")
    if not cell.isdecimal() or int(cell) >= int(np.prod(sizes)):
        raise InvalidInput(f"there is no figure {cell!r}")
    index = dict(zip(names, np.unravel_index(int(cell), sizes), strict=True))
    assert order is not None
    return await _moved(
        request, item, choice.toggled(place, tuple(int(index[name]) for name in whole))
    )


async def undo(request: Request) -> Response:
    """Go back to the design that was looked at before this one."""
    item = await _item(request)
    domain = item.about["domain"]
    choice = Choice.of(Query(request), domain)
    before = site_of(request).bench(visitor_of(request), item.key).undo(choice.query)
    if before is not None:
        choice = Choice.of(Query(before), domain)
    return await _moved(request, item, choice)


def _statement_of(
    choice: Choice, domain: Domain, names: tuple[str, ...]
) -> tuple[int, tuple[str, ...]]:
    """The statement whose figures a map shows."""
    for place, request in enumerate(choice.requests(domain)):
        if set(request.names) == set(names):
            return place, request.names
    raise InvalidInput("no statement has these figures; hide those of a statement of its own")


def _sizes(choice: Choice, domain: Domain, names: tuple[str, ...]) -> list[int]:
    merged = {one.name: len(one.groups) for one in choice.merges(domain)}
    return [merged.get(name) or len(domain.levels(name)) for name in names]


async def _moved(request: Request, item: Item, choice: Choice) -> Response:
    """Show a choice under its address; a browser without scripts is sent there."""
    address = f"/table/{quote(item.key)}?{choice.query}"
    if not request.headers.get("hx-request"):
        return RedirectResponse(address, 303)
    response = await _shown(request, item, choice)
    response.headers["HX-Push-Url"] = address
    return response


async def _shown(request: Request, item: Item, choice: Choice) -> Response:
    site = site_of(request)
    domain: Domain = item.about["domain"]
    if item.published:
        return RedirectResponse(f"/published/{item.key}", 303)
    job = await _looked(request, item, choice)
    content = {
        "item": item,
        "domain": domain,
        "choice": choice,
        "digits": DIGITS,
        "roundings": [*ROUNDINGS],
        "policies": profiles(),
        **_answer(site, request, item, choice, job),
    }
    return site.page(request, "explore.html.j2", **content)


async def _looked(request: Request, item: Item, choice: Choice, key: str = "") -> Job:
    """A look at a design."""
    quick = site_of(request).settings.quick
    given = item.source, item.stamp, choice, quick
    return await _latest(request, item, key, tasks.look, *given, seconds=quick)


async def _latest(
    request: Request,
    item: Item,
    key: str,
    task: Callable[..., Any],
    *given: Any,
    seconds: float,
    long: bool = False,
) -> Job:
    """The job with this key, or a new one.

    What was clicked on before and has not begun is not needed: nobody looks at it any more.
    """
    site, visitor = site_of(request), visitor_of(request)
    job = site.workers.get(key, visitor.name, task)
    if job is None or job.state == "superseded" or job.given != given:
        latest = site.bench(visitor, item.key).latest
        if task in latest and latest[task].state == "waiting":
            site.workers.cancel(latest[task], "superseded")
        submit = site.workers.submit
        job = await submit(visitor.name, task, *given, seconds=seconds, long=long)
        latest[task] = job
    await job.wait(site.settings.patience)
    return job


def _answer(site: Site, request: Request, item: Item, choice: Choice, job: Job) -> dict[str, Any]:
    """What the answer's part of the page shows; a design that was judged stays in the list."""
    visitor = visitor_of(request)
    domain: Domain = item.about["domain"]
    if job.state == "done":
        found = job.result
        kept = ("outcome", "risk", "kept", "exact", "broken", "wanted", "settled")
        one = Tried(choice.query, choice.words(domain), **{key: found[key] for key in kept})
        site.note(visitor, item.key, one)
    tried = [*site.bench(visitor, item.key).tried.values()]
    found = job.result if job.state == "done" else None
    names = () if found is None else tuple(found["over"])
    hides = any(set(one.names) == set(names) for one in choice.requests(domain))
    return {
        "item": item,
        "choice": choice,
        "job": job,
        "found": found,
        "tried": [*reversed(tried)],
        "undoes": site.bench(visitor, item.key).before(choice.query) is not None,
        "chart": drawn(tried, choice.query) if len(tried) > 1 else None,
        "hiding": f"{choice.query}&{urlencode([('over', name) for name in names])}"
        if hides
        else "",
        "look_at": f"/table/{quote(item.key)}",
        "with_ledger": site.ledger is not None and not item.owner,
    }


async def answer(request: Request) -> Response:
    """The answer to a design, when it is there."""
    site = site_of(request)
    item = await _item(request)
    choice = Choice.of(Query(request), item.about["domain"])
    job = await _looked(request, item, choice, request.path_params["job"])
    return site.page(request, "answer.html.j2", **_answer(site, request, item, choice, job))


async def cancel(request: Request) -> Response:
    """End a piece of work."""
    site, visitor = site_of(request), visitor_of(request)
    await checked_form(request)
    job = site.workers.get(request.path_params["job"], visitor.name)
    if job is not None:
        site.workers.cancel(job)
    return site.page(request, "problem.html.j2", said="cancelled")


async def forget(request: Request) -> Response:
    """Take the designs that were tried off the list."""
    site, visitor = site_of(request), visitor_of(request)
    await checked_form(request)
    item = await _item(request)
    bench = site.bench(visitor, item.key)
    bench.tried.clear()
    bench.trail.clear()
    return RedirectResponse(f"/table/{quote(item.key)}?{request.url.query}", 303)


async def make_safe(request: Request) -> Response:
    """Safe releases near a design, and the figures to hide."""
    site, visitor = site_of(request), visitor_of(request)
    item = await _item(request)
    choice = Choice.of(Query(request), item.about["domain"])
    seconds = site.settings.thorough
    out = (site.place, site.tables) if site.ledger is not None and not item.owner else ("", ())
    given = tasks.made_safe, item.source, item.stamp, choice, *out, seconds
    key = Query(request).get("job")
    job = await _latest(request, item, key, *given, seconds=seconds, long=True)
    return site.page(
        request,
        "safe.html.j2",
        item=item,
        choice=choice,
        job=job,
        found=job.result,
        look_at=f"/table/{quote(item.key)}",
        asks=site.ledger is not None and not item.owner and visitor.may("own requests"),
    )


async def together(request: Request) -> Response:
    """What a design gives away together with everything that is out."""
    site, visitor = site_of(request), visitor_of(request)
    visitor.require("audits")
    item = await _item(request)
    if site.ledger is None or item.owner:
        raise HTTPException(404, "only a ledger's own table has releases that are out")
    choice = Choice.of(Query(request), item.about["domain"])
    seconds = site.settings.thorough
    given = tasks.together, site.place, site.tables, choice, seconds
    key = Query(request).get("job")
    job = await _latest(request, item, key, *given, seconds=seconds, long=True)
    return site.page(
        request,
        "together.html.j2",
        item=item,
        choice=choice,
        job=job,
        found=job.result,
        look_at=f"/table/{quote(item.key)}",
    )


async def download(request: Request) -> Response:
    """A design as a release file, or what it gives away as a report."""
    site = site_of(request)
    item = await _item(request)
    choice = Choice.of(Query(request), item.about["domain"])
    style, method = request.path_params["style"], Query(request).get("way")
    endings = TABLES if method else REPORTS
    if style not in endings:
        raise HTTPException(404, f"there is no file of that kind; ask for {', '.join(endings)}")
    seconds = site.settings.thorough
    given = item.source, item.stamp, choice, style, method, seconds
    job = await site.work(request, tasks.written, *given, thorough=True)
    content = await site.finished(job)
    name = "release" if style == "zip" else "table" if method else "report"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{style}"'}
    return Response(content, media_type=TYPES[style], headers=headers)


async def published(request: Request) -> Response:
    """What anybody can work out from a table that was protected elsewhere."""
    site, visitor = site_of(request), visitor_of(request)
    item = site.shelf.get(request.path_params["key"], visitor.name)
    if item is None:
        raise HTTPException(404, "there is no such table here; it may have been removed")
    visitor.require("own files" if item.owner else "tables")
    seconds = site.settings.thorough
    key = Query(request).get("job")
    job = site.workers.get(key, visitor.name, tasks.attacked)
    if job is None:
        job = await site.work(request, tasks.attacked, item.source, seconds, thorough=True)
    else:
        await job.wait(site.settings.patience)
    if job.state == "done":
        return framed(request, job.result)
    if job.state in ("failed", "cancelled"):
        raise InvalidInput(job.error)
    again = f"{request.url.path}?job={job.key}"
    return site.page(request, "waiting.html.j2", job=job, title=item.name, again=again)


class Query:
    """The query string of a request, or one by itself."""

    def __init__(self, asked: Request | str) -> None:
        self._fields = QueryParams(asked) if isinstance(asked, str) else asked.query_params

    def get(self, key: str, default: str = "") -> str:
        """The last value of a name."""
        return str(self._fields.get(key, default))

    def getlist(self, key: str) -> list[str]:
        """Every value of a name."""
        return [str(value) for value in self._fields.getlist(key)]


ROUTES = [
    Route("/", home),
    Route("/drop", drop, methods=["POST"]),
    Route("/table/{key}", explore),
    Route("/table/{key}/choose", choose),
    Route("/table/{key}/hide", hide),
    Route("/table/{key}/undo", undo),
    Route("/table/{key}/answer/{job}", answer),
    Route("/table/{key}/safe", make_safe),
    Route("/table/{key}/together", together),
    Route("/table/{key}/file.{style}", download),
    Route("/table/{key}/forget", forget, methods=["POST"]),
    Route("/table/{key}/remove", remove, methods=["POST"]),
    Route("/published/{key}", published),
    Route("/jobs/{job}/cancel", cancel, methods=["POST"]),
]
