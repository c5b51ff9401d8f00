"""Ctrl-C while a command runs: raised where that is safe, and the end of it all otherwise."""

from __future__ import annotations

import _thread
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from cellbounds.runtime.interrupts import end_now
from cellbounds.runtime.starting import INTERRUPTED

GRACE = 3.0
"""Seconds in which an interruption has to be raised."""

OFTEN = 0.02
"""Seconds between two attempts to raise it."""

ONCE = 1.0
"""Seconds in which more signals are taken for the same: some programs send each twice."""


class Interruption:
    """Raises KeyboardInterrupt in the main thread once, though not while it imports something.

    Modules that are interrupted while they load stay behind half made, and the compiled ones make
    errors of their own of it. If it cannot be raised in time, since compiled code does not return,
    or if somebody interrupts the command again afterwards, everything is ended at once. Once it is
    `over`, nothing is interrupted any more.
    """

    def __init__(self) -> None:
        self._raised, self.over = threading.Event(), threading.Event()
        self._when = 0.0
        # Python writes the numbers of signals to one end; they come out of the other.
        self.signals, self.wake = socket.socketpair()
        self.wake.setblocking(False)
        self.hook = sys.unraisablehook

    @property
    def raised(self) -> bool:
        """Whether the command was interrupted."""
        return self._raised.is_set()

    def handle(self, _number: int, frame: FrameType | None) -> None:
        """What the main thread does about Ctrl-C."""
        if self.raised or self.over.is_set() or _is_unsafe(frame):
            return
        self._when = time.monotonic()
        self._raised.set()
        raise KeyboardInterrupt

    def unraisable(self, error: Any) -> None:
        """What is done about an error that nobody can catch: one in a destructor, say."""
        if isinstance(error.exc_value, KeyboardInterrupt):
            self._raised.clear()  # nothing is raised in here, where it would be lost for good
            self.wake.send(bytes([signal.SIGINT]))
        elif not self._when:  # else what was interrupted may complain of that
            self.hook(error)

    def watch(self) -> None:
        """See to it, in another thread, that the signals have consequences."""
        while number := self.signals.recv(1):
            if number[0] != signal.SIGINT or self.over.is_set():
                continue
            if self.raised and time.monotonic() > self._when + ONCE:
                end_now("interrupted", INTERRUPTED)
            end = time.monotonic() + GRACE
            while not self._is_settled() and not self.over.is_set():
                if time.monotonic() > end:
                    end_now("interrupted", INTERRUPTED)
                # Also if the main thread waits for something.
                main = threading.main_thread().ident
                if hasattr(signal, "pthread_kill") and main is not None:
                    signal.pthread_kill(main, signal.SIGINT)
                else:
                    _thread.interrupt_main()

    def _is_settled(self) -> bool:
        """Whether it is raised; the signals that were sent until then are no others."""
        if not self._raised.wait(OFTEN):
            return False
        self.signals.setblocking(False)
        with suppress(BlockingIOError):
            while self.signals.recv(1024):
                pass
        self.signals.setblocking(True)
        return self.raised  # it may have been swallowed meanwhile


def _is_unsafe(frame: FrameType | None) -> bool:
    """Whether something is being imported, or nobody could catch what is raised."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib"):
            return True
        if code is Interruption.unraisable.__code__:
            return True
        frame = frame.f_back
    return False


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Handle Ctrl-C as a command should, if it is handled here at all; later ones are ignored."""
    interruption = Interruption()
    with interruption.signals, interruption.wake:
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(handler):
            yield interruption
            return
        watching = threading.Thread(
            target=interruption.watch, name="cellbounds-interrupts", daemon=True
        )
        watching.start()
        sys.unraisablehook = interruption.unraisable
        before = signal.set_wakeup_fd(interruption.wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, interruption.handle)
        try:
            yield interruption
        finally:
            # The process is about to end: there is nothing left that could be interrupted.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.set_wakeup_fd(before)
            sys.unraisablehook = interruption.hook
            interruption.wake.close()
            watching.join()
