"""`protect`: a table made ready for publication; `compare`: the ways to do that side by side."""

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

rerun_option = option(
    "--independent/--with-counts",
    "By default what is chosen for up to 100 figures holds, if it is not said otherwise, against "
    "an intruder who protects every table that fits. --independent: SAFE means that, for larger "
    "tables too; --with-counts: it is not tried.",
    default=None,
)

METHODS = "suppress|intervals|round|recode"

shape_options = options.combined(
    option(
        "--base INTEGER",
        "What figures are rounded to multiples of; the smallest of 3, 5, 10, 20, 50, 100 that is "
        "safe unless given.",
        "round_base",
    ),
    option(
        "--widths N,N",
        "How wide ranges may be, each a multiple of the one before; 5,10,50,100,... unless given.",
        "range_widths",
    ),
)
"""What figures are shown as."""


@options.command
@options.table_argument
@click.argument("margins", nargs=-1, required=True, metavar="MARGIN...")
@options.table_options
@options.no_total_option
@options.policy_option
@options.intruder_option
@rerun_option
@option(
    f"--method {METHODS}",
    "Hide figures, show them as ranges, round all of them so that totals add up, or merge levels.",
    default="suppress",
)
@shape_options
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
    "--state FILE",
    "Keep what the search for a pattern found in FILE, and go on from there if it exists. As "
    "confidential as the table.",
)
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
    """Hide as few figures of TABLE as possible, or show them roughly, so that a policy is kept.

    MARGINs are published: "[A,B]", or "[A+,B+]" for all levels with all totals. Small counts are
    hidden (primary suppression), and others (secondary) so that nobody can work them out, not even
    who knows that zeros are shown. Or figures are shown as ranges, all of them are rounded so that
    totals add up, or levels are merged (--method). What is left is attacked and judged: the
    status is 0 if it is safe, 1 if it is not, 3 if that is not known.
    """
    from cellbounds.disclosure.policies.verdict import worst
    from cellbounds.disclosure.protecting import protect as protect_table

    for path in filter(None, (given.finished, given.internal)):
        check_suffix(path, (".csv", ".xlsx"))
    outputs = [given.finished, given.internal, given.published, given.output, given.state]
    cost = given.cost if given.cost in ("counts", "cells") else None
    inputs = [given.table, given.policy, None if cost else given.cost, *given.earlier]
    check_outputs(outputs, inputs)
    with options.working(given, "reading the table", "search") as (progress, budget):
        with stopped_late(budget):
            table = options.read_owned(given.table, given)
        ledger, before, released = _out(given)
        progress.say("choosing what to publish")
        protected = protect_table(
            table,
            *given.margins,
            policy=policy_given(given),
            method=given.method,
            base=given.round_base,
            widths=_whole_numbers(given.range_widths),
            cost=cost or dict(_weights(given.cost)),
            keep=[_place(text, "--keep") for text in given.keep],
            prefer=[_place(text, "--prefer") for text in given.prefer],
            total=not given.no_total,
            marked=given.marked,
            earlier=before,
            released=released,
            work=given.work,
            independent=given.independent,
            budget=budget,
        )
        outcome = protected.outcome
        if ledger is not None:
            progress.say("judging it with what is out")
            one = ledger.state().versions == 1  # else the ledger has to have them all
            answer = ledger.ask(
                protected.release, table=table if one else None, budget=budget.resumed(None)
            )
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


@options.command
@options.table_argument
@click.argument("margins", nargs=-1, required=True, metavar="MARGIN...")
@options.table_options
@options.no_total_option
@options.policy_option
@options.intruder_option
@rerun_option
@option(
    f"--method {METHODS}",
    "A way to protect it; all of them unless given. May be repeated.",
    "methods",
    multiple=True,
)
@shape_options
@options.effort_options("what each way found until then is shown")
@options.format_options
def compare(given: Given) -> int:
    """Protect TABLE in several ways, and put them side by side by what they keep.

    MARGINs are published: "[A,B]", or "[A+,B+]" for all levels with all totals. Every way is judged
    by the same policy and against the same intruder: the status is 0 if one of them is safe, 1 if
    none is, 3 if that is not known.
    """
    from cellbounds.disclosure.protecting import compare as compare_ways

    check_outputs([given.output], [given.table, given.policy])
    chosen = {"methods": given.methods} if given.methods else {}
    with options.working(given, "reading the table") as (progress, budget):
        with stopped_late(budget):
            table = options.read_owned(given.table, given)
        progress.say("protecting it in several ways")
        comparison = compare_ways(
            table,
            *given.margins,
            policy=policy_given(given),
            base=given.round_base,
            widths=_whole_numbers(given.range_widths),
            total=not given.no_total,
            independent=given.independent,
            budget=budget,
            **chosen,
        )
    write_result(comparison, given, private=True)
    return options.STATUSES[comparison.outcome.value]


def _whole_numbers(text: str | None) -> list[int] | None:
    parts = [] if text is None else [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) < 19 for part in parts):
        raise InvalidInput(f"--widths {text!r}; give whole numbers such as 5,10,50")
    return None if text is None else [int(part) for part in parts]


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
