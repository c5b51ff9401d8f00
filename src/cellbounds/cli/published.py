"""`show`, and `attack` for tables as they are published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cellbounds.cli import options
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import check_outputs, check_suffix, say, write_text
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import stopped_late

if TYPE_CHECKING:
    from cellbounds.statements.published import Published

TOOLS = ("tau-argus", "suppression-frame", "acro")
"""The tools whose files are read, as `data.other_tools.formats` has them, which loads later."""

STYLES = ("gausssuppression", "sdctable", "rtauargus")
"""Frames that are written."""

sheet_options = options.combined(
    option(
        "--marks MARK=MEANING,...",
        'What marks mean: hidden, unknown, zero or a range, as in "c=hidden, :=<5, blank=zero".',
    ),
    option(
        "--hierarchy NAME=FILE",
        "Codes of a variable that are totals of others: .hrc, a CSV file (child,parent, or nested "
        "columns), or NAME=prefix. May be repeated.",
        "hierarchies",
        multiple=True,
    ),
    option(
        "--totals NAME=LABEL", "The total of a variable. May be repeated.", "totals", multiple=True
    ),
    option("--no-totals", "No level is a total, whatever it is called."),
    option("--base INTEGER", "Numbers are rounded to multiples of this (the rounding base)."),
    option(
        "--base-rounding nearest|half-even|down|up|random",
        "How they are rounded; nearest unless given.",
    ),
    option(
        "--below INTEGER", "Counts below this were hidden before the others were rounded to --base."
    ),
    option(
        "--noise LAW",
        "Noise of numbers: a perturbation table of cell keys (i;j;p), laplace=1/2, or a TOML file.",
    ),
    option(f"--tool {'|'.join(TOOLS)}", "The tool that wrote a file; found out unless given."),
    option(
        "--metadata FILE", "Metadata (.rda) of a tau-ARGUS table; of the same name unless given."
    ),
    option("--absent unknown|zero", "What cells hold that a table does not list."),
    option("--sums all|shown", "Totals add up all cells, or only those that are shown."),
    option("--count TEXT", "Column of counts of a tidy table."),
    option("--variables A,B", "Columns of labels of a tidy table; names of those of a crosstab."),
    option("--header N", "Header rows of a crosstab.", "header", type=options.WHOLE),
    option("--index N", "Columns of a crosstab that name its rows.", "index", type=options.WHOLE),
    option("--thousands TEXT", "What separates thousands: . , ' or a space."),
    option("--sheet TEXT", "Sheet of a workbook; all that hold tables unless given."),
    option("--encoding TEXT", "Encoding of CSV files.", default="utf-8"),
    option("--delimiter TEXT", "Delimiter of CSV files; found out unless given."),
)
"""How to read tables as they are published."""

_ABOUT_TABLES = (
    *("marks", "hierarchies", "totals", "no_totals", "base", "below", "noise", "tool", "metadata"),
    *("absent", "sums", "sheet"),
)


def is_release_file(path: str) -> bool:
    """Whether a file is a release file, and not a table."""
    return Path(path).suffix.lower() == ".toml"


def check_release_file(given: Given) -> None:
    """Refuse options of tables beside a release file."""
    for name in _ABOUT_TABLES:
        if getattr(given, name):
            raise InvalidInput(
                f"--{name.replace('_', '-')} goes with a table (CSV, Excel, ...), not with a "
                "release file; leave it out"
            )


def read_sheets(paths: tuple[str, ...], given: Given) -> Published:
    """Read tables as :data:`sheet_options` say."""
    from cellbounds.statements.published import read_published

    if given.no_totals and given.totals:
        raise InvalidInput("--totals and --no-totals: give one of them")
    delimiter = given.delimiter
    return read_published(
        *paths,
        marks=given.marks,
        hierarchies=_pairs(given.hierarchies, "--hierarchy NAME=FILE"),
        totals=False if given.no_totals else _pairs(given.totals, "--totals NAME=LABEL") or None,
        base=given.base,
        rounding=given.base_rounding,
        below=given.below,
        noise=given.noise,
        tool=given.tool,
        metadata=given.metadata,
        absent=given.absent or "unknown",
        sums=given.sums,
        count=given.count,
        variables=options.names_of(given.variables, "--variables"),
        header=given.header,
        index=given.index,
        thousands=given.thousands,
        sheet=given.sheet,
        encoding=given.encoding,
        delimiter=None if delimiter is None else delimiter.replace("\\t", "\t"),
    )


def _pairs(texts: tuple[str, ...], usage: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals or name in pairs:
            raise InvalidInput(f"{text!r}; give {usage}, once for each variable")
        pairs[name] = value
    return pairs


@options.command
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@sheet_options
@option("--release FILE", "Write what the tables say as a release file (.toml).", "written")
@option(
    "--write FILE",
    "Write the table for another tool: .tab (tau-ARGUS), .csv (a frame with statuses), .xlsx.",
    "rewritten",
)
@option(f"--style {'|'.join(STYLES)}", "Whose columns a .csv frame has.", default=STYLES[0])
@options.memory_option
def show(given: Given) -> int:
    """Show what is understood of the published tables in FILE, before anything is concluded.

    FILE is CSV, Excel, OpenDocument, HTML or Parquet: crosstabs with several header rows and index
    columns, or a line for each cell; totals, hierarchies, marks for hidden counts.
    """
    if given.written is not None:
        check_suffix(given.written, (".toml",))
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
        files = published.tables[0].write(given.rewritten, style=given.style)
        say(f"written: {', '.join(map(str, files))}")
    return options.SAFE


def attack_tables(given: Given) -> int:
    """Show what anybody can work out about the cells of tables that show no number."""
    from cellbounds.disclosure.published_cells import work_out
    from cellbounds.report.published_report import render

    for name in ("over", "cells", "certificate", "state"):
        if getattr(given, name):
            raise InvalidInput(
                f"--{name.removesuffix('s')} goes with a release file; write one with `cellbounds "
                "show FILE --release FILE.toml` and attack that"
            )
    check_outputs([given.output], given.release)
    what = "reading the tables"
    with options.working(given, what, seconds=given.seconds) as (progress, budget):
        with stopped_late(budget):
            published = read_sheets(given.release, given)
        with stopped_late(budget):
            risk = work_out(published, progress=progress.say, budget=budget)
        text = render(risk, given.style, everything=given.everything)
    write_text(text, given.output, given.style)
    if risk.disclosed:
        return options.UNSAFE
    return options.UNDECIDED if risk.unsettled else options.SAFE
