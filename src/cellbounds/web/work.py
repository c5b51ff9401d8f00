"""Work in the background: processes that do one job at a time, and can be ended.

Budgets ring in a main thread only, and a compiled call cannot be stopped from another one. So each
worker is a process; to cancel its job is to end it and start another.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import secrets
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from cellbounds.errors import CellboundsError
from cellbounds.runtime.memory import limited

REMEMBERED, KEPT = 200, 2**25
"""Jobs that are over and not forgotten, and the bytes of their results: the oldest go first."""

GRACE = 10.0
"""Seconds beyond 1.2 times its budget after which a worker is ended: nothing it does takes them."""

WATCH = 1.0
"""Seconds between two looks of a worker whether its server is still there."""


class TooMuchAsked(CellboundsError):
    """Somebody has as many jobs under way as one person may have."""


@dataclass(eq=False)
class Job:
    """One piece of work: who asked for it, how far it is, and what came out."""

    owner: str
    task: Callable[..., Any]
    given: tuple[Any, ...]
    seconds: float
    long: bool = False
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: str = "waiting"
    done: int = 0
    total: int = 0
    result: Any = None
    size: int = 0
    error: str = ""
    begun: float = field(default_factory=time.monotonic)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def waited(self) -> float:
        """Seconds since it was asked for."""
        return time.monotonic() - self.begun

    async def wait(self, seconds: float) -> bool:
        """Wait for the end, so long at most; whether it came."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.over.wait(), seconds)
        return self.over.is_set()

    def end(self, state: str, *, result: Any = None, size: int = 0, error: str = "") -> None:
        """Note what came out."""
        self.state, self.result, self.size, self.error = state, result, size, error
        self.over.set()


class Workers:
    """Processes that take jobs in the order they came, those of the least busy person first.

    Of several, one is kept from long jobs: nobody waits for somebody's report to see what a click
    did.
    """

    def __init__(self, number: int, *, per_person: int, memory: str | None = None) -> None:
        self.number, self.per_person, self.memory = number, per_person, memory
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: list[Job] = []
        self._news = asyncio.Condition()
        self._loops: list[asyncio.Task[None]] = []
        self._begun: list[Job] = []
        self._running: dict[str, _Worker] = {}
        self._threads = ThreadPoolExecutor(number, thread_name_prefix="worker")

    async def start(self) -> None:
        """Start the processes."""
        self._loops = [asyncio.create_task(self._serve()) for _ in range(self.number)]

    async def stop(self) -> None:
        """End everything; jobs that were under way are cancelled."""
        for job in [*self._jobs.values()]:
            if not job.over.is_set():
                job.end("cancelled", error="the server was stopped")
        for loop in self._loops:
            loop.cancel()
        for worker in [*self._running.values()]:
            worker.end()
        await asyncio.gather(*self._loops, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def submit(
        self,
        owner: str,
        task: Callable[..., Any],
        *given: Any,
        seconds: float,
        long: bool = False,
        free: bool = False,
    ) -> Job:
        """Put a job into the queue; the same work that somebody has under way is one job.

        Raises
        ------
        TooMuchAsked
            If this person has too many under way, unless it is `free`: work of the server itself.
        """
        own = [job for job in self._jobs.values() if job.owner == owner and not job.over.is_set()]
        same = next((job for job in own if (job.task, job.given) == (task, given)), None)
        if same is not None:
            return same
        if not free and len(own) >= self.per_person:
            raise TooMuchAsked(
                f"{len(own)} pieces of work are under way for you; wait for one, or cancel it"
            )
        job = Job(owner, task, given, seconds, long)
        self._jobs[job.key] = job
        self._forget()
        async with self._news:
            self._waiting.append(job)
            self._news.notify_all()
        return job

    def _forget(self) -> None:
        """Forget what was over first, where there is more than may be kept."""
        over = [job for job in self._jobs.values() if job.over.is_set()]
        many, size = len(over), sum(job.size for job in over)
        for job in over:
            if many <= REMEMBERED and size <= KEPT:
                break
            del self._jobs[job.key]
            many, size = many - 1, size - job.size

    def get(self, key: str, owner: str, task: Callable[..., Any] | None = None) -> Job | None:
        """A job of this person, and of this kind if one is named."""
        job = self._jobs.get(key)
        if job is None or job.owner != owner or task not in (None, job.task):
            return None
        return job

    def cancel(self, job: Job, state: str = "cancelled") -> None:
        """End a job, and the process that works on it."""
        if job.over.is_set():
            return
        worker = self._running.get(job.key)
        job.end(state, error=state)
        if job in self._waiting:
            self._waiting.remove(job)
        if worker is not None:
            worker.end()

    def hurry(self, job: Job) -> None:
        """Have a job that waits done before all others of the same person."""
        if job in self._waiting:
            self._waiting.remove(job)
            self._waiting.insert(0, job)

    @property
    def busy(self) -> int:
        """Jobs that run or wait."""
        return sum(not job.over.is_set() for job in self._jobs.values())

    async def _next(self) -> Job:
        async with self._news:
            await self._news.wait_for(lambda: bool(self._ready()))
            active = [job.owner for job in self._begun]
            job = min(self._ready(), key=lambda one: active.count(one.owner))
            self._waiting.remove(job)
            self._begun.append(job)
            return job

    def _ready(self) -> list[Job]:
        """The jobs that may begin now."""
        if sum(job.long for job in self._begun) < max(1, self.number - 1):
            return self._waiting
        return [job for job in self._waiting if not job.long]

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        worker = await loop.run_in_executor(self._threads, _Worker, self.memory)
        try:
            while True:
                job = await self._next()
                if not worker.alive:
                    worker = await loop.run_in_executor(self._threads, _Worker, self.memory)
                if not job.over.is_set():
                    await self._run(job, worker)
                async with self._news:  # others may begin now
                    self._begun.remove(job)
                    self._news.notify_all()
        finally:
            worker.end()

    async def _run(self, job: Job, worker: _Worker) -> None:
        loop = asyncio.get_running_loop()
        self._running[job.key] = worker
        job.state = "running"
        limit = loop.call_later(1.2 * job.seconds + GRACE, _late, job, worker)
        try:
            await loop.run_in_executor(self._threads, worker.work, job, loop)
        finally:
            limit.cancel()
            self._running.pop(job.key, None)


def _late(job: Job, worker: _Worker) -> None:
    job.end("failed", error="it took longer than it may; ask for less")
    worker.end()


class _Worker:
    """A process and the pipe to it."""

    def __init__(self, memory: str | None) -> None:
        start = multiprocessing.get_context("spawn")
        self._pipe, far = start.Pipe()
        self._process = start.Process(target=_work, args=(far, os.getpid(), memory), daemon=True)
        self._process.start()
        self._ended = False
        far.close()

    @property
    def alive(self) -> bool:
        return not self._ended and self._process.is_alive()

    def end(self) -> None:
        """End the process at once."""
        self._ended = True
        self._process.kill()

    def work(self, job: Job, loop: asyncio.AbstractEventLoop) -> None:
        """Hand a job over, and listen until it is done; in a thread of the server."""

        def tell(change: Callable[..., None], *given: Any, **named: Any) -> None:
            def apply() -> None:
                if not job.over.is_set():
                    change(*given, **named)

            loop.call_soon_threadsafe(apply)

        try:
            self._pipe.send((job.task, job.given))
            while True:
                raw = self._pipe.recv_bytes()
                kind, *said = pickle.loads(raw)  # from a process of our own
                if kind == "progress":
                    tell(_progress, job, *said)
                elif kind == "done":
                    return tell(job.end, "done", result=said[0], size=len(raw))
                else:
                    return tell(job.end, "failed", error=said[0])
        except (EOFError, OSError):
            self._process.join(5)
            tell(job.end, "failed", error="the process that worked on it ended; try again")


def _progress(job: Job, done: int, total: int) -> None:
    job.done, job.total = done, total


def _work(pipe: Connection, server: int, memory: str | None) -> None:
    """What a worker's process does: one job after the other, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(server,), daemon=True).start()
    from cellbounds.web import tasks

    assert tasks  # loaded before the first job comes
    while True:
        try:
            task, given = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(_outcome(task, given, pipe, memory))


def _outcome(
    task: Callable[..., Any], given: tuple[Any, ...], pipe: Connection, memory: str | None
) -> tuple[str, Any]:
    told = 0.0

    def steps(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > 0.2:
            told = time.monotonic()
            pipe.send(("progress", done, total))

    try:
        with limited(memory):
            return "done", task(*given, steps)
    except CellboundsError as problem:
        return "failed", without_folders(str(problem), given)
    except MemoryError:
        return "failed", "the work needs more memory than there is; ask for less"
    except Exception as problem:  # noqa: BLE001 - its text may hold confidential counts
        return "failed", f"internal error ({type(problem).__name__}); please report it"


def without_folders(text: str, given: Sequence[Any]) -> str:
    """What is said, with the names of files alone: where they are is nobody's business.

    Examples
    --------
    >>> without_folders("/srv/u1/a.csv, line 2: no count", ["/srv/u1/a.csv", 30.0])
    'a.csv, line 2: no count'
    """
    named = [one for part in given for one in ([part] if isinstance(part, str) else _texts(part))]
    for path in named:
        folder, name = os.path.split(path)
        if folder and name:
            text = text.replace(path, name)
    return text


def _texts(part: Any) -> list[str]:
    return [one for one in part if isinstance(one, str)] if isinstance(part, list | tuple) else []


def _watch(server: int) -> None:
    """End with the server, even if it was killed while this works."""
    while os.getppid() == server:
        time.sleep(WATCH)
    os._exit(1)
