"""Pieces of work: order, interruption, dying workers, wrong clocks."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import ClassVar

import pytest
import works

from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled
from cellbounds.inference.counting import TooManyTables
from cellbounds.runtime.workers import Processes, Until, checked_executor, shared, tasks
from cellbounds.runtime.workers.tasks import Pace


def spawned(number):
    return ProcessPoolExecutor(number, mp_context=get_context("spawn"))


@pytest.fixture(params=["nobody", "threads", "processes", "lazy", "eager"])
def executor(request):
    made = {
        "nobody": lambda: None,
        "threads": lambda: ThreadPoolExecutor(3),
        "processes": lambda: spawned(2),
        "lazy": lambda: Processes(2),
        "eager": lambda: Processes(2, patience=0.0),
    }[request.param]()
    yield made
    if made is not None:
        made.shutdown()


def test_every_piece_comes_home_in_order(executor):
    said = []
    found = list(
        shared(
            executor,
            works.slowly,
            [(value, 0.05 if value == 0 else 0.0) for value in range(9)],
            progress=lambda done, total: said.append((done, total)),
        )
    )
    assert found == [(value, value) for value in range(9)]
    assert said == [(done, 9) for done in range(1, 10)]


def test_pieces_come_home_as_they_are_finished():
    with ThreadPoolExecutor(2) as executor:
        found = shared(executor, works.slowly, [("late", 0.5), ("early", 0.0)], ordered=False)
        assert list(found) == [(1, "early"), (0, "late")]


def test_no_piece_at_all(executor):
    assert list(shared(executor, works.fails, [])) == []


def test_errors_of_the_work_are_told_as_they_are(executor):
    with pytest.raises(InvalidInput, match="nobody can do 7"):
        list(shared(executor, works.fails, [(7,)]))


@pytest.mark.parametrize("ending", ["closed", "failed", "interrupted"])
def test_what_waits_is_taken_back(tmp_path, ending):
    arguments = [(value, str(tmp_path)) for value in range(100)]
    with ThreadPoolExecutor(1) as executor:
        found = shared(executor, works.noted, arguments)
        assert next(found) == (0, 0)
        if ending == "closed":
            found.close()
        else:
            error = {"failed": ValueError, "interrupted": KeyboardInterrupt}[ending]
            with pytest.raises(error):
                found.throw(error())
    # The one that was under way, and one that may have been begun meanwhile.
    assert len(list(tmp_path.iterdir())) <= 3


class Interrupted(Future):
    """A future that somebody interrupts while it is asked something; its locks are taken then."""

    asked: ClassVar[list[str]] = []
    left: ClassVar[list[str]] = []
    when = ""

    def _ask(self, what):
        self.asked.append(what)
        if what == self.when:
            signal.raise_signal(signal.SIGINT)
        self.left.append(what)

    def done(self):
        self._ask("done")
        return super().done()

    def add_done_callback(self, fn):
        self._ask("called back")
        super().add_done_callback(fn)

    def exception(self, timeout=None):
        self._ask("exception")
        return super().exception(timeout)


@pytest.mark.parametrize("when", ["done", "called back", "exception"])
def test_futures_are_not_interrupted_while_they_hold_their_locks(monkeypatch, when):
    monkeypatch.setattr(Interrupted, "when", when)
    for kept in (Interrupted.asked, Interrupted.left):
        kept.clear()

    class Direct(Executor):
        def submit(self, fn, /, *args, **kwargs):
            future = Interrupted()
            future.set_result(fn(*args, **kwargs))
            return future

    with pytest.raises(KeyboardInterrupt):
        list(shared(Direct(), works.slowly, [(k, 0.0) for k in range(5)], pace=Pace(in_flight=2)))
    assert when in Interrupted.asked
    assert Interrupted.asked == Interrupted.left


def test_no_executor_holds_everything_at_once():
    away, most = set(), []

    class Counting(ThreadPoolExecutor):
        def submit(self, *arguments, **options):
            future = super().submit(*arguments, **options)
            away.add(future)
            most.append(sum(not one.done() for one in away))
            return future

    with Counting(2) as executor:
        pieces = [(value, 0.01) for value in range(20)]
        found = list(shared(executor, works.slowly, pieces, pace=Pace(in_flight=4)))
    assert [value for _, value in found] == list(range(20))
    assert max(most) <= 4


@pytest.mark.parametrize("wrong", [4, "processes", object, ThreadPoolExecutor])
def test_executors_are_executors(wrong):
    with pytest.raises(InvalidInput, match=r"concurrent\.futures\.Executor"):
        checked_executor(wrong)
    with pytest.raises(InvalidInput, match=r"concurrent\.futures\.Executor"):
        list(shared(wrong, works.slowly, [(1, 0.0)]))


def test_an_executor_that_was_shut_down_is_refused():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(InvalidInput, match="shut down"):
        list(shared(executor, works.slowly, [(1, 0.0)]))


def test_what_cannot_be_sent_is_refused():
    with spawned(1) as executor, pytest.raises(InvalidInput, match="cannot be sent"):
        list(shared(executor, works.slowly, [(lambda: 1, 0.0)]))


def test_errors_can_be_sent():
    error = TooManyTables("too many", 3)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.estimate) == (TooManyTables, "too many", 3)


def test_a_broken_pool_leaves_the_rest_to_its_owner(tmp_path):
    arguments = [(value, str(tmp_path), 1) for value in range(12)]
    with spawned(2) as executor:
        with pytest.warns(RuntimeWarning, match="ended abruptly"):
            found = list(shared(executor, works.dies, arguments))
        assert found == [(value, value**2) for value in range(12)]
        # It stays broken: everything is done here.
        with pytest.warns(RuntimeWarning, match="ended abruptly"):
            assert dict(shared(executor, works.whoever, [(1, str(tmp_path))])) == {0: os.getpid()}


def test_processes_that_are_killed_are_replaced(tmp_path):
    arguments = [(value, str(tmp_path), 2) for value in range(30)]
    with Processes(2, patience=0.0) as executor:
        found = list(shared(executor, works.dies, arguments))
    assert found == [(value, value**2) for value in range(30)]
    assert len(list(tmp_path.iterdir())) == 2


def test_processes_that_are_killed_again_and_again(tmp_path):
    arguments = [(value, str(tmp_path), 3) for value in range(8)]
    with (
        Processes(2, patience=0.0) as executor,
        pytest.warns(RuntimeWarning, match="Processes broke"),
    ):
        found = list(shared(executor, works.dies, arguments))
    assert found == [(value, value**2) for value in range(8)]


def test_short_work_starts_no_process(tmp_path):
    with Processes(2) as executor:
        found = dict(shared(executor, works.whoever, [(1, str(tmp_path))] * 3))
        assert "not started" in repr(executor)
    assert set(found.values()) == {os.getpid()}


def test_long_work_is_shared_while_a_piece_is_done_here(tmp_path):
    with Processes(2, patience=0.0) as executor:
        arguments = [(value, str(tmp_path)) for value in range(30)]
        here, *others = [pid for _, pid in shared(executor, works.whoever, arguments)]
        helpers = set(others) - {here}
        assert helpers <= {one.pid for one in multiprocessing.active_children()}
    assert here == os.getpid()
    assert helpers
    assert not helpers & {one.pid for one in multiprocessing.active_children()}


def test_processes_end_in_the_middle_of_work():
    begun = time.monotonic()
    with Processes(2) as executor:
        futures = [executor.submit(works.slowly, value, 60.0) for value in range(4)]
    assert time.monotonic() - begun < 30
    assert all(one.done() for one in futures)
    with pytest.raises(RuntimeError):
        executor.submit(os.getpid)


def test_processes_finish_what_is_waited_for():
    executor = Processes(1)
    future = executor.submit(works.slowly, 5, 0.2)
    executor.shutdown()
    assert future.result(timeout=0) == 5


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "2"])
def test_the_number_of_processes(number):
    with pytest.raises(InvalidInput, match="workers="):
        Processes(number)


class Elsewhere(Executor):
    """A machine whose clock is wrong by some seconds."""

    def __init__(self, wrong):
        self.wrong = wrong

    def submit(self, function, *arguments, **options):
        future = Future()
        right = time.time
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(time, "time", lambda: right() + self.wrong)
            patched.setattr("socket.gethostname", lambda: "elsewhere")
            future.set_result(function(*arguments, **options))
        return future


@pytest.mark.parametrize(("wrong", "said"), [(30.0, "30 seconds ahead"), (-40.0, "behind")])
def test_a_wrong_clock_is_noticed(wrong, said):
    with pytest.raises(InvalidInput, match=f"elsewhere is .*{said}"):
        list(shared(Elsewhere(wrong), works.left, [(Until.of(20.0),)]))
    # Without a budget clocks do not matter.
    assert list(shared(Elsewhere(wrong), works.left, [(Until.of(None),)])) == [(0, None)]


def test_a_clock_that_is_nearly_right():
    ((_, left),) = shared(Elsewhere(0.4), works.left, [(Until.of(20.0),)])
    assert 19 < left < 20


def test_nobody_takes_more_than_was_left():
    right = time.time
    until = Until.of(5.0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "time", lambda: right() - 10_000)
        assert until.left == 5.0
        patched.setattr(time, "time", lambda: right() + 10_000)
        assert until.left == 0.0
        assert until.deadline <= time.monotonic()


def test_errors_of_a_cluster_are_explained():
    kinds = {"KilledWorker": TooMuchWork, "CommClosedError": Unsettled}
    for name, expected in kinds.items():
        error = type(name, (Exception,), {"__module__": "distributed.somewhere"})("?")
        assert isinstance(tasks._explained(error), expected)


def test_work_that_somebody_cancelled_is_no_answer():
    class Cancelling(Executor):
        def submit(self, *_arguments, **_options):
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(Unsettled, match="lost"):
        list(shared(Cancelling(), works.slowly, [(1, 0.0)]))
