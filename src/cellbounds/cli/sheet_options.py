"""Options about tables as they are published, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cellbounds.cli import options
from cellbounds.cli.level_options import level_options, levels_given
from cellbounds.cli.options import Given, option
from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.statements.published import Published

TOOLS = ("tau-argus", "suppression-frame", "acro")
"""The tools whose files are read, as `data.other_tools.formats` has them, which loads later."""

sheet_options = options.combined(
    option(
        "--marks MARK=MEANING,...",
        'What marks mean: hidden, unknown, zero or a range, as in "c=hidden, :=<5, blank=zero".',
    ),
    level_options,
    option("--base INTEGER", "Numbers are rounded to multiples of this (the rounding base)."),
    option(
        "--base-rounding nearest|half-even|down|up|random|controlled|controlled-2|controlled-3",
        "How they are rounded: nearest (unless given), half-even, down, up, random, controlled, or "
        "controlled-2 and controlled-3 for figures under 2 and 3 bases off.",
        metavar="RULE",
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
    option(
        "--percents NAMES|total|none",
        "What percents beside counts add up to 100 within: variables, or everybody; none: not "
        "read. Found out unless given.",
    ),
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
    *("absent", "sums", "percents", "sheet"),
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


def _percents(given: str | None) -> list[str] | str | None:
    return given if given in ("total", "none") else options.names_of(given, "--percents")


def read_sheets(paths: tuple[str, ...], given: Given) -> Published:
    """Read tables as :data:`sheet_options` say."""
    from cellbounds.statements.published import read_published

    delimiter = given.delimiter
    return read_published(
        *paths,
        marks=given.marks,
        **levels_given(given),
        base=given.base,
        rounding=given.base_rounding,
        below=given.below,
        noise=given.noise,
        tool=given.tool,
        metadata=given.metadata,
        absent=given.absent or "unknown",
        sums=given.sums,
        percents=_percents(given.percents),
        count=given.count,
        variables=options.names_of(given.variables, "--variables"),
        header=given.header,
        index=given.index,
        thousands=given.thousands,
        sheet=given.sheet,
        encoding=given.encoding,
        delimiter=None if delimiter is None else delimiter.replace("\\t", "\t"),
    )
