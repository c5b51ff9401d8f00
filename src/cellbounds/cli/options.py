"""Options that several commands share, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.data.domain import Domain
    from cellbounds.data.table import Table
    from cellbounds.statements import Prior, Release

__all__ = [
    "BAD_INPUT",
    "EPILOG",
    "INTERNAL",
    "SAFE",
    "UNDECIDED",
    "UNSAFE",
    "WHOLE",
    "combine",
    "decorated",
    "format_options",
    "knows_option",
    "names_of",
    "output_options",
    "outside_option",
    "policy_options",
    "publishing_options",
    "read_knowledge",
]

SAFE, UNSAFE, BAD_INPUT, UNDECIDED, INTERNAL = 0, 1, 2, 3, 70

EPILOG = (
    "Exit status: 0 safe, 1 unsafe or a mismatch, 2 bad input, 3 undecided, 70 internal error, "
    "130 interrupted."
)

Decorated = Callable[..., Any]


class _Whole(click.types.IntParamType):
    """How many of something: a number that fits the arrays and compiled functions behind it."""

    most = 2**31 - 1

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(super().convert(value, param, ctx))
        if abs(number) > self.most:
            self.fail(f"{value!r} is too large; give {self.most} at most.", param, ctx)
        return number


WHOLE = _Whole()


def decorated(
    function: Decorated, options: Sequence[Callable[[Decorated], Decorated]]
) -> Decorated:
    """A command with some more options, in this order."""
    for option in reversed(options):
        function = option(function)
    return function


outside_option = click.option(
    "--allow-outside",
    is_flag=True,
    help="Release files may name figures that are not in their own folder or below.",
)


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
        outside_option,
    ]
    return decorated(function, options)


def combine(table: Table, statements: tuple[str, ...], options: dict[str, Any]) -> Release:
    """Publish statements as the options of :func:`publishing_options` say."""
    from cellbounds.statements.publishing import combined_release

    return combined_release(
        table,
        statements,
        total=not options["no_total"],
        rounding=options["rounding"],
        count_rounding=options["count_rounding"],
        eps=options["eps"],
        strict=options["strict"],
        rng=options["seed"],
        allow_outside=options["allow_outside"],
    )


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


def read_knowledge(
    paths: Sequence[str], domain: Domain, *, allow_outside: bool = False
) -> tuple[Prior, ...]:
    """The priors of the files of :data:`knows_option`, about a table over these variables."""
    from cellbounds.statements import Prior
    from cellbounds.statements.files import read_release

    known: list[Prior] = []
    for path in paths:
        read = read_release(path, allow_outside=allow_outside)
        if read.domain != domain:
            raise InvalidInput(
                f"{path} speaks of another table: {_difference(read.domain, domain)}; they "
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


def names_of(text: str | None, option: str) -> list[str] | None:
    """Names separated by commas; the notation's quotes work here too."""
    if text is None:
        return None
    from cellbounds.statements.notation import parse

    spoken = parse(f"[{text}]") if text.strip() else None
    if spoken is None or not spoken.is_margin:
        raise InvalidInput(f"{option} {text!r}; give names of variables, separated by commas")
    return list(spoken.responses)
