"""Document 004, section 1: tables drawn with rounded conditionals taken as exact.

"Round the actual row conditional probabilities to nearby decimal-place approximations, rewrite
those approximate conditionals as fractions themselves, and then randomly select a table of counts
from the collection of contingency tables for which the new fractions are the conditional
probabilities" (what Slavković and Lee propose), on the delinquent children of documents 003 and
004.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import pytest

import cellbounds as cb
from cellbounds.errors import InconsistentRelease
from cellbounds.synthetic import synthesize

CHILDREN = cb.datasets.read("delinquent")
RATES = "[education|county]"

ONE_DIGIT = ["0.8 0.1 0.1 0.0", "0.3 0.2 0.2 0.3", "0.1 0.4 0.4 0.1", "0.3 0.4 0.2 0.1"]
TWO_DIGITS = [
    "0.75 0.05 0.15 0.05",
    "0.37 0.18 0.18 0.27",
    "0.12 0.40 0.40 0.08",
    "0.34 0.40 0.20 0.06",
]  # document 003, Table 5, and document 004, Table 7(b)

PRINTED_ONE_DIGIT = ["0.7 0.1 0.1 0.1", *ONE_DIGIT[1:]]  # document 003, Table 5


def fractions(lines: list[str]) -> list[list[Fraction]]:
    return [[Fraction(rate) for rate in line.split()] for line in lines]


def test_one_digit_cannot_have_135_children():
    """Every row sum is a multiple of ten."""
    with pytest.raises(InconsistentRelease, match=r"N=135 .* totals are 130 and 140; .*'nearest'"):
        synthesize(CHILDREN, RATES, digits=1)


def test_one_digit_with_the_nearest_total():
    made = synthesize(CHILDREN, RATES, digits=1, total="nearest", copies=20, rng=3)
    for table in made:
        assert table.total == 130
        assert table.conditional(["education"], given=["county"]).tolist() == fractions(ONE_DIGIT)
    assert cb.violations(made[0], made.release) == []


@pytest.mark.parametrize(("digits", "least"), [(2, 195), (3, 20 + 1000 + 25 + 1000)])
def test_more_digits_need_more_children(digits, least):
    with pytest.raises(InconsistentRelease, match=f"total is {least};"):
        synthesize(CHILDREN, RATES, digits=digits)


def test_two_digits_leave_one_table_of_195():
    made = synthesize(CHILDREN, RATES, digits=2, total="nearest", copies=2)
    rates = fractions(TWO_DIGITS)
    expected = [[rate * n for rate in row] for row, n in zip(rates, (20, 100, 25, 50), strict=True)]
    assert [table.counts.tolist() for table in made] == [expected, expected]


def test_the_printed_rounding_drawn_uniformly():
    """All 286 tables of 140 children with Table 5's one-digit rates, each as likely."""
    rates = [line.split() for line in PRINTED_ONE_DIGIT]
    conditional = cb.Conditional(["education"], ["county"], rates=rates, eps="0")
    release = cb.Release(CHILDREN.domain, [conditional, cb.Total(140)])
    draws = 20 * 286
    made = synthesize(release, copies=draws, rng=11)
    seen = Counter(tuple(table.counts.sum(axis=1).tolist()) for table in made)
    rows = product(range(10, 141, 10), repeat=4)
    assert set(seen) == {sums for sums in rows if sum(sums) == 140}
    assert len(seen) == comb(13, 3) == 286
    chi_squared = sum((count - 20) ** 2 / 20 for count in seen.values())
    assert chi_squared < 285 + 5 * (2 * 285) ** 0.5


def test_the_tables_tell_what_the_rounded_rates_tell():
    """403 tables agree with the two-digit rates and N within document 004's intervals, of which
    5 print these rates; the synthetic tables leave open N as well."""
    made = synthesize(CHILDREN, RATES, digits=2, total="nearest")
    synthetic, rounded, itself = made.compare(CHILDREN).disclosures
    assert rounded.tables == 5
    assert synthetic.tables > 403
    assert itself.tables == 1
    # Steps of 20, 100, 25 and 50: nothing below 195, then 215, and 205 is as near to both.
    assert "N in 0..205" in synthetic.statements
    assert itself.unsafe == 6
    assert rounded.unsafe >= synthetic.unsafe


def test_two_digits_to_the_nearest_leave_the_table_itself():
    """Tables that keep the nearest two-digit rates and N are no disguise: there is only one."""
    made = synthesize(cb.publish(CHILDREN, "[education|county]@2"), copies=2)
    assert made.original
    assert made.tables == [CHILDREN, CHILDREN]
