"""Draws by Markov chains, with what is known of how far they can be trusted, cell by cell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.errors import InvalidInput, TooMuchWork, UnsupportedRelease
from cellbounds.inference.chains.basic_moves import basic_moves
from cellbounds.inference.chains.conditional_moves import conditional_moves
from cellbounds.inference.chains.lattice_moves import lattice_moves, markov_basis
from cellbounds.inference.chains.metropolis import run_chain
from cellbounds.inference.chains.moves import Connection, Connectivity, Moves, connectivity
from cellbounds.inference.chooser import exact_fibre
from cellbounds.inference.protocol import answer_head
from cellbounds.model.priors import Belief, Weights
from cellbounds.results.distribution import MonteCarlo
from cellbounds.results.draws import Draws
from cellbounds.results.evidence import Evidence
from cellbounds.runtime.arguments import checked_whole
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements import Release

FEWEST = 4
"""Draws from each chain that R-hat needs: two in each half."""


def diagnose(draws: IntArray | FloatArray) -> MonteCarlo:
    """Diagnose draws laid out as (chains, draws, cells).

    R-hat, effective size and standard error are arviz-stats' own.

    Examples
    --------
    >>> draws = np.random.default_rng(1).poisson(20, size=(4, 500, 2))
    >>> draws[:, :, 1] = 7
    >>> checks = diagnose(draws)
    >>> checks.agreed, checks.fixed.tolist(), bool(checks.effective_size[0] > 1500)
    (True, [False, True], True)
    """
    if draws.ndim != 3 or draws.shape[0] < 1 or draws.shape[1] < FEWEST:
        raise InvalidInput(
            f"draws of shape {draws.shape}; give (chains, draws, cells) with at least {FEWEST} "
            "draws from each chain"
        )
    # Its functions carry no types.
    array_stats: Any = import_module("arviz_stats.base").array_stats

    by_cell = np.moveaxis(draws, 2, 0).astype(np.float64)
    fixed = np.asarray((by_cell == by_cell[:, :1, :1]).all(axis=(1, 2)))
    # Chains that never moved have no spread within: arviz would divide by zero.
    stuck = (by_cell == by_cell[:, :, :1]).all(axis=(1, 2)) & ~fixed
    moved = ~fixed & ~stuck
    rhat, ess = np.full(len(by_cell), np.nan), np.full(len(by_cell), np.nan)
    error = np.zeros(len(by_cell))
    rhat[stuck], ess[stuck], error[stuck] = np.inf, float(draws.shape[0]), np.inf
    if moved.any():
        # Halves of chains that stand still have no spread within either: then nothing agrees.
        with np.errstate(divide="ignore", invalid="ignore"):
            agreement = array_stats.rhat(by_cell[moved])
            ess[moved] = array_stats.ess(by_cell[moved])
            error[moved] = array_stats.mcse(by_cell[moved])
        rhat[moved] = np.where(np.isnan(agreement), np.inf, agreement)
    return MonteCarlo(error, ess, rhat, batch_errors(draws))


def batch_errors(draws: IntArray | FloatArray) -> FloatArray:
    """The Monte Carlo standard error of each cell's mean, by batch means.

    Each chain is cut into batches of the square root of its length (what is left over at the
    beginning is not used). The means of the batches of all chains are taken for independent.
    """
    chains, length, cells = draws.shape
    size = max(math.isqrt(length), 1)
    batches = length // size
    used = draws[:, length - batches * size :].astype(np.float64)
    means = used.reshape(chains * batches, size, cells).mean(axis=1)
    if len(means) < 2:
        return np.full(cells, np.nan)
    return np.asarray(means.std(axis=0, ddof=1) / math.sqrt(len(means)))


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
    begun: float,
    *,
    moves: str | Moves | None = None,
    chains: int = 4,
    **options: Any,
) -> Draws:
    """Run chains until they have drawn `size` tables together; options as for `run_chain`."""
    checked_whole("chains", chains)
    if isinstance(moves, str):
        if moves not in MOVES:
            raise InvalidInput(f"moves {moves!r}; choose one of {', '.join(MOVES)}")
        moves = MOVES[moves](release)
    options |= {"moves": moves, "chains": chains, "draws": -(-size // chains)}
    drawn = run_chain(release, weights, **options)
    used, connected = drawn.moves.name, _connectivity(release, weights, drawn.moves)
    shape, means = release.domain.shape, drawn.means
    notes = [f"acceptance rate {drawn.acceptance.mean():.0%}, {used}, {drawn.proposal} proposal"]
    if drawn.counts.shape[1] >= FEWEST:
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
        *answer_head(release, "Markov chain", Evidence.ESTIMATED, begun),
        _first_draws(drawn.counts, size).reshape(-1, *shape),
        belief,
        independent=False,
        weights=None,
        monte_carlo=checks,
        connected=str(connected),
        chains=chains,
        rates=None if means is None else _first_draws(means, size).reshape(-1, *shape),
        stopped_early=drawn.stopped_early,
        notes=tuple(notes),
    )


def _first_draws(draws: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """As many draws as were asked for: the last chains may give one less."""
    chains, length, _ = draws.shape
    count = min(size, chains * length)
    parts = [draws[k, : count // chains + (k < count % chains)] for k in range(chains)]
    return np.concatenate(parts)


def _connectivity(release: Release, weights: Weights, moves: Moves) -> Connectivity:
    """Whether moves connect the tables: checked one by one if there are few and no theorem is."""
    known = moves.connected
    if known.kind is not Connection.UNPROVEN or moves.sampler is not None:
        return known
    most = min(CHECKED_TABLES, CHECKED_PAIRS // max(len(moves), 1))
    try:
        listed = exact_fibre(release, CHECKED_EFFORT).listed()
        tables = np.array(list(itertools.islice(listed, most + 1)))
    except (TooMuchWork, UnsupportedRelease):
        return known
    if not 0 < len(tables) <= most:
        return known
    # Tables without any weight are not among those that a chain should reach.
    barred = [cell for cell, (_, factor) in enumerate(weights.kinds) if factor == 0]
    return connectivity(moves, tables[(tables[:, barred] == 0).all(axis=1)])
