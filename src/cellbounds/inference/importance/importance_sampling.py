"""Drawing tables one block after another, after short trials of how best to propose them.

What weighted draws say: how many tables there are, and how the counts are distributed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.errors import InconsistentRelease, InvalidInput, Unsettled
from cellbounds.inference.importance.centre import Centre, central_means, make_centre
from cellbounds.inference.importance.proposal_kernel import (
    NORMAL,
    UNIFORM,
    URN,
    Drawing,
    ProposalLaw,
    draw_tables,
    empty_queue,
    probe,
    propagate_root,
)
from cellbounds.inference.importance.sampling_plan import (
    SamplingPlan,
    VariableBounds,
    make_plan,
    with_values,
)
from cellbounds.inference.protocol import NO_WEIGHT, supported_release
from cellbounds.model.likelihoods import Factor
from cellbounds.model.priors import Uniform, Weights
from cellbounds.runtime.arguments import checked_whole
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.runtime.workers import Until, shared
from cellbounds.statements import Release

TRIALS, ROUND = 150, 5
"""Draws for the trial of each law, and draws of one law before the next one has its turn."""

TRIAL_SHARE = 0.3
"""The part of the time before a deadline that trials may take."""

QUICK = 0.1
"""Seconds of work that are not worth asking workers for."""

PIECE, PIECES, LARGEST_BLOCK = 0.2, 16, 64
"""Seconds of a block of draws, how many blocks there are at least, so that several workers have
something to do, and how many draws one has at most."""

AT_ONCE = 30_000_000
"""Entries of rows and of systems that are visited between two looks at the clock."""

PROBED = 20_000_000
"""Visits to entries of rows that may be spent on refuting single values beforehand."""

LAWS = (
    ProposalLaw(URN, 1.0),
    ProposalLaw(URN, 1.3),
    ProposalLaw(URN, 1.8),
    ProposalLaw(NORMAL, 3.0),
    ProposalLaw(UNIFORM, 1.0),
)
"""What choices may be drawn from; the last one needs no centre."""


METHOD = "sequential importance sampling"

NEGLIGIBLE = 1e-9
"""A relative error that only rounding made: all draws have the same weight."""

RELIABLE = 50
"""Effective draws below which an estimate, and its own error, are not to be relied on."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how many tables there are (or how much weight they have together).

    Attributes
    ----------
    value, log_value
        The estimate (infinite beyond 1e308) and its natural logarithm; zero and minus infinity if
        no table was drawn, which does not mean that there is none.
    relative_error
        Its standard error, as a part of it; not a number if no table was drawn.
    draws
        How many tables were attempted.
    dead_ends
        How many of these attempts led to no table.
    effective_size
        How many equally weighted draws the weighted ones are worth.
    counted
        What is counted.

    Examples
    --------
    >>> print(Estimate(441.2, 6.0895, 0.011, 1000, 0, 892.0))
    about 441 tables (standard error 1.1%, 1,000 draws)
    """

    value: float
    log_value: float
    relative_error: float
    draws: int
    dead_ends: int
    effective_size: float
    counted: str = "tables"
    method: str = METHOD

    @property
    def note(self) -> str:
        """Why not to rely on it; empty if there is no reason."""
        if self.dead_ends == self.draws:
            return f"none of {self.draws:,} attempts found a table, so there is no estimate"
        equal = self.relative_error < NEGLIGIBLE and self.effective_size >= RELIABLE / 5
        if self.effective_size < RELIABLE and not equal:
            return (
                f"unreliable: the draws are worth only {self.effective_size:.0f} equally weighted "
                "ones; make more"
            )
        return ""

    @property
    def _error(self) -> str:
        if self.relative_error < NEGLIGIBLE:
            return "negligible"
        return f"{100 * self.relative_error:.2g}%" if self.relative_error < 10 else "above 1000%"

    def __str__(self) -> str:
        if self.dead_ends == self.draws:
            return f"no table was drawn: {self.note}"
        written, counted = _written(self.log_value), self.counted
        if written == "1":
            counted = counted.replace("tables", "table")
        text = f"about {written} {counted} (standard error {self._error}, {self.draws:,} draws)"
        return f"{text}; {self.note}" if self.note else text


def _written(log_value: float) -> str:
    power = log_value / math.log(10)
    if 2 <= power < 6:
        return f"{round(math.exp(log_value)):,}"
    if -4 < power < 2:
        return f"{math.exp(log_value):.3g}"
    digits, exponent = 10 ** (power % 1), math.floor(power)
    if digits >= 9.95:
        digits, exponent = 1.0, exponent + 1
    return f"{digits:.1f}e{exponent}"


@dataclass(frozen=True, eq=False)
class ImportanceDraws:
    """Independent tables with weights that make up for how they were drawn.

    Attributes
    ----------
    counts
        The tables, one in each line (flat); all are consistent.
    log_weights
        The logarithm of the weight that each table should have, less that of the probability with
        which it was drawn.
    attempts
        How many draws were begun; those that led to no table are not among `counts`.
    stopped_early
        Whether the work was stopped before all draws were made.
    counted
        What the weights add up to on average: tables, or weight.
    """

    counts: IntArray
    log_weights: FloatArray
    attempts: int
    stopped_early: bool = False
    counted: str = "tables"

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def shares(self) -> FloatArray:
        """The weights of the draws, adding up to one.

        Raises
        ------
        Unsettled
            If no table (with a positive weight) was drawn.
        """
        top = self.log_weights.max(initial=-np.inf)
        if top == -np.inf:
            raise Unsettled(
                f"none of {self.attempts:,} attempts found a table; make more draws, or use a "
                "Markov chain from a known table"
            )
        weights = np.exp(self.log_weights - top)
        return np.asarray(weights / math.fsum(weights))

    @property
    def effective_size(self) -> float:
        """How many equally weighted draws these are worth; 0 if no table was drawn."""
        if self.log_weights.max(initial=-np.inf) == -np.inf:
            return 0.0
        return 1 / math.fsum(self.shares**2)

    @property
    def estimate(self) -> Estimate:
        """The sum over all tables of what they should weigh: the number of tables, if 1 each."""
        dead, draws = self.attempts - len(self.counts), self.attempts
        top = float(self.log_weights.max(initial=-np.inf))
        if top == -np.inf:
            return Estimate(
                value=0.0,
                log_value=-math.inf,
                relative_error=math.nan,
                draws=draws,
                dead_ends=draws,
                effective_size=0.0,
                counted=self.counted,
            )
        weights = np.exp(self.log_weights - top)
        mean = math.fsum(weights) / draws
        # Dead ends are draws of weight zero.
        squares = math.fsum((weights - mean) ** 2) + dead * mean**2
        error = math.sqrt(squares / max(draws - 1, 1) / draws) / mean if draws > 1 else math.inf
        log_value = math.log(mean) + top
        value = math.exp(log_value) if log_value < 709 else math.inf
        return Estimate(
            value=value,
            log_value=log_value,
            relative_error=error,
            draws=draws,
            dead_ends=dead,
            effective_size=self.effective_size,
            counted=self.counted,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A way to draw tables of one release: variables, rows, and laws for the choices."""

    plan: SamplingPlan
    root: VariableBounds
    centre: Centre
    law: ProposalLaw

    def drawn(
        self, seed: int, first: int, count: int, effort: Budget = UNLIMITED, at_once: int = AT_ONCE
    ) -> tuple[IntArray, FloatArray]:
        """Draws number `first` on: values of all variables, and log probabilities.

        Fewer than `count` if the effort is spent before; it is looked at after about `at_once`
        steps, which does not change what is drawn.
        """
        values = np.zeros((count, len(self.plan.lower)), dtype=np.int64)
        logs = self._filled(values, False, seed, first, effort, at_once)
        return values[: len(logs)], logs

    def log_chances(self, tables: IntArray) -> FloatArray:
        """The logarithms of the probabilities with which given tables (flat) would be drawn."""
        plan = self.plan
        values = np.zeros((len(tables), len(plan.lower)), dtype=np.int64)
        values[:, : len(plan.free)] = tables[:, plan.free]
        for k, inside in enumerate(plan.members):
            values[:, len(plan.free) + k] = values[:, inside].sum(axis=1)
        logs = self._filled(values, True, 0, 0, UNLIMITED, AT_ONCE)
        held = np.ones(len(plan.fixed), dtype=bool)
        held[plan.free] = False
        logs[(tables[:, held] != plan.fixed[held]).any(axis=1)] = -np.inf
        return logs

    def _filled(
        self, values: IntArray, given: bool, seed: int, first: int, effort: Budget, at_once: int
    ) -> FloatArray:
        """The log probabilities of the tables that there was time for."""
        plan, logs = self.plan, np.zeros(len(values))
        drawing = Drawing.begun(plan.matrix, self.centre, self.root)
        while not draw_tables(
            plan.matrix, plan.order, self.centre, self.law, self.root, np.uint64(seed), first,
            values, given, logs, drawing, at_once,
        ):  # fmt: skip
            if effort.spent:
                break
        return logs[: drawing.at[0]]


def make_proposal(
    release: Release,
    weights: Weights,
    seed: int,
    effort: Budget = UNLIMITED,
    factors: Sequence[Factor] = (),
) -> Proposal:
    """Set up a release, and choose among laws by short trials from a seed.

    Trials become shorter if there is little time.

    Raises
    ------
    InconsistentRelease
        If propagation shows that no table fits.
    InvalidInput
        If it shows that no table that fits has any weight.
    """
    supported = supported_release(release, weights)
    try:
        plan = make_plan(supported)
        root = _root(plan)
    except InconsistentRelease:
        if supported is release:
            raise
        raise InvalidInput(f"{NO_WEIGHT} (or no table fits at all)") from None
    plan = _probed(plan, root, effort.share(TRIAL_SHARE))
    root = _root(plan)
    kinds = [weights.kinds[cell] for cell in plan.free]
    shapes = np.array([np.inf if shape is None else float(shape) for shape, _ in kinds])
    slopes = np.array([float(factor) for _, factor in kinds])
    centre = make_centre(plan, shapes, slopes)
    if centre.used:
        centre = centre._replace(means=central_means(centre, root, effort.share(TRIAL_SHARE)))
    return _best(Proposal(plan, root, centre, LAWS[0]), weights, seed, effort, factors)


def _root(plan: SamplingPlan) -> VariableBounds:
    ends = np.zeros((2, len(plan.matrix.lower)), dtype=np.int64)
    root = VariableBounds(plan.lower.copy(), plan.upper.copy(), *ends)
    if not propagate_root(plan.matrix, root, empty_queue(plan.matrix)):
        raise InconsistentRelease("the published figures leave a cell without any count")
    return root


def _probed(plan: SamplingPlan, root: VariableBounds, effort: Budget) -> SamplingPlan:
    """List the values that propagation does not refute, where it refutes some inside.

    Without it rates that leave few row sums lead nowhere: their draws are worth a third.
    """
    left, trial, queue = PROBED, VariableBounds(*map(np.copy, root)), empty_queue(plan.matrix)
    possible_values: dict[int, IntArray] = {}
    for variable in plan.order.tolist():
        low, high = int(root.lower[variable]), int(root.upper[variable])
        left -= (high - low + 1) * len(plan.matrix.variables)
        if left < 0 or effort.spent:
            break
        possible = probe(plan.matrix, root, trial, queue, variable)
        if not possible.any():
            raise InconsistentRelease("the published figures contradict each other")
        if not possible.all():
            possible_values[variable] = low + np.flatnonzero(possible)
    return with_values(plan, possible_values)


def _best(
    proposal: Proposal, weights: Weights, seed: int, effort: Budget, factors: Sequence[Factor]
) -> Proposal:
    """The proposal whose trial draws are worth most."""
    if not (proposal.root.lower < proposal.root.upper).any():
        return proposal
    part = effort.share(TRIAL_SHARE)
    laws = LAWS if proposal.centre.used else LAWS[-1:]
    offered = [replace(proposal, law=law) for law in laws]
    rounds = []
    # As many trial draws of each law as of the others, however soon the time is over.
    for first in range(0, TRIALS, ROUND):
        blocks = None if part.spent else _trial_round(offered, seed, first, part)
        if blocks is None:
            break
        rounds.append(blocks)
    if not rounds:
        return offered[-1]
    worth = [
        _weighted(proposal, drawn, weights, factors).effective_size
        for drawn in zip(*rounds, strict=True)
    ]
    return offered[int(np.argmax(worth))]


def _trial_round(
    offered: Sequence[Proposal], seed: int, first: int, effort: Budget
) -> list[tuple[IntArray, FloatArray]] | None:
    """Some draws of each; None if there was no time for all of them."""
    blocks = []
    for k, trial in enumerate(offered):
        blocks.append(trial.drawn(seed, k * TRIALS + first, ROUND, effort))
        if len(blocks[-1][1]) < ROUND:
            return None
    return blocks


def _weighted(
    proposal: Proposal,
    blocks: Sequence[tuple[IntArray, FloatArray]],
    weights: Weights,
    factors: Sequence[Factor],
) -> ImportanceDraws:
    """Draws that led to a table, with their weights."""
    values, logs = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    alive, plan = np.isfinite(logs), proposal.plan
    counts = np.tile(plan.fixed, (int(alive.sum()), 1))
    counts[:, plan.free] = values[alive][:, : len(plan.free)]
    target = np.zeros(len(counts)) if weights.uniform else weights.logs(counts)
    for factor in factors:
        target = target + factor.logs(counts)
    counted = "tables" if weights.uniform and not factors else "units of weight"
    return ImportanceDraws(counts, target - logs[alive], len(logs), counted=counted)


def importance_draws(
    release: Release,
    weights: Weights,
    *,
    draws: int,
    rng: np.random.Generator,
    budget: Budget = UNLIMITED,
    largest_block: int = LARGEST_BLOCK,
    factors: Sequence[Factor] = (),
) -> ImportanceDraws:
    """Draw tables that fit a release, with weights that make up for how they were drawn.

    Cells are placed one after another, each within the bounds that the others leave it. What was
    drawn before a deadline or an interruption is kept.

    Parameters
    ----------
    release
        What was said. Every cell must have an upper limit.
    weights
        What the tables should weigh.
    draws
        How many tables to attempt; some attempts may lead to none.
    rng
        Where the randomness comes from; two numbers are taken from it.
    budget
        When to stop, who helps (that does not change what is drawn) and who listens.
    largest_block
        Draws between two looks at the clock. It does not change what is drawn.
    factors
        What sums of cells should weigh besides, by figures that were made by chance.

    Raises
    ------
    InconsistentRelease, InvalidInput
        If propagation shows that no table fits, or none with any weight.
    UnsupportedRelease
        If a cell has no upper limit.
    """
    checked_whole("draws", draws)
    seeds = rng.integers(0, 2**63, size=2).tolist()
    proposal = make_proposal(release, weights, seeds[0], budget, factors)
    blocks: list[tuple[IntArray, FloatArray]] = []
    try:
        for block in _blocks(proposal, seeds[1], draws, budget, largest_block):
            blocks.append(block)
            budget.say(sum(len(logs) for _, logs in blocks), draws)
    except KeyboardInterrupt:
        if not blocks:
            raise
    if not blocks:
        raise Unsettled("the time was over before a table was drawn; give more time")
    drawn = _weighted(proposal, blocks, weights, factors)
    return replace(drawn, stopped_early=drawn.attempts < draws)


def _blocks(
    proposal: Proposal, seed: int, draws: int, effort: Budget, largest: int
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Blocks of draws in their order. How they are cut does not change them."""
    begun = time.monotonic()
    first_block = proposal.drawn(seed, 0, 1, effort)
    if not len(first_block[1]):
        return
    pace = max(time.monotonic() - begun, 1e-9)
    yield first_block
    size = max(1, min(int(PIECE / pace), -(-draws // PIECES), largest))
    until = Until.of(effort.left)
    pieces = [
        (proposal, seed, first, min(size, draws - first), until) for first in range(1, draws, size)
    ]
    # Workers are not asked for what is done before they have read it.
    helpers = effort.executor if pace * draws > QUICK else None
    with closing(shared(helpers, _drawn, pieces)) as results:
        for place, block in results:
            if len(block[1]):
                yield block
            if len(block[1]) < pieces[place][3]:
                return  # the time was over


def _drawn(
    proposal: Proposal, seed: int, first: int, count: int, until: Until
) -> tuple[IntArray, FloatArray]:
    """Run by a worker; fewer than so many if there was no time."""
    effort = Budget.until(until.deadline)
    return proposal.drawn(seed, first, 0 if effort.spent else count, effort)


def estimate_count(
    release: Release,
    *,
    draws: int = 1000,
    rng: np.random.Generator,
    budget: Budget = UNLIMITED,
) -> Estimate:
    """About how many tables fit a release, with the error of the estimate.

    The mean over all draws of one over the probability of the table drawn; dead ends count zero.
    A table that figures made by chance leave possible counts as one, however unlikely.
    """
    weights = Uniform().weights(release.domain)
    return importance_draws(release, weights, draws=draws, rng=rng, budget=budget).estimate
