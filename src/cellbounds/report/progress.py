"""A line on standard error while something takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TextIO

__all__ = ["Progress"]


class Progress:
    """Shows what is being done and for how long, once it has taken a second.

    On a terminal the line is rewritten every half second and removed at the end; elsewhere a line
    is added every ten seconds.
    """

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what, self._part = what, ""
        self._stream = stream or sys.stderr
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._begun = time.monotonic()

    def say(self, what: str) -> None:
        """Name the next step."""
        self._what, self._part = what, ""

    def step(self, done: int, total: int) -> None:
        """Say how much of the step is done."""
        self._part = f" {done} of {total}"

    def _show(self) -> None:
        terminal = self._stream.isatty()
        pause = 1.0
        while not self._ended.wait(pause):
            seconds = time.monotonic() - self._begun
            line = f"cellbounds: {self._what}{self._part} ({seconds:.0f} s)"
            self._stream.write(f"\r\x1b[K{line}" if terminal else f"{line}\n")
            self._stream.flush()
            pause = 0.5 if terminal else 10.0

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._stream.isatty() and time.monotonic() - self._begun > 1:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
