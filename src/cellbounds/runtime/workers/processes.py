"""Processes of this machine that are started only when work has proven to be long."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cellbounds.errors import InvalidInput
from cellbounds.runtime.isolation import prepare

if TYPE_CHECKING:
    from cellbounds.runtime.workers.process_pool import ProcessPool


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
        self._alone = 0.0
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

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Count the time of what is done here in their place."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self._alone += time.monotonic() - begun

    @property
    def pause(self) -> float:
        """Seconds that work is to be done here before it is handed out."""
        return max(PAUSE, self._patience - self._alone)

    def awake(self, ended: threading.Event, pieces: int) -> bool:
        """Start as many as so many pieces need, and wait for one; False if the work `ended`."""
        try:
            # One call each, so that all are started.
            calls = [self.submit(os.getpid) for _ in range(min(self.helpers, max(1, pieces)))]
            while not any(one.done() for one in calls):
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
