"""The hypergeometric law given exact margins that fall apart into known ones.

With weights 1 / n! in each cell, the tables over two parts that share a known margin are
independent, and given both, their records are matched at random within each cell of what they
share: a two-way hypergeometric table (Sundberg's closed form, step by step). So one cell is
hypergeometric given the two counts that it is glued from, and whole tables are drawn by matching.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.errors import CellboundsError, InconsistentRelease, TooMuchWork
from cellbounds.inference.protocol import DEFAULT_EFFORT, Refusal
from cellbounds.model.priors import MOST_WEIGHTS, Weights
from cellbounds.model.structure import Facts, Leaf, Tree
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.runtime.scaled_floats import UNIT, FloatArray
from cellbounds.statements import Margin, Release, Total

__all__ = ["Hypergeometric", "matched_tables"]

LARGEST = 10**9
"""numpy draws hypergeometric counts from fewer records than this."""


def matched_tables(
    facts: Facts, weights: Weights, effort: float = DEFAULT_EFFORT
) -> Hypergeometric | Refusal:
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
    steps = _laid_out(release, tree)
    work, longest = _cost(release.domain, steps)
    if longest > MOST_WEIGHTS or work > effort:
        return Refusal(
            f"matching gives some cell about {longest:.1e} counts in {work:.1e} steps; the limits "
            f"are {MOST_WEIGHTS:.0e} counts and {effort:.1e} steps",
            work,
        )
    return Hypergeometric(release.domain, steps, float(factor))


def _cost(domain: Domain, steps: list[_Step]) -> tuple[float, float]:
    """What the distribution of the widest cell takes, and how many counts it goes through."""
    first = _spread(domain, steps[0].clique)
    low, high = first, first
    work, longest = np.zeros(domain.shape), 1.0
    for step in steps[1:]:
        count, records = _spread(domain, step.clique), _spread(domain, step.shared)
        held = high - low + 1
        low, high = np.maximum(0, low + count - records), np.minimum(high, count)
        made = high - low + 1
        work = work + held * made
        longest = max(longest, float(made.max(initial=0)))
    return float(work.max(initial=0)), longest


def _spread(domain: Domain, clique: _Clique) -> FloatArray:
    """Counts over some variables beside all cells of a domain."""
    shape = [
        size if name in clique.names else 1
        for name, size in zip(domain.names, domain.shape, strict=True)
    ]
    return clique.counts.astype(np.float64).reshape(shape)


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
class _Step:
    """A clique, and the counts of what it shares with all cliques before it."""

    clique: _Clique
    shared: _Clique


def _laid_out(release: Release, tree: Tree) -> list[_Step]:
    """The cliques in an order in which what each shares with those before lies in one of them."""
    left = _cliques(release, tree)
    placed: list[_Clique] = []
    steps: list[_Step] = []
    total = release.total.exact
    while left:
        # The clique that shares most with one that is placed: a maximal spanning tree of the
        # cliques, which is a junction tree.
        clique = max(left, key=lambda one: _overlap(one, placed))
        seen = {name for one in placed for name in one.names}
        names = tuple(name for name in clique.names if name in seen)
        behind = [one for one in placed if set(names) <= set(one.names)]
        if placed and not behind:
            raise CellboundsError("a decomposable model has no order; please report this")
        shared = _summed(clique, names)
        for one in behind:
            _agree(shared, one)
        if total is not None:
            _agree(_Clique((), whole_array([total], ())), clique)
        steps.append(_Step(clique, shared))
        placed.append(clique)
        left = [one for one in left if one is not clique]
    return steps


def _overlap(clique: _Clique, placed: list[_Clique]) -> int:
    return max((len(set(clique.names) & set(one.names)) for one in placed), default=0)


def _cliques(release: Release, tree: Tree) -> list[_Clique]:
    """The known margins that the model is made of; every other margin must agree with them."""
    if not isinstance(tree, Leaf):
        return [*_cliques(release, tree.left), *_cliques(release, tree.right)]
    assert tree.known is not None
    clique = _clique(release, tree.known.place, tree.variables)
    for place in tree.statements:
        said = release.statements[place]
        assert isinstance(said, Margin)
        _agree(_clique(release, place, frozenset(said.variables)), clique)
    return [clique]


def _clique(release: Release, place: int, variables: frozenset[str]) -> _Clique:
    """The counts over some variables of an exact margin, or of the total."""
    said = release.statements[place]
    names = tuple(name for name in release.domain.names if name in variables)
    if isinstance(said, Total):
        assert said.exact is not None
        return _Clique((), whole_array([said.exact], ()))
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


class Hypergeometric:
    """Exact distributions and draws of the hypergeometric law."""

    name = "matching of records (hypergeometric law of a decomposable model)"

    def __init__(self, domain: Domain, steps: list[_Step], factor: float) -> None:
        self._domain = domain
        self._steps = steps
        self._total = int(steps[0].clique.counts.sum())
        self.log_mass = self._total * math.log(factor) + math.fsum(
            _log_factorials(step.shared) - _log_factorials(step.clique) for step in steps[1:]
        )
        self.log_mass -= _log_factorials(steps[0].clique)
        largest = max(int(step.clique.counts.max(initial=0)) for step in steps)
        # Each step sums products of two probabilities that were made by at most as many ratios of
        # four roundings as there are records.
        self.error = len(steps) * (4 * min(largest, 2**40) + 8) * UNIT

    def distribution(self, cell: int) -> Distribution:
        """A cell is glued from the counts of its projections, one after another."""
        index = np.unravel_index(cell, self._domain.shape)
        at = {name: int(place) for name, place in zip(self._domain.names, index, strict=True)}
        low, chances = _at(self._steps[0].clique, at), np.ones(1)
        for step in self._steps[1:]:
            low, chances = _glued(low, chances, _at(step.clique, at), _at(step.shared, at))
        return Distribution(low + np.arange(len(chances)), chances / chances.sum())

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Match records at random, clique by clique."""
        if self._total >= LARGEST:
            raise TooMuchWork(f"N is {LARGEST} or more; matching draws from fewer records")
        first = self._steps[0].clique
        tables = np.broadcast_to(first.counts, (size, *first.counts.shape)).astype(np.int64)
        names = first.names
        for step in self._steps[1:]:
            tables, names = _matched_to(tables, names, step, rng)
        order = [0, *(1 + names.index(name) for name in self._domain.names)]
        return np.transpose(tables, order).reshape(size, self._domain.size)


def _at(clique: _Clique, at: dict[str, int]) -> int:
    return int(clique.counts[tuple(at[name] for name in clique.names)])


def _glued(low: int, chances: FloatArray, count: int, records: int) -> tuple[int, FloatArray]:
    """The chances after one more clique: how many of the records at hand meet one of `count`."""
    bottom = max(0, low + count - records)
    top = min(low + len(chances) - 1, count)
    glued = np.zeros(top - bottom + 1)
    for held, chance in enumerate(chances.tolist(), low):
        if chance:
            first, each = _hypergeometric(records, held, count)
            glued[first - bottom : first - bottom + len(each)] += chance * each
    return bottom, glued


@lru_cache(maxsize=50_000)
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
    chances /= chances.sum()
    chances.flags.writeable = False
    return low, chances


def _log_factorials(clique: _Clique) -> float:
    return math.fsum(math.lgamma(int(count) + 1) for count in clique.counts.flat)


def _matched_to(
    tables: IntArray, names: tuple[str, ...], step: _Step, rng: np.random.Generator
) -> tuple[IntArray, tuple[str, ...]]:
    """Tables with one more clique matched to them, and the order of their axes."""
    size, shared = len(tables), step.shared.names
    own = tuple(name for name in names if name not in shared)
    new = tuple(name for name in step.clique.names if name not in shared)
    rows = _turned(tables, names, (*shared, *own), len(shared))
    whole = np.broadcast_to(step.clique.counts, (size, *step.clique.counts.shape))
    columns = _turned(whole.astype(np.int64), step.clique.names, (*shared, *new), len(shared))
    levels = dict(zip(names, tables.shape[1:], strict=True))
    levels |= dict(zip(step.clique.names, step.clique.counts.shape, strict=True))
    order = (*shared, *own, *new)
    glued = _matched(rows, columns, rng)
    return glued.reshape(size, *(levels[name] for name in order)), order


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
