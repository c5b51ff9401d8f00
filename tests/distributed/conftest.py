"""Executors of every kind: a real Dask cluster of two processes among them."""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager

import pytest


@pytest.fixture(scope="session")
def cluster():
    """Two worker processes of one thread each, their nannies and a scheduler."""
    distributed = pytest.importorskip("distributed")
    before = logging.root.manager.disable
    # That workers come and go is what is tested here; it is not news.
    logging.disable(logging.CRITICAL)
    with (
        _quiet(),
        distributed.LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
        ) as found,
    ):
        yield found
    logging.disable(before)


@pytest.fixture(scope="module")
def client(cluster):
    """A client of it; both workers are up."""
    import distributed

    with _quiet(), distributed.Client(cluster, set_as_default=False) as found:
        found.wait_for_workers(2, timeout=60)
        yield found


@contextmanager
def _quiet():
    """Dask leaves sockets and loops to the garbage collector when workers die."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        # Somebody else may run a cluster here; ours takes another port then.
        warnings.filterwarnings("ignore", r"\s*Port \d+ is already in use", UserWarning)
        yield
