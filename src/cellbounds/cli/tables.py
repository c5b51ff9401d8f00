"""`count`, `posterior`, `sample` and `synthesize`: about the tables that fit a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli import options
from cellbounds.cli.options import Given
from cellbounds.cli.outputs import check_outputs, check_suffix, say, write_text
from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.model.priors import Belief
    from cellbounds.statements import Release

__all__ = ["count", "posterior", "sample", "synthesize"]

PRIORS = "uniform, multinomial, hypergeometric, poisson:MEAN, gamma-poisson:SHAPE,SCALE"

_release_options = options.combined(
    click.argument("source", type=click.Path()),
    click.argument("release", nargs=-1),
    options.table_options,
    options.publishing_options,
    click.option("--effort", type=float, help="Steps that exact work may take; 2e9 unless given."),
)
"""What every one of these commands has: where the release is from, and the steps."""

_prior_option = click.option(
    "--prior", default="uniform", show_default=True, metavar="PRIOR", help=f"One of {PRIORS}."
)

_drawing_options = options.effort_options("what was drawn by then is kept")


@options.command
@_release_options
@options.memory_option
@options.format_options
def count(given: Given) -> int:
    """Count the tables that fit a release, exactly.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that are
    published of it, as for `cellbounds audit`. If counting would take too long, it says about how
    many there are, and ends with status 3.
    """
    from cellbounds.inference.counting import count_tables
    from cellbounds.report.formats import CountedTables, render
    from cellbounds.runtime.progress import Progress

    check_outputs([given.output], [given.source, *given.release])
    with Progress("counting tables"):
        release = _release(given)
        counted = CountedTables(release, count_tables(release, effort=given.effort))
    write_text(render(counted, given.style), given.output, given.style)
    return options.SAFE


@options.command
@_release_options
@_prior_option
@click.option(
    "--draws", type=options.WHOLE, default=10_000, show_default=True, help="For estimates."
)
@_drawing_options
@click.option("--plot", type=options.FILE, help="Draw to this .svg or .png file.")
@options.format_options
def posterior(given: Given) -> int:
    """Show how likely each count of each cell is.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that are
    published of it, as for `cellbounds audit`. Exact where the structure allows, otherwise
    estimated by a Markov chain, and said so.
    """
    from cellbounds.inference.posterior import posterior as posterior_of
    from cellbounds.report.formats import render
    from cellbounds.runtime.progress import Progress

    if given.plot is not None:
        check_suffix(given.plot, (".svg", ".png", ".html"))
    check_outputs([given.plot, given.output], [given.source, *given.release])
    with Progress("summing over tables") as progress, options.budgeted(given, progress) as budget:
        belief, release = _belief(given.prior), _release(given)
        drawn = {"draws": given.draws, "rng": given.seed or 0}
        found = posterior_of(release, belief, effort=given.effort, **drawn, budget=budget)
        text = render(found, given.style)
        if given.plot is not None:
            from cellbounds.results.charts import save_chart

            save_chart(found.plot(), given.plot)
    write_text(text, given.output, given.style)
    return options.SAFE


@options.command
@_release_options
@_prior_option
@click.option("--size", type=options.WHOLE, default=1000, show_default=True, help="Tables to draw.")
@click.option(
    "--method",
    type=click.Choice(["auto", "exact", "chain", "importance"]),
    default="auto",
    show_default=True,
    help="auto: exact if the structure allows, else a Markov chain.",
)
@click.option("--chains", type=options.WHOLE, help="Markov chains to run at once; 4 unless given.")
@click.option("--burn-in", type=options.WHOLE, help="Steps of each chain that are thrown away.")
@click.option("--thin", type=options.WHOLE, help="Steps of a chain for each draw.")
@click.option("--proposal", type=click.Choice(["ordinary", "two-step"]), help="Of a chain.")
@click.option(
    "--moves",
    type=click.Choice(["basic", "conditional", "lattice", "4ti2"]),
    help="Moves of a chain; the best that is known unless given.",
)
@_drawing_options
@options.format_options
def sample(given: Given) -> int:
    """Draw tables that fit a release.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that are
    published of it, as for `cellbounds audit`. The formats csv and json hold the tables
    themselves, table a summary.
    """
    from cellbounds.inference.posterior import sample as sample_from
    from cellbounds.report.formats import render
    from cellbounds.runtime.progress import Progress

    chain = {name: getattr(given, name) for name in CHAIN if getattr(given, name) is not None}
    check_outputs([given.output], [given.source, *given.release])
    with Progress("drawing tables") as progress, options.budgeted(given, progress) as budget:
        found = sample_from(
            _release(given),
            given.size,
            prior=_belief(given.prior),
            method=given.method,
            rng=given.seed or 0,
            effort=given.effort,
            budget=budget,
            **chain,
        )
        text = render(found, given.style)
    write_text(text, given.output, given.style)
    return options.SAFE


CHAIN = ("chains", "burn_in", "thin", "proposal", "moves")
"""Options of a Markov chain, which only some methods take."""


@options.command
@_release_options
@click.option("--prior", metavar="PRIOR", help=f"One of {PRIORS}.")
@click.option("--copies", type=options.WHOLE, default=1, show_default=True, help="Tables to make.")
@click.option(
    "--digits",
    type=options.WHOLE,
    help="Round the rates of RELEASE to so many decimals and take these as exact.",
)
@click.option(
    "--total",
    type=click.Choice(["same", "nearest"]),
    default="same",
    show_default=True,
    help="With --digits: keep N, or take the nearest that the rounded rates allow.",
)
@click.option(
    "--compare", is_flag=True, help="For the owner: what the tables give away and are good for."
)
@click.option("--overwrite", is_flag=True, help="Replace files of the same names.")
@_drawing_options
@click.option(
    "-o",
    "--output",
    type=options.FOLDER,
    required=True,
    help="Folder for the tables (CSV) and a README.",
)
def synthesize(given: Given) -> int:
    """Make tables to release instead of the true one.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that the tables
    keep, as for `cellbounds audit`.
    """
    from cellbounds.runtime.progress import Progress
    from cellbounds.synthetic import synthesize as make

    if given.compare and not given.release:
        raise InvalidInput("--compare needs the true table: give TABLE and RELEASE")
    if given.digits is None and given.total != "same":
        raise InvalidInput("--total nearest goes with --digits")
    for path in [*Path(given.output).glob("synthetic-*.csv"), Path(given.output, "README.md")]:
        if path.exists():
            check_outputs([str(path)], [given.source, *given.release])
    drawn: dict[str, Any] = {
        "copies": given.copies,
        "prior": None if given.prior is None else _belief(given.prior),
        "rng": _unsaid_seed(given),
        "effort": given.effort,
    }
    with Progress("drawing tables") as progress, options.budgeted(given, progress) as budget:
        table = options.read_owned(given.source, given) if given.release else None
        if given.digits is None:
            release = (
                _release(given) if table is None else options.combine(table, given.release, given)
            )
            synthetic = make(release, **drawn, budget=budget)
        elif table is None:
            raise InvalidInput("--digits rounds the rates of a table: give TABLE and RELEASE")
        else:
            rounded = {"digits": given.digits, "total": given.total}
            synthetic = make(table, given.release, **rounded, **drawn, budget=budget)
        text = f"{synthetic}\n"
        if given.compare and table is not None:
            progress.say("comparing with the true table")
            text = f"{synthetic.compare(table, effort=given.effort, budget=budget)}\n"
        written = synthetic.write(given.output, overwrite=given.overwrite)
    write_text(text, None)
    say("\n".join(f"written: {path}" for path in written))
    return options.SAFE


def _release(given: Given) -> Release:
    """A release file alone, or what is published of a table."""
    if given.release:
        return options.combine(options.read_owned(given.source, given), given.release, given)
    from cellbounds.statements.release_files import read_release

    if not given.source.endswith(".toml"):
        raise InvalidInput(
            f"{given.source} alone is no release: give a release file (.toml), or a table and the "
            'statements published of it, such as "[A,B]"'
        )
    return read_release(given.source, allow_outside=given.allow_outside)


def _unsaid_seed(given: Given) -> Any:
    """The seed; or, as who knows the seed of random rounding can replay it, only a generator."""
    if given.count_rounding != "random" or given.seed is None or given.seed < 0:
        return given.seed or 0  # a negative one is refused where it is used
    import numpy as np

    return np.random.default_rng([given.seed, 1])  # not the numbers that rounded


def _belief(text: str) -> Belief | str:
    """A prior as text: a name, and its numbers after a colon."""
    from cellbounds.model.priors import GammaPoisson, Poisson

    name, _, numbers = text.partition(":")
    parameters = [part.strip() for part in numbers.split(",")] if numbers else []
    if name == "poisson" and len(parameters) == 1:
        return Poisson(parameters[0])
    if name == "gamma-poisson" and len(parameters) == 2:
        return GammaPoisson(*parameters)
    if parameters or name in ("poisson", "gamma-poisson"):
        raise InvalidInput(f"--prior {text}; give one of {PRIORS}")
    return name
