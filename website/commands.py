"""The pages of the commands, from their own help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from inspect import cleandoc

import click

from cellbounds.cli import COMMANDS, Later, commands

FOLDER = "reference/commands"


class Markdown(click.HelpFormatter):
    """Help as Markdown: headings, paragraphs, lists of options, examples as code."""

    def __init__(self, level: int) -> None:
        super().__init__(width=1_000)  # nothing is cut: pages have no width
        self.level = level

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage as code."""
        del prefix
        self.write(f"```text\n{prog} {args}\n```\n\n")

    def write_heading(self, heading: str) -> None:
        """Write a heading below the one of the command."""
        self.write(f"\n**{heading}**\n\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs; blocks that are marked to stay as they are, as code."""
        for block in re.split(r"\n\s*\n", cleandoc(text)):
            first, _, rest = block.partition("\n")
            if first.strip() == "\b":
                self.write(f"```text\n{rest}\n```\n\n")
            else:
                self.write(f"{plain(block)}\n\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write options, or commands, as a list of what each does."""
        del col_max, col_spacing
        lines = [f"{_code(names)}\n:   {plain(said)}\n" for names, said in rows]
        self.write("\n".join([*lines, ""]))

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write what follows under a heading."""
        self.write_heading(name)
        yield


@cache
def pages() -> dict[str, str]:
    """A list of all commands, and a page for each; one of a group has its commands too."""
    listed = "\n".join(f"- [`{name}`]({name}.md): {plain(said)}" for name, _, said in COMMANDS)
    written = {f"{FOLDER}/index.md": f"# Commands\n\n{commands.help}\n\n{listed}\n"}
    for name, _, _ in COMMANDS:
        with click.Context(commands, info_name="cellbounds") as parent:
            written[f"{FOLDER}/{name}.md"] = _section(commands.commands[name], name, parent, 1)
    return written


def plain(text: str) -> str:
    """Text in one line, in which nothing is Markdown."""
    marked = re.sub(r"([\\*_`\[\]|])", r"\\\1", " ".join(text.split()))
    return marked.replace("<", "&lt;")


def _section(command: click.Command, name: str, parent: click.Context, level: int) -> str:
    """A command's help, then that of the commands below it."""
    command = command.load() if isinstance(command, Later) else command
    page = Markdown(level)
    with click.Context(command, info_name=name, parent=parent) as context:
        page.write(f"{'#' * level} {context.command_path.removeprefix('cellbounds ')}\n\n")
        command.format_help(context, page)
        inner = command.commands if isinstance(command, click.Group) else {}
        below = [_section(each, called, context, level + 1) for called, each in inner.items()]
    return "\n".join([page.getvalue(), *below])


def _code(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))
