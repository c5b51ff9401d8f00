"""Ctrl-C, and other signals that raise: where they have to wait, and how everything is ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time

# The bare module: `signal` makes enums of all handlers, at each compiled call.
from _signal import getsignal  # type: ignore[import-not-found]  # it has no stubs
from _signal import signal as set_handler
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

from cellbounds.errors import Unsettled

BEFORE_END: list[Callable[[], None]] = []
"""What is called before everything is ended at once, by whichever thread ends it."""

AGAIN = 0.05
"""Seconds until the alarm rings again, if it rang while a module was being imported."""

_RAISING = [
    getattr(signal, name) for name in ("SIGINT", "SIGUSR2", "SIGALRM") if hasattr(signal, name)
]
"""Ctrl-C, and what wakes a main thread that takes too much memory (`memory.py`) or is late."""

Answer = TypeVar("Answer")


class _Hold:
    """Handlers that remember signals until something is over, and pass them on from then on."""

    __slots__ = ("arrived", "before", "over")

    def __init__(self) -> None:
        # Handlers that Python did not set, or none, raise nothing.
        self.before = {
            number: handler for number in _RAISING if callable(handler := getsignal(number))
        }
        self.arrived: list[int] = []
        self.over = False

    def __call__(self, number: int, frame: object) -> None:
        if self.over:
            self.before[number](number, frame)
        else:
            self.arrived.append(number)


def uninterrupted(function: Callable[..., Answer], *given: Any) -> Answer:
    """Call a function that no signal may interrupt with an exception; they raise when it is done.

    Compiled functions are such: what numba makes of their results runs some Python code, where
    signals that came meanwhile would raise, and then goes on with a result that is not there.

    Examples
    --------
    >>> uninterrupted(max, 3, 5)
    5
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*given)  # signals raise in the main thread only
    hold = _Hold()
    try:
        for number in hold.before:
            set_handler(number, hold)
        return function(*given)
    finally:
        for number, handler in hold.before.items():
            set_handler(number, handler)
        hold.over = True
        for number in sorted(hold.arrived, key=_RAISING.index):  # the first to raise is the last
            signal.raise_signal(number)


class Late(BaseException):
    """Raised in the main thread wherever it is; whoever has a part of an answer may catch it."""


LONGEST = 1e8
"""Seconds (three years) that a timer is set for at most: systems refuse far longer ones."""

GRACE, SWALLOWED = 0.4, 0.1
"""Seconds after which it is raised again, first and from then on: it may have been swallowed, or
the work may go on. Whoever caught it has so long to make an answer of what there is."""

IMPORTING = "<frozen importlib._bootstrap>"

_GUARDED = {__file__, contextlib.__file__, str(Path(__file__).with_name("budget.py"))}
"""Where the alarm is set and given back: nothing is raised there, or nobody would catch it."""

UNSTOPPED: set[str] = set()
"""Files whose functions, with all that they call, are not stopped: they would not give back what
they hold, such as a lock."""


class Alarm:
    """Stop the work inside if it is not done at a time of the monotonic clock.

    For work that did not look at the clock in time. It works in the main thread, where nobody else
    uses the system's alarm; elsewhere nothing is stopped.

    Raises
    ------
    Unsettled
        With the message, if it was stopped.

    Examples
    --------
    >>> with Alarm(time.monotonic() + 60, "too late"):
    ...     pass
    """

    def __init__(self, deadline: float, message: str) -> None:
        self._deadline, self._message = deadline, message
        self._before: Any = None
        self._set = False
        self._imports = 0
        self._next = GRACE
        self._hook = sys.unraisablehook

    def __enter__(self) -> None:
        if (
            threading.current_thread() is threading.main_thread()
            and hasattr(signal, "setitimer")
            and getsignal(signal.SIGALRM) == signal.SIG_DFL
            and signal.getitimer(signal.ITIMER_REAL)[0] == 0
        ):
            self._before = getsignal(signal.SIGALRM)
            self._imports = _frames(sys._getframe(), {IMPORTING})
            self._set, self._hook = True, sys.unraisablehook
            sys.unraisablehook = self._swallowed
            set_handler(signal.SIGALRM, self)
            seconds = max(AGAIN, self._deadline - time.monotonic())
            signal.setitimer(signal.ITIMER_REAL, min(seconds, LONGEST))

    def __call__(self, _number: int, frame: FrameType | None) -> None:
        """The alarm rings."""
        if not self._set:
            return
        code = None if frame is None else frame.f_code
        # What came while a compiled function worked is raised here when it has returned.
        held = code is uninterrupted.__code__
        guarded = code is not None and code.co_filename in _GUARDED and not held
        # A module that is half imported would stay so: it is not much longer.
        if guarded or _frames(frame, {IMPORTING}) > self._imports or _frames(frame, UNSTOPPED):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            return
        signal.setitimer(signal.ITIMER_REAL, self._next)
        self._next = SWALLOWED
        raise Late

    def _swallowed(self, problem: Any) -> None:
        """What Python could not raise, as where an object is being removed: it will ring again."""
        if problem.exc_type is not Late:
            self._hook(problem)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._set:
            self._set = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            set_handler(signal.SIGALRM, self._before)
            sys.unraisablehook = self._hook
            if kind is not None and issubclass(kind, Late):
                raise Unsettled(self._message) from None


def watched() -> bool:
    """Whether an alarm is set for the work that is going on."""
    main = threading.current_thread() is threading.main_thread()
    return main and hasattr(signal, "SIGALRM") and isinstance(getsignal(signal.SIGALRM), Alarm)


def _frames(frame: FrameType | None, files: set[str]) -> int:
    """How many calls of functions of some files are under way."""
    count = 0
    while frame is not None:
        count += frame.f_code.co_filename in files
        frame = frame.f_back
    return count


def _forget_alarm() -> None:
    """In a process that was forked: the handler came along, but not the clock behind it."""
    if isinstance(getsignal(signal.SIGALRM), Alarm):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


if hasattr(os, "register_at_fork") and hasattr(signal, "SIGALRM"):
    os.register_at_fork(after_in_child=_forget_alarm)


def end_now(message: str, status: int) -> NoReturn:
    """Say one line, and end this process and those it has started, whatever they do."""
    import psutil

    with suppress(OSError, ValueError, AttributeError):  # there may be no standard error
        os.write(sys.stderr.fileno(), f"{message}\n".encode())
    with suppress(psutil.Error):
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # it has ended meanwhile
                child.kill()
    for clear in BEFORE_END:
        clear()
    os._exit(status)
