"""Lee and Slavković 2009: the posterior of cells given conditionals, by Markov chains.

Its counts are Poisson with Gamma means. Integrating the means out leaves weights that can be
summed over all tables, so its simulated figures stand beside exact ones. "Given conditionals"
means, as its quantiles and its odds ratio show, the 37 tables that the move of the rounded rates
reaches from the true table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.inference.combined_sets import combine_sets
from cellbounds.inference.counting import count_tables, tables
from cellbounds.inference.posterior import posterior
from cellbounds.model.constraints import violations
from cellbounds.model.priors import GammaPoisson
from cellbounds.papers.printed_figures import Comparison, labels_text
from cellbounds.papers.tables import example_table
from cellbounds.results.posterior import Posterior
from cellbounds.statements import Linear, Release, publish
from cellbounds.utility import odds_ratios

__all__ = ["Simulated", "changing_move", "compare", "reached"]

DOCUMENT = "002"
_row = partial(Comparison, DOCUMENT)
OWN = ("treatment", "response")
DRAWS = 10_000
PRIOR_2X2 = GammaPoisson(193, "1/4")
PRIOR_2X2X2 = GammaPoisson(193, "1/8")

RATES = ["0.2164948 [0.2]", "0.7835052 [0.8]", "0.3541667 [0.4]", "0.6458333 [0.6]"]
ROUNDED = [["0.2", "0.8"], ["0.4", "0.6"]]
MOVES = [
    [0, -1, 0, 0, 0, 1, 0, 0],
    [-1, 0, 0, 0, 1, 0, 0, 0],
    [0, 0, 0, 1, 0, 0, 0, -1],
    [0, 0, -1, 0, 0, 0, 1, 0],
    [0, 0, 0, 0, 1008, 3648, -1649, -3007],
]
"""As printed: each a 2x2x2 table."""


@dataclass(frozen=True, slots=True)
class Summaries:
    """One column of a table of posterior summaries: a figure for each cell."""

    mean: tuple[str, ...]
    median: tuple[int, ...]
    quantiles: tuple[tuple[int, int], ...]
    mode: tuple[int, ...] = ()
    errors: tuple[str, ...] = ()


GIVEN_CONDITIONALS = Summaries(
    ("19.3", "72.1", "36.4", "65.2"), (19, 72, 36, 65), ((16, 22), (56, 80), (32, 44), (59, 77)),
    (19, 72, 36, 65), ("0.0400", "0.1601", "0.0800", "0.1201"),
)  # fmt: skip
GIVEN_MARGINS = Summaries(
    ("27.5", "69.5", "27.5", "68.5"), (28, 69, 27, 69), ((21, 34), (63, 76), (21, 34), (62, 75)),
    (28, 69, 27, 69), ("0.0689",) * 4,
)  # fmt: skip
ODDS = {
    "original table": ("0.5079", "(0.2947, 0.8614)", "-0.6854", "(-1.2218, -0.1491)"),
    "mode given conditionals": ("0.5000", "(0.2910, 0.8593)", "-0.6931", "(-1.2346, -0.1517)"),
    "mode given margins": ("1.0370", "(0.6137, 1.7524)", "0.0364", "(-0.4883, 0.5610)"),
}
ORDINARY = Summaries(
    ("9.9", "35.6", "17.6", "30.7"), (10, 35, 17, 30), ((5, 15), (24, 50), (11, 26), (21, 39))
)
EQUAL = Summaries(
    ("10.6", "37.9", "17", "30.7"), (10, 37, 17, 30), ((5, 16), (24, 53), (9, 26), (20, 43))
)
WEIGHTED = Summaries(
    ("10.8", "37.6", "17.2", "30.0"), (11, 37, 17, 30), ((6, 15), (27, 54), (10, 24), (22, 40))
)

NINETY = "the intervals are 90% ones (1.645 standard errors either way)"
SETS = (
    "not reproduced: the document does not say which sets [TR] it combined; ours are the averages "
    "over all 37 that its move reaches, whose intervals are far smaller"
)
SPREAD = {
    "mean": (0.31, 1.42, 0.65, 1.13),
    "median": (0.47, 1.48, 0.75, 1.22),
    "quantiles": (0.61, 2.63, 1.07, 2.00),
}
"""Of the ordinary chain's figures for the 2x2x2 table, for which no Monte Carlo error is printed:
standard deviations over 400 runs of it (10,000 steps from the true table with the moves above)."""


@dataclass(frozen=True, slots=True)
class Simulated(Comparison):
    """A figure from a Markov chain: it agrees if it is no further from ours than may be."""

    apart: float = 0.0
    tolerance: float = 0.0

    @property
    def agrees(self) -> bool:
        """Whether the difference can be the simulation's."""
        return self.apart <= self.tolerance


def _simulated(
    place: str,
    item: str,
    printed: str,
    ours: str,
    exact: Sequence[float],
    tolerance: float,
    error: str = "",
) -> Simulated:
    """A printed figure, or several, beside exact ones."""
    figures = [float(figure) for figure in printed.strip("[]").split(",")]
    apart = max(abs(a - b) for a, b in zip(figures, exact, strict=True))
    return Simulated(DOCUMENT, place, item, printed, ours, error, apart, tolerance)


def compare() -> Iterator[Comparison]:
    """Every figure of its tables beside ours."""
    trial = example_table("analgesic")
    small = trial.margin(*OWN)
    yield from _tables(trial, small)
    conditional = posterior(reached(small), PRIOR_2X2)
    margins = posterior(publish(small, "[treatment]", "[response]"), PRIOR_2X2)
    yield from _summaries("posterior given conditionals", GIVEN_CONDITIONALS, conditional)
    yield from _summaries("posterior given margins", GIVEN_MARGINS, margins)
    yield from _claims(small, conditional, margins)
    yield from _odds(small, conditional, margins)
    yield from _moves(small.domain)
    yield from _whole_table(trial, small)


def changing_move(rates: Sequence[Sequence[object]]) -> list[int]:
    """The move that takes from the second of two rows and gives to the first, in lowest terms.

    Examples
    --------
    >>> changing_move([["0.2", "0.8"], ["0.4", "0.6"]])
    [1, 4, -2, -3]
    """
    rows = []
    for row in rates:
        exact = [Fraction(str(rate)) for rate in row]
        unit = math.lcm(*(rate.denominator for rate in exact))
        rows.append([int(rate * unit) for rate in exact])
    shared = math.lcm(*(sum(row) for row in rows))
    signs = (1, -1)
    return [
        sign * n * (shared // sum(row)) for sign, row in zip(signs, rows, strict=True) for n in row
    ]


def reached(table: Table) -> Release:
    """The tables whose [treatment,response] is the true one plus t (1, 4, -2, -3), any t.

    As linear statements: 4 n11 - n12 = 8, 2 n11 + n21 = 76, 3 n11 + n22 = 125.
    """
    move, true = changing_move(ROUNDED), table.margin(*OWN).counts.ravel().tolist()
    statements = []
    for place in range(1, len(move)):
        weights = [0] * len(move)
        weights[0], weights[place] = move[place], -move[0]
        equals = sum(weight * count for weight, count in zip(weights, true, strict=True))
        shaped = np.reshape(weights, (2, 2)).tolist()
        statements.append(Linear(OWN, shaped, equals=equals))
    return Release(table.domain, statements)


def _tables(trial: Table, small: Table) -> Iterator[Comparison]:
    rows = trial.counts.sum(axis=2).ravel().tolist()
    yield _row("2x2x2 table", "totals of status and treatment", "52 54 45 42", _listed(rows))
    responses = small.margin("response").counts.tolist()
    yield _row(
        "2x2x2 table", "totals of response, N", "55 138 193", _listed([*responses, trial.total])
    )
    counts = [*small.counts.ravel().tolist(), *small.margin("treatment").counts.tolist()]
    yield _row("[TR] table", "counts, totals of treatment", "21 76 34 62 97 96", _listed(counts))
    rates = small.conditional(["response"], given=["treatment"]).flat
    for labels, printed, rate in zip(small.domain.cells(), RATES, rates, strict=True):
        ours = f"{float(rate):.7f} [{float(rate):.1f}]"
        yield _row("[R|T] table", labels_text(labels), printed, ours)
    misprint = "a misprint: the column is 76 and 62, and the rest adds up to 193 only with 138"
    yield _row("collapsed table", "total of good", "128", str(responses[1]), misprint)


def _summaries(place: str, printed: Summaries, ours: Posterior) -> Iterator[Comparison]:
    """The printed error of a mean is by batch means; four of them, and rounding, may be between."""
    means, low, high = ours.mean.ravel(), ours.quantile("0.025"), ours.quantile("0.975")
    for cell, labels in enumerate(ours.domain.cells()):
        name, mean = labels_text(labels), float(means[cell])
        wrong = printed is GIVEN_CONDITIONALS and cell > 0
        room = 4 * float(printed.errors[cell]) + 0.05
        error = _follows(cell, printed.mean[0]) if wrong else ""
        item = f"{name}: mean (within {room:.2f})"
        yield _simulated(place, item, printed.mean[cell], f"{mean:.2f}", (mean,), room, error)
        for what in ("median", "mode"):
            figures = getattr(printed, what)
            error = _follows(cell, str(figures[0])) if wrong else ""
            found = getattr(ours, what).flat[cell]
            yield _row(place, f"{name}: {what}", str(figures[cell]), str(found), error)
        ends = (int(low.flat[cell]), int(high.flat[cell]))
        yield _row(place, f"{name}: quantiles", _interval(printed.quantiles[cell]), _interval(ends))
        if cell > 0:
            yield _error_in_proportion(place, name, printed, ours, cell)


def _follows(cell: int, first: str) -> str:
    """What the first cell's figure makes of another's, on the line of tables."""
    move = changing_move(ROUNDED)
    start = (8, 76, 125)[cell - 1] * (-1 if move[cell] > 0 else 1)
    due = float(start + move[cell] * Fraction(first))
    sign = "+" if start > 0 else "-"
    identity = f"{move[cell]} n11 {sign} {abs(start)}"
    return f"every table of the set has {identity} here: with {first} for n11 it is {due:g}"


def _error_in_proportion(
    place: str, name: str, printed: Summaries, ours: Posterior, cell: int
) -> Simulated:
    """One number moves all cells: errors are to each other as standard deviations."""
    spread = ours.sd.ravel()
    times = float(spread[cell] / spread[0])
    due = times * float(printed.errors[0])
    item = f"{name}: Monte Carlo error, {times:.0f} times that of the first cell"
    room = 0.00005 * (1 + times) + 1e-9
    return _simulated(place, item, printed.errors[cell], f"{due:.4f}", (due,), room)


def _claims(small: Table, conditional: Posterior, margins: Posterior) -> Iterator[Comparison]:
    rounded = publish(small, "[response|treatment]@1", eps="0.05")
    fitting = sum(not violations(rounded, table) for table in tables(reached(small)))
    yield _row(
        "reference set",
        "tables with the rounded rates that are sampled",
        "all possible",
        f"{fitting} of {count_tables(rounded)}",
        "the move of the rounded rates starts from the true table: it reaches 37 tables, most of "
        "which have other rates, and misses nearly all that have the published ones",
    )
    error = "so it is only for the 37 tables, which are made from the true one"
    for what, one, why in (
        ("the 37 tables", conditional, ""),
        ("all tables with the rounded rates", posterior(rounded, PRIOR_2X2), error),
    ):
        away, other = (np.abs(found.mean - small.counts) for found in (one, margins))
        said = _said("better", (away < other).ravel().tolist())
        yield _row(
            "conditional versus marginal", f"means as estimates, {what}", "better", said, why
        )


def _said(claim: str, holds: Sequence[bool]) -> str:
    """A claim about all cells, or for how many it holds."""
    return claim if all(holds) else f"{claim} for {sum(holds)} of {len(holds)} cells"


def _odds(small: Table, conditional: Posterior, margins: Posterior) -> Iterator[Comparison]:
    shown = (small, conditional.joint_mode, margins.joint_mode)
    for (name, (ratio, interval, log, logs)), table in zip(ODDS.items(), shown, strict=True):
        wide, narrow = (odds_ratios(table, *OWN, level=level) for level in ("0.95", "0.9"))
        first = table is small
        misprint = "a misprint: its logarithm, as printed, is that of 0.5039" if first else ""
        cut = "0.86147 was cut off, not rounded" if first else ""
        place = f"odds ratio, {name}"
        yield _row(place, "ratio", ratio, f"{wide.ratio:.4f}", misprint)
        yield _row(place, "interval, 95% as captioned", interval, _ends(wide.interval), NINETY)
        yield _row(place, "interval, 90%", interval, _ends(narrow.interval), cut)
        yield _row(place, "logarithm", log, f"{math.log(wide.ratio):.4f}")
        for level, found, error in (("95% as captioned", wide, NINETY), ("90%", narrow, "")):
            low, high = (math.log(end) for end in found.interval)
            yield _row(place, f"interval of it, {level}", logs, _ends((low, high)), error)


def _moves(domain: Domain) -> Iterator[Comparison]:
    keeping = [
        place + 1
        for place, move in enumerate(MOVES)
        if not np.reshape(move, (2, *domain.shape)).sum(axis=0).any()
    ]
    yield _row("Markov moves", "moves that keep [TR]", "1 2 3 4", _listed(keeping))
    exact = changing_move([["21/97", "76/97"], ["34/96", "62/96"]])
    yield _row("Markov moves", "last move", _listed(MOVES[-1][4:]), _listed(exact))
    rounded = changing_move(ROUNDED)
    yield _row("Markov moves", "last move, rounded rates", "1 4 -2 -3", _listed(rounded))


def _whole_table(trial: Table, small: Table) -> Iterator[Comparison]:
    """Three spreads of a run, and rounding, may be between."""
    ours = posterior(reached(trial), PRIOR_2X2X2)
    cells = zip(ORDINARY.mean, ORDINARY.median, ORDINARY.quantiles, strict=True)
    for cell, (labels, (mean, median, ends)) in enumerate(
        zip(trial.domain.cells(), cells, strict=False)
    ):
        one, middle = ours[labels], ours[labels].interval("0.95")
        for what, text, exact, shown in (
            ("mean", mean, (one.mean,), f"{one.mean:.2f}"),
            ("median", str(median), (one.median,), str(one.median)),
            ("quantiles", _interval(ends), middle, _interval(middle)),
        ):
            room = 3 * SPREAD[what][cell] + 0.05
            item = f"{labels_text(labels)}: {what} (within {room:.2f})"
            yield _simulated("2x2x2 posterior, ordinary", item, text, shown, exact, room)
    sets = list(tables(reached(small)))
    yield _row(
        "combining",
        f"equal average of n11 over {len(sets)} single-table sets, by the formula",
        str(sum(int(one.counts[0, 0]) for one in sets)),
        f"{Fraction(sum(int(one.counts[0, 0]) for one in sets), len(sets))}",
        "the formula adds the draws up and lacks 1/I",
    )
    yield from _averages(trial)


def _averages(trial: Table) -> Iterator[Comparison]:
    """The document's own estimators, of which it says that they resemble the posterior."""
    release, half = reached(trial), trial.domain.size // 2
    for name, printed, estimator in (("equal", EQUAL, "equal"), ("weighted", WEIGHTED, "moves")):
        combined = combine_sets(release, DRAWS, estimator=estimator, prior=PRIOR_2X2X2)
        drawn = combined.values[:, :half]
        low, middle, high = np.quantile(drawn, (0.025, 0.5, 0.975), axis=0).round().astype(int)
        means = " ".join(f"{mean:.1f}" for mean in drawn.mean(axis=0))
        place = f"2x2x2 posterior, {name} averaging"
        yield _row(place, "means", " ".join(printed.mean), means, SETS)
        yield _row(place, "medians", _listed(printed.median), _listed(middle), SETS)
        ours = " ".join(map(_interval, zip(low, high, strict=True)))
        shown = " ".join(map(_interval, printed.quantiles))
        yield _row(place, "quantiles", shown, ours, SETS)
    columns = (ORDINARY, EQUAL, WEIGHTED)
    widths = [[high - low for low, high in one.quantiles] for one in columns]
    smaller = [third < min(first, second) for first, second, third in zip(*widths, strict=True)]
    yield _row(
        "2x2x2 posterior, weighted averaging",
        "intervals beside the other two",
        "smaller",
        _said("smaller", smaller),
        "its own quantiles: [27,54] is wider than [24,50], [22,40] as wide as [21,39]",
    )


def _listed(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def _interval(numbers: Sequence[int]) -> str:
    return f"[{','.join(map(str, numbers))}]" if len(numbers) > 1 else str(numbers[0])


def _ends(ends: tuple[float, float]) -> str:
    return f"({ends[0]:.4f}, {ends[1]:.4f})"
