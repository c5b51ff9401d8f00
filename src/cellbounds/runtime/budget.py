"""What a question may cost: time, memory, who works on it, where it is kept, who is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path

from cellbounds.errors import InvalidInput
from cellbounds.runtime.checkpoints import Checkpoint
from cellbounds.runtime.workers import Processes, checked_executor

__all__ = ["Budget", "running"]


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

    Raises
    ------
    InvalidInput
        If one of them is none.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.example_table("delinquent"), "[county]", "[education]")
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
    deadline: float | None = field(default=None, init=False, repr=False)
    _runs: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        _check_seconds(self.seconds)
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

    @classmethod
    def of(cls, seconds: float | None) -> Budget:
        """A running budget of so many seconds; nobody helps or listens."""
        budget = cls(seconds)
        return budget._running(None if seconds is None else time.monotonic() + float(seconds))

    @classmethod
    def until(cls, deadline: float | None) -> Budget:
        """A running budget that ends at a time of the monotonic clock; nobody helps or listens."""
        return cls()._running(deadline)

    def _running(self, deadline: float | None) -> Budget:
        # A frozen value whose clock runs: callers cannot set these.
        budget = replace(self)
        object.__setattr__(budget, "deadline", deadline)
        object.__setattr__(budget, "_runs", True)
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

    def share(self, part: float = 1.0, *, least: float = 0.0, most: float | None = None) -> Budget:
        """A part of what is left, at least and at most so many seconds."""
        left = self.left
        if left is None and most is None:
            return self
        seconds = max(least, part * left) if left is not None else float("inf")
        return self._running(time.monotonic() + (seconds if most is None else min(most, seconds)))

    def resumed(self, checkpoint: Checkpoint | None) -> Budget:
        """The same with a checkpoint that is open, or none."""
        return replace(self, checkpoint=checkpoint)._running(self.deadline)

    def quiet(self) -> Budget:
        """The same with nobody who listens, for parts of what he is told about."""
        return replace(self, progress=None)._running(self.deadline)

    def say(self, done: int, total: int) -> None:
        """Tell the listener how far the work is."""
        if self.progress is not None:
            self.progress(done, total)


def _check_seconds(seconds: object) -> None:
    if seconds is None:
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, Real)):
        raise InvalidInput(f"seconds={seconds!r}; give a number of seconds above 0, or None")
    if not 0 < float(seconds) < float("inf"):
        raise InvalidInput(
            f"seconds={seconds!r}; a budget is a number of seconds above 0 (None: no limit)"
        )


@contextmanager
def running(
    budget: Budget | None, seconds: float | None = None, *, resumes: bool = False
) -> Iterator[Budget]:
    """A budget whose clock runs, with its workers and its limit of memory.

    One that runs already goes on. `seconds` is the short form of a budget of nothing else.

    Parameters
    ----------
    resumes
        Whether the work can go on from a checkpoint.

    Raises
    ------
    InvalidInput
        If both are given, or that is no budget, or the work cannot be resumed and should be.

    Examples
    --------
    >>> with running(None, 60) as budget:
    ...     0 < budget.left <= 60
    True
    """
    if budget is None:
        budget = Budget(seconds)
    elif not isinstance(budget, Budget):
        raise InvalidInput(f"budget={budget!r}; give a cellbounds.Budget, or seconds=")
    elif seconds is not None:
        raise InvalidInput(
            f"seconds={seconds!r} beside a budget; give Budget(seconds=...) or seconds= alone"
        )
    if budget.checkpoint is not None and not resumes:
        raise InvalidInput(
            f"checkpoint={str(budget.checkpoint)!r}: this work cannot be resumed; give none"
        )
    if budget._runs:
        yield budget
        return
    deadline = None if budget.seconds is None else time.monotonic() + float(budget.seconds)
    with ExitStack() as stack:
        if budget.memory is not None:
            from cellbounds.runtime.memory import limited

            stack.enter_context(limited(budget.memory))
        workers = budget.workers
        if isinstance(workers, int):
            workers = stack.enter_context(Processes(workers)) if workers > 1 else None
        yield replace(budget, workers=workers)._running(deadline)
