"""Pieces of work that processes can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from cellbounds.errors import InvalidInput


def slowly(value, seconds):
    time.sleep(seconds)
    return value


def fails(value):
    raise InvalidInput(f"nobody can do {value}")


def dies(value, folder, times):
    """End the worker abruptly the first `times` that the value is 3; `folder` keeps count.

    The first piece waits for that: its worker, or the owner, leaves the others to others.
    """
    if value == 0:
        _wait_for_a_file(folder)
    if value == 3 and len(list(Path(folder).iterdir())) < times:
        Path(folder, f"{time.time_ns()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value * value


def whoever(value, folder):
    """Who does it; the first piece waits until somebody has done another one."""
    if value == 0:
        _wait_for_a_file(folder)
    else:
        Path(folder, str(value)).touch()
    return os.getpid()


def _wait_for_a_file(folder):
    end = time.monotonic() + 60
    while not list(Path(folder).iterdir()) and time.monotonic() < end:
        time.sleep(0.02)


def noted(value, folder):
    Path(folder, str(value)).touch()
    time.sleep(0.05)
    return value


def left(until):
    return until.left


def without_seconds(value):
    """An answer as plain values, but for the time that it took."""
    if isinstance(value, dict):
        return {k: without_seconds(one) for k, one in value.items() if "seconds" not in k}
    if isinstance(value, list | tuple):
        return [without_seconds(one) for one in value]
    return value


def forever(value, folder):
    Path(folder, str(value)).touch()
    while True:
        time.sleep(0.1)
