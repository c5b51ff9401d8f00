"""Markov chains over the consistent tables of a release."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import InconsistentRelease, InvalidInput, TooMuchWork
from cellbounds.inference.chains.chooser import choose_moves
from cellbounds.inference.chains.moves import Connection, Connectivity, Moves
from cellbounds.inference.chains.running import ChainDraws, Plan, run
from cellbounds.inference.chains.starting import SECONDS, start_tables
from cellbounds.model.constraints import NO_UPPER, compile_release
from cellbounds.model.priors import Weights
from cellbounds.model.problem import Problem, make_problem
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.workers import checked_executor
from cellbounds.statements import Prior, Release

__all__ = ["PROPOSALS", "run_chain"]

PROPOSALS = ("ordinary", "two-step")

BLOCK = 50_000
"""Steps of each chain between two looks at the clock."""

SHORTEST = 0.1
"""Seconds that are tried for a table to start from even if the time is over."""

MOST_KEPT = 200_000_000
"""Counts that are kept in memory, all draws of all chains together."""


def run_chain(
    release: Release,
    weights: Weights,
    *,
    moves: Moves | None = None,
    proposal: str = "ordinary",
    chains: int = 4,
    draws: int = 1000,
    burn_in: int | None = None,
    thin: int | None = None,
    rng: np.random.Generator | int | None = None,
    start: Table | IntArray | None = None,
    latent: bool = False,
    progress: Callable[[int, int], None] | None = None,
    deadline: float | None = None,
    stop: Callable[[], bool] | None = None,
    block: int = BLOCK,
    executor: Executor | None = None,
) -> ChainDraws:
    """Draw consistent tables by Metropolis chains, with probabilities in the ratio of weights.

    Parameters
    ----------
    release, weights
        What was said, and the weights of the cells of its domain.
    moves
        What to move by; by default what :func:`choose_moves` finds.
    proposal
        ``"ordinary"``: one move. ``"two-step"``: a move that varies the summed table, or none,
        and one that keeps it, added together (document 002).
    chains, draws
        How many chains, and tables from each.
    burn_in, thin
        Steps before the first table counts, and steps from one table to the next. By default
        twice the number of cells, at least 10, for `thin`; half of all other steps for `burn_in`.
    rng
        A generator or a seed. The same seed gives the same draws.
    start
        Tables to start from; by default far apart (:func:`start_tables`).
    latent
        Draw the Poisson means in each step, as document 002 does, instead of integrating them
        out. Only for Gamma means; it mixes more slowly, and the means are returned (`means`).
    progress
        Called with steps done and steps in all, from time to time.
    deadline, stop
        A time of the monotonic clock, or a function that says when to stop: what was drawn until
        then is returned. So is what was drawn before Ctrl-C.
    block
        Steps between two looks at these. It does not change what is drawn.
    executor
        Workers to share the chains with. They do not change what is drawn.

    Raises
    ------
    InconsistentRelease
        If no table fits.
    InvalidInput
        If no consistent table has any weight, or all of them together have no finite one.
    Unsettled
        If the time was over before the first draw.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.model.priors import GammaPoisson
    >>> release = cb.publish(cb.example_table("mp3"), "[gender]", "[mp3]")
    >>> drawn = run_chain(release, GammaPoisson(50, "1/4").weights(release.domain), rng=1)
    >>> drawn.counts.shape, str(drawn.moves.connected)
    ((4, 1000, 4), 'proven: two-way table with fixed margins (Diaconis & Sturmfels 1998)')
    """
    if proposal not in PROPOSALS:
        raise InvalidInput(f"proposal {proposal!r}; choose one of {', '.join(PROPOSALS)}")
    plan = _plan(release, chains, draws, burn_in, thin, progress, deadline, stop, block)
    plan = replace(plan, executor=checked_executor(executor))
    _check_latent(weights, latent)
    supported = _supported(release, weights)
    generator = np.random.default_rng(rng)
    try:
        problem = make_problem(compile_release(supported), release.domain.size)
        _check_finite(problem, weights)
        first = start_tables(
            supported, chains, generator, start, seconds=_patience(deadline), problem=problem
        )
    except InconsistentRelease:
        if supported is release:
            raise
        raise InvalidInput(
            "the prior gives no weight to any consistent table (it may be zero for cells that "
            "cannot be empty, or no table may fit at all); give another prior"
        ) from None
    if moves is None:
        moves = choose_moves(supported)
    elif supported is not release:
        # What was proven for all tables is not proven for those that have a weight.
        unknown = Connectivity(Connection.UNPROVEN, "the prior leaves out tables in between")
        moves = replace(moves, connected=unknown)
    _check_moves(moves, weights, first)
    return run(problem, weights, moves, proposal, latent, plan, first, generator)


def _patience(deadline: float | None) -> float:
    """Seconds for the tables to start from."""
    left = SECONDS if deadline is None else deadline - time.monotonic()
    return min(SECONDS, max(left, SHORTEST))


def _plan(
    release: Release,
    chains: int,
    draws: int,
    burn_in: int | None,
    thin: int | None,
    progress: Callable[[int, int], None] | None,
    deadline: float | None,
    stop: Callable[[], bool] | None,
    block: int,
) -> Plan:
    size = release.domain.size
    thin = max(10, 2 * size) if thin is None else thin
    burn_in = draws * thin // 2 if burn_in is None else burn_in
    asked = {"chains": chains, "draws": draws, "thin": thin, "block": block, "burn_in": burn_in}
    for name, value in asked.items():
        least = 0 if name == "burn_in" else 1
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InvalidInput(f"{name}={value!r}; give a whole number, {least} or more")
    if chains * draws * size > MOST_KEPT:
        raise TooMuchWork(
            f"{draws} draws from {chains} chains of {size} cells do not fit into memory; ask for "
            f"at most {MOST_KEPT // (chains * size)} draws"
        )
    return Plan(chains, draws, burn_in, thin, progress, deadline, stop, block)


def _supported(release: Release, weights: Weights) -> Release:
    """The release, with the cells that a prior gives no count to known to be empty."""
    if len(weights.kinds) != release.domain.size:
        raise InvalidInput(
            f"weights for {len(weights.kinds)} cells and a table of {release.domain.size}; make "
            "them from the release's domain"
        )
    empty = [0 if factor == 0 else None for _, factor in weights.kinds]
    if 0 not in empty:
        return release
    upper = np.array(empty, dtype=object).reshape(release.domain.shape)
    nobody = Prior(release.domain.names, upper=upper)
    return Release(release.domain, [*release.statements, nobody])


def _check_finite(problem: Problem, weights: Weights) -> None:
    for most, (shape, factor) in zip(problem.upper.tolist(), weights.kinds, strict=True):
        if most == NO_UPPER and shape is not None and factor >= 1:
            raise InvalidInput(
                "the release does not limit every cell, and this prior has no finite weight "
                "without limits; say what is known of N (Total), or give a proper prior"
            )


def _check_moves(moves: Moves, weights: Weights, first: IntArray) -> None:
    if moves.size != first.shape[1]:
        raise InvalidInput(
            f"moves over {moves.size} cells for a table of {first.shape[1]}; make them from this "
            "release"
        )
    grows = np.zeros(len(moves), dtype=np.int64)
    np.add.at(grows, moves.lines, moves.changes)
    if weights.needs_total and (grows.any() or np.ptp(first.sum(axis=1))):
        raise InvalidInput(
            "multinomial weights mean what they should only if N is known; say it (Total), or "
            "give another prior"
        )


def _check_latent(weights: Weights, latent: bool) -> None:
    if latent and any(shape is None or factor >= 1 for shape, factor in weights.kinds):
        raise InvalidInput(
            "latent=True draws Gamma means, and this prior has none; use GammaPoisson(shape, scale)"
        )
