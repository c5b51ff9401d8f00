"""The command line: thin, every decision is made in the library."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any

import click

from cellbounds.cli.interrupts import Interruption, interruptible
from cellbounds.cli.options import BAD_INPUT, EPILOG, INTERNAL, UNDECIDED, ListedGroup
from cellbounds.cli.outputs import drop_output, said, say
from cellbounds.errors import CellboundsError, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.runtime.isolation import prepare
from cellbounds.runtime.starting import INTERRUPTED
from cellbounds.text import one_line
from cellbounds.version import __version__

__all__ = ["main"]

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main() -> None:
    """Run the command line and leave with its exit status."""
    prepare()
    with interruptible() as interruption:
        code = _run(interruption)
    with said():
        pass
    try:
        # What is left of the output, now: at shutdown its errors would be lost.
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
    except OSError as problem:
        code = _unwritten("standard output cannot be written", problem)
    sys.exit(code)


def _run(interruption: Interruption) -> int:
    try:
        try:
            status: int = commands.main(prog_name="cellbounds", standalone_mode=False)
        finally:
            interruption.over.set()  # what is left is to say how it went
        return status
    except click.exceptions.Exit as left:
        return left.exit_code
    except (click.Abort, KeyboardInterrupt) as problem:
        return _left(": ".join(["interrupted", *map(str, problem.args)]), INTERRUPTED)
    except click.ClickException as problem:
        return _left(_usage(problem), BAD_INPUT)
    except (UnsupportedRelease, TooMuchWork, Unsettled) as problem:
        return _left(f"undecided: {problem}", UNDECIDED)
    except CellboundsError as problem:
        return _left(f"error: {problem}", BAD_INPUT)
    except MemoryError:
        why = "the work needs more memory than there is; ask for less, or give more"
        return _left(f"undecided: {why}", UNDECIDED)
    except UnicodeEncodeError as problem:
        odd = ascii(problem.object[problem.start])
        return _left(
            f"error: the character {odd} cannot be written in {problem.encoding}; rename what has "
            "it, or write UTF-8: to a file with -o, or with PYTHONIOENCODING=utf-8",
            BAD_INPUT,
        )
    except OSError as problem:
        return _unwritten("a file or standard output cannot be read or written", problem)
    except Exception as problem:  # noqa: BLE001 - no traceback may show confidential counts
        if interruption.raised:  # libraries make errors of their own of it
            return _left("interrupted", INTERRUPTED)
        # The text of an unforeseen error may hold them too, so only its kind is shown. Foreseen
        # errors were caught above.
        return _left(
            f"internal error ({type(problem).__name__}); please report it with the command and, "
            "if it is not confidential, the input",
            INTERNAL,
        )


def _left(message: str, code: int) -> int:
    say(message)
    return code


def _usage(problem: click.ClickException) -> str:
    """What is wrong with the arguments, on one line; help that stands in for it as it is."""
    shown = io.StringIO()
    problem.show(shown)
    text, _, message = shown.getvalue().partition("Error: ")
    context = getattr(problem, "ctx", None)
    if message:
        see = "" if context is None else f" See {context.command_path} --help"
        text = f"error: {one_line(message)}{see}"
    return text.rstrip()


def _unwritten(what: str, problem: OSError) -> int:
    drop_output()
    return _left(f"error: {what}: {problem.strerror or type(problem).__name__}", BAD_INPUT)


_SUMMARIES = {
    "examples": {
        "example": "Put example files here, to try the commands on; without NAME, list what "
        "there is.",
    },
    "audits": {
        "audit": "Show what publishing RELEASE would reveal about TABLE, and whether a policy "
        "allows it.",
        "attack": "Show what anybody can work out from RELEASE, without the table.",
    },
    "published": {
        "show": "Show what is understood of the published tables in FILE, before anything is "
        "concluded.",
    },
    "searches": {
        "explore": "Judge every design of published rates of TABLE, and find the best safe one.",
        "margins": "Find the largest sets of margins of TABLE that are safe together.",
        "suggest": "Find safe releases near RELEASE, if publishing that about TABLE is not safe.",
    },
    "protecting": {
        "protect": "Hide as few figures of TABLE as possible, or show them roughly, so that a "
        "policy is kept.",
        "compare": "Protect TABLE in several ways, and put them side by side by what they keep.",
    },
    "request_commands": {
        "ledger": "What was released about a table, and whether something more may follow.",
    },
    "serving": {
        "serve": "Explore tables, and decide on requests, in the browser.",
    },
    "tables": {
        "count": "Count the tables that fit a release, exactly.",
        "posterior": "Show how likely each count of each cell, or of a margin, is.",
        "sample": "Draw tables that fit a release.",
        "synthesize": "Make tables to release instead of the true one.",
    },
    "checks": {
        "verify": "Check the certificate FILE (.json) with code that shares nothing with the "
        "methods.",
        "reproduce": "Put every table and figure of the papers beside ours.",
    },
}
"""The modules, their commands and the first sentence of each one's help (a test compares them)."""

COMMANDS = tuple(
    (name, f"{__name__}.{module}", summary)
    for module, summaries in _SUMMARIES.items()
    for name, summary in summaries.items()
)
"""Name, module and summary of each command."""


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


class Commands(ListedGroup):
    """Commands that are interrupted without the empty line that click would write."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as problem:
            raise click.Abort(*problem.args) from None


commands = Commands(
    "cellbounds",
    [Later(*command) for command in COMMANDS],
    help="What published rates and margins reveal about a confidential table of counts.",
    context_settings=_CONTEXT,
    epilog=EPILOG,
)
click.version_option(__version__, prog_name="cellbounds")(commands)
