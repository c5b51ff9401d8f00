"""`count`, `posterior`, `sample` and `synthesize`: about the tables that fit a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from cellbounds.cli import options
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import (
    check_outputs,
    check_suffix,
    save_chart,
    say,
    unwritten,
    write_result,
    write_text,
)
from cellbounds.errors import InvalidInput
from cellbounds.model.priors import Belief, GammaPoisson, Poisson
from cellbounds.runtime.budget import stopped_late

if TYPE_CHECKING:
    from cellbounds.data.table import Table
    from cellbounds.statements import Release

PRIORS = "uniform, multinomial, hypergeometric, poisson:MEAN, gamma-poisson:SHAPE,SCALE"

_release_options = options.combined(
    click.argument("source", type=click.Path()),
    click.argument("release", nargs=-1),
    options.table_options,
    options.publishing_options,
    option("--effort FLOAT", "Steps that exact work may take; 2e9 unless given."),
)
"""What every one of these commands has: where the release is from, and the steps."""

_prior_option = option("--prior PRIOR", f"One of {PRIORS}.", default="uniform")

_drawing_options = options.effort_options("what was drawn by then is kept")


@options.command
@_release_options
@options.effort_options("what is not counted by then is not known")
@options.format_options
def count(given: Given) -> int:
    """Count the tables that fit a release, exactly.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that are
    published of it, as for `cellbounds audit`. If counting would take too long, it says about how
    many there are, and ends with status 3.
    """
    from cellbounds.inference.counting import count_tables
    from cellbounds.report.formats import CountedTables

    check_outputs([given.output], [given.source, *given.release])
    with options.working(given, "counting tables") as (_, budget):
        with stopped_late(budget):
            release = _release(given)
            number = count_tables(release, effort=given.effort, budget=budget)
        counted = CountedTables(release, number)
    write_result(counted, given)
    return options.SAFE


@options.command
@_release_options
@_prior_option
@option("--draws INTEGER", "For estimates.", default=10_000)
@_drawing_options
@option("--plot FILE", "Draw to this .svg or .png file.")
@options.over_option
@options.cell_option
@options.format_options
def posterior(given: Given) -> int:
    """Show how likely each count of each cell, or of a margin, is.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that are
    published of it, as for `cellbounds audit`. Exact where the structure allows, otherwise
    estimated by a Markov chain, and said so.
    """
    from cellbounds.inference.posterior import posterior as posterior_of

    names = options.names_of(given.over, "--over")
    if given.plot is not None:
        check_suffix(given.plot, (".svg", ".png", ".html"))
    check_outputs([given.plot, given.output], [given.source, *given.release])
    with options.working(given, "summing over tables") as (_, budget):
        drawn = {"draws": given.draws, "rng": given.seed or 0}
        answering = options.answering(budget, given.plot)
        with stopped_late(answering):
            belief, release = _belief(given.prior), _release(given)
            over, cells = options.cells_of(given.cells, names, release.domain)
            question = {"over": over, "cells": cells, "effort": given.effort}
            result = posterior_of(release, belief, **question, **drawn, budget=answering)
        if given.plot is not None:
            save_chart(result, given.plot, budget)
    write_result(result, given)
    return options.SAFE


@options.command
@_release_options
@_prior_option
@option("--size INTEGER", "Tables to draw.", default=1000)
@option(
    "--method auto|exact|chain|importance",
    "auto: exact if the structure allows, else a Markov chain.",
    default="auto",
)
@option("--chains INTEGER", "Markov chains to run at once; 4 unless given.")
@option("--burn-in INTEGER", "Steps of each chain that are thrown away.")
@option("--thin INTEGER", "Steps of a chain for each draw.")
@option("--proposal ordinary|two-step", "Of a chain.")
@option(
    "--moves basic|conditional|lattice|4ti2",
    "Moves of a chain; the best that is known unless given.",
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

    chain = {name: getattr(given, name) for name in CHAIN if getattr(given, name) is not None}
    check_outputs([given.output], [given.source, *given.release])
    with options.working(given, "drawing tables") as (_, budget), stopped_late(budget):
        result = sample_from(
            _release(given),
            given.size,
            prior=_belief(given.prior),
            method=given.method,
            rng=given.seed or 0,
            effort=given.effort,
            budget=budget,
            **chain,
        )
    write_result(result, given)
    return options.SAFE


CHAIN = ("chains", "burn_in", "thin", "proposal", "moves")
"""Options of a Markov chain, which only some methods take."""


@options.command
@_release_options
@option("--prior PRIOR", f"One of {PRIORS}.")
@option("--copies INTEGER", "Tables to make.", default=1)
@option(
    "--digits INTEGER",
    "Round the rates of RELEASE to so many decimals and take these as exact.",
)
@option(
    "--total same|nearest",
    "With --digits: keep N, or take the nearest that the rounded rates allow.",
    default="same",
)
@option("--compare", "For the owner: what the tables give away and are good for.")
@option("--overwrite", "Replace files of the same names.")
@_drawing_options
@option("-o, --output DIRECTORY", "Folder for the tables (CSV) and a README.", required=True)
def synthesize(given: Given) -> int:
    """Make tables to release instead of the true one.

    SOURCE is a release file (.toml), or a table (CSV) followed by the statements that the tables
    keep, as for `cellbounds audit`.
    """
    from cellbounds.synthetic import synthesize as make

    if given.compare and not given.release:
        raise InvalidInput("--compare needs the true table: give TABLE and RELEASE")
    if given.digits is None and given.total != "same":
        raise InvalidInput("--total nearest goes with --digits")
    for path in [*Path(given.output).glob("synthetic-*.csv"), Path(given.output, "README.md")]:
        if path.exists():
            check_outputs([str(path)], [given.source, *given.release])
    seed: Any = given.seed or 0  # a negative one is refused where it is used
    if (given.count_rounding == "random" or given.noise) and given.seed is not None and seed >= 0:
        # Who knows the seed of random rounding can replay it: not the numbers that rounded.
        seed = np.random.default_rng([seed, 1])
    drawn: dict[str, Any] = {
        "copies": given.copies,
        "prior": None if given.prior is None else _belief(given.prior),
        "rng": seed,
        "effort": given.effort,
    }
    with options.working(given, "drawing tables") as (progress, budget):
        with stopped_late(budget):
            table = options.read_owned(given.source, given) if given.release else None
            if given.digits is None:
                synthetic = make(_release(given, table), **drawn, budget=budget)
            elif table is None:
                raise InvalidInput("--digits rounds the rates of a table: give TABLE and RELEASE")
            else:
                rounded = {"digits": given.digits, "total": given.total}
                synthetic = make(table, given.release, **rounded, **drawn, budget=budget)
        written = synthetic.write(given.output, overwrite=given.overwrite)
        text = f"{synthetic}\n"
        if given.compare and table is not None:
            progress.say("comparing with the true table")
            with unwritten("the comparison"), stopped_late(budget):
                text = f"{synthetic.compare(table, effort=given.effort, budget=budget)}\n"
    write_text(text, None)
    say("\n".join(f"written: {path}" for path in written))
    return options.SAFE


def _release(given: Given, table: Table | None = None) -> Release:
    """A release file alone, or what is published of a table, which is read unless it was."""
    from cellbounds.statements.release_files import read_release

    if not given.release and not given.source.endswith(".toml"):
        raise InvalidInput(
            f"{given.source} alone is no release: give a release file (.toml), or a table and the "
            'statements published of it, such as "[A,B]"'
        )
    if not given.release:
        return read_release(given.source, allow_outside=given.allow_outside)
    owned = options.read_owned(given.source, given) if table is None else table
    return options.combine(owned, given.release, given)


def _belief(text: str) -> Belief | str:
    """A prior as text: a name, and its numbers after a colon."""
    name, _, numbers = text.partition(":")
    parameters = [part.strip() for part in numbers.split(",")] if numbers else []
    if name == "poisson" and len(parameters) == 1:
        return Poisson(parameters[0])
    if name == "gamma-poisson" and len(parameters) == 2:
        return GammaPoisson(*parameters)
    if parameters or name in ("poisson", "gamma-poisson"):
        raise InvalidInput(f"--prior {text}; give one of {PRIORS}")
    return name
