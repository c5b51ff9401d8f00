"""How much work a question may cost, and what may help with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path

from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.checkpoints import Checkpoint, header_of
from cellbounds.runtime.workers import checked_executor
from cellbounds.statements import Release

__all__ = ["Effort", "opened"]


@dataclass(frozen=True, slots=True, eq=False)
class Effort:
    """A deadline (of the monotonic clock), helpers, a table to start from, a listener.

    `start` is a consistent table that is known already, such as the owner's. Bounds should be
    ready by `early`, so that something is left for what follows. `state` keeps what was found, to
    go on from there another time.
    """

    deadline: float | None = None
    executor: Executor | None = None
    start: Table | None = None
    progress: Callable[[int, int], None] | None = None
    early: float | None = None
    state: Checkpoint | None = None

    @classmethod
    def of(
        cls,
        seconds: float | None = None,
        executor: Executor | None = None,
        start: Table | None = None,
        progress: Callable[[int, int], None] | None = None,
        share: float = 1.0,
        state: Checkpoint | None = None,
    ) -> Effort:
        """Check a budget in seconds and who helps, and start its clock."""
        executor = checked_executor(executor)
        if seconds is None:
            return cls(None, executor, start, progress, state=state)
        if isinstance(seconds, bool) or not isinstance(seconds, Real):
            raise InvalidInput(f"seconds={seconds!r}; give a number of seconds above 0, or None")
        if not 0 < seconds < float("inf"):
            raise InvalidInput(
                f"seconds={seconds!r}; a budget is a number of seconds above 0 (None: no limit)"
            )
        now, span = time.monotonic(), float(seconds)
        return cls(now + span, executor, start, progress, now + share * span, state)

    @property
    def for_bounds(self) -> Effort:
        """The part of the effort that is meant for bounds."""
        return self if self.early is None else replace(self, deadline=self.early)

    def for_part(self, names: Sequence[str]) -> Effort:
        """The same effort for the part of the table over some variables."""
        if self.start is None:
            return self
        return replace(self, start=self.start.margin(*names))

    @property
    def left(self) -> float | None:
        """Seconds until the deadline, at least 0; None if there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def spent(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def say(self, done: int, total: int) -> None:
        """Tell the listener how far the work is."""
        if self.progress is not None:
            self.progress(done, total)


def opened(
    state: str | Path | Checkpoint | None,
    release: Release,
    kind: str,
    over: Sequence[str],
    cells: Sequence[Sequence[int]] | None,
    *,
    start: bool,
) -> Checkpoint | None:
    """The file that keeps what is found about a question.

    One that is open already is for parts of its question: they are not compared with it, but what
    was found with the help of the owner's table is for those only who have it.

    Raises
    ------
    InvalidInput
        If there is none of that name and none can be made, or it belongs to another question.
    """
    if state is None:
        return None
    if isinstance(state, Checkpoint):
        return state if state.start == start else None
    if not isinstance(state, (str, Path)):
        raise InvalidInput(f"state={state!r}; give the name of a file, or None")
    return Checkpoint(state, header_of(release.digest, kind, over, cells, start=start))
