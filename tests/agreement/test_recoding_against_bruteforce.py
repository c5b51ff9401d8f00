"""Merged levels beside every way to merge them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb


def partitions(size: int) -> list[list[list[int]]]:
    """All ways to cut a row of levels into groups of neighbours."""
    found = []
    for cuts in itertools.product([False, True], repeat=size - 1):
        groups = [[0]]
        for place, cut in enumerate(cuts, 1):
            if cut:
                groups.append([])
            groups[-1].append(place)
        found.append(groups)
    return found


def fewest(counts: np.ndarray, small: int, zeros: bool) -> int | None:
    """The fewest levels that are lost so that no cell and no margin has a small count."""
    best = None
    for rows in partitions(counts.shape[0]):
        for columns in partitions(counts.shape[1]):
            merged = np.array([[counts[np.ix_(a, b)].sum() for b in columns] for a in rows])
            shown = []
            shown += [merged] if len(rows) > 1 and len(columns) > 1 else []
            shown += [merged.sum(axis=1)] if len(rows) > 1 else []
            shown += [merged.sum(axis=0)] if len(columns) > 1 else []
            if not shown:
                continue  # nothing is left but N
            least = 0 if zeros else 1
            if any(((one >= least) & (one <= small)).any() for one in shown):
                continue
            lost = sum(counts.shape) - len(rows) - len(columns)
            best = lost if best is None else min(best, lost)
    return best


@given(
    st.sampled_from([(2, 2), (2, 3), (3, 3), (4, 3)]),
    st.lists(st.sampled_from([0, 1, 2, 3, 7]), min_size=12, max_size=12),
    st.booleans(),
)
def test_the_fewest_levels_are_lost(shape, flat, zeros) -> None:
    counts = np.array(flat[: shape[0] * shape[1]]).reshape(shape)
    domain = cb.Domain({"a": list("wxyz")[: shape[0]], "b": list("stuv")[: shape[1]]})
    rule = cb.policies.SmallCounts(below=3, zeros=zeros, values=2)
    policy = cb.policies.Policy("house", rules=[rule])
    best = fewest(counts, 2, zeros)
    table = cb.Table(domain, counts)
    if best is None:
        with pytest.raises(cb.UnsupportedRelease, match="recoding cannot protect"):
            cb.protect(table, "[a+,b+]", policy=policy, method="recode", independent=False)
        return
    done = cb.protect(table, "[a+,b+]", policy=policy, method="recode", independent=False)
    assert (done.cost, done.bound) == (best, best)
    assert done.safe
    assert not cb.violations(table.with_domain(done.release.domain), done.release)


def test_branches_of_a_hierarchy_are_merged_first() -> None:
    counts = np.array([[1, 9], [9, 9], [9, 9], [9, 9]])
    domain = cb.Domain({"mun": ["m1", "m2", "m3", "m4"], "sex": ["f", "m"]})
    table = cb.Table(domain, counts).grouped(
        "county", of="mun", levels={"A": ["m1", "m2"], "B": ["m3", "m4"]}
    )
    done = cb.protect(
        table, "[mun,sex]", "[county,sex]", "[mun]", "[county]", method="recode", independent=False
    )
    assert done.safe
    assert done.cost == 1
    # Without the sexes m1 has ten people; merging m1 and m2 keeps more.
    assert done.merges in (
        (("mun", (("m1", "m2"), ("m3",), ("m4",))),),
        (("sex", None),),
    )
    across = cb.Table(domain, [[1, 9], [0, 9], [9, 9], [9, 9]]).grouped(
        "county", of="mun", levels={"A": ["m1", "m2"], "B": ["m3", "m4"]}
    )
    names = "[mun,sex]", "[county,sex]", "[mun]", "[county]", "[sex]"
    assert cb.protect(across, *names, method="recode", independent=False).safe
