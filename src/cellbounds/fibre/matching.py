"""The hypergeometric law given exact margins that fall apart into known ones.

With weights 1 / n! in each cell, the tables over two parts that share a known margin are
independent, and given both, their records are matched at random within each cell of what they
share: a two-way hypergeometric table (Sundberg's closed form, step by step). So one cell is
hypergeometric given the two counts that it is glued from, and whole tables are drawn by matching.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellbounds.arrays import IntArray
from cellbounds.beliefs import Weights
from cellbounds.domain import Domain
from cellbounds.errors import InconsistentRelease, TooMuchWork
from cellbounds.fibre.protocol import Refusal
from cellbounds.releases import Margin, Release, Total
from cellbounds.results.distribution import Distribution
from cellbounds.structure import Facts
from cellbounds.structure.splitting import Leaf, Tree
from cellbounds.wide import UNIT, FloatArray

__all__ = ["Matching", "matched_tables"]

LARGEST = 10**9
"""numpy draws hypergeometric counts from fewer records than this."""


def matched_tables(facts: Facts, weights: Weights) -> Matching | Refusal:
    """The hypergeometric law over the tables of a release, if it has this shape.

    Raises
    ------
    InconsistentRelease
        If two margins disagree.
    """
    release = facts.release
    if any(shape is not None for shape, _ in weights.kinds) or len(set(weights.kinds)) > 1:
        return Refusal("matching needs equal cell probabilities and no other prior")
    if not weights.kinds or weights.kinds[0][1] == 0:
        return Refusal("matching needs cells with a positive probability")
    exact = all(
        statement.exact is not None
        if isinstance(statement, Total)
        else isinstance(statement, Margin)
        and statement.exact
        and not any(release.domain.grouping(name) for name in statement.variables)
        for statement in release.statements
    )
    tree = facts.tree
    if not exact or tree.variables != frozenset(release.domain.names) or not _known(tree):
        return Refusal("matching needs exact margins that make a decomposable model of all cells")
    factor = weights.kinds[0][1]
    part = _laid_out(release, tree)
    total = release.total.exact
    if total is not None:
        for clique in _cliques(part):
            _agree(_Clique((), np.array(total)), clique)
    return Matching(release.domain, part, float(factor))


def _known(tree: Tree) -> bool:
    if isinstance(tree, Leaf):
        return tree.known is not None
    return _known(tree.left) and _known(tree.right)


@dataclass(frozen=True, slots=True, eq=False)
class _Clique:
    """Counts over some variables, in the order of the domain."""

    names: tuple[str, ...]
    counts: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Glued:
    """Two parts and the counts of what they share."""

    left: _Part
    right: _Part
    shared: _Clique
    names: tuple[str, ...]


_Part = _Clique | _Glued


def _laid_out(release: Release, tree: Tree) -> _Part:
    if isinstance(tree, Leaf):
        assert tree.known is not None
        clique = _clique(release, tree.known.place, tree.variables)
        for place in tree.statements:
            said = release.statements[place]
            assert isinstance(said, Margin)
            _agree(_clique(release, place, frozenset(said.variables)), clique)
        return clique
    left, right = _laid_out(release, tree.left), _laid_out(release, tree.right)
    shared = _clique(release, tree.border.place, tree.border.variables)
    for part in (left, right):
        for clique in _cliques(part):
            if tree.border.variables <= set(clique.names):
                _agree(shared, clique)
    names = tuple(name for name in release.domain.names if name in tree.variables)
    return _Glued(left, right, shared, names)


def _cliques(part: _Part) -> list[_Clique]:
    return [part] if isinstance(part, _Clique) else [*_cliques(part.left), *_cliques(part.right)]


def _clique(release: Release, place: int, variables: frozenset[str]) -> _Clique:
    """The counts over some variables of an exact margin, or of the total."""
    said = release.statements[place]
    names = tuple(name for name in release.domain.names if name in variables)
    if isinstance(said, Total):
        assert said.exact is not None
        return _Clique((), np.array(said.exact))
    assert isinstance(said, Margin)
    return _summed(_Clique(said.variables, np.asarray(said.lower)), names)


def _summed(clique: _Clique, names: tuple[str, ...]) -> _Clique:
    gone = tuple(axis for axis, name in enumerate(clique.names) if name not in names)
    left = [name for name in clique.names if name in names]
    counts = np.asarray(clique.counts.sum(axis=gone, dtype=clique.counts.dtype))
    return _Clique(names, counts.transpose([left.index(name) for name in names]))


def _agree(small: _Clique, large: _Clique) -> None:
    if not np.array_equal(small.counts, _summed(large, small.names).counts):
        about = f"[{','.join(small.names)}]" if small.names else "N"
        raise InconsistentRelease(f"two statements disagree about {about}; correct one of them")


class Matching:
    """Exact distributions and draws of the hypergeometric law."""

    name = "matching of records (hypergeometric law of a decomposable model)"

    def __init__(self, domain: Domain, part: _Part, factor: float) -> None:
        self._domain = domain
        self._part = part
        self._total = int(_cliques(part)[0].counts.sum())
        self.log_mass = self._total * math.log(factor) + _log_mass(part)
        steps = len(_cliques(part))
        # Each glued step sums products of two probabilities that were made by at most as many
        # ratios of three roundings as there are records.
        self.error = steps * (4 * min(self._largest(), 2**40) + 8) * UNIT

    def _largest(self) -> int:
        return max(int(clique.counts.max(initial=0)) for clique in _cliques(self._part))

    def distribution(self, cell: int) -> Distribution:
        """A cell is glued from the counts of its projections, one after another."""
        index = np.unravel_index(cell, self._domain.shape)
        at = {name: int(place) for name, place in zip(self._domain.names, index, strict=True)}
        low, chances = _distribution(self._part, at)
        return Distribution(low + np.arange(len(chances)), chances / math.fsum(chances))

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Match records at random, part by part."""
        if self._total >= LARGEST:
            raise TooMuchWork(f"N is {LARGEST} or more; matching draws from fewer records")
        drawn = _drawn(self._part, size, rng)
        return drawn.reshape(size, self._domain.size)


def _distribution(part: _Part, at: dict[str, int]) -> tuple[int, FloatArray]:
    """The smallest count of a projection of a cell, and the chances from there on."""
    if isinstance(part, _Clique):
        return _at(part, at), np.ones(1)
    first, left = _distribution(part.left, at)
    second, right = _distribution(part.right, at)
    records = _at(part.shared, at)
    top = min(first + len(left), second + len(right)) - 1
    bottom = max(0, first + second - records)
    chances = np.zeros(top - bottom + 1)
    for one, chance in enumerate(left):
        for other, also in enumerate(right):
            low, each = _hypergeometric(records, first + one, second + other)
            chances[low - bottom : low - bottom + len(each)] += chance * also * each
    return bottom, chances


def _at(clique: _Clique, at: dict[str, int]) -> int:
    return int(clique.counts[tuple(at[name] for name in clique.names)])


def _hypergeometric(records: int, left: int, right: int) -> tuple[int, FloatArray]:
    """The chances of how many of `left` records meet one of `right`, from the smallest count on.

    By ratios from the most probable count outwards, so that nothing overflows or cancels.
    """
    low, high = max(0, left + right - records), min(left, right)
    centre = min(max((left + 1) * (right + 1) // (records + 2), low), high)
    up = np.arange(centre, high, dtype=np.float64)
    down = np.arange(centre, low, -1, dtype=np.float64)
    spare = records - left - right
    grown = np.cumprod((left - up) * (right - up) / ((up + 1) * (spare + up + 1)))
    shrunk = np.cumprod(down * (spare + down) / ((left - down + 1) * (right - down + 1)))
    chances = np.concatenate([shrunk[::-1], [1.0], grown])
    return low, chances / math.fsum(chances)


def _log_mass(part: _Part) -> float:
    """The logarithm of the sum of 1 / n! over all tables: what is shared over the parts."""
    if isinstance(part, _Clique):
        return -_log_factorials(part)
    return _log_mass(part.left) + _log_mass(part.right) + _log_factorials(part.shared)


def _log_factorials(clique: _Clique) -> float:
    return math.fsum(math.lgamma(int(count) + 1) for count in clique.counts.flat)


def _drawn(part: _Part, size: int, rng: np.random.Generator) -> IntArray:
    """Tables over the variables of a part: shape (size, levels of its names in order)."""
    if isinstance(part, _Clique):
        return np.broadcast_to(part.counts, (size, *part.counts.shape)).astype(np.int64)
    left, right = _drawn(part.left, size, rng), _drawn(part.right, size, rng)
    shared = part.shared.names
    own = tuple(name for name in part.left.names if name not in shared)
    other = tuple(name for name in part.right.names if name not in shared)
    rows = _turned(left, part.left.names, (*shared, *own), len(shared))
    columns = _turned(right, part.right.names, (*shared, *other), len(shared))
    glued = _matched(rows, columns, rng)
    levels = dict(zip(part.left.names, left.shape[1:], strict=True))
    levels |= dict(zip(part.right.names, right.shape[1:], strict=True))
    order = (*shared, *own, *other)
    spread = glued.reshape(size, *(levels[name] for name in order))
    return np.transpose(spread, [0, *(1 + order.index(name) for name in part.names)])


def _turned(
    tables: IntArray, names: tuple[str, ...], order: tuple[str, ...], shared: int
) -> IntArray:
    """Tables as (draw and cell of what is shared, own cells)."""
    turned = np.transpose(tables, [0, *(1 + names.index(name) for name in order)])
    groups = math.prod(turned.shape[: 1 + shared])
    return np.ascontiguousarray(turned).reshape(groups, -1)


def _matched(rows: IntArray, columns: IntArray, rng: np.random.Generator) -> IntArray:
    """Two-way hypergeometric tables with these row and column sums, for every group at once."""
    groups, height = rows.shape
    width = columns.shape[1]
    tables = np.zeros((groups, height, width), dtype=np.int64)
    left = columns.copy()
    for row in range(height):
        wanted = rows[:, row].copy()
        rest = left.sum(axis=1)
        for column in range(width):
            rest -= left[:, column]
            taken = rng.hypergeometric(left[:, column], rest, wanted)
            tables[:, row, column] = taken
            wanted -= taken
        left -= tables[:, row]
    return tables
