"""Ctrl-C, and other signals that raise: where they have to wait, and how everything is ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

# The bare module: `signal` makes enums of all handlers, at each compiled call.
from _signal import getsignal  # type: ignore[import-not-found]  # it has no stubs
from _signal import signal as set_handler
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
        hold.over = True
        for number, handler in hold.before.items():
            set_handler(number, handler)
        for number in hold.arrived:
            signal.raise_signal(number)


class Late(BaseException):
    """Raised in the main thread wherever it is; whoever has a part of an answer may catch it."""


SWALLOWED = 0.5
"""Seconds after which it is raised again: it may have been swallowed, or the work may go on."""

IMPORTING = "<frozen importlib._bootstrap>"


@contextmanager
def not_later(deadline: float, message: str) -> Iterator[None]:
    """Stop the work inside if it is not done at a time of the monotonic clock.

    For work that did not look at the clock in time. It works in the main thread, where nobody else
    uses the system's alarm; elsewhere nothing is stopped.

    Raises
    ------
    Unsettled
        With the message, if it was stopped.

    Examples
    --------
    >>> with not_later(time.monotonic() + 60, "too late"):
    ...     pass
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or not hasattr(signal, "setitimer")
        or getsignal(signal.SIGALRM) != signal.SIG_DFL
    ):
        yield
        return
    late, default = False, getsignal(signal.SIGALRM)

    def ring(_number: int, frame: FrameType | None) -> None:
        nonlocal late
        while frame is not None:
            if frame.f_code.co_filename == IMPORTING:
                # A module that is half there would stay so: it is not much longer.
                signal.setitimer(signal.ITIMER_REAL, AGAIN)
                return
            frame = frame.f_back
        late = True
        signal.setitimer(signal.ITIMER_REAL, SWALLOWED)
        raise Late

    set_handler(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(AGAIN, deadline - time.monotonic()))
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        if late:
            raise Unsettled(message) from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        set_handler(signal.SIGALRM, default)


def end_now(message: str, status: int) -> NoReturn:
    """Say one line, and end this process and those it has started, whatever they do."""
    import psutil

    _say(message)
    with suppress(psutil.Error):
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # it has ended meanwhile
                child.kill()
    for clear in BEFORE_END:
        clear()
    os._exit(status)


def _say(message: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # there may be no standard error
        os.write(sys.stderr.fileno(), f"{message}\n".encode())
