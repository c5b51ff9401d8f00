"""The hypergeometric law given exact margins that fall apart into known ones.

With weights 1 / n! in each cell, the tables over two parts that share a known margin are
independent, and given both, their records are matched at random within each cell of what they
share: a two-way hypergeometric table (Sundberg's closed form, step by step). So one cell is
hypergeometric given the two counts that it is glued from, and whole tables are drawn by matching.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.errors import CellboundsError, InconsistentRelease, TooMuchWork
from cellbounds.inference.protocol import DEFAULT_EFFORT
from cellbounds.model.priors import MOST_WEIGHTS, Weights
from cellbounds.model.structure import Facts, Leaf, Tree
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.runtime.scaled_floats import UNIT, FloatArray
from cellbounds.statements import Release

LARGEST = 10**9
"""numpy draws hypergeometric counts from fewer records than this."""


def matched_tables(
    facts: Facts, weights: Weights, effort: float = DEFAULT_EFFORT
) -> Hypergeometric | None:
    """The hypergeometric law over the tables of a release, if it has this shape.

    That is exact margins that make a decomposable model of all cells, equal and positive cell
    probabilities and no other prior; and cells that can be gone through within the effort.

    Raises
    ------
    InconsistentRelease
        If two margins disagree.
    """
    release = facts.release
    shape, factor = next(iter(weights.kinds), (None, 0))
    if shape is not None or factor == 0 or len(set(weights.kinds)) > 1:
        return None
    if any(statement.fixed_counts(release.domain) is None for statement in release.statements):
        return None
    tree = facts.tree
    leaves = _leaves(tree)
    known = all(leaf.known is not None for leaf in leaves)
    if tree.variables != frozenset(release.domain.names) or not known:
        return None
    steps = _perfect_order(release, [_clique(release, leaf) for leaf in leaves])
    work, longest = _cost(release.domain, steps)
    if longest > MOST_WEIGHTS or work > effort:
        return None
    return Hypergeometric(release.domain, steps, float(factor))


@dataclass(frozen=True, slots=True, eq=False)
class _Marginal:
    """Counts over some variables, in the order of the domain."""

    names: tuple[str, ...]
    counts: IntArray

    def over(self, names: tuple[str, ...]) -> _Marginal:
        """Summed to some of the variables."""
        gone = tuple(axis for axis, name in enumerate(self.names) if name not in names)
        left = [name for name in self.names if name in names]
        counts = np.asarray(self.counts.sum(axis=gone, dtype=self.counts.dtype))
        return _Marginal(names, counts.transpose([left.index(name) for name in names]))

    def spread(self, domain: Domain) -> FloatArray:
        """Beside all cells of a domain."""
        return self.counts.astype(np.float64).reshape(self._beside(domain))

    def whole(self, domain: Domain) -> IntArray:
        """The same in whole numbers of any size."""
        return np.asarray(self.counts.astype(object).reshape(self._beside(domain)))

    def _beside(self, domain: Domain) -> list[int]:
        levels = zip(domain.names, domain.shape, strict=True)
        return [size if name in self.names else 1 for name, size in levels]

    def at(self, levels: dict[str, int]) -> int:
        """The count at one level of each variable."""
        return int(self.counts[tuple(levels[name] for name in self.names)])

    @property
    def log_factorials(self) -> float:
        """The sum of the logarithms of the factorials of all counts."""
        return math.fsum(math.lgamma(int(count) + 1) for count in self.counts.flat)


_Step = tuple[_Marginal, _Marginal]
"""A clique, and what it shares with all cliques before it (its separator)."""


def _cost(domain: Domain, steps: list[_Step]) -> tuple[float, float]:
    """What the distribution of the widest cell takes, and how many counts it goes through."""
    low = high = steps[0][0].spread(domain)
    work, longest = np.zeros(domain.shape), 1.0
    for clique, separator in steps[1:]:
        count, records = clique.spread(domain), separator.spread(domain)
        held = high - low + 1
        low, high = np.maximum(0, low + count - records), np.minimum(high, count)
        work = work + held * (high - low + 1)
        longest = max(longest, float((high - low + 1).max(initial=0)))
    return float(work.max(initial=0)), longest


def _leaves(tree: Tree) -> list[Leaf]:
    return [tree] if isinstance(tree, Leaf) else [*_leaves(tree.left), *_leaves(tree.right)]


def _perfect_order(release: Release, left: list[_Marginal]) -> list[_Step]:
    """The cliques in an order in which what each shares with those before lies in one of them."""
    placed: list[_Marginal] = []
    steps: list[_Step] = []
    while left:
        # The clique that shares most with one that is placed: a maximal spanning tree of the
        # cliques, which is a junction tree.
        overlap = [
            max((len(set(clique.names) & set(other.names)) for other in placed), default=0)
            for clique in left
        ]
        clique = left.pop(overlap.index(max(overlap)))
        seen = {name for other in placed for name in other.names}
        names = tuple(name for name in clique.names if name in seen)
        behind = [other for other in placed if set(names) <= set(other.names)]
        if placed and not behind:
            raise CellboundsError("a decomposable model has no order; please report this")
        separator = clique.over(names)
        for other in behind:
            _check_agreement(separator, other)
        if release.total.exact is not None:
            _check_agreement(_Marginal((), whole_array([release.total.exact], ())), clique)
        steps.append((clique, separator))
        placed.append(clique)
    return steps


def _clique(release: Release, leaf: Leaf) -> _Marginal:
    """A known margin that the model is made of; every other margin must agree with it."""
    assert leaf.known is not None
    clique = _marginal(release, leaf.known.place, leaf.variables)
    for place in leaf.statements:
        statement = release.statements[place]
        _check_agreement(_marginal(release, place, frozenset(statement.variables)), clique)
    return clique


def _marginal(release: Release, place: int, variables: frozenset[str]) -> _Marginal:
    """The counts over some variables of an exact margin, or of the total."""
    statement = release.statements[place]
    names = tuple(name for name in release.domain.names if name in variables)
    counts = statement.fixed_counts(release.domain)
    assert counts is not None  # of a statement that was found to be exact
    return _Marginal(statement.variables, counts).over(names)


def _check_agreement(small: _Marginal, large: _Marginal) -> None:
    if not np.array_equal(small.counts, large.over(small.names).counts):
        about = f"[{','.join(small.names)}]" if small.names else "N"
        raise InconsistentRelease(f"two statements disagree about {about}; correct one of them")


class Hypergeometric:
    """Exact distributions and draws of the hypergeometric law."""

    name = "matching of records (hypergeometric law of a decomposable model)"

    def __init__(self, domain: Domain, steps: list[_Step], factor: float) -> None:
        self._domain, self._steps = domain, steps
        first = steps[0][0]
        self._total = int(first.counts.sum())
        self.log_mass = self._total * math.log(factor) + math.fsum(
            separator.log_factorials - clique.log_factorials for clique, separator in steps[1:]
        )
        self.log_mass -= first.log_factorials
        largest = max(int(clique.counts.max(initial=0)) for clique, _ in steps)
        # Each step sums products of two probabilities that were made by at most as many ratios of
        # four roundings as there are records.
        self.error = len(steps) * (4 * min(largest, 2**40) + 8) * UNIT

    def distribution(self, cell: int) -> Distribution:
        """A cell is matched from the counts of its projections, one after another."""
        index = np.unravel_index(cell, self._domain.shape)
        levels = {name: int(at) for name, at in zip(self._domain.names, index, strict=True)}
        low, chances = self._steps[0][0].at(levels), np.ones(1)
        for clique, separator in self._steps[1:]:
            low, chances = _matched_count(low, chances, clique.at(levels), separator.at(levels))
        return Distribution(low + np.arange(len(chances)), chances / chances.sum())

    def means(self) -> list[Fraction]:
        """The mean of each cell, which is what the model expects there: a ratio of margins."""
        means = np.full(self._domain.shape, Fraction(1), dtype=object)
        for place, (clique, separator) in enumerate(self._steps):
            means = means * clique.whole(self._domain)
            if place:
                # Where a separator holds nobody its cliques hold nobody either.
                means = means / np.maximum(separator.whole(self._domain), 1)
        return [Fraction(mean) for mean in means.flat]

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Match records at random, clique by clique."""
        if self._total >= LARGEST:
            raise TooMuchWork(f"N is {LARGEST} or more; matching draws from fewer records")
        first = self._steps[0][0]
        tables = np.broadcast_to(first.counts, (size, *first.counts.shape)).astype(np.int64)
        names = first.names
        for clique, separator in self._steps[1:]:
            tables, names = _matched_to(tables, names, clique, separator.names, rng)
        order = [0, *(1 + names.index(name) for name in self._domain.names)]
        return np.transpose(tables, order).reshape(size, self._domain.size)


def _matched_count(
    low: int, chances: FloatArray, count: int, records: int
) -> tuple[int, FloatArray]:
    """The chances after one more clique: how many of the records at hand meet one of `count`."""
    bottom = max(0, low + count - records)
    top = min(low + len(chances) - 1, count)
    matched = np.zeros(top - bottom + 1)
    for held, chance in enumerate(chances.tolist(), low):
        if chance:
            first, each = _hypergeometric(records, held, count)
            matched[first - bottom : first - bottom + len(each)] += chance * each
    return bottom, matched


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


def _matched_to(
    tables: IntArray,
    names: tuple[str, ...],
    clique: _Marginal,
    shared: tuple[str, ...],
    rng: np.random.Generator,
) -> tuple[IntArray, tuple[str, ...]]:
    """Tables with one more clique matched to them, and the order of their axes."""
    size = len(tables)
    own = tuple(name for name in names if name not in shared)
    new = tuple(name for name in clique.names if name not in shared)
    rows = _by_group(tables, names, (*shared, *own), len(shared))
    whole = np.broadcast_to(clique.counts, (size, *clique.counts.shape)).astype(np.int64)
    columns = _by_group(whole, clique.names, (*shared, *new), len(shared))
    levels = dict(zip(names, tables.shape[1:], strict=True))
    levels |= dict(zip(clique.names, clique.counts.shape, strict=True))
    order = (*shared, *own, *new)
    matched = _matched(rows, columns, rng)
    return matched.reshape(size, *(levels[name] for name in order)), order


def _by_group(
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
