"""Coming in and leaving: the link that is good once, logging in, and who may do what."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cellbounds.errors import InvalidInput
from cellbounds.ledger.people import RIGHTS, ROLES
from cellbounds.web.access import checked_form, visitor_of
from cellbounds.web.app import site_of


async def enter(request: Request) -> Response:
    """Exchange the link for a session."""
    site = site_of(request)
    session = site.door.enter(request.query_params.get("token", ""))
    if session is None:
        if request.scope.get("visitor") is not None:
            return RedirectResponse("/", 303)
        return site.page(request, "stranger.html.j2", 401)
    # The page reloads itself from here: a redirect would still count as coming from another
    # site, and the browser would hold the cookie back.
    response = site.page(request, "entered.html.j2")
    return site.door.with_cookie(response, session, request.scope["server"][1])


async def login_page(request: Request) -> Response:
    """Where people of a team log in."""
    site = site_of(request)
    if not site.door.is_team:
        return RedirectResponse("/", 303)
    return site.page(request, "login.html.j2", said="")


async def login(request: Request) -> Response:
    """Log in with a name and a password."""
    site = site_of(request)
    if not site.door.is_team:
        raise InvalidInput("nobody logs in here: open the link that the server printed")
    form = await request.form(max_files=0, max_fields=10)
    name, password = str(form.get("name", "")), str(form.get("password", ""))
    session = await site.door.login(request, name, password)
    if session is None:
        return site.page(request, "login.html.j2", 401, said="The name or the password is wrong.")
    response = RedirectResponse("/", 303)
    return site.door.with_cookie(response, session, request.scope["server"][1])


async def leave(request: Request) -> Response:
    """End the session, and delete what was sent here in it."""
    site, visitor = site_of(request), visitor_of(request)
    await checked_form(request)
    await run_in_threadpool(site.door.leave, visitor)
    site.leave(visitor)
    response: Response = RedirectResponse("/login", 303)
    if not site.door.is_team:
        response = site.page(request, "left.html.j2")
    response.delete_cookie(site.door.cookie_name(request.scope["server"][1]))
    return response


async def people(request: Request) -> Response:
    """Who may do what."""
    site, visitor = site_of(request), visitor_of(request)
    visitor.require("people")
    book = site.door.people
    listed = () if book is None else await run_in_threadpool(book.all)
    return site.page(request, "people.html.j2", people=listed, roles=ROLES, rights=RIGHTS)


async def change_person(request: Request) -> Response:
    """Add somebody, or change roles, a password, or whether he may come."""
    site, visitor = site_of(request), visitor_of(request)
    visitor.require("people")
    form = await checked_form(request)
    book = site.door.people
    if book is None:
        raise InvalidInput(
            "this server is for one user; add people with `cellbounds ledger people`"
        )
    name = str(form.get("name", "")).strip()
    roles = [role for role in ROLES if form.get(f"role.{role}")]
    password, who = str(form.get("password", "")) or None, visitor.name
    if await run_in_threadpool(book.get, name) is None:
        await run_in_threadpool(book.add, name, roles, password=password, who=who)
    else:
        active = bool(form.get("active"))
        await run_in_threadpool(
            book.change, name, roles=roles, active=active, password=password, who=who
        )
    return RedirectResponse("/people", 303)


ROUTES = [
    Route("/enter", enter),
    Route("/login", login_page),
    Route("/login", login, methods=["POST"]),
    Route("/leave", leave, methods=["POST"]),
    Route("/people", people),
    Route("/people", change_person, methods=["POST"]),
]
