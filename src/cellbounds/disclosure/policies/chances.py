"""Posterior probabilities of small counts, as certain as they can be had."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from cellbounds.data.table import DENSE_LIMIT
from cellbounds.disclosure.policies.projecting import projected
from cellbounds.disclosure.policies.rules import PosteriorChance
from cellbounds.errors import TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.inference.counting import tables
from cellbounds.inference.posterior import posterior
from cellbounds.inference.protocol import DEFAULT_EFFORT
from cellbounds.model.effort import Effort
from cellbounds.model.priors import Belief, Multinomial, Uniform, belief_of
from cellbounds.results import Distribution, Posterior
from cellbounds.statements import Release

__all__ = ["Chance", "Chances"]

MOST_LISTED = 20_000
"""Tables that are listed to get a probability in fractions, where doubles do not decide."""

STEPS = 10_000_000
"""Steps of exact sums that a second of budget allows."""

ROUNDING = Fraction(1, 2**50)
"""Relative error of adding up doubles by `math.fsum`, with room to spare."""

UNDERFLOW = Fraction(1, 2**900)
"""More than what may have been lost of numbers too small for a double."""


@dataclass(frozen=True, slots=True)
class Chance:
    """A probability between two ends; `words` say how it is known.

    `certain` is False for an estimate that holds at the policy's confidence only.
    """

    low: Fraction
    high: Fraction
    words: str
    certain: bool = True

    def exceeds(self, limit: Fraction) -> bool | None:
        """Whether the probability is above a limit; None if that is open."""
        if self.low > limit:
            return True
        return False if self.high <= limit else None


class Chances:
    """The posterior that one rule asks about, made when the first cell needs it.

    `over` are the variables of the margin whose cells are asked about. A margin that is no table
    of its own is worked out from every table that fits, if they can be listed.
    """

    def __init__(
        self, release: Release, over: tuple[str, ...], rule: PosteriorChance, effort: Effort
    ) -> None:
        self.release, self.over = release, over
        self.belief: Belief = belief_of(rule.prior)
        self.listed_only = False
        if over != release.domain.names:
            assert isinstance(self.belief, Uniform | Multinomial)  # the priors that have a name
            found = projected(release, over, self.belief)
            self.listed_only = found is None
            if found is not None:
                self.release, self.belief = found
        self.rule = rule
        self.effort = effort
        self._made: Posterior | None = None
        self._refusal: str | None = None
        self._listed: list[Fraction] | None = None
        self._asked_list = False

    def of(self, cell: int) -> Chance:
        """The probability that the cell (numbered flat) holds a small count."""
        if self.listed_only:
            return self._counted(cell) or Chance(
                Fraction(0),
                Fraction(1),
                f"no posterior of this margin: more than {MOST_LISTED} tables fit, or listing them "
                "takes too long",
            )
        found = self._posterior()
        if found is None:
            return Chance(Fraction(0), Fraction(1), self._refusal or "")
        try:
            one = found.at(cell)
        except TooMuchWork as problem:  # sums that are made cell by cell
            return Chance(Fraction(0), Fraction(1), f"no posterior: {problem}")
        part = _small_part(one, self.rule)
        if found.error is None:
            return self._estimated(found, cell, part)
        spread = 2 * Fraction(found.error) + ROUNDING
        near = Chance(
            part * (1 - spread) - UNDERFLOW,
            min(Fraction(1), part * (1 + spread) + UNDERFLOW),
            f"probability {float(part):.6g} (exact, {found.method})",
        )
        assert self.rule.probability is not None  # checked when the rule was made
        if near.exceeds(self.rule.probability) is not None:
            return near
        return self._counted(cell) or near

    def _counted(self, cell: int) -> Chance | None:
        """The probability in fractions, from every table, if they are few enough to list."""
        if not self._asked_list:
            self._asked_list = True
            try:
                self._listed = self._summed()
            except (TooMuchWork, Unsettled, UnsupportedRelease):
                self._listed = None
        if self._listed is None:
            return None
        part = self._listed[cell]
        return Chance(part, part, f"probability {part} (every table listed)")

    def _posterior(self) -> Posterior | None:
        if self._made is None and self._refusal is None:
            left = self.effort.left
            if left == 0:
                self._refusal = "the budget was spent before the posterior could be found"
                return None
            weights = self.belief.weights(self.release.domain)
            if weights.needs_total and self.release.total.exact is None:
                self._refusal = f"no posterior: the prior {self.rule.prior} needs N"
                return None
            steps = DEFAULT_EFFORT if left is None else max(1, min(DEFAULT_EFFORT, STEPS * left))
            try:
                self._made = posterior(
                    self.release,
                    self.belief,
                    effort=steps,
                    seconds=left,
                    progress=self.effort.progress,
                )
            except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
                self._refusal = f"no posterior: {problem}"
        return self._made

    def _estimated(self, found: Posterior, cell: int, part: Fraction) -> Chance:
        """Wilson's interval at the policy's confidence, if the draws can be trusted at all."""
        open_ends = (Fraction(0), Fraction(1))
        said = f"probability about {float(part):.4g} ({found.method})"
        if self.rule.confidence is None:
            return Chance(*open_ends, f"{said}; the policy states no confidence for estimates")
        checks = found.monte_carlo
        size = math.nan if checks is None else float(checks.effective_size.flat[cell])
        proven = any(note.startswith("connected: proven") for note in found.notes)
        if checks is None or not proven or not size >= 2 or not checks.agreed:
            return Chance(*open_ends, f"{said}; the chains are not known to reach every table")
        z = NormalDist().inv_cdf(float(self.rule.confidence))
        share = float(part)
        centre = (share + z * z / (2 * size)) / (1 + z * z / size)
        reach = z * math.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
        reach /= 1 + z * z / size
        return Chance(
            Fraction(centre - reach),
            Fraction(centre + reach),
            f"{said}, from {centre - reach:.4g} to {centre + reach:.4g} at confidence "
            f"{self.rule.confidence}",
            certain=False,
        )

    def _summed(self) -> list[Fraction] | None:
        """The probability of every cell in fractions; None if there are too many tables."""
        rule, domain = self.rule, self.release.domain
        if domain.size > DENSE_LIMIT:
            return None
        weights = self.belief.weights(domain)
        if weights.needs_total and self.release.total.exact is None:
            return None
        whole = Fraction(0)
        small = [Fraction(0)] * domain.project(self.over).size
        for seen, table in enumerate(tables(self.release, limit=MOST_LISTED + 1)):
            if seen == MOST_LISTED or self.effort.spent:
                return None
            exact = itertools.starmap(weights.exact, enumerate(np.ravel(table.counts).tolist()))
            weight = math.prod(exact, start=Fraction(1))
            whole += weight
            asked = table if self.over == domain.names else table.margin(*self.over)
            for cell, count in enumerate(np.ravel(asked.counts).tolist()):
                if rule.smallest <= count <= rule.small:
                    small[cell] += weight
        return [part / whole for part in small] if whole else None


def _small_part(one: Distribution, rule: PosteriorChance) -> Fraction:
    small = (one.values >= rule.smallest) & (one.values <= rule.small)
    return Fraction(math.fsum(one.probabilities[small]))
