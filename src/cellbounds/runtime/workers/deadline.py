"""The end of a budget, where several machines work for it."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

__all__ = ["Until"]


@dataclass(frozen=True, slots=True)
class Until:
    """When a budget ends, for workers in other processes and on other machines.

    Monotonic clocks mean nothing to other processes, and wall clocks of other machines may be
    wrong. So both are sent: how much was left, and when that was. A worker never takes more than
    was left, whatever its clock says.

    Attributes
    ----------
    span
        Seconds that were left when the work was sent; None if there is no end.
    sent
        When that was, by the wall clock of the owner.
    host
        The owner's machine.

    Examples
    --------
    >>> Until.of(None).left is None
    True
    >>> 0 < Until.of(60.0).left <= 60
    True
    """

    span: float | None
    sent: float
    host: str

    @classmethod
    def of(cls, left: float | None) -> Until:
        """The end of a budget of which so many seconds are left (None: it has no end)."""
        return cls(left, time.time(), socket.gethostname())

    @property
    def left(self) -> float | None:
        """Seconds that are left now, at least 0; None if there is no end."""
        if self.span is None:
            return None
        waited = max(0.0, time.time() - self.sent)
        return max(0.0, self.span - waited)

    @property
    def deadline(self) -> float | None:
        """The end, by the monotonic clock of the process that asks; None if there is none."""
        left = self.left
        return None if left is None else time.monotonic() + left
