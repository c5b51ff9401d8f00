"""Sums over the tables of one conditional against lists of all tables, in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from cellbounds import Conditional, Domain, Known, Release, Total
from cellbounds.errors import InconsistentRelease, InvalidInput
from cellbounds.inference.rows.row_fibre import rows_fibre
from cellbounds.model.priors import GammaPoisson, Multinomial, Poisson, Uniform
from cellbounds.model.structure import gather
from listing import listed, most_records
from strategies import LARGEST, releases

EFFORT = 1e9


def fibre_of(release: Release):
    """The fibre, or None if the release is found to be inconsistent."""
    facts = gather(release)
    if facts.conditional is None:
        assume(False)  # rows that add to one by their rule, beside knowledge of cells
    try:
        return rows_fibre(facts, EFFORT)
    except InconsistentRelease:
        return None


def all_tables(release: Release) -> list[tuple[int, ...]]:
    most = most_records(release, LARGEST)
    assert most is not None
    return [tuple(table) for table in listed(release, most).tolist()]


def in_order(release: Release, table: tuple[int, ...]) -> list:
    """What tables are sorted by: each row's sum, then its cells, then their parts."""
    conditional = next(s for s in release.statements if isinstance(s, Conditional))
    domain = release.domain
    omitted = [name for name in domain.names if name not in conditional.variables]
    names = [*conditional.variables, *omitted]
    sizes = {name: len(domain.levels(name)) for name in names}
    rows = math.prod(sizes[name] for name in conditional.given)
    columns = math.prod(sizes[name] for name in conditional.responses)
    counts = np.array(table).reshape(domain.shape)
    counts = counts.transpose([domain.names.index(name) for name in names])
    cells = counts.reshape(rows, columns, -1)
    return [[int(row.sum()), row.sum(axis=1).tolist(), row.tolist()] for row in cells]


@given(releases())
def test_counts_and_lists_every_table_once_in_order(release):
    tables = all_tables(release)
    fibre = fibre_of(release)
    if fibre is None:
        assert not tables
        return
    event(f"{min(len(tables), 3)} tables or more")
    assert fibre.count() == len(tables)
    found = [tuple(table.tolist()) for table in fibre.listed()]
    assert set(found) == set(tables)
    keys = [in_order(release, table) for table in found]
    assert all(a < b for a, b in itertools.pairwise(keys))


@st.composite
def numbers(draw, domain: Domain, pool: list[str]):
    """One number for all cells, or one for each."""
    if draw(st.booleans()):
        return draw(st.sampled_from([one for one in pool if one != "0"]))
    each = [draw(st.sampled_from(pool)) for _ in range(domain.size)]
    return np.array(each, dtype=object).reshape(domain.shape)


@st.composite
def beliefs(draw, domain: Domain):
    kind = draw(st.sampled_from(["uniform", "multinomial", "poisson", "gamma", "gamma"]))
    match kind:
        case "uniform":
            return Uniform()
        case "multinomial":
            return Multinomial(draw(numbers(domain, ["0", "1", "1/2", "3", "1/1000"])))
        case "poisson":
            return Poisson(draw(numbers(domain, ["0", "1", "5/2", "30", "1/1000"])))
    shape = draw(numbers(domain, ["1", "1/2", "193", "1/100", "3"]))
    scale = draw(numbers(domain, ["1", "1/4", "7"])) if draw(st.booleans()) else "1/4"
    return GammaPoisson(shape, scale)


@given(st.data())
def test_weighs_as_the_sum_over_all_tables(data):
    release = data.draw(releases())
    belief = data.draw(beliefs(release.domain))
    tables = all_tables(release)
    fibre = fibre_of(release)
    try:
        weights = belief.weights(release.domain)
    except InvalidInput:
        return  # all probabilities are zero
    if fibre is None:
        return
    exact = {
        table: math.prod((weights.exact(k, n) for k, n in enumerate(table)), start=Fraction(1))
        for table in tables
    }
    total = sum(exact.values())
    if total == 0:
        event("no weight")
        with pytest.raises(InvalidInput, match="no weight"):
            fibre.weighted(weights)
        return
    weighed = fibre.weighted(weights)
    assert weighed.error < 1e-12
    assert weighed.log_mass == pytest.approx(
        math.log(total.numerator) - math.log(total.denominator), abs=1e-9
    )
    for cell in range(release.domain.size):
        check_distribution(weighed.distribution(cell), exact, total, cell, weighed.error)
    check_mode(weighed.mode(), exact, fibre)
    for table in weighed.draw(3, np.random.default_rng(0)).tolist():
        assert exact[tuple(table)] > 0


def check_distribution(found, exact, total, cell, error):
    masses: dict[int, Fraction] = {}
    for table, weight in exact.items():
        if weight:
            masses[table[cell]] = masses.get(table[cell], 0) + weight
    assert found.values.tolist() == sorted(masses)
    for value, probability in zip(found.values, found.probabilities, strict=True):
        true = float(masses[int(value)] / total)
        assert abs(probability - true) <= (error + 1e-15) * true


def check_mode(found, exact, fibre):
    largest = max(exact.values())
    first = next(t for t in fibre.listed() if exact[tuple(t.tolist())] == largest)
    assert found.tolist() == first.tolist()


def two_way(rates, total, eps, parts=1, **options):
    domain = Domain(
        {"r": list(range(len(rates))), "c": list(range(len(rates[0]))), "p": list(range(parts))}
    )
    statement = Conditional(["c"], ["r"], rates=rates, eps=eps, **options)
    return Release(domain, [Total(total), statement])


FIXED = {
    "rounded": (two_way([["0.3", "0.7"], ["0.5", "0.5"]], 13, "0.2"), GammaPoisson(3, 1)),
    "three columns, different means": (
        two_way([["0.3", "0.3", "0.4"], ["0.5", "0.2", "0.3"]], 9, "0.25"),
        Poisson([[["1"], ["2"], ["3"]], [["1/2"], ["4"], ["1"]]]),
    ),
    "parts": (two_way([["0.4", "0.6"], ["0.7", "0.3"]], 7, "0.2", parts=2), Uniform()),
    "parts that share no factor": (
        two_way([["0.4", "0.6"]], 8, "0.3", parts=2),
        GammaPoisson(1, [[["1", "2"], ["1/3", "5"]]]),
    ),
    "N in a range": (
        Release(
            Domain({"r": [0, 1], "c": [0, 1]}),
            [
                Total(lower=6, upper=9),
                Conditional(["c"], ["r"], rates=[["0.5", "0.5"], ["0.2", "0.8"]], eps="0.2"),
                Known(["r", "c"], values={(0, 0): [1, 2, 4]}),
            ],
        ),
        Poisson(2),
    ),
}


@pytest.mark.parametrize("name", FIXED)
def test_draws_have_the_distribution_that_they_should(name):
    from scipy.stats import chi2

    release, belief = FIXED[name]
    fibre, weights = fibre_of(release), belief.weights(release.domain)
    tables = [tuple(table.tolist()) for table in fibre.listed()]
    exact = [
        math.prod((weights.exact(k, n) for k, n in enumerate(table)), start=Fraction(1))
        for table in tables
    ]
    size = 40 * len(tables)
    drawn = fibre.weighted(weights).draw(size, np.random.default_rng(20260))
    place = {table: k for k, table in enumerate(tables)}
    seen = np.bincount([place[tuple(t)] for t in drawn.tolist()], minlength=len(tables))
    expected = np.array([float(one / sum(exact)) * size for one in exact])
    # Tables that are hardly ever drawn are counted together.
    often = expected >= 5
    observed = np.append(seen[often], seen[~often].sum())
    awaited = np.append(expected[often], expected[~often].sum())
    observed, awaited = observed[awaited > 0], awaited[awaited > 0]
    statistic = ((observed - awaited) ** 2 / awaited).sum()
    assert chi2.sf(statistic, len(awaited) - 1) > 1e-4


@pytest.mark.parametrize("shape", [1, 40])
def test_long_rows_weigh_as_in_whole_numbers(shape):
    """Long enough for levelled, steep and level products, and for sums passed over as too faint."""
    total, eps = 2600, Fraction(1, 25)
    rates = [["0.3", "0.7"], ["0.5", "0.5"]]
    release = two_way(rates, total, "0.04")
    fibre = fibre_of(release)
    weighed = fibre.weighted(GammaPoisson(shape, "1/4").weights(release.domain))
    # N being given, the factors of the weights cancel: binomial coefficients remain.
    weight = [math.comb(n + shape - 1, n) for n in range(total + 1)]
    by_row: list[list[dict[int, int]]] = [[], []]
    for rows, (first, _) in zip(by_row, rates, strict=True):
        for n in range(total + 1):
            low = max(0, math.ceil((Fraction(first) - eps) * n))
            high = min(n, math.floor((Fraction(first) + eps) * n))
            rows.append({x: weight[x] * weight[n - x] for x in range(low, high + 1)} if n else {})
    sums = [[sum(one.values()) for one in rows] for rows in by_row]
    masses: dict[int, int] = {}
    for n in range(total + 1):
        for x, mass in by_row[0][n].items():
            masses[x] = masses.get(x, 0) + mass * sums[1][total - n]
    whole = sum(masses.values())
    found = weighed.distribution(0)
    assert found.values.tolist() == sorted(x for x, mass in masses.items() if mass)
    for value, probability in zip(found.values.tolist(), found.probabilities, strict=True):
        true = Fraction(masses[value], whole)
        if true > Fraction(1, 2**990):
            assert abs(probability - float(true)) <= (weighed.error + 1e-15) * float(true)
    if shape == 1:
        assert fibre.count() == whole
    drawn = weighed.draw(4000, np.random.default_rng(3))
    assert (drawn.sum(axis=1) == total).all()
    assert abs(drawn[:, 0].mean() - found.mean) < 5 * found.sd / math.sqrt(4000)


def test_long_rows_with_n_in_a_range_need_no_levelling():
    release = two_way([["0.3", "0.7"], ["0.5", "0.5"]], 2600, "0.04")
    ranged = Release(release.domain, [Total(lower=2500, upper=2600), release.statements[1]])
    weights = Poisson(600).weights(ranged.domain)
    levelled = fibre_of(ranged).weighted(weights)
    plain = rows_fibre(gather(ranged), EFFORT, level_from=10**9).weighted(weights)
    assert levelled.log_mass == pytest.approx(plain.log_mass, rel=1e-12)
    for cell in range(4):
        one, other = levelled.distribution(cell), plain.distribution(cell)
        assert one.values.tolist() == other.values.tolist()
        assert one.probabilities == pytest.approx(other.probabilities, rel=1e-11)


def test_long_rows_without_weight():
    release = two_way([["0.3", "0.7"], ["0.5", "0.5"]], 2600, "0.04")
    nobody = Multinomial([[["0"], ["0"]], [["1"], ["1"]]])
    with pytest.raises(InvalidInput, match="no weight"):
        fibre_of(release).weighted(nobody.weights(release.domain))
