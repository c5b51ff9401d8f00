"""The hypergeometric law of decomposable margins against all tables one by one."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.inference.hypergeometric import matched_tables
from cellbounds.model.priors import Multinomial
from cellbounds.model.structure import gather

MOST = 300
"""Tables that are compared one by one; releases with more are passed over."""

MODELS = [
    (("a", "b"), ["[a]", "[b]"]),
    (("a", "b"), ["[a,b]"]),
    (("a", "b", "c"), ["[a,b]", "[b,c]"]),
    (("a", "b", "c"), ["[a]", "[b]", "[c]"]),
    (("a", "b", "c"), ["[a,b]", "[c]"]),
    (("a", "b", "c"), ["[a,c]", "[b]", "[a]"]),
    (("a", "b", "c", "d"), ["[a,b]", "[b,c]", "[c,d]"]),
    (("a", "b", "c", "d"), ["[a,b]", "[a,c]", "[a,d]"]),
    (("a", "b", "c", "d"), ["[a,b]", "[c,d]"]),
]


@st.composite
def cases(draw):
    names, statements = draw(st.sampled_from(MODELS))
    shape = [draw(st.integers(1, 3 if len(names) < 4 else 2)) for _ in names]
    size = math.prod(shape)
    top = 2 if size <= 8 else 1
    counts = draw(st.lists(st.integers(0, top), min_size=size, max_size=size))
    domain = cb.Domain({name: list(range(n)) for name, n in zip(names, shape, strict=True)})
    table = cb.Table(domain, np.array(counts).reshape(shape))
    return cb.publish(table, *statements)


def all_tables(release):
    """Every table with the release's exact margins, cell by cell."""
    names, shape = release.domain.names, release.domain.shape
    sums = []
    for statement in release.statements:
        if isinstance(statement, cb.Total):
            sums.append((set(np.ndindex(shape)), statement.exact))
            continue
        axes = [names.index(name) for name in statement.variables]
        for labels in np.ndindex(statement.lower.shape):
            cells = {
                cell
                for cell in np.ndindex(shape)
                if all(cell[axis] == place for axis, place in zip(axes, labels, strict=True))
            }
            sums.append((cells, int(statement.lower[labels])))
    cells = list(np.ndindex(shape))
    through = [[k for k, (inside, _) in enumerate(sums) if cell in inside] for cell in cells]
    last = [max(cells.index(cell) for cell in inside) for inside, _ in sums]
    found: list[list[int]] = []

    def place(at, left, table):
        if len(found) > MOST:
            return
        if at == len(cells):
            found.append(table)
            return
        ends = [left[k] for k in through[at] if last[k] == at]
        top = min(left[k] for k in through[at])
        for count in {ends[0]} if ends else range(top + 1):
            if count <= top and all(end == count for end in ends):
                rest = [n - count if k in through[at] else n for k, n in enumerate(left)]
                place(at + 1, rest, [*table, count])

    place(0, [total for _, total in sums], [])
    return found


def matching(release):
    weights = Multinomial().weights(release.domain)
    return matched_tables(gather(release), weights)


@given(cases())
def test_cells_and_mass_agree_with_every_table(release):
    found = matching(release)
    assert found is not None
    tables = all_tables(release)
    assume(len(tables) <= MOST)
    weights = [Fraction(1, math.prod(map(math.factorial, table))) for table in tables]
    mass = sum(weights)
    assert found.log_mass == pytest.approx(math.log(mass), abs=1e-9)
    for cell in range(release.domain.size):
        exact: dict[int, Fraction] = {}
        for table, weight in zip(tables, weights, strict=True):
            exact[int(table[cell])] = exact.get(int(table[cell]), Fraction(0)) + weight / mass
        one = found.distribution(cell)
        assert one.values.tolist() == sorted(exact)
        for value, chance in exact.items():
            assert one[value] == pytest.approx(float(chance), rel=1e-12)


@given(cases(), st.integers(0, 100))
def test_draws_are_consistent(release, seed):
    drawn = matching(release).draw(3, np.random.default_rng(seed))
    for counts in drawn:
        table = cb.Table(release.domain, counts.reshape(release.domain.shape))
        assert cb.violations(table, release) == []


def test_draws_follow_the_law():
    from scipy.stats import chisquare

    domain = cb.Domain({name: [0, 1] for name in "abcd"})
    counts = np.array([1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0]).reshape(2, 2, 2, 2)
    release = cb.publish(cb.Table(domain, counts), "[a,b]", "[b,c]", "[c,d]")
    found = matching(release)
    tables = [tuple(map(int, table)) for table in all_tables(release)]
    assert 30 < len(tables) <= MOST
    weights = np.array([1 / math.prod(map(math.factorial, table)) for table in tables])
    drawn = found.draw(40_000, np.random.default_rng(3))
    place = {table: number for number, table in enumerate(tables)}
    seen = np.bincount([place[tuple(map(int, one))] for one in drawn], minlength=len(tables))
    expected = 40_000 * weights / weights.sum()
    assert expected.min() > 5
    assert chisquare(seen, expected).pvalue > 1e-6


@pytest.mark.parametrize(
    "statements",
    [["[a,b]", "[b,c]", "[a,c]"], ["[a,b]~5", "[b,c]"], ["[a|b]", "[b,c]"], ["[a,b]"]],
)
def test_other_releases_are_refused(statements):
    domain = cb.Domain({name: [0, 1] for name in "abc"})
    table = cb.Table(domain, np.arange(8).reshape(2, 2, 2))
    assert matching(cb.publish(table, *statements)) is None


def test_priors_with_a_shape_or_unequal_probabilities_are_refused():
    domain = cb.Domain({"a": [0, 1], "b": [0, 1]})
    release = cb.publish(cb.Table(domain, [[1, 2], [3, 4]]), "[a]", "[b]")
    for prior in (
        cb.priors.Uniform(),
        cb.priors.Poisson([[1, 2], [3, 4]]),
        cb.priors.GammaPoisson(1, 1),
    ):
        assert matched_tables(gather(release), prior.weights(domain)) is None


def test_every_decomposable_order_is_found():
    # A clique that shares nothing with the first may only be placed after its own neighbours.
    domain = cb.Domain({name: [0, 1] for name in "abcde"})
    table = cb.Table(domain, np.arange(32).reshape(2, 2, 2, 2, 2) % 3)
    for statements in itertools.permutations(["[a,b]", "[c,d]", "[b,c]", "[d,e]"]):
        found = matching(cb.publish(table, *statements))
        drawn = found.draw(2, np.random.default_rng(1))
        for counts in drawn:
            made = cb.Table(domain, counts.reshape(domain.shape))
            assert cb.violations(made, cb.publish(table, *statements)) == []


def test_margins_that_disagree_are_inconsistent():
    domain = cb.Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    release = cb.Release(
        domain, [cb.Margin(["a", "b"], [[1, 2], [3, 4]]), cb.Margin(["b", "c"], [[1, 3], [3, 4]])]
    )
    with pytest.raises(cb.InconsistentRelease, match=r"disagree about \[b\]"):
        matching(release)


def test_a_total_that_disagrees_with_the_margins_is_inconsistent():
    domain = cb.Domain({"a": [0, 1], "b": [0, 1]})
    margins = [cb.Margin(["a"], [3, 4]), cb.Margin(["b"], [5, 2])]
    assert matching(cb.Release(domain, [*margins, cb.Total(7)])) is not None
    for order in (1, -1):
        release = cb.Release(domain, [*margins, cb.Total(8)][::order])
        with pytest.raises(cb.InconsistentRelease, match="disagree about N"):
            matching(release)
