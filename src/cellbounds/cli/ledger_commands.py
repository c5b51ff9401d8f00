"""`ledger`: what was released before, and whether something more may follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli import options
from cellbounds.cli.intruders import policy_given, read_knowledge
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import check_outputs, open_output, say, write_plain, write_text
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import Budget, stopped_late

if TYPE_CHECKING:
    from cellbounds.data.table import Table
    from cellbounds.ledger import Entry, Ledger, LedgerAnswer
    from cellbounds.statements import Release


@click.group(cls=options.ListedGroup, epilog=options.EPILOG)
def ledger() -> None:
    """What was released about a table, and whether something more may follow.

    LEDGER is a file, or a database such as postgresql://user@host/database?ledger=NAME.
    """


subcommand = partial(options.command, group=ledger)

place_argument = click.argument("place", metavar="LEDGER")

wait_option = option("--wait FLOAT", "Seconds to wait for somebody else's commit.", default=60.0)

protect_option = option(
    "--protect A,B", "The cells of this margin must be safe too.", multiple=True
)

who_option = option("--who TEXT", "Who does it; the user who runs this unless given.")

owned_options = options.combined(
    option(
        "--table PATH",
        "The confidential table, unless LEDGER keeps it; once for each version.",
        "tables",
        multiple=True,
    ),
    options.table_options,
)
"""The confidential table, once for each version."""

work_options = options.combined(
    options.effort_options("what is not settled by then is undecided"),
    wait_option,
    option("--confirm-time", "The clock is right, though it is behind the last entry of LEDGER."),
)
"""Budget, workers, and patience with others."""

signed_options = options.combined(
    who_option, option("--why TEXT", "The reason, for the record.", required=True)
)
"""Who does it, and why."""

release_options = options.combined(
    place_argument,
    click.argument("statements", nargs=-1, required=True, metavar="RELEASE..."),
    option(
        "--version INTEGER",
        "The version of the table that RELEASE is about; the newest unless given.",
        "about",
    ),
    owned_options,
    options.publishing_options,
    options.knows_option,
    options.intruder_option,
    work_options,
)
"""Where the ledger is, and the release that is judged."""

answer_options = options.combined(options.style_option("table|json", "it"), options.output_option)

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


def write_answer(answer: LedgerAnswer, style: str, output: str | None) -> int:
    """Write an answer to a file or the terminal; its verdict as the exit status."""
    with recorded(answer.entry):
        write_plain(answer, style, output, private=True)
    return options.STATUSES[answer.outcome.value]


def write_lines(entry: Entry, *lines: str) -> int:
    """Write what there is to say about an entry that was recorded."""
    with recorded(entry):
        write_text("".join(f"{line}\n" for line in lines), None)
    return options.SAFE


def recorded(entry: Entry | None) -> AbstractContextManager[None]:
    """Write what there is to say about an entry, if there is one: it stands."""
    return standing("" if entry is None else f"It is {entry.kind} in entry {entry.number}")


@contextmanager
def standing(what: str) -> Iterator[None]:
    """Write what there is to say about what was done: it stands, whether or not that is written."""
    try:
        yield
    except InvalidInput as problem:
        if not what:
            raise
        say(f"warning: {problem}. {what}")


def opened(given: Given, *, confirm_time: bool = False) -> Ledger:
    """The ledger."""
    from cellbounds.ledger import Ledger

    return Ledger.open(given.place, wait=given.wait, confirm_time=confirm_time)


@contextmanager
def judging(given: Given) -> Iterator[tuple[Ledger, dict[str, Any]]]:
    """The ledger, and what goes into judging: who and why, the tables, and the effort."""
    book = opened(given, confirm_time=given.confirm_time)
    signed = {name: value for name, value in vars(given).items() if name in ("who", "why")}
    with options.working(given, "reading the table") as (progress, budget):
        with stopped_late(budget):
            tables = [options.read_owned(path, given) for path in given.tables]
        progress.say("judging")
        yield book, {"table": tables or None, "budget": budget, **signed}


@contextmanager
def judging_release(
    given: Given,
) -> Iterator[tuple[Ledger, Release | list[str], dict[str, Any]]]:
    """The same, and the release that is judged."""
    from cellbounds.disclosure.policies import Intruder
    from cellbounds.statements.release_files import read_release

    with judging(given) as (book, how):
        with stopped_late(how["budget"]):
            about = given.about or book.state().versions
            table = book.table(how["table"], version=about)
            if table is None:
                texts = list(given.statements)
                release: Release | list[str] = texts
                if len(texts) == 1 and Path(texts[0]).is_file():
                    release = read_release(texts[0], allow_outside=given.allow_outside)
                domain = book.state().domain
            else:
                release, domain = options.combine(table, given.statements, given), table.domain
            knows = read_knowledge(given, domain)
        intruder = Intruder.read(given.intruder)
        yield book, release, {**how, "version": about, "knows": knows, "intruder": intruder}


def changed(given: Given, change: Callable[..., LedgerAnswer], *inputs: str) -> int:
    """Change the ledger, and write the answer about what is out.

    `change` gets the ledger, the tables that were given, and the other arguments; `inputs` are
    further files that it reads.
    """
    check_written(given, given.output, *inputs)
    with judging(given) as (book, how):
        answer = change(book, how.pop("table"), **how)
    return write_answer(answer, given.style, given.output)


def margins_of(texts: Iterable[str]) -> list[list[str]]:
    """The margins of ``--protect``."""
    return [options.names_of(text, "--protect") or [] for text in texts]


@subcommand
@place_argument
@owned_options
@options.choice_options
@protect_option
@option("--keep-table", "Keep the table in LEDGER itself.")
@who_option
@option("--why TEXT", "A reason, for the record.", default="")
@wait_option
def init(given: Given) -> int:
    """Make a new ledger for a confidential table."""
    from cellbounds.ledger import Ledger

    if len(given.tables) != 1:
        raise InvalidInput(f"{len(given.tables)} tables; give --table once, the confidential table")
    ledger_made = Ledger.create(
        given.place,
        options.read_owned(given.tables[0], given),
        policy_given(given),
        independent=given.independent,
        protect=margins_of(given.protect),
        keep_table=given.keep_table,
        who=given.who,
        why=given.why,
        wait=given.wait,
    )
    entry = ledger_made.history()[0]
    return write_lines(entry, "a ledger with 1 entry", f"head {entry.hash}")


@subcommand
@release_options
@option("--record", "Record the question and its verdict.")
@option("--who TEXT", "Who asks; the user who runs this unless given.")
@option("--why TEXT", "A reason, for the record.", default="")
@answer_options
def ask(given: Given) -> int:
    """Judge RELEASE together with everything that was committed; nothing is published."""
    check_written(given, given.output, *given.statements, *given.knows)
    with judging_release(given) as (book, release, how):
        answer = book.ask(release, record=given.record, **how)
    return write_answer(answer, given.style, given.output)


@subcommand
@release_options
@signed_options
@option("--record", "If it is not safe, record that it was refused.")
@option("--already-out", "It was published before: record it.")
@option("--write FILE", "Write what was released to this release file (.toml).", "written")
def commit(given: Given) -> int:
    """Judge RELEASE, and record it as released if it is safe with all that is out.

    What is out already with the same figures is not recorded again; --write writes it.
    """
    from cellbounds.ledger import NotSafe

    check_written(given, given.written, *given.statements, *given.knows)
    try:
        with judging_release(given) as (book, release, how):
            how |= {"already_out": given.already_out, "record": given.record}
            entry = book.commit(release, **how)
    except NotSafe as refused:
        return write_answer(refused.answer, "table", None)
    if given.written is not None and entry.release is not None:
        with recorded(entry):
            entry.release.write(given.written)
    released = f"entry {entry.number} released", ", ".join(entry.statements)
    if entry.repeated:
        return write_lines(entry, " already: ".join(released), entry.said)
    verdict = f"verdict on everything that is out: {str(entry.outcome).upper()}"
    return write_lines(entry, ": ".join(released), verdict, f"head {entry.hash}")


@subcommand
@release_options
@signed_options
def refuse(given: Given) -> int:
    """Record that RELEASE was refused, with the verdict on it but without its figures."""
    with judging_release(given) as (book, release, how):
        entry = book.refuse(release, **how)
    then = " already" if entry.repeated else ""
    outcome = f"{', '.join(entry.statements)} ({str(entry.outcome).upper()})"
    lines = [f"entry {entry.number} refused{then}: {outcome}"]
    return write_lines(entry, *lines, *([entry.said] if entry.repeated else []))


@subcommand
@place_argument
@option("--policy NAME|FILE", "Judge by this profile or policy file.")
@option("--independent/--with-counts", options.WITH_COUNTS, default=None)
@protect_option
@who_option
@option("--why TEXT", "The reason, for the record.", default="")
@change_options
def policy(given: Given) -> int:
    """Show the policy; or change it with --policy, --protect, and judge what is out again."""
    check_written(given, given.output, given.policy)
    with judging(given) as (book, how):
        if given.policy is None and given.independent is None and not given.protect:
            write_plain(book.state().policy, given.style, given.output)
            return options.SAFE
        how |= {"independent": given.independent, "protect": margins_of(given.protect)}
        answer = book.set_policy(given.policy, **how)
    return write_answer(answer, given.style, given.output)


@subcommand
@place_argument
@signed_options
@change_options
def refine(given: Given) -> int:
    """Go on with a table of more variables, whose margin is the table of LEDGER."""
    return changed(given, lambda book, tables, **how: book.refine(tables, **how))


@subcommand
@place_argument
@click.argument("later", type=click.Path())
@signed_options
@change_options
def grow(given: Given) -> int:
    """Go on with LATER, a version of the table to which records were added.

    --table gives the earlier versions, unless LEDGER keeps them.
    """

    def change(book: Ledger, earlier: Any, **how: Any) -> LedgerAnswer:
        return book.grow(_later(given, how["budget"]), earlier=earlier, **how)

    return changed(given, change, given.later)


@subcommand
@place_argument
@click.argument("later", type=click.Path())
@option("--removed N|N-M", "So many records were removed, as is known.")
@option("--added N|N-M", "So many records were added, as is known.")
@signed_options
@change_options
def revise(given: Given) -> int:
    """Go on with LATER, a version from which records were removed, or in which they moved.

    --table gives the earlier versions, unless LEDGER keeps them. Unless --removed and --added say
    how many records an intruder knows to be concerned (one that moved is removed and added), he is
    taken to know nothing about it: everybody may have been exchanged.
    """
    removed, added = _between(given.removed, "--removed"), _between(given.added, "--added")

    def change(book: Ledger, earlier: Any, **how: Any) -> LedgerAnswer:
        later = _later(given, how["budget"])
        return book.revise(later, earlier=earlier, removed=removed, added=added, **how)

    return changed(given, change, given.later)


def _later(given: Given, budget: Budget) -> Table:
    """The later version of the table."""
    with stopped_late(budget):
        return options.read_owned(given.later, given)


def _between(text: str | None, name: str) -> tuple[int, int] | None:
    """A number, or two with a hyphen."""
    if text is None:
        return None
    span = options.span_of(text)
    if span is None:
        raise InvalidInput(f"{name} {text!r}; give a number of records, or two such as 2-5")
    return span


@subcommand
@place_argument
@wait_option
@option("--public", "For html: only what outsiders may see.")
@option(
    "--seconds FLOAT",
    "For html: budget for what could be worked out after each release.",
    default=60.0,
)
@owned_options
@options.style_option("table|json|csv|html", "it")
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
    write_text(text, given.output, given.style, private=not given.public)
    return options.SAFE


@subcommand
@place_argument
@wait_option
@option("--internal", "Everything, for the owner.")
@options.output_option
def export(given: Given) -> int:
    """Write the history as JSON: without --internal, what outsiders may see."""
    from cellbounds.report.formats import json_text

    check_written(given, given.output)
    exported = opened(given).export(public=not given.internal)
    write_text(json_text(exported, indent=2), given.output, "json", private=given.internal)
    return options.SAFE


@subcommand
@place_argument
@click.argument("statements", nargs=-1, metavar="[STATEMENT...]")
@option("--way INTEGER", "Margins of up to so many variables; all unless given.")
@option("--digits INTEGER", "Decimals of rates.", default=2)
@options.no_total_option
@option("--sets", "Also which of them may be released together.")
@change_options
def frontier(given: Given) -> int:
    """Show which margins and rates may still be released, one at a time, and which never again."""
    check_written(given, given.output, *given.statements)
    with judging(given) as (book, how):
        how |= {"way": given.way, "digits": given.digits, "sets": given.sets}
        result = book.frontier(list(given.statements) or None, total=not given.no_total, **how)
    write_plain(result, given.style, given.output, private=True)
    if result.safe:
        return options.SAFE
    return options.UNDECIDED if result.undecided else options.UNSAFE


@subcommand
@place_argument
@wait_option
@option("--head TEXT", "The hash of the last entry, as it was noted elsewhere.")
@option("--entries INTEGER", "How many entries there were then, if that was noted.")
@options.style_option("table|json", "it")
def verify(given: Given) -> int:
    """Check every link of the chain, its head against a copy, and the database's triggers."""
    check = opened(given).verify(head=given.head, entries=given.entries)
    write_plain(check, given.style, None)
    return options.SAFE if check.intact else options.UNSAFE
