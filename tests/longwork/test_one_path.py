"""The same answer, bit for bit, whoever works: this process, others, threads, in any order."""

from __future__ import annotations

import multiprocessing
import random
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.model import linear_programs
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.general import search, single_questions, strategy
from cellbounds.solvers.general.cp_sat import Efforts, IntegerProgram


def skewed(seed, shape, mean=4.0):
    rng = np.random.default_rng(seed)
    weights = np.exp(rng.normal(scale=1.6, size=shape))
    return cb.read_table(rng.poisson(mean * weights / weights.mean()))


def all_margins(table, ways):
    said = [
        cb.Margin(names, table.margin(names).counts)
        for names in combinations(table.domain.names, ways)
    ]
    return cb.Release(table.domain, [*said, cb.Total(table.total)])


def mixture(seed):
    table = skewed(seed, (3, 4, 3))
    a, b, c = table.domain.names
    return cb.publish(table, f"[{c}|{a},{b}]@1", f"[{a},{c}]", f"[{b}]~5")


RELEASES = {
    "margins": all_margins(skewed(0, (3, 3, 3, 3)), 2),
    "mixture": mixture(1),
}


def told(release, executor=None, values=False):
    """Everything that an answer rests on: bounds, proofs, witnesses; perhaps values and theirs."""
    answer = cb.attainable(release, budget=cb.Budget(workers=executor))
    source = answer._source
    if values:
        source.gather(np.ndindex(release.domain.shape))
    found = source.search
    runs = [
        (
            place,
            one.values.to_list(),
            [(r.first, r.by, r.steps, r.table.tolist()) for r in one.runs],
        )
        for place, one in sorted(source._values.items())
    ]
    tables = [found.pool.at(number).tolist() for number in range(len(found.pool))]
    return *found.proven.tolist(), found.proofs.tolist(), tables, runs


class Unruly(Executor):
    """Does what it is given in an order of its own, each in another thread."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._waiting = []

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self._waiting.append((future, fn, args, kwargs))
        if len(self._waiting) == 1:
            threading.Timer(0.02, self._work).start()
        return future

    def _work(self):
        todo, self._waiting = self._waiting, []
        self._random.shuffle(todo)
        for future, fn, args, kwargs in todo:
            if future.set_running_or_notify_cancel():
                future.set_result(fn(*args, **kwargs))


@pytest.mark.parametrize("name", RELEASES)
def test_the_order_of_the_helpers_makes_no_difference(name):
    release = RELEASES[name]
    alone = told(release)
    assert alone == told(release)
    assert len(alone[3]) > 1
    for seed in (1, 2):
        assert told(release, Unruly(seed)) == alone


def test_processes_and_threads_make_no_difference():
    release = RELEASES["mixture"]
    alone = told(release, values=True)
    assert alone[4]
    with ThreadPoolExecutor(3) as executor:
        assert told(release, executor, values=True) == alone
    for jobs in (1, 4):
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=spawn) as executor:
            assert told(release, executor, values=True) == alone


def test_large_problems_too(monkeypatch):
    """Interior points and long guided walks, on a small table for once."""
    for module in (search, linear_programs):
        monkeypatch.setattr(module, "INTERIOR", 100)
    monkeypatch.setattr(strategy, "LONG_WALKS", ((8.0, 5000), (4.0, 5000)))
    release = RELEASES["margins"]
    alone = told(release)
    assert told(release, Unruly(3)) == alone


def test_steps_that_settle_too_few_are_put_off_alike(monkeypatch):
    monkeypatch.setattr(single_questions, "SPLIT", 1)
    monkeypatch.setattr(strategy, "TRIED", 1)
    monkeypatch.setattr(strategy, "TOO_FEW", 0)  # whatever they settle
    monkeypatch.setattr(strategy, "REPAIRS", (2_000,))
    release = all_margins(skewed(2, (2,) * 6), 2)
    history = cb.attainable(release)._source.search.history
    left = {name: left for name, _, left in history}
    assert left["integer programs for a moment"] > 0 == history[-1][2]
    alone = told(release)
    assert told(release, Unruly(4)) == alone


def test_the_work_is_really_shared():
    class Counted(ThreadPoolExecutor):
        asked = 0

        def submit(self, *arguments, **options):
            Counted.asked += 1
            return super().submit(*arguments, **options)

    with Counted(2) as executor:
        told(RELEASES["mixture"], executor)
        bounds = Counted.asked
        told(RELEASES["mixture"], executor, values=True)
    assert bounds > 5
    assert Counted.asked - bounds > bounds


def test_gathered_values_are_those_asked_for_one_by_one():
    release = RELEASES["mixture"]
    gathered, single = cb.attainable(release), cb.attainable(release)
    gathered._source.gather(np.ndindex(release.domain.shape))
    for labels in release.domain.cells():
        assert gathered[labels] == single[labels]
        for value in gathered[labels]:
            witness = gathered.witness(*labels, value=value)
            assert witness[labels] == value
            assert not cb.violations(witness, release)


def test_integer_programs_find_the_same_table_again():
    """Unless they are too hard to be searched steadily."""
    release = RELEASES["mixture"]
    one = search.Search(release, release.domain.names)
    tables = set()
    for _ in range(3):
        solver = IntegerProgram(one.small)
        cells = np.arange(len(one.numbers))
        found = solver.minimize(cells, 1 + cells % 3, None, None)
        assert found.final
        tables.add(tuple(found.cells.tolist()))
    assert len(tables) == 1


def test_what_no_steady_search_settles_is_settled_by_all_means():
    release = RELEASES["mixture"]
    problem = search.Search(release, release.domain.names).small
    none = Efforts(quick=1e-9, steady=((False, 1e-9), (True, 1e-9)))
    plain, hurried = IntegerProgram(problem), IntegerProgram(problem, none)
    assert hurried.any_table(None).cells is not None
    for cell in range(len(problem.lower)):
        for sign in (1, -1):
            least, answer = (
                program.minimize(np.array([cell]), np.array([sign]), None, None)
                for program in (plain, hurried)
            )
            assert answer.final
            assert answer.bound == least.bound


def test_parts_begin_from_the_state_of_their_wave():
    """Not from what the parts before them have brought home meanwhile, nor do they change it."""
    release = RELEASES["margins"]
    whole = search.Search(release, release.domain.names)
    whole.first_table(None)
    standing, excerpt = whole.standing(), whole.pool.excerpt([0, 1])
    before = [one.copy() for one in (standing.proven, standing.ends)]
    strategy.settle_one(whole.apart(standing, excerpt, 1), 0, 1, Budget())
    strategy.settle_all(whole, Budget())
    assert not np.array_equal(whole.pool.ends[1], standing.ends[1])
    assert not np.array_equal(whole.proven[1], standing.proven[1])
    after = (standing.proven, standing.ends)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_parts_walk_by_random_numbers_of_their_own():
    release = RELEASES["margins"]
    whole = search.Search(release, release.domain.names)
    states = {int(whole.walker.branch(number)._state[0]) for number in range(1000)}
    assert len(states) == 1000
    assert whole.next_number() != whole.next_number()
