"""Linear bounds of tables with hidden cells: exact, and what is proven if time is short."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb

REGIONS, AGES = 20, 14


def hidden_table(seed=3, rows=REGIONS, columns=AGES):
    """Counts by region and age with all totals, small ones and some others withheld."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(np.outer(rng.lognormal(1, 1.2, rows), rng.lognormal(0.3, 0.8, columns)))
    domain = cb.Domain({"region": list(range(rows)), "age": list(range(columns))})
    hidden = (counts > 0) & (counts < 3)
    # Every row and column that hides something hides at least three.
    hidden |= hidden.any(axis=1, keepdims=True) & (rng.random(counts.shape) < 0.25)
    shown = counts.astype(object)
    shown[hidden] = None
    said = [
        cb.Margin(["region", "age"], shown.tolist()),
        cb.Margin(["region"], counts.sum(axis=1)),
        cb.Margin(["age"], counts.sum(axis=0)),
    ]
    return cb.Release(domain, said)


def test_all_are_settled_within_a_budget():
    """Two-way tables with all totals: the relaxation has whole optima, those of the counts."""
    release = hidden_table()
    linear = cb.bounds(release, kind="linear", seconds=30)
    assert all(side.all() for side in linear.settled)
    sharp = cb.bounds(release, seconds=60)
    assert sharp.evidence is cb.Evidence.EXACT
    assert (sharp.lower < sharp.upper).sum() > 50
    assert (linear.lower == sharp.lower).all()
    assert (linear.upper == sharp.upper).all()
    assert all(isinstance(one, Fraction) for one in linear.lower.flat)


def test_optima_that_are_not_whole():
    """Three cells, each two of them adding to 3: all are 1.5 in real numbers."""
    domain = cb.Domain({"a": ["x", "y", "z"]})
    pairs = [{"x": 1, "y": 1}, {"y": 1, "z": 1}, {"x": 1, "z": 1}]
    release = cb.Release(domain, [cb.Linear(["a"], pair, equals=3) for pair in pairs])
    found = cb.bounds(release, kind="linear")
    assert found.lower.tolist() == found.upper.tolist() == [Fraction(3, 2)] * 3
    assert cb.bounds(release, kind="linear", over=["a"]).upper.tolist() == [Fraction(3, 2)] * 3


def test_a_spent_budget_leaves_what_is_proven():
    release = hidden_table()
    early = cb.bounds(release, kind="linear", seconds=1e-6)
    settled = cb.bounds(release, kind="linear")
    assert early.evidence is cb.Evidence.OUTER
    assert not all(side.all() for side in early.settled)
    assert (early.lower <= settled.lower).all()
    assert (early.upper >= settled.upper).all()
    low, high = early.settled
    assert (early.lower[low] == settled.lower[low]).all()
    assert (early.upper[high] == settled.upper[high]).all()
    assert "attained_lower" in early.to_dict()["cells"][0]
    assert "attained_lower" not in settled.to_dict()["cells"][0]


@pytest.mark.parametrize("about", [["region"], ["age", "region"]])
def test_contradictions_far_from_what_is_asked(about):
    """A part of the table that nobody asks about makes the whole impossible."""
    domain = cb.Domain({"region": ["n", "s"], "age": ["1", "2"]})
    release = cb.Release(
        domain,
        [
            cb.Linear(["region", "age"], {("n", "1"): 2, ("n", "2"): 1}, equals=4),
            cb.Linear(["region", "age"], {("n", "1"): 1, ("n", "2"): 2}, lower=9),
        ],
    )
    labels = ("s",) if about == ["region"] else ("1", "s")
    with pytest.raises(cb.InconsistentRelease):
        cb.bounds(release, kind="linear", over=about, cells=[labels])
