"""Starting and ending processes that leave nothing behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import parent_process, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from cellbounds.runtime.isolation import prepare


class _Process(SpawnProcess):
    """A process that never sees an interruption from the keyboard: its owner does."""

    def start(self) -> None:
        # Children inherit what is blocked; from then on they are never interrupted, not even
        # while they import. The tracker would unblock signals if it were started in between.
        if not hasattr(signal, "pthread_sigmask"):
            super().start()
            return
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    """Starts processes afresh (no locks and threads are inherited), and remembers them."""

    def __init__(self) -> None:
        self.started: list[_Process] = []

    def Process(  # type: ignore[override]  # noqa: N802 - for the class that executors call so
        self, *args: Any, **kwargs: Any
    ) -> _Process:
        process = _Process(*args, **kwargs)
        self.started.append(process)
        return process


def _prepared() -> None:
    """Run by each process first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare()
    threading.Thread(target=_end_with_owner, daemon=True).start()


def _end_with_owner() -> None:
    owner = parent_process()
    if owner is not None:
        wait([owner.sentinel])
        os._exit(1)


class _Call(Future[Any]):
    """A call that was taken back before its process ended.

    The thread behind a pool tells all its calls that a process has ended, and fails over those
    that were cancelled (Python 3.11).
    """

    def set_exception(self, exception: BaseException | None) -> None:
        if not self.cancelled():
            super().set_exception(exception)


class ProcessPool(ProcessPoolExecutor):
    """Processes that end at once when told so, or when their owner is gone."""

    def __init__(self, number: int) -> None:
        self._own = _Context()
        super().__init__(number, mp_context=self._own, initializer=_prepared)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have one call done."""
        future = super().submit(fn, *args, **kwargs)
        future.__class__ = _Call  # the pool makes its futures itself
        return future

    def end(self) -> None:
        """End them, whatever they do."""
        # Some may not have been started, for want of a folder, of memory, of descriptors.
        started = [process for process in self._own.started if process.pid is not None]
        for process in started:
            process.terminate()
        # It waits for the threads behind the processes too: what they leave open when the
        # interpreter ends would be told on standard error.
        self.shutdown(cancel_futures=True)
        for process in started:
            process.join()
