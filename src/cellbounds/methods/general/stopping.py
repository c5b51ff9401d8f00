"""Solving that the keyboard, or a limit of memory, can stop."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

__all__ = ["solved"]

AGAIN = 0.05
"""Seconds until the solver is told again to stop: it may not have begun when it was told."""


def solved(solver: Any, model: Any) -> Any:
    """The status of CP-SAT about a model; whoever interrupts the main thread ends the search.

    By itself CP-SAT replaces Python's handling of Ctrl-C while it works and leaves the system's
    default behind: the next Ctrl-C would end the process before anything could be said or kept.
    Without that, the main thread would not hear Ctrl-C until the search ends. So it only waits,
    which can be interrupted, while another thread searches.
    """
    solver.parameters.catch_sigint_signal = False
    if threading.current_thread() is not threading.main_thread():
        return solver.solve(model)
    with ThreadPoolExecutor(1, "cellbounds-solver") as helper:
        future = helper.submit(solver.solve, model)
        try:
            return future.result()
        finally:
            while not future.done():
                solver.stop_search()
                wait([future], AGAIN)
