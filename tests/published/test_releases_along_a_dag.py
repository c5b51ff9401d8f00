"""Slavković, Zhu and Petrović: a release of each variable given its parents in a DAG.

Where every conditional has the margin of its parents beside it, or can work it out, the release
says as much as the margins of children with their parents. So bounds follow from the engine for
mixtures: no method of their own is needed.
"""

from __future__ import annotations

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.papers import document001

CENSUS = cb.datasets.read("census3")
TRIAL = cb.datasets.read("koch4")

CHAINS = [
    (CENSUS, ["[race]", "[income|race]", "[gender|income]"], ["[race,income]", "[income,gender]"]),
    (CENSUS, ["[race]", "[income|race]", "[gender|race]"], ["[race,income]", "[race,gender]"]),
    (
        CENSUS,
        ["[race]", "[gender|race]", "[income|gender,race]"],
        ["[gender,race,income]"],
    ),
    (
        TRIAL,
        ["[center]", "[status|center]", "[treatment|status]", "[recovery|treatment]"],
        ["[center,status]", "[status,treatment]", "[treatment,recovery]"],
    ),
]


@pytest.mark.parametrize(("table", "dag", "margins"), CHAINS)
def test_exact_conditionals_along_a_dag_say_what_their_margins_say(table, dag, margins):
    along = cb.bounds(cb.publish(table, *dag))
    fixed = cb.bounds(cb.publish(table, *margins))
    assert along.evidence is cb.Evidence.EXACT
    assert np.array_equal(along.lower, fixed.lower)
    assert np.array_equal(along.upper, fixed.upper)


def test_without_the_margin_of_the_root_the_fibre_is_a_union():
    """[mp3|gender] and N alone: one fibre for each margin of the root, and they share nothing."""
    table = cb.datasets.read("mp3")
    alone = cb.publish(table, "[mp3|gender]")
    roots = [tuple(found.margin(["gender"]).counts.tolist()) for found in cb.tables(alone)]
    assert len(set(roots)) == len(roots) == cb.count_tables(alone) == 9
    for root in roots:
        given = [*alone.statements, cb.Margin(["gender"], root)]
        assert cb.count_tables(cb.Release(table.domain, given)) == 1
    men = cb.attainable(alone, over=["gender"])["Male"]
    assert sorted(first for first, _ in roots) == list(men)


def test_rounded_conditionals_along_a_dag_are_bounded_too():
    """Seldom in no time: what is proven by then holds."""
    small = document001.collapsed()
    rounded = cb.bounds(
        cb.publish(small, "[race]", "[income|race]@2", "[gender|income]@2"), seconds=3
    )
    exact = cb.bounds(cb.publish(small, "[race]", "[income|race]", "[gender|income]"))
    assert (rounded.lower <= exact.lower).all() and (rounded.upper >= exact.upper).all()
    assert (rounded.lower <= small.counts).all() and (small.counts <= rounded.upper).all()
    assert (rounded.upper < small.total).all()
