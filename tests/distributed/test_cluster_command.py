"""`--jobs` and `--scheduler` on the command line."""

from __future__ import annotations

import json
import sys

import pytest
import works

import cellbounds as cb
from cellbounds.runtime.workers.cluster import cluster

CHILDREN = cb.datasets.path("delinquent")
EXPLORE = ("explore", CHILDREN, "--response", "education", "--format", "json")


@pytest.fixture
def alone(run):
    return answer(run(*EXPLORE, "--jobs", "1"))


def answer(ran):
    code, out, _ = ran
    assert code == 0
    return works.without_seconds(json.loads(out))


def test_any_number_of_processes_finds_the_same(run, alone):
    assert answer(run(*EXPLORE)) == answer(run(*EXPLORE, "--jobs", "3")) == alone


def test_a_cluster_finds_the_same(run, alone, client):
    assert client.nthreads()
    address = client.scheduler.address
    assert answer(run(*EXPLORE, "--scheduler", address)) == alone
    release = ["posterior", CHILDREN, "[county]", "[education]", "--format", "json"]
    assert answer(run(*release, "--scheduler", address)) == answer(run(*release, "--jobs", "1"))


@pytest.mark.parametrize("bad", ["nonsense", "tcp://here", "http://here:80", "tcp://here:port"])
def test_an_address_is_one(run, bad):
    code, out, err = run(*EXPLORE, "--scheduler", bad)
    assert (code, out) == (2, "")
    assert "tcp://10.0.0.5:8786" in err


def test_nobody_answers():
    pytest.importorskip("distributed")
    nobody = "tcp://127.0.0.1:9"
    with (
        pytest.raises(cb.InvalidInput, match=f"no scheduler answers at {nobody}"),
        cluster(nobody, patience=0.5),
    ):
        pass


def test_certificates_have_to_be_known(run):
    pytest.importorskip("distributed")
    code, out, err = run(*EXPLORE, "--scheduler", "tls://127.0.0.1:9")
    assert (code, out) == (2, "")
    assert "ca-file" in err


def test_processes_or_a_cluster(run):
    code, out, err = run(*EXPLORE, "--scheduler", "tcp://127.0.0.1:9", "--jobs", "2")
    assert (code, out) == (2, "")
    assert "give one of them" in err


def test_dask_may_be_missing(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, out, err = run(*EXPLORE, "--scheduler", "tcp://127.0.0.1:9")
    assert (code, out) == (2, "")
    assert "pip install 'cellbounds[dask]'" in err


@pytest.mark.parametrize(
    ("package", "said"), [("no-such-package", "has no"), ("pytest", "and this is")]
)
def test_workers_have_the_same_version(client, package, said):
    with (
        pytest.raises(cb.InvalidInput, match=f"{said}.*install"),
        cluster(client.scheduler.address, package=package),
    ):
        pass
