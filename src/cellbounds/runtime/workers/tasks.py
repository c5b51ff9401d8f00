"""Pieces of work, done here or by whoever helps, and brought home one by one.

Processes of this machine are started only when work has proven to be long.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cellbounds.errors import InvalidInput
from cellbounds.runtime.interrupts import uninterrupted
from cellbounds.runtime.isolation import prepare

if TYPE_CHECKING:
    from cellbounds.runtime.workers.process_pool import ProcessPool
import pickle
import queue
import warnings
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing
from typing import TypeVar

from cellbounds.errors import TooMuchWork, Unsettled


@dataclass(frozen=True, slots=True)
class Until:
    """When a budget ends, for workers in other processes and on other machines.

    Monotonic clocks mean nothing to other processes, and wall clocks of other machines may be
    wrong. So both are sent: how much was left, and when that was. A worker never takes more than
    was left, whatever its clock says.

    Attributes
    ----------
    span
        Seconds that were left when the work was sent; None if there is no end.
    sent
        When that was, by the wall clock of the owner.
    host
        The owner's machine.

    Examples
    --------
    >>> Until.of(None).left is None
    True
    >>> 0 < Until.of(60.0).left <= 60
    True
    """

    span: float | None
    sent: float
    host: str

    @classmethod
    def of(cls, left: float | None) -> Until:
        """The end of a budget of which so many seconds are left (None: it has no end)."""
        import socket

        return cls(left, time.time(), socket.gethostname())

    @property
    def left(self) -> float | None:
        """Seconds that are left now, at least 0; None if there is no end."""
        if self.span is None:
            return None
        waited = max(0.0, time.time() - self.sent)
        return max(0.0, self.span - waited)

    @property
    def deadline(self) -> float | None:
        """The end, by the monotonic clock of the process that asks; None if there is none."""
        left = self.left
        return None if left is None else time.monotonic() + left


PATIENCE = 0.4
"""Seconds of work that are done by the owner alone before processes are started."""

PAUSE = 0.1
"""The same once they are there: what is shorter is not worth sending."""

MOST = 1024
"""Processes that anybody could mean: a slip of the keyboard should not bring the machine down."""

RENEWALS = 2
"""How often processes are started again after one of them was killed."""


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Processes(Executor):
    """Worker processes that are started only when work has proven to be long.

    Work that is shared with them (see :class:`cellbounds.Budget`) is begun here; after about
    half a second of it they are started in the background, and take their part when they are up.
    The owner goes on beside them. They end with him, even if he is killed, and leave
    interruptions from the keyboard to him.

    Parameters
    ----------
    number
        How many work together, the owner included, 1024 at most; as many as there are cores if
        not given.
    patience
        Seconds of work before they are started.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.runtime.workers import Processes
    >>> with Processes(2) as executor:
    ...     budget = cb.Budget(workers=executor)
    ...     table = cb.datasets.read("delinquent")
    ...     found = cb.explore(table, response="education", budget=budget)
    >>> found.best.notation
    '[education|county]@1'
    """

    def __init__(self, number: int | None = None, *, patience: float = PATIENCE) -> None:
        number = min(cores(), MOST) if number is None else number
        self.check(number)
        self.number = number
        self.helpers = number - 1
        self._patience = patience
        self.alone = 0.0  # seconds of what was done by the owner in their place
        self._renewals = 0
        self._starting = threading.Lock()
        self._pool: ProcessPool | None = None
        self.ended = False
        prepare()

    @staticmethod
    def check(number: object) -> None:
        """Refuse a number of processes that nobody can mean."""
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST:
            raise InvalidInput(f"workers={number!r}; give the number of processes, 1 to {MOST}")

    def __repr__(self) -> str:
        state = "not started" if self._pool is None else "started"
        return f"<Processes: {self.number}, {state}>"

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have one call done by a process; starts it if needed."""
        with self._starting:
            if self.ended:
                raise RuntimeError("the processes were ended")
            if self._pool is None:
                from cellbounds.runtime.workers.process_pool import ProcessPool

                self._pool = ProcessPool(max(1, self.helpers))
            return self._pool.submit(fn, *args, **kwargs)

    @property
    def pause(self) -> float:
        """Seconds that work is to be done here before it is handed out."""
        return max(PAUSE, self._patience - self.alone)

    def awake(self, ended: threading.Event, pieces: int) -> bool:
        """Start as many as so many pieces need, and wait for one; False if the work `ended`."""
        try:
            # One call each, so that all are started.
            calls = [self.submit(os.getpid) for _ in range(min(self.helpers, max(1, pieces)))]
            while not any(call.done() for call in calls):
                if ended.wait(0.02):
                    return False
        except (BrokenExecutor, OSError, RuntimeError):
            return False  # no process can be started: the work goes on without
        return True

    def renewed(self) -> bool:
        """After one was killed: start others, unless that happened too often."""
        if self._renewals >= RENEWALS:
            return False
        self._renewals += 1
        self._end()
        return True

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, whatever they do: nobody waits for it any more.

        With ``wait=True`` and work that was submitted, as executors have it, the work is waited
        for, unless `cancel_futures`.
        """
        self.ended = True
        if self._pool is not None and wait and not cancel_futures:
            self._pool.shutdown(wait=True)
        self._end()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        # Results that are still missing here are wanted by nobody.
        self.ended = True
        self._end()

    def _end(self) -> None:
        with self._starting:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.end()


AHEAD = 2
"""Pieces for each process of our own, so that none waits while it is handed the next one."""

TOLERANCE = 1.0
"""Seconds by which clocks may differ before a budget is refused."""

CLUSTER = "distributed."
"""Errors from modules of this name are a cluster's own, not those of the work."""

Result = TypeVar("Result")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Pace:
    """How pieces are handed out, and how long somebody is waited for.

    Attributes
    ----------
    in_flight
        Pieces that are handed out at once at most, so that no executor holds thousands of copies
        of a table, and what waits can be taken back quickly.
    awake
        Seconds between two looks whether somebody interrupts, where waiting cannot be interrupted.
    deserted, look
        Seconds that a cluster may have no worker (it may be starting some), and between two looks.
    """

    in_flight: int = 256
    awake: float = 1.0
    deserted: float = 60.0
    look: float = 5.0


USUAL = Pace()


def checked_executor(executor: object) -> Executor | None:
    """An executor, or None.

    Raises
    ------
    InvalidInput
        If it is neither.
    """
    if executor is None or isinstance(executor, Executor):
        return executor
    raise InvalidInput(
        f"workers={executor!r}; give a number of processes, a concurrent.futures.Executor such as "
        "a ProcessPoolExecutor or a Dask client's get_executor(), or None"
    )


def shared(
    executor: Executor | None,
    work: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    *,
    ordered: bool = True,
    progress: Progress | None = None,
    pace: Pace = USUAL,
) -> Generator[tuple[int, Result], None, None]:
    """Do ``work(*arguments[k])`` for each k, and bring home each k with its result.

    Without an executor, and at first with :class:`Processes`, the work is done here. What waits
    is taken back when the caller stops listening, fails or is interrupted. If an executor breaks
    (a process was killed), what it has not brought home is done here, with a warning.

    Parameters
    ----------
    executor
        Who helps; None: nobody.
    work
        A function of a module, so that other processes can import it. Its results may depend on
        its arguments alone: not on who works, nor on the order.
    arguments
        Those of each piece. Everything may be pickled. Put long pieces first.
    ordered
        Whether results come home in the order of the pieces; if not, as they are finished.
    progress
        Called with the pieces done and the pieces in all.
    pace
        How many are handed out at once, and how long a cluster is waited for.

    Raises
    ------
    TooMuchWork
        If a cluster gave up a piece, since it ended every worker that tried it.
    Unsettled
        If a cluster was lost.
    InvalidInput
        If the executor takes no work any more, or the clock of a worker is wrong and there is a
        budget (an :class:`Until` among the arguments).

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as executor:
    ...     list(shared(executor, pow, [(2, 3), (3, 2)]))
    [(0, 8), (1, 9)]
    """
    pieces = _Pieces(checked_executor(executor), work, arguments, pace)
    nobody = executor is None or (
        isinstance(executor, Processes) and (executor.ended or not executor.helpers)
    )
    results = pieces.alone() if nobody else pieces.together()
    with closing(results):
        for done, (place, result) in enumerate(_sorted(results) if ordered else results):
            if progress is not None:
                progress(done + 1, len(arguments))
            yield place, result


def _sorted(found: Iterator[tuple[int, Result]]) -> Iterator[tuple[int, Result]]:
    """The same in the order of the places, each as soon as all before it are there."""
    early: dict[int, Result] = {}
    following = 0
    for place, result in found:
        early[place] = result
        while following in early:
            yield following, early.pop(following)
            following += 1


class _Pieces:
    """What is to do, what is under way, and what came home."""

    def __init__(
        self,
        executor: Executor | None,
        work: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        pace: Pace,
    ) -> None:
        self._executor, self._work, self._arguments = executor, work, arguments
        self._pace = pace
        self._todo = deque(range(len(arguments)))
        self._away: dict[Future[Any], int] = {}
        self._home: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._lost: list[int] = []
        self._handing = threading.Lock()
        self._returned, self._ended = threading.Event(), threading.Event()
        # A cluster takes calls that look the same for one call, even if the first was cancelled.
        self._mark = os.urandom(16).hex()
        self._broken = False
        self._manned = self._looked = time.monotonic()

    def alone(self) -> Generator[tuple[int, Any], None, None]:
        """Do here what nobody has begun."""
        while (place := self._take()) is not None:
            yield place, self._work(*self._arguments[place])

    def together(self) -> Generator[tuple[int, Any], None, None]:
        """Everything, by the executor and, where it needs time or fails, here."""
        helper = None
        try:
            if isinstance(self._executor, Processes):
                helper = self._awaited(self._executor)
                while (place := self._take()) is not None:
                    begun = time.monotonic()
                    result = self._work(*self._arguments[place])
                    self._executor.alone += time.monotonic() - begun
                    yield place, result
                    while not self._home.empty():
                        yield from self._result(self._home.get())
                self._end_handing(helper)
            while True:
                yield from self._brought_home()
                if not self._todo:
                    return
                if not (isinstance(self._executor, Processes) and self._executor.renewed()):
                    break
                self._broken = False
            warnings.warn(
                f"{type(self._executor).__name__} broke: a worker ended abruptly, perhaps for "
                "want of memory; what it has not finished is done by this process alone",
                RuntimeWarning,
                stacklevel=4,
            )
            yield from self.alone()
        finally:
            if helper is not None:
                self._end_handing(helper)
            for future in self._away:
                future.cancel()

    def _take(self) -> int | None:
        with self._handing:
            return self._todo.popleft() if self._todo else None

    def _awaited(self, processes: Processes) -> threading.Thread:
        """Hand out pieces once the work has proven to be long and the processes are there.

        By a thread of its own: the owner does pieces like they do, and some may be long ones.
        """

        def wait() -> None:
            if self._ended.wait(processes.pause) or not self._todo:
                return
            if not processes.awake(self._ended, len(self._todo)):
                return
            while self._todo and not self._broken and not self._ended.is_set():
                self._hand_out(AHEAD * processes.helpers)
                self._returned.wait(self._pace.awake)
                self._returned.clear()

        thread = threading.Thread(target=wait, name="cellbounds-handing-out", daemon=True)
        thread.start()
        return thread

    def _end_handing(self, helper: threading.Thread) -> None:
        self._ended.set()
        self._returned.set()
        helper.join()

    def _hand_out(self, most: int) -> None:
        """Hand out pieces until so many are under way."""
        # Futures have locks: an interruption while one is taken would leave it behind, and whoever
        # brings results home, and takes work back, would wait for it forever.
        with self._handing:
            free = most - uninterrupted(self._under_way)
            while self._todo and free > 0 and not self._broken:
                uninterrupted(self._hand_out_next)
                free -= 1

    def _under_way(self) -> int:
        return sum(not future.done() for future in list(self._away))

    def _hand_out_next(self) -> None:
        assert self._executor is not None  # who has none works alone
        place = self._todo[0]
        try:
            future = self._executor.submit(
                _done, self._work, self._arguments[place], f"{self._mark}-{place}"
            )
        except BrokenExecutor:
            self._broken = True
            return
        except RuntimeError as problem:
            raise InvalidInput(
                f"workers={self._executor!r} takes no work ({problem}); give one that has not been "
                "shut down"
            ) from None
        self._todo.popleft()
        self._away[future] = place
        future.add_done_callback(self._came_home)

    def _came_home(self, future: Future[Any]) -> None:
        self._home.put(future)
        self._returned.set()

    def _brought_home(self) -> Iterator[tuple[int, Any]]:
        """Results as they come; pieces that a broken executor lost are to do again."""
        while True:
            self._hand_out(self._pace.in_flight)
            if not self._away:
                break
            try:
                future = self._home.get(timeout=self._pace.awake)
            except queue.Empty:
                self._check_workers()
                continue
            self._manned = time.monotonic()
            yield from self._result(future)
        self._todo.extendleft(sorted(self._lost, reverse=True))
        self._lost.clear()

    def _check_workers(self) -> None:
        """Give up on a cluster that has had no worker for long: it would be waited for forever."""
        now = time.monotonic()
        if now - self._looked < self._pace.look:
            return
        self._looked = now
        from cellbounds.runtime.workers.cluster import without_workers

        if not without_workers(self._executor):
            self._manned = now
        elif now - self._manned >= self._pace.deserted:
            raise Unsettled(
                f"the cluster has had no worker for {self._pace.deserted:.0f} seconds; start some "
                "(dask worker ADDRESS), and ask again"
            )

    def _result(self, future: Future[Any]) -> Iterator[tuple[int, Any]]:
        """What a piece has brought; nothing if it was lost."""
        place = self._away.pop(future)
        try:
            problem, outcome = uninterrupted(_outcome, future)
        except CancelledError:
            raise Unsettled(
                "the workers were lost before the work was done (it was cancelled); see whether "
                "the cluster is up, and ask again"
            ) from None
        if isinstance(problem, BrokenExecutor):
            self._broken = True
            self._lost.append(place)
            return
        if problem is not None:
            raise _explained(problem) from None
        result, begun, finished, host = outcome
        untils = (argument for argument in self._arguments[place] if isinstance(argument, Until))
        until = next(untils, None)
        # Here there is only one clock, which somebody may have set in between.
        if until is not None and until.span is not None and until.host != host:
            # Nothing begins before it was sent, nor ends after it came home.
            ahead = max(finished - time.time(), 0.0) - max(until.sent - begun, 0.0)
            if abs(ahead) > TOLERANCE:
                raise InvalidInput(
                    f"the clock of {host} is {abs(ahead):.0f} seconds "
                    f"{'ahead of' if ahead > 0 else 'behind'} ours, so that it cannot keep a "
                    "budget; set the clocks (by NTP), or give no budget"
                )
        yield place, result


def _outcome(future: Future[Any]) -> tuple[BaseException | None, Any]:
    """What went wrong with a piece that came home, or what it brought."""
    problem = future.exception()
    return problem, None if problem is not None else future.result()


def _done(
    work: Callable[..., Result], arguments: tuple[Any, ...], _mark: str
) -> tuple[Result, float, float, str]:
    """Run by a worker."""
    begun = time.time()
    result = work(*arguments)
    import socket

    return result, begun, time.time(), socket.gethostname()


def _explained(problem: BaseException) -> BaseException:
    """What goes wrong on the way in our words; errors of the work as they are."""
    if isinstance(problem, pickle.PicklingError) or (
        isinstance(problem, AttributeError | TypeError) and "pickle" in str(problem)
    ):
        return InvalidInput(
            f"the work cannot be sent to other processes ({problem}); give functions of a module "
            "that they can import, or no executor"
        )
    if not type(problem).__module__.startswith(CLUSTER):
        return problem
    kind = type(problem).__name__
    if kind == "KilledWorker":
        return TooMuchWork(
            "a piece of the work ended every worker of the cluster that tried it (KilledWorker), "
            "most likely for want of memory; give the workers more"
        )
    return Unsettled(f"the cluster failed ({kind}); see whether it is up, and ask again")
