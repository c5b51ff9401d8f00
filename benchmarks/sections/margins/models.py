"""Every decomposable model of a six-way table, and other hierarchical ones at random."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from pathlib import Path
from time import perf_counter

import numpy as np

import cellbounds as cb
from benchmarks.problems.graphs import Margins, decomposable_models, other_models
from benchmarks.problems.owned import Owned, owned, publish
from benchmarks.results import Record
from benchmarks.sections.margins.decomposable import closed_form, require_equal
from benchmarks.sections.margins.searches import used_integer_programs
from cellbounds.results import Bounds


def measure_decomposable(name: str, data: Path, count: int | None, seed: int) -> Record:
    """Bound every cell from every decomposable model, or from a sample of them.

    Raises
    ------
    Mismatch
        If a bound differs from the closed form.
    """
    source = owned(name, data)
    models = list(decomposable_models(source.counts.ndim))
    possible = len(models)
    if count is not None and count < possible:
        drawn = np.random.default_rng(seed).choice(possible, size=count, replace=False)
        models = [models[place] for place in np.sort(drawn).tolist()]
    found = Tally(source)
    for cliques, separators in models:
        answer = found.bounds(cliques)
        require_equal(
            f"{source.label} {cliques}", answer, closed_form(source.counts, cliques, separators)
        )
    return {**found.record(), "possible": possible}


def measure_others(name: str, data: Path, count: int, seed: int) -> Record:
    """Bound every cell from models that are not decomposable; count those with a gap."""
    source = owned(name, data)
    found = Tally(source)
    gaps = bounds_with_gap = 0
    for margins in other_models(source.counts.ndim, count, seed):
        answer = found.bounds(margins)
        relaxed = cb.bounds(answer.release, kind="linear")
        apart = beyond_the_relaxation(answer, relaxed)
        gaps += apart > 0
        bounds_with_gap += apart
    return {**found.record(), "gaps": gaps, "bounds_with_gap": bounds_with_gap}


def beyond_the_relaxation(answer: Bounds, relaxed: Bounds) -> int:
    """Count the bounds that rounding the linear ones inwards does not give."""
    lows = zip(answer.lower.flat, relaxed.lower.flat, strict=True)
    highs = zip(answer.upper.flat, relaxed.upper.flat, strict=True)
    apart = [own != math.ceil(real) for own, real in lows]
    apart += [own != math.floor(real) for own, real in highs]
    return int(sum(apart))


class Tally:
    """What was measured of one model after the other."""

    def __init__(self, source: Owned) -> None:
        self._source = source
        self._seconds: list[float] = []
        self._methods: Counter[str] = Counter()
        self._exact = self._with_integers = 0

    def bounds(self, margins: Margins) -> Bounds:
        """Bound every cell from these margins, once, and take the time."""
        names = self._source.table.domain.names
        release = publish(self._source.table, [[names[axis] for axis in one] for one in margins])
        if not self._seconds:
            cb.bounds(release)  # the first call of a process pays for imports
        started = perf_counter()
        answer = cb.bounds(release)
        self._seconds.append(perf_counter() - started)
        self._methods[answer.method] += 1
        self._exact += answer.evidence is cb.Evidence.EXACT
        self._with_integers += used_integer_programs(answer)
        return answer

    def record(self) -> Record:
        """Return the figures."""
        return {
            "table": self._source.label,
            "models": len(self._seconds),
            "exact": self._exact,
            "seconds": math.fsum(self._seconds),
            "median": statistics.median(self._seconds),
            "longest": max(self._seconds),
            "methods": dict(self._methods),
            "integer_programs": self._with_integers,
        }
