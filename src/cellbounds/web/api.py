"""The same for programs, as JSON: tables, judging, requests and decisions, and their document."""

from __future__ import annotations

import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from cellbounds.data.domain import Domain
from cellbounds.disclosure.policies import DEFAULT
from cellbounds.report.pages.content import plain_label
from cellbounds.version import __version__
from cellbounds.web import tasks
from cellbounds.web.access import Visitor, visitor_of
from cellbounds.web.app import site_of
from cellbounds.web.choices import Choice
from cellbounds.web.explore_pages import described_item
from cellbounds.web.request_pages import (
    check_room,
    decided,
    ledger_of,
    outcome_of,
    seen_request,
    submit_judging,
    visible,
)

LARGEST = 2**20
"""Bytes of a question: it has no figures."""


async def _body(request: Request, **kinds: tuple[type, Any]) -> dict[str, Any]:
    """The values of a question; each has its type, and a default unless it is required (...)."""
    media = request.headers.get("content-type", "").partition(";")[0]
    if media.strip().lower() != "application/json":
        raise HTTPException(400, "send application/json")
    raw = await request.body()
    try:
        given = json.loads(raw) if len(raw) <= LARGEST else None
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise HTTPException(400, "the question is no JSON object")
    unknown = sorted(set(given) - set(kinds))
    if unknown:
        raise HTTPException(400, f"unknown: {', '.join(unknown)}; known: {', '.join(kinds)}")
    values: dict[str, Any] = {}
    for name, (kind, usual) in kinds.items():
        value = given.get(name, usual)
        if value is ... or not isinstance(value, kind):
            raise HTTPException(400, f"{name} has to be of the type {kind.__name__}")
        values[name] = value
    if not all(isinstance(text, str) for text in values.get("statements", ())):
        raise HTTPException(400, "statements have to be texts such as [Y|A,B]@2")
    return values


class _Fields:
    """A question as an address would have it."""

    def __init__(self, statements: list[str], **values: str) -> None:
        self._statements, self._values = statements, values

    def get(self, key: str, default: str = "") -> str:
        return self._values.get(key, default)

    def getlist(self, key: str) -> list[str]:
        return self._statements if key == "s" else []


async def session(request: Request) -> Response:
    """Log in: a token for the header Authorization."""
    site = site_of(request)
    if not site.door.is_team:
        raise HTTPException(400, "this server is for one user: see --token-file")
    given = await _body(request, name=(str, ...), password=(str, ...))
    token = await site.door.login(request, given["name"], given["password"])
    if token is None:
        raise HTTPException(401, "the name or the password is wrong")
    return JSONResponse({"token": token, "hours": site.settings.hours})


async def tables(request: Request) -> Response:
    """The tables at hand, with their variables."""
    site, visitor = site_of(request), visitor_of(request)
    shown = []
    for item in site.shelf.visible(visitor.name):
        if item.published or not visitor.may("own files" if item.owner else "tables"):
            continue
        domain: Domain = (await described_item(request, item, patient=True)).about["domain"]
        levels = {n: [*map(plain_label, domain.levels(n))] for n in domain.names}
        shown.append({"table": item.key, "name": item.name, "variables": levels})
    return JSONResponse({"tables": shown})


async def judge(request: Request) -> Response:
    """The verdict on a release by itself, whatever is out."""
    site, visitor = site_of(request), visitor_of(request)
    given = await _body(
        request,
        table=(str, ...),
        statements=(list, ...),
        total=(bool, True),
        policy=(str, DEFAULT),
    )
    item = site.shelf.get(given["table"], visitor.name)
    if item is None:
        raise HTTPException(404, f"there is no table {given['table']!r}")
    visitor.require("own files" if item.owner else "tables")
    item = await described_item(request, item, patient=True)
    if not given["statements"]:
        raise HTTPException(400, "no statements; give one such as [Y|A,B]@2")
    fields = _Fields(given["statements"], n="1" if given["total"] else "0", p=given["policy"])
    choice = Choice.of(fields, item.about["domain"])
    job = await site.work(request, tasks.look, item.source, item.stamp, choice, site.settings.quick)
    found = await site.finished(job)
    keys = ("outcome", "reason", "broken", "open", "exact", "risk", "kept", "statements")
    return JSONResponse({key: found[key] for key in keys})


def _plain(one: Any, visitor: Visitor) -> dict[str, Any]:
    """A request as somebody may see it: the verdict is for those who may see counts."""
    judged = (one.judged or {}) if visitor.may("audits") else {}
    plain = one.to_dict()
    return {
        **{key: plain[key] for key in ("number", "statements", "total", "who", "why", "at")},
        "status": one.status,
        "origin": one.origin,
        "batch": one.batch,
        "outcome": outcome_of(one) if judged else None,
        "reason": judged.get("reason"),
        "harmful": list(judged.get("harmful", ())),
        "decided_by": one.decided_by or None,
        "decided_at": one.decided_at or None,
        "decision": one.reason or None,
        "entry": one.entry,
    }


async def requests(request: Request) -> Response:
    """What was asked for, the newest first."""
    site, visitor = site_of(request), visitor_of(request)
    status = request.query_params.get("status") or None
    listed = await run_in_threadpool(ledger_of(site).requests.all, status=status)
    return JSONResponse({"requests": [_plain(one, visitor) for one in visible(listed, visitor)]})


async def submit(request: Request) -> Response:
    """Ask for a release."""
    site, visitor = site_of(request), visitor_of(request)
    visitor.require("own requests")
    given = await _body(
        request, statements=(list, ...), why=(str, ...), total=(bool, True), batch=(str, "")
    )
    await check_room(site, visitor)
    one = await run_in_threadpool(
        ledger_of(site).requests.submit,
        given["statements"],
        why=given["why"],
        who=visitor.name,
        total=given["total"],
        origin="api",
        batch=given["batch"],
    )
    await submit_judging(site, one.number)
    return JSONResponse(_plain(one, visitor), 201)


async def one_request(request: Request) -> Response:
    """One request, and what became of it."""
    return JSONResponse(_plain(await seen_request(request), visitor_of(request)))


async def decision(request: Request) -> Response:
    """Approve or refuse a request."""
    visitor = visitor_of(request)
    visitor.require("decisions")
    given = await _body(request, decision=(str, ...), why=(str, ...))
    if given["decision"] not in ("approve", "refuse"):
        raise HTTPException(400, f"decision {given['decision']!r}; approve or refuse")
    found = await seen_request(request)
    job = await decided(request, found, given["decision"], given["why"])
    await job.wait(2.4 * job.seconds + 10)
    if job.state != "done":
        raise HTTPException(409, job.error or "not decided in time; look again")
    if job.result["said"]:
        raise HTTPException(409, job.result["said"])
    return JSONResponse(_plain(await seen_request(request), visitor))


async def openapi(_: Request) -> Response:
    """What can be asked, as an OpenAPI document."""
    return JSONResponse(document())


TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
TEXTS = {"type": "array", "items": TEXT}
MAYBE = {"type": ["string", "null"]}


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


OUTCOME = {"enum": ["safe", "unsafe", "undecided"]}

SCHEMAS = {
    "Error": _object("error", error=TEXT),
    "Session": _object("token hours", token=TEXT, hours=NUMBER),
    "Tables": _object(
        "tables",
        tables={
            "type": "array",
            "items": _object(
                "table name variables",
                table=TEXT,
                name=TEXT,
                variables={"type": "object", "additionalProperties": {"type": "array"}},
            ),
        },
    ),
    "Verdict": _object(
        "outcome reason broken open exact risk kept statements",
        outcome=OUTCOME,
        reason=TEXT,
        broken=WHOLE,
        open=WHOLE,
        exact=WHOLE,
        risk=NUMBER,
        kept=NUMBER,
        statements=TEXTS,
    ),
    "Request": _object(
        "number statements total who why at status origin batch outcome reason harmful decided_by "
        "decided_at decision entry",
        number=WHOLE,
        statements=TEXTS,
        total={"type": "boolean"},
        who=TEXT,
        why=TEXT,
        at=TEXT,
        status={"enum": ["waiting", "approved", "refused", "withdrawn"]},
        origin=TEXT,
        batch=TEXT,
        outcome={"enum": ["safe", "unsafe", "undecided", None]},
        reason=MAYBE,
        harmful={"type": "array", "items": WHOLE},
        decided_by=MAYBE,
        decided_at=MAYBE,
        decision=MAYBE,
        entry={"type": ["integer", "null"]},
    ),
    "Requests": _object(
        "requests",
        requests={"type": "array", "items": {"$ref": "#/components/schemas/Request"}},
    ),
}

ASKED = {
    "/session": _object("name password", name=TEXT, password=TEXT),
    "/judge": _object(
        "table statements", table=TEXT, statements=TEXTS, total={"type": "boolean"}, policy=TEXT
    ),
    "/requests": _object(
        "statements why", statements=TEXTS, why=TEXT, total={"type": "boolean"}, batch=TEXT
    ),
    "/requests/{number}/decision": _object(
        "decision why", decision={"enum": ["approve", "refuse"]}, why=TEXT
    ),
}
"""What is sent, by address."""

ADDRESSES = (
    ("POST", "/session", session, "Session", 200),
    ("GET", "/tables", tables, "Tables", 200),
    ("POST", "/judge", judge, "Verdict", 200),
    ("GET", "/requests", requests, "Requests", 200),
    ("POST", "/requests", submit, "Request", 201),
    ("GET", "/requests/{number}", one_request, "Request", 200),
    ("POST", "/requests/{number}/decision", decision, "Request", 200),
)
"""Every address: how, where, what answers, of which form, with which status."""


def document() -> dict[str, Any]:
    """The OpenAPI document, made from the addresses that are served."""

    def content(schema: Any) -> dict[str, Any]:
        return {"content": {"application/json": {"schema": schema}}}

    def reference(name: str) -> dict[str, str]:
        return {"$ref": f"#/components/schemas/{name}"}

    paths: dict[str, Any] = {}
    for method, path, answers, name, status in ADDRESSES:
        about: dict[str, Any] = {
            "summary": (answers.__doc__ or "").strip(),
            "responses": {
                str(status): {"description": name, **content(reference(name))},
                "default": {"description": "what is wrong", **content(reference("Error"))},
            },
        }
        if "{number}" in path:
            about["parameters"] = [
                {"name": "number", "in": "path", "required": True, "schema": WHOLE}
            ]
        if (method, path) == ("GET", "/requests"):
            about["parameters"] = [{"name": "status", "in": "query", "schema": TEXT}]
        if method == "POST":
            about["requestBody"] = {"required": True, **content(ASKED[path])}
        if path == "/session":
            about["security"] = []
        paths.setdefault(f"/api/1{path}", {})[method.lower()] = about
    return {
        "openapi": "3.1.0",
        "info": {"title": "cellbounds", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


ROUTES = [
    Route("/api/1/openapi.json", openapi),
    *(
        Route(f"/api/1{path.replace('{number}', '{number:int}')}", answers, methods=[method])
        for method, path, answers, _, _ in ADDRESSES
    ),
]
