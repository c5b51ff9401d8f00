"""The command line: thin, every decision is made in the library."""

from __future__ import annotations

import sys

import click

from cellbounds.cli.audits import attack, audit
from cellbounds.cli.exploring import explore
from cellbounds.cli.ledger import ledger
from cellbounds.cli.margin_sets import margins
from cellbounds.cli.options import BAD_INPUT, EPILOG, INTERNAL, INTERRUPTED, UNDECIDED
from cellbounds.cli.outputs import drop_output
from cellbounds.cli.papers import reproduce
from cellbounds.cli.suggesting import suggest
from cellbounds.cli.tables import count, posterior, sample, synthesize
from cellbounds.errors import CellboundsError, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.verification.command import verify

__all__ = ["main"]

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main() -> None:
    """Run the command line and leave with its exit status."""
    try:
        code = commands.main(standalone_mode=False)
    except click.exceptions.Exit as left:
        code = left.exit_code
    except click.Abort:
        code = INTERRUPTED
    except click.ClickException as problem:
        problem.show()
        code = BAD_INPUT
    except (UnsupportedRelease, TooMuchWork, Unsettled) as problem:
        click.echo(f"undecided: {problem}", err=True)
        code = UNDECIDED
    except CellboundsError as problem:
        click.echo(f"error: {problem}", err=True)
        code = BAD_INPUT
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OSError as problem:
        code = _unwritten("a file or standard output cannot be read or written", problem)
    except Exception as problem:  # wide on purpose: no traceback may show confidential counts
        # The text of an unforeseen error may hold them too, so only its kind is shown. Foreseen
        # errors were caught above.
        click.echo(
            f"internal error ({type(problem).__name__}); please report it with the command and, "
            "if it is not confidential, the input",
            err=True,
        )
        code = INTERNAL
    sys.exit(_flushed(code))


def _flushed(code: int) -> int:
    """Write what is left of the output now: at shutdown its errors would be lost."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
    except OSError as problem:
        return _unwritten("standard output cannot be written", problem)
    return code


def _unwritten(what: str, problem: OSError) -> int:
    drop_output()
    why = problem.strerror or type(problem).__name__
    click.echo(f"error: {what}: {why}", err=True)
    return BAD_INPUT


@click.group(context_settings=_CONTEXT, epilog=EPILOG)
@click.version_option(package_name="cellbounds", prog_name="cellbounds")
def commands() -> None:
    """What published rates and margins reveal about a confidential table of counts."""


for command in (
    audit,
    attack,
    explore,
    margins,
    suggest,
    ledger,
    count,
    posterior,
    sample,
    synthesize,
    verify,
    reproduce,
):
    commands.add_command(command)
