"""Sets of attainable counts."""

from __future__ import annotations

import itertools
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.results.values import Unbounded


def spelled(progressions, most=10**4):
    """The members by plain Python."""
    return sorted(
        {
            value
            for first, last, step in progressions
            for value in range(first, (most if last is None else last) + 1, step)
        }
    )


def test_runs_from_values():
    values = cb.ValueSet.from_values([9, 3, 5, 4, 4])
    assert list(values) == [3, 4, 5, 9]
    assert list(values.runs) == [(3, 5), (9, 9)]
    assert len(values) == 4
    assert (values.smallest, values.largest) == (3, 9)
    assert repr(values) == "ValueSet(3-5, 9)"


@pytest.mark.parametrize(
    ("intervals", "runs"),
    [
        ([(1, 3), (4, 6)], [(1, 6)]),
        ([(1, 3), (5, 6)], [(1, 3), (5, 6)]),
        ([(1, 9), (2, 3)], [(1, 9)]),
        ([(5, 6), (1, 2), (2, 5)], [(1, 6)]),
        ([(1, 2), (4, None), (6, 9)], [(1, 2), (4, None)]),
        ([(4, None), (1, 3)], [(1, None)]),
        ([(1, 5), (2, None)], [(1, None)]),
    ],
)
def test_intervals_that_touch_become_one(intervals, runs):
    assert list(cb.ValueSet.from_intervals(intervals).runs) == runs


def test_progressions():
    values = cb.ValueSet([(3, 27, 3)])
    assert list(values) == list(range(3, 28, 3))
    assert len(values) == 9
    assert 12 in values
    assert 13 not in values
    assert 30 not in values
    assert list(values.runs) == [(n, n) for n in range(3, 28, 3)]
    assert list(reversed(values)) == list(range(27, 2, -3))


def test_interleaved_progressions_make_runs():
    values = cb.ValueSet([(0, 10, 2), (1, 9, 2), (20, 20, 1)])
    assert list(values.runs) == [(0, 10), (20, 20)]
    assert list(values) == [*range(11), 20]
    assert list(reversed(values)) == [20, *range(10, -1, -1)]
    assert values == set(range(11)) | {20}


def test_dense_progressions_that_overlap_make_runs_of_any_length():
    """Blocks of numbers are marked: runs go on across their ends, and gaps of any size are left."""
    rng = random.Random(3)
    for _ in range(200):
        progressions = []
        for _ in range(rng.randint(2, 5)):
            first = rng.choice([0, 5, 1000, 10**20]) + rng.randint(0, 60)
            step = rng.choice([1, 2, 3, 64, 65, 700])
            progressions.append((first, first + rng.randint(0, 3000), step))
        spans = [range(low, high + 1, step) for low, high, step in progressions]
        members = sorted(set(itertools.chain.from_iterable(spans)))
        starts = [n for n, before in zip(members, [-9, *members], strict=False) if n > before + 1]
        ends = [n for n, after in zip(members, [*members[1:], None], strict=True) if after != n + 1]
        runs = cb.ValueSet(progressions).runs
        assert list(runs) == list(zip(starts, ends, strict=True))


def test_a_last_that_is_no_member_is_not_the_largest():
    values = cb.ValueSet([(0, 7, 3)])
    assert list(values) == [0, 3, 6]
    assert values.largest == 6
    assert len(values) == 3


def disjoint_progressions(rng):
    """Progressions without a common member, some without end."""
    chosen, taken = [], set()
    for _ in range(rng.randint(1, 4)):
        first, step = rng.randint(0, 30), rng.randint(1, 5)
        last = None if rng.random() < 0.2 else first + step * rng.randint(0, 8)
        members = set(spelled([(first, last, step)], 200))
        if members & taken:
            continue
        taken |= members
        chosen.append((first, last, step))
    return chosen


def test_random_sets_against_plain_python():
    rng = random.Random(11)
    for _ in range(400):
        progressions = disjoint_progressions(rng)
        values = cb.ValueSet(progressions)
        members = spelled(progressions, 200)
        upto = [value for value in members if value <= 150]
        assert list(itertools.takewhile(lambda v: v <= 150, values)) == upto
        assert [n for n in range(151) if n in values] == upto
        assert values.smallest == members[0]
        endless = any(last is None for _, last, _ in progressions)
        assert values.unbounded is endless
        if endless:
            assert values.largest is cb.UNBOUNDED
            assert values.size is cb.UNBOUNDED
        else:
            assert values.largest == members[-1]
            assert len(values) == len(members)
            assert values == set(members)
            assert list(reversed(values)) == members[::-1]
            again = cb.ValueSet.from_values(members)
            assert again == values
            assert list(again.runs) == list(values.runs)
            assert cb.ValueSet.from_values([*members, members[-1] + 2]) != values


def test_membership_of_other_things():
    values = cb.ValueSet.from_values([0, 1])
    assert True not in values
    assert 1.0 not in values
    assert "1" not in values
    assert -1 not in values


def test_numpy_integers_are_integers():
    # A count looked up in a table's array is one.
    values = cb.ValueSet.from_values([3, 4, 9])
    assert np.int64(4) in values
    assert np.int64(5) not in values
    assert np.float64(4) not in values
    assert np.bool_(True) not in cb.ValueSet.from_values([1])
    assert values == set(np.array([3, 4, 9]))


def test_equality_with_python_sets():
    values = cb.ValueSet([(3, 9, 3)])
    assert values == {3, 6, 9}
    assert values == frozenset({3, 6, 9})
    assert values != {3, 6}
    assert values != {3, 6, 10}
    assert values != [3, 6, 9]
    with pytest.raises(TypeError):
        hash(values)


def test_equality_of_sets_without_end():
    endless = cb.ValueSet([(5, None, 1)])
    assert endless == cb.ValueSet([(5, 7, 1), (8, None, 1)])
    assert endless != cb.ValueSet([(6, None, 1)])
    assert endless != cb.ValueSet([(5, 100, 1)])
    assert endless != {5, 6}


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ([(0, None, 2)], [(0, 0, 1), (2, None, 2)], True),
        ([(0, None, 2)], [(0, None, 4), (2, None, 4)], True),
        ([(0, None, 2)], [(0, 0, 1), (2, None, 4)], False),
        ([(0, None, 2)], [(0, None, 3)], False),
    ],
)
def test_equality_of_endless_progressions_ends(left, right, same):
    code = f"import cellbounds as cb; print(cb.ValueSet({left!r}) == cb.ValueSet({right!r}))"
    try:
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=5, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail("comparing two sets without end never ends")
    assert run.stdout.strip() == str(same), run.stderr[-200:]


def test_sets_without_end():
    values = cb.ValueSet([(2, 4, 2), (10, None, 5)])
    assert values.unbounded
    assert values.largest is cb.UNBOUNDED
    assert list(itertools.islice(values, 5)) == [2, 4, 10, 15, 20]
    assert 10**30 in values
    assert 10**30 + 1 not in values
    with pytest.raises(cb.InvalidInput, match="no end"):
        len(values)
    with pytest.raises(cb.InvalidInput, match="no largest"):
        reversed(values)
    assert values
    assert values.text().startswith("2, 4, 10, 15, 20")
    assert cb.ValueSet([(4, None, 1)]).text() == "4-"


def test_sets_of_any_magnitude():
    values = cb.ValueSet([(0, 10**30, 10**10)])
    assert values.size == 10**20 + 1
    assert 3 * 10**10 in values
    assert values.largest == 10**30
    run = cb.ValueSet([(5, 10**40, 1)])
    assert list(run.runs) == [(5, 10**40)]


def test_text_is_cut():
    values = cb.ValueSet([(0, 98, 2)])
    assert values.text(3) == "0, 2, 4, ..."
    assert cb.ValueSet.from_values([1, 2, 5]).text(2) == "1-2, 5"
    assert len(repr(values)) < 60


def test_as_lists():
    values = cb.ValueSet([(5, None, 1), (0, 2, 2)])
    assert values.to_list() == [[0, 2, 2], [5, None, 1]]


def test_unbounded_is_larger_than_everything():
    unbounded, large = cb.UNBOUNDED, 10**100
    again = Unbounded("unbounded")
    assert again is unbounded
    assert unbounded > large
    assert unbounded >= large
    assert large < unbounded
    assert large <= unbounded
    assert not unbounded < large
    assert not unbounded <= large
    assert unbounded == again
    assert not unbounded > again
    assert unbounded >= again
    assert unbounded <= again
    assert unbounded != 5
    assert min(unbounded, 7) == 7
    assert max(7, unbounded) is unbounded
    assert repr(unbounded) == "UNBOUNDED"
    assert pickle.loads(pickle.dumps(unbounded)) is unbounded
    assert {unbounded: 1}[again] == 1
