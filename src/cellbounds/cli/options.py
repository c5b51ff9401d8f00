"""Options that several commands share, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.releases import Release
    from cellbounds.table import Table

__all__ = [
    "BAD_INPUT",
    "EPILOG",
    "INTERNAL",
    "INTERRUPTED",
    "SAFE",
    "UNDECIDED",
    "UNSAFE",
    "combine",
    "decorated",
    "effort_options",
    "format_options",
    "names_of",
    "output_options",
    "publishing_options",
    "read_owned",
    "table_options",
    "workers",
    "write_text",
]

SAFE, UNSAFE, BAD_INPUT, UNDECIDED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130

EPILOG = (
    "Exit status: 0 safe, 1 unsafe or a mismatch, 2 bad input, 3 undecided, 70 internal error, "
    "130 interrupted."
)

Decorated = Callable[..., Any]


def decorated(
    function: Decorated, options: Sequence[Callable[[Decorated], Decorated]]
) -> Decorated:
    """A command with some more options, in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def table_options(function: Decorated) -> Decorated:
    """How to read a table."""
    options = [
        click.option(
            "--count",
            default="count",
            show_default=True,
            help="Name of the column of counts.",
        ),
        click.option(
            "--records", is_flag=True, help="Each line of TABLE is one record; tabulate them."
        ),
        click.option("--sheet", help="Sheet of TABLE, if it is an Excel file with several."),
        click.option(
            "--variables", metavar="A,B", help="Use these columns only, summing over the others."
        ),
        click.option(
            "--structural",
            is_flag=True,
            help="Cells missing from TABLE, or without a count, are structural zeros.",
        ),
        click.option("--encoding", default="utf-8", show_default=True, help="Encoding of TABLE."),
        click.option("--delimiter", default=",", show_default=True, help="Delimiter of TABLE."),
    ]
    return decorated(function, options)


def publishing_options(function: Decorated) -> Decorated:
    """What a table is published with."""
    options = [
        click.option(
            "--rounding",
            type=click.Choice(["nearest", "half-even", "down", "up", "consistent"]),
            help="How rates with @ are rounded; nearest unless given.",
        ),
        click.option(
            "--eps", metavar="EPS", help="Tolerance announced with the rates, such as 0.01."
        ),
        click.option(
            "--strict", is_flag=True, help="True rates are closer than EPS, not just within."
        ),
        click.option("--no-total", is_flag=True, help="N is not published."),
        click.option(
            "--count-rounding",
            type=click.Choice(["nearest", "half-even", "down", "up", "random"]),
            help="How margins with ~ are rounded; nearest unless given.",
        ),
        click.option("--seed", type=int, help="Seed for everything random."),
    ]
    return decorated(function, options)


def read_owned(path: str, options: dict[str, Any]) -> Table:
    """Read a table as the options of :func:`table_options` say."""
    from cellbounds.table_reading import read_table

    return read_table(
        path,
        count=None if options["records"] else options["count"],
        variables=names_of(options["variables"]),
        structural="missing" if options["structural"] else None,
        sheet=options["sheet"],
        encoding=options["encoding"],
        delimiter=options["delimiter"].replace("\\t", "\t"),
    )


def combine(table: Table, statements: tuple[str, ...], options: dict[str, Any]) -> Release:
    """Publish statements as the options of :func:`publishing_options` say."""
    from cellbounds.releases.combining import combined_release

    return combined_release(
        table,
        statements,
        total=not options["no_total"],
        rounding=options["rounding"],
        count_rounding=options["count_rounding"],
        eps=options["eps"],
        strict=options["strict"],
        rng=options["seed"],
    )


def effort_options(function: Decorated) -> Decorated:
    """Budget, processes and certificate."""
    options = [
        click.option(
            "--seconds",
            type=float,
            default=600.0,
            show_default=True,
            help="Budget; what is not settled by then is reported as such.",
        ),
        click.option(
            "--jobs", type=int, default=1, show_default=True, help="Processes for long work."
        ),
        click.option(
            "--certificate",
            type=click.Path(dir_okay=False),
            help="Write bounds, witnesses and proofs to this file, for `cellbounds verify`.",
        ),
    ]
    return decorated(function, options)


@contextmanager
def workers(jobs: int) -> Iterator[Executor | None]:
    """Processes for long work, or none."""
    if jobs < 1:
        raise InvalidInput(f"--jobs {jobs}; give 1 or more")
    if jobs == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as executor:
        yield executor


def format_options(function: Decorated) -> Decorated:
    """How to write an answer, and where."""
    options = [
        click.option(
            "--format",
            "style",
            type=click.Choice(["table", "json", "csv"]),
            default="table",
            help="How to write the answer.",
        ),
        click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file."),
    ]
    return decorated(function, options)


def output_options(function: Decorated) -> Decorated:
    """How to write what is known of cells."""
    options = [
        format_options,
        click.option("--all", "everything", is_flag=True, help="Show every cell in a table."),
        click.option(
            "--over",
            metavar="A,B",
            help="Ask about this margin instead of the cells; names separated by commas.",
        ),
    ]
    return decorated(function, options)


def names_of(text: str | None) -> list[str] | None:
    """Names separated by commas; the notation's quotes work here too."""
    if text is None:
        return None
    from cellbounds.releases.notation import parse

    return list(parse(f"[{text}]").responses)


def write_text(text: str, output: str | None) -> None:
    """Write to a file, whole or not at all, or to standard output."""
    if output is None:
        click.echo(text, nl=False)
        return
    from cellbounds.files import write_whole

    write_whole(Path(output), text)
