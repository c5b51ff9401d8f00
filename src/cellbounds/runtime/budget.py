"""What a question may cost: time, memory, who works on it, where it is kept, who is told."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial, wraps
from numbers import Real
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, overload

from cellbounds.errors import InvalidInput, Unsettled
from cellbounds.runtime.checkpoints import Checkpoint
from cellbounds.runtime.devices import CPU, device_of
from cellbounds.runtime.interrupts import Alarm, Late
from cellbounds.runtime.workers import Processes, checked_executor

P = ParamSpec("P")
R = TypeVar("R")


PART_LATE, LATE = 0.05, 0.5
"""A part of the budget, and seconds, by which work may be late before it is stopped."""

WRITING, LEAST = 4e-5, 0.3
"""Seconds that it takes to write down a cell (65,536 cells take 2 to 3 seconds), and the least part
of a budget that is left for the answer about them."""


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """What work may cost, for every function that can take long.

    Its clock starts with each call that it is given to, so that it can be used again.

    Attributes
    ----------
    seconds
        How long to work. What is not settled by then comes back as far as it is proven and
        attained, never as if it were settled. None: as long as it takes.
    memory
        Bytes, or words such as ``"2GiB"``, that this process and its workers may hold; work that
        needs more ends with TooMuchWork. None: no limit.
    workers
        Who shares long work: a number of processes of this machine, this one included, or a
        ``concurrent.futures.Executor``, such as a Dask client's. Answers are the same with any
        number of them. None: nobody.
    checkpoint
        A file that keeps what was proven and found, made if it is not there: the same question
        goes on from it after it was stopped, by whatever means. As confidential as the table that
        helped; keep it from others in any case, since what it says is believed.
    progress
        Called with the steps done and the steps in all.
    device
        Where large arrays are worked on: ``"cpu"``, or an accelerator by the name that torch has
        for it, such as ``"cuda"`` (needs the extra ``torch``). Answers are the same.

    Raises
    ------
    InvalidInput
        If one of them is none.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("delinquent"), "[county]", "[education]")
    >>> cb.bounds(release, budget=cb.Budget(seconds=10, workers=2))["Alpha", "Low"]
    (0, 20)
    >>> cb.bounds(release, seconds=10)["Alpha", "Low"]
    (0, 20)
    """

    seconds: float | None = None
    memory: str | int | None = None
    workers: int | Executor | None = None
    checkpoint: str | Path | Checkpoint | None = None
    progress: Callable[[int, int], None] | None = None
    device: str = CPU.name
    deadline: float | None = field(default=None, init=False, repr=False)
    _runs: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        seconds = self.seconds
        if seconds is not None:
            if isinstance(seconds, bool) or not isinstance(seconds, (int, float, Real)):
                raise InvalidInput(
                    f"seconds={seconds!r}; give a number of seconds above 0, or None"
                )
            if not 0 < float(seconds) < float("inf"):
                raise InvalidInput(
                    f"seconds={seconds!r}; a budget is a number of seconds above 0 (None: no limit)"
                )
        if self.memory is not None:
            from cellbounds.runtime.memory import checked_size

            checked_size(self.memory)
        if isinstance(self.workers, int):
            Processes.check(self.workers)
        elif self.workers is not None:
            checked_executor(self.workers)
        if not isinstance(self.checkpoint, (str, Path, Checkpoint, type(None))):
            raise InvalidInput(f"checkpoint={self.checkpoint!r}; give the name of a file, or None")
        if self.progress is not None and not callable(self.progress):
            raise InvalidInput(
                f"progress={self.progress!r}; give a function of the steps done and the steps in "
                "all"
            )

        if not isinstance(self.device, str):
            raise InvalidInput(f"device={self.device!r}; give 'cpu', or the name torch has for it")
        device_of(self.device)

    @classmethod
    def of(cls, seconds: float | None) -> Budget:
        """A running budget of so many seconds; nobody helps or listens."""
        budget = cls(seconds)
        return budget._running(None if seconds is None else time.monotonic() + float(seconds))

    @classmethod
    def until(cls, deadline: float | None) -> Budget:
        """A running budget that ends at a time of the monotonic clock; nobody helps or listens."""
        return cls()._running(deadline)

    def _running(self, deadline: float | None, **changed: Any) -> Budget:
        # A frozen value whose clock runs: callers cannot set these, and the rest was checked.
        budget = copy.copy(self)
        for name, value in {"deadline": deadline, "_runs": True, **changed}.items():
            object.__setattr__(budget, name, value)
        return budget

    @property
    def executor(self) -> Executor | None:
        """Who shares the work, while it runs."""
        return self.workers if isinstance(self.workers, Executor) else None

    @property
    def left(self) -> float | None:
        """Seconds until the deadline, at least 0; None if there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def spent(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def stopped_at(self) -> float | None:
        """When work that does not look at the clock is stopped; None if it is not."""
        if self.deadline is None:
            return None
        span = self.left if self.seconds is None else float(self.seconds)
        return self.deadline + PART_LATE * (span or 0.0) + LATE

    def affords(self, seconds: float) -> bool:
        """Whether work of a known length, which nothing stops, may begin.

        It may end as long after work is stopped as that is after the deadline: by 1.1 times the
        budget and a second.
        """
        at, deadline = self.stopped_at, self.deadline
        return at is None or deadline is None or time.monotonic() + seconds <= 2 * at - deadline

    @property
    def overdue(self) -> bool:
        """Whether the work would have been stopped by now: not even what is quick is begun."""
        at = self.stopped_at
        return at is not None and time.monotonic() >= at

    def share(self, part: float = 1.0, *, least: float = 0.0, most: float | None = None) -> Budget:
        """A part of what is left, at least and at most so many seconds."""
        left = self.left
        if left is None and most is None:
            return self
        seconds = max(least, part * left) if left is not None else float("inf")
        return self._running(time.monotonic() + (seconds if most is None else min(most, seconds)))

    def before_writing(self, cells: int, part: float = 1.0) -> Budget:
        """The part of what is left for an answer about so many cells, which are then written."""
        if self.left is None:
            return self
        return self.share(max(LEAST, part - WRITING * cells / max(self.left, WRITING)))

    def resumed(self, checkpoint: Checkpoint | None) -> Budget:
        """The same with a checkpoint that is open, or none."""
        return self._running(self.deadline, checkpoint=checkpoint)

    def quiet(self) -> Budget:
        """The same with nobody who listens, for parts of what he is told about."""
        return self._running(self.deadline, progress=None)

    def say(self, done: int, total: int) -> None:
        """Tell the listener how far the work is."""
        if self.progress is not None:
            self.progress(done, total)


UNLIMITED = Budget()
"""As long as it takes, by this process alone."""


@contextmanager
def running(
    budget: Budget,
    seconds: float | None = None,
    *,
    resumes: bool = False,
    stops: bool = True,
    parts: bool = False,
) -> Iterator[Budget]:
    """A budget whose clock runs, with its workers and its limit of memory.

    One that runs already goes on. `seconds` is the short form of a budget of nothing else.

    Parameters
    ----------
    resumes
        Whether the work can go on from a checkpoint.
    stops
        Whether work that is late may be stopped anywhere, if the clock starts here: parts of it
        look at the clock, and what they leave open is for the whole to say.
    parts
        Whether that holds for a budget that runs already too, unless the whole is stopped anyway.

    Raises
    ------
    InvalidInput
        If both are given, or that is no budget, or the work cannot be resumed and should be.
    Unsettled
        If the work was late and had to be stopped.

    Examples
    --------
    >>> with running(UNLIMITED, 60) as budget:
    ...     0 < budget.left <= 60
    True
    """
    if not isinstance(budget, Budget):
        raise InvalidInput(f"budget={budget!r}; give a cellbounds.Budget, or seconds=")
    if seconds is not None:
        if budget is not UNLIMITED:
            raise InvalidInput(
                f"seconds={seconds!r} beside a budget; give Budget(seconds=...) or seconds= alone"
            )
        budget = Budget(seconds)
    if budget.checkpoint is not None and not resumes:
        raise InvalidInput(
            f"checkpoint={str(budget.checkpoint)!r}: this work cannot be resumed; give none"
        )
    with ExitStack() as stack:
        if not budget._runs:
            # Start the clock and the workers, and watch the memory.
            deadline = None if budget.seconds is None else time.monotonic() + float(budget.seconds)
            if budget.memory is not None:
                from cellbounds.runtime.memory import limited

                stack.enter_context(limited(budget.memory))
            workers = budget.workers
            if isinstance(workers, int):
                workers = stack.enter_context(Processes(workers)) if workers > 1 else None
            budget = budget._running(deadline, workers=workers)
        else:
            stops = stops and parts
        if stops:
            stack.enter_context(stopped_late(budget))
        try:
            yield budget
        except Late:
            # The alarm was set further out: who asked for this part may have a use for the rest.
            raise Unsettled(_spent(budget)) from None


def stopped_late(budget: Budget) -> AbstractContextManager[None]:
    """Stop what does not look at the clock a little after the end of a running budget.

    Raises
    ------
    Unsettled
        If it was late and had to be stopped.
    """
    at = budget.stopped_at
    return nullcontext() if at is None else Alarm(at, _spent(budget))


def _spent(budget: Budget) -> str:
    of = "" if budget.seconds is None else f" of {budget.seconds:g} seconds"
    return f"the budget{of} was spent without an answer; give more seconds, or ask for less"


@overload
def budgeted(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def budgeted(
    *, resumes: bool = False, stops: bool = True, parts: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def budgeted(function: Any = None, /, **how: bool) -> Any:
    """A function of ``budget=`` and ``seconds=``: it gets a running budget (see :func:`running`).

    Examples
    --------
    >>> @budgeted
    ... def left(budget: Budget = UNLIMITED, seconds: float | None = None) -> float | None:
    ...     return budget.left
    >>> left() is None, 0 < left(seconds=60) <= 60
    (True, True)
    """
    if function is None:
        return partial(budgeted, **how)

    @wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        given, seconds = named.pop("budget", UNLIMITED), named.pop("seconds", None)
        with running(given, seconds, **how) as budget:
            return function(*args, **named, budget=budget)

    return called
