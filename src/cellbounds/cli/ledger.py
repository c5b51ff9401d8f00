"""`ledger`: what was released before, and whether something more may follow."""

from __future__ import annotations

from typing import Any

import click

from cellbounds.cli.ledger_changes import CHANGES
from cellbounds.cli.ledger_options import (
    CODES,
    asking,
    check_written,
    json_text,
    output_option,
    owned_options,
    place_argument,
    protect_option,
    question_options,
    recorded,
    signed_options,
    style_option,
    wait_option,
    work_options,
    working,
    write_answer,
)
from cellbounds.cli.options import EPILOG, SAFE, UNDECIDED, UNSAFE, WHOLE, names_of, policy_options
from cellbounds.cli.outputs import write_text
from cellbounds.cli.reading import read_owned
from cellbounds.errors import InvalidInput

__all__ = ["ledger"]


@click.group(epilog=EPILOG)
def ledger() -> None:
    """What was released about a table, and whether something more may follow.

    LEDGER is a file, or a database such as postgresql://user@host/database?ledger=NAME.
    """


for command in CHANGES:
    ledger.add_command(command)


@ledger.command(epilog=EPILOG)
@place_argument
@owned_options
@policy_options
@protect_option
@click.option("--keep-table", is_flag=True, help="Keep the table in LEDGER itself.")
@click.option("--who", help="Who does it; the user who runs this unless given.")
@click.option("--why", default="", help="A reason, for the record.")
@wait_option
def init(
    place: str,
    tables: tuple[str, ...],
    policy: str,
    independent: bool,
    protect: tuple[str, ...],
    keep_table: bool,
    who: str | None,
    why: str,
    wait: float,
    **options: Any,
) -> int:
    """Make a new ledger for a confidential table."""
    from cellbounds.ledger import Ledger

    if len(tables) != 1:
        raise InvalidInput(f"{len(tables)} tables; give --table once, the confidential table")
    made = Ledger.create(
        place,
        read_owned(tables[0], options),
        policy,
        independent=independent,
        protect=[names_of(one, "--protect") or () for one in protect],
        keep_table=keep_table,
        who=who,
        why=why,
        wait=wait,
    )
    entry = made.history()[0]
    with recorded(entry):
        write_text(f"a ledger with 1 entry; head {entry.hash}\n", None)
    return SAFE


@ledger.command(epilog=EPILOG)
@question_options
@click.option("--record", is_flag=True, help="Record the question and its verdict.")
@click.option("--who", help="Who asks; the user who runs this unless given.")
@click.option("--why", default="", help="A reason, for the record.")
@style_option("table", "json")
@output_option
def ask(
    place: str,
    statements: tuple[str, ...],
    record: bool,
    who: str | None,
    why: str,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Judge RELEASE together with everything that was committed; nothing is published."""
    check_written(output, place, options["tables"], *statements, *options["knows"])
    with asking(place, statements, options) as (book, made, how):
        answer = book.ask(made, record=record, who=who, why=why, **how)
    write_answer(answer, style, output)
    return CODES[answer.verdict.value]


@ledger.command(epilog=EPILOG)
@question_options
@signed_options
@click.option("--record", is_flag=True, help="If it is not safe, record that it was refused.")
@click.option("--already-out", is_flag=True, help="It was published before: record it.")
@click.option(
    "--write",
    "written",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write what was released to this release file (.toml).",
)
def commit(
    place: str,
    statements: tuple[str, ...],
    who: str | None,
    why: str,
    record: bool,
    already_out: bool,
    written: str | None,
    **options: Any,
) -> int:
    """Judge RELEASE, and record it as released if it is safe with all that is out.

    What is out already with the same figures is not recorded again; --write writes it.
    """
    from cellbounds.ledger import NotSafe
    from cellbounds.statements.files import write_release

    check_written(written, place, options["tables"], *statements, *options["knows"])
    try:
        with asking(place, statements, options) as (book, made, how):
            entry = book.commit(
                made, who=who, why=why, record=record, already_out=already_out, **how
            )
    except NotSafe as refused:
        write_answer(refused.answer, "table", None)
        return CODES[refused.answer.verdict.value]
    if written is not None and entry.release is not None:
        with recorded(entry):
            write_release(entry.release, written)
    then = " already" if entry.repeated else ""
    lines = [
        f"entry {entry.number} released{then}: {', '.join(entry.statements)}",
        f"verdict on everything that is out: {str(entry.outcome).upper()}",
        f"head {entry.hash}",
    ]
    if entry.repeated:
        lines[1:] = [entry.said]
    with recorded(entry):
        write_text("".join(f"{line}\n" for line in lines), None)
    return SAFE


@ledger.command(epilog=EPILOG)
@question_options
@signed_options
def refuse(
    place: str, statements: tuple[str, ...], who: str | None, why: str, **options: Any
) -> int:
    """Record that RELEASE was refused, with the verdict on it but without its figures."""
    with asking(place, statements, options) as (book, made, how):
        entry = book.refuse(made, who=who, why=why, **how)
    then = " already" if entry.repeated else ""
    outcome = str(entry.outcome).upper()
    lines = [f"entry {entry.number} refused{then}: {', '.join(entry.statements)} ({outcome})"]
    if entry.repeated:
        lines.append(entry.said)
    with recorded(entry):
        write_text("".join(f"{line}\n" for line in lines), None)
    return SAFE


@ledger.command(epilog=EPILOG)
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
@style_option("table", "json", "csv", "html")
@output_option
def history(
    place: str,
    wait: float,
    public: bool,
    seconds: float,
    tables: tuple[str, ...],
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Show every entry, for the owner; `export` makes the history that outsiders may see.

    As html it is a page with what could be worked out after each release; --table adds the counts.
    """
    from cellbounds.ledger import Ledger
    from cellbounds.ledger.history import history_csv, history_text
    from cellbounds.report.ledgers import ledger_page

    if style != "html" and (public or tables):
        raise InvalidInput(
            f"--format {style} with --public or --table; they are for --format html (`export` "
            "writes the public history as JSON)"
        )
    check_written(output, place, tables)
    book = Ledger.open(place, wait=wait)
    if style == "html":
        owned = [read_owned(path, options) for path in tables] or None
        text = ledger_page(book, table=owned, public=public, seconds=seconds)
    elif style == "json":
        text = json_text(book.export(public=False))
    else:
        entries = book.history()
        text = history_csv(entries) if style == "csv" else f"{history_text(entries)}\n"
    write_text(text, output, style)
    return SAFE


@ledger.command(epilog=EPILOG)
@place_argument
@wait_option
@click.option("--internal", is_flag=True, help="Everything, for the owner.")
@output_option
def export(place: str, wait: float, internal: bool, output: str | None) -> int:
    """Write the history as JSON: without --internal, what outsiders may see."""
    from cellbounds.ledger import Ledger

    check_written(output, place)
    exported = Ledger.open(place, wait=wait).export(public=not internal)
    write_text(json_text(exported), output, "json")
    return SAFE


@ledger.command(epilog=EPILOG)
@place_argument
@click.argument("statements", nargs=-1, metavar="[STATEMENT...]")
@click.option("--way", type=WHOLE, help="Margins of up to so many variables; all unless given.")
@click.option("--digits", type=WHOLE, default=2, show_default=True, help="Decimals of rates.")
@click.option("--no-total", is_flag=True, help="N is not published.")
@click.option("--sets", is_flag=True, help="Also which of them may be released together.")
@owned_options
@work_options
@style_option("table", "json")
@output_option
def frontier(
    place: str,
    statements: tuple[str, ...],
    way: int | None,
    digits: int,
    no_total: bool,
    sets: bool,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Show which margins and rates may still be released, one at a time, and which never again."""
    check_written(output, place, options["tables"], *statements)
    with working(place, options) as (book, how):
        found = book.frontier(
            list(statements) or None,
            way=way,
            digits=digits,
            total=not no_total,
            sets=sets,
            **how,
        )
    write_text(json_text(found.to_dict()) if style == "json" else f"{found}\n", output, style)
    return SAFE if found.safe else UNDECIDED if found.undecided else UNSAFE


@ledger.command(epilog=EPILOG)
@place_argument
@wait_option
@click.option("--head", help="The hash of the last entry, as it was noted elsewhere.")
@click.option("--entries", type=WHOLE, help="How many entries there were then, if that was noted.")
@style_option("table", "json")
def verify(place: str, wait: float, head: str | None, entries: int | None, style: str) -> int:
    """Check every link of the chain, its head against a copy, and the database's triggers."""
    from cellbounds.ledger import Ledger

    found = Ledger.open(place, wait=wait).verify(head=head, entries=entries)
    write_text(json_text(found.to_dict()) if style == "json" else f"{found}\n", None, style)
    return SAFE if found.intact else UNSAFE
