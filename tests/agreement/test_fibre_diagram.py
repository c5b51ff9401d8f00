"""Diagrams of the consistent tables against the list of all of them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.inference.decision_diagram.components import components_of
from cellbounds.inference.decision_diagram.construction import construct
from cellbounds.inference.decision_diagram.diagram_fibre import diagram_fibre
from cellbounds.inference.decision_diagram.layers import transitions_of
from cellbounds.inference.solver_enumeration import searched_tables
from cellbounds.model.priors import GammaPoisson, Multinomial, Poisson, Uniform
from cellbounds.model.structure import gather
from listing import listed
from mixtures import Case, cases, margin_cases
from strategies import few

MANY = 1500
"""Tables up to which sums of fractions are made one by one."""


def fibre_of(release):
    return diagram_fibre(gather(release), 1e8)


def priors(domain):
    rising = np.arange(1, domain.size + 1).reshape(domain.shape)
    holes = rising % 3
    return [
        Uniform(),
        Multinomial(),
        GammaPoisson("3/2", "1/4"),
        GammaPoisson(rising, "2"),
        Poisson(rising),
        Multinomial(holes if holes.any() else 1),
    ]


def check_pieces(release):
    """Diagrams that are built in pieces are the same."""
    try:
        split = components_of(release)
    except cb.InconsistentRelease:
        return
    for part in split.components:
        order = np.arange(len(part.cells))
        made = transitions_of(order, part.sums, part.lower, part.upper)
        whole, built = construct(made, 1e8), construct(made, 1e8, at_once=1)
        assert (built.paths, built.steps, built.edges) == (whole.paths, whole.steps, whole.edges)
        for one, other in zip(whole.layers, built.layers, strict=True):
            assert [np.asarray(part).tolist() for part in one] == [
                np.asarray(part).tolist() for part in other
            ]


def check(case):
    release = case.release
    check_pieces(release)
    expected = listed(release, case.largest)
    fibre = fibre_of(release)
    assert fibre.count() == len(expected), release.to_dict()
    tables = list(fibre.listed())
    assert len(tables) == len(expected)
    assert {one.tobytes() for one in tables} == {one.tobytes() for one in expected}
    assert [one.tolist() for one in tables] == [one.tolist() for one in fibre.listed()]
    if not len(expected):
        with pytest.raises(cb.InconsistentRelease):
            fibre.weighted(Uniform().weights(release.domain))
    elif len(expected) <= MANY:
        for prior in priors(release.domain):
            check_sums(fibre, tables, prior.weights(release.domain))


def check_sums(fibre, tables, weights):
    seen = {}

    def weight(cell, count):
        if (cell, count) not in seen:
            seen[cell, count] = weights.exact(cell, count)
        return seen[cell, count]

    masses = []
    for table in tables:
        mass = Fraction(1)
        for cell, count in enumerate(table.tolist()):
            mass *= weight(cell, count)
        masses.append(mass)
    total = sum(masses)
    if not total:
        with pytest.raises(cb.InvalidInput):
            fibre.weighted(weights)
        return
    weighed = fibre.weighted(weights)
    assert 0 <= weighed.error < 1e-11
    assert weighed.log_mass == pytest.approx(float(np.log(float(total))), abs=1e-9)
    assert weighed.mode().tolist() == tables[masses.index(max(masses))].tolist()
    for cell in range(len(tables[0])):
        expected = Counter()
        for table, mass in zip(tables, masses, strict=True):
            expected[int(table[cell])] += mass / total
        found = weighed.distribution(cell)
        assert found.values.tolist() == sorted(v for v, mass in expected.items() if mass)
        for value, chance in zip(found.values.tolist(), found.probabilities, strict=True):
            exact = float(expected[value])
            assert abs(chance - exact) <= (weighed.error + 4e-16) * exact
    held = {table.tobytes() for table, mass in zip(tables, masses, strict=True) if mass}
    drawn = weighed.draw(3, np.random.default_rng(5))
    assert all(one.tobytes() in held for one in drawn)
    # In pieces everything is the same, to the last bit.
    pieces = fibre.weighted(weights, at_once=2)
    assert pieces.log_mass == weighed.log_mass
    assert pieces.mode().tolist() == weighed.mode().tolist()
    assert pieces.draw(3, np.random.default_rng(5)).tolist() == drawn.tolist()
    for cell in range(len(tables[0])):
        part, whole = pieces.distribution(cell), weighed.distribution(cell)
        assert part.values.tolist() == whole.values.tolist()
        assert part.probabilities.tolist() == whole.probabilities.tolist()


@few(2)
@given(cases())
def test_mixtures(case):
    check(case)


@few(3)
@given(margin_cases())
def test_exact_margins(case):
    check(case)


@st.composite
def two_way(draw):
    """Row and column sums, with zeros among them, one row or column, nobody, or a wrong total."""
    rows = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    columns = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    if len(rows) * len(columns) > 12:
        columns = columns[:3]
    if draw(st.integers(0, 3)):
        # Bring them together by shortening the larger ones.
        while sum(rows) != sum(columns):
            longer = rows if sum(rows) > sum(columns) else columns
            longer[longer.index(max(longer))] -= 1
    largest = min(6, max(sum(rows), sum(columns)))
    assume(max(sum(rows), sum(columns)) <= largest)
    domain = cb.Domain(
        {"r": [f"r{k}" for k in range(len(rows))], "c": [f"c{k}" for k in range(len(columns))]}
    )
    release = cb.Release(domain, [cb.Margin(["r"], rows), cb.Margin(["c"], columns)])
    return Case(release, np.zeros(domain.shape, dtype=np.int64), largest, ("r",))


@few(4)
@given(two_way())
def test_two_way_margins(case):
    check(case)


@few(6)
@given(cases())
def test_search_lists_every_table_in_order(case):
    expected = listed(case.release, case.largest)
    assume(len(expected) <= 60)
    found = [one.tolist() for one in searched_tables(case.release)]
    assert found == sorted(expected.tolist())
