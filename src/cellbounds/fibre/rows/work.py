"""What an exact sum may cost, and how a refusal says so."""

from __future__ import annotations

from cellbounds.errors import TooMuchWork

__all__ = ["check_work"]


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
