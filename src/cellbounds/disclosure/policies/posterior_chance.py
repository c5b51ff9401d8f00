"""The rule about posterior probabilities of small counts, as certain as they can be had."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.rule import (
    EVERYTHING,
    Cells,
    ThresholdRule,
    all_true,
    any_true,
    check_bool,
    check_whole,
    some_within,
)
from cellbounds.disclosure.policies.verdict import Finding
from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.inference.counting import tables
from cellbounds.inference.posterior import posterior
from cellbounds.inference.protocol import DEFAULT_EFFORT
from cellbounds.model.likelihoods import factors_of
from cellbounds.model.priors import NAMED, Belief, GammaPoisson, Multinomial, Uniform, belief_of
from cellbounds.results import Posterior
from cellbounds.runtime.arrays import BoolArray, IntArray, summable
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Release
from cellbounds.statements.numbers import exact_number

if TYPE_CHECKING:
    from cellbounds.disclosure.policies.attacker import Attacker
    from cellbounds.disclosure.policies.crowds import Crowd

MOST_LISTED = 20_000
"""Tables that are listed to get a probability in fractions, where doubles do not decide."""

STEPS = 10_000_000
"""Steps of exact sums that a second of budget allows."""

ROUNDING = Fraction(1, 2**50)
"""Relative error of adding up doubles by `math.fsum`, with room to spare."""

UNDERFLOW = Fraction(1, 2**900)
"""More than what may have been lost of numbers too small for a double."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorChance(ThresholdRule):
    """Nobody may be too sure that a small count is small.

    For a cell whose true count is small, the posterior probability (under a named prior) of a
    count up to the threshold (with `positive`: and of at least 1) may not exceed `probability`; or,
    with `near`, that of a count no further than that from the true one. Estimates decide only at
    the Monte Carlo level `confidence`; without it they decide nothing.

    Examples
    --------
    >>> print(PosteriorChance(at_most=3, probability="0.9").sentence)
    for a true count of at most 3 (<= 3; zeros included) the posterior probability of such a count
    must be at most 9/10 (<= 9/10; prior: uniform)
    >>> print(PosteriorChance(at_most=3, near=1, probability="0.9").sentence)
    for a true count of at most 3 (<= 3; zeros included) the posterior probability of a count within
    1 of it must be at most 9/10 (<= 9/10; prior: uniform)
    """

    name: ClassVar[str] = "posterior"

    probability: Fraction | None = None
    prior: str = "uniform"
    positive: bool = False
    near: int | None = None
    confidence: Fraction | None = None

    def __post_init__(self) -> None:
        self._check_threshold()
        check_bool(self, "positive")
        if self.near is not None:
            check_whole(self, "near", 0)
        if self.probability is None:
            raise InvalidInput(f"the rule {self.name} needs probability=, such as '0.9'")
        for what, least in (("probability", Fraction(0)), ("confidence", Fraction(1, 2))):
            given = getattr(self, what)
            if given is None:
                continue
            number = exact_number(given, self._of(what))
            if not least < number < 1:
                raise InvalidInput(
                    f"{self._of(what)} is {given}; give a number above {least} and below 1"
                )
            object.__setattr__(self, what, number)
        if not isinstance(self.prior, str) or self.prior not in NAMED:
            raise InvalidInput(
                f"{self._of('prior')} is {self.prior!r}; choose one of {', '.join(NAMED)}"
            )
        if self.positive and self.small < 1:
            raise InvalidInput(
                f"the rule {self.name} speaks of positive counts of at most {self.small}: there "
                "are none; raise the threshold"
            )

    @property
    def smallest(self) -> int:
        """The smallest count that the rule speaks of."""
        return 1 if self.positive else 0

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        limit = self.probability
        about = "such a count" if self.near is None else f"a count within {self.near} of it"
        sure = f"; estimates at confidence {self.confidence}" if self.confidence else ""
        return (
            f"for a true count {self.threshold_text} the posterior probability of {about} must be "
            f" at most {limit} (<= {limit}; prior: {self.prior}{sure})"
        )

    @property
    def kept_by_sums(self) -> bool:
        """Yes: counts that are shown are certain, so that none of them is small, nor are sums."""
        return True

    def why_not_monotone(self, *, independent: bool) -> str:
        """Never monotone."""
        return "a posterior probability may fall when more is published"

    def findings(self, attacker: Attacker, cells: Cells | None = None) -> Iterator[Finding]:
        """One finding for each cell that may be small."""
        chances = attacker.chances_of(self)
        for index in self.spoken_of(attacker, cells):
            cell = int(np.ravel_multi_index(index, attacker.domain.shape))
            truths: Iterable[int | None] = [None]
            if self.near is not None:
                counts = attacker.counts
                small = range(self.smallest, self.small + 1)
                truths = small if counts is None else [int(counts[index])]
            tried = [(truth, chances.of(cell, truth)) for truth in truths]
            answers = [self._exceeded(attacker, index, *bounds) for bounds in tried]
            broken = any_true(answers)
            words = tried[answers.index(broken)][1].words
            if broken and attacker.case.outside and not self._always_small(attacker, index):
                broken = None  # it may hold a count that the rule does not speak of
            change = f"a lower probability: {attacker.remedy}"
            if broken is None:
                change = "more seconds, or a policy that states a confidence for estimates"
            yield attacker.finding(self, index, broken, words, change)

    def breaking(self, crowd: Crowd) -> BoolArray:
        """Tables with a small count that is too likely among those of the crowd, exactly."""
        chances, limit = ListedChances(crowd, self), self.probability
        broken = np.zeros(len(crowd), dtype=bool)
        assert limit is not None  # checked when the rule was made
        for cell in np.flatnonzero(~crowd.exempt.ravel()).tolist():
            counts, alike = crowd.columns(cell)
            wrong = [
                self.speaks_of(count) and chances.of(cell, count).low > limit for count in counts
            ]
            broken |= np.array(wrong, dtype=bool)[alike]
        return broken

    def _always_small(self, attacker: Attacker, index: tuple[int, ...]) -> bool:
        """Whether a cell holds a small count in every table, each of them at risk alike."""
        possible = attacker.values(index).possible
        inside = possible.smallest >= self.smallest and possible.largest <= self.small
        return inside and (self.near is None or possible.size == 1)

    def _exceeded(
        self, attacker: Attacker, index: tuple[int, ...], truth: int | None, chance: Chance
    ) -> bool | None:
        """Whether a probability is too high for a count that may be the true one (None: any)."""
        assert self.probability is not None  # checked when the rule was made
        broken = chance.exceeds(self.probability)
        if broken is False or attacker.counts is not None:
            return broken
        if truth is not None:
            truths = attacker.truths(index, attacker.values(index))
            return all_true([broken, some_within(truths, truth, truth)])
        if attacker.respondent is None:
            return broken
        truths = attacker.truths(index, EVERYTHING)
        return all_true([broken, some_within(truths, self.smallest, self.small)])

    def span(self, truth: int | None) -> tuple[int, int]:
        """The first and the last count whose probability is asked for."""
        if self.near is None or truth is None:
            return self.smallest, self.small
        return truth - self.near, truth + self.near


@dataclass(frozen=True, slots=True)
class Chance:
    """A probability between two ends; `words` say how it is known."""

    low: Fraction
    high: Fraction
    words: str

    @classmethod
    def unknown(cls, words: str) -> Chance:
        """A probability of which nothing is known, and why."""
        return cls(Fraction(0), Fraction(1), words)

    def exceeds(self, limit: Fraction) -> bool | None:
        """Whether the probability is above a limit; None if that is open."""
        if self.low > limit:
            return True
        return False if self.high <= limit else None


class PosteriorChances:
    """The posterior that one rule asks about, made when the first cell needs it.

    `over` are the variables of the margin whose cells are asked about. Where doubles do not decide,
    every table is listed, `most_listed` of them at most. `posterior_of` finds the posterior.
    """

    def __init__(
        self,
        release: Release,
        over: tuple[str, ...],
        rule: PosteriorChance,
        effort: Budget,
        *,
        most_listed: int = MOST_LISTED,
        posterior_of: Callable[..., Posterior] = posterior,
    ) -> None:
        self.release, self.over, self.rule, self.effort = release, over, rule, effort
        self.most_listed, self.posterior_of = most_listed, posterior_of
        self.belief: Belief = belief_of(rule.prior)
        if over != release.domain.names:
            assert isinstance(self.belief, Uniform | Multinomial)  # the priors that have a name
            alone = projected(release, over, self.belief)
            if alone is not None:
                self.release, self.belief = alone

    def of(self, cell: int, truth: int | None = None) -> Chance:
        """The probability that the cell (numbered flat) holds a small count.

        With `near`, that it holds one near the count that is taken to be true.
        """
        span = self.rule.span(truth)
        answer = self._posterior
        if isinstance(answer, str):
            return Chance.unknown(answer)
        try:
            marginal = answer.at(cell)
        except TooMuchWork as problem:  # sums that are made cell by cell
            return Chance.unknown(f"no posterior: {problem}")
        inside = (marginal.values >= span[0]) & (marginal.values <= span[1])
        part = Fraction(math.fsum(marginal.probabilities[inside]))
        if answer.error is None:
            return self._estimated(answer, cell, part)
        spread = 2 * Fraction(answer.error) + ROUNDING
        near = Chance(
            part * (1 - spread) - UNDERFLOW,
            min(Fraction(1), part * (1 + spread) + UNDERFLOW),
            f"probability {float(part):.6g} (exact, {answer.method})",
        )
        assert self.rule.probability is not None  # checked when the rule was made
        if near.exceeds(self.rule.probability) is not None:
            return near
        return self._counted(cell, *span) or near

    def _counted(self, cell: int, first: int, last: int) -> Chance | None:
        """The probability in fractions, from every table, if they are few enough to list."""
        if self._listed is None:
            return None
        chances = self._listed[cell].items()
        part = sum((chance for count, chance in chances if first <= count <= last), Fraction(0))
        return Chance(part, part, f"probability {part} (every table listed)")

    @property
    def _lacks_total(self) -> bool:
        weights = self.belief.weights(self.release.domain)
        return weights.needs_total and self.release.total.exact is None

    @cached_property
    def _posterior(self) -> Posterior | str:
        """The posterior, or why there is none."""
        left = self.effort.left
        if left == 0:
            return "the budget was spent before the posterior could be found"
        if self._lacks_total:
            return f"no posterior: the prior {self.rule.prior} needs N"
        steps = DEFAULT_EFFORT if left is None else max(1, min(DEFAULT_EFFORT, STEPS * left))
        budget = self.effort.resumed(None)
        try:
            return self.posterior_of(
                self.release, self.belief, over=self.over, effort=steps, budget=budget
            )
        except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
            return f"no posterior: {problem}"

    def _estimated(self, answer: Posterior, cell: int, part: Fraction) -> Chance:
        """Wilson's interval at the policy's confidence, if the draws can be trusted at all."""
        words = f"probability about {float(part):.4g} ({answer.method})"
        if self.rule.confidence is None:
            return Chance.unknown(f"{words}; the policy states no confidence for estimates")
        checks = answer.monte_carlo
        size = math.nan if checks is None else float(checks.effective_size.flat[cell])
        proven = any(note.startswith("connected: proven") for note in answer.notes)
        if checks is None or not proven or not size >= 2 or not checks.agreed:
            return Chance.unknown(f"{words}; the chains are not known to reach every table")
        z, share = NormalDist().inv_cdf(float(self.rule.confidence)), float(part)
        centre = share + z * z / (2 * size)
        reach = z * math.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
        low, high = ((centre + side) / (1 + z * z / size) for side in (-reach, reach))
        at = f"from {low:.4g} to {high:.4g} at confidence {self.rule.confidence}"
        return Chance(Fraction(low), Fraction(high), f"{words}, {at}")

    @cached_property
    def _listed(self) -> list[dict[int, Fraction]] | None:
        """The probability of each count of every cell in fractions; None for too many tables."""
        domain = self.release.domain
        if domain.size > DENSE_LIMIT or self._lacks_total:
            return None
        weights = self.belief.weights(domain)
        factors = factors_of(self.release)
        whole = Fraction(0)
        weighed = [
            defaultdict[int, Fraction](Fraction) for _ in range(domain.project(self.over).size)
        ]
        try:
            for seen, table in enumerate(tables(self.release, limit=self.most_listed + 1)):
                if seen == self.most_listed or self.effort.spent:
                    return None
                exact = itertools.starmap(weights.exact, enumerate(table.counts.ravel().tolist()))
                weight = math.prod(exact, start=Fraction(1))
                for factor in factors:
                    weight *= factor.law.chance(int(table.counts.ravel()[factor.cells].sum()))
                whole += weight
                margin = table if self.over == domain.names else table.margin(self.over)
                for cell, count in enumerate(margin.counts.ravel().tolist()):
                    weighed[cell][count] += weight
        except (TooMuchWork, Unsettled, UnsupportedRelease):
            return None
        return (
            [{n: part / whole for n, part in weights.items()} for weights in weighed]
            if whole
            else None
        )


class ListedChances:
    """The same for somebody who takes just the tables of a crowd for possible, exactly."""

    def __init__(self, crowd: Crowd, rule: PosteriorChance) -> None:
        self._crowd, self._rule = crowd, rule
        self._shares = weighed(crowd.known, crowd.tables, rule.prior)

    def of(self, cell: int, truth: int | None = None) -> Chance:
        """The probability that a cell holds a small count, or with `near` one near `truth`."""
        first, last = self._rule.span(truth)
        counts, alike = self._crowd.columns(cell)
        inside = np.array([first <= count <= last for count in counts], dtype=bool)[alike]
        part = sum(itertools.compress(self._shares, inside), Fraction(0))
        return Chance(part, part, f"probability {part} (of {len(self._crowd)} tables)")


def weighed(release: Release, counts: IntArray, prior: str) -> list[Fraction]:
    """The probability of each of some tables (flat), if one of them is the true one."""
    weights, factors = belief_of(prior).weights(release.domain), factors_of(release)
    whole = []
    for table in counts:
        weight = math.prod(
            itertools.starmap(weights.exact, enumerate(table.tolist())), start=Fraction(1)
        )
        for factor in factors:
            weight *= factor.law.chance(int(table[factor.cells].sum()))
        whole.append(weight)
    total = sum(whole, Fraction(0))
    return [weight / total for weight in whole]


def projected(
    release: Release, over: tuple[str, ...], belief: Uniform | Multinomial
) -> tuple[Release, Belief] | None:
    """A release about the margin alone, and a prior, under which it has the same posterior.

    There is one if every statement speaks of the margin only. A table of the margin then stands
    for all the ways to split its cells among their parts, so that a cell of k parts has the weight
    of a sum of k cells: n + k - 1 over n under the uniform prior, k**n / n! under equal
    probabilities. The first is that of a Poisson count with a Gamma mean of shape k, up to a
    factor that is the same for all tables of N records. None if there is no such release.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("mp3"), "[gender]")
    >>> projected(release, ("gender",), Uniform())
    (Release([gender], N=50), GammaPoisson(shape=array([2, 2]), scale=1))
    """
    domain = release.domain
    if not all(map(domain.shares_out, over)):
        return None  # somebody is in no cell of the margin, or in two
    parts = _parts(domain, over)
    groupings = {
        name: grouping
        for name, grouping in domain.groupings.items()
        if name not in over and grouping.of in over
    }
    names = {*over, *groupings}
    if (parts < 1).any() or not all(
        set(statement.variables) <= names for statement in release.statements
    ):
        return None
    alone = Release(domain.project(over).with_groupings(groupings), release.statements)
    if (parts == 1).all():
        return alone, belief
    if release.total.exact is None:
        return None
    return alone, (GammaPoisson(parts, 1) if isinstance(belief, Uniform) else Multinomial(parts))


def _parts(domain: Domain, over: tuple[str, ...]) -> IntArray:
    """How many cells of the table each cell of a margin is the sum of."""
    near = domain.part(map(domain.base, over))
    each = Table(near, np.ones(near.shape, dtype=np.int64)).margin(over).counts
    return summable(each.astype(object) * (domain.size // near.size))
