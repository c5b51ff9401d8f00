"""Options about levels that stand for others: totals, and codes of hierarchies."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

from cellbounds.errors import InvalidInput


def level_options(function: Callable[..., int]) -> Callable[..., int]:
    """How totals and hierarchies are told, for tables of their owner and for published ones."""
    declared = (
        click.option(
            "--hierarchy",
            "hierarchies",
            metavar="NAME=FILE",
            multiple=True,
            help="Codes of a variable that are totals of others: .hrc, a CSV file (child,parent "
            "or nested columns), or NAME=prefix. May be repeated.",
        ),
        click.option(
            "--totals",
            metavar="NAME=LABEL",
            multiple=True,
            help="The total of a variable; found out unless given. May be repeated.",
        ),
        click.option(
            "--no-totals", is_flag=True, help="No level is a total, whatever it is called."
        ),
    )
    for option in reversed(declared):
        function = option(function)
    return function


def levels_given(given: SimpleNamespace) -> dict[str, Any]:
    """What these options say, for the functions that read tables."""
    if given.no_totals and given.totals:
        raise InvalidInput("--totals and --no-totals: give one of them")
    totals: Any = _pairs(given.totals, "--totals NAME=LABEL") or None
    return {
        "hierarchies": _pairs(given.hierarchies, "--hierarchy NAME=FILE"),
        "totals": False if given.no_totals else totals,
    }


def _pairs(texts: tuple[str, ...], usage: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals or name in pairs:
            raise InvalidInput(f"{text!r}; give {usage}, once for each variable")
        pairs[name] = value
    return pairs
