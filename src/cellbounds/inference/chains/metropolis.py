"""Metropolis chains over the consistent tables of a release.

Chains start from tables far from each other, and run block after block until all tables are drawn
or somebody says stop.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from cellbounds.data.table import Table
from cellbounds.errors import (
    InconsistentRelease,
    InvalidInput,
    TooMuchWork,
    Unsettled,
    UnsupportedRelease,
)
from cellbounds.inference.chains.basic_moves import basic_moves
from cellbounds.inference.chains.conditional_moves import conditional_moves
from cellbounds.inference.chains.lattice_moves import (
    PATIENCE,
    lattice_moves,
    markov_basis,
    markov_program,
)
from cellbounds.inference.chains.metropolis_kernel import (
    CellWeights,
    Limits,
    MoveTable,
    SumWeights,
    advance,
)
from cellbounds.inference.chains.moves import (
    KEEPS,
    VARIES,
    Connection,
    Connectivity,
    Moves,
    Sampler,
    constraint_matrix,
)
from cellbounds.inference.protocol import NO_WEIGHT, supported_release
from cellbounds.model.constraints import compile_release
from cellbounds.model.likelihoods import Factor, Law, factors_of
from cellbounds.model.priors import Weights, check_weights
from cellbounds.model.problem import Problem, make_problem
from cellbounds.results.values import Unbounded
from cellbounds.runtime.arguments import checked_whole
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.runtime.workers import shared
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Release
from cellbounds.statements.inequalities import NO_UPPER

PROPOSALS = ("ordinary", "two-step")

BLOCK, FIRST = 50_000, 400_000
"""Steps of each chain in one round at most, and of all chains together in the first one."""

ROUND, SHARED = 0.4, 1.0
"""Seconds of a round that this process does alone, and of one that is worth sharing."""

SECONDS, SHORTEST = 10.0, 0.1
"""Budget for the bounds whose witnesses chains start from (unsettled ones have witnesses too), and
what is tried even if the time is over."""

MOST_KEPT = 200_000_000
"""Counts that are kept in memory, all draws of all chains together."""

MOVES_AT_ONCE = 20_000
"""Moves whose effects on all rows are laid out at once."""

MOST_FOR_MARKOV = 60
"""Cells up to which a Markov basis is tried."""


@dataclass(frozen=True, slots=True, eq=False)
class ChainDraws:
    """Tables drawn by chains.

    Attributes
    ----------
    counts
        The tables, flat: (chains, draws, cells).
    moves
        What the chains moved by; it says whether that is proven to connect the tables.
    acceptance
        For each chain, the part of the proposals after burn-in that were accepted.
    means
        The Poisson means drawn with the tables, if the chains were latent; else None.
    stopped_early
        Whether there are fewer draws than asked for.
    proposal
        ``"ordinary"`` or ``"two-step"``.
    """

    counts: IntArray
    moves: Moves
    acceptance: FloatArray
    means: FloatArray | None
    stopped_early: bool
    proposal: str


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
    budget: Budget = UNLIMITED,
    block: int = BLOCK,
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
    budget
        A running budget: what was drawn until it is spent is returned. So is what was drawn before
        Ctrl-C. Workers do not change what is drawn.
    block
        Steps of each chain in one round, at most. It does not change what is drawn.

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
    >>> release = cb.publish(cb.datasets.read("mp3"), "[gender]", "[mp3]")
    >>> drawn = run_chain(release, GammaPoisson(50, "1/4").weights(release.domain), rng=1)
    >>> drawn.counts.shape, str(drawn.moves.connected)
    ((4, 1000, 4), 'proven: two-way table with fixed margins (Diaconis & Sturmfels 1998)')
    """
    if proposal not in PROPOSALS:
        raise InvalidInput(f"proposal {proposal!r}; choose one of {', '.join(PROPOSALS)}")
    size = release.domain.size
    thin = max(10, 2 * size) if thin is None else thin
    burn_in = draws * thin // 2 if burn_in is None else burn_in
    schedule = {"chains": chains, "draws": draws, "thin": thin, "block": block}
    for name, value in schedule.items():
        checked_whole(name, value)
    checked_whole("burn_in", burn_in, 0)
    if chains * draws * size > MOST_KEPT:
        raise TooMuchWork(
            f"{draws} draws from {chains} chains of {size} cells do not fit into memory; ask for "
            f"at most {MOST_KEPT // (chains * size)} draws"
        )
    if latent and any(shape is None or factor >= 1 for shape, factor in weights.kinds):
        raise InvalidInput(
            "latent=True draws Gamma means, and this prior has none; use GammaPoisson(shape, scale)"
        )
    supported = supported_release(release, weights)
    generator = np.random.default_rng(rng)
    try:
        problem = make_problem(compile_release(supported), size)
        _check_finite(problem, weights)
        seconds = _seconds(budget, SECONDS)
        first = start_tables(supported, chains, generator, start, seconds=seconds)
    except InconsistentRelease:
        if supported is release:
            raise
        raise InvalidInput(f"{NO_WEIGHT} (or no table fits at all)") from None
    if moves is None:
        moves = choose_moves(supported, seconds=_seconds(budget, PATIENCE))
    elif supported is not release:
        # What was proven for all tables is not proven for those that have a weight.
        unknown = Connectivity(Connection.UNPROVEN, "the prior leaves out tables in between")
        moves = replace(moves, connected=unknown)
    _check_moves(moves, weights, first)
    factors = factors_of(release)
    if factors and moves.sampler is not None:
        raise UnsupportedRelease(
            f"the {moves.name} are drawn one by one and do not know sums that figures made by "
            "chance weigh; give moves='lattice'"
        )
    limits, listed, rows, sums = _usable_moves(problem, moves, factors)
    # Moves that are drawn all keep the summed table: the other family is empty.
    two_step = proposal == "two-step" and moves.sampler is None
    law = _law(weights, latent)
    model = ChainModel(
        limits=limits,
        weights=law,
        sums=sums,
        moves=listed,
        sampler=moves.sampler,
        thin=thin,
        two_step=two_step,
    )
    states = [
        ChainState(
            np.concatenate([counts, rows @ counts]),
            burn_in + thin,
            seeds[:1].astype(np.uint64),
            *(np.random.default_rng(int(seed)) for seed in seeds[1:]),
        )
        for counts, seeds in zip(first, generator.integers(0, 2**63, size=(chains, 3)), strict=True)
    ]
    counts, means, acceptance, stopped = _run(model, states, budget, draws, burn_in, block)
    return ChainDraws(counts, moves, acceptance, means, stopped, proposal)


def _seconds(budget: Budget, most: float) -> float:
    """What a preparation may take: a little is tried even if the time is over."""
    return min(most, max(most if budget.left is None else budget.left, SHORTEST))


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
    if weights.needs_total and (moves.matrix.sum(axis=1).any() or np.ptp(first.sum(axis=1))):
        raise InvalidInput(
            "multinomial weights mean what they should only if N is known; say it (Total), or "
            "give another prior"
        )


def choose_moves(release: Release, *, seconds: float = PATIENCE) -> Moves:
    """The moves for a release: those that are proven to connect it first.

    Basic moves where their theorem applies; the two families for one conditional; 4ti2's Markov
    basis for small tables, if it is installed and ready within `seconds`; else lattice moves.
    """
    with suppress(UnsupportedRelease):  # not decomposable margins
        return basic_moves(release)
    with suppress(UnsupportedRelease):  # not one conditional, or one of uneven sums
        return conditional_moves(release)
    if release.domain.size <= MOST_FOR_MARKOV and markov_program() is not None:
        with suppress(TooMuchWork, UnsupportedRelease):
            return markov_basis(release, seconds=seconds)
    return lattice_moves(release)


def start_tables(
    release: Release,
    chains: int,
    rng: np.random.Generator,
    start: Table | IntArray | None = None,
    *,
    seconds: float = SECONDS,
) -> IntArray:
    """One consistent table for each chain, flat.

    Without `start` they are tables in which some cell, drawn at random, is as small or as large
    as it can be (or as a table could be found for within `seconds`): chains that start so far
    apart and agree later have forgotten where they came from.

    Parameters
    ----------
    release, chains, rng
        What was said, how many tables, and a generator that chooses the cells.
    start
        A table, or several (flat, one in each row), to be used in turn.

    Raises
    ------
    InconsistentRelease
        If no table fits.
    InvalidInput
        If a table given contradicts the release.
    Unsettled
        If no table was found within the budget.
    """
    if start is None:
        return _extreme_tables(release, chains, rng, seconds)
    size = release.domain.size
    given = start.counts if isinstance(start, Table) else np.asarray(start)
    if given.dtype.kind not in "iuO" or given.size % size or not given.size:
        raise InvalidInput(
            f"tables to start from of shape {given.shape} and type {given.dtype}; give counts, "
            f"{size} for each table"
        )
    tables = given.reshape(-1, size).astype(np.int64)
    rules = make_problem(compile_release(release), size)
    for number, table in enumerate(tables):
        if not rules.holds(table):
            raise InvalidInput(
                f"table {number + 1} to start from contradicts the release; give consistent ones"
            )
    return np.resize(tables, (chains, size))


def _extreme_tables(
    release: Release, chains: int, rng: np.random.Generator, seconds: float
) -> IntArray:
    answer = bounds(release, seconds=seconds)
    low, high = answer.attained_lower, answer.attained_upper
    ends = list(zip(low.flat, high.flat, strict=True))
    loose = [cell for cell, (least, most) in enumerate(ends) if least != most]
    chosen = rng.permutation(np.array(loose or [0], dtype=np.int64))
    tables = []
    for chain in range(chains):
        # Each cell drawn serves two chains: one from its smallest, one from its largest count.
        cell = int(chosen[(chain // 2) % len(chosen)])
        labels = release.domain.labels([int(i) for i in np.unravel_index(cell, low.shape)])
        endless = isinstance(ends[cell][1], Unbounded)
        side = "upper" if chain % 2 and not endless else "lower"
        tables.append(answer.witness(*labels, at=side).counts.ravel())
    return np.array(tables, dtype=np.int64).reshape(chains, release.domain.size)


@dataclass(frozen=True, slots=True, eq=False)
class ChainModel:
    """What is the same for all chains: moves are listed or drawn."""

    limits: Limits
    weights: CellWeights
    sums: SumWeights
    moves: MoveTable
    sampler: Sampler | None
    thin: int
    two_step: bool


@dataclass(frozen=True, slots=True, eq=False)
class ChainState:
    """Where a chain is: counts and the sums of rows, steps to the next table that is kept.

    Each chain has its own seeds: for the steps, for the means and for moves that are drawn.
    """

    values: IntArray
    wait: int
    seed: IntArray
    means: np.random.Generator
    moves: np.random.Generator


def _law(weights: Weights, latent: bool) -> CellWeights:
    shapes = [-1.0 if shape is None else float(shape) for shape, _ in weights.kinds]
    factors = [factor for _, factor in weights.kinds]
    # Fractions of any size have logarithms; cells with factor 0 never change.
    logs = [math.log(f.numerator) - math.log(f.denominator) if f else 0.0 for f in factors]
    return CellWeights(np.array(shapes), np.array(factors, float), np.array(logs), latent)


def _usable_moves(
    problem: Problem, moves: Moves, factors: Sequence[Factor] = ()
) -> tuple[Limits, MoveTable, Any, SumWeights]:
    """The moves that could be made from some table, with what they do to rows.

    Also the limits of all cells and of the rows that some move changes, and these rows: others
    hold for ever once they hold at first. A move that breaks an equation, or changes a cell by
    more than its limits are apart, only costs time. (In the two-step proposal another move could
    mend it; but families of moves are such that each keeps what was said.)
    """
    room = problem.upper - problem.lower
    lists = [np.array(sorted(values), dtype=np.int64) for _, values in problem.lists]
    rows, lower, upper = constraint_matrix(problem), problem.row_lower, problem.row_upper
    limited = [
        (cells, values[0], values[-1])
        for (cells, _), values in zip(problem.lists, lists, strict=True)
    ]
    for cells, least, most in (*limited, *((factor.cells, 0, NO_UPPER) for factor in factors)):
        members = csr_array((np.ones_like(cells), cells, [0, len(cells)]), shape=(1, len(room)))
        rows = vstack([rows, members], format="csr")
        lower, upper = np.append(lower, least), np.append(upper, most)
    owner = np.repeat(np.arange(len(moves)), np.diff(moves.matrix.indptr))
    too_far = owner[np.abs(moves.matrix.data) > room[moves.matrix.indices]]
    moves = moves.only(np.bincount(too_far, minlength=len(moves)) == 0)
    effects = _effects(moves, rows)
    usable = effects.astype(bool)[:, lower == upper].sum(axis=1) == 0
    changed = effects[usable].astype(bool).sum(axis=0) > 0
    whole = hstack([moves.matrix[usable], effects[usable][:, changed]], format="csr")
    families = (np.flatnonzero(moves.families[usable] == family) for family in (VARIES, KEEPS))
    sizes = np.zeros(len(lower), dtype=np.int64)
    listing = slice(len(problem.row_lower), len(problem.row_lower) + len(lists))
    sizes[listing] = [len(values) for values in lists]
    limits = Limits(
        np.concatenate([problem.lower, lower[changed]]),
        np.concatenate([problem.upper, upper[changed]]),
        np.concatenate([np.zeros_like(room), [0], np.cumsum(sizes[changed])]),
        np.concatenate([np.zeros(0, dtype=np.int64), *lists])[np.repeat(changed, sizes)],
    )
    starts, places = whole.indptr.astype(np.int64), whole.indices.astype(np.int64)
    laws = [*([None] * (len(lower) - len(factors))), *(factor.law for factor in factors)]
    tracked = [None] * len(room) + [laws[row] for row in np.flatnonzero(changed).tolist()]
    table = MoveTable(starts, places, whole.data, *families)
    return limits, table, rows[changed], _sum_weights(tracked)


def _sum_weights(laws: Sequence[Law | None]) -> SumWeights:
    """The logarithms of the weights of all values of a chain; None: no weight of its own."""
    starts, lows, falls = [0], [], []
    logs = list[float]()
    for law in laws:
        low, high, fall = (0, -1, 0.0) if law is None else law.window()
        check_weights(len(logs) + high - low + 1, 0, math.inf)
        logs += [law.log(count) for count in range(low, high + 1)] if law is not None else []
        starts.append(len(logs))
        lows.append(low)
        falls.append(fall)
    return SumWeights(np.array(starts), np.array(lows), np.array(logs, float), np.array(falls))


def _effects(moves: Moves, rows: Any) -> Any:
    """What moves do to rows, a sparse matrix (moves, rows)."""
    widest = np.diff(moves.matrix.indptr).max(initial=1)
    largest = [float(np.abs(part.data).max(initial=0)) for part in (rows, moves.matrix)]
    if largest[0] * largest[1] * widest >= SAFE / 4:
        raise TooMuchWork(
            "moves times coefficients pass 64-bit integers; give rates with fewer decimals"
        )
    effects = [csr_array((0, rows.shape[0]), dtype=np.int64)]
    for first in range(0, len(moves), MOVES_AT_ONCE):
        effects.append(moves.matrix[first : first + MOVES_AT_ONCE] @ rows.T)
        # Nearly all moves keep nearly all rows.
        effects[-1].eliminate_zeros()
    return vstack(effects, format="csr")


def _run(
    model: ChainModel,
    states: list[ChainState],
    budget: Budget,
    draws: int,
    burn_in: int,
    block: int,
) -> tuple[IntArray, FloatArray | None, FloatArray, bool]:
    """Run chains until they have drawn so many tables each, or the time is over.

    Gives tables, means, acceptance rates and whether the chains were stopped early.
    """
    chains, size, latent = len(states), len(model.weights.shapes), model.weights.latent
    tables_kept = np.zeros((chains, draws, size), dtype=np.int64)
    means = np.zeros((chains, draws if latent else 0, size))
    accepted, done, whole, stopped = np.zeros(chains), 0, 0, False
    steps, longest, block = burn_in + draws * model.thin, block, min(block, -(-FIRST // chains))
    try:
        while done < steps:
            begun = time.monotonic()
            # No round has steps before and after burn-in: only those after it count.
            counts_for = done >= burn_in
            now = min(block, (steps if counts_for else burn_in) - done)
            segments: list[Segment] = []
            tasks = [(model, state, now) for state in states]
            with closing(shared(budget.executor, _advanced, tasks)) as results:
                while len(segments) < chains and not budget.spent:
                    segments.append(next(results)[1])
            # A round that is cut short is left out: all chains keep the same number of tables.
            stopped = len(segments) < chains
            if stopped:
                break
            states = [state for state, *_ in segments]
            until = whole + len(segments[0][1])
            for k, (_, tables, latent_means, moved) in enumerate(segments):
                tables_kept[k, whole:until] = tables
                means[k, whole : whole + len(latent_means)] = latent_means
                accepted[k] += moved if counts_for else 0
            whole, done = until, done + now
            budget.say(done * chains, steps * chains)
            block = _paced(block, longest, time.monotonic() - begun, budget)
    except KeyboardInterrupt:
        stopped = True
        if not whole:
            raise
    if not whole:
        raise Unsettled(
            "the time was over before the chains had drawn a table; give more time, or a shorter "
            "burn_in"
        )
    kept_means = means[:, :whole] if latent else None
    rates = accepted / max(done - burn_in, 1)
    return tables_kept[:, :whole], kept_means, rates, stopped and whole < draws


Segment = tuple[ChainState, IntArray, FloatArray, int]
"""Where a chain is after some steps, tables and means that are kept, moves accepted."""


def _paced(block: int, longest: int, took: float, budget: Budget) -> int:
    """The steps of the next round, after one that took so many seconds."""
    if budget.executor is not None:
        return 2 * block if took < SHARED / 2 else block
    if took > ROUND:
        return max(1, block // 2)
    return min(longest, 2 * block) if took < ROUND / 2 else block


def _advanced(model: ChainModel, state: ChainState, steps: int) -> Segment:
    """Some steps of one chain, run by a worker."""
    state = copy.deepcopy(state)  # a block may be done twice: what it began with stays
    cells, moves = len(model.weights.shapes), model.moves
    if model.sampler is not None:
        places, changes = model.sampler.draw(state.moves.random((steps, model.sampler.numbers)))
        starts = np.arange(0, places.size + 1, places.shape[1])
        moves = moves._replace(starts=starts, places=places.ravel(), changes=changes.ravel())
    room = 0 if steps < state.wait else 1 + (steps - state.wait) // model.thin
    tables = np.zeros((room, cells), dtype=np.int64)
    means = np.zeros((room if model.weights.latent else 0, cells))
    clock = np.array([state.wait, 0], dtype=np.int64)
    accepted = advance(
        moves, model.limits, model.weights, model.sums, state.values, clock, model.thin, steps,
        model.two_step, model.sampler is not None, state.seed, state.means, tables, means,
    )  # fmt: skip
    return replace(state, wait=int(clock[0])), tables, means, int(accepted)
