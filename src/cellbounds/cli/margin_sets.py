"""`margins`: which margins, or other statements, may be released together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli.options import (
    EPILOG,
    SAFE,
    UNDECIDED,
    UNSAFE,
    WHOLE,
    format_options,
    names_of,
    outside_option,
    policy_options,
)
from cellbounds.cli.outputs import check_outputs, write_text
from cellbounds.cli.reading import read_owned, table_options
from cellbounds.cli.working import effort_options, workers
from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.disclosure.safe_sets import SafeSets

__all__ = ["margins"]


@click.command(epilog=EPILOG)
@click.argument("table", type=click.Path())
@table_options
@click.option(
    "--way", type=WHOLE, metavar="K", help="All margins of K variables; else all margins."
)
@click.option("--margin", "chosen", multiple=True, metavar="A,B", help="A margin; repeat it.")
@click.option(
    "--statement",
    "statements",
    multiple=True,
    metavar="STATEMENT",
    help='Any statement, such as "[A,B]~5" or "[Y|A]@2"; repeat it.',
)
@click.option(
    "--given",
    multiple=True,
    metavar="RELEASE",
    help="What is out already: a statement or a release file; repeat it.",
)
@outside_option
@click.option("--no-total", is_flag=True, help="N is not published.")
@policy_options
@effort_options()
@format_options
def margins(
    table: str,
    way: int | None,
    chosen: tuple[str, ...],
    statements: tuple[str, ...],
    given: tuple[str, ...],
    no_total: bool,
    policy: str,
    independent: bool,
    seconds: float,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Find the largest sets of margins of TABLE that are safe together.

    TABLE is a tidy CSV file. The candidates are all its margins, unless --way, --margin or
    --statement names others. Exit status 0 if some of them may be released, 1 if none, 3 if that
    is not known.
    """
    from cellbounds.report.listings import render_listing

    if sum(map(bool, (way is not None, chosen, statements))) > 1:
        raise InvalidInput(
            "--way, --margin and --statement name the candidates; use one of them (--statement "
            "takes margins too)"
        )
    check_outputs([output], [table, *given, policy])
    from cellbounds.disclosure.safe_sets import safe_margins
    from cellbounds.runtime.progress import Progress
    from cellbounds.statements.publishing import combined_release

    with Progress("reading the table") as progress:
        owned = read_owned(table, options)
        listed = [names_of(text, "--margin") or [] for text in chosen]
        outside = options["allow_outside"]
        out = combined_release(owned, given, total=False, allow_outside=outside) if given else None
        progress.say("judging sets")
        with workers(options) as executor:
            found = safe_margins(
                owned,
                margins=listed or way,
                given=out,
                statements=statements or None,
                policy=policy,
                total=not no_total,
                independent=independent,
                seconds=seconds,
                executor=executor,
                progress=progress.step,
            )
    write_text(render_listing(found, style), output, style, private=True)
    return _status(found)


def _status(found: SafeSets) -> int:
    if any(one.statements for one in found.safe):
        return SAFE
    return UNSAFE if found.complete else UNDECIDED
