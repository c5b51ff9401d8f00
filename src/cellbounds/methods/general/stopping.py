"""Solving that the keyboard, or a limit of memory, can stop."""

from __future__ import annotations

from typing import Any

from cellbounds.interrupting import stoppable

__all__ = ["solved"]


def solved(solver: Any, model: Any) -> Any:
    """The status of CP-SAT about a model; whoever interrupts the main thread ends the search.

    By itself CP-SAT replaces Python's handling of Ctrl-C while it works and leaves the system's
    default behind: the next Ctrl-C would end the process before anything could be said or kept.
    """
    solver.parameters.catch_sigint_signal = False
    return stoppable(lambda: solver.solve(model), solver.stop_search)
