"""What is asked of a release, timed: how many tables, their posterior, exact draws."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

import numpy as np

import cellbounds as cb
from benchmarks.measuring.measurement import best_of
from benchmarks.results import Record
from cellbounds.inference.counting import TooManyTables
from cellbounds.model.priors import Belief
from cellbounds.results import Draws, Posterior

LONG, VERY_LONG = 3.0, 30.0  # seconds; longer calls run twice, and once
GIVEN_UP = 2.0  # seconds for the estimate that stands in for a refused posterior
DRAWN = 1000  # tables for it

Result = TypeVar("Result")


def timed(call: Callable[[], Result], budget: float) -> tuple[Result, Record]:
    """Call once, then again and again: the result, the first time and the shortest.

    A long call runs once more, for the first one may have compiled; a very long one does not.
    """
    started = perf_counter()
    result = call()
    first = perf_counter() - started
    if first > VERY_LONG:
        return result, {"first": first, "seconds": first}
    if first > LONG:
        started = perf_counter()
        result = call()
        return result, {"first": first, "seconds": min(first, perf_counter() - started)}
    result, shortest = best_of(call, budget=budget)
    return result, {"first": first, "seconds": min(first, shortest)}


def count(release: cb.Release, budget: float) -> Record:
    """Count the tables; the number as text, for it may be long."""
    try:
        found, times = timed(lambda: cb.count_tables(release), budget)
    except TooManyTables as problem:
        return {"refused": str(problem), "log_estimate": problem.estimate.log_value}
    return {"count": str(found), **times}


def posterior(release: cb.Release, prior: Belief | str, budget: float) -> Record:
    """Sum up every cell: mean, quantiles; and a most probable table."""
    try:
        (found, no_mode), times = timed(lambda: summed_up(release, prior), budget)
    except cb.TooMuchWork as problem:
        return {"refused": str(problem)}
    if not found.exact:
        return {"refused": found.notes[0]}
    return {"method": found.method, "relative_error": found.error, "no_mode": no_mode, **times}


def summed_up(release: cb.Release, prior: Belief | str) -> tuple[Posterior, str]:
    """Ask for the posterior and for everything that is read off it.

    Returns
    -------
    found, no_mode
        The posterior, and why it does not say which table is most probable; empty if it does.
    """
    found = cb.posterior(release, prior, draws=DRAWN, seconds=GIVEN_UP)
    if not found.exact:
        return found, ""
    for probability in ("0.025", "0.5", "0.975"):
        found.quantile(probability)
    _ = found.mean
    try:
        _ = found.joint_mode
    except cb.TooMuchWork as problem:
        return found, str(problem)
    return found, ""


def draws(release: cb.Release, prior: Belief | str, size: int, seed: int, budget: float) -> Record:
    """Draw tables exactly."""
    try:
        found, times = timed(
            lambda: cb.sample(release, size, prior=prior, method="exact", rng=seed), budget
        )
    except cb.TooMuchWork as problem:
        return {"refused": str(problem)}
    return {"drawn": len(found), **times}


def agreement(found: Draws, means: np.ndarray) -> Record:
    """Compare the means of draws with the exact ones.

    ``off`` is the largest difference, ``stated`` the Monte Carlo error of that cell, and
    ``apart`` the largest difference in units of its own error. Cells that never moved are left
    out of the last one, unless they are off.
    """
    checks = found.monte_carlo
    off = np.abs(found.mean - means).ravel()
    stated = checks.error.ravel()
    worst = int(np.argmax(off))
    moved = stated > 0
    stuck_off = bool((off[~moved] > 1e-9 * (1 + means.ravel()[~moved])).any())
    return {
        "off": float(off[worst]),
        "stated": float(stated[worst]),
        "largest_stated": float(stated.max()),
        "apart": float("inf") if stuck_off else float((off[moved] / stated[moved]).max(initial=0)),
        "effective": float(np.nanmin(checks.effective_size)),
        "rhat": checks.worst_rhat,
    }
