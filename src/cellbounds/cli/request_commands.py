"""`ledger` goes on: requests that wait for a decision, and the people who may ask and decide."""

from __future__ import annotations

from pathlib import Path

import click

from cellbounds.cli import options
from cellbounds.cli.ledger_commands import (
    change_options,
    check_written,
    judging,
    ledger,
    opened,
    place_argument,
    signed_options,
    standing,
    subcommand,
    wait_option,
    who_option,
    write_answer,
)
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import write_text
from cellbounds.errors import InvalidInput
from cellbounds.ledger import NotSafe, Request
from cellbounds.runtime.inputs import read_bytes, utf8_text
from cellbounds.text import on_one_line

__all__ = ["ledger"]

ALONE = "nobody is named: the ledger belongs to whoever can open it"

number_argument = click.argument("number", type=options.WHOLE)


def told(request: Request) -> str:
    """A request on one line, which nobody's words can make look like two."""
    what = ", ".join((*request.statements, *(["N"] if request.total else [])))
    text = f"request {request.number} by {request.who}, {request.status}: {what}"
    ended = "" if request.waiting else f" (by {request.decided_by}: {request.reason})"
    return on_one_line(f"{text}{ended}")


@subcommand
@place_argument
@click.argument("statements", nargs=-1, required=True, metavar="RELEASE...")
@option(
    "--version INTEGER",
    "The version of the table that RELEASE is about; the newest unless given.",
    "about",
)
@options.no_total_option
@signed_options
@wait_option
def request(given: Given) -> int:
    """Ask for RELEASE, which waits for somebody to decide.

    Statements, a release file, or tables that another tool wrote (ACRO's folder), each of which is
    a request of its own.
    """
    from cellbounds.statements.published import read_published
    from cellbounds.statements.release_files import read_release

    texts, requests = list(given.statements), opened(given).requests
    signed = {"why": given.why, "who": given.who, "origin": "command line"}
    path = Path(texts[0])
    named = len(texts) == 1 and not texts[0].lstrip().startswith("[") and path.exists()
    if named and path.suffix != ".toml":
        if given.no_total or given.about is not None:
            raise InvalidInput("--no-total and --version are about statements and release files")
        made = requests.submit_tables(read_published(path).tables, batch=path.name, **signed)
    else:
        what = read_release(path) if named else texts
        how = {"total": not given.no_total, "version": given.about}
        made = (requests.submit(what, **how, **signed),)
    entries = "entry" if len(made) == 1 else "entries"
    with standing(f"It is requested in {entries} {', '.join(str(entry.number) for entry in made)}"):
        write_text("".join(f"{told(entry)}\n" for entry in made), None)
    return options.SAFE


@subcommand
@place_argument
@option("--status waiting|approved|refused|withdrawn", "Only these.")
@options.style_option("table|json", "them")
@options.output_option
@wait_option
def requests(given: Given) -> int:
    """Show what was asked for, the newest first, and what became of it."""
    from cellbounds.report.formats import json_text

    check_written(given, given.output)
    listed = opened(given).requests.all(status=given.status)
    if given.style == "json":
        text = json_text({"requests": [waiting.to_dict() for waiting in listed]}, indent=2)
    else:
        text = (
            "".join(f"{told(waiting)}\n  why: {on_one_line(waiting.why)}\n" for waiting in listed)
            or "no requests\n"
        )
    write_text(text, given.output, given.style, private=True)
    return options.SAFE


@subcommand
@place_argument
@number_argument
@option("--approve/--refuse", "Release it if it is safe, or refuse it.", default=None)
@signed_options
@change_options
def decide(given: Given) -> int:
    """Approve or refuse request NUMBER, by somebody who may and did not ask for it.

    It is judged with everything that is out by then; what is not safe is not released, and the
    request goes on waiting.
    """
    from cellbounds.report.formats import json_text

    if given.approve is None:
        raise InvalidInput("neither --approve nor --refuse; say which")
    check_written(given, given.output)
    try:
        with judging(given) as (book, how):
            act = book.requests.approve if given.approve else book.requests.refuse
            done = act(given.number, **how)
    except NotSafe as refused:
        return write_answer(refused.answer, given.style, given.output)
    number = done.entry or done.number
    text = f"{told(done)}\nrecorded as entry {number}\n"
    if given.style == "json":
        text = f"{json_text(done.to_dict(), indent=2)}\n"
    with standing(f"It is {done.status} in entry {number}"):
        write_text(text, given.output, given.style, private=True)
    return options.SAFE


@subcommand
@place_argument
@number_argument
@who_option
@option("--why TEXT", "A reason, for the record.", default="")
@wait_option
def withdraw(given: Given) -> int:
    """Take back request NUMBER; who asked for it can."""
    done = opened(given).requests.withdraw(given.number, who=given.who, why=given.why)
    with standing(f"Request {done.number} is withdrawn"):
        write_text(f"{told(done)}\n", None)
    return options.SAFE


@subcommand
@place_argument
@click.argument("name", required=False)
@option("--roles A,B", "What NAME may do: asks, decides, administers.")
@option(
    "--password-file FILE", "Its first line is the password of NAME; /dev/stdin for standard input."
)
@option("--active/--keep-out", "Let NAME in, or keep them out.", default=None)
@who_option
@option("--why TEXT", "A reason, for the record.", default="")
@wait_option
def people(given: Given) -> int:
    """Show who may use LEDGER; or add NAME, or change their roles, password or access.

    The first one must administer. A ledger without people belongs to whoever can open it.
    """
    book = opened(given).people
    if given.name is None:
        if given.roles or given.password_file or given.active is not None:
            raise InvalidInput(
                "--roles, --password-file and --active are about somebody; give NAME"
            )
        lines = [
            f"{person.name}: {', '.join(sorted(person.roles))}"
            + ("" if person.active else " (kept out)")
            for person in book.all()
        ]
        write_text("".join(f"{line}\n" for line in lines or [ALONE]), None)
        return options.SAFE
    roles = None if given.roles is None else [role.strip() for role in given.roles.split(",")]
    password = None
    if given.password_file is not None:
        text = utf8_text(read_bytes(given.password_file), given.password_file)
        password = text.partition("\n")[0].strip()
    how = {"password": password, "who": given.who, "why": given.why}
    if book.get(given.name) is None:
        if roles is None:
            raise InvalidInput(f"{given.name!r} is new; give --roles, such as asks,decides")
        person = book.add(given.name, roles, **how)
    else:
        person = book.change(given.name, roles=roles, active=given.active, **how)
    with standing(f"{person.name} is recorded"):
        write_text(f"{person.name}: {', '.join(sorted(person.roles))}\n", None)
    return options.SAFE
