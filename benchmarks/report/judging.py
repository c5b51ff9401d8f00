"""What a target is, and how a measured figure stands to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.results import Results


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was measured of a target.

    Parameters
    ----------
    measured : str
        The figures.
    met : bool or None
        Whether they are what was aimed at; None if that was not measured as it was meant.
    why : str
        What else was measured that explains it; or why it is not judged.
    """

    measured: str
    met: bool | None
    why: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in a word."""
        return {True: "met", False: "**not met**", None: "not judged"}[self.met]


Judge: TypeAlias = Callable[[Results], Judgement]


@dataclass(frozen=True, slots=True)
class Target:
    """A cost that was aimed at.

    Parameters
    ----------
    work, against, aim : str
        What is done, what it is compared with, and what was aimed at.
    judge : callable
        Says how the results stand to it.
    """

    work: str
    against: str
    aim: str
    judge: Judge


NOT_MEASURED = Judgement("-", None, "not measured")
