"""Decide: what was asked for, with its audit against everything that is out, and the history."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request as WebRequest
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cellbounds.errors import InvalidInput
from cellbounds.ledger import Entry, Ledger
from cellbounds.ledger.journal import LedgerState
from cellbounds.ledger.requests import Request
from cellbounds.web import tasks
from cellbounds.web.access import Visitor, checked_form, visitor_of
from cellbounds.web.app import Site, framed, site_of
from cellbounds.web.choices import Choice
from cellbounds.web.explore_pages import Query
from cellbounds.web.shelf import plain_name
from cellbounds.web.work import Job, TooMuchAsked

SERVER = " server"
"""Whose work it is that nobody asked for; no person's name begins with a blank."""


SHOWN = 50
"""Decided requests that the queue shows unless it is asked for all."""

MOST_FILES = 200
"""Files that may come in at once, such as the folder of an ACRO session."""


def ledger_of(site: Site) -> Ledger:
    """The ledger that requests are about."""
    if site.ledger is None:
        raise HTTPException(404, "no ledger is served here; start `cellbounds serve LEDGER`")
    return site.ledger


async def submit_judging(site: Site, number: int) -> Job:
    """Have a request judged with everything that is out."""
    seconds = site.settings.thorough
    given = site.place, site.tables, number, seconds
    return await site.workers.submit(
        SERVER, tasks.request_judged, *given, seconds=seconds, long=True, free=True
    )


async def check_room(site: Site, visitor: Visitor) -> None:
    """Refuse more requests where too many of the same person wait for a decision."""
    waiting = await run_in_threadpool(ledger_of(site).requests.all, status="waiting")
    own = sum(request.who == visitor.name for request in waiting)
    if own >= site.settings.waiting:
        raise TooMuchAsked(f"{own} requests of yours wait for a decision; withdraw one, or wait")


async def judge_waiting(site: Site) -> None:
    """Have everything judged that waits and was not: what a server that ended left behind."""
    if site.ledger is None:
        return
    waiting = await run_in_threadpool(site.ledger.requests.all, status="waiting")
    for request in waiting:
        if request.judged is None:
            await submit_judging(site, request.number)


def visible(requests: Sequence[Request], visitor: Visitor) -> list[Request]:
    """The requests that somebody may see: his own, or everybody's."""
    return [one for one in requests if visitor.may("requests") or one.who == visitor.name]


def outcome_of(request: Request) -> str | None:
    """What the ledger said last; None if nothing yet."""
    return None if request.judged is None else str(request.judged["outcome"])


async def queue(request: WebRequest) -> Response:
    """What waits, and what was decided."""
    site, visitor = site_of(request), visitor_of(request)
    ledger = ledger_of(site)
    listed = visible(await run_in_threadpool(ledger.requests.all), visitor)
    decided = [one for one in listed if not one.waiting]
    return site.page(
        request,
        "requests.html.j2",
        waiting=[one for one in reversed(listed) if one.waiting],
        decided=decided if Query(request).get("all") else decided[:SHOWN],
        many=len(decided),
        mark=(await run_in_threadpool(ledger.state)).mark,
        outcome_of=outcome_of,
        audits=visitor.may("audits"),
    )


async def new(request: WebRequest) -> Response:
    """Ask for a design: why it is wanted."""
    site, visitor = site_of(request), visitor_of(request)
    visitor.require("own requests")
    domain = (await run_in_threadpool(ledger_of(site).state)).domain
    query = Query(request)
    choice = Choice.of(query, domain) if query.getlist("s") else None
    way = query.get("way")
    return site.page(request, "new_request.html.j2", choice=choice, domain=domain, way=way)


async def submit(request: WebRequest) -> Response:
    """Put a request into the queue."""
    site, visitor = site_of(request), visitor_of(request)
    visitor.require("own requests")
    form = await checked_form(request)
    domain = (await run_in_threadpool(ledger_of(site).state)).domain
    fields = _Form(form)
    choice = Choice.of(fields, domain)
    if not fields.getlist("s"):
        raise InvalidInput("nothing is asked for; give a statement such as [Y|A,B]@2")
    await check_room(site, visitor)
    why, method = fields.get("why"), fields.get("way")
    if choice.plain and not method:  # nothing has to be worked out for it
        made = await run_in_threadpool(
            ledger_of(site).requests.submit,
            [one.notation for one in choice.statements],
            who=visitor.name,
            why=why,
            total=choice.total,
        )
        return await _asked(site, made.number)
    given = site.place, site.tables, choice, method, visitor.name, why, site.settings.thorough
    job = await site.work(request, tasks.submitted, *given, thorough=True, long=bool(method))
    return await _when_asked(request, job)


async def asking(request: WebRequest) -> Response:
    """Whether a request is in the queue by now whose figures had to be worked out."""
    site = site_of(request)
    owner = visitor_of(request).name
    job = site.workers.get(request.path_params["job"], owner, tasks.submitted)
    if job is None:
        return RedirectResponse("/requests", 303)
    await job.wait(site.settings.patience)
    return await _when_asked(request, job)


async def _when_asked(request: WebRequest, job: Job) -> Response:
    site = site_of(request)
    if job.over.is_set():
        return await _asked(site, await site.finished(job))
    again = f"/requests/asking/{job.key}"
    return site.page(request, "waiting.html.j2", job=job, title="Asking", again=again)


async def _asked(site: Site, number: int) -> Response:
    await submit_judging(site, number)
    return RedirectResponse(f"/requests/{number}", 303)


async def bring(request: WebRequest) -> Response:
    """Take the tables of another tool's output as requests, one each."""
    site, visitor = site_of(request), visitor_of(request)
    visitor.require("own requests")
    form = await checked_form(request, files=MOST_FILES)
    files = [
        file for file in form.getlist("file") if isinstance(file, UploadFile) and file.filename
    ]
    if not files:
        raise InvalidInput("no file came; choose one, or the folder of an ACRO session")
    await check_room(site, visitor)
    async with site.shelf.held(files, most=site.settings.upload) as paths:
        # What ACRO wrote is found from its list of results.
        whole = [path for path in paths if Path(path).name == "results.json"]
        given = site.place, whole or paths, _batch(files), visitor.name, str(form.get("why", ""))
        job = await site.work(request, tasks.imported, *given, thorough=True, long=False)
        numbers = await site.finished(job)
    for number in numbers:
        await submit_judging(site, number)
    return RedirectResponse("/requests", 303)


def _batch(files: Sequence[UploadFile]) -> str:
    """What several files are called together: their folder, or the first of them."""
    folder, _, name = (files[0].filename or "").replace("\\", "/").rpartition("/")
    return plain_name(folder or name)


async def seen_request(request: WebRequest) -> Request:
    """The request that an address names, for somebody who may see it."""
    site, visitor = site_of(request), visitor_of(request)
    listed = visible(await run_in_threadpool(ledger_of(site).requests.all), visitor)
    found = [one for one in listed if one.number == request.path_params["number"]]
    if not found:
        raise HTTPException(404, "there is no such request, or it is not yours to see")
    return found[0]


async def one(request: WebRequest) -> Response:
    """Everything that a second pair of eyes needs, on one page."""
    site, visitor = site_of(request), visitor_of(request)
    found = await seen_request(request)
    ledger = ledger_of(site)
    state = await run_in_threadpool(ledger.state)
    before = await run_in_threadpool(ledger.requests.before, found)
    fresh = found.judged is not None and found.mark == state.mark
    query = Query(request)
    job = site.workers.get(query.get("deciding"), visitor.name, tasks.request_decided)
    if job is not None:
        await job.wait(site.settings.patience)
        if job.over.is_set():
            _check_decided(job)
            return RedirectResponse(f"/requests/{found.number}", 303)
    elif found.waiting and not fresh and visitor.may("audits"):
        job = site.workers.get(query.get("job"), SERVER) or await submit_judging(site, found.number)
        site.workers.hurry(job)  # somebody looks at it: whatever else waits comes later
        await job.wait(site.settings.patience)
        if job.state == "done":
            found = await seen_request(request)
            job = None
    alone = site.door.people is None
    return site.page(
        request,
        "request.html.j2",
        one=found,
        waits=f"deciding={job.key}" if job and query.get("deciding") else job and f"job={job.key}",
        job=job,
        outcome=outcome_of(found),
        blamed=blamed(found, state),
        parts=compared(found, state),
        changes=changed(before, found),
        before=before,
        audits=visitor.may("audits"),
        decides=not query.get("deciding")
        and visitor.may("decisions")
        and (alone or found.who != visitor.name),
        own=found.who == visitor.name,
        explore=_explored(found),
    )


def _explored(request: Request) -> str:
    """The address where a request's design can be changed, if a page can say it."""
    if request.release is not None:
        return ""
    pairs = [("s", text) for text in request.statements if text != "N"]
    return "/table/table?" + urlencode([*pairs, *([] if request.total else [("n", "0")])])


def blamed(request: Request, state: LedgerState) -> list[Entry]:
    """The past releases with which a request does harm."""
    numbers = (request.judged or {}).get("harmful", ())
    return [entry for entry in state.released if entry.number in numbers]


def compared(request: Request, state: LedgerState) -> list[dict[str, Any]]:
    """Each statement of a request: whether it is new, or out already by some entry."""
    out: dict[str, list[int]] = {}
    for entry in state.released:
        if entry.number != request.entry:
            for text in entry.statements:
                out.setdefault(text, []).append(entry.number)
    texts = [*request.statements]
    if request.total and "N" not in texts:
        texts.append("N")
    return [{"text": text, "entries": out.get(text, [])} for text in texts]


def changed(before: Request | None, request: Request) -> list[tuple[str, str]]:
    """What is different from the last request of the same person: a sign and a statement."""
    if before is None:
        return []
    lines = difflib.ndiff([*before.statements], [*request.statements])
    return [(line[0], line[2:]) for line in lines if line[0] in "+- "]


async def decide(request: WebRequest) -> Response:
    """Approve or refuse, with a reason."""
    visitor = visitor_of(request)
    visitor.require("decisions")
    form = await checked_form(request)
    found = await seen_request(request)
    decision = str(form.get("decision", ""))
    if decision not in ("approve", "refuse"):
        raise InvalidInput(f"decision {decision!r}; approve or refuse")
    job = await decided(request, found, decision, str(form.get("why", "")))
    if not job.over.is_set():  # it is judged anew, which may take long: no page waits for it
        return RedirectResponse(f"/requests/{found.number}?deciding={job.key}", 303)
    _check_decided(job)
    return RedirectResponse(f"/requests/{found.number}", 303)


def _check_decided(job: Job) -> None:
    """Say why a decision was not made."""
    if job.state != "done":
        raise InvalidInput(job.error)
    if job.result["said"]:
        raise HTTPException(409, job.result["said"])


async def decided(request: WebRequest, found: Request, decision: str, why: str) -> Job:
    """Have a decision made; it is judged anew with what is out by then."""
    site, visitor = site_of(request), visitor_of(request)
    seconds = site.settings.thorough
    return await site.work(
        request,
        tasks.request_decided,
        site.place,
        site.tables,
        found.number,
        decision,
        visitor.name,
        why,
        site.door.people is None,
        seconds,
        thorough=True,
    )


async def withdraw(request: WebRequest) -> Response:
    """Take a request back."""
    site, visitor = site_of(request), visitor_of(request)
    await checked_form(request)
    found = await seen_request(request)
    await run_in_threadpool(ledger_of(site).requests.withdraw, found.number, who=visitor.name)
    return RedirectResponse("/requests", 303)


async def history(request: WebRequest) -> Response:
    """What happened, as it stands; who may not see counts gets what outsiders may see."""
    site, visitor = site_of(request), visitor_of(request)
    visitor.require("history")
    key = Query(request).get("job")
    job = site.workers.get(key, visitor.name, tasks.history)
    if job is None:
        public = not visitor.may("audits") or bool(Query(request).get("public"))
        seconds = site.settings.thorough
        job = await site.work(
            request, tasks.history, site.place, site.tables, public, seconds, thorough=True
        )
    else:
        await job.wait(site.settings.patience)
    if job.state == "done":
        return framed(request, job.result)
    if job.over.is_set():
        raise InvalidInput(job.error)
    again = f"{request.url.path}?job={job.key}"
    return site.page(request, "waiting.html.j2", job=job, title="History", again=again)


class _Form:
    """The fields of a form that was sent."""

    def __init__(self, form: Any) -> None:
        self._form = form

    def get(self, key: str, default: str = "") -> str:
        return str(self._form.get(key, default))

    def getlist(self, key: str) -> list[str]:
        return [str(value) for value in self._form.getlist(key) if str(value).strip()]


ROUTES = [
    Route("/requests", queue),
    Route("/requests", submit, methods=["POST"]),
    Route("/requests/new", new),
    Route("/requests/asking/{job}", asking),
    Route("/requests/import", bring, methods=["POST"]),
    Route("/requests/{number:int}", one),
    Route("/requests/{number:int}/decide", decide, methods=["POST"]),
    Route("/requests/{number:int}/withdraw", withdraw, methods=["POST"]),
    Route("/history", history),
]
