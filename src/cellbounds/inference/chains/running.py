"""Running chains: block after block, until all tables are drawn or somebody says stop."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from cellbounds.errors import Unsettled
from cellbounds.inference.chains.constraints import (
    Book,
    Limits,
    book_of,
    limits_of,
    list_rows,
    usable,
)
from cellbounds.inference.chains.moves import Moves, Sampler
from cellbounds.model.priors import Weights
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.runtime.workers import shared

if TYPE_CHECKING:
    from cellbounds.inference.chains.metropolis_kernel import Law

__all__ = ["ChainDraws", "Plan", "run"]

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
