"""`count`, `posterior`, `sample` and `synthesize`: about the tables that fit a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli.options import (
    EPILOG,
    SAFE,
    WHOLE,
    combine,
    decorated,
    format_options,
    publishing_options,
)
from cellbounds.cli.outputs import check_outputs, check_suffix, say, write_text
from cellbounds.cli.reading import read_owned, table_options
from cellbounds.cli.working import effort_options, memory_option, workers
from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.model.priors import Belief
    from cellbounds.statements import Release

__all__ = ["count", "posterior", "sample", "synthesize"]

PRIORS = "uniform, multinomial, hypergeometric, poisson:MEAN, gamma-poisson:SHAPE,SCALE"


def _question_options(function: Any) -> Any:
    """What every one of these commands has: where the release is from, and the effort."""
    return decorated(
        function,
        [
            click.argument("source", type=click.Path()),
            click.argument("release", nargs=-1),
            table_options,
            publishing_options,
            click.option(
                "--effort", type=float, help="Steps that exact work may take; 2e9 unless given."
            ),
        ],
    )


_prior_option = click.option(
    "--prior", default="uniform", show_default=True, metavar="PRIOR", help=f"One of {PRIORS}."
)

_drawing_options = effort_options("what was drawn by then is kept")


@click.command(epilog=EPILOG)
@_question_options
@memory_option
@format_options
def count(
    source: str,
    release: tuple[str, ...],
    effort: float | None,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Count the tables that fit a release, exactly.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that are
    published of it, as for `cellbounds audit`. If counting would take too long, it says about how
    many there are, and ends with status 3.
    """
    from cellbounds.inference.counting import count_tables
    from cellbounds.report.inference import render_count
    from cellbounds.runtime.progress import Progress

    check_outputs([output], [source, *release])
    with Progress("counting tables"):
        made = _release(source, release, options)
        found = count_tables(made, effort=effort)
    write_text(render_count(made, found, style), output, style)
    return SAFE


@click.command(epilog=EPILOG)
@_question_options
@_prior_option
@click.option("--draws", type=WHOLE, default=10_000, show_default=True, help="For estimates.")
@_drawing_options
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw to this .svg or .png file.")
@format_options
def posterior(
    source: str,
    release: tuple[str, ...],
    effort: float | None,
    prior: str,
    draws: int,
    seconds: float,
    plot: str | None,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Show how likely each count of each cell is.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that are
    published of it, as for `cellbounds audit`. Exact where the structure allows, otherwise
    estimated by a Markov chain, and said so.
    """
    from cellbounds.inference.posterior import posterior as posterior_of
    from cellbounds.report.inference import render_posterior
    from cellbounds.runtime.progress import Progress

    if plot is not None:
        check_suffix(plot, (".svg", ".png", ".html"))
    check_outputs([plot, output], [source, *release])
    with Progress("summing over tables") as progress, workers(options) as executor:
        belief = _belief(prior)
        found = posterior_of(
            _release(source, release, options),
            belief,
            effort=effort,
            draws=draws,
            rng=_seed(options),
            seconds=seconds,
            executor=executor,
            progress=progress.step,
        )
        text = render_posterior(found, style)
        if plot is not None:
            from cellbounds.results.charts import save_chart

            save_chart(found.plot(), plot)
    write_text(text, output, style)
    return SAFE


@click.command(epilog=EPILOG)
@_question_options
@_prior_option
@click.option("--size", type=WHOLE, default=1000, show_default=True, help="Tables to draw.")
@click.option(
    "--method",
    type=click.Choice(["auto", "exact", "chain", "importance"]),
    default="auto",
    show_default=True,
    help="auto: exact if the structure allows, else a Markov chain.",
)
@click.option("--chains", type=WHOLE, help="Markov chains to run at once; 4 unless given.")
@click.option("--burn-in", type=WHOLE, help="Steps of each chain that are thrown away.")
@click.option("--thin", type=WHOLE, help="Steps of a chain for each draw.")
@click.option("--proposal", type=click.Choice(["ordinary", "two-step"]), help="Of a chain.")
@click.option(
    "--moves",
    type=click.Choice(["basic", "conditional", "lattice", "4ti2"]),
    help="Moves of a chain; the best that is known unless given.",
)
@_drawing_options
@format_options
def sample(
    source: str,
    release: tuple[str, ...],
    effort: float | None,
    prior: str,
    size: int,
    method: str,
    chains: int | None,
    burn_in: int | None,
    thin: int | None,
    proposal: str | None,
    moves: str | None,
    seconds: float,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Draw tables that fit a release.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that are
    published of it, as for `cellbounds audit`. The formats csv and json hold the tables
    themselves, table a summary.
    """
    from cellbounds.inference.posterior import sample as sample_from
    from cellbounds.report.inference import render_draws
    from cellbounds.runtime.progress import Progress

    given: dict[str, Any] = {
        "chains": chains,
        "burn_in": burn_in,
        "thin": thin,
        "proposal": proposal,
        "moves": moves,
    }
    check_outputs([output], [source, *release])
    with Progress("drawing tables") as progress, workers(options) as executor:
        found = sample_from(
            _release(source, release, options),
            size,
            prior=_belief(prior),
            method=method,
            rng=_seed(options),
            effort=effort,
            seconds=seconds,
            executor=executor,
            progress=progress.step,
            **{name: value for name, value in given.items() if value is not None},
        )
        text = render_draws(found, style)
    write_text(text, output, style)
    return SAFE


@click.command(epilog=EPILOG)
@_question_options
@click.option("--prior", metavar="PRIOR", help=f"One of {PRIORS}.")
@click.option("--copies", type=WHOLE, default=1, show_default=True, help="Tables to make.")
@click.option(
    "--digits",
    type=WHOLE,
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
    type=click.Path(file_okay=False),
    required=True,
    help="Folder for the tables (CSV) and a README.",
)
def synthesize(
    source: str,
    release: tuple[str, ...],
    effort: float | None,
    prior: str | None,
    copies: int,
    digits: int | None,
    total: str,
    compare: bool,
    overwrite: bool,
    seconds: float,
    output: str,
    **options: Any,
) -> int:
    """Make tables to release instead of the true one.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that the tables
    keep, as for `cellbounds audit`.
    """
    from cellbounds.runtime.progress import Progress
    from cellbounds.synthetic import synthesize as make

    if compare and not release:
        raise InvalidInput("--compare needs the true table: give TABLE and RELEASE")
    if digits is None and total != "same":
        raise InvalidInput("--total nearest goes with --digits")
    for path in [*Path(output).glob("synthetic-*.csv"), Path(output, "README.md")]:
        if path.exists():
            check_outputs([str(path)], [source, *release])
    given: dict[str, Any] = {
        "copies": copies,
        "prior": None if prior is None else _belief(prior),
        "rng": _unsaid_seed(options),
        "seconds": seconds,
        "effort": effort,
    }
    with Progress("drawing tables") as progress, workers(options) as executor:
        owned = read_owned(source, options) if release else None
        given |= {"progress": progress.step, "executor": executor}
        if digits is None:
            published = None if owned is None else combine(owned, release, options)
            made = make(published or _release(source, release, options), **given)
        elif owned is None:
            raise InvalidInput("--digits rounds the rates of a table: give TABLE and RELEASE")
        else:
            made = make(owned, release, digits=digits, total=total, **given)
        text = f"{made}\n"
        if compare and owned is not None:
            progress.say("comparing with the true table")
            text = f"{made.compare(owned, seconds=seconds, effort=effort)}\n"
        written = made.write(output, overwrite=overwrite)
    write_text(text, None)
    say("\n".join(f"written: {path}" for path in written))
    return SAFE


def _release(source: str, statements: tuple[str, ...], options: dict[str, Any]) -> Release:
    """A release file alone, or what is published of a table."""
    if statements:
        return combine(read_owned(source, options), statements, options)
    from cellbounds.statements.files import read_release

    if not source.endswith(".toml"):
        raise InvalidInput(
            f"{source} alone is no release: give a release file (.toml), or a table and the "
            'statements published of it, such as "[A,B]"'
        )
    return read_release(source, allow_outside=options["allow_outside"])


def _seed(options: dict[str, Any]) -> int:
    return 0 if options["seed"] is None else int(options["seed"])


def _unsaid_seed(options: dict[str, Any]) -> Any:
    """The seed; or, as who knows the seed of random rounding can replay it, only a generator."""
    seed = options["seed"]
    if options["count_rounding"] != "random" or seed is None or seed < 0:
        return _seed(options)  # a negative one is refused where it is used
    import numpy as np

    return np.random.default_rng([seed, 1])  # not the numbers that rounded


def _belief(text: str) -> Belief | str:
    """A prior as text: a name, and its numbers after a colon."""
    from cellbounds.model.priors import GammaPoisson, Poisson

    name, _, numbers = text.partition(":")
    given = [part.strip() for part in numbers.split(",")] if numbers else []
    if name == "poisson" and len(given) == 1:
        return Poisson(given[0])
    if name == "gamma-poisson" and len(given) == 2:
        return GammaPoisson(*given)
    if given or name in ("poisson", "gamma-poisson"):
        raise InvalidInput(f"--prior {text}; give one of {PRIORS}")
    return name
