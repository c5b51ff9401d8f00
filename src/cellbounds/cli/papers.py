"""`reproduce`."""

from __future__ import annotations

from pathlib import Path

import click

from cellbounds.cli.options import EPILOG, SAFE, UNSAFE, format_options
from cellbounds.cli.outputs import check_outputs, say, write_text

__all__ = ["reproduce"]


@click.command(epilog=EPILOG)
@click.option("--figures", type=click.Path(file_okay=False), help="Draw the figures as SVG here.")
@format_options
def reproduce(figures: str | None, style: str, output: str | None) -> int:
    """Put every table of documents 000 to 004 beside our figures.

    Where a paper is wrong, its error is pointed out. Status 1 if anything else differs.
    """
    from cellbounds.papers.reproduction import render_comparisons, reproduce_papers
    from cellbounds.runtime.progress import Progress

    check_outputs([output], [])
    with Progress("recomputing the papers' tables"):
        compared = reproduce_papers()
        text = render_comparisons(compared, style)
        if figures is not None:
            from cellbounds.papers.figures import draw_figures

            drawn = draw_figures(Path(figures))
    write_text(text, output, style)
    if figures is not None:
        say("\n".join(f"drawn: {path}" for path in drawn))
    return SAFE if all(one.as_expected for one in compared) else UNSAFE
