"""How much memory the work may take: sizes, and a watch that stops what takes more."""

from __future__ import annotations

import _thread
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any

from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.interrupts import end_now

UNITS = {
    "": 1,
    **{f"{k}B": 1000**n for n, k in enumerate(("", "k", "M", "G", "T"))},
    **{f"{k}iB": 1024**n for n, k in enumerate(("K", "M", "G", "T"), 1)},
    **{k: 1024**n for n, k in enumerate(("K", "M", "G", "T"), 1)},
}
"""2GB are 2 * 1000**3 bytes, 2GiB and 2G are 2 * 1024**3."""

LEAST = 2**27
"""Bytes that Python and the solvers need before any work: less is refused."""

OFTEN, FAMILY = 0.05, 0.5
"""Seconds between two looks at this process, and between two looks for child processes."""

PATIENCE = 5.0
"""Seconds for the main thread to react, before a process that keeps growing is ended."""

TOO_FAR, AT_ONCE = Fraction(5, 4), 2
"""How many times the limit is too much then, and how many times is too much to wait at all."""

GIVEN_UP = 3
"""The exit status then: the same as of an answer that would take too much work."""

_ALLOWED: list[int] = []


def parse_size(text: str) -> int:
    """Memory to work with, from words such as ``2GiB``, ``500MB`` or ``1.5G``.

    Raises
    ------
    InvalidInput
        If that is no size, or less than anything can be done with.

    Examples
    --------
    >>> parse_size("2GiB"), parse_size("500 MB"), parse_size("1.5G")
    (2147483648, 500000000, 1610612736)
    """
    size = size_of(text)
    if size < LEAST:
        raise InvalidInput(
            f"{text!r} is too little to work with; give {size_text(LEAST)} or more"
            + (" (a number without a unit is in bytes)" if text.strip()[-1].isdecimal() else "")
        )
    return size


def size_of(text: str) -> int:
    """A number of bytes, however small, from such words.

    Examples
    --------
    >>> size_of("64MiB"), size_of("100")
    (67108864, 100)
    """
    match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([A-Za-z]*)\s*", text)
    known = {unit.lower(): size for unit, size in UNITS.items()}
    if match is None or match[2].lower() not in known:
        raise InvalidInput(
            f"{text!r} is no size; give a number and a unit, such as 2GiB, 500MB or 1.5G"
        )
    return int(Fraction(match[1]) * known[match[2].lower()])


def size_text(size: int) -> str:
    """A number of bytes in words.

    Examples
    --------
    >>> size_text(2**31), size_text(1_500_000_000)
    ('2 GiB', '1.4 GiB')
    """
    for unit, size_of_unit in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= size_of_unit:
            return f"{size / size_of_unit:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"


def allowed() -> int | None:
    """Bytes that the work may take altogether; None if nobody set a limit.

    Methods whose appetite can be chosen ask here before they choose.

    Examples
    --------
    >>> with limited("4GiB"):
    ...     allowed()
    4294967296
    >>> allowed() is None
    True
    """
    return _ALLOWED[-1] if _ALLOWED else None


def free_share() -> int:
    """Half of the free memory, or of what the whole work may take if that is less.

    Others work on the same machine, and what was counted is needed once more to lay it out.
    """
    import psutil

    free: int = psutil.virtual_memory().available
    return min(free, allowed() or free) // 2


class _Exceeded(BaseException):
    """Raised in the main thread wherever it is; no part of the work may take it for its own."""


@contextmanager
def limited(
    memory: str | int | None,
    *,
    patience: float = PATIENCE,
    held: Callable[[], int] | None = None,
) -> Iterator[None]:
    """Stop the work inside when this process and its children hold more memory than allowed.

    The memory that is resident counts, of which processes may share some. Workers on other
    machines are not watched. If the main thread does not react, because it is inside of a solver,
    and the memory keeps growing, this process and its children are ended with exit status 3.

    Parameters
    ----------
    memory
        Bytes, or words such as ``2GiB``; None: no limit.
    patience
        Seconds until whoever was to stop is told again, and ended if he holds far more.
    held
        How many bytes are held; None: as the system says.

    Raises
    ------
    TooMuchWork
        If the work takes more.
    InvalidInput
        If that is no size, or this is not the main thread.

    Examples
    --------
    >>> import cellbounds as cb
    >>> with limited("2GiB"):
    ...     answer = cb.bounds(cb.publish(cb.datasets.read("mp3"), "[mp3|gender]"))
    """
    if memory is None:
        yield
        return
    most = checked_size(memory)
    if threading.current_thread() is not threading.main_thread():
        raise InvalidInput("a limit of memory can be set in the main thread only")
    watch = _Watch(most, patience, held)
    _ALLOWED.append(most)
    try:
        with watch:
            yield
    finally:
        _ALLOWED.pop()


def checked_size(memory: str | int) -> int:
    """A limit of memory in bytes.

    Raises
    ------
    InvalidInput
        If that is no size.
    """
    if isinstance(memory, str):
        return parse_size(memory)
    if isinstance(memory, bool) or not isinstance(memory, int):
        raise InvalidInput(f"memory={memory!r}; give bytes, or words such as '2GiB'")
    return parse_size(str(memory))


class _Watch:
    """A thread that looks how much memory there is, and wakes the main thread if too much."""

    def __init__(self, most: int, patience: float, held: Callable[[], int] | None) -> None:
        import psutil

        self._psutil = psutil
        self._most, self._patience = most, patience
        self._held = held or self._resident
        self._self = psutil.Process()
        self._children: list[Any] = []
        self._looked = -FAMILY
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cellbounds-memory", daemon=True)
        self._main = threading.main_thread().ident
        self._before: Any = None
        self._signal: int | None = getattr(signal, "SIGUSR2", None)
        self.exceeded = False

    def __enter__(self) -> None:
        if self._signal is not None:
            self._before = signal.signal(self._signal, self._raise)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._signal is not None:
            # None: a handler that was not set from Python, which nobody can set again.
            signal.signal(self._signal, self._before or signal.SIG_DFL)
        # Any error: imports, among others, turn whatever stops them into an error of their own.
        if self.exceeded and kind is not None:
            raise TooMuchWork(
                f"the work needs more than the {size_text(self._most)} of memory allowed; allow "
                "more, or ask for less: fewer variables or cells, a coarser question, a budget in "
                "seconds"
            ) from None

    def _raise(self, _number: int, _frame: object) -> None:
        if not self._ended.is_set():
            raise _Exceeded

    def _run(self) -> None:
        while not self._ended.wait(OFTEN):
            if self._held() <= self._most:
                continue
            self.exceeded = True
            self._wake()
            hurry = patient = time.monotonic() + self._patience
            while not self._ended.wait(OFTEN):
                most = (TOO_FAR if time.monotonic() > hurry else AT_ONCE) * self._most
                held = self._held()
                if held > most:
                    end_now(
                        f"undecided: the work needs more than the {size_text(self._most)} of "
                        "memory allowed, and a solver did not let itself be stopped; allow more, "
                        "or ask for less",
                        GIVEN_UP,
                    )
                if held > self._most and time.monotonic() > patient:
                    # Somebody may have swallowed it, as destructors and callbacks do.
                    self._wake()
                    patient = time.monotonic() + self._patience

    def _resident(self) -> int:
        now = time.monotonic()
        if now - self._looked >= FAMILY:
            self._looked = now
            with suppress(self._psutil.Error):
                self._children = self._self.children(recursive=True)
        total = int(self._self.memory_info().rss)
        for child in self._children:
            with suppress(self._psutil.Error):  # it has ended meanwhile
                total += int(child.memory_info().rss)
        return total

    def _wake(self) -> None:
        if self._signal is not None and self._main is not None:
            # To this thread, so that it also wakes if it waits for something.
            signal.pthread_kill(self._main, self._signal)
        else:
            _thread.interrupt_main()
