"""How long a process waited for a processor that others used: no fault of its own.

Work with a budget looks at the clock until it is spent, and does less where it has to wait. So the
time until then counts as it is; what comes after, without the waiting.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["Watch"]


class Watch:
    """What a process and its children waited for a processor, looked at again and again.

    The kernel counts for each thread how long it ran, and how long it could have but had to wait
    (``/proc/PID/task/TID/schedstat``); elsewhere nobody waits. Where several work at a time, the
    one counts that ran most since the last look: the others wait beside it, not for it.

    Parameters
    ----------
    process
        Its number.
    spent
        A time of the monotonic clock; waiting before does not count.

    Examples
    --------
    >>> import os
    >>> watch = Watch(os.getpid(), time.monotonic())
    >>> watch.look()
    >>> watch.waited >= 0
    True
    """

    def __init__(self, process: int, spent: float) -> None:
        self._process, self._spent = process, spent
        self._first: dict[str, tuple[int, int]] = {}
        self._before: dict[str, tuple[int, int]] = {}
        self._waited = self._ran = 0

    def look(self) -> None:
        """Add what was waited since the last look."""
        if time.monotonic() < self._spent:
            return
        now = dict(_threads(self._process))
        self._first = self._first or now
        most = 0, 0
        for thread, (ran, waited) in now.items():
            before = self._before.get(thread, self._first.get(thread, (0, 0)))
            most = max(most, (ran - before[0], waited - before[1]))
            self._ran = max(self._ran, ran - self._first.get(thread, (0, 0))[0])
        self._before |= now
        self._waited += most[1]

    @property
    def waited(self) -> float:
        """Seconds that were waited: never those in which one thread ran."""
        past = max(0.0, time.monotonic() - self._spent)
        return max(0.0, min(self._waited / 1e9, past - self._ran / 1e9))


def _threads(process: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each thread of a process and of its children: nanoseconds that it ran, and waited."""
    with suppress(OSError, IndexError, ValueError):  # it has just ended, or this is not Linux
        for task in Path(f"/proc/{process}/task").iterdir():
            ran, waited, *_ = map(int, (task / "schedstat").read_text().split())
            yield task.name, (ran, waited)
            for child in (task / "children").read_text().split():
                yield from _threads(int(child))
