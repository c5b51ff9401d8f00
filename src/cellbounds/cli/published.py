"""`show`, and `attack` for tables as they are published."""

from __future__ import annotations

import click

from cellbounds.cli import options
from cellbounds.cli.intruders import policy_given, policy_was_given, read_knowledge
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import (
    check_outputs,
    check_suffix,
    say,
    unwritten,
    write_certificate,
    write_text,
)
from cellbounds.cli.sheet_options import read_sheets, sheet_options
from cellbounds.errors import InvalidInput, Unsettled
from cellbounds.runtime.budget import stopped_late

STYLES = ("gausssuppression", "sdctable", "rtauargus")
"""Frames that are written, as `data.other_tools.writing` has them, which loads later."""


@options.command
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@sheet_options
@option("--release FILE", "Write what the tables say as a release file (.toml).", "written")
@option(
    "--write FILE",
    "Write the table for another tool: .tab (tau-ARGUS), .csv (a frame with statuses), .xlsx.",
    "rewritten",
)
@option(f"--columns {'|'.join(STYLES)}", "Whose columns a .csv frame has.", default=STYLES[0])
@options.memory_option
def show(given: Given) -> int:
    """Show what is understood of the published tables in FILE, before anything is concluded.

    FILE is CSV, Excel, OpenDocument, HTML or Parquet: crosstabs with several header rows and index
    columns, or a line for each cell; totals, hierarchies, marks for hidden counts. Files of
    tau-ARGUS, sdcTable, GaussSuppression and ACRO are read, too.
    """
    if given.written is not None:
        check_suffix(given.written, (".toml",))
    if given.rewritten is not None:
        check_suffix(given.rewritten, (".tab", ".csv", ".xlsx"))
    check_outputs([given.written, given.rewritten], given.files)
    published = read_sheets(given.files, given)
    if given.rewritten is not None and len(published.tables) > 1:
        raise InvalidInput(
            f"--write takes one table, and there are {len(published.tables)}; name one file or "
            "sheet"
        )
    write_text(f"{published}\n", None)
    if given.written is not None:
        published.release.write(given.written)
        say(f"written: {given.written}")
    if given.rewritten is not None:
        files = published.tables[0].write(given.rewritten, style=given.columns)
        say(f"written: {', '.join(map(str, files))}")
    return options.SAFE


def attack_tables(given: Given) -> int:
    """Show what anybody can work out about the cells of tables that do not show their count."""
    from cellbounds.disclosure.published_cells import work_out
    from cellbounds.report.published_report import render

    for name in ("over", "cells", "state"):
        if getattr(given, name):
            raise InvalidInput(
                f"--{name.removesuffix('s')} goes with a release file; write one with `cellbounds "
                "show FILE --release FILE.toml` and attack that"
            )
    check_outputs([given.certificate, given.output], [*given.release, *given.knows, given.policy])
    # The budget that is there anyway is not for ranges of thousands of cells.
    source = click.get_current_context().get_parameter_source("seconds")
    told = source is not click.core.ParameterSource.DEFAULT
    what = "reading the tables"
    with options.working(given, what, seconds=given.seconds) as (progress, budget):
        with stopped_late(budget):
            published = read_sheets(given.release, given)
            margins = len(published.questions())
            if given.certificate is not None and margins != 1:
                raise InvalidInput(
                    f"--certificate is of one margin with cells that show no number, and there are "
                    f"{margins}; write the release with `cellbounds show FILE --release FILE.toml` "
                    "and attack that, --over one of them"
                )
            knows = read_knowledge(given, published.release.domain)
            policy = policy_given(given)
        with stopped_late(budget):
            risk = work_out(
                published,
                knows=knows,
                intruder=policy.against,
                policy=policy if policy_was_given() else None,
                every_count=told or policy_was_given(),
                progress=progress.say,
                budget=budget,
            )
        text = render(risk, given.style, everything=given.everything)
        if given.certificate is not None:
            progress.say("certifying")
            with unwritten(given.certificate):
                if not risk.answers:
                    raise Unsettled("nothing was worked out within the budget; give more seconds")
                write_certificate(risk.answers[0], given.certificate, budget, private=False)
    write_text(text, given.output, given.style)
    return options.STATUSES[risk.outcome.value]
