"""The options of every command, as the program itself declares them."""

from __future__ import annotations

from functools import cache
from random import Random

import click

from cellbounds.cli import Later, commands
from reliability.fuzz import weird

__all__ = ["command_names", "option_with_value"]


@cache
def _commands() -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}

    def walk(command: click.Command, name: str) -> None:
        loaded = command.load() if isinstance(command, Later) else command
        if isinstance(loaded, click.Group):
            for inner, one in loaded.commands.items():
                walk(one, f"{name} {inner}".strip())
        else:
            found[name] = loaded

    walk(commands, "")
    return found


@cache
def command_names() -> list[str]:
    """Every command, those of groups with the group's name before them."""
    return sorted(_commands())


def option_with_value(rng: Random, command: str) -> list[str]:
    """Some option of a command, with a value that may fit or not."""
    known = _commands().get(command)
    options = [one for one in known.params if isinstance(one, click.Option)] if known else []
    if not options:
        return [weird.text(rng)]
    option = rng.choice(options)
    name = rng.choice(option.opts)
    if option.is_flag:
        return [name]
    return [name, _value(rng, option)]


def _value(rng: Random, option: click.Option) -> str:
    if rng.random() < 0.3:
        return weird.text(rng)
    if isinstance(option.type, click.Choice):
        return str(rng.choice(list(option.type.choices)))
    if isinstance(option.type, click.Path):
        return rng.choice(["out.json", "table.csv", "new.html", "published.toml", ".", "none/x"])
    if option.type in (click.INT, click.FLOAT) or isinstance(option.type, click.IntRange):
        return weird.number(rng)
    words = ["utf-16", "undefined", "rot13", "cp037", "idna", "1-3", "exact", "2GiB", "1", "county"]
    return rng.choice(
        [*words, "county=Alpha,Beta", "sex=m,\nf", "education", "poisson:0", "tcp://127.0.0.1:1"]
    )
