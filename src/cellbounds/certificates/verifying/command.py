"""The command line of the verifier."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from cellbounds.certificates.verifying.verify import verify_certificate

__all__ = ["verify"]

VERIFIED, MISMATCH, UNSETTLED = 0, 1, 3

EPILOG = (
    "Exit status: 0 every claim is true, 1 some claim is wrong or not supported, 2 bad input, 3 "
    "nothing wrong, but some claims could not be settled."
)


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path())
@click.option(
    "--seconds",
    type=float,
    default=600,
    show_default=True,
    help="Time for claims that come without a proof and have to be proved anew.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json"]),
    default="table",
    help="How to write the result.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file.")
def verify(file: str, seconds: float, style: str, output: str | None) -> int:
    """Check the certificate FILE (.json) with code that shares nothing with the methods.

    The digest is worked out from the statements. Witnesses, dual proofs and proofs by rows are
    checked in exact integers; bounds that rest on a method or a solver are proved anew.
    """
    shown = sys.stderr is not None and sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        end = "\r\x1b[K" if done == total else ""
        click.echo(f"\r\x1b[Kcellbounds: proving anew {done} of {total}{end}", err=True, nl=False)

    found = verify_certificate(file, seconds=seconds, progress=progress if shown else None)
    if style == "json":
        text = json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    else:
        text = f"{found}\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        from cellbounds.runtime.files import write_whole

        write_whole(Path(output), text)
    if not found.ok:
        return MISMATCH
    return VERIFIED if found.settled else UNSETTLED
