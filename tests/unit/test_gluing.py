"""Decomposition: tables that keep both sides, closed forms, and what survives from the parts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.model.structure import gather
from cellbounds.reductions.named_tables import CellTarget, NamedArray, glued, lookup_of
from cellbounds.results.cell_index import CellIndex
from cellbounds.results.solution import Query
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.general.search import Search
from cellbounds.solvers.general.solutions import GeneralSharp

GLUED = "parts glued at exact margins"


def domain_of(shape, names="abcdef"):
    return cb.Domain(
        {name: [f"{name}{k}" for k in range(n)] for name, n in zip(names, shape, strict=False)}
    )


def by_search(release, over=None):
    """The general method's answer about the release as a whole."""
    over = over or release.domain.names
    return GeneralSharp().solve(gather(release), Query("sharp", over, Budget()))


def same_as_search(release, over=None, values=True):
    answer = cb.bounds(release, over=over)
    assert answer.method == GLUED
    assert answer.evidence is cb.Evidence.EXACT
    worked = by_search(release, answer.over)
    low, high = worked.bounds()
    assert np.array_equal(answer.lower, low)
    assert np.array_equal(answer.upper, high)
    if values:
        found = cb.attainable(release, over=over)
        for labels, index in zip(answer.domain.cells(), np.ndindex(low.shape), strict=True):
            assert list(found[labels]) == list(worked.values(index))


# Tables ------------------------------------------------------------------------------------------

AXES = [("ab", "bc"), ("a", "b"), ("ab", "ab"), ("abc", "bcd"), ("ba", "cb"), ("abd", "bce")]


def glued_arrays(left, right, order, target=None):
    """Two arrays glued as lists of cells, as an array again."""
    made = glued(left.cells(), right.cells(), order, target)
    lengths = dict(zip(left.names, left.array.shape, strict=True))
    lengths |= dict(zip(right.names, right.array.shape, strict=True))
    array = np.zeros([lengths[name] for name in order], dtype=made.counts.dtype)
    np.add.at(array, made.columns, made.counts)
    return NamedArray(made.names, array)


@pytest.mark.parametrize(("left", "right"), AXES)
def test_glued_tables_keep_both_sides(left, right):
    rng = np.random.default_rng(2)
    levels = dict(zip("abcde", (2, 3, 2, 2, 3), strict=True))
    everything = sorted({*left, *right})
    for _ in range(20):
        whole = NamedArray(
            tuple(everything), rng.integers(0, 5, size=[levels[name] for name in everything])
        )
        ours, theirs = whole.summed(tuple(left)), whole.summed(tuple(right))
        order = rng.permutation(everything).tolist()
        made = glued_arrays(ours, theirs, order)
        assert made.names == tuple(order)
        assert made.array.min() >= 0
        assert np.array_equal(made.summed(left).array, ours.array)
        assert np.array_equal(made.summed(right).array, theirs.array)


@pytest.mark.parametrize(("left", "right"), [("ab", "bc"), ("a", "b"), ("abc", "bcd")])
def test_targets_are_hit_for_every_value_between_the_bounds(left, right):
    rng = np.random.default_rng(3)
    levels = dict(zip("abcd", (2, 3, 3, 2), strict=True))
    everything = sorted({*left, *right})
    border = [name for name in everything if name in left and name in right]
    for _ in range(6):
        whole = NamedArray(
            tuple(everything), rng.integers(0, 4, size=[levels[name] for name in everything])
        )
        ours, theirs = whole.summed(tuple(left)), whole.summed(tuple(right))
        # Targets over the border and some of the others.
        for size in range(len(everything) - len(border) + 1):
            for more in itertools.combinations([n for n in everything if n not in border], size):
                names = [name for name in everything if name in border or name in more]
                at = {name: int(rng.integers(levels[name])) for name in names}
                y, z, n = (
                    sum_at(whole.summed(side), at) for side in (tuple(left), tuple(right), border)
                )
                for value in range(max(0, y + z - n), min(y, z) + 1):
                    made = glued_arrays(ours, theirs, everything, CellTarget(at, value))
                    assert made.array.min() >= 0
                    assert np.array_equal(made.summed(left).array, ours.array)
                    assert np.array_equal(made.summed(right).array, theirs.array)
                    assert sum_at(made, at) == value


def sum_at(table, at):
    place = tuple(at.get(name, slice(None)) for name in table.names)
    return int(table.array[place].sum())


def test_tables_of_python_integers_are_glued_exactly():
    n = 10**20
    ours = NamedArray(("a", "b"), np.array([[n, 1], [2, n]], dtype=object))
    theirs = NamedArray(("b", "c"), np.array([[n + 2, 0], [n, 1]], dtype=object))
    made = glued_arrays(ours, theirs, ["c", "a", "b"], CellTarget({"b": 0, "a": 0, "c": 0}, n))
    assert made.array[0, 0, 0] == n
    assert np.array_equal(made.summed(["a", "b"]).array, ours.array)
    assert np.array_equal(made.summed(["b", "c"]).array, theirs.array)


def everywhere(names, shape):
    return lookup_of(tuple(names), CellIndex(tuple(shape)))


def test_axes_are_laid_out_by_name():
    table = NamedArray(("b", "a"), np.arange(6).reshape(2, 3))
    laid = everywhere("acb", (3, 4, 2)).laid_out(table)
    assert laid.shape == (3, 1, 2)
    assert laid[2, 0, 1] == 5
    assert np.array_equal(table.summed(["a"]).array, [3, 5, 7])
    assert np.array_equal(table.summed(["a", "b"]).array, table.array.T)


# Closed forms ------------------------------------------------------------------------------------

DECOMPOSABLE = {
    "independent": ((2, 3, 2), ["a", "b", "c"], ["", ""]),
    "Fréchet": ((2, 3, 2), ["ab", "bc"], ["b"]),
    "wide border": ((2, 2, 3, 2), ["abc", "bcd"], ["bc"]),
    "chain": ((2, 2, 3, 2, 2), ["ab", "bc", "cd", "de"], ["b", "c", "d"]),
    "star": ((3, 2, 2, 2, 2), ["ab", "ac", "ad", "ae"], ["a", "a", "a"]),
    "tree of cliques": ((2, 2, 2, 3, 2), ["abc", "cd", "bce"], ["c", "bc"]),
}


@pytest.mark.parametrize("name", DECOMPOSABLE)
def test_decomposable_margins_have_the_closed_form(name):
    """The smallest clique above; cliques less separators, or 0, below."""
    shape, cliques, separators = DECOMPOSABLE[name]
    rng = np.random.default_rng(7)
    for largest in (2, 4, 30):
        table = cb.Table(domain_of(shape), rng.integers(0, largest, size=shape))
        release = cb.Release(
            table.domain, [cb.Margin(list(one), table.margin(list(one)).counts) for one in cliques]
        )
        names = table.domain.names

        def laid(one, table=table, names=names, shape=shape):
            margin = table.margin(list(one)).counts if one else np.asarray(table.total)
            return everywhere(names, shape).laid_out(NamedArray(tuple(one), margin))

        upper, lower = laid(cliques[0]), laid(cliques[0])
        for one in cliques[1:]:
            upper, lower = np.minimum(upper, laid(one)), lower + laid(one)
        for one in separators:
            lower = lower - laid(one)
        answer = cb.bounds(release)
        assert answer.method == GLUED
        assert np.array_equal(answer.lower, np.broadcast_to(np.maximum(lower, 0), shape))
        assert np.array_equal(answer.upper, np.broadcast_to(upper, shape))
        values = cb.attainable(release)
        for labels in itertools.islice(table.domain.cells(), 0, None, 5):
            low, high = answer[labels]
            assert values[labels].to_list() == [[low, high, 1]]
            for value in {low, (low + high) // 2, high}:
                witness = values.witness(*labels, value=value)
                assert not cb.violations(witness, release)
                assert witness[labels] == value


@pytest.mark.parametrize("said", [["ab", "bc", "ac", "cd"], ["ab", "bc", "cd", "ad", "ae"]])
def test_reducible_sets_agree_with_the_search(said):
    rng = np.random.default_rng(1)
    shape = (2, 2, 2, 2, 2)[: len({*"".join(said)})]
    for _ in range(3):
        table = cb.Table(domain_of(shape), rng.integers(0, 3, size=shape))
        margins = [cb.Margin(list(one), table.margin(list(one)).counts) for one in said]
        same_as_search(cb.Release(table.domain, margins), values=False)


def test_one_side_loose():
    release = cb.Release(
        domain_of((2, 2, 2)),
        [
            cb.Margin(["a", "b"], [[3, 1], [2, 4]]),
            cb.Margin(["b", "c"], [["2-4", None], ["<3", None]]),
            cb.Known(["b", "c"], upper={("b1", "c1"): 3}),
        ],
    )
    same_as_search(release)
    same_as_search(release, ("c", "b"))


def test_the_border_reaches_a_part_that_does_not_publish_it():
    """The sums over b are known from [a,b] alone; without them c could hold more."""
    release = cb.Release(
        domain_of((2, 2, 2)),
        [
            cb.Margin(["a", "b"], [[3, 1], [2, 4]]),
            cb.Margin(["b", "c"], [[None, ">=1"], ["<9", 2]]),
        ],
    )
    answer = cb.bounds(release, over=["b", "c"])
    assert answer["b0", "c0"] == (0, 4)
    assert answer["b0", "c1"] == (1, 5)
    assert answer["b1", "c0"] == (3, 3)
    same_as_search(release)


def test_a_total_inside_a_range_is_agreed_with_the_border():
    release = cb.Release(
        domain_of((2, 2)),
        [cb.Margin(["a"], [2, 3]), cb.Margin(["b"], ["1-9", "<3"]), cb.Total(lower=1, upper=30)],
    )
    assert cb.bounds(release, over=["b"])["b0"] == (3, 5)
    same_as_search(release)


def test_a_loose_margin_over_the_border_does_not_replace_it():
    release = cb.Release(
        domain_of((2, 2, 2)),
        [
            cb.Margin(["a", "c"], [[1, 0], [1, 2]]),
            cb.Margin(["a"], [None, "3-5"]),
            cb.Margin(["a", "b"], [["<1", "1-2"], ["1-2", "1-2"]]),
        ],
    )
    assert cb.bounds(release, over=["b"])["b1"] == (2, 3)
    same_as_search(release)


def test_questions_that_merge_levels_are_left_to_the_search():
    domain = cb.Domain(
        {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"]},
        groupings={"g": cb.Grouping("a", {"x": ["a0", "a1"], "y": ["a2"]})},
    )
    release = cb.Release(domain, [cb.Margin(["a"], [2, 3, 4]), cb.Margin(["b"], [1, 8])])
    answer = cb.bounds(release, over=["g", "b"])
    assert answer.method == "integer search"
    assert answer["x", "b0"] == (0, 1)
    assert answer["x", "b1"] == (4, 5)


def test_parts_start_from_their_margin_of_the_owners_table(monkeypatch):
    started = []
    original = Search.start_from

    def start_from(self, counts):
        started.append((self.release.domain.names, counts.copy()))
        original(self, counts)

    monkeypatch.setattr(Search, "start_from", start_from)
    rng = np.random.default_rng(6)
    table = cb.Table(domain_of((3, 2, 2, 2)), rng.integers(0, 4, size=(3, 2, 2, 2)))
    release = cb.publish(table, "[a,b]", "[b,c]", "[a,c]", "[c,d]", total=False)
    answer = cb.bounds(release, start=table)
    assert answer.method == GLUED
    ((names, counts),) = started
    assert names == ("a", "b", "c")
    assert np.array_equal(counts, table.margin(["a", "b", "c"]).counts.ravel())
    assert np.array_equal(answer.upper, cb.bounds(release).upper)


@pytest.mark.parametrize("over", ["ab", "abde", "de", "f"])
def test_a_part_without_a_table_leaves_everything_unattained(over, monkeypatch):
    """The budget of one part was spent before it had a table: nothing is shown of the whole."""
    original = Search.first_table

    def first_table(self, seconds):
        return "d" not in self.release.domain.names and original(self, seconds)

    monkeypatch.setattr(Search, "first_table", first_table)
    monkeypatch.setattr(Search, "_add_if_near", lambda *_: False)
    loose = [["1-4", None], [None, "2-3"]]
    release = cb.Release(
        domain_of((2, 2, 2, 2, 2, 2)),
        [cb.Margin(["a", "b"], loose), cb.Margin(["d", "e"], loose), cb.Total(9)],
    )
    answer = cb.bounds(release, over=list(over), seconds=5)
    assert answer.method == GLUED
    assert answer.evidence is cb.Evidence.OUTER
    assert all(one is None for one in answer.attained_lower.flat)
    assert all(one is None for one in answer.attained_upper.flat)
    assert (answer.upper <= 9).all()
    values = cb.attainable(release, over=list(over), seconds=5)
    for labels, found in values.items():
        assert not found.settled
        assert list(found.known) == []
        with pytest.raises(cb.InvalidInput, match="not known to be attainable"):
            values.witness(*labels, value=0)
        with pytest.raises(cb.Unsettled):
            answer.explain(*labels)
    for index in np.ndindex(answer.lower.shape):
        assert answer._source.bound(index, 0) is None
        assert answer._source.bound(index, 1) is None


# Holes -------------------------------------------------------------------------------------------

HOLES = [
    cb.Margin(["a", "b"], [[6, 0], [2, 4]]),
    cb.Known(["b", "c"], values={("b0", "c0"): [0, 4, 8]}),
]


def test_holes_survive_gluing():
    release = cb.Release(domain_of((2, 2, 2)), HOLES)
    values = cb.attainable(release)
    # a0, b0 holds 6 of 8: of 0, 4 or 8 in c0 there are 0, 2-4 or 6 in a0.
    assert values["a0", "b0", "c0"] == {0, 2, 3, 4, 6}
    assert values["a1", "b0", "c0"] == {0, 1, 2}
    same_as_search(release)
    for value in (0, 2, 3, 4, 6):
        witness = values.witness("a0", "b0", "c0", value=value)
        assert witness["a0", "b0", "c0"] == value
        assert not cb.violations(witness, release)
    for value in (1, 5, 7):
        with pytest.raises(cb.InvalidInput, match="not attainable"):
            values.witness("a0", "b0", "c0", value=value)


def test_holes_are_filled_where_nothing_is_said():
    """A free variable lets any part of the summed cell be there."""
    release = cb.Release(domain_of((2, 2, 2, 2)), HOLES)
    values = cb.attainable(release)
    assert values["a0", "b0", "c0", "d1"] == set(range(7))
    assert cb.attainable(release, over=["c", "b", "a"])["c0", "b0", "a0"] == {0, 2, 3, 4, 6}
    for value in range(7):
        witness = values.witness("a0", "b0", "c0", "d1", value=value)
        assert witness["a0", "b0", "c0", "d1"] == value
        assert not cb.violations(witness, release)


# Questions ---------------------------------------------------------------------------------------

ASKED = [
    "abcd",
    "dcba",
    "cab",
    "bc",
    "ba",
    "ca",
    "b",
    "a",
    "d",
    "da",
    "cd",
    "e",
    "ae",
    "eb",
    "ebac",
]


@pytest.mark.parametrize("over", ASKED)
def test_questions_over_any_variables_in_any_order(over):
    rng = np.random.default_rng(11)
    shape = (2, 3, 2, 2, 2)
    table = cb.Table(domain_of(shape), rng.integers(0, 3, size=shape))
    release = cb.publish(table, "[a,b]", "[b,c]", "[c,d]<3", total=False)
    answer = cb.bounds(release, over=list(over))
    worked = by_search(release, tuple(over))
    low, high = worked.bounds()
    assert np.array_equal(answer.lower, low)
    assert np.array_equal(answer.upper, high)
    for labels in itertools.islice(answer.domain.cells(), 0, None, 4):
        for side, at in enumerate(("lower", "upper")):
            witness = answer.witness(*labels, at=at)
            assert not cb.violations(witness, release)
            assert witness.margin(list(over))[labels] == answer[labels][side]


def test_summing_over_the_border_is_left_to_the_search():
    release = cb.Release(
        domain_of((2, 2, 2)),
        [cb.Margin(["a", "b"], [[3, 0], [0, 3]]), cb.Margin(["b", "c"], [[3, 0], [0, 3]])],
    )
    answer = cb.bounds(release, over=["a", "c"])
    assert answer.method == "integer search"
    assert answer["a0", "c0"] == (3, 3)
    assert cb.bounds(release, over=["a", "b"]).method == GLUED
    assert cb.bounds(release, over=["c"]).method == GLUED


def test_only_free_variables_are_asked_for():
    release = cb.Release(domain_of((2, 2, 1)), [cb.Margin(["a"], [4, 5])])
    assert cb.bounds(release, over=["b"])["b0"] == (0, 9)
    assert cb.bounds(release, over=["c"])["c0"] == (9, 9)
    assert cb.bounds(release, over=["c", "a"])["c0", "a1"] == (5, 5)
    values = cb.attainable(release, over=["b"])
    for value in range(10):
        assert values.witness("b0", value=value).margin(["b"])["b0"] == value


def test_several_free_variables_of_which_one_is_asked_for():
    release = cb.Release(domain_of((2, 2, 2, 2)), [cb.Margin(["a"], [4, 5])])
    for over in (["d"], ["c", "a"], ["d", "b"], ["a", "d"]):
        answer = cb.bounds(release, over=over)
        for labels in answer.domain.cells():
            for side, at in enumerate(("lower", "upper")):
                witness = answer.witness(*labels, at=at)
                assert witness.margin(list(over))[labels] == answer[labels][side]


def test_a_known_part_is_checked_against_what_else_is_said_of_it():
    for said in (
        cb.Known(["a"], upper=3),
        cb.Margin(["a"], ["<4", None]),
        cb.Linear(["a"], [1, -1], lower=0),
    ):
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(cb.Release(domain_of((2, 2)), [cb.Margin(["a"], [4, 5]), said]), over=["b"])


def test_what_a_bound_rests_on():
    closed = cb.Release(
        domain_of((2, 2, 2)),
        [cb.Margin(["a", "b"], [[3, 1], [2, 4]]), cb.Margin(["b", "c"], [[4, 1], [2, 3]])],
    )
    worked = cb.bounds(closed)._source
    assert worked.proof((0, 0, 0), 0) == "closed form"
    mixed = cb.Release(domain_of((2, 2, 2)), [cb.Margin(["a", "b"], [[3, 1], [2, 4]]), HOLES[1]])
    assert cb.bounds(mixed)._source.proof((0, 0, 0), 1).startswith("closed form over ")


@pytest.mark.parametrize("over", [("a", "b", "c", "d"), ("d", "a"), ("c",), ("d",)])
def test_one_part_without_exact_margins_beside_a_free_variable(over):
    domain = cb.Domain({name: ["0", "1"] for name in "abcd"})
    counts = np.arange(16).reshape(2, 2, 2, 2) % 5
    table = cb.Table(domain, counts)
    release = cb.publish(table, "[a,b]~3", "[c|a]@1")
    answer = cb.bounds(release, over=over)
    assert answer.method == "integer search"
    assert answer.evidence is cb.Evidence.EXACT
    searched = GeneralSharp().solve(gather(release), Query("sharp", over, Budget()))
    for ours, theirs in zip((answer.lower, answer.upper), searched.bounds(), strict=True):
        assert np.array_equal(ours, theirs)
    labels = answer.domain.labels((1,) * len(over))
    values = cb.attainable(release, over=over)[labels]
    assert {0, values.largest} <= set(values) if "d" in over else values.smallest > 0
    for count in (values.smallest, values.largest):
        held = answer.witness(*labels, at="lower" if count == values.smallest else "upper")
        assert held.margin(list(over))[labels] == count


def test_a_release_that_says_nothing():
    domain = cb.Domain({"a": ["0", "1"], "b": ["0", "1"]})
    assert cb.bounds(cb.Release(domain, []))["0", "0"] == (0, cb.UNBOUNDED)
    assert cb.bounds(cb.Release(domain, [cb.Total(lower=2, upper=3)]))["0", "0"] == (0, 3)
