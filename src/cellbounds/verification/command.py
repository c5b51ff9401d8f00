"""The command line of the verifier."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from cellbounds.verification.verify import verify_certificate

__all__ = ["verify"]

VERIFIED, MISMATCH, UNSETTLED = 0, 1, 3

EPILOG = (
    "Exit status: 0 verified, 1 a mismatch, 2 bad input, 3 nothing wrong, but some bounds could "
    "not be re-proved."
)


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path())
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Re-prove this many of the claims that come without a checkable proof.",
)
@click.option("--all", "everything", is_flag=True, help="Re-prove every one of them.")
@click.option(
    "--seconds", type=float, default=10, show_default=True, help="Time for each re-proof at most."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Chooses the sample.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json"]),
    default="table",
    help="How to write the result.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file.")
def verify(
    file: str,
    sample: int,
    everything: bool,
    seconds: float,
    seed: int,
    style: str,
    output: str | None,
) -> int:
    """Check the certificate FILE (.json) with code that shares nothing with the methods.

    Witnesses and dual proofs are checked in exact integers; bounds that rest on a method or a
    solver are re-proved by CP-SAT, a sample of them unless --all.
    """
    shown = sys.stderr is not None and sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        end = "\r\x1b[K" if done == total else ""
        click.echo(f"\r\x1b[Kcellbounds: re-proving {done} of {total}{end}", err=True, nl=False)

    found = verify_certificate(
        file,
        sample=sample,
        everything=everything,
        seconds=seconds,
        seed=seed,
        progress=progress if shown else None,
    )
    if style == "json":
        text = json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    else:
        text = f"{found}\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        from cellbounds.files import write_whole

        write_whole(Path(output), text)
    if not found.ok:
        return MISMATCH
    return VERIFIED if found.settled else UNSETTLED
