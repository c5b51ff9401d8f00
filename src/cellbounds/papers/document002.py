"""Lee and Slavković 2009: the posterior of cells given conditionals, by Markov chains.

Its counts are Poisson with Gamma means. Integrating the means out leaves weights that can be
summed over all tables, so its simulated figures stand beside exact ones. "Given conditionals"
means, as its quantiles and its odds ratio show, the 37 tables that the move of the rounded rates
reaches from the true table.

How far a printed figure may be from ours (`tolerance` among the printed figures): four of the
Monte Carlo errors printed with it, and rounding; for the ordinary chain's figures of the 2x2x2
table, for which none is printed, three standard deviations over 400 runs of it (10,000 steps from
the true table with the moves below), and rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from cellbounds import datasets
from cellbounds.data.table import Table
from cellbounds.inference.combined_sets import combine_sets
from cellbounds.inference.counting import count_tables, tables
from cellbounds.inference.posterior import posterior
from cellbounds.model.constraints import violations
from cellbounds.model.priors import GammaPoisson
from cellbounds.papers.data_files import DataFiles
from cellbounds.papers.printed_figures import Figures, joined
from cellbounds.results.posterior import Posterior
from cellbounds.statements import Linear, Release, publish
from cellbounds.utility import odds_ratios

TITLE = "Lee, Slavković 2009: the posterior of cells given conditionals"

OWN = ("treatment", "response")
DRAWS = 10_000
PRIOR_2X2 = GammaPoisson(193, "1/4")
PRIOR_2X2X2 = GammaPoisson(193, "1/8")

ROUNDED = [["0.2", "0.8"], ["0.4", "0.6"]]
EXACT = [["21/97", "76/97"], ["34/96", "62/96"]]
MOVES = [
    [0, -1, 0, 0, 0, 1, 0, 0],
    [-1, 0, 0, 0, 1, 0, 0, 0],
    [0, 0, 0, 1, 0, 0, 0, -1],
    [0, 0, -1, 0, 0, 0, 1, 0],
    [0, 0, 0, 0, 1008, 3648, -1649, -3007],
]
"""As printed: each a 2x2x2 table."""

ERRORS = {"posterior given conditionals": 0.0400, "posterior given margins": 0.0689}
"""The printed Monte Carlo error of the first cell's mean."""

WIDTHS = [(10, 26, 15, 18), (11, 29, 17, 23), (9, 27, 14, 18)]
"""Of the printed intervals of the 2x2x2 table: ordinary, equal and weighted averaging."""


def figures(_: DataFiles) -> Figures:
    """Our figures for all its tables."""
    trial = datasets.read("analgesic")
    small = trial.margin(OWN)
    conditional = posterior(reached(small), PRIOR_2X2)
    margins = posterior(publish(small, "[treatment]", "[response]"), PRIOR_2X2)
    yield from _tables(trial, small)
    for place, answer in zip(ERRORS, (conditional, margins), strict=True):
        yield place, _summaries(answer, ERRORS[place])
    yield from _claims(small, conditional, margins)
    yield from _odds(small, conditional, margins)
    keeping = [
        number
        for number, move in enumerate(MOVES, start=1)
        if not np.reshape(move, (2, 4)).sum(axis=0).any()
    ]
    yield "Markov moves", map(joined, (keeping, changing_move(EXACT), changing_move(ROUNDED)))
    yield from _whole_table(trial, small)


def changing_move(rates: Sequence[Sequence[object]]) -> list[int]:
    """The move that takes from the second of two rows and gives to the first, in lowest terms.

    Examples
    --------
    >>> changing_move([["0.2", "0.8"], ["0.4", "0.6"]])
    [1, 4, -2, -3]
    """
    exact = [[Fraction(str(rate)) for rate in row] for row in rates]
    shared = math.lcm(*(rate.denominator for row in exact for rate in row))
    first, second = ([int(rate * shared) for rate in row] for row in exact)
    return [*first, *(-count for count in second)]


def reached(table: Table) -> Release:
    """The tables whose [treatment,response] is the true one plus t (1, 4, -2, -3), any t.

    As linear statements: 4 n11 - n12 = 8, 2 n11 + n21 = 76, 3 n11 + n22 = 125.
    """
    move, true = changing_move(ROUNDED), table.margin(OWN).counts.ravel()
    statements = []
    for place in range(1, len(move)):
        weights = np.zeros(len(move), dtype=np.int64)
        weights[0], weights[place] = move[place], -move[0]
        shaped = weights.reshape(2, 2).tolist()
        statements.append(Linear(OWN, shaped, equals=int(weights @ true)))
    return Release(table.domain, statements)


def _tables(trial: Table, small: Table) -> Figures:
    responses = small.margin(["response"]).counts.tolist()
    yield "2x2x2 table", [joined(trial.counts.sum(axis=2).flat), joined([*responses, trial.total])]
    yield "[TR] table", [joined([*small.counts.flat, *small.margin(["treatment"]).counts])]
    rates = map(float, small.conditional(["response"], given=["treatment"]).flat)
    yield "[R|T] table", [f"{rate:.7f} [{rate:.1f}]" for rate in rates]
    yield "collapsed table", [str(responses[1])]


def _summaries(answer: Posterior, error: float) -> Iterator[str]:
    """Mean, median, mode and quantiles of each cell, and its Monte Carlo error if not the first's.

    One number moves all cells: errors are to each other as standard deviations.
    """
    spread = answer.sd.ravel()
    for cell, (_, distribution) in enumerate(answer.items()):
        yield f"{distribution.mean:.2f}"
        yield from (str(distribution.median), str(distribution.mode))
        yield _interval(distribution.quantile("0.025"), distribution.quantile("0.975"))
        if cell > 0:
            yield f"{error * spread[cell] / spread[0]:.4f}"


def _claims(small: Table, conditional: Posterior, margins: Posterior) -> Figures:
    rounded = publish(small, "[response|treatment]@1", eps="0.05")
    fitting = sum(not violations(table, rounded) for table in tables(reached(small)))
    yield "reference set", [f"{fitting} of {count_tables(rounded)}"]
    other = np.abs(margins.mean - small.counts)
    for answer in (conditional, posterior(rounded, PRIOR_2X2)):
        closer = np.abs(answer.mean - small.counts) < other
        yield "conditional versus marginal", [_claim("better", closer.ravel().tolist())]


def _claim(claim: str, holds: Sequence[bool]) -> str:
    """A claim about all cells, or for how many it holds."""
    return claim if all(holds) else f"{claim} for {sum(holds)} of {len(holds)} cells"


def _odds(small: Table, conditional: Posterior, margins: Posterior) -> Figures:
    for name, table in (
        ("original table", small),
        ("mode given conditionals", conditional.joint_mode),
        ("mode given margins", margins.joint_mode),
    ):
        wide, narrow = (odds_ratios(table, *OWN, level=level) for level in ("0.95", "0.9"))
        logs = [[math.log(end) for end in odds.interval] for odds in (wide, narrow)]
        yield (
            f"odds ratio, {name}",
            [
                f"{wide.ratio:.4f}",
                *map(_ends, (wide.interval, narrow.interval)),
                f"{math.log(wide.ratio):.4f}",
                *map(_ends, logs),
            ],
        )


def _ends(ends: Sequence[float]) -> str:
    return f"({ends[0]:.4f}, {ends[1]:.4f})"


def _whole_table(trial: Table, small: Table) -> Figures:
    """The 2x2x2 table: the posterior of its first half, and the document's own estimators.

    Of those it says that they resemble the posterior.
    """
    release, half = reached(trial), trial.domain.size // 2
    for _, cell in list(posterior(release, PRIOR_2X2X2).items())[:half]:
        middle = _interval(*cell.interval("0.95"))
        yield "2x2x2 posterior, ordinary", [f"{cell.mean:.2f}", str(cell.median), middle]
    firsts = [int(table.counts[0, 0]) for table in tables(reached(small))]
    yield "combining", [str(Fraction(sum(firsts), len(firsts)))]
    for name, estimator in (("equal", "equal"), ("weighted", "moves")):
        combined = combine_sets(release, DRAWS, estimator=estimator, prior=PRIOR_2X2X2)
        drawn = combined.values[:, :half]
        low, middle, high = np.quantile(drawn, (0.025, 0.5, 0.975), axis=0).round().astype(int)
        yield (
            f"2x2x2 posterior, {name} averaging",
            [
                joined(f"{mean:.1f}" for mean in drawn.mean(axis=0)),
                joined(middle),
                joined(map(_interval, low, high)),
            ],
        )
    smaller = [weighted < min(others) for *others, weighted in zip(*WIDTHS, strict=True)]
    yield "2x2x2 posterior, weighted averaging", [_claim("smaller", smaller)]


def _interval(low: int, high: int) -> str:
    return f"[{low},{high}]"
