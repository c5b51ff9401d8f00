"""Document 002: the odds ratios of the trial and of the two posterior modes."""

from __future__ import annotations

import math

import pytest

import cellbounds as cb
from cellbounds.utility import compare, odds_ratios

# Counts; the ratio and its interval, the log ratio and its interval, as printed.
PRINTED = {
    "original": (
        [[21, 76], [34, 62]],
        ("0.5079", "0.2947", "0.8614"),
        ("-0.6854", "-1.2218", "-0.1491"),
    ),
    "mode given conditionals": (
        [[19, 68], [38, 68]],
        ("0.5000", "0.2910", "0.8593"),
        ("-0.6931", "-1.2346", "-0.1517"),
    ),
    "mode given margins": (
        [[28, 69], [27, 69]],
        ("1.0370", "0.6137", "1.7524"),
        ("0.0364", "-0.4883", "0.5610"),
    ),
}

CORRECTED = {"0.5079": "0.5039", "0.8614": "0.8615"}
"""Misprints: exp(-0.6854) is 0.5039, and 0.5039 is 21 x 62 / (76 x 34)."""


def trial() -> cb.Table:
    return cb.datasets.read("analgesic").margin(["treatment", "response"])


def table(counts) -> cb.Table:
    return cb.Table(trial().domain, counts)


def shown(*values: float) -> tuple[str, ...]:
    return tuple(f"{value:.4f}" for value in values)


def test_the_original_is_the_shipped_table():
    assert trial() == table(PRINTED["original"][0])


@pytest.mark.parametrize("name", PRINTED)
def test_ratios_and_their_intervals_are_those_of_ninety_percent(name):
    counts, ratio, logs = PRINTED[name]
    found = odds_ratios(table(counts), "treatment", "response", level="0.90")
    right = tuple(CORRECTED.get(figure, figure) for figure in ratio)
    assert shown(found.ratio, *found.interval) == right
    low, high = found.log_intervals
    assert shown(found.log_ratios.item(), low.item(), high.item()) == logs
    assert found.level == 0.9
    assert "90% interval" in str(found)


def test_the_misprints_are_misprints():
    found = odds_ratios(trial(), "treatment", "response", level="0.90")
    assert shown(found.ratio) == ("0.5039",) != ("0.5079",)
    assert shown(found.interval[1]) == ("0.8615",) != ("0.8614",)
    assert found.ratio == pytest.approx(21 * 62 / (76 * 34), rel=1e-14)


@pytest.mark.parametrize("name", PRINTED)
def test_intervals_of_ninety_five_percent_are_wider_than_printed(name):
    counts, (_, *printed), _ = PRINTED[name]
    found = odds_ratios(table(counts), "treatment", "response", level="0.95")
    assert found.interval[0] < float(printed[0]) - 0.02
    assert found.interval[1] > float(printed[1]) + 0.05


def test_conditionals_keep_the_inference_and_margins_do_not():
    # The document's conclusion: only the mode given conditionals is significant as the original.
    copies = {name: table(counts) for name, (counts, *_) in PRINTED.items() if "mode" in name}
    found = compare(trial(), copies, level="0.90")
    (pair,) = found.pairs
    assert pair.true_odds.interval[1] < 1
    assert pair.odds[0].interval[1] < 1
    assert pair.odds[1].interval[0] < 1 < pair.odds[1].interval[1]
    # Overlaps by hand, of the printed intervals of the log ratio.
    ends = [[float(end) for end in logs[1:]] for _, _, logs in PRINTED.values()]
    (low, high), *others = ends
    for overlap, (other_low, other_high) in zip(found.overlap, others, strict=True):
        shared = min(high, other_high) - max(low, other_low)
        by_hand = (shared / (high - low) + shared / (other_high - other_low)) / 2
        assert math.isclose(overlap, by_hand, abs_tol=2e-4)
    assert found.overlap[0] > 0.99
    assert found.overlap[1] < 0.35
