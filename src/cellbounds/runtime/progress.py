"""A line on standard error while something takes longer than a second: how far it is, how long."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TextIO

from cellbounds.text import legible

SOON = 5.0
"""Seconds of a step before its end is estimated."""

FEW = 3
"""Steps that must have been done before."""

RECENT = 60.0
"""Seconds of the past that tell how fast things go, or a third of the whole if that is more."""

STALE, STALE_STEPS = 30.0, 5
"""Nothing is known any more when so many seconds, and the time of so many steps, passed without
one."""

SAMPLES = 512
"""Points in time that are remembered; of more, every other is forgotten."""

SLOWLY = 8.0
"""Seconds in which the estimate comes most of the way to a new one: it should not jump."""


@dataclass(slots=True)
class TimeEstimate:
    """When something will be done, from how fast it has been done lately.

    Parameters
    ----------
    clock
        Seconds of a clock that runs evenly.

    Examples
    --------
    >>> now = [0.0]
    >>> estimate = TimeEstimate(lambda: now[0])
    >>> for done in range(11):
    ...     now[0] = 2.0 * done
    ...     estimate.at(done, 40)
    >>> estimate.left()
    60.0
    """

    clock: Callable[[], float]
    _seen: deque[tuple[float, int]] = field(default_factory=deque)
    _total: int = 0
    _end: float | None = None
    _asked: float = 0.0

    def at(self, done: int, total: int) -> None:
        """So much is done of so much; less than before, or of another whole, begins anew."""
        if self._seen and (total != self._total or done < self._seen[-1][1]):
            self._seen.clear()
            self._end = None
        self._total = total
        now = self.clock()
        if self._seen and self._seen[-1][1] == done:
            return
        self._seen.append((now, done))
        if len(self._seen) > SAMPLES:
            last = self._seen[-1]
            self._seen = deque(list(self._seen)[::2])
            if self._seen[-1] != last:
                self._seen.append(last)

    def left(self) -> float | None:
        """Seconds that are left; None as long as nobody can tell."""
        fresh = self._fresh()
        if fresh is None:
            self._end = None
            return None
        now = self.clock()
        if self._end is None:
            self._end = now + fresh
        else:
            passed = now - self._asked
            self._end += (now + fresh - self._end) * passed / (passed + SLOWLY)
        self._asked = now
        return max(0.0, self._end - now)

    def _fresh(self) -> float | None:
        """What is left, over how fast it went; the time since the last step counts as well."""
        if len(self._seen) < 2:
            return None
        now, (begun, first) = self.clock(), self._seen[0]
        last = self._seen[-1][1]
        if now - begun < SOON or last - first < FEW:
            return None
        since = now - max(RECENT, (now - begun) / 3)
        then, before = begun, first
        for when, done in self._seen:
            if when > since or last - done < FEW:
                break
            then, before = when, done
        pace = (now - then) / (last - before)
        if now - self._seen[-1][0] > max(STALE, STALE_STEPS * pace):
            return None
        return (self._total - last) * pace


def span(seconds: float) -> str:
    """A length of time in words, as exact as estimates are.

    Examples
    --------
    >>> [span(s) for s in (3, 42, 70, 200, 4000, 10_000)]
    ['a few s', '40 s', '1 min', '3 min', '1 h 5 min', '2 h 45 min']
    """
    if seconds < 8:
        return "a few s"
    if seconds < 57.5:
        return f"{5 * round(seconds / 5)} s"
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    minutes = 5 * round(seconds / 300)
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")


class Progress:
    """Shows what is being done, for how long, and what is left, once it has taken a second.

    On a terminal the line is rewritten every half second and removed at the end; elsewhere a line
    is added every ten seconds.

    Parameters
    ----------
    what
        What is being done.
    stream
        Where to say it; standard error if not given.
    seconds
        The budget, if there is one.
    clock
        Seconds of a clock that runs evenly.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("delinquent"), "[county]", "[education]")
    >>> with Progress("bounds", seconds=60) as progress:
    ...     budget = cb.Budget(seconds=60, progress=progress.step)
    ...     answer = cb.bounds(release, budget=budget)
    """

    def __init__(
        self,
        what: str,
        stream: TextIO | None = None,
        *,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        # None if the standard error of this process was closed: then nobody listens.
        self._stream: TextIO | None = stream or sys.stderr
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._saying = threading.Lock()
        self._begun = clock()
        self._end: float | None = None
        self.say(what, seconds=seconds)

    def say(self, what: str, *, seconds: float | None = None) -> None:
        """Name the next step, which may take so many seconds."""
        with self._saying:
            self._what, self._part = what, ""
            self._end = None if seconds is None else self._clock() + seconds
            self._estimate = TimeEstimate(self._clock)

    def step(self, done: int, total: int) -> None:
        """Say how much of the step is done."""
        with self._saying:
            self._part = f" {done} of {total}"
            self._estimate.at(done, total)

    def line(self) -> str:
        """What is shown now."""
        with self._saying:
            now = self._clock()
            parts = [f"{now - self._begun:.0f} s"]
            left = self._estimate.left()
            most = None if self._end is None else max(0.0, self._end - now)
            if left is not None and (most is None or left < most):
                parts.append(f"about {span(left)} left in this step")
            if most is not None:
                parts.append(f"at most {span(most)} left")
            return f"cellbounds: {self._what}{self._part} ({', '.join(parts)})"

    def _show(self) -> None:
        if self._stream is None:
            return
        terminal = self._stream.isatty()
        pause = 1.0
        while not self._ended.wait(pause):
            line = self.line()
            if terminal:  # a line that is broken in two cannot be rewritten
                line = f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}"
            try:
                self._stream.write(line if terminal else f"{legible(line, fitted=False)}\n")
                self._stream.flush()
            except (OSError, ValueError):  # full, or closed meanwhile: nobody listens
                return
            pause = 0.5 if terminal else 10.0

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._stream is None:
            return
        if self._stream.isatty() and self._clock() - self._begun > 1:
            with suppress(OSError, ValueError):
                self._stream.write("\r\x1b[K")
                self._stream.flush()
