"""Running chains: block after block, until all tables are drawn or somebody says stop.

Tables to start chains from, far from each other.

Which moves a chain uses, if nobody says.

Markov chains over the consistent tables of a release.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import (
    InconsistentRelease,
    InvalidInput,
    TooMuchWork,
    Unsettled,
    UnsupportedRelease,
)
from cellbounds.inference.chains.basic_moves import basic_moves, why_not_basic
from cellbounds.inference.chains.conditional_moves import conditional_moves
from cellbounds.inference.chains.lattice_moves import PATIENCE, binary, lattice_moves, markov_basis
from cellbounds.inference.chains.move_constraints import (
    Book,
    Limits,
    book_of,
    limits_of,
    list_rows,
    usable,
)
from cellbounds.inference.chains.moves import Connection, Connectivity, Moves, Sampler
from cellbounds.model.constraints import NO_UPPER, compile_release
from cellbounds.model.priors import Weights
from cellbounds.model.problem import Problem, make_problem
from cellbounds.results.values import Unbounded
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.runtime.workers import checked_executor, shared
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Prior, Release

if TYPE_CHECKING:
    from cellbounds.inference.chains.metropolis_kernel import Law

__all__ = ["ChainDraws", "choose_moves", "run_chain", "start_tables"]

ROUND = 1.0
"""Seconds that workers are about to be busy before somebody looks at the clock."""


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

    def __repr__(self) -> str:
        chains, draws, _ = self.counts.shape
        early = ", stopped early" if self.stopped_early else ""
        return (
            f"<{draws} draws from each of {chains} chains, {self.proposal} proposal, "
            f"{self.moves.name}, acceptance {self.acceptance.mean():.0%}{early}>"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How long chains run, what may end them, and who helps."""

    chains: int
    draws: int
    burn_in: int
    thin: int
    progress: Callable[[int, int], None] | None
    deadline: float | None
    stop: Callable[[], bool] | None
    block: int
    executor: Executor | None = None

    @property
    def steps(self) -> int:
        """Steps of each chain."""
        return self.burn_in + self.draws * self.thin

    def over(self) -> bool:
        """Whether it is time to stop."""
        late = self.deadline is not None and time.monotonic() >= self.deadline
        return late or (self.stop is not None and self.stop())

    def say(self, done: int) -> None:
        """Tell the listener how many steps each chain has made."""
        if self.progress is not None:
            self.progress(done * self.chains, self.steps * self.chains)


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What is the same for all chains. Without a book moves are drawn."""

    limits: Limits
    law: Law
    book: Book | None
    sampler: Sampler | None
    thin: int
    two_step: bool

    def moves(self, chain: Chain, steps: int) -> Book:
        """The moves for the next steps: all of them, or newly drawn ones in order."""
        if self.book is not None:
            return self.book
        assert self.sampler is not None  # moves are listed or drawn
        cells, changes = self.sampler.draw(chain.moves.random((steps, self.sampler.numbers)))
        width = cells.shape[1]
        starts = np.arange(0, steps * width + 1, width)
        nothing = np.zeros(0, dtype=np.int64)
        return Book(starts, cells.ravel(), np.ascontiguousarray(changes).ravel(), nothing, nothing)


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Where a chain is: its table, the sums of rows, steps to the next table that is kept.

    Each chain has its own seeds: for the steps, for the means and for moves that are drawn.
    """

    counts: IntArray
    sums: IntArray
    wait: int
    state: IntArray
    means: np.random.Generator
    moves: np.random.Generator


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Some steps of a chain: where they led, what was kept, how many proposals were accepted."""

    chain: Chain
    counts: IntArray
    means: FloatArray
    accepted: int


def run(
    problem: Problem,
    weights: Weights,
    moves: Moves,
    proposal: str,
    latent: bool,
    plan: Plan,
    first: IntArray,
    rng: np.random.Generator,
) -> ChainDraws:
    """Run chains from their first tables (one in each row), as planned.

    Raises
    ------
    Unsettled
        If the time was over before the first draw.
    """
    ground, chains = _begun(problem, weights, moves, proposal, latent, plan, first, rng)
    size = len(problem.lower)
    kept = np.zeros((plan.chains, plan.draws, size), dtype=np.int64)
    means = np.zeros((plan.chains, plan.draws if latent else 0, size))
    accepted, done, whole, stopped = np.zeros(plan.chains), 0, 0, False
    block = plan.block
    try:
        while done < plan.steps:
            if plan.over():
                stopped = True
                break
            begun = time.monotonic()
            # No block has steps before and after burn-in: only those after it count.
            counts_for = done >= plan.burn_in
            steps = min(block, (plan.steps if counts_for else plan.burn_in) - done)
            pieces = [(ground, chain, steps) for chain in chains]
            # A block that is cut short is left out: all chains keep the same number of tables.
            made = [one for _, one in shared(plan.executor, _stretch, pieces)]
            chains = [one.chain for one in made]
            for k, one in enumerate(made):
                kept[k, whole : whole + len(one.counts)] = one.counts
                means[k, whole : whole + len(one.means)] = one.means
            accepted += [one.accepted if counts_for else 0 for one in made]
            whole += len(made[0].counts)
            done += steps
            plan.say(done)
            if plan.executor is not None and time.monotonic() - begun < ROUND / 2:
                block *= 2
    except KeyboardInterrupt:
        stopped = True
        if not whole:
            raise
    if not whole:
        raise Unsettled(
            "the time was over before the chains had drawn a table; give more time, or a shorter "
            "burn_in"
        )
    return ChainDraws(
        kept[:, :whole],
        moves,
        accepted / max(done - plan.burn_in, 1),
        means[:, :whole] if latent else None,
        stopped and whole < plan.draws,
        proposal,
    )


def _begun(
    problem: Problem,
    weights: Weights,
    moves: Moves,
    proposal: str,
    latent: bool,
    plan: Plan,
    first: IntArray,
    rng: np.random.Generator,
) -> tuple[Ground, list[Chain]]:
    from cellbounds.inference.chains.metropolis_kernel import Law, row_sums

    rows = list_rows(problem)
    made, changed = usable(problem, rows, moves)
    law = Law(
        np.array([-1.0 if shape is None else float(shape) for shape, _ in weights.kinds]),
        np.array([float(factor) for _, factor in weights.kinds]),
        np.array([_logarithm(factor) for _, factor in weights.kinds]),
        latent,
    )
    ground = Ground(
        limits_of(problem, rows, changed),
        law,
        book_of(made) if made.sampler is None else None,
        made.sampler,
        plan.thin,
        # Moves that are drawn all keep the summed table: the other family is empty.
        proposal == "two-step" and made.sampler is None,
    )
    counts = np.array(first, dtype=np.int64)
    seeds = rng.integers(0, 2**63, size=(plan.chains, 3))
    chains = [
        Chain(
            counts[k],
            row_sums(ground.limits, counts[k]),
            plan.burn_in + plan.thin,
            seeds[k, :1].astype(np.uint64),
            np.random.default_rng(int(seeds[k, 1])),
            np.random.default_rng(int(seeds[k, 2])),
        )
        for k in range(plan.chains)
    ]
    return ground, chains


def _stretch(ground: Ground, chain: Chain, steps: int) -> Stretch:
    """Run by a worker: some steps of one chain, which stays as it was."""
    from cellbounds.inference.chains.metropolis_kernel import advance

    chain = copy.deepcopy(chain)
    cells = len(chain.counts)
    room = 0 if steps < chain.wait else 1 + (steps - chain.wait) // ground.thin
    kept = np.zeros((room, cells), dtype=np.int64)
    means = np.zeros((room if ground.law.latent else 0, cells))
    clock = np.array([chain.wait, 0], dtype=np.int64)
    accepted = advance(
        ground.moves(chain, steps), ground.limits, ground.law, chain.counts, chain.sums, clock,
        ground.thin, steps, ground.two_step, ground.sampler is not None,
        chain.state, chain.means, kept, means,
    )  # fmt: skip
    return Stretch(replace(chain, wait=int(clock[0])), kept, means, int(accepted))


def _logarithm(factor: Fraction) -> float:
    """The logarithm of a fraction of any size; cells with factor 0 never change."""
    if not factor:
        return 0.0
    return math.log(factor.numerator) - math.log(factor.denominator)


SECONDS = 10.0
"""Budget for the bounds whose witnesses chains start from; unsettled ones have witnesses too."""


def start_tables(
    release: Release,
    chains: int,
    rng: np.random.Generator,
    start: Table | IntArray | None = None,
    *,
    seconds: float = SECONDS,
    problem: Problem | None = None,
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
        return _far_apart(release, chains, rng, seconds)
    size = release.domain.size
    given = start.counts if isinstance(start, Table) else np.asarray(start)
    if given.dtype.kind not in "iuO" or given.size % size or not given.size:
        raise InvalidInput(
            f"tables to start from of shape {given.shape} and type {given.dtype}; give counts, "
            f"{size} for each table"
        )
    tables = given.reshape(-1, size).astype(np.int64)
    rules = problem or make_problem(compile_release(release), size)
    for number, table in enumerate(tables):
        if not rules.holds(table):
            raise InvalidInput(
                f"table {number + 1} to start from contradicts the release; give consistent ones"
            )
    return np.resize(tables, (chains, size))


def _far_apart(release: Release, chains: int, rng: np.random.Generator, seconds: float) -> IntArray:
    answer = bounds(release, seconds=seconds)
    low, high = answer.attained_lower, answer.attained_upper
    ends = list(zip(low.flat, high.flat, strict=True))
    loose = [k for k, (least, most) in enumerate(ends) if least != most]
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


MOST_FOR_MARKOV = 60
"""Cells up to which a Markov basis is tried."""


def choose_moves(release: Release, *, seconds: float = PATIENCE) -> Moves:
    """The moves for a release: those that are proven to connect it first.

    Basic moves where their theorem applies; the two families for one conditional; 4ti2's Markov
    basis for small tables, if it is installed and ready within `seconds`; else lattice moves.
    """
    if why_not_basic(release) is None:
        return basic_moves(release)
    with suppress(UnsupportedRelease):  # not one conditional, or one of uneven sums
        return conditional_moves(release)
    if release.domain.size <= MOST_FOR_MARKOV and binary() is not None:
        try:
            return markov_basis(release, seconds=seconds)
        except (TooMuchWork, UnsupportedRelease):
            return lattice_moves(release)
    return lattice_moves(release)


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
