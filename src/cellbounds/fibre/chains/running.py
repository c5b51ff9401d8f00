"""Running chains: block after block, until all tables are drawn or somebody says stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cellbounds.arrays import IntArray
from cellbounds.beliefs import Weights
from cellbounds.errors import Unsettled
from cellbounds.fibre.chains.ground import Book, book_of, limits_of, list_rows, usable
from cellbounds.fibre.chains.moves import Moves
from cellbounds.methods.general.problem import Problem
from cellbounds.wide import FloatArray

__all__ = ["ChainDraws", "Plan", "run"]


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
    """How long chains run, and what may end them."""

    chains: int
    draws: int
    burn_in: int
    thin: int
    progress: Callable[[int, int], None] | None
    deadline: float | None
    stop: Callable[[], bool] | None
    block: int

    @property
    def steps(self) -> int:
        """Steps of each chain."""
        return self.burn_in + self.draws * self.thin

    def blocks(self) -> Iterator[tuple[int, bool]]:
        """Steps to make at once, and whether they count for the acceptance rate."""
        for first, last, counts in (
            (0, self.burn_in, False),
            (self.burn_in, self.steps, True),
        ):
            for begin in range(first, last, self.block):
                yield min(self.block, last - begin), counts

    def over(self) -> bool:
        """Whether it is time to stop."""
        late = self.deadline is not None and time.monotonic() >= self.deadline
        return late or (self.stop is not None and self.stop())


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
    from cellbounds.fibre.chains.stepping import Law, advance, row_sums

    rows = list_rows(problem)
    made, changed = usable(problem, rows, moves)
    limits = limits_of(problem, rows, changed)
    law = Law(
        np.array([-1.0 if shape is None else float(shape) for shape, _ in weights.kinds]),
        np.array([float(factor) for _, factor in weights.kinds]),
        np.array([_logarithm(factor) for _, factor in weights.kinds]),
        latent,
    )
    size = len(problem.lower)
    counts = np.array(first, dtype=np.int64)
    sums = [row_sums(limits, one) for one in counts]
    clocks = np.tile(np.array([plan.burn_in + plan.thin, 0], dtype=np.int64), (plan.chains, 1))
    kept = np.zeros((plan.chains, plan.draws, size), dtype=np.int64)
    means = np.zeros((plan.chains, plan.draws if latent else 0, size))
    # One seed for the steps, one for the means and one for moves that are drawn, chain by chain.
    seeds = rng.integers(0, 2**63, size=(plan.chains, 3))
    states = seeds[:, :1].astype(np.uint64)
    gammas = [np.random.default_rng(int(seed)) for seed in seeds[:, 1]]
    books = _books(made, [np.random.default_rng(int(seed)) for seed in seeds[:, 2]])
    # Moves that are drawn all keep the summed table: the other family is empty.
    two_step = proposal == "two-step" and made.sampler is None
    accepted, counted, done, stopped = np.zeros(plan.chains), 0, 0, False
    whole = 0
    try:
        for steps, counts_for in plan.blocks():
            if plan.over():
                stopped = True
                break
            for chain in range(plan.chains):
                hits = advance(
                    books(chain, steps), limits, law, counts[chain], sums[chain], clocks[chain],
                    plan.thin, steps, two_step, made.sampler is not None,
                    states[chain], gammas[chain], kept[chain], means[chain],
                )  # fmt: skip
                accepted[chain] += hits if counts_for else 0
            counted += steps if counts_for else 0
            done += steps
            whole = int(clocks[0, 1])
            if plan.progress is not None:
                plan.progress(done * plan.chains, plan.steps * plan.chains)
    except KeyboardInterrupt:
        # A block that was cut short is left out: all chains keep the same number of tables.
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
        accepted / max(counted, 1),
        means[:, :whole] if latent else None,
        stopped and whole < plan.draws,
        proposal,
    )


def _logarithm(factor: Fraction) -> float:
    """The logarithm of a fraction of any size; cells with factor 0 never change."""
    if not factor:
        return 0.0
    return math.log(factor.numerator) - math.log(factor.denominator)


def _books(moves: Moves, generators: list[np.random.Generator]) -> Callable[[int, int], Book]:
    """The moves for the next steps of a chain: all of them, or newly drawn ones in order."""
    sampler = moves.sampler
    if sampler is None:
        book = book_of(moves)
        return lambda _chain, _steps: book
    nothing = np.zeros(0, dtype=np.int64)

    def drawn(chain: int, steps: int) -> Book:
        cells, changes = sampler.draw(generators[chain].random((steps, sampler.numbers)))
        width = cells.shape[1]
        starts = np.arange(0, steps * width + 1, width)
        return Book(starts, cells.ravel(), np.ascontiguousarray(changes).ravel(), nothing, nothing)

    return drawn
