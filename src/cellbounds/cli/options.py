"""Options that several commands share, and what they mean."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellbounds.errors import InvalidInput
from cellbounds.files import is_stream, write_whole

if TYPE_CHECKING:
    from cellbounds.domain import Domain
    from cellbounds.releases import Prior, Release
    from cellbounds.table import Table

__all__ = [
    "BAD_INPUT",
    "EPILOG",
    "INTERNAL",
    "INTERRUPTED",
    "SAFE",
    "UNDECIDED",
    "UNSAFE",
    "check_outputs",
    "check_suffix",
    "combine",
    "decorated",
    "drop_output",
    "effort_options",
    "format_options",
    "knows_option",
    "names_of",
    "output_options",
    "policy_options",
    "publishing_options",
    "read_knowledge",
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
        click.option(
            "--merge",
            "merges",
            multiple=True,
            metavar="VARIABLE=LEVEL,LEVEL",
            help="Merge levels of a variable of TABLE before anything else; quoted as in CSV.",
        ),
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
        click.option(
            "--seed",
            type=int,
            help="Seed for everything random; keep it secret if it rounds counts.",
        ),
    ]
    return decorated(function, options)


def read_owned(path: str, options: dict[str, Any]) -> Table:
    """Read a table as the options of :func:`table_options` say."""
    from cellbounds.table_reading import read_table

    table = read_table(
        path,
        count=None if options["records"] else options["count"],
        variables=names_of(options["variables"], "--variables"),
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
    asked = next(csv.reader([text[len(variable) + 1 :]], skipinitialspace=True), [])
    if len(asked) < 2:
        raise InvalidInput(f"--merge {text!r} merges nothing; name at least two levels")
    levels = {str(level): level for level in table.domain.levels(variable)}
    return table.merge(variable, {"+".join(asked): [levels.get(one, one) for one in asked]})


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


def policy_options(function: Decorated) -> Decorated:
    """What a release is judged by."""
    options = [
        click.option(
            "--policy",
            default="small-counts",
            show_default=True,
            metavar="NAME|FILE",
            help="Judge by this profile or policy file (.toml, .yaml).",
        ),
        click.option(
            "--independent",
            is_flag=True,
            help="Judge without the true counts: every consistent table must pass.",
        ),
    ]
    return decorated(function, options)


knows_option = click.option(
    "--knows",
    multiple=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="What an intruder knows besides: a release file (.toml) with priors.",
)


def read_knowledge(paths: Sequence[str], table: Table) -> tuple[Prior, ...]:
    """The priors of the files of :data:`knows_option`."""
    from cellbounds.releases import Prior
    from cellbounds.releases.files import read_release

    known: list[Prior] = []
    for path in paths:
        read = read_release(Path(path))
        if read.domain != table.domain:
            raise InvalidInput(
                f"{path} speaks of another table: {_difference(read.domain, table.domain)}; they "
                "need the same variables and levels in the same order (labels in files are text)"
            )
        priors = [one for one in read.statements if isinstance(one, Prior)]
        if len(priors) < len(read.statements) or not priors:
            raise InvalidInput(
                f"--knows {path}: give [[prior]] sections only, at least one; what is published "
                "belongs to RELEASE"
            )
        known += priors
    return tuple(known)


def _difference(said: Domain, owned: Domain) -> str:
    """The first thing in which two domains differ."""
    if said.names != owned.names:
        return f"it is over {', '.join(said.names)}, the table over {', '.join(owned.names)}"
    name = next(one for one in said.names if said.levels(one) != owned.levels(one))
    there, here = said.levels(name), owned.levels(name)
    if len(there) != len(here):
        return f"it has {len(there)} levels of {name!r}, the table {len(here)}"
    one, other = next(pair for pair in zip(there, here, strict=True) if pair[0] != pair[1])
    return f"it has the level {one!r} of {name!r} where the table has {other!r}"


def format_options(function: Decorated) -> Decorated:
    """How to write an answer, and where."""
    return decorated(function, [_style_option("table", "json", "csv"), _output_option])


def output_options(function: Decorated) -> Decorated:
    """How to write what is known of cells."""
    options = [
        _style_option("table", "json", "csv", "html"),
        _output_option,
        click.option("--all", "everything", is_flag=True, help="Show every cell in a table."),
        click.option(
            "--over",
            metavar="A,B",
            help="Ask about this margin instead of the cells; names separated by commas.",
        ),
    ]
    return decorated(function, options)


def _style_option(*styles: str) -> Callable[[Decorated], Decorated]:
    return click.option(
        "--format",
        "style",
        type=click.Choice(styles),
        default="table",
        help="How to write the answer.",
    )


_output_option = click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write to this file."
)


def check_suffix(path: str, suffixes: Sequence[str]) -> None:
    """Refuse the name of a file whose ending says nothing about its kind."""
    if Path(path).suffix.lower() not in suffixes:
        raise InvalidInput(f"{path} cannot be written; end its name with {' or '.join(suffixes)}")


def check_outputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """Refuse, before any work, files that cannot be written or would replace something needed.

    That is an input, or another output. What is not given is None, and inputs need not be files.
    """
    needed = [(path, "an input") for path in inputs if path is not None]
    for path in outputs:
        if path is None:
            continue
        _check_writable(path)
        if is_stream(Path(path)):
            continue
        for other, what in needed:
            if _is_same_file(path, other):
                raise InvalidInput(
                    f"{path} cannot be written: it is {what} ({other}); name another file"
                )
        needed.append((path, "another output"))


def _is_same_file(one: str, other: str) -> bool:
    if Path(one).exists() and Path(other).exists():
        return Path(one).samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _check_writable(path: str) -> None:
    target = Path(path)
    written = target if is_stream(target) else Path(os.path.realpath(target)).parent
    why = ""
    if target.is_dir():
        why = "it is a folder"
    elif not written.exists():
        why = f"there is no folder {target.parent}"
    elif not os.access(written, os.W_OK):
        why = "permission denied"
    if why:
        raise InvalidInput(f"{path} cannot be written: {why}; name another file")


def names_of(text: str | None, option: str) -> list[str] | None:
    """Names separated by commas; the notation's quotes work here too."""
    if text is None:
        return None
    from cellbounds.releases.notation import parse

    spoken = parse(f"[{text}]") if text.strip() else None
    if spoken is None or not spoken.is_margin:
        raise InvalidInput(f"{option} {text!r}; give names of variables, separated by commas")
    return list(spoken.responses)


def write_text(text: str, output: str | None) -> None:
    """Write to a file, whole or not at all, or to standard output."""
    if output is not None and Path(output).absolute() != Path("/dev/stdout"):
        write_whole(Path(output), text)
        return
    try:
        click.echo(text, nl=False)
    except BrokenPipeError:
        # The reader has left; the verdict is the same, whether or not anybody reads it.
        drop_output()
    except OSError as problem:
        drop_output()
        raise InvalidInput(
            f"standard output cannot be written: {problem.strerror}; write to a file with -o"
        ) from None


def drop_output() -> None:
    """Let what standard output still holds go nowhere, so that shutdown does not fail on it."""
    # What stands in for standard output in a test or a notebook may have no descriptor.
    with suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
