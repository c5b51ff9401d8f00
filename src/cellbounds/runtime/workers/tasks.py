"""Pieces of work, done here or by whoever helps, and brought home one by one."""

from __future__ import annotations

import os
import pickle
import queue
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled
from cellbounds.runtime.workers.processes import Processes, Until

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
                    with self._executor.alone():
                        result = self._work(*self._arguments[place])
                    yield place, result
                    yield from self._arrived()
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
        assert self._executor is not None  # who has none works alone
        with self._handing:
            free = most - sum(not future.done() for future in list(self._away))
            while self._todo and free > 0 and not self._broken:
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
                        f"workers={self._executor!r} takes no work ({problem}); give one that "
                        "has not been shut down"
                    ) from None
                self._todo.popleft()
                self._away[future] = place
                future.add_done_callback(self._came_home)
                free -= 1

    def _came_home(self, future: Future[Any]) -> None:
        self._home.put(future)
        self._returned.set()

    def _arrived(self) -> Iterator[tuple[int, Any]]:
        """Results that are there already."""
        while not self._home.empty():
            yield from self._result(self._home.get())

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
            problem = future.exception()
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
        result, begun, finished, host = future.result()
        self._check_clock(self._arguments[place], begun, finished, host)
        yield place, result

    @staticmethod
    def _check_clock(arguments: tuple[Any, ...], begun: float, finished: float, host: str) -> None:
        """Nothing begins before it was sent, nor ends after it came home.

        Here there is only one clock, which somebody may have set in between.
        """
        until = next((argument for argument in arguments if isinstance(argument, Until)), None)
        if until is None or until.span is None or until.host == host:
            return
        ahead = max(finished - time.time(), 0.0) - max(until.sent - begun, 0.0)
        if abs(ahead) > TOLERANCE:
            raise InvalidInput(
                f"the clock of {host} is {abs(ahead):.0f} seconds "
                f"{'ahead of' if ahead > 0 else 'behind'} ours, so that it cannot keep a budget; "
                "set the clocks (by NTP), or give no budget"
            )


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
