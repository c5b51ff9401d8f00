"""Commands that change a ledger itself: another policy, a finer table, another version."""

from __future__ import annotations

from typing import Any

import click

from cellbounds.cli.ledger_options import (
    CODES,
    check_written,
    independent_option,
    json_text,
    output_option,
    owned_options,
    place_argument,
    policy_option,
    protect_option,
    signed_options,
    style_option,
    work_options,
    working,
    write_answer,
)
from cellbounds.cli.options import EPILOG, SAFE, names_of
from cellbounds.cli.outputs import write_text
from cellbounds.cli.reading import read_owned
from cellbounds.errors import InvalidInput

__all__ = ["CHANGES"]

LONGEST = 18
"""Digits of a number of records."""


@click.command(epilog=EPILOG)
@place_argument
@policy_option
@independent_option
@protect_option
@click.option("--who", help="Who does it; the user who runs this unless given.")
@click.option("--why", default="", help="The reason, for the record.")
@owned_options
@work_options
@style_option("table", "json")
@output_option
def policy(
    place: str,
    policy: str | None,
    independent: bool | None,
    protect: tuple[str, ...],
    who: str | None,
    why: str,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Show the policy; or change it with --policy, --protect, and judge what is out again."""
    check_written(output, place, options["tables"], policy)
    with working(place, options) as (book, how):
        if policy is None and independent is None and not protect:
            shown = book.state().policy
            text = json_text(shown.to_dict()) if style == "json" else f"{shown}\n"
            write_text(text, output, style)
            return SAFE
        margins = [names_of(one, "--protect") or () for one in protect]
        answer = book.set_policy(
            policy, independent=independent, protect=margins, who=who, why=why, **how
        )
    write_answer(answer, style, output)
    return CODES[answer.verdict.value]


@click.command(epilog=EPILOG)
@place_argument
@signed_options
@owned_options
@work_options
@style_option("table", "json")
@output_option
def refine(
    place: str, who: str | None, why: str, style: str, output: str | None, **options: Any
) -> int:
    """Go on with a table of more variables, whose margin is the table of LEDGER."""
    check_written(output, place, options["tables"])
    with working(place, options) as (book, how):
        answer = book.refine(how.pop("table"), who=who, why=why, **how)
    write_answer(answer, style, output)
    return CODES[answer.verdict.value]


@click.command(epilog=EPILOG)
@place_argument
@click.argument("later", type=click.Path())
@signed_options
@owned_options
@work_options
@style_option("table", "json")
@output_option
def grow(
    place: str,
    later: str,
    who: str | None,
    why: str,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Go on with LATER, a version of the table to which records were added.

    --table gives the earlier versions, unless LEDGER keeps them.
    """
    check_written(output, place, options["tables"], later)
    newer = read_owned(later, options)
    with working(place, options) as (book, how):
        answer = book.grow(newer, earlier=how.pop("table"), who=who, why=why, **how)
    write_answer(answer, style, output)
    return CODES[answer.verdict.value]


@click.command(epilog=EPILOG)
@place_argument
@click.argument("later", type=click.Path())
@click.option("--removed", metavar="N|N-M", help="So many records were removed, as is known.")
@click.option("--added", metavar="N|N-M", help="So many records were added, as is known.")
@signed_options
@owned_options
@work_options
@style_option("table", "json")
@output_option
def revise(
    place: str,
    later: str,
    removed: str | None,
    added: str | None,
    who: str | None,
    why: str,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Go on with LATER, a version from which records were removed, or in which they moved.

    --table gives the earlier versions, unless LEDGER keeps them. Unless --removed and --added say
    how many records an intruder knows to be concerned (one that moved is removed and added), he is
    taken to know nothing about it: everybody may have been exchanged.
    """
    check_written(output, place, options["tables"], later)
    gone, more = _between(removed, "--removed"), _between(added, "--added")
    newer = read_owned(later, options)
    with working(place, options) as (book, how):
        earlier = how.pop("table")
        answer = book.revise(
            newer, earlier=earlier, removed=gone, added=more, who=who, why=why, **how
        )
    write_answer(answer, style, output)
    return CODES[answer.verdict.value]


def _between(text: str | None, option: str) -> tuple[int, int] | None:
    """A number, or two with a hyphen."""
    if text is None:
        return None
    low, hyphen, high = text.partition("-")
    numbers = (low, high) if hyphen else (low,)
    if not all(one.strip().isdecimal() and len(one) <= LONGEST for one in numbers):
        raise InvalidInput(f"{option} {text!r}; give a number of records, or two such as 2-5")
    return int(low), int(high if hyphen else low)


CHANGES = policy, refine, grow, revise
"""The commands, for the group `ledger`."""
