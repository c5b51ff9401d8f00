"""Draws by Markov chains, with what is known of how far they can be trusted."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.inference.chains.basic import basic_moves
from cellbounds.inference.chains.connecting import connectivity
from cellbounds.inference.chains.diagnostics import FEWEST, diagnose
from cellbounds.inference.chains.families import conditional_moves
from cellbounds.inference.chains.lattice import lattice_moves
from cellbounds.inference.chains.markov_bases import markov_basis
from cellbounds.inference.chains.metropolis import run_chain
from cellbounds.inference.chains.moves import Connection, Connectivity, Moves
from cellbounds.inference.chooser import exact_fibre
from cellbounds.inference.protocol import Refusal
from cellbounds.model.priors import Belief, Weights
from cellbounds.results.distribution import MonteCarlo
from cellbounds.results.draws import Draws
from cellbounds.results.evidence import Evidence
from cellbounds.statements import Release

__all__ = ["MOVES", "chain_draws"]

MOVES: dict[str, Callable[[Release], Moves]] = {
    "basic": basic_moves,
    "conditional": conditional_moves,
    "lattice": lattice_moves,
    "4ti2": markov_basis,
}

CHECKED_TABLES = 20_000
"""Tables up to which it is checked one by one whether moves connect them all."""

CHECKED_PAIRS = 20_000_000
"""Pairs of a table and a move that are tried for it."""

CHECKED_EFFORT = 20_000_000
"""Steps that listing them may take."""

DISAGREE = 1.05
"""R-hat above which it is said that the chains do not agree."""


def chain_draws(
    release: Release,
    belief: Belief,
    weights: Weights,
    size: int,
    rng: np.random.Generator,
    begun: float,
    *,
    moves: str | Moves | None = None,
    proposal: str = "ordinary",
    chains: int = 4,
    burn_in: int | None = None,
    thin: int | None = None,
    latent: bool = False,
    start: Table | None = None,
    progress: Callable[[int, int], None] | None = None,
    deadline: float | None = None,
    executor: Executor | None = None,
) -> Draws:
    """Run chains until they have drawn `size` tables together."""
    if isinstance(chains, bool) or not isinstance(chains, int) or chains < 1:
        raise InvalidInput(f"chains={chains!r}; give a whole number, 1 or more")
    drawn = run_chain(
        release,
        weights,
        moves=_moves(release, moves),
        proposal=proposal,
        chains=chains,
        draws=-(-size // chains),
        burn_in=burn_in,
        thin=thin,
        rng=rng,
        start=start,
        latent=latent,
        progress=progress,
        deadline=deadline,
        executor=executor,
    )
    used, connected = drawn.moves, _connectivity(release, weights, drawn.moves)
    shape, means = release.domain.shape, drawn.means
    length = drawn.counts.shape[1]
    notes = [f"acceptance rate {drawn.acceptance.mean():.0%}, {used.name}, {proposal} proposal"]
    if length >= FEWEST:
        checks = diagnose(drawn.counts).shaped(shape)
        if chains > 1 and checks.worst_rhat > DISAGREE:
            notes.append(
                f"the chains do not agree (R-hat up to {checks.worst_rhat:.3g}): run them longer, "
                "or with other moves"
            )
    else:
        unknown = np.full(shape, np.nan)
        checks = MonteCarlo(unknown, unknown)
        notes.append(f"fewer than {FEWEST} draws from each chain: no diagnostics")
    if connected.kind is Connection.BROKEN:
        notes.append("the chains cannot reach every table: what they say is about a part of them")
    return Draws(
        release,
        release.domain.names,
        "Markov chain",
        Evidence.ESTIMATED,
        time.perf_counter() - begun,
        None,
        _asked_for(drawn.counts, size).reshape(-1, *shape),
        belief,
        independent=False,
        weights=None,
        monte_carlo=checks,
        connected=str(connected),
        chains=chains,
        rates=None if means is None else _asked_for(means, size).reshape(-1, *shape),
        stopped_early=drawn.stopped_early,
        notes=tuple(notes),
    )


def _asked_for(draws: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """As many draws as were asked for: the last chains may give one less."""
    chains, length, _ = draws.shape
    kept = min(size, chains * length)
    parts = [draws[k, : kept // chains + (k < kept % chains)] for k in range(chains)]
    return np.concatenate(parts)


def _moves(release: Release, asked: str | Moves | None) -> Moves | None:
    if asked is None or isinstance(asked, Moves):
        return asked
    if asked not in MOVES:
        raise InvalidInput(f"moves {asked!r}; choose one of {', '.join(MOVES)}")
    return MOVES[asked](release)


def _connectivity(release: Release, weights: Weights, moves: Moves) -> Connectivity:
    """Whether moves connect the tables: checked one by one if there are few and no theorem is."""
    said = moves.connected
    if said.kind is not Connection.UNPROVEN or moves.sampler is not None:
        return said
    most = min(CHECKED_TABLES, CHECKED_PAIRS // max(len(moves), 1))
    try:
        fibre = exact_fibre(release, CHECKED_EFFORT)
        if isinstance(fibre, Refusal):
            return said
        tables = np.array(list(itertools.islice(fibre.listed(), most + 1)))
    except TooMuchWork:
        return said
    if not 0 < len(tables) <= most:
        return said
    # Tables without any weight are not among those that a chain should reach.
    barred = [cell for cell, (_, factor) in enumerate(weights.kinds) if factor == 0]
    return connectivity(moves, tables[(tables[:, barred] == 0).all(axis=1)])
