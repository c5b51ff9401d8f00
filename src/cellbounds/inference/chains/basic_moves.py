"""Basic moves for two-way and decomposable margins, with the theorems that they connect.

Take a junction tree of the margins and one of its edges. It splits the variables into two sides
that share the separator. A basic move fixes the separator, and swaps one count between two
settings of one side and two of the other: +1 -1 / -1 +1. For two one-way margins these moves
connect all tables with the same margins (Diaconis & Sturmfels 1998); for decomposable margins the
moves of all edges together do (Dobra 2003).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.errors import UnsupportedRelease
from cellbounds.inference.chains.moves import KEEPS, Connection, Connectivity, Moves, Sampler
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements import Margin, Release, Total

MOST_LISTED = 500_000
"""More moves are not listed but drawn."""

NUMBERS = 6
"""Random numbers that a drawn move takes: an edge, a separator, two settings of either side."""

SIGNS = np.array([1, -1, -1, 1])


@dataclass(frozen=True, slots=True, eq=False)
class _Edge:
    """Settings of both sides and of the separator, as offsets into the flat table."""

    left: IntArray
    separator: IntArray
    right: IntArray

    @property
    def count(self) -> int:
        """How many moves there are."""
        return math.comb(len(self.left), 2) * math.comb(len(self.right), 2) * len(self.separator)


def basic_moves(release: Release, *, most: int = MOST_LISTED) -> Moves:
    """The basic moves of exact margins that are decomposable; proven to connect.

    Parameters
    ----------
    release
        Exact margins, with or without N, and nothing else.
    most
        More moves than this are drawn when needed instead of listed.

    Raises
    ------
    UnsupportedRelease
        If the theorem does not apply; the message says why.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("mp3"), "[gender]", "[mp3]")
    >>> basic_moves(release).array
    array([[ 1, -1, -1,  1]])
    """
    tree = _junction_tree(release)
    if isinstance(tree, str):
        raise UnsupportedRelease(f"basic moves are not proven to connect here: {tree}")
    domain = release.domain
    parts = ((left - right, left & right, right - left) for left, right in tree)
    edges = [_Edge(*(_offsets(domain, part) for part in sides)) for sides in parts]
    edges = [edge for edge in edges if edge.count]
    theorem = (
        "two-way table with fixed margins (Diaconis & Sturmfels 1998)"
        if len(domain.names) == 2
        else "decomposable margins (Dobra 2003)"
    )
    connected = Connectivity(Connection.PROVEN, theorem)
    if sum(edge.count for edge in edges) <= most:
        blocks = [(_listed(edge), SIGNS, KEEPS) for edge in edges]
        return Moves.of_lines("basic moves", domain.size, blocks, connected)
    share = np.cumsum([float(edge.count) for edge in edges])
    # Each move is as likely as every other. A function of a module, so that chains may run in
    # other processes.
    sampler = Sampler(NUMBERS, partial(_drawn, edges, share / share[-1]))
    return replace(Moves.of_lines("basic moves", domain.size, [], connected), sampler=sampler)


def _junction_tree(release: Release) -> list[tuple[frozenset[str], frozenset[str]]] | str:
    """For each edge of a junction tree, the variables on either side (the separator in both).

    A text if there is none: why.
    """
    faces = []
    for statement in release.statements:
        if isinstance(statement, Total):
            continue
        if not isinstance(statement, Margin) or not statement.exact:
            return f"{statement.notation} is not an exact margin"
        derived = [name for name in statement.variables if release.domain.grouping(name)]
        if derived:
            return f"{statement.notation} merges levels ({', '.join(derived)})"
        faces.append(frozenset(statement.variables))
    cliques = [face for face in dict.fromkeys(faces) if not any(face < other for other in faces)]
    missing = [n for n in release.domain.names if not any(n in clique for clique in cliques)]
    if missing:
        return f"no margin covers {', '.join(missing)}"
    # The clique that shares most with one that is placed is next: a spanning tree with the largest
    # separators, which is a junction tree if there is one at all.
    placed, left = cliques[:1], cliques[1:]
    links: list[tuple[frozenset[str], frozenset[str]]] = []
    while left:
        pairs = itertools.product(placed, left)
        near, clique = max(pairs, key=lambda pair: len(pair[0] & pair[1]))
        if clique & frozenset().union(*placed) != clique & near:
            return "the margins are not decomposable"
        links.append((near, clique))
        placed.append(clique)
        left.remove(clique)
    return [_sides(placed, links, cut) for _, cut in links]


def _sides(
    cliques: list[frozenset[str]],
    links: list[tuple[frozenset[str], frozenset[str]]],
    cut: frozenset[str],
) -> tuple[frozenset[str], frozenset[str]]:
    """The variables of all cliques but those that hang on one, and of these."""
    below = [cut]
    for near, clique in links:
        if near in below:
            below.append(clique)
    above = (clique for clique in cliques if clique not in below)
    return frozenset().union(*above), frozenset().union(*below)


def _offsets(domain: Domain, names: frozenset[str]) -> IntArray:
    """Where each setting of some variables lies in the flat table, the others at their first."""
    numbered = np.arange(domain.size).reshape(domain.shape)
    inside = tuple(slice(None) if name in names else 0 for name in domain.names)
    return np.asarray(numbered[inside]).ravel()


def _listed(edge: _Edge) -> IntArray:
    """The four corners of every move of an edge."""
    first, second = np.triu_indices(len(edge.left), 1)
    third, fourth = np.triu_indices(len(edge.right), 1)
    left = edge.left[np.stack([first, first, second, second], axis=1)]
    right = edge.right[np.stack([third, fourth, third, fourth], axis=1)]
    corners = edge.separator[:, None, None, None] + left[:, None, :] + right[None, :, :]
    return corners.reshape(-1, 4)


def _drawn(edges: list[_Edge], share: FloatArray, numbers: FloatArray) -> tuple[IntArray, IntArray]:
    # Rounding could leave the last share below a number next to one.
    chosen = np.minimum(np.searchsorted(share, numbers[:, 0], side="right"), len(edges) - 1)
    corners = np.empty((len(numbers), 4), dtype=np.int64)
    for place, edge in enumerate(edges):
        lines = np.flatnonzero(chosen == place)
        at = numbers[lines]
        base = edge.separator[_pick(at[:, 1], len(edge.separator))]
        lefts = _pair(at[:, 2], at[:, 3], len(edge.left))
        rights = _pair(at[:, 4], at[:, 5], len(edge.right))
        for corner, (a, b) in enumerate(itertools.product(lefts, rights)):
            corners[lines, corner] = base + edge.left[a] + edge.right[b]
    return corners, np.broadcast_to(SIGNS, corners.shape)


def _pick(number: FloatArray, count: int) -> IntArray:
    return np.minimum((number * count).astype(np.int64), count - 1)


def _pair(first: FloatArray, second: FloatArray, count: int) -> tuple[IntArray, IntArray]:
    """Two different settings."""
    own, other = _pick(first, count), _pick(second, count - 1)
    return own, other + (other >= own)
