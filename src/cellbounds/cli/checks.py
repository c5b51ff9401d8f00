"""`verify` and `reproduce`: whether what was claimed, or printed, is true."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from cellbounds.cli import options
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import check_outputs, say, write_plain, write_text
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.progress import Progress

EPILOG = (
    "Exit status: 0 every claim is true, 1 some claim is wrong or not supported, 2 bad input, 3 "
    "nothing wrong, but some claims could not be settled."
)


@partial(options.command, epilog=EPILOG)
@click.argument("file", type=click.Path())
@option(
    "--seconds FLOAT",
    "Budget; most of it is for claims that come without a proof and have to be proved anew.",
    default=600,
)
@options.style_option("table|json", "the result")
@options.output_option
def verify(given: Given) -> int:
    """Check the certificate FILE (.json) with code that shares nothing with the methods.

    The digest is worked out from the statements. Witnesses, dual proofs and proofs by rows are
    checked in exact integers; bounds that rest on a method or a solver are proved anew.
    """
    from cellbounds.certificates.verifying import verify_certificate

    shown = sys.stderr is not None and sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        end = "\r\x1b[K" if done == total else ""
        click.echo(f"\r\x1b[Kcellbounds: proving anew {done} of {total}{end}", err=True, nl=False)

    budget = Budget(given.seconds, progress=progress if shown else None)
    result = verify_certificate(given.file, budget=budget)
    write_plain(result, given.style, given.output)
    if not result.ok:
        return options.UNSAFE
    return options.SAFE if result.settled else options.UNDECIDED


@options.command
@option("--figures DIRECTORY", "Draw the figures as SVG here.")
@option("--pages DIRECTORY", "Write a page for each result here, with its figures; takes a minute.")
@option(
    "--data DIRECTORY", "Tables that may not be shipped: cps8.csv and others, if you have them."
)
@options.format_options
def reproduce(given: Given) -> int:
    """Put every table and figure of the papers beside ours.

    Documents 000 to 004 and Wright and Smucker 2014. Where a paper is wrong, its error is pointed
    out; what needs data that are not at hand is listed as such. Status 1 if anything else differs.
    """
    from cellbounds.papers.reproduction import render_reproduction, reproduce_papers

    check_outputs([given.output], [])
    drawn: list[Path] = []
    with Progress("recomputing the papers' tables"):
        reproduction = reproduce_papers(data=None if given.data is None else Path(given.data))
        text = render_reproduction(reproduction, given.style)
        if given.figures is not None:
            from cellbounds.papers.figures import draw_figures

            drawn = draw_figures(Path(given.figures), reproduction.times)
        if given.pages is not None:
            from cellbounds.papers.pages import write_pages

            drawn += write_pages(Path(given.pages), reproduction)
    write_text(text, given.output, given.style)
    if drawn:
        say("\n".join(f"drawn: {path}" for path in drawn))
    return options.SAFE if reproduction.as_expected else options.UNSAFE
