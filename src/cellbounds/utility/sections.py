"""A comparison of utility as blocks of text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from cellbounds.utility.display import Section, interval_text, number_text
from cellbounds.utility.loglinear_comparison import LoglinearComparison
from cellbounds.utility.models import model_text
from cellbounds.utility.odds import percent
from cellbounds.utility.pairs import PairComparison, mean_and_spread

__all__ = ["comparison_sections"]

VARIABLES = frozenset({"variables", "levels", "copy", "statistic"})


def comparison_sections(
    copies: Sequence[str],
    level: float,
    measures: Mapping[str, Sequence[float]],
    pairs: Sequence[PairComparison],
    loglinear: Sequence[LoglinearComparison],
) -> list[Section]:
    """One copy beside the true table, or the mean and spread of several."""
    sections = [_measures(copies, measures)]
    if pairs:
        sections += [_odds(copies, level, pairs), _tests(copies, pairs)]
    if loglinear:
        sections.append(_models(copies, loglinear))
    return sections


def _measures(copies: Sequence[str], measures: Mapping[str, Sequence[float]]) -> Section:
    lines = [
        [copy, *map(number_text, values)]
        for copy, *values in zip(copies, *measures.values(), strict=True)
    ]
    if len(copies) > 1:
        both = [mean_and_spread(values) for values in measures.values()]
        lines.insert(0, ["mean", *(number_text(mean) for mean, _ in both)])
        lines.insert(1, ["spread", *(number_text(spread) for _, spread in both)])
    return Section("compared with the true table", ["copy", *measures], lines, VARIABLES)


def _odds(copies: Sequence[str], level: float, pairs: Sequence[PairComparison]) -> Section:
    one = len(copies) == 1
    interval = f"{percent(level)} interval"
    others = [copies[0], "its interval"] if one else ["geometric mean", "spread of log"]
    lines = []
    for pair in pairs:
        logs, overlaps = pair.log_ratios, pair.overlaps
        cells = zip(pair.true_odds.cells(), pair.true_odds.numbers(), strict=True)
        for place, (labels, (ratio, *ends)) in enumerate(cells):
            if one:
                other, *its_ends = pair.odds[0].numbers()[place]
                shown = [number_text(other), interval_text(*its_ends)]
            else:
                mean, spread = mean_and_spread(logs[:, place].tolist())
                shown = [number_text(math.exp(mean)), number_text(spread)]
            overlap, _ = mean_and_spread(overlaps[:, place].tolist())
            lines.append(
                [
                    f"{pair.rows}, {pair.columns}",
                    ", ".join(map(str, labels)),
                    number_text(ratio),
                    interval_text(*ends),
                    *shown,
                    number_text(overlap),
                ]
            )
    header = ["variables", "levels", "true", interval, *others, "overlap"]
    title = "odds ratios, relative to the first levels"
    return Section(title, header, lines, VARIABLES)


def _tests(copies: Sequence[str], pairs: Sequence[PairComparison]) -> Section:
    one = len(copies) == 1
    lines = []
    for pair in pairs:
        true, others = pair.true_test, pair.tests
        for name, value, p, found in (
            (
                "chi-squared",
                true.chi_squared,
                true.chi_squared_p,
                [(test.chi_squared, test.chi_squared_p) for test in others],
            ),
            ("G", true.g, true.g_p, [(test.g, test.g_p) for test in others]),
        ):
            shown = found[0] if one else mean_and_spread([value for value, _ in found])
            what = [f"{pair.rows}, {pair.columns}", name, str(true.degrees)]
            lines.append([*what, *map(number_text, (value, p, *shown))])
    header = ["variables", "statistic", "degrees", "true", "p"]
    header += [copies[0], "its p"] if one else ["mean", "spread"]
    return Section("tests of independence", header, lines, VARIABLES)


def _models(copies: Sequence[str], loglinear: Sequence[LoglinearComparison]) -> Section:
    true = loglinear[0].true
    lines = [["true", number_text(true.g), str(true.degrees), number_text(true.g_p), "", ""]]
    lines += [
        [
            copy,
            number_text(one.other.g),
            str(one.other.degrees),
            number_text(one.other.g_p),
            number_text(one.largest_log_ratio),
            number_text(one.largest_term_difference),
        ]
        for copy, one in zip(copies, loglinear, strict=True)
    ]
    header = ["copy", "G", "degrees", "p", "largest log ratio", "largest parameter difference"]
    return Section(f"log-linear model {model_text(true.margins)}", header, lines, VARIABLES)
