"""Sets of row sums and the three ways to add them, against plain Python sets."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from cellbounds.errors import TooMuchWork
from cellbounds.model.rates.offset_sets import (
    ListedSums,
    OffsetSet,
    Residues,
    Window,
    leave_one_out,
    positions,
    runs_in,
    runs_of,
    sum_of_all,
)
from cellbounds.solvers.conditional import feasible
from cellbounds.solvers.conditional.feasible import SumSet, feasible_sums

FAR = 400


def offsets_of(row, upto=FAR):
    """The offsets by the definition in words: bits below size, then multiples of the step."""
    inside = {o for o in range(min(row.size, upto + 1)) if row.bits >> o & 1}
    if row.step:
        end = upto if row.last is None else min(row.last, upto)
        inside |= {o for o in range(row.size, end + 1) if o % row.step == 0}
    return inside


def random_row(rng, kinds=("saturated", "periodic", "finite", "capped")):
    kind = rng.choice(kinds)
    start = rng.randint(0, 6)
    if kind == "saturated":
        size = rng.randint(1, 9)
        return OffsetSet.make(start, rng.getrandbits(size) | 1, size, 1)
    if kind == "periodic":
        step = rng.randint(2, 6)
        return OffsetSet.make(start * step, 1, step, step)
    if kind == "finite":
        bits = rng.getrandbits(rng.randint(1, 12)) | 1
        return OffsetSet.make(start, bits, bits.bit_length(), 0)
    step = rng.randint(1, 4)
    size = step * rng.randint(1, 3)
    bits = 1 | sum(1 << o for o in range(0, size, step) if rng.random() < 0.5)
    return OffsetSet.make(start * step, bits, size, step, size + rng.randint(0, 12))


def sumset(sets, upto=FAR):
    made = {0}
    for one in sets:
        made = {a + b for a in made for b in one if a + b <= upto}
    return made


@pytest.mark.parametrize("seed", range(40))
def test_one_set_against_its_definition(seed):
    rng = random.Random(seed)
    for _ in range(20):
        row = random_row(rng)
        expected = offsets_of(row)
        assert 0 in expected
        offsets = np.arange(FAR)
        assert row.members(offsets).tolist() == [o in expected for o in range(FAR)]
        for probe in (0, 1, row.size, row.size + 1, 37):
            after = [o for o in expected if o >= probe]
            assert row.next_member(probe) == (min(after) if after else None)
        if row.step and row.last is None:
            assert row.largest is None
        else:
            assert row.largest == max(expected)
        assert row.saturated is (row.step == 1 and row.last is None)


@pytest.mark.parametrize("seed", range(20))
def test_making_a_set_keeps_its_members(seed):
    rng = random.Random(seed)
    for _ in range(30):
        step = rng.choice([0, 1, 1, 2, 3])
        unit = step or 1
        size = unit * rng.randint(1, 8)
        bits = sum(1 << o for o in range(0, size, unit) if rng.random() < 0.5)
        if step == 0 and not bits:
            continue
        start = unit * rng.randint(0, 5)
        row = OffsetSet.make(start, bits, size, step)
        members = {start + o for o in range(size) if bits >> o & 1}
        if step:
            members |= {start + o for o in range(size, FAR) if o % step == 0}
        assert row.start == min(members)
        assert 0 in offsets_of(row)
        assert {row.start + o for o in offsets_of(row) if row.start + o < FAR} == {
            m for m in members if m < FAR
        }
        if step == 1:
            # Saturation begins right after the last gap.
            gaps = np.flatnonzero(~row.members(np.arange(FAR // 2))).tolist()
            assert row.size == (max(gaps) + 1 if gaps else 0)


def test_bits_and_positions():
    assert positions(0b1000011001).tolist() == [0, 3, 4, 9]
    assert positions(0).tolist() == []
    assert list(runs_of(0b1000011001)) == [(0, 1), (3, 2), (9, 1)]
    assert list(runs_of(0)) == []
    assert runs_in(np.array([3, 4, 9, 11, 12])) == [(3, 4), (9, 9), (11, 12)]
    assert runs_in(np.array([], dtype=int)) == []


def held_offsets(algebra, held, upto):
    return {o for o in range(upto + 1) if algebra.holds(held, o)}


@pytest.mark.parametrize("seed", range(60))
def test_window_sums(seed):
    rng = random.Random(seed)
    rows = [random_row(rng) for _ in range(rng.randint(1, 4))]
    copies = [rng.randint(0, 4) for _ in rows]
    width = rng.randint(1, 70)
    window = Window(width)
    held = sum_of_all(window, rows, copies)
    sets = [offsets_of(row) for row, times in zip(rows, copies, strict=True) for _ in range(times)]
    assert held_offsets(window, held, width - 1) == {o for o in sumset(sets) if o < width}


@pytest.mark.parametrize("seed", range(60))
def test_sparse_sums(seed):
    rng = random.Random(seed)
    rows = [random_row(rng) for _ in range(rng.randint(1, 3))]
    copies = [rng.randint(0, 3) for _ in rows]
    slack = rng.randint(0, 70)
    sparse = ListedSums(slack)
    held = sum_of_all(sparse, rows, copies)
    sets = [offsets_of(row) for row, times in zip(rows, copies, strict=True) for _ in range(times)]
    assert set(held) == {o for o in sumset(sets) if o <= slack}


@pytest.mark.parametrize("seed", range(60))
def test_residue_sums(seed):
    rng = random.Random(seed)
    modulus = rng.randint(2, 7)
    rows = [random_row(rng) for _ in range(rng.randint(1, 3))]
    copies = [rng.randint(0, 3) for _ in rows]
    slack = rng.randint(0, 70)
    residues = Residues(modulus, slack)
    held = sum_of_all(residues, rows, copies)
    sets = [offsets_of(row) for row, times in zip(rows, copies, strict=True) for _ in range(times)]
    sets.append(set(range(0, FAR, modulus)))
    assert held_offsets(residues, held, slack) == {o for o in sumset(sets) if o <= slack}


@pytest.mark.parametrize("seed", range(30))
def test_leave_one_out(seed):
    rng = random.Random(seed)
    rows = [random_row(rng) for _ in range(rng.randint(1, 5))]
    copies = [rng.randint(1, 3) for _ in rows]
    window = Window(60)
    for place, held in enumerate(leave_one_out(window, rows, copies)):
        sets = [
            offsets_of(row)
            for other, row in enumerate(rows)
            for _ in range(copies[other] - (other == place))
        ]
        assert held_offsets(window, held, 59) == {o for o in sumset(sets) if o < 60}


def test_sums_of_huge_numbers():
    step = 10**20
    rows = [OffsetSet(0, 1, 1, step), OffsetSet(0, 1, 1, 3 * step // 2)]
    sparse = ListedSums(5 * step)
    held = sum_of_all(sparse, rows, [1, 1])
    assert set(held) == {
        a * step + b * 3 * step // 2 for a in range(6) for b in range(4) if 2 * a + 3 * b <= 10
    }
    residues = Residues(7, 10**25)
    held = residues.plus(residues.nothing(), OffsetSet(0, 1, 1, 10**20), 1)
    # 10**20 leaves 2 when divided by 7.
    assert residues.holds(held, 10**20)
    assert residues.holds(held, 10**20 + 7)
    assert not residues.holds(held, 10**20 - 7)


class CountedRow(OffsetSet):
    """Fails once it has been asked for far more members than may be kept."""

    asked = 0

    def next_member(self, offset):
        CountedRow.asked += 1
        assert CountedRow.asked < 10_000, "sums are kept without end before they are counted"
        return super().next_member(offset)


def test_sparse_sums_refuse_before_they_fill_the_memory():
    with pytest.raises(TooMuchWork, match="100 combinations"):
        ListedSums(10**9, most=100).plus(frozenset({0}), CountedRow(0, 1, 1, 7), 1)


def expected_sums(rows, copies, slack):
    """Feasible sums by trying every combination of offsets."""
    found = []
    for place in range(len(rows)):
        others = sumset(
            [
                offsets_of(row, slack)
                for other, row in enumerate(rows)
                for _ in range(copies[other] - (other == place))
            ],
            slack,
        )
        found.append(
            sorted(
                rows[place].start + o
                for o in offsets_of(rows[place], slack)
                if o <= slack and slack - o in others
            )
        )
    return found


def shown(result):
    assert not result or not result.unbounded
    return list(result.values) if result else []


PATHS = {
    "window": {},
    "residues": {"SMALL_WINDOW": 0, "FEW": 0, "RESIDUE_GAIN": 0},
    "large window": {"SMALL_WINDOW": 0, "FEW": 0, "RESIDUE_LIMIT": 0},
    "sparse": {"SMALL_WINDOW": 0, "FEW": 0, "RESIDUE_LIMIT": 0, "LARGE_WINDOW": 0},
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "kinds",
    [
        ("periodic",),
        ("finite", "periodic"),
        ("periodic", "capped"),
        ("saturated", "periodic", "finite", "capped"),
    ],
    ids=["exact", "finite", "capped", "all"],
)
def test_feasible_sums_on_every_path(monkeypatch, path, kinds):
    for name, value in PATHS[path].items():
        monkeypatch.setattr(feasible, name, value)
    rng = random.Random(f"{path}{kinds}")
    for _ in range(120):
        rows = [random_row(rng, kinds) for _ in range(rng.randint(1, 4))]
        copies = [rng.choice([1, 1, 2, 3]) for _ in rows]
        slack = rng.randint(0, 60)
        found = [shown(one) for one in feasible_sums(rows, copies, slack)]
        assert found == expected_sums(rows, copies, slack), (rows, copies, slack)


def test_the_paths_are_really_taken(monkeypatch):
    rows = [OffsetSet.make(0, 1, 4, 4), OffsetSet.make(0, 1, 6, 6)]
    kinds = {}
    for path, limits in PATHS.items():
        with monkeypatch.context() as patch:
            for name, value in limits.items():
                patch.setattr(feasible, name, value)
            kinds[path] = type(feasible.sum_algebra(rows, 50)[0])
    assert kinds == {
        "window": Window,
        "residues": Residues,
        "large window": Window,
        "sparse": ListedSums,
    }


@pytest.mark.parametrize("seed", range(10))
def test_all_paths_agree_on_larger_sets(monkeypatch, seed):
    rng = random.Random(seed)
    rows = [
        OffsetSet.make(step * rng.randint(1, 3), 1, step, step)
        for step in rng.sample(range(2, 40), 4)
    ]
    copies = [rng.randint(1, 3) for _ in rows]
    slack = rng.randint(200, 2000)
    answers = []
    for limits in PATHS.values():
        with monkeypatch.context() as patch:
            for name, value in limits.items():
                patch.setattr(feasible, name, value)
            answers.append([shown(one) for one in feasible_sums(rows, copies, slack)])
    assert all(answer == answers[0] for answer in answers[1:])
    assert answers[0] == expected_sums(rows, copies, slack)


def test_sets_of_sums_from_both_ends():
    both = SumSet([(10, 0b1011), (20, 29, 3), (40, 0b1)])
    members = [10, 11, 13, 20, 23, 26, 29, 40]
    assert both.ends(100) == members
    assert both.ends(3) == members[:3]
    assert both.ends(100, downwards=True) == members[::-1]
    assert both.ends(2, downwards=True) == [40, 29]
    assert list(both.values) == members
    assert not both.unbounded
    mixed = SumSet([(0, 12, 4), (2, 10, 4)], mixed=True)
    assert mixed.ends(4) == [0, 2, 4, 6]
    assert mixed.ends(3, downwards=True) == [12, 10, 8]
    endless = SumSet([(5, None, 2)])
    assert endless.unbounded
    assert endless.ends(3) == [5, 7, 9]
    assert not SumSet([(3, 0)])


def test_a_last_between_members_is_skipped_from_above():
    assert SumSet([(1, 9, 5)]).ends(5, downwards=True) == [6, 1]


def test_brute_force_here_is_right():
    rows = [OffsetSet(0, 0b101, 3, 0), OffsetSet(2, 1, 1, 3)]
    # offsets {0, 2} and {0, 3, 6, ...} that add to 5: 2 + 3.
    assert expected_sums(rows, [1, 1], 5) == [[2], [5]]
    assert sorted(itertools.islice(sorted(offsets_of(rows[1])), 4)) == [0, 3, 6, 9]
