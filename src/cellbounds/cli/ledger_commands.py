"""`ledger`: what was released before, and whether something more may follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli import options
from cellbounds.cli.options import Given
from cellbounds.cli.outputs import check_outputs, open_output, say, write_text
from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.ledger import Entry, Ledger, LedgerAnswer
    from cellbounds.statements import Release

__all__ = ["ledger"]

LONGEST = 18
"""Digits of a number of records."""


@click.group(epilog=options.EPILOG)
def ledger() -> None:
    """What was released about a table, and whether something more may follow.

    LEDGER is a file, or a database such as postgresql://user@host/database?ledger=NAME.
    """


subcommand = partial(options.command, group=ledger)

place_argument = click.argument("place", metavar="LEDGER")

wait_option = click.option(
    "--wait",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds to wait for somebody else's commit.",
)

protect_option = click.option(
    "--protect", multiple=True, metavar="A,B", help="The cells of this margin must be safe too."
)

who_option = click.option("--who", help="Who does it; the user who runs this unless given.")

owned_options = options.combined(
    click.option(
        "--table",
        "tables",
        multiple=True,
        type=click.Path(),
        help="The confidential table, unless LEDGER keeps it; once for each version.",
    ),
    options.table_options,
)
"""The confidential table, once for each version."""

work_options = options.combined(
    options.effort_options("what is not settled by then is undecided"),
    wait_option,
    click.option(
        "--confirm-time",
        is_flag=True,
        help="The clock is right, though it is behind the last entry of LEDGER.",
    ),
)
"""Budget, workers, and patience with others."""

signed_options = options.combined(
    who_option, click.option("--why", required=True, help="The reason, for the record.")
)
"""Who does it, and why."""

release_options = options.combined(
    place_argument,
    click.argument("statements", nargs=-1, required=True, metavar="RELEASE..."),
    click.option(
        "--version",
        "about",
        type=options.WHOLE,
        help="The version of the table that RELEASE is about; the newest unless given.",
    ),
    owned_options,
    options.publishing_options,
    options.knows_option,
    work_options,
)
"""Where the ledger is, and the release that is judged."""

answer_options = options.combined(
    options.style_option("table", "json", what="it"), options.output_option
)

change_options = options.combined(owned_options, work_options, answer_options)
"""The table, and how the answer to a change is worked out and written."""


def check_written(given: Given, output: str | None, *inputs: str | None) -> None:
    """Refuse, before any work, an output that cannot be opened or would replace an input."""
    from cellbounds.ledger.locations import Place

    file = Place.of(given.place).file
    tables = getattr(given, "tables", ())
    check_outputs([output], [None if file is None else str(file), *tables, *inputs])
    if output is not None:
        open_output(output)


def answering(
    *inputs: str,
) -> Callable[[Callable[[Given], LedgerAnswer | None]], Callable[..., int]]:
    """A command that returns an answer, which is written; its verdict is the exit status.

    `inputs` are the options with further files that are read.
    """

    def decorate(function: Callable[[Given], LedgerAnswer | None]) -> Callable[[Given], int]:
        @wraps(function)
        def answered(given: Given) -> int:
            check_written(given, given.output, *(getattr(given, name) for name in inputs))
            answer = function(given)
            return (
                options.SAFE if answer is None else write_answer(answer, given.style, given.output)
            )

        return answered

    return decorate


def write_answer(answer: LedgerAnswer, style: str, output: str | None) -> int:
    """Write an answer to a file or the terminal; its verdict as the exit status."""
    with recorded(answer.entry):
        write_result(answer, style, output)
    return options.STATUSES[answer.verdict.value]


def write_result(result: Any, style: str, output: str | None) -> None:
    """Write what has plain values, and a text for people."""
    from cellbounds.report.formats import json_text

    text = json_text(result.to_dict(), indent=2) if style == "json" else f"{result}\n"
    write_text(text, output, style)


def write_lines(entry: Entry, *lines: str) -> int:
    """Write what there is to say about an entry that was recorded."""
    with recorded(entry):
        write_text("".join(f"{line}\n" for line in lines), None)
    return options.SAFE


@contextmanager
def recorded(entry: Entry | None) -> Iterator[None]:
    """Write what there is to say about an entry: it stands, whether or not that can be written."""
    try:
        yield
    except InvalidInput as problem:
        if entry is None:
            raise
        say(f"warning: {problem}. It is {entry.kind} in entry {entry.number}")


def opened(given: Given, *, confirm_time: bool = False) -> Ledger:
    """The ledger."""
    from cellbounds.ledger import Ledger

    return Ledger.open(given.place, wait=given.wait, confirm_time=confirm_time)


@contextmanager
def judging(given: Given) -> Iterator[tuple[Ledger, dict[str, Any]]]:
    """The ledger, and the tables and the effort that go into judging."""
    from cellbounds.runtime.progress import Progress

    book = opened(given, confirm_time=given.confirm_time)
    with Progress("reading the table") as progress, options.budgeted(given, progress) as budget:
        tables = [options.read_owned(path, given) for path in given.tables]
        progress.say("judging")
        yield book, {"table": tables or None, "budget": budget}


@contextmanager
def judging_release(
    given: Given,
) -> Iterator[tuple[Ledger, Release | list[str], dict[str, Any]]]:
    """The same, and the release that is judged."""
    with judging(given) as (book, how):
        about = given.about or book.state().versions
        table = book.table(how["table"], version=about)
        if table is None:
            release: Release | list[str] = list(given.statements)
            domain = book.state().domain
        else:
            release, domain = options.combine(table, given.statements, given), table.domain
        knows = options.read_knowledge(given.knows, domain)
        yield book, release, {**how, "version": about, "knows": knows}


def margins_of(texts: Iterable[str]) -> list[list[str]]:
    """The margins of ``--protect``."""
    return [options.names_of(text, "--protect") or [] for text in texts]


@subcommand
@place_argument
@owned_options
@options.policy_options
@protect_option
@click.option("--keep-table", is_flag=True, help="Keep the table in LEDGER itself.")
@who_option
@click.option("--why", default="", help="A reason, for the record.")
@wait_option
def init(given: Given) -> int:
    """Make a new ledger for a confidential table."""
    from cellbounds.ledger import Ledger

    if len(given.tables) != 1:
        raise InvalidInput(f"{len(given.tables)} tables; give --table once, the confidential table")
    ledger_made = Ledger.create(
        given.place,
        options.read_owned(given.tables[0], given),
        given.policy,
        independent=given.independent,
        protect=margins_of(given.protect),
        keep_table=given.keep_table,
        who=given.who,
        why=given.why,
        wait=given.wait,
    )
    entry = ledger_made.history()[0]
    return write_lines(entry, f"a ledger with 1 entry; head {entry.hash}")


@subcommand
@release_options
@click.option("--record", is_flag=True, help="Record the question and its verdict.")
@click.option("--who", help="Who asks; the user who runs this unless given.")
@click.option("--why", default="", help="A reason, for the record.")
@answer_options
def ask(given: Given) -> int:
    """Judge RELEASE together with everything that was committed; nothing is published."""
    check_written(given, given.output, *given.statements, *given.knows)
    with judging_release(given) as (book, release, how):
        answer = book.ask(release, record=given.record, who=given.who, why=given.why, **how)
    return write_answer(answer, given.style, given.output)


@subcommand
@release_options
@signed_options
@click.option("--record", is_flag=True, help="If it is not safe, record that it was refused.")
@click.option("--already-out", is_flag=True, help="It was published before: record it.")
@click.option(
    "--write",
    "written",
    type=options.FILE,
    metavar="FILE",
    help="Write what was released to this release file (.toml).",
)
def commit(given: Given) -> int:
    """Judge RELEASE, and record it as released if it is safe with all that is out.

    What is out already with the same figures is not recorded again; --write writes it.
    """
    from cellbounds.ledger import NotSafe
    from cellbounds.statements.release_files import write_release

    check_written(given, given.written, *given.statements, *given.knows)
    signed = {"who": given.who, "why": given.why, "record": given.record}
    try:
        with judging_release(given) as (book, release, how):
            entry = book.commit(release, already_out=given.already_out, **signed, **how)
    except NotSafe as refused:
        return write_answer(refused.answer, "table", None)
    if given.written is not None and entry.release is not None:
        with recorded(entry):
            write_release(entry.release, given.written)
    said = f"entry {entry.number} released", ", ".join(entry.statements)
    if entry.repeated:
        return write_lines(entry, " already: ".join(said), entry.said)
    verdict = f"verdict on everything that is out: {str(entry.outcome).upper()}"
    return write_lines(entry, ": ".join(said), verdict, f"head {entry.hash}")


@subcommand
@release_options
@signed_options
def refuse(given: Given) -> int:
    """Record that RELEASE was refused, with the verdict on it but without its figures."""
    with judging_release(given) as (book, release, how):
        entry = book.refuse(release, who=given.who, why=given.why, **how)
    then = " already" if entry.repeated else ""
    outcome = f"{', '.join(entry.statements)} ({str(entry.outcome).upper()})"
    lines = [f"entry {entry.number} refused{then}: {outcome}"]
    return write_lines(entry, *lines, *([entry.said] if entry.repeated else []))


@subcommand
@place_argument
@click.option("--policy", metavar="NAME|FILE", help="Judge by this profile or policy file.")
@click.option(
    "--independent/--with-counts",
    default=None,
    help="Judge without the true counts: every consistent table must pass.",
)
@protect_option
@who_option
@click.option("--why", default="", help="The reason, for the record.")
@change_options
@answering("policy")
def policy(given: Given) -> LedgerAnswer | None:
    """Show the policy; or change it with --policy, --protect, and judge what is out again."""
    with judging(given) as (book, how):
        if given.policy is None and given.independent is None and not given.protect:
            write_result(book.state().policy, given.style, given.output)
            return None
        return book.set_policy(
            given.policy,
            independent=given.independent,
            protect=margins_of(given.protect),
            who=given.who,
            why=given.why,
            **how,
        )


@subcommand
@place_argument
@signed_options
@change_options
@answering()
def refine(given: Given) -> LedgerAnswer:
    """Go on with a table of more variables, whose margin is the table of LEDGER."""
    with judging(given) as (book, how):
        return book.refine(how.pop("table"), who=given.who, why=given.why, **how)


@subcommand
@place_argument
@click.argument("later", type=click.Path())
@signed_options
@change_options
@answering("later")
def grow(given: Given) -> LedgerAnswer:
    """Go on with LATER, a version of the table to which records were added.

    --table gives the earlier versions, unless LEDGER keeps them.
    """
    later = options.read_owned(given.later, given)
    with judging(given) as (book, how):
        earlier = how.pop("table")
        return book.grow(later, earlier=earlier, who=given.who, why=given.why, **how)


@subcommand
@place_argument
@click.argument("later", type=click.Path())
@click.option("--removed", metavar="N|N-M", help="So many records were removed, as is known.")
@click.option("--added", metavar="N|N-M", help="So many records were added, as is known.")
@signed_options
@change_options
@answering("later")
def revise(given: Given) -> LedgerAnswer:
    """Go on with LATER, a version from which records were removed, or in which they moved.

    --table gives the earlier versions, unless LEDGER keeps them. Unless --removed and --added say
    how many records an intruder knows to be concerned (one that moved is removed and added), he is
    taken to know nothing about it: everybody may have been exchanged.
    """
    removed, added = _between(given.removed, "--removed"), _between(given.added, "--added")
    later = options.read_owned(given.later, given)
    with judging(given) as (book, how):
        how |= {"earlier": how.pop("table"), "removed": removed, "added": added}
        return book.revise(later, who=given.who, why=given.why, **how)


def _between(text: str | None, name: str) -> tuple[int, int] | None:
    """A number, or two with a hyphen."""
    if text is None:
        return None
    low, hyphen, high = text.partition("-")
    numbers = (low, high) if hyphen else (low,)
    if not all(number.strip().isdecimal() and len(number) <= LONGEST for number in numbers):
        raise InvalidInput(f"{name} {text!r}; give a number of records, or two such as 2-5")
    return int(low), int(high if hyphen else low)


@subcommand
@place_argument
@wait_option
@click.option("--public", is_flag=True, help="For html: only what outsiders may see.")
@click.option(
    "--seconds",
    type=float,
    default=60.0,
    show_default=True,
    help="For html: budget for what could be worked out after each release.",
)
@owned_options
@options.style_option("table", "json", "csv", "html", what="it")
@options.output_option
def history(given: Given) -> int:
    """Show every entry, for the owner; `export` makes the history that outsiders may see.

    As html it is a page with what could be worked out after each release; --table adds the counts.
    """
    from cellbounds.ledger.history import history_csv, history_text
    from cellbounds.report.formats import json_text
    from cellbounds.report.ledger_page import ledger_page

    if given.style != "html" and (given.public or given.tables):
        raise InvalidInput(
            f"--format {given.style} with --public or --table; they are for --format html "
            "(`export` writes the public history as JSON)"
        )
    check_written(given, given.output)
    book = opened(given)
    if given.style == "html":
        tables = [options.read_owned(path, given) for path in given.tables] or None
        text = ledger_page(book, table=tables, public=given.public, seconds=given.seconds)
    elif given.style == "json":
        text = json_text(book.export(public=False), indent=2)
    else:
        entries = book.history()
        text = history_csv(entries) if given.style == "csv" else f"{history_text(entries)}\n"
    write_text(text, given.output, given.style)
    return options.SAFE


@subcommand
@place_argument
@wait_option
@click.option("--internal", is_flag=True, help="Everything, for the owner.")
@options.output_option
def export(given: Given) -> int:
    """Write the history as JSON: without --internal, what outsiders may see."""
    from cellbounds.report.formats import json_text

    check_written(given, given.output)
    exported = opened(given).export(public=not given.internal)
    write_text(json_text(exported, indent=2), given.output, "json")
    return options.SAFE


@subcommand
@place_argument
@click.argument("statements", nargs=-1, metavar="[STATEMENT...]")
@click.option(
    "--way", type=options.WHOLE, help="Margins of up to so many variables; all unless given."
)
@click.option(
    "--digits", type=options.WHOLE, default=2, show_default=True, help="Decimals of rates."
)
@options.no_total_option
@click.option("--sets", is_flag=True, help="Also which of them may be released together.")
@change_options
def frontier(given: Given) -> int:
    """Show which margins and rates may still be released, one at a time, and which never again."""
    check_written(given, given.output, *given.statements)
    with judging(given) as (book, how):
        found = book.frontier(
            list(given.statements) or None,
            way=given.way,
            digits=given.digits,
            total=not given.no_total,
            sets=given.sets,
            **how,
        )
    write_result(found, given.style, given.output)
    return options.SAFE if found.safe else options.UNDECIDED if found.undecided else options.UNSAFE


@subcommand
@place_argument
@wait_option
@click.option("--head", help="The hash of the last entry, as it was noted elsewhere.")
@click.option(
    "--entries", type=options.WHOLE, help="How many entries there were then, if that was noted."
)
@options.style_option("table", "json", what="it")
def verify(given: Given) -> int:
    """Check every link of the chain, its head against a copy, and the database's triggers."""
    found = opened(given).verify(head=given.head, entries=given.entries)
    write_result(found, given.style, None)
    return options.SAFE if found.intact else options.UNSAFE
