"""How useful tables are, compared with the true one: everything side by side."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.utility import association
from cellbounds.utility.association import Independence, OddsRatios, percent
from cellbounds.utility.display import Section, Shown, columns_of, json_float
from cellbounds.utility.distances import hellinger, matched, occupied, total_variation
from cellbounds.utility.loglinear import (
    LoglinearComparison,
    Margins,
    compared,
    fit_loglinear,
    model_text,
)


@dataclass(frozen=True, slots=True, eq=False)
class PairComparison:
    """Two variables in the true table and in each copy.

    Attributes
    ----------
    rows, columns
        The variables.
    true_odds, odds
        Odds ratios in the true table, and in each copy.
    true_test, tests
        Tests of independence in the true table, and in each copy.
    overlaps
        How far the intervals of the log odds ratios overlap: one line for each copy, one column
        for each ratio; NaN where both have no ends.
    """

    rows: str
    columns: str
    true_odds: OddsRatios
    odds: tuple[OddsRatios, ...]
    true_test: Independence
    tests: tuple[Independence, ...]
    overlaps: FloatArray

    @property
    def log_ratios(self) -> FloatArray:
        """Log odds ratios of the copies: one line for each copy, one column for each ratio."""
        return np.array([odds.log_ratios.ravel() for odds in self.odds])

    def lines(self, place: int) -> list[tuple[str, str, str, float, float]]:
        """One copy beside the true table: measure, variables, levels, true value, other value."""
        what = f"{self.rows}, {self.columns}"
        true, other = self.true_test, self.tests[place]
        lines = []
        for (name, mine, p), (_, its, its_p) in zip(true.statistics, other.statistics, strict=True):
            lines += [(name, what, "", mine, its), (f"{name} p", what, "", p, its_p)]
        lines.append(("degrees", what, "", float(true.degrees), float(other.degrees)))
        numbers = (self.true_odds.numbers(), self.odds[place].numbers(), self.overlaps[place])
        measures = ("odds ratio", "lower end", "upper end", "interval overlap")
        for labels, ours, theirs, overlap in zip(self.true_odds.cells(), *numbers, strict=True):
            levels = ", ".join(map(str, labels))
            pairs = zip(measures, (*ours, math.nan), (*theirs, float(overlap)), strict=True)
            lines += [(name, what, levels, first, second) for name, first, second in pairs]
        return lines

    def entries(self, copies: Sequence[str]) -> dict[str, Any]:
        """Plain values."""
        others = []
        for place, copy in enumerate(copies):
            about = {"odds": self.odds[place].entries(), "test": self.tests[place].entries()}
            overlap = [*map(json_float, self.overlaps[place].tolist())]
            others.append({"copy": copy, **about, "overlap": overlap})
        true = {"odds": self.true_odds.entries(), "test": self.true_test.entries()}
        return {"rows": self.rows, "columns": self.columns, "true": true, "copies": others}


def compare_pair(
    true: Table, others: Sequence[Table], rows: str, columns: str, level: object
) -> PairComparison:
    """Odds ratios and tests of two variables in tables over the same domain."""
    true_odds, *odds = (
        association.odds_ratios(each, rows, columns, level=level) for each in (true, *others)
    )
    true_test, *tests = (association.independence(each, rows, columns) for each in (true, *others))
    overlaps = np.array([interval_overlap(true_odds, other) for other in odds])
    results = (true_odds, tuple(odds), true_test, tuple(tests))
    return PairComparison(rows, columns, *results, overlaps)


def interval_overlap(true: OddsRatios, other: OddsRatios) -> FloatArray:
    """How much the intervals of the log odds ratios have in common, from 0 to 1.

    The length of what two intervals share, as a share of the one and as a share of the other,
    and the average of both (after Karr et al. 2006; 0 if they share nothing). An interval without
    ends has nothing in common with one that has them, of its own length, and all of the other's:
    one half. Two intervals without ends say nothing: NaN.
    """
    (low, high), (other_low, other_high) = true.log_intervals, other.log_intervals
    # Ends beyond the largest double are infinite on one side: such an interval has no length.
    with np.errstate(invalid="ignore"):
        lengths = high - low, other_high - other_low
        shared = np.minimum(high, other_high) - np.maximum(low, other_low)
    first, second = (np.isfinite(length) for length in lengths)
    overlaps = np.full(shared.shape, math.nan)
    overlaps[first ^ second] = 0.5
    both = first & second
    overlaps[both] = 0
    for length in lengths:
        # An interval too short for doubles is shared or it is not.
        share = (shared[both] >= 0).astype(np.float64)
        np.divide(shared[both], length[both], out=share, where=length[both] > 0)
        overlaps[both] += np.clip(share, 0, 1) / 2
    return overlaps.ravel()


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of the finite values; NaN where there are too few."""
    finite = [value for value in values if math.isfinite(value)]
    mean = statistics.fmean(finite) if finite else math.nan
    return mean, statistics.stdev(finite) if len(finite) > 1 else math.nan


VARIABLES = frozenset({"variables", "levels", "copy", "statistic"})


def _measures(copies: Sequence[str], measures: Mapping[str, Sequence[float]]) -> Section:
    lines = [*zip(copies, *measures.values(), strict=True)]
    if len(copies) > 1:
        means, spreads = zip(*map(mean_and_spread, measures.values()), strict=True)
        lines = [("mean", *means), ("spread", *spreads), *lines]
    return Section("compared with the true table", ["copy", *measures], lines, VARIABLES)


def _odds(copies: Sequence[str], level: float, pairs: Sequence[PairComparison]) -> Section:
    single = len(copies) == 1
    others = [copies[0], "its interval"] if single else ["geometric mean", "spread of log"]
    lines = []
    for pair in pairs:
        logs = pair.log_ratios
        cells = zip(pair.true_odds.cells(), pair.true_odds.numbers(), strict=True)
        for place, (labels, (ratio, *ends)) in enumerate(cells):
            if single:
                other, *its_ends = pair.odds[0].numbers()[place]
                shown = [other, its_ends]
            else:
                mean, spread = mean_and_spread(logs[:, place].tolist())
                shown = [math.exp(mean), spread]
            overlap, _ = mean_and_spread(pair.overlaps[:, place].tolist())
            where = [f"{pair.rows}, {pair.columns}", ", ".join(map(str, labels))]
            lines.append([*where, ratio, ends, *shown, overlap])
    header = ["variables", "levels", "true", f"{percent(level)} interval", *others, "overlap"]
    return Section("odds ratios, relative to the first levels", header, lines, VARIABLES)


def _tests(copies: Sequence[str], pairs: Sequence[PairComparison]) -> Section:
    single = len(copies) == 1
    lines = []
    for pair in pairs:
        for place, (name, value, p) in enumerate(pair.true_test.statistics):
            values = [test.statistics[place][1:] for test in pair.tests]
            shown = values[0] if single else mean_and_spread([value for value, _ in values])
            what = [f"{pair.rows}, {pair.columns}", name, pair.true_test.degrees]
            lines.append([*what, value, p, *shown])
    others = [copies[0], "its p"] if single else ["mean", "spread"]
    header = ["variables", "statistic", "degrees", "true", "p", *others]
    return Section("tests of independence", header, lines, VARIABLES)


def _models(copies: Sequence[str], loglinear: Sequence[LoglinearComparison]) -> Section:
    true = loglinear[0].true
    lines: list[list[object]] = [["true", true.g, true.degrees, true.g_p, None, None]]
    for copy, both in zip(copies, loglinear, strict=True):
        fit, term = both.other, both.largest_term_difference
        apart = both.largest_log_ratio, "undefined" if term is None else term
        lines.append([copy, fit.g, fit.degrees, fit.g_p, *apart])
    header = ["copy", "G", "degrees", "p", "largest log ratio", "largest parameter difference"]
    return Section(f"log-linear model {model_text(true.margins)}", header, lines, VARIABLES)


MOST_PAIRS = 45
"""Pairs of variables that are compared unless more are asked for: those of ten variables."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UtilityComparison(Shown):
    """Copies of a table beside the true one; for its owner, since it tells about the true table.

    Attributes
    ----------
    copies
        The names of the tables that were compared with the true one.
    level
        The confidence level of all intervals.
    hellinger, total_variation
        The distance of each copy from the true table; total variation in exact fractions.
    pairs
        Odds ratios and tests of independence for pairs of variables.
    loglinear
        For each copy, the model fitted to it and to the true table; empty if none was named.
    notes
        What to know before reading the numbers.
    """

    copies: tuple[str, ...]
    level: float
    hellinger: tuple[float, ...]
    total_variation: tuple[Fraction, ...]
    pairs: tuple[PairComparison, ...]
    loglinear: tuple[LoglinearComparison, ...]
    notes: tuple[str, ...]

    @property
    def overlap(self) -> tuple[float, ...]:
        """For each copy, how much its intervals overlap with the true ones on average.

        1 if every interval is the same, 0 if none touches; NaN if there is no interval.
        """
        overlaps = [pair.overlaps for pair in self.pairs]
        lines = np.hstack([np.zeros((len(self.copies), 0)), *overlaps])
        return tuple(mean_and_spread(line.tolist())[0] for line in lines)

    @property
    def measures(self) -> dict[str, tuple[float, ...]]:
        """What is said of each copy as a whole, by name."""
        by_name: dict[str, tuple[float, ...]] = {
            "Hellinger": self.hellinger,
            "total variation": tuple(map(float, self.total_variation)),
        }
        if self.pairs:
            by_name["interval overlap"] = self.overlap
        if self.loglinear:
            by_name["fit Hellinger"] = tuple(fits.hellinger for fits in self.loglinear)
            by_name["fit log ratio"] = tuple(fits.largest_log_ratio for fits in self.loglinear)
            by_name["G difference"] = tuple(fits.g_difference for fits in self.loglinear)
        return by_name

    @property
    def summary(self) -> dict[str, tuple[float, float]]:
        """Mean and spread (standard deviation) of each measure over the copies, finite ones."""
        return {name: mean_and_spread(values) for name, values in self.measures.items()}

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: copy, measure, variables, levels, true, other, level."""
        header = ("copy", "measure", "variables", "levels", "true", "other", "level")
        lines = []
        measures = self.measures.items()
        for place, copy in enumerate(self.copies):
            about = [(name, "", "", math.nan, values[place]) for name, values in measures]
            about += [line for pair in self.pairs for line in pair.lines(place)]
            lines += [(copy, *line, self.level) for line in about]
        return frame_of(columns_of(header, lines), backend)

    def entries(self) -> dict[str, Any]:
        """Plain values: undefined numbers as None, infinite ones and fractions as text."""
        distances = (self.copies, self.hellinger, self.total_variation)
        return {
            "level": self.level,
            "copies": list(self.copies),
            "distances": [
                {"copy": copy, "hellinger": apart, "total_variation": str(moved)}
                for copy, apart, moved in zip(*distances, strict=True)
            ],
            "summary": [
                {"measure": name, "mean": json_float(mean), "spread": json_float(spread)}
                for name, (mean, spread) in self.summary.items()
            ],
            "pairs": [pair.entries(self.copies) for pair in self.pairs],
            "loglinear": [
                {"copy": copy, **fits.entries()}
                for copy, fits in zip(self.copies, self.loglinear, strict=bool(self.loglinear))
            ],
            "notes": list(self.notes),
        }

    def _sections(self) -> list[Section]:
        copies, pairs = self.copies, self.pairs
        sections = [_measures(copies, self.measures)]
        sections += [_odds(copies, self.level, pairs), _tests(copies, pairs)] if pairs else []
        return [*sections, *([_models(copies, self.loglinear)] if self.loglinear else [])]

    def _title(self) -> str:
        return f"utility of {', '.join(self.copies[:3])}{', ...' * (len(self.copies) > 3)}"


def compare(
    true: Table,
    others: Table | Sequence[Table] | Mapping[str, Table],
    *,
    pairs: Iterable[tuple[str, str]] | None = None,
    margins: Margins | None = None,
    level: object = "0.95",
) -> UtilityComparison:
    """Compare released or synthetic tables with the true one, as a statistician would use them.

    Parameters
    ----------
    true
        The owner's table.
    others
        One table, several (synthetic copies), or tables by name. Their variables and levels may
        stand in another order.
    pairs
        Pairs of variables whose odds ratios and tests are compared; by default all pairs, as
        long as there are not more than 45.
    margins
        A log-linear model to fit to all of them, such as ``"[A,B][B,C]"``; by default none.
    level
        The confidence level of the intervals.

    Examples
    --------
    Document 002 compares an analgesic's trial with two tables that a reader would take for it:

    >>> from cellbounds import Table, datasets
    >>> from cellbounds.utility import compare
    >>> trial = datasets.read("analgesic").margin(["treatment", "response"])
    >>> guesses = {
    ...     "given rates": Table(trial.domain, [[19, 68], [38, 68]]),
    ...     "given margins": Table(trial.domain, [[28, 69], [27, 69]]),
    ... }
    >>> found = compare(trial, guesses, level="0.90")
    >>> [round(share, 3) for share in found.overlap]
    [0.993, 0.32]
    >>> print(compare(trial, guesses["given rates"], level="0.90"))
    compared with the true table
    copy   Hellinger  total variation  interval overlap
    other    0.03678          0.05181            0.9929
    <BLANKLINE>
    odds ratios, relative to the first levels
    variables     levels     true      90% interval  other     its interval  overlap
    treatment,    2, good  0.5039  (0.2947, 0.8615)    0.5  (0.291, 0.8593)   0.9929
      response
    <BLANKLINE>
    tests of independence
    variables            statistic    degrees   true        p  other    its p
    treatment, response  chi-squared        1  4.488  0.03413  4.507  0.03377
    treatment, response  G                  1   4.52  0.03351  4.583   0.0323
    """
    names, tables = _named(others)
    occupied(true, "the true table")
    same = [
        occupied(matched(true, table, f"the table {name!r}"), f"the table {name!r}")
        for name, table in zip(names, tables, strict=True)
    ]
    wanted, notes = _pairs(true, pairs)
    for name, table in zip(names, same, strict=True):
        if bool((true.structural & ~table.structural).any()):
            notes.append(f"{name} has people in cells that cannot hold anybody in the true table")
    fits = [] if margins is None else [fit_loglinear(table, margins) for table in (true, *same)]
    in_pairs = tuple(compare_pair(true, same, *pair, level) for pair in wanted)
    models = tuple(compared(fits[0], fit) for fit in fits[1:])
    notes += _said_of_pairs(in_pairs)
    notes += dict.fromkeys(note for fits in models for note in fits.notes)
    distances = [(hellinger(true, table), total_variation(true, table)) for table in same]
    apart, moved = zip(*distances, strict=True)
    return UtilityComparison(
        copies=names,
        level=association.checked_level(level),
        hellinger=apart,
        total_variation=moved,
        pairs=in_pairs,
        loglinear=models,
        notes=tuple(notes),
    )


def _named(
    others: Table | Sequence[Table] | Mapping[str, Table],
) -> tuple[tuple[str, ...], list[Table]]:
    if isinstance(others, Table):
        return ("other",), [others]
    if isinstance(others, Mapping):
        named = {str(name): table for name, table in others.items()}
        if len(named) < len(others):
            raise InvalidInput(f"two tables have the same name among {list(named)}; rename one")
    elif isinstance(others, Iterable) and not isinstance(others, str):
        named = {f"copy {place}": table for place, table in enumerate(others, start=1)}
    else:
        raise InvalidInput(
            f"others is a {type(others).__name__}; give a Table, a list of them, or a mapping "
            "from names to tables"
        )
    if not named:
        raise InvalidInput("no table to compare with the true one; give at least one")
    return tuple(named), list(named.values())


def _pairs(
    true: Table, pairs: Iterable[tuple[str, str]] | None
) -> tuple[list[tuple[str, str]], list[str]]:
    if pairs is None:
        several = [name for name in true.domain.names if len(true.domain.levels(name)) > 1]
        every = list(itertools.combinations(several, 2))
        left = len(every) - MOST_PAIRS
        note = f"the first {MOST_PAIRS} of {len(every)} pairs of variables; name others in pairs="
        return every[:MOST_PAIRS], [note] if left > 0 else []
    chosen = []
    for pair in pairs:
        names = (pair,) if isinstance(pair, str) else tuple(pair)
        if len(names) != 2:
            raise InvalidInput(f"pairs= has {pair!r}; give pairs of variables, such as ('A', 'B')")
        first, second = true.domain.distinct(names)
        chosen.append((first, second))
    return chosen, []


def _said_of_pairs(pairs: Sequence[PairComparison]) -> list[str]:
    odds = (ratios for pair in pairs for ratios in (pair.true_odds, *pair.odds))
    endless = sum(int(np.isinf(ratios.upper).sum()) for ratios in odds)
    tests = ((test, pair) for pair in pairs for test in (pair.true_test, *pair.tests))
    fewer = sum(test.degrees < pair.true_odds.ratios.size for test, pair in tests)
    notes = [
        f"{endless} odds ratios, over all tables, involve a count of zero or an impossible cell "
        "and have the interval (0, inf): the overlap is one half if one of the two has, undefined "
        "if both have",
        f"{fewer} tests, over all tables, have fewer degrees of freedom than their variables "
        "allow: levels that nobody has are left out, and cells that cannot hold anybody",
    ]
    return [*itertools.compress(notes, (endless, fewer))]
