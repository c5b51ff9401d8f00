"""What an exact sum may cost, and how a refusal says so."""

from __future__ import annotations

from cellbounds.errors import TooMuchWork
from cellbounds.model.priors import MOST_WEIGHTS

__all__ = ["check_room", "check_work"]


def check_work(steps: float, effort: float, what: str) -> None:
    """Refuse work above the effort.

    Raises
    ------
    TooMuchWork
        Saying what it would take, the limit and the remedy.
    """
    if steps > effort:
        raise TooMuchWork(
            f"{what} would take about {steps:.1e} steps, and the limit is {effort:.1e}; raise "
            "effort=, or draw a sample instead"
        )


def check_room(numbers: float, what: str) -> None:
    """Refuse arrays that are too long, before they are made.

    Raises
    ------
    TooMuchWork
        Saying how many numbers they would have, the limit and the remedy.
    """
    if numbers > MOST_WEIGHTS:
        raise TooMuchWork(
            f"{what} would hold about {numbers:.1e} numbers, as many as cells can have counts, "
            f"and the limit is {MOST_WEIGHTS:.0e}; publish more, or draw a sample instead"
        )
