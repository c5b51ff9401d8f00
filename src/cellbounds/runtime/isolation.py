"""Objects that live in a child process: whatever ends it, their owner lives on.

CP-SAT checks itself, and ends the process that it works in if a check fails. So it works in a
child: one for each thread that asks at the same time, started at the first question, kept for the
next ones, and gone with its owner.
"""

from __future__ import annotations

import faulthandler
import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from cellbounds.runtime.interrupts import uninterrupted

CODE = "from cellbounds.runtime.isolation import serve; serve()"
"""What a child that is started afresh runs. Given another, none is forked instead."""

_OWN_CODE = CODE

LATE = 2.0
"""Seconds over its time after which a question is given up, and the child with it."""

LONGEST = 1e6
"""Seconds that are not watched: longer than anybody waits."""

MOST_HELD = 8
"""Objects that a child holds; what was used least lately is made anew when it is asked again."""

MOST_ENDS = 3
"""Children that one object may cost, before it is asked no more."""

SMALL = 2**28
"""Bytes up to which a process is forked: what is shared with the child counts twice against a
limit of memory, and large processes take long to fork."""

GIVEN_UP, FAILED, UNTOLD = 1, 70, 255
"""Exit statuses of a child: its question took too long, it could not answer, somebody else of this
process was told which."""

ALARM = -getattr(signal, "SIGALRM", -GIVEN_UP)
"""The status of one whose question took too long, where there are alarms."""

Recipe = tuple[Any, tuple[Any, ...]]
"""What makes an object, and its arguments."""


class Ended(Exception):
    """A child ended, or was ended for being late, before it answered.

    Examples
    --------
    >>> str(Ended(-6)), str(Ended(GIVEN_UP))
    ('it ended abruptly (signal 6)', 'it took too long')
    """

    def __init__(self, status: int | None) -> None:
        self.late = status in (GIVEN_UP, ALARM)
        how = f"signal {-status}" if status is not None and status < 0 else f"status {status}"
        super().__init__("it took too long" if self.late else f"it ended abruptly ({how})")


class Isolated:
    """An object in a child process, made there when it is first asked, and again in later ones.

    Parameters
    ----------
    maker
        A class or function of a module, which makes the object.
    given
        Its arguments, which are pickled, like those of the questions, and the answers.

    Examples
    --------
    >>> from fractions import Fraction
    >>> Isolated(Fraction, "0.5").ask("limit_denominator", 10)
    Fraction(1, 2)
    """

    def __init__(self, maker: Any, *given: Any) -> None:
        self._recipe = maker, given
        self._number = next(_NUMBERS)
        self._last: Ended | None = None
        self._ends = 0

    def ask(self, name: str, *given: Any, seconds: float | None = None) -> Any:
        """What a method of the object gives.

        Given `seconds`, to which it keeps by itself, it is ended a little later.

        Raises
        ------
        Ended
            If it ended before it answered; from the third time on it is not asked any more.
        """
        if self._last is not None and self._ends >= MOST_ENDS:
            raise self._last
        child = _child()
        if child is None:  # as good as it gets where no process can be started
            maker, arguments = self._recipe
            return getattr(maker(*arguments), name)(*given)
        try:
            answer, problem = child.answer(self._number, self._recipe, name, given, seconds)
        except Ended as ended:
            self._last, self._ends = ended, self._ends + 1
            raise
        finally:
            if child.busy:  # it ended, or somebody interrupts
                child.end()
            else:
                _IDLE.append(child)
        if problem is not None:
            raise problem
        return answer


class _Forked:
    """A process that was forked, as :class:`subprocess.Popen` has those that were spawned."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._status: int | None = None

    def kill(self) -> None:
        """End it."""
        if self._status is None:
            with suppress(ProcessLookupError):
                os.kill(self._number, signal.SIGKILL)

    def poll(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self.wait(os.WNOHANG)

    def wait(self, how: int = 0) -> int | None:
        """The same when it has ended."""
        if self._status is None:
            try:
                ended, status = os.waitpid(self._number, how)
            except ChildProcessError:  # somebody else was told
                self._status = UNTOLD
            else:
                if ended:
                    self._status = os.waitstatus_to_exitcode(status)
        return self._status


_Process = subprocess.Popen[bytes] | _Forked


class _Child:
    """The owner's side of a child."""

    def __init__(self, process: _Process, questions: int, answers: int) -> None:
        self._process = process
        # Unbuffered: what is left in a buffer would be written when nobody expects it.
        self._questions = os.fdopen(questions, "wb", buffering=0, closefd=False)
        self._answers = os.fdopen(answers, "rb", closefd=False)
        self._pipes = questions, answers
        self._code = CODE
        self._held: list[int] = []
        self.busy = False
        # Also when nobody holds it any more, and at exit.
        self.end = weakref.finalize(self, _end, process, self._pipes)
        _ALL.add(self)

    @property
    def alive(self) -> bool:
        """Whether it may be asked."""
        return self._process.poll() is None and self._code == CODE

    def answer(
        self, number: int, recipe: Recipe, name: str, given: tuple[Any, ...], seconds: float | None
    ) -> tuple[Any, BaseException | None]:
        """What a method of an object gives, or raises."""
        self.busy = True
        known = number in self._held
        held = [other for other in self._held if other != number]
        forgotten, self._held = held[: 1 - MOST_HELD], held[1 - MOST_HELD :]
        question = number, None if known else recipe, forgotten, name, given, seconds
        rest = memoryview(pickle.dumps(question))
        try:
            while rest:
                rest = rest[self._questions.write(rest) :]
            answer, problem = pickle.load(self._answers)
        except (EOFError, OSError, pickle.UnpicklingError):
            self._process.kill()
            raise Ended(self._process.wait()) from None
        if known or problem is None:
            self._held.append(number)
        self.busy = False
        return answer, problem

    def leave(self) -> None:
        """Close what a forked process has of it, so that it ends with its owner alone."""
        self.end.detach()
        for pipe in self._pipes:
            os.close(pipe)


def _end(process: _Process, pipes: Sequence[int]) -> None:
    process.kill()
    process.wait()
    for pipe in pipes:
        os.close(pipe)


_NUMBERS = itertools.count()
_IDLE: list[_Child] = []
_ALL: weakref.WeakSet[_Child] = weakref.WeakSet()


def _left() -> None:
    """Run in each process that is forked from this one: its parent's children are not its own."""
    for child in list(_ALL):
        child.leave()
    _ALL.clear()
    _IDLE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_left)


def prepare() -> None:
    """Fork a child before there are threads, which later forbid it; it loads nothing yet."""
    if not _IDLE and _may_fork():
        with suppress(OSError):
            _IDLE.append(_started())


def _child() -> _Child | None:
    """One that is not busy; None if no process can be started."""
    while _IDLE:
        with suppress(IndexError):  # another thread was faster
            child = _IDLE.pop()
            if child.alive:
                return child
            child.end()
    with suppress(OSError):
        return uninterrupted(_started)
    return None


def _may_fork() -> bool:
    """Whether a fork is safe and cheap: threads might hold locks that nobody opens in the child."""
    if sys.platform != "linux" or threading.active_count() > 1 or CODE != _OWN_CODE:
        return False
    resident = int(Path("/proc/self/statm").read_bytes().split()[1])
    return resident * os.sysconf("SC_PAGE_SIZE") <= SMALL


def _started() -> _Child:
    start = _forked if _may_fork() else _spawned
    (child_in, questions), (answers, answered) = os.pipe(), os.pipe()
    try:
        process = start(child_in, answered)
    except OSError:
        os.close(questions)
        os.close(answers)
        raise
    finally:
        os.close(child_in)
        os.close(answered)
    return _Child(process, questions, answers)


def _spawned(asked: int, answered: int) -> _Process:
    if not sys.executable or getattr(sys, "frozen", False):
        raise FileNotFoundError("no Python to start")
    code = f"import sys; sys.path[:] = {sys.path!r}; {CODE}"
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=asked, stdout=answered, stderr=subprocess.DEVNULL
    )


def _forked(asked: int, answered: int) -> _Process:
    # Nobody's handler may raise in the child.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with warnings.catch_warnings():
            # Python counts the threads of libraries, which own nothing that the child uses.
            warnings.simplefilter("ignore", DeprecationWarning)
            number = os.fork()
        if number == 0:
            _become_child(asked, answered)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _Forked(number)


def _become_child(asked: int, answered: int) -> NoReturn:
    """Serve in a forked process, with nothing open that was its owner's."""
    import fcntl

    try:
        faulthandler.disable()
        gc.freeze()  # what is collected here might be cleaned up, which is its owner's part
        signal.set_wakeup_fd(-1)
        for signal_number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            if callable(signal.getsignal(signal_number)):
                signal.signal(signal_number, signal.SIG_DFL)
        # Above those that are replaced, which may have been closed before.
        asked, answered = (
            fcntl.fcntl(signal_number, fcntl.F_DUPFD, 3) for signal_number in (asked, answered)
        )
        os.dup2(asked, 0)
        os.dup2(answered, 1)
        for opened in list(Path("/proc/self/fd").iterdir()):
            if int(opened.name) > 2:
                with suppress(OSError):  # that of the listing
                    os.close(int(opened.name))
        serve()
    finally:
        os._exit(FAILED)


def serve() -> NoReturn:
    """Answer questions from standard input to standard output, until the owner is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        # What a core holds is confidential.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    held: dict[int, Any] = {}

    def reply(future: Future[Any]) -> None:
        problem = future.exception()
        sent = False
        try:
            pickle.dump((None if problem else future.result(), problem), answers)
            answers.flush()
            sent = True
        finally:
            if not sent:  # nobody would ever know
                os._exit(FAILED)

    # This thread only listens, so that it hears in the midst of the work that the owner is gone.
    try:
        worker = ThreadPoolExecutor(1)
        while True:
            worker.submit(_answer, held, *pickle.load(questions)).add_done_callback(reply)
    finally:
        os._exit(0)


def _answer(
    held: dict[int, Any],
    number: int,
    recipe: Recipe | None,
    forgotten: list[int],
    name: str,
    given: tuple[Any, ...],
    seconds: float | None,
) -> Any:
    """What a method of an object that is held here gives, which is made if there is a recipe."""
    for other in forgotten:
        held.pop(other, None)
    if recipe is not None:
        maker, arguments = recipe
        held[number] = maker(*arguments)
    if seconds is not None and seconds <= LONGEST:
        _end_after(seconds + LATE)
    try:
        return getattr(held[number], name)(*given)
    finally:
        _end_after(None)


def _end_after(seconds: float | None) -> None:
    """End this process after a while, from outside of Python, unless that is taken back."""
    if hasattr(signal, "setitimer"):
        # Not by faulthandler: where the owner's watches something, that of a forked child waits for
        # ever for a thread that was not forked with it.
        signal.setitimer(signal.ITIMER_REAL, seconds or 0.0)
    elif seconds is not None:
        faulthandler.dump_traceback_later(seconds, exit=True, file=2)  # nobody reads its words
    else:
        faulthandler.cancel_dump_traceback_later()
