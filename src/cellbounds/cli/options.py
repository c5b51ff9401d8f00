"""Options that several commands share, and what they mean: tables, releases, policies, effort."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli.command_examples import EXAMPLES
from cellbounds.cli.level_options import level_options, levels_given
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import Budget, running
from cellbounds.runtime.files import is_stream
from cellbounds.runtime.memory import limited
from cellbounds.runtime.progress import Progress
from cellbounds.runtime.workers.tasks import MOST, cores
from cellbounds.statements.mechanisms import read_noise
from cellbounds.statements.notation import parse
from cellbounds.statements.release import combined_release

if TYPE_CHECKING:
    from cellbounds.data.domain import Domain, Label
    from cellbounds.data.table import Table
    from cellbounds.statements import Release

from cellbounds.runtime.files import library

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


HEADINGS = {
    "The table": "count records weight round_weight missing sheet variables structural nestings "
    "encoding delimiter merges tables marks hierarchies totals no_totals base base_rounding absent "
    "sums below tool metadata header index thousands",
    "What is published": "rounding eps strict rule no_total count_rounding noise seed "
    "allow_outside",
    "How it is judged": "policy independent intruder knows protect",
    "Time and work": "seconds jobs scheduler device memory state effort wait confirm_time",
    "What is written": "style output everything reports key public certificate plot best save "
    "written rewritten columns figures overwrite finished internal published",
}
"""The headings of help, and the options under each; all others come first."""


class GroupedCommand(click.Command):
    """A command whose help has its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those of the command alone first."""
        headings = {name: title for title, names in HEADINGS.items() for name in names.split()}
        blocks: dict[str, list[tuple[str, str]]] = {
            "Options": [],
            **{heading: [] for heading in HEADINGS},
        }
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                blocks[headings.get(parameter.name or "", "Options")].append(record)
        for title, records in blocks.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class ListedGroup(click.Group):
    """Commands in the order of their use, each with the whole first sentence of its help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(1_000)) for name, one in self.commands.items()]
            )


def command(
    function: Callable[[Given], int], group: click.Group | None = None, epilog: str = EPILOG
) -> click.Command:
    """A command that gets all its options as one value, within the memory they allow."""

    @wraps(function)
    def called(**given: Any) -> int:
        # What needs a library that a plain install does not have is said before any work starts.
        if given.get("scheduler") is not None:
            library("distributed", needed_for="clusters (--scheduler)", extra="dask")
        if "place" in given:
            from cellbounds.ledger.locations import Place

            if Place.of(given["place"]).url is not None:
                library("psycopg", needed_for="ledgers on PostgreSQL", extra="postgres")
        tables = [given.get(name) for name in ("table", "source", "later")]
        for path in filter(None, (*tables, *given.get("tables", ()))):
            from cellbounds.data.reading import holds_parquet

            if holds_parquet(path):
                library("pyarrow.parquet", needed_for="Parquet files", extra="parquet")
        memory = given.get("memory")
        with nullcontext() if memory is None else limited(memory):
            return function(Given(**given))

    name = getattr(function, "__name__", "")
    example = EXAMPLES.get(f"{getattr(group, 'name', '')} {name}", EXAMPLES.get(name))
    shown = "" if example is None else f"\b\nExample:\n  cellbounds {example}\n\n"
    declared = click.command(cls=GroupedCommand, epilog=shown + epilog)(called)
    if group is not None:
        group.add_command(declared)
    return declared


class _Whole(click.types.IntParamType):
    """How many of something: a number that fits the arrays and compiled functions behind it."""

    most = 2**31 - 1

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(super().convert(value, param, ctx))
        if abs(number) > self.most:
            self.fail(f"{value!r} is too large; give {self.most} at most.", param, ctx)
        return number


WHOLE = _Whole()

LONGEST = 18
"""Digits of the ends of a span."""

_TYPES: dict[str, Any] = {
    "INTEGER": WHOLE,
    "FLOAT": float,
    "FILE": click.Path(dir_okay=False),
    "FOLDER": click.Path(file_okay=False),
    "DIRECTORY": click.Path(file_okay=False),
    "PATH": click.Path(),
}
"""The types of values by the words that stand for them in help; all others are texts."""


def option(usage: str, about: str, into: str | None = None, **declared: Any) -> Option:
    """An option as its help shows it, such as ``--over A,B``, ``--total same|nearest``, ``--all``.

    One that takes no value is a flag. A default is shown, unless it is empty.

    Parameters
    ----------
    usage
        Names, separated by a comma, and what stands for the value: a word of `_TYPES`, the values
        to choose from (in small letters), or any other word for a text.
    about
        The sentence of the help.
    into
        The name of the value in `Given`, if it is not that of the option.
    declared
        As for :func:`click.option`.

    Examples
    --------
    >>> @command
    ... @option("--total same|nearest", "Which N.", default="same")
    ... @option("-o, --output FILE", "Where to.", "path")
    ... def show(given: Given) -> int:
    ...     return 0
    >>> [(parameter.name, parameter.opts) for parameter in show.params]
    [('total', ['--total']), ('path', ['-o', '--output'])]
    """
    names, _, value = usage.replace(", ", ",").partition(" ")
    settings: dict[str, Any] = {"help": about, "show_default": bool(declared.get("default"))}
    if not value:
        settings["is_flag"] = True
    elif "|" in value and value.islower():
        settings["type"] = click.Choice(value.split("|"))
    else:
        settings |= {"metavar": value, "type": _TYPES.get(value)}
    named = [*names.split(","), *([] if into is None else [into])]
    return click.option(*named, **{**settings, **declared})


def combined(*several: Option) -> Option:
    """Several options as one, in this order."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        for decorator in reversed(several):
            function = decorator(function)
        return function

    return decorate


# The confidential table.

table_argument = click.argument("table", type=click.Path())

table_options = combined(
    option("--count TEXT", "Name of the column of counts.", default="count"),
    option("--records", "Each line of TABLE is one record; tabulate them."),
    option(
        "--weight NAME", "With --records: column that says how many persons each record stands for."
    ),
    option(
        "--round-weight", "Add fractional weights up exactly, and round each cell to whole persons."
    ),
    option(
        "--missing error|drop|level",
        "Labels that are missing: refuse them, drop the records, or make them a level.",
        default="error",
    ),
    option("--sheet TEXT", "Sheet of TABLE, if it is an Excel file with several."),
    option(
        "--variables A,B",
        "Use these columns only, summing over the others. Or names for all variables of a "
        "crosstab, those of the rows first.",
    ),
    option("--structural", "Cells missing from TABLE, or without a count, are structural zeros."),
    option(
        "--nested CHILD:PARENT",
        "Everybody knows that each level of CHILD is in one of PARENT, such as region:country; the "
        "other combinations are structural zeros. May be repeated.",
        "nestings",
        multiple=True,
    ),
    option("--encoding TEXT", "Encoding of TABLE.", default="utf-8"),
    option("--delimiter TEXT", "Delimiter of TABLE.", default=","),
    option(
        "--merge VARIABLE=LEVEL,LEVEL",
        "Merge levels of a variable of TABLE before anything else; quoted as in CSV. Or the name "
        "of a coarser level of its hierarchy.",
        "merges",
        multiple=True,
    ),
    level_options,
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
        **levels_given(given),
        sheet=given.sheet,
        encoding=given.encoding,
        delimiter=given.delimiter.replace("\\t", "\t"),
    )
    for text in given.merges:
        table = _merged(table, text)
    for text in given.nestings:
        table = table.nested(*_nested(text, table.domain.names))
    return table


def _nested(text: str, names: Sequence[str]) -> tuple[str, str]:
    """The variables of a text such as ``region:country``."""
    for child in names:
        parent = text.removeprefix(f"{child}:")
        if parent != text and parent in names:
            return child, parent
    raise InvalidInput(
        f"--nested {text!r}; give CHILD:PARENT with two of the variables {', '.join(names)}"
    )


def _merged(table: Table, text: str) -> Table:
    """Merge levels as a text such as ``age=0-17,18-29`` says."""
    domain = table.domain
    variable, listed = _assigned(text, domain.names)
    if variable is None:
        raise InvalidInput(
            f"--merge {text!r} names no variable of the table; give VARIABLE=LEVEL,LEVEL with one "
            f"of {', '.join(domain.names)}"
        )
    try:
        merged = next(csv.reader([listed], skipinitialspace=True), [])
    except csv.Error as problem:
        raise InvalidInput(
            f"--merge {text!r} is not quoted as in CSV ({problem}); write levels with commas or "
            "line breaks in double quotes"
        ) from None
    if len(merged) == 1 and merged[0] in domain.coarser(variable):
        return table.merge(variable, merged[0])
    if len(merged) < 2:
        raise InvalidInput(f"--merge {text!r} merges nothing; name at least two levels")
    levels = {str(level): level for level in domain.levels(variable)}
    return table.merge(variable, {"+".join(merged): [levels.get(text, text) for text in merged]})


def _assigned(text: str, names: Iterable[str]) -> tuple[str | None, str]:
    """The variable and the rest of a text such as ``NAME=REST``; None if it names none."""
    # Names may hold an equals sign themselves: the longest that fits is meant.
    name = max((name for name in names if text.startswith(f"{name}=")), key=len, default=None)
    return name, "" if name is None else text[len(name) + 1 :]


def names_of(text: str | None, name: str) -> list[str] | None:
    """Names separated by commas; the notation's quotes work here too."""
    if text is None:
        return None
    spoken = parse(f"[{text}]") if text.strip() else None
    if spoken is None or not spoken.is_margin:
        raise InvalidInput(f"{name} {text!r}; give names of variables, separated by commas")
    return list(spoken.responses)


def span_of(text: str) -> tuple[int, int] | None:
    """The ends of a span such as ``2-5``, or ``3`` alone; None if the text is none.

    Examples
    --------
    >>> span_of("2 - 5"), span_of("3"), span_of("-3"), span_of("many")
    ((2, 5), (3, 3), None, None)
    """
    low, hyphen, high = (end.strip() for end in text.partition("-"))
    ends = low, high if hyphen else low
    # Python refuses to read very long numbers.
    if not all(end.isdecimal() and len(end) <= LONGEST for end in ends):
        return None
    return int(ends[0]), int(ends[1])


# What is published of it.

outside_option = option(
    "--allow-outside",
    "Release files may name figures that are not in their own folder or below.",
)

no_total_option = option("--no-total", "N is not published.")

strict_option = option("--strict", "True rates are closer than EPS, not just within.")

RATE_ROUNDINGS = "nearest|half-even|down|up|consistent"

publishing_options = combined(
    option(f"--rounding {RATE_ROUNDINGS}", "How rates with @ are rounded; nearest unless given."),
    option("--eps EPS", "Tolerance announced with the rates, such as 0.01."),
    strict_option,
    option("--rule rounding|interval", "Figures mean what rounds to them (default), or intervals."),
    no_total_option,
    option(
        "--count-rounding nearest|half-even|down|up|random",
        "How margins with ~ are rounded; nearest unless given.",
    ),
    option(
        "--noise LAW",
        "Noise of margins with ~noise: laplace=1/2, a perturbation table of cell keys (i;j;p), or "
        "a TOML file with laplace, differences or chances.",
    ),
    option(
        "--seed INTEGER",
        "Seed for everything random; keep it secret if it changes counts.",
        type=int,
    ),
    outside_option,
)
"""What a table is published with."""


def combine(table: Table, statements: Sequence[str], given: Given) -> Release:
    """Publish statements as :data:`publishing_options` say."""
    return combined_release(
        table,
        statements,
        total=not given.no_total,
        rounding=given.rounding,
        count_rounding=given.count_rounding,
        noise=read_noise(given.noise),
        eps=given.eps,
        strict=given.strict,
        rng=given.seed,
        **({"rule": given.rule} if given.rule else {}),
        allow_outside=given.allow_outside,
    )


# What it is judged by.

INDEPENDENT = "SAFE must hold against an intruder who reruns this on every table that fits."

policy_option = option(
    "--policy NAME|FILE",
    "Judge by this profile or policy file (.toml, .yaml).",
    default="small-counts",
)

intruder_option = option(
    "--intruder KEY=VALUE",
    "What the intruder knows besides what is published, instead of what the policy says: "
    "zeros=shown|always|never, marks=shown|never, total=LOW-HIGH|known|published, "
    "respondents=0|1|2. May be repeated.",
    multiple=True,
)

policy_options = combined(policy_option, option("--independent", INDEPENDENT), intruder_option)

WITH_COUNTS = (
    "By default what is chosen holds against an intruder who reruns the choice on every table that "
    "fits, if there are at most 1024 cells; --with-counts: it is safe if he cannot."
)

choice_options = combined(
    policy_option, option("--independent/--with-counts", WITH_COUNTS, default=None), intruder_option
)


knows_option = option(
    "--knows FILE",
    "What an intruder knows besides: a release file (.toml) of any statements, such as [[known]].",
    multiple=True,
)


# Which cells are asked about.

cell_option = option(
    "--cell NAME=LEVEL,...",
    "Only this cell of the margin over the variables named; may be repeated.",
    "cells",
    multiple=True,
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
    names = (*domain.names, *domain.groupings)
    for text in texts:
        levels: dict[str, Label] = {}
        for part in next(csv.reader([text], skipinitialspace=True), []):
            name, label = _assigned(part, names)
            if name is None or name in levels:
                raise InvalidInput(
                    f"--cell {text!r}: {part!r} names no variable, or one that was named before; "
                    f"give NAME=LEVEL,NAME=LEVEL with some of {', '.join(names)}"
                )
            known = {str(level): level for level in domain.levels(name)}
            levels[name] = known.get(label, label)  # what is no level is refused by its name
        if not levels:
            raise InvalidInput("--cell '' names no variable; give NAME=LEVEL,NAME=LEVEL")
        over = list(levels) if over is None else over
        if set(levels) != set(over):
            raise InvalidInput(
                f"--cell {text!r} names {', '.join(levels)}; every cell has to name the variables "
                f"{', '.join(over)}"
            )
        cells.append(tuple(levels[name] for name in over))
    return over, cells


# How the answer is written.


def style_option(styles: str, what: str = "the answer") -> Option:
    """How to write it: ``table`` for people, unless given."""
    about = f"How to write {what}."
    return option(f"--format {styles}", about, "style", default="table", show_default=False)


output_option = option("-o, --output FILE", "Write to this file.")

format_options = combined(style_option("table|json|csv"), output_option)
"""How to write an answer, and where."""

over_option = option(
    "--over A,B",
    "Ask about this margin instead of the cells; names separated by commas.",
)

output_options = combined(
    style_option("table|json|csv|html"),
    output_option,
    option("--all", "Show every cell in a table.", "everything"),
)
"""How to write what is known of cells."""

certificate_option = option(
    "--certificate FILE",
    "Write bounds, witnesses and proofs to this file, for `cellbounds verify`.",
)


# How long a command may work, and who works for it.

memory_option = option(
    "--memory SIZE",
    "Give up, with exit status 3, rather than take more memory than this, such as 2GiB.",
)


def effort_options(
    late: str = "what is not settled by then is reported as such", seconds: float | None = 600.0
) -> Option:
    """Budget, workers and memory; `late` says what becomes of what the budget does not reach."""
    return combined(
        option("--seconds FLOAT", f"Budget; {late}.", default=seconds),
        option(
            "--jobs N",
            "Processes that share long work; as many as there are cores unless given.",
            type=WHOLE,
        ),
        option(
            "--scheduler ADDRESS",
            "Share the work with the Dask cluster at tcp://HOST:PORT instead. What it works "
            "on is sent there, also the confidential table.",
        ),
        memory_option,
        option(
            "--device NAME",
            "Work on large arrays there: cpu, or what torch calls an accelerator, such as cuda.",
            default="cpu",
        ),
    )


state_option = option(
    "--state FILE",
    "Keep what was proven and found in FILE, and go on from there if it exists. As "
    "confidential as the table.",
)


@contextmanager
def working(
    given: Given, what: str, work: str = "", seconds: float | None = None
) -> Iterator[tuple[Progress, Budget]]:
    """What a command shows while it does something, and its budget, running: time and workers.

    `work` is what can be resumed from the file ``--state``, which is then its checkpoint.
    """
    state: str | None = given.state if work else None
    if state is not None and is_stream(Path(state)):
        raise InvalidInput(f"{state} is no ordinary file, which a state must be; name another file")
    jobs, scheduler = given.jobs, given.scheduler
    if jobs is not None and not 1 <= jobs <= MOST:
        raise InvalidInput(f"--jobs {jobs}; give 1 to {MOST}")
    if jobs is not None and scheduler is not None:
        raise InvalidInput(
            "--jobs and --scheduler: give one of them; the cluster knows its own workers"
        )
    try:
        with Progress(what, seconds=seconds) as progress, ExitStack() as stack:
            workers: int | Executor = min(cores(), MOST) if jobs is None else jobs
            if scheduler is not None:
                from cellbounds.runtime.workers.cluster import cluster

                workers = stack.enter_context(cluster(scheduler))
            declared = Budget(given.seconds, None, workers, state, progress.step, given.device)
            yield progress, stack.enter_context(running(declared, resumes=True, stops=False))
    except KeyboardInterrupt:
        if not work:
            raise
        remedy = f"nothing was kept; with --state FILE the {work} can be resumed"
        if state is not None:
            remedy = f"{state} keeps what was found; give the same command again to go on"
        raise KeyboardInterrupt(remedy) from None


ANSWER = 0.75
"""The part of a budget for the answer where more is to be written than the answer itself."""


def answering(budget: Budget, *outputs: object, cells: int = 0) -> Budget:
    """The part of a budget for the answer about so many cells, if some outputs are beside it."""
    return budget.before_writing(cells, ANSWER if any(outputs) else 1.0)
