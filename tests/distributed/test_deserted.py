"""Clusters without workers, ways to connect that are missing, and too many processes."""

from __future__ import annotations

import logging
import os
import threading
import time

import pytest
import works

from cellbounds.errors import InvalidInput, Unsettled
from cellbounds.runtime.workers import Processes, shared
from cellbounds.runtime.workers.cluster import cluster
from cellbounds.runtime.workers.tasks import Pace


@pytest.fixture
def deserted():
    """A scheduler that nobody works for."""
    distributed = pytest.importorskip("distributed")
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as found:
        yield found.scheduler_address
    logging.disable(before)


# Dask leaves sockets to the collector, and somebody else may run a cluster here.
@pytest.mark.filterwarnings("ignore::ResourceWarning", r"ignore:\s*Port \d+ is already in use")
def test_a_cluster_without_workers_is_not_awaited_forever(deserted):
    pace = Pace(awake=0.05, look=0.1, deserted=0.5)
    with cluster(deserted) as executor:
        work = shared(executor, pow, [(2, 3), (3, 2)], pace=pace)
        with pytest.raises(Unsettled, match="no worker for"):
            next(work)


def test_workers_that_are_slow_are_awaited(client):
    """However long a piece takes, if somebody is there."""
    pace = Pace(awake=0.05, look=0.05, deserted=0.1)
    executor = client.get_executor(pure=False)
    assert list(shared(executor, works.slowly, [(7, 1.0)], pace=pace)) == [(0, 7)]


def test_ways_to_connect_that_are_not_installed():
    registry = pytest.importorskip("distributed.comm.registry")
    try:
        registry.get_backend("ucx").get_connector()
    except (ImportError, RuntimeError, TypeError, ValueError):
        pass
    else:
        pytest.skip("this Dask can connect by ucx://")
    with pytest.raises(InvalidInput, match="cannot connect by ucx://"), cluster("ucx://here:8786"):
        pass


def test_no_more_processes_than_pieces():
    with Processes(100, patience=0.0) as executor:
        assert executor.awake(threading.Event(), 2)
        assert len(executor._pool._own.started) <= 2
    with pytest.raises(InvalidInput, match="1 to 1024"):
        Processes(100_000)


@pytest.mark.skipif(os.name != "posix", reason="folders in use can be deleted on POSIX systems")
def test_processes_that_cannot_be_started_are_done_without(tmp_path, monkeypatch):
    from cellbounds.runtime.workers import process_pool

    def refused(_self):
        raise OSError("no more processes")

    monkeypatch.setattr(process_pool._Process, "start", refused)
    with Processes(2, patience=0.0) as executor:
        found = []
        for place, result in shared(executor, works.slowly, [(k, 0.1) for k in range(4)]):
            found.append((place, result))
            time.sleep(0)
    assert found == [(k, k) for k in range(4)]


def test_calls_that_were_taken_back_hear_nothing_of_the_end():
    """Else the thread behind the processes fails, and says so on standard error."""
    with Processes(2, patience=0.0) as executor:
        calls = [executor.submit(works.slowly, k, 60) for k in range(6)]
        last = calls[-1]
        assert last.cancel()
        last.set_exception(ValueError())
        assert last.cancelled()
