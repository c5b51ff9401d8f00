"""Document 002's combination of sub-reference sets, for releases about some of the variables."""

from __future__ import annotations

import numpy as np

from cellbounds.errors import UnsupportedRelease
from cellbounds.inference.chains.combining import Combined, combine, summed_sets
from cellbounds.inference.chooser import checked_effort, checked_generator, exact_fibre, refused
from cellbounds.inference.protocol import Refusal
from cellbounds.inference.unnamed_variables import summed_over, summed_release
from cellbounds.model.priors import Belief, belief_of
from cellbounds.statements import Release

__all__ = ["combine_sets"]


def combine_sets(
    release: Release,
    size: int,
    *,
    estimator: str = "posterior",
    prior: Belief | str = "uniform",
    rng: int | np.random.Generator = 0,
    effort: float | None = None,
) -> Combined:
    """Combine draws from the sets that the consistent tables fall into, as document 002 does.

    The tables that fit statements about some of the variables fall apart into one set for each
    summed table that fits.

    Parameters
    ----------
    release
        What was said; at least one variable of its domain must be summed over by every statement.
    size
        How many values.
    estimator
        ``"posterior"``: a set by its posterior mass, then a table of it, which is what
        :func:`sample` gives too. ``"equal"`` and ``"moves"`` are the document's averages over all
        sets, which do not follow the posterior.
    prior, rng, effort
        As for :func:`sample`.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.example_table("analgesic"), "[response|treatment]@1")
    >>> found = cb.combine_sets(release, 3, estimator="equal")
    >>> found.meaning
    "document 002's equal average of the sets; does not target the posterior"
    """
    names = summed_over(release)
    if not names:
        raise UnsupportedRelease(
            "no variable is summed over, or all are; there is one set of all tables"
        )
    summed = summed_release(release, names)
    fibre = exact_fibre(summed, checked_effort(effort))
    if isinstance(fibre, Refusal):
        raise refused(fibre)
    weights = belief_of(prior).weights(release.domain)
    sets = summed_sets(release, names, fibre, weights)
    return combine(sets, estimator, size, checked_generator(rng))
