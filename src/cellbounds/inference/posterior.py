"""The posterior of the cells, and tables drawn from it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.inference.chooser import ExactSums, checked_effort, exact_sums
from cellbounds.inference.hypergeometric import Hypergeometric
from cellbounds.inference.margin_sums import asked_groups, cell_numbers, margin_sums
from cellbounds.inference.protocol import WeightedFibre, answer_head
from cellbounds.model.likelihoods import factors_of
from cellbounds.model.priors import Belief, Weights, belief_of
from cellbounds.results.cell_index import CellIndex, asked_cells
from cellbounds.results.distribution import Distribution, MonteCarlo
from cellbounds.results.draws import Draws
from cellbounds.results.evidence import Evidence
from cellbounds.results.posterior import Posterior
from cellbounds.runtime.arguments import checked_generator, checked_whole
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.statements import Release

if TYPE_CHECKING:
    from cellbounds.inference.chains.moves import Moves

METHODS = ("auto", "exact", "chain", "importance")

MOST_DRAWS = 10_000
"""Draws for an estimated posterior."""


@budgeted
def posterior(
    release: Release,
    prior: Belief | str = "uniform",
    *,
    over: Iterable[str] | None = None,
    cells: Iterable[Sequence[Label]] | None = None,
    effort: float | None = None,
    draws: int = MOST_DRAWS,
    rng: int | np.random.Generator = 0,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Posterior:
    """How likely each count of each cell, or of a margin, is, given a release and a prior.

    Figures that were rounded at random, or changed by noise of a known law, count by how likely
    they are given the table; those of separate statements are taken to be made independently.

    Every consistent table is summed over where its structure allows: in double precision without
    cancellation, with a proven bound of the error. Otherwise tables are drawn by a Markov chain,
    and the answer says so, with Monte Carlo errors, effective sample sizes and R-hat.

    Parameters
    ----------
    release
        What was said. N must be limited.
    prior
        ``"uniform"`` over tables, ``"multinomial"`` or ``"hypergeometric"`` (equal cell
        probabilities), or :class:`Multinomial`, :class:`Poisson`, :class:`GammaPoisson`.
    over
        Ask about the sums of this margin instead of the cells; axes in the order given.
    cells
        Ask about these cells only, each a tuple of labels, one for each variable of `over` (of
        the domain if that is not given). The answer's arrays then have one axis, in that order.
    effort
        Steps that exact work may take (2e9 by default).
    draws, rng
        For estimates: how many tables, and a seed (0 by default, so that the answer does not
        depend on the run) or generator.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone.

    Raises
    ------
    InconsistentRelease
        If no table fits.
    InvalidInput
        If the prior gives no weight to any table that fits.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("analgesic").margin(["treatment", "response"])
    >>> release = cb.publish(table, "[treatment]", "[response]")
    >>> print(cb.posterior(release, prior=cb.priors.GammaPoisson(193, "1/4")))
    posterior given [treatment], [response], N=193; prior: Poisson with Gamma means
    treatment  response   mean     sd  median  mode  q025  q975  at_most_3
    1          poor      27.63  3.437      28    28    21    34  1.401e-14
    1          good      69.37  3.437      69    69    63    76          0
    2          poor      27.37  3.437      27    27    21    34  2.428e-14
    2          good      68.63  3.437      69    69    62    75          0
    diagrams of independent parts: exact, relative error at most 3e-14

    How many men there were, in a table of which rates and N are known:

    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    >>> cb.posterior(release, over=["gender"])["Male"].interval("0.9")
    (5, 45)
    """
    begun = time.perf_counter()
    belief = belief_of(prior)
    weights, steps = _weights(release, belief), checked_effort(effort)
    names, chosen = asked_cells(release, over, cells)
    places = CellIndex(release.domain.project(names).shape, chosen)
    whole = set(names) == set(release.domain.names)
    try:
        if whole:
            sums = exact_sums(release, weights, steps)
            about = answer_head(release, sums.name, Evidence.EXACT, begun, names)
            distribution = partial(
                _distribution, sums.weighted, cell_numbers(release, names, places)
            )
            return Posterior(
                *about, places, belief, sums.weighted.error, None, distribution, sums.mode
            )
        margin = margin_sums(release, weights, names, places, steps, budget)
        about = answer_head(release, margin.name, Evidence.EXACT, begun, names)
        each = margin.distributions.__getitem__
        return Posterior(*about, places, belief, margin.error, None, each, None)
    except TooMuchWork as problem:
        refusal = f"not exact: {problem}"
    # Of a margin, what can be drawn exactly may still be: the draws are independent then.
    ways: dict[str, Any] = {"rng": rng, "effort": effort, "budget": budget}
    drawn = sample(release, draws, prior=belief, method="chain" if whole else "auto", **ways)
    about = answer_head(release, drawn.method, Evidence.ESTIMATED, begun, names)
    best = partial(_best_drawn, drawn, weights)
    connected = (f"connected: {drawn.connected}",) if drawn.connected else ()
    notes = (refusal, *connected, *drawn.notes)
    if names == release.domain.names and chosen is None:
        return Posterior(*about, places, belief, None, drawn.monte_carlo, drawn.cell, best, notes)
    flat = drawn.counts.reshape(len(drawn), -1)
    groups = asked_groups(release, names, places)
    wanted = np.stack([flat[:, members].sum(axis=1) for members in groups], axis=1)
    checks = trusted(drawn, wanted).shaped(places.shape)
    counted = partial(_counted, wanted)
    return Posterior(*about, places, belief, None, checks, counted, best, notes)


def _distribution(
    weighted: WeightedFibre | Hypergeometric, cells: Sequence[int], number: int
) -> Distribution:
    return weighted.distribution(cells[number])


def _independent(drawn: IntArray) -> MonteCarlo:
    """How far averages of independent draws can be trusted."""
    size, shape = len(drawn), drawn.shape[1:]
    spread = drawn.std(axis=0, ddof=1) if size > 1 else np.full(shape, np.nan)
    return MonteCarlo(spread / np.sqrt(size), np.full(shape, float(size)))


def trusted(drawn: Draws, sums: IntArray) -> MonteCarlo:
    """How far averages of sums of the cells drawn can be trusted."""
    if drawn.independent:
        return _independent(sums)
    from cellbounds.inference.chains.chain_sampling import FEWEST, diagnose

    chains = np.array_split(sums, drawn.chains)
    length = min(map(len, chains))
    if length < FEWEST:
        unknown = np.full(sums.shape[1], np.nan)
        return MonteCarlo(unknown, unknown)
    return diagnose(np.stack([chain[:length] for chain in chains]))


def _counted(sums: IntArray, number: int) -> Distribution:
    values, times = np.unique(sums[:, number], return_counts=True)
    return Distribution(values, times / len(sums))


def _best_drawn(drawn: Draws, weights: Weights) -> IntArray:
    flat = drawn.counts.reshape(len(drawn), -1)
    logs = weights.logs(flat) + sum(factor.logs(flat) for factor in factors_of(drawn.release))
    return np.asarray(flat[int(np.argmax(logs))])


def _weights(release: Release, belief: Belief) -> Weights:
    domain = release.domain
    weights = belief.weights(domain)
    # N is said, or an exact margin adds up to it.
    known = release.total.exact is not None or any(
        statement.fixed_counts(domain) is not None for statement in release.statements
    )
    if weights.needs_total and not known:
        raise InvalidInput(
            f"the prior is {belief.name}, which needs N; give Total(N), or "
            "prior=cb.priors.Poisson(means)"
        )
    return weights


@budgeted
def sample(
    release: Release,
    size: int,
    *,
    prior: Belief | str = "uniform",
    method: str = "auto",
    rng: int | np.random.Generator = 0,
    effort: float | None = None,
    start: Table | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
    chains: int | None = None,
    moves: str | Moves | None = None,
    proposal: str | None = None,
    burn_in: int | None = None,
    thin: int | None = None,
    latent: bool | None = None,
) -> Draws:
    """Draw whole tables from the posterior over the consistent ones.

    Parameters
    ----------
    release
        What was said.
    size
        How many tables.
    prior, effort
        As for :func:`posterior`.
    method
        ``"auto"``: exact where the structure allows, else a Markov chain. ``"exact"``:
        independent draws without any Monte Carlo method, or an error. ``"chain"``: Metropolis.
        ``"importance"``: sequential importance sampling, draws with `weights`.
    rng
        A seed (0 by default, so that a call does not depend on the run) or a numpy generator.
    start
        A consistent table to start chains from, such as the owner's.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone; what was drawn by then is
        kept. What is drawn is the same with any number of workers.
    chains
        Markov chains: how many at once (4 unless given).
    moves
        What they move by: ``"basic"``, ``"conditional"`` (document 002's two families),
        ``"lattice"`` or ``"4ti2"``; by default the best that is known for the release.
    proposal
        ``"ordinary"``, or ``"two-step"`` as document 002 has it.
    burn_in, thin
        Steps before the first table counts, and from one table to the next.
    latent
        Draw the Poisson means along, as document 002 does (see `Draws.rates`).

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    >>> draws = cb.sample(release, 3, rng=7)
    >>> draws.method, draws.independent, [cb.violations(table, release) for table in draws]
    ('generating functions of the rows of one conditional', True, [[], [], []])
    """
    size = checked_whole("size", size)
    if method not in METHODS:
        raise InvalidInput(f"method {method!r}; choose one of {', '.join(METHODS)}")
    options = {"chains": chains, "moves": moves, "proposal": proposal}
    options |= {"burn_in": burn_in, "thin": thin, "latent": latent}
    chain: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if chain and method in ("exact", "importance"):
        raise InvalidInput(f"{', '.join(chain)}: options of Markov chains; give method='chain'")
    generator = checked_generator(rng)
    belief = belief_of(prior)
    weights = _weights(release, belief)
    begun = time.perf_counter()
    exact: ExactSums | None = None
    if method in ("auto", "exact") and not chain:
        try:
            exact = exact_sums(release, weights, checked_effort(effort))
        except TooMuchWork:
            if method == "exact":
                raise
    if exact is not None:
        counts = exact.weighted.draw(size, generator).reshape(size, *release.domain.shape)
        about = answer_head(release, exact.name, Evidence.EXACT, begun)
        return Draws(*about, counts, belief, True, None, _independent(counts))
    common: dict[str, Any] = {"rng": generator, "budget": budget}
    if method == "importance":
        return _importance(release, belief, weights, size, begun, **common)
    from cellbounds.inference.chains.chain_sampling import chain_draws

    return chain_draws(release, belief, weights, size, begun, start=start, **common, **chain)


def _importance(
    release: Release, belief: Belief, weights: Weights, size: int, begun: float, **helpers: Any
) -> Draws:
    from cellbounds.inference.importance.importance_sampling import importance_draws

    drawn = importance_draws(release, weights, draws=size, factors=factors_of(release), **helpers)
    shape, shares = release.domain.shape, drawn.shares
    # The error of a ratio of two estimates, to first order (delta method).
    means = shares @ drawn.counts
    error = np.sqrt(shares**2 @ (drawn.counts - means) ** 2)
    return Draws(
        *answer_head(release, drawn.estimate.method, Evidence.ESTIMATED, begun),
        drawn.counts.reshape(-1, *shape),
        belief,
        independent=True,
        weights=shares,
        monte_carlo=MonteCarlo(error.reshape(shape), np.full(shape, drawn.effective_size)),
        stopped_early=drawn.stopped_early,
        notes=(drawn.estimate.note,) if drawn.estimate.note else (),
    )
