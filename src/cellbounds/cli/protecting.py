"""`protect`: the figures of a table that are hidden, and the finished table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli import options
from cellbounds.cli.intruders import policy_given
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import check_outputs, check_suffix, write_result
from cellbounds.disclosure.protecting.protection import WORK
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import stopped_late
from cellbounds.runtime.inputs import read_toml

if TYPE_CHECKING:
    from cellbounds.ledger import Ledger
    from cellbounds.statements import Release


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
    "--earlier FILE",
    "Last year's table as it was published (CSV, Excel, ...) or its release (.toml): what was "
    "hidden stays hidden. May be repeated.",
    multiple=True,
)
@option(
    "--ledger LEDGER",
    "What is out about the same people: it is known, and all is judged together.",
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
    from cellbounds.disclosure.policies.verdict import worst
    from cellbounds.disclosure.protecting import protect as protect_table

    for path in filter(None, (given.finished, given.internal)):
        check_suffix(path, (".csv", ".xlsx"))
    outputs = [given.finished, given.internal, given.published, given.output]
    cost = given.cost if given.cost in ("counts", "cells") else None
    inputs = [given.table, given.policy, None if cost else given.cost, *given.earlier]
    check_outputs(outputs, inputs)
    with options.working(given, "reading the table") as (progress, budget):
        with stopped_late(budget):
            table = options.read_owned(given.table, given)
        ledger, before, released = _out(given)
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
            earlier=before,
            released=released,
            work=given.work,
            budget=budget,
        )
        outcome = protected.outcome
        if ledger is not None:
            progress.say("judging it with what is out")
            one = ledger.state().versions == 1  # else the ledger has to have them all
            answer = ledger.ask(protected.release, table=table if one else None, budget=budget)
            outcome = worst([outcome, answer.outcome])
            told = f"with all that is in {given.ledger}: {answer.reason}"
            protected = replace(protected, notes=(*protected.notes, told))
        if given.finished is not None:
            protected.write(given.finished)
        if given.internal is not None:
            protected.write(given.internal, internal=True)
        if given.published is not None:
            protected.release.write(given.published)
    write_result(protected, given, private=True)
    return options.STATUSES[outcome.value]


def _out(given: Given) -> tuple[Ledger | None, list[Any], Release | None]:
    """The ledger, and what was published before: of other versions only what they hid counts."""
    if given.ledger is None:
        return None, list(given.earlier), None
    from cellbounds.ledger import Ledger

    ledger = Ledger.open(given.ledger)
    releases = [entry.release for entry in ledger.history() if entry.kind == "released"]
    if ledger.state().versions > 1:
        return ledger, [*given.earlier, *filter(None, releases)], None
    return ledger, list(given.earlier), ledger.together() if releases else None


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
