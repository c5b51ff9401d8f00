"""Redact then round, and cell keys: figures mean the counts that would have been printed so."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agreement.bruteforce import consistent_tables
from tests.unit.other_tools_files import PTABLE

import cellbounds as cb
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.other_tools.perturbation_tables import parse_ptable
from cellbounds.data.published import PublishedTable
from cellbounds.statements.notation import parse
from cellbounds.statements.published import release_of

ONE = cb.Domain({"a": ["x"]})
LAW = {"cell key": parse_ptable(PTABLE, "table")}


def printed(count: int, below: int, base: int, rule: str) -> object:
    """What is printed for a count, from the definition: hidden first, then rounded."""
    if count < below:
        return f"<{below}"
    down = count // base * base
    if rule == "nearest":
        return down + base if 2 * (count - down) >= base else down
    if rule == "half-even":
        return base * round(Fraction(count, base))
    return down if rule == "down" or down == count else down + base


@pytest.mark.parametrize("rule", ["nearest", "half-even", "down", "up"])
@pytest.mark.parametrize("below", [2, 3, 5, 7, 8, 10, 12])
@pytest.mark.parametrize("base", [2, 3, 5, 10])
def test_a_figure_means_the_counts_that_are_printed_so(below: int, base: int, rule: str) -> None:
    asked = f"[a]<{below}~{base}"
    assert parse(asked).notation == asked
    meant: dict[object, list[int]] = {}
    for count in range(60):
        meant.setdefault(printed(count, below, base, rule), []).append(count)
    for count in range(40):
        release = cb.publish(cb.Table(ONE, [count]), asked, count_rounding=rule, total=False)
        (margin,) = release.statements
        figure = printed(count, below, base, rule)
        assert margin.entries.tolist() == [figure]
        ends = int(margin.lower[0]), int(margin.upper[0])
        assert ends == (min(meant[figure]), max(meant[figure]))


def test_a_threshold_may_leave_one_count() -> None:
    margin = cb.Margin(["a"], [5], base=5, below=7)
    assert (margin.lower.tolist(), margin.upper.tolist()) == ([7], [7])
    with pytest.raises(cb.InvalidInput, match="no count of at least 8 is rounded to"):
        cb.Margin(["a"], [5], base=5, below=8)
    zero = cb.Margin(["a"], ["0-0", "1-7", 10], base=5, below=8)
    assert zero.upper.tolist() == [0, 7, 12]
    with pytest.raises(cb.InvalidInput, match="below=8; give 2 or more, together with the base"):
        cb.Margin(["a"], [10], below=8)


def test_releases_with_both_rules_survive_files_and_certificates(tmp_path) -> None:
    table = cb.Table(cb.Domain({"a": ["x", "y"], "b": ["0", "1"]}), [[3, 7], [14, 21]])
    release = cb.publish(table, "[a,b]<7~5", "[a]<7~5", total=False)
    assert [each.notation for each in release.statements] == ["[a,b]<7~5", "[a]<7~5"]
    assert cb.bounds(release)["x", "1"] == (7, 7)  # shown as 5, and not hidden
    release.write(tmp_path / "r.toml")
    assert cb.read_release(tmp_path / "r.toml").digest == release.digest
    checked = cb.verify_certificate(json.loads(json.dumps(cb.bounds(release).certificate())))
    assert checked.ok
    assert checked.settled


@st.composite
def small_tables(draw: st.DrawFn) -> PublishedTable:
    """Perturbed 2 x 2 or 1 x 3 tables with some perturbed totals."""
    shape = draw(st.sampled_from([("xy", "fm"), ("x", "fmg"), ("xy", "f")]))
    trees = {
        name: Hierarchy(list(codes), total="Total") for name, codes in zip("ab", shape, strict=True)
    }
    figures = st.sampled_from([0, 2, 3, 3, 4, 5])
    cells = list(itertools.product(*(tree.codes for tree in trees.values())))
    entries = {cell: draw(figures) for cell in cells if "Total" not in cell or draw(st.booleans())}
    return PublishedTable(where="made", hierarchies=trees, entries=entries, noise=LAW)


def weight(table: PublishedTable, counts: np.ndarray) -> Fraction:
    """How likely the figures are, each from the sum of its cells, by the table of probabilities."""
    lines, last = LAW["cell key"], max(LAW["cell key"])
    product = Fraction(1)
    for cell, shown in table.entries.items():
        part = counts
        for axis, (tree, code) in enumerate(zip(table.hierarchies.values(), cell, strict=True)):
            kept = [k for k, leaf in enumerate(tree.leaves) if code in (leaf, tree.total)]
            part = np.take(part, kept, axis=axis)
        true = int(part.sum())
        beyond = max(0, true - last)
        product *= lines[true - beyond].get(shown - beyond, Fraction(0))
    return product


@settings(max_examples=40)
@given(small_tables())
def test_the_posterior_under_cell_keys_is_the_sum_over_all_tables(table: PublishedTable) -> None:
    release = release_of([table])
    masses: dict[tuple[int, ...], Fraction] = {}
    for counts in consistent_tables(release, 6 * release.domain.size):
        mass = weight(table, counts)
        assert mass > 0  # bounds are the support
        masses[tuple(counts.ravel().tolist())] = mass
    if not masses:
        with pytest.raises(cb.InconsistentRelease):
            cb.posterior(release)
        return
    whole = sum(masses.values())
    answer = cb.posterior(release)
    for place, labels in enumerate(release.domain.cells()):
        expected: dict[int, Fraction] = {}
        for counts, mass in masses.items():
            expected[counts[place]] = expected.get(counts[place], Fraction(0)) + mass / whole
        found = answer[labels]
        assert found.values.tolist() == sorted(expected)
        chances = [float(expected[count]) for count in sorted(expected)]
        np.testing.assert_allclose(found.probabilities, chances, rtol=1e-11)
        assert cb.attainable(release)[labels].possible.smallest == min(expected)
