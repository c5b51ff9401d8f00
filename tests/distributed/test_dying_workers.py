"""Workers of a cluster that are killed midway: the answer stays the same, bit for bit."""

from __future__ import annotations

import itertools
import os
import signal

import pytest
import works

import cellbounds as cb
from cellbounds.errors import TooMuchWork
from cellbounds.runtime.workers import shared

psutil = pytest.importorskip("psutil")


@pytest.fixture
def killing(client):
    """A listener that kills one of the two workers when some of the work is done."""
    client.wait_for_workers(2, timeout=60)
    pids = list(client.run(os.getpid).values())
    assert len(pids) == 2

    def listen(done, total):
        if not listen.killed and 0 < done < total:
            listen.killed.append((done, total))
            os.kill(pids[0], signal.SIGKILL)

    listen.killed = []
    yield listen
    assert listen.killed
    assert not psutil.pid_exists(pids[0])


def test_a_search_over_designs_survives_a_killed_worker(client, killing):
    table = cb.datasets.read("koch4")
    asked = {"response": "recovery", "merges": "adjacent", "digits": range(1, 4)}
    alone = cb.explore(table, **asked).to_dict()
    found = cb.explore(
        table, **asked, budget=cb.Budget(workers=client.get_executor(), progress=killing)
    ).to_dict()
    assert works.without_seconds(found) == works.without_seconds(alone)


def test_a_search_for_bounds_survives_a_killed_worker(client, killing):
    table = cb.datasets.read("koch4")
    pairs = itertools.combinations(table.domain.names, 2)
    release = cb.publish(table, *(f"[{','.join(pair)}]" for pair in pairs))
    alone = cb.bounds(release)
    found = cb.bounds(release, budget=cb.Budget(workers=client.get_executor(), progress=killing))
    assert works.without_seconds(found.to_dict()) == works.without_seconds(alone.to_dict())
    cell = table.domain.labels((0, 1, 1, 0))
    for side in ("lower", "upper"):
        assert found.witness(*cell, at=side) == alone.witness(*cell, at=side)


def test_work_that_kills_every_worker_is_given_up(client, tmp_path):
    client.wait_for_workers(2, timeout=60)
    arguments = [(value, str(tmp_path), 99) for value in (3, 4)]
    with pytest.raises(TooMuchWork, match="KilledWorker"):
        list(shared(client.get_executor(), works.dies, arguments))
