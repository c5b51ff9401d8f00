"""`protect`: the figures of a table that are hidden, and the finished table."""

from __future__ import annotations

from typing import Any

import click

from cellbounds.cli import options
from cellbounds.cli.intruders import policy_given
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import check_outputs, check_suffix, write_result
from cellbounds.disclosure.protecting.protection import WORK
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import stopped_late
from cellbounds.runtime.inputs import read_toml


@options.command
@options.table_argument
@click.argument("margins", nargs=-1, required=True, metavar="MARGIN...")
@options.table_options
@options.no_total_option
@options.policy_option
@options.intruder_option
@option(
    "--cost counts|cells|FILE",
    "What hiding a figure costs: its count, 1, or whole numbers of your own for some margins "
    '(.toml: "[A,B]" = [[5, 1], [1, 9]]).',
    default="counts",
)
@option(
    "--keep MARGIN|CELL",
    'Never hide this: "[A]", or a cell such as A=x,B=y. May be repeated.',
    multiple=True,
)
@option(
    "--prefer MARGIN|CELL", "Hide this first: it costs nothing. May be repeated.", multiple=True
)
@option(
    "--marked",
    "The finished table tells primary figures (marked such as 1-2) from the others.",
)
@option(
    "--work INTEGER",
    "How long to search for a cheaper pattern, in millions of steps; the same pattern every time.",
    default=WORK,
)
@options.effort_options("the best pattern until then is taken, and said to be")
@option(
    "--public FILE",
    "Write the finished table (.csv, .xlsx): hidden counts are marked x.",
    "finished",
)
@option(
    "--internal FILE",
    "Write it with the true counts, and what is primary and secondary. Confidential.",
)
@option("--release FILE", "Write what is published as a release file (.toml).", "published")
@options.format_options
def protect(given: Given) -> int:
    """Hide as few figures of TABLE as possible, so that a policy is kept.

    MARGINs are published, with all counts exact: "[A,B]", or "[A+,B+]" for all levels with all
    totals. Small counts are hidden (primary suppression), and others (secondary) so that nobody can
    work them out, not even who knows that zeros are shown. What is left is attacked and judged: the
    status is 0 if it is safe, 1 if it is not, 3 if that is not known.
    """
    from cellbounds.disclosure.policies import Outcome
    from cellbounds.disclosure.protecting import protect as protect_table

    for path in filter(None, (given.finished, given.internal)):
        check_suffix(path, (".csv", ".xlsx"))
    outputs = [given.finished, given.internal, given.published, given.output]
    cost = given.cost if given.cost in ("counts", "cells") else None
    check_outputs(outputs, [given.table, given.policy, None if cost else given.cost])
    with options.working(given, "reading the table") as (progress, budget):
        with stopped_late(budget):
            table = options.read_owned(given.table, given)
        progress.say("choosing what to hide")
        protected = protect_table(
            table,
            *given.margins,
            policy=policy_given(given),
            cost=cost or dict(_weights(given.cost)),
            keep=[_place(text, "--keep") for text in given.keep],
            prefer=[_place(text, "--prefer") for text in given.prefer],
            total=not given.no_total,
            marked=given.marked,
            work=given.work,
            budget=budget,
        )
        if given.finished is not None:
            protected.write(given.finished)
        if given.internal is not None:
            protected.write(given.internal, internal=True)
        if given.published is not None:
            protected.release.write(given.published)
    write_result(protected, given, private=True)
    statuses = {Outcome.SAFE: options.SAFE, Outcome.UNSAFE: options.UNSAFE}
    return statuses.get(protected.outcome, options.UNDECIDED)


def _weights(path: str) -> dict[str, Any]:
    try:
        return read_toml(path)
    except InvalidInput as problem:
        raise InvalidInput(
            f"--cost {path}: neither 'counts' nor 'cells' nor a file of weights: {problem}"
        ) from None


def _place(text: str, what: str) -> str | dict[str, str]:
    """A margin, or the labels of a cell by variable."""
    if text.lstrip().startswith("["):
        return text
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise InvalidInput(f'{what} {text!r}; give a margin "[A]", or a cell such as A=x,B=y')
    return {name.strip(): label.strip() for name, _, label in pairs}
