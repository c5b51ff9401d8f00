"""Telling lateness from waiting for a processor."""

from __future__ import annotations

import os
import time

from reliability.waiting import Watch


def test_waiting_for_a_processor_is_no_more_than_the_time():
    watch = Watch(os.getpid(), time.monotonic())
    begun = time.monotonic()
    while time.monotonic() < begun + 0.2:
        watch.look()
    assert 0 <= watch.waited <= time.monotonic() - begun
    early = Watch(os.getpid(), time.monotonic() + 600)
    early.look()
    assert early.waited == 0
