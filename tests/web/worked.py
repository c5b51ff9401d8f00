"""What the workers of the tests do; processes of their own import it."""

from __future__ import annotations

import os
import time


def nap(seconds, steps):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        steps(3, 7)
        time.sleep(0.05)
    return os.getpid()


def vanish(_):
    os._exit(9)


def grow(_):
    parts = []
    while True:
        parts.append(bytearray(2**24))
        for place in range(0, 2**24, 4096):
            parts[-1][place] = 1
