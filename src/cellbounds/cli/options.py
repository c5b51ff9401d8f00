"""Options that several commands share, and what they mean: tables, releases, policies, effort."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import is_stream

if TYPE_CHECKING:
    from cellbounds.data.domain import Domain, Label
    from cellbounds.data.table import Table
    from cellbounds.runtime.budget import Budget
    from cellbounds.runtime.progress import Progress
    from cellbounds.statements import Prior, Release

SAFE, UNSAFE, BAD_INPUT, UNDECIDED, INTERNAL = 0, 1, 2, 3, 70

STATUSES = {"safe": SAFE, "unsafe": UNSAFE, "undecided": UNDECIDED}
"""The exit status of each outcome."""

EPILOG = (
    "Exit status: 0 safe, 1 unsafe or a mismatch, 2 bad input, 3 undecided, 70 internal error, "
    "130 interrupted."
)

Given = SimpleNamespace
"""What a command was given: its arguments and options by name, as click converted them."""

Option = Callable[[Callable[..., int]], Callable[..., int]]

FILE, FOLDER = click.Path(dir_okay=False), click.Path(file_okay=False)


def command(
    function: Callable[[Given], int], group: click.Group | None = None, epilog: str = EPILOG
) -> click.Command:
    """A command that gets all its options as one value, within the memory they allow."""

    @wraps(function)
    def called(**given: Any) -> int:
        if given.get("memory") is None:
            return function(Given(**given))
        from cellbounds.runtime.memory import limited

        with limited(given["memory"]):
            return function(Given(**given))

    made_command = click.command(epilog=epilog)(called)
    if group is not None:
        group.add_command(made_command)
    return made_command


def combined(*several: Option) -> Option:
    """Several options as one, in this order."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        for one in reversed(several):
            function = one(function)
        return function

    return decorate


class _Whole(click.types.IntParamType):
    """How many of something: a number that fits the arrays and compiled functions behind it."""

    most = 2**31 - 1

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(super().convert(value, param, ctx))
        if abs(number) > self.most:
            self.fail(f"{value!r} is too large; give {self.most} at most.", param, ctx)
        return number


WHOLE = _Whole()


# The confidential table.

table_argument = click.argument("table", type=click.Path())

table_options = combined(
    click.option(
        "--count", default="count", show_default=True, help="Name of the column of counts."
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
)
"""How to read a table: TABLE is a file, a folder of files or a pattern in quotes."""


def read_owned(path: str, given: Given) -> Table:
    """Read a table as :data:`table_options` say."""
    from cellbounds.data.reading import read_table

    table = read_table(
        path,
        count=None if given.records else given.count,
        variables=names_of(given.variables, "--variables"),
        weight=given.weight,
        round_weight=given.round_weight,
        missing=given.missing,
        structural="missing" if given.structural else None,
        sheet=given.sheet,
        encoding=given.encoding,
        delimiter=given.delimiter.replace("\\t", "\t"),
    )
    for text in given.merges:
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
        merged = next(csv.reader([text[len(variable) + 1 :]], skipinitialspace=True), [])
    except csv.Error as problem:
        raise InvalidInput(
            f"--merge {text!r} is not quoted as in CSV ({problem}); write levels with commas or "
            "line breaks in double quotes"
        ) from None
    if len(merged) < 2:
        raise InvalidInput(f"--merge {text!r} merges nothing; name at least two levels")
    levels = {str(level): level for level in table.domain.levels(variable)}
    return table.merge(variable, {"+".join(merged): [levels.get(text, text) for text in merged]})


def names_of(text: str | None, name: str) -> list[str] | None:
    """Names separated by commas; the notation's quotes work here too."""
    if text is None:
        return None
    from cellbounds.statements.notation import parse

    spoken = parse(f"[{text}]") if text.strip() else None
    if spoken is None or not spoken.is_margin:
        raise InvalidInput(f"{name} {text!r}; give names of variables, separated by commas")
    return list(spoken.responses)


# What is published of it.

outside_option = click.option(
    "--allow-outside",
    is_flag=True,
    help="Release files may name figures that are not in their own folder or below.",
)

no_total_option = click.option("--no-total", is_flag=True, help="N is not published.")

publishing_options = combined(
    click.option(
        "--rounding",
        type=click.Choice(["nearest", "half-even", "down", "up", "consistent"]),
        help="How rates with @ are rounded; nearest unless given.",
    ),
    click.option("--eps", metavar="EPS", help="Tolerance announced with the rates, such as 0.01."),
    click.option("--strict", is_flag=True, help="True rates are closer than EPS, not just within."),
    no_total_option,
    click.option(
        "--count-rounding",
        type=click.Choice(["nearest", "half-even", "down", "up", "random"]),
        help="How margins with ~ are rounded; nearest unless given.",
    ),
    click.option(
        "--seed", type=int, help="Seed for everything random; keep it secret if it rounds counts."
    ),
    outside_option,
)
"""What a table is published with."""


def combine(table: Table, statements: Sequence[str], given: Given) -> Release:
    """Publish statements as :data:`publishing_options` say."""
    from cellbounds.statements.publishing import combined_release

    return combined_release(
        table,
        statements,
        total=not given.no_total,
        rounding=given.rounding,
        count_rounding=given.count_rounding,
        eps=given.eps,
        strict=given.strict,
        rng=given.seed,
        allow_outside=given.allow_outside,
    )


# What it is judged by.

policy_options = combined(
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
)

knows_option = click.option(
    "--knows",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="What an intruder knows besides: a release file (.toml) with priors.",
)


def read_knowledge(
    paths: Sequence[str], domain: Domain, *, allow_outside: bool = False
) -> tuple[Prior, ...]:
    """The priors of the files of :data:`knows_option`, about a table over these variables."""
    from cellbounds.statements import Prior
    from cellbounds.statements.release_files import read_release

    known: list[Prior] = []
    for path in paths:
        read = read_release(path, allow_outside=allow_outside)
        if read.domain != domain:
            raise InvalidInput(
                f"{path} speaks of another table: {_difference(read.domain, domain)}; they "
                "need the same variables and levels in the same order (labels in files are text)"
            )
        priors = [statement for statement in read.statements if isinstance(statement, Prior)]
        if len(priors) < len(read.statements) or not priors:
            raise InvalidInput(
                f"--knows {path}: give [[prior]] sections only, at least one; what is published "
                "belongs to RELEASE"
            )
        known += priors
    return tuple(known)


def _difference(read: Domain, owned: Domain) -> str:
    """The first thing in which two domains differ."""
    if read.names != owned.names:
        return f"it is over {', '.join(read.names)}, the table over {', '.join(owned.names)}"
    name = next(name for name in read.names if read.levels(name) != owned.levels(name))
    there, here = read.levels(name), owned.levels(name)
    if len(there) != len(here):
        return f"it has {len(there)} levels of {name!r}, the table {len(here)}"
    level, other = next(pair for pair in zip(there, here, strict=True) if pair[0] != pair[1])
    return f"it has the level {level!r} of {name!r} where the table has {other!r}"


# Which cells are asked about.

cell_option = click.option(
    "--cell",
    "cells",
    multiple=True,
    metavar="NAME=LEVEL,...",
    help="Only this cell of the margin over the variables named; may be repeated.",
)


def cells_of(
    texts: tuple[str, ...], over: list[str] | None, domain: Domain
) -> tuple[list[str] | None, list[tuple[Label, ...]] | None]:
    """The margin asked about and the cells of it; without cells, as it was.

    Every cell names the same variables: those of ``--over``, if that is given.
    """
    if not texts:
        return over, None
    cells: list[tuple[Label, ...]] = []
    for text in texts:
        levels = _read_cell(text, domain)
        over = list(levels) if over is None else over
        if set(levels) != set(over):
            raise InvalidInput(
                f"--cell {text!r} names {', '.join(levels)}; every cell has to name the variables "
                f"{', '.join(over)}"
            )
        cells.append(tuple(levels[name] for name in over))
    return over, cells


def _read_cell(text: str, domain: Domain) -> dict[str, Any]:
    import csv

    names = (*domain.names, *domain.groupings)
    cell: dict[str, Any] = {}
    for part in next(csv.reader([text], skipinitialspace=True), []):
        # Names may hold an equals sign themselves: the longest that fits is meant.
        fitting = [name for name in names if part.startswith(f"{name}=")]
        name = max(fitting, key=len, default=None)
        if name is None or name in cell:
            raise InvalidInput(
                f"--cell {text!r}: {part!r} names no variable, or one that was named before; give "
                f"NAME=LEVEL,NAME=LEVEL with some of {', '.join(names)}"
            )
        label = part[len(name) + 1 :]
        cell[name] = {str(level): level for level in domain.levels(name)}.get(label, label)
    if not cell:
        raise InvalidInput("--cell '' names no variable; give NAME=LEVEL,NAME=LEVEL")
    return cell


# How the answer is written.


def style_option(*styles: str, what: str = "the answer") -> Option:
    """How to write it."""
    return click.option(
        "--format",
        "style",
        type=click.Choice(styles),
        default="table",
        help=f"How to write {what}.",
    )


output_option = click.option("-o", "--output", type=FILE, help="Write to this file.")

format_options = combined(style_option("table", "json", "csv"), output_option)
"""How to write an answer, and where."""

output_options = combined(
    style_option("table", "json", "csv", "html"),
    output_option,
    click.option("--all", "everything", is_flag=True, help="Show every cell in a table."),
    click.option(
        "--over",
        metavar="A,B",
        help="Ask about this margin instead of the cells; names separated by commas.",
    ),
)
"""How to write what is known of cells."""

certificate_option = click.option(
    "--certificate",
    type=FILE,
    help="Write bounds, witnesses and proofs to this file, for `cellbounds verify`.",
)


# How long a command may work, and who works for it.

memory_option = click.option(
    "--memory",
    metavar="SIZE",
    help="Give up, with exit status 3, rather than take more memory than this, such as 2GiB.",
)


def effort_options(
    late: str = "what is not settled by then is reported as such", seconds: float | None = 600.0
) -> Option:
    """Budget, workers and memory; `late` says what becomes of what the budget does not reach."""
    return combined(
        click.option(
            "--seconds",
            type=float,
            default=seconds,
            show_default=seconds is not None,
            help=f"Budget; {late}.",
        ),
        click.option(
            "--jobs",
            type=WHOLE,
            metavar="N",
            help="Processes that share long work; as many as there are cores unless given.",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="Share the work with the Dask cluster at tcp://HOST:PORT instead. What it works "
            "on is sent there, also the confidential table.",
        ),
        memory_option,
    )


state_option = click.option(
    "--state",
    type=FILE,
    metavar="FILE",
    help="Keep what was proven and found in FILE, and go on from there if it exists. As "
    "confidential as the table.",
)


@contextmanager
def budgeted(given: Given, progress: Progress, work: str = "") -> Iterator[Budget]:
    """The budget of a command, running: time, workers, progress.

    `work` is what can be resumed from the file ``--state``, which is then its checkpoint.
    """
    from cellbounds.runtime.budget import Budget, running

    state: str | None = given.state if work else None
    if state is not None and is_stream(Path(state)):
        raise InvalidInput(f"{state} is no ordinary file, which a state must be; name another file")
    try:
        with (
            workers(given) as executor,
            running(
                Budget(given.seconds, None, executor, state, progress.step), resumes=True
            ) as budget,
        ):
            yield budget
    except KeyboardInterrupt:
        if not work:
            raise
        kept = f"nothing was kept; with --state FILE the {work} can be resumed"
        if state is not None:
            kept = f"{state} keeps what was found; give the same command again to go on"
        raise KeyboardInterrupt(kept) from None


@contextmanager
def workers(given: Given) -> Iterator[Executor | None]:
    """Whoever shares the work, by the options of :func:`effort_options`; None if nobody does."""
    from cellbounds.runtime.workers.processes import MOST, Processes, cores

    jobs, scheduler = given.jobs, given.scheduler
    if jobs is not None and not 1 <= jobs <= MOST:
        raise InvalidInput(f"--jobs {jobs}; give 1 to {MOST}")
    if scheduler is not None:
        if jobs is not None:
            raise InvalidInput(
                "--jobs and --scheduler: give one of them; the cluster knows its own workers"
            )
        from cellbounds.runtime.workers.cluster import cluster

        with cluster(scheduler) as executor:
            yield executor
        return
    number = min(cores(), MOST) if jobs is None else jobs
    if number == 1:
        yield None
        return
    with Processes(number) as executor:
        yield executor
