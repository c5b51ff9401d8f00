"""Commands that load when they are run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

__all__ = ["Later"]


class Later(click.Command):
    """A command of which only the name and the first sentence of its help are known.

    That is what the list of commands shows; whoever runs it, or asks for its help, gets the command
    itself. So nobody waits for the other commands to load.
    """

    def __init__(self, name: str, place: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self.place = place

    def load(self) -> click.Command:
        """The command itself."""
        command = getattr(import_module(self.place), self.name or "")
        assert isinstance(command, click.Command)
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Everything that follows is done by the command of this context: the one loaded."""
        return self.load().make_context(info_name, args, parent, **extra)
