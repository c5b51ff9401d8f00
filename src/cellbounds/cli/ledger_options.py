"""What the commands of `ledger` share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli.options import (
    SAFE,
    UNDECIDED,
    UNSAFE,
    WHOLE,
    Decorated,
    combine,
    decorated,
    knows_option,
    publishing_options,
    read_knowledge,
)
from cellbounds.cli.outputs import check_outputs, open_output, say, write_text
from cellbounds.cli.reading import read_owned, table_options
from cellbounds.cli.working import effort_options, workers
from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.ledger import Answer, Entry, Ledger
    from cellbounds.statements import Release

__all__ = [
    "CODES",
    "asking",
    "check_written",
    "independent_option",
    "json_text",
    "output_option",
    "owned_options",
    "place_argument",
    "policy_option",
    "protect_option",
    "question_options",
    "recorded",
    "signed_options",
    "style_option",
    "wait_option",
    "work_options",
    "working",
    "write_answer",
]

Option = Callable[[Decorated], Decorated]

CODES = {"safe": SAFE, "unsafe": UNSAFE, "undecided": UNDECIDED}

place_argument = click.argument("place", metavar="LEDGER")

wait_option = click.option(
    "--wait",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds to wait for somebody else's commit.",
)

output_option = click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write to this file."
)

policy_option = click.option(
    "--policy", metavar="NAME|FILE", help="Judge by this profile or policy file."
)

protect_option = click.option(
    "--protect", multiple=True, metavar="A,B", help="The cells of this margin must be safe too."
)

independent_option = click.option(
    "--independent/--with-counts",
    default=None,
    help="Judge without the true counts: every consistent table must pass.",
)


def style_option(*styles: str) -> Option:
    """How to write the answer."""
    return click.option(
        "--format", "style", type=click.Choice(styles), default="table", help="How to write it."
    )


def owned_options(function: Decorated) -> Decorated:
    """The confidential table, once for each version."""
    return decorated(
        function,
        [
            click.option(
                "--table",
                "tables",
                multiple=True,
                type=click.Path(),
                help="The confidential table, unless LEDGER keeps it; once for each version.",
            ),
            table_options,
        ],
    )


def work_options(function: Decorated) -> Decorated:
    """Budget, workers, and patience with others."""
    return decorated(
        function,
        [
            effort_options("what is not settled by then is undecided"),
            wait_option,
            click.option(
                "--confirm-time",
                is_flag=True,
                help="The clock is right, though it is behind the last entry of LEDGER.",
            ),
        ],
    )


def signed_options(function: Decorated) -> Decorated:
    """Who does it, and why."""
    return decorated(
        function,
        [
            click.option("--who", help="Who does it; the user who runs this unless given."),
            click.option("--why", required=True, help="The reason, for the record."),
        ],
    )


def question_options(function: Decorated) -> Decorated:
    """Where the ledger is, and what is asked about."""
    return decorated(
        function,
        [
            place_argument,
            click.argument("statements", nargs=-1, required=True, metavar="RELEASE..."),
            click.option(
                "--version",
                "about",
                type=WHOLE,
                help="The version of the table that RELEASE is about; the newest unless given.",
            ),
            owned_options,
            publishing_options,
            knows_option,
            work_options,
        ],
    )


def check_written(
    output: str | None, place: str, tables: tuple[str, ...] = (), *inputs: str | None
) -> None:
    """Refuse, before any work, an output that cannot be opened or would replace an input."""
    from cellbounds.ledger.locations import Place

    file = Place.of(place).file
    check_outputs([output], [None if file is None else str(file), *tables, *inputs])
    if output is not None:
        open_output(output)


def json_text(values: dict[str, Any]) -> str:
    """Plain values as JSON."""
    return json.dumps(values, ensure_ascii=False, indent=2) + "\n"


def write_answer(answer: Answer, style: str, output: str | None) -> None:
    """Write an answer to a file or the terminal."""
    with recorded(answer.entry):
        text = json_text(answer.to_dict()) if style == "json" else f"{answer}\n"
        write_text(text, output, style)


@contextmanager
def recorded(entry: Entry | None) -> Iterator[None]:
    """Write what there is to say about an entry: it stands, whether or not that can be written."""
    try:
        yield
    except InvalidInput as problem:
        if entry is None:
            raise
        say(f"warning: {problem}. It is {entry.kind} in entry {entry.number}")


@contextmanager
def working(place: str, options: dict[str, Any]) -> Iterator[tuple[Ledger, dict[str, Any]]]:
    """The ledger, and the tables and the effort that go into judging."""
    from cellbounds.ledger import Ledger
    from cellbounds.runtime.progress import Progress

    book = Ledger.open(place, wait=options["wait"], confirm_time=options["confirm_time"])
    with Progress("reading the table") as progress, workers(options) as executor:
        tables = [read_owned(path, options) for path in options["tables"]]
        progress.say("judging")
        how = {
            "table": tables or None,
            "seconds": options["seconds"],
            "executor": executor,
            "progress": progress.step,
        }
        yield book, how


@contextmanager
def asking(
    place: str, statements: tuple[str, ...], options: dict[str, Any]
) -> Iterator[tuple[Ledger, Release | list[str], dict[str, Any]]]:
    """The same, and the release that is asked about."""
    with working(place, options) as (book, how):
        about = options["about"] or book.state().versions
        owned = book.table(how["table"], version=about)
        made = list(statements) if owned is None else combine(owned, statements, options)
        domain = book.state().domain if owned is None else owned.domain
        knows = read_knowledge(options["knows"], domain)
        yield book, made, {**how, "version": about, "knows": knows}
