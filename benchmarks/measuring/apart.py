"""One question in a process of its own: its peak memory, and an end to it if it takes too long."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.errors import Mismatch, NotThere
from benchmarks.measuring.memory import highest_resident_bytes
from benchmarks.results import Record

KNOWN: dict[str, type[Exception]] = {"Mismatch": Mismatch, "NotThere": NotThere}
"""Exceptions that mean something to whoever asks."""


def apart(question: Callable[..., Record], *given: Any, limit: float) -> Record:
    """Answer a question in a new process.

    Parameters
    ----------
    question : callable
        A function of a module, so that the process can find it.
    given
        What it is called with.
    limit : float
        Seconds after which the process is ended.

    Returns
    -------
    dict
        What the function returns and the peak memory of its process before and after, or
        ``stopped`` with the limit.

    Raises
    ------
    Mismatch, NotThere, RuntimeError
        What the function raised; the last one for any other exception, and if the process died.
    """
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=answered, args=(there, question, given))
    process.start()
    there.close()  # so that the end of the process is the end of the pipe
    try:
        if not here.poll(limit):
            return {"stopped": limit}
        found: Record = here.recv()
    except EOFError:
        process.join()
        msg = f"the process of {question.__name__} ended with exit code {process.exitcode}"
        raise RuntimeError(msg) from None
    else:
        if "raised" in found:
            raise KNOWN.get(found["raised"], RuntimeError)(found["said"])
        return found
    finally:
        process.kill()
        process.join()
        here.close()


def answered(there: Connection, question: Callable[..., Record], given: tuple[Any, ...]) -> None:
    """Answer in this process and send the answer, with the peak memory of the process."""
    before = highest_resident_bytes()
    try:
        found = question(*given)
    except Exception as problem:  # passed on to the process that asks
        name = type(problem).__name__
        said = str(problem) if name in KNOWN else f"{name}: {problem}"
        traceback.print_exc()
        there.send({"raised": name, "said": said})
    else:
        there.send({**found, "memory_before": before, "memory_after": highest_resident_bytes()})
