"""How the commands read tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli.options import Decorated, decorated, names_of
from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.data.table import Table

__all__ = ["read_owned", "table_options"]


def table_options(function: Decorated) -> Decorated:
    """How to read a table: TABLE is a file, a folder of files or a pattern in quotes."""
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
        click.option(
            "--weight",
            metavar="NAME",
            help="With --records: column that says how many persons each record stands for.",
        ),
        click.option(
            "--round-weight",
            is_flag=True,
            help="Add fractional weights up exactly, and round each cell to whole persons.",
        ),
        click.option(
            "--missing",
            type=click.Choice(["error", "drop", "level"]),
            default="error",
            show_default=True,
            help="Labels that are missing: refuse them, drop the records, or make them a level.",
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
        click.option(
            "--merge",
            "merges",
            multiple=True,
            metavar="VARIABLE=LEVEL,LEVEL",
            help="Merge levels of a variable of TABLE before anything else; quoted as in CSV.",
        ),
    ]
    return decorated(function, options)


def read_owned(path: str, options: dict[str, Any]) -> Table:
    """Read a table as the options of :func:`table_options` say."""
    from cellbounds.data.reading import read_table

    table = read_table(
        path,
        count=None if options["records"] else options["count"],
        variables=names_of(options["variables"], "--variables"),
        weight=options["weight"],
        round_weight=options["round_weight"],
        missing=options["missing"],
        structural="missing" if options["structural"] else None,
        sheet=options["sheet"],
        encoding=options["encoding"],
        delimiter=options["delimiter"].replace("\\t", "\t"),
    )
    for text in options["merges"]:
        table = _merged(table, text)
    return table


def _merged(table: Table, text: str) -> Table:
    """Merge levels as a text such as ``age=0-17,18-29`` says."""
    import csv

    names = [name for name in table.domain.names if text.startswith(f"{name}=")]
    if not names:
        raise InvalidInput(
            f"--merge {text!r} names no variable of the table; give VARIABLE=LEVEL,LEVEL with one "
            f"of {', '.join(table.domain.names)}"
        )
    variable = max(names, key=len)  # names may hold an equals sign themselves
    try:
        asked = next(csv.reader([text[len(variable) + 1 :]], skipinitialspace=True), [])
    except csv.Error as problem:
        raise InvalidInput(
            f"--merge {text!r} is not quoted as in CSV ({problem}); write levels with commas or "
            "line breaks in double quotes"
        ) from None
    if len(asked) < 2:
        raise InvalidInput(f"--merge {text!r} merges nothing; name at least two levels")
    levels = {str(level): level for level in table.domain.levels(variable)}
    return table.merge(variable, {"+".join(asked): [levels.get(one, one) for one in asked]})
