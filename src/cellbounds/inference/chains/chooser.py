"""Which moves a chain uses, if nobody says."""

from __future__ import annotations

from contextlib import suppress

from cellbounds.errors import TooMuchWork, UnsupportedRelease
from cellbounds.inference.chains.basic import basic_moves, why_not_basic
from cellbounds.inference.chains.families import conditional_moves
from cellbounds.inference.chains.lattice import lattice_moves
from cellbounds.inference.chains.markov_bases import PATIENCE, binary, markov_basis
from cellbounds.inference.chains.moves import Moves
from cellbounds.statements import Release

__all__ = ["choose_moves"]

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
