"""The same answer, bit for bit, whoever works: nobody else, processes, threads, a cluster."""

from __future__ import annotations

import itertools
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
import works

import cellbounds as cb
from cellbounds.disclosure.policies import SmallCounts
from cellbounds.errors import InvalidInput
from cellbounds.inference.importance import importance_sampling as importance
from cellbounds.runtime.workers import Processes
from cellbounds.synthetic import synthesize
from strategies import LONG


class Threads(ThreadPoolExecutor):
    """Workers that count what they are given."""

    given = 0

    def submit(self, *arguments, **options):
        self.given += 1
        return super().submit(*arguments, **options)


@pytest.fixture(scope="module", params=["threads", *(["one"] if LONG else []), "four", "cluster"])
def executor(request):
    if request.param == "cluster":
        yield request.getfixturevalue("client").get_executor()
        return
    spawn = get_context("spawn")
    made = {
        "threads": lambda: Threads(4),
        "one": lambda: ProcessPoolExecutor(1, mp_context=spawn),
        "four": lambda: ProcessPoolExecutor(4, mp_context=spawn),
    }[request.param]()
    with made as found:
        yield found


def all_margins(table, size):
    names = itertools.combinations(table.domain.names, size)
    return [f"[{','.join(one)}]" for one in names]


def questions():
    """Every question that is shared, as plain values."""
    koch, children = cb.datasets.read("koch4"), cb.datasets.read("delinquent")
    census = cb.datasets.read("census3")
    cube = cb.publish(koch, *all_margins(koch, 2))
    rates = cb.publish(children, "[education|county]@2")
    prior = cb.priors.GammaPoisson(2, "1/3")
    # Many sets are open at the same time here.
    sets = cb.Table(
        cb.Domain({name: ["x", "y"] for name in "abcd"}),
        np.reshape([7, 8, 6, 0, 7, 0, 0, 4, 8, 0, 0, 5, 0, 0, 2, 4], (2, 2, 2, 2)),
    )
    strict = cb.policies.Policy("strict", rules=[SmallCounts(at_most=4, values=5)])
    return {
        "explore": lambda ex: cb.explore(
            koch, response="recovery", budget=cb.Budget(workers=ex)
        ).to_dict(),
        "safe_margins": lambda ex: cb.safe_margins(
            sets, policy=strict, budget=cb.Budget(workers=ex)
        ).to_dict(),
        "suggest": lambda ex: plain_suggestions(rates, children, ex),
        "bounds": lambda ex: plain_bounds(cube, ex),
        "attainable": lambda ex: cb.attainable(cube, budget=cb.Budget(workers=ex)).to_dict(),
        "chains": lambda ex: plain_draws(
            cb.sample(
                cube,
                101,
                method="chain",
                rng=5,
                prior=prior,
                latent=True,
                budget=cb.Budget(workers=ex),
            )
        ),
        "importance": lambda ex: plain_draws(
            cb.sample(cube, 300, method="importance", rng=5, budget=cb.Budget(workers=ex))
        ),
        "posterior": lambda ex: cb.posterior(
            cube, effort=10, draws=60, rng=3, budget=cb.Budget(workers=ex)
        ).to_dict(),
        "estimate": lambda ex: str(
            cb.estimate_tables(
                cb.publish(census, *all_margins(census, 2)), draws=200, budget=cb.Budget(workers=ex)
            )
        ),
        "synthesize": lambda ex: [
            one.counts.tolist()
            for one in synthesize(cube, copies=2, effort=10, rng=9, budget=cb.Budget(workers=ex))
        ],
    }


def plain_suggestions(release, table, executor):
    found = cb.suggest(table, release, budget=cb.Budget(workers=executor))
    return {**found.to_dict(), "digests": [one.release.digest for one in found]}


def plain_bounds(release, executor):
    found = cb.bounds(release, budget=cb.Budget(workers=executor))
    places = list(np.ndindex(*found.lower.shape))[::5]
    cells = [release.domain.labels(place) for place in places]
    witnesses = [found.witness(*cell, at=side).counts.tolist() for cell in cells for side in SIDES]
    return {**found.to_dict(), "witnesses": witnesses}


SIDES = ("lower", "upper")


def plain_draws(draws):
    rates = None if draws.rates is None else draws.rates.tolist()
    weights = None if draws.weights is None else draws.weights.tolist()
    return [draws.counts.tolist(), rates, weights, draws.to_dict()]


QUESTIONS = questions()


@pytest.fixture(scope="module")
def alone():
    """The answers that nobody helped with, each found once."""
    found = {}

    def answer(name):
        if name not in found:
            found[name] = works.without_seconds(QUESTIONS[name](None))
        return found[name]

    return answer


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_everybody_finds_the_same(name, executor, alone, monkeypatch):
    # What takes a moment only is not shared; here it is.
    monkeypatch.setattr(importance, "QUICK", 0.0)
    before = getattr(executor, "given", 0)
    assert works.without_seconds(QUESTIONS[name](executor)) == alone(name)
    if isinstance(executor, Threads):
        assert executor.given > before


@pytest.mark.parametrize("name", ["explore", "bounds"])
def test_processes_find_the_same_when_they_are_up(name, alone):
    with Processes(2, patience=0.0) as processes:
        assert works.without_seconds(QUESTIONS[name](processes)) == alone(name)


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_whoever_helps_is_an_executor(name):
    with pytest.raises(InvalidInput, match=r"a concurrent\.futures\.Executor"):
        QUESTIONS[name]("many")
