"""Decomposition: a release that falls apart at exact margins is solved in parts that are glued.

The parts are the leaves of a tree of separators (model/structure). A leaf whose counts are
published needs no solver; the others are releases of their own. With every part published the
bounds are closed forms: the smallest of the margins above, and the sum of margins less the
separators below, if that is more than zero (Fréchet bounds, decomposable sets of margins).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import CellboundsError, InconsistentRelease
from cellbounds.model.constraints import violations
from cellbounds.model.rates.layout import refusal_of
from cellbounds.model.structure import Facts, Leaf, Separator, Split, Tree
from cellbounds.reductions.named_tables import (
    CellList,
    CellTarget,
    Lookup,
    NamedArray,
    glued,
    lookup_of,
)
from cellbounds.results.cell_index import CellIndex, Position
from cellbounds.results.evidence import checked
from cellbounds.results.solution import Arrays, Query, Solution
from cellbounds.results.values import Unbounded, ValueSet
from cellbounds.statements import Margin, Release, Statement, Total


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Splits a release at separators whose counts are published.

    `rates` says that releases are split too that the rows of one conditional answer as they are.
    """

    name = "parts glued at exact margins"
    rates: bool = False

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Needs a release that can be split and names every variable."""
        if query.kind != "sharp":
            return "gives sharp bounds only"
        if not self.rates and refusal_of(facts, query.over, sharp=True) is None:
            return "the rows of one conditional are answered together"
        if any(facts.release.domain.grouping(name) for name in query.over):
            return "the question merges levels"
        tree = facts.tree
        if tree.variables != set(facts.release.domain.names):
            return "no statement names some of the variables"
        if isinstance(tree, Leaf) and tree.known is None:
            return "no exact margin splits the release"
        if _hides_separator(tree, frozenset(query.over)):
            return "the question sums over variables that the parts share"
        return None

    def apply(self, facts: Facts, query: Query) -> Decomposed:
        """A release for each part that is not published."""
        return Decomposed(facts.release, facts.tree, query)


def _hides_separator(tree: Tree, asked: frozenset[str]) -> bool:
    """Whether two parts matter while a variable they share is summed over."""
    if isinstance(tree, Leaf):
        return False
    shared = tree.border.variables
    if not asked & (tree.right.variables - shared):
        return _hides_separator(tree.left, asked)
    if not asked & (tree.left.variables - shared):
        return _hides_separator(tree.right, asked)
    sides = (tree.left, tree.right)
    return not shared <= asked or any(_hides_separator(side, asked) for side in sides)


def _sides(tree: Split, asked: frozenset[str]) -> list[tuple[Tree, frozenset[str], bool]]:
    """The two parts of a split, what is asked of each, and whether it matters for the cells.

    A part that nobody asks about only completes tables.
    """
    shared = tree.border.variables
    right = bool(asked & (tree.right.variables - shared))
    left = bool(asked & (tree.left.variables - shared)) or not right
    sides = ((tree.left, left), (tree.right, right))
    return [(side, asked if matters else shared, matters) for side, matters in sides]


class Decomposed:
    """The parts of one release for one query, and how they are glued."""

    def __init__(self, release: Release, tree: Tree, query: Query) -> None:
        self.release, self.query = release, query
        self.places = query.places(release.domain)
        self.lookup = lookup_of(query.over, self.places)
        self._tree = tree
        self.parts: list[tuple[Release, Query]] = []
        self._collect(tree, frozenset(query.over), self.lookup)

    def invert(self, solutions: Sequence[Solution]) -> DecomposedSolution:
        """Glue the solutions of the parts."""
        whole = self._glued(self._tree, frozenset(self.query.over), iter(solutions))
        return DecomposedSolution(self, whole)

    def _collect(self, tree: Tree, asked: frozenset[str], lookup: Lookup | None) -> None:
        """The releases of the leaves that are not published, from left to right."""
        if isinstance(tree, Leaf):
            if tree.known is None:
                release = self._release_of(tree)
                assert release is not None
                names = self._ordered(tree.variables & asked)
                cells = None if lookup is None else lookup.cells(names)
                self.parts.append((release, self.query.about(release.domain, names, cells)))
            return
        for side, names_asked, matters in _sides(tree, asked):
            self._collect(side, names_asked, lookup if matters else None)

    def _glued(self, tree: Tree, asked: frozenset[str], solutions: Iterator[Solution]) -> _Part:
        variables = self._ordered(tree.variables)
        if isinstance(tree, Leaf):
            names = self._ordered(tree.variables & asked)
            solution = next(solutions) if tree.known is None else self._published(tree, names)
            return _Solved(solution, names, variables)
        sides = _sides(tree, asked)
        parts = [self._glued(side, names, solutions) for side, names, _ in sides]
        matter = [part for part, (_, _, matters) in zip(parts, sides, strict=True) if matters]
        if len(matter) == 1:
            (other,) = (part for part in parts if part is not matter[0])
            return _Completed(matter[0], other, variables)
        names = self._ordered(frozenset(name for part in parts for name in part.names))
        return _Glued(parts, self._counts(tree.border), names, variables)

    def _published(self, leaf: Leaf, names: tuple[str, ...]) -> _Published:
        """The counts of a leaf that are published, checked against what else is said of them."""
        assert leaf.known is not None
        counts, release = self._counts(leaf.known), self._release_of(leaf)
        if release is not None:
            broken = violations(Table(release.domain, counts.array), release)
            if broken:
                known = self.release.statements[leaf.known.place]
                raise InconsistentRelease(
                    f"{known.notation} contradicts {', '.join(dict.fromkeys(broken))}"
                )
        return _Published(counts, names)

    def _release_of(self, leaf: Leaf) -> Release | None:
        """The leaf's statements and separators as a release of their own."""
        if not leaf.variables:
            return None
        statements: list[Statement] = [self.release.statements[k] for k in leaf.statements]
        given = {
            frozenset(s.variables)
            for s in statements
            if s.variables and s.fixed_counts(self.release.domain) is not None
        }
        statements += [
            self._statement(separator)
            for separator in leaf.borders
            if separator.variables not in given or not separator.variables
        ]
        if self.release.stated_total is not None:
            statements.append(self.release.stated_total)
        totals = [s for s in statements if isinstance(s, Total)]
        if len(totals) > 1:
            statements = [s for s in statements if s.variables] + [_agreed(totals)]
        return Release(self.release.domain.part(leaf.variables), statements)

    def _statement(self, separator: Separator) -> Margin | Total:
        counts = self._counts(separator)
        return Margin(counts.names, counts.array) if counts.names else Total(int(counts.array))

    def _counts(self, separator: Separator) -> NamedArray:
        """The published counts over some variables, in the order of the domain."""
        statement = self.release.statements[separator.place]
        counts = statement.fixed_counts(self.release.domain)
        assert counts is not None  # a separator is a margin that is known
        table = NamedArray(statement.variables, counts)
        return table.summed(self._ordered(separator.variables))

    def _ordered(self, names: frozenset[str]) -> tuple[str, ...]:
        return tuple(name for name in self.release.domain.names if name in names)


def _agreed(totals: list[Total]) -> Total:
    lower = max(total.lower for total in totals)
    upper = min((total.upper for total in totals if total.upper is not None), default=None)
    if upper is not None and upper < lower:
        raise InconsistentRelease(
            f"the counts add to another total than {totals[-1].notation} says"
        )
    return Total(lower=lower, upper=upper)


class DecomposedSolution(Solution):
    """Answers from glued parts."""

    method = Decomposition.name

    def __init__(self, decomposed: Decomposed, part: _Part) -> None:
        self._release, self._over = decomposed.release, decomposed.query.over
        self.places, self._lookup = decomposed.places, decomposed.lookup
        self._part = part
        self._possible = part.possible()

    def settle(self) -> None:
        """Settle what the parts leave open."""
        self.bounds()

    def bounds(self) -> Arrays:
        """Lower and upper bounds in the shape of the cells asked for."""
        if self._bounds is None:
            self._bounds = self._shaped(self._part.bounds(self._lookup))
        return self._bounds

    def attained(self) -> Arrays | None:
        """What tables attain, if that is not all."""
        proven, attained = self.bounds(), self._shaped(self._part.bounds(self._lookup, True))
        same = all(np.array_equal(a, b) for a, b in zip(proven, attained, strict=True))
        return None if same else attained

    def _shaped(self, arrays: Arrays) -> Arrays:
        low, high = (
            np.array(np.broadcast_to(array, self.places.shape), order="C") for array in arrays
        )
        return low, high

    def _at(self, index: Position) -> dict[str, int]:
        return dict(zip(self._over, index, strict=True))

    def bound(self, index: Position, side: int) -> Any:
        """One bound if it is settled."""
        at = self._at(index)
        proven, attained = (self._part.bound(at, side, which) for which in (False, True))
        return proven if proven == attained else None

    def possible(self) -> bool | None:
        """Whether every part has a table."""
        return self._possible

    def values(self, index: Position) -> ValueSet:
        """Every attainable count of one cell."""
        return self._part.values(self._at(index))

    def witness(self, index: Position, value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        part = self._part.table(CellTarget(self._at(index), value))
        domain = self._release.domain
        cells = np.column_stack(part.positions(domain.names))
        table = Table.from_cells(domain, cells, part.counts)
        return checked(self._release, table, self._over, index, value)

    def proof(self, index: Position, side: int) -> str:
        """A closed form if every part is published, else what the parts rest on."""
        rest = sorted(set(filter(None, self._part.proofs(self._at(index), side))))
        return f"closed form over {', '.join(rest)}" if rest else "closed form"


class _Published(Solution):
    """Variables whose counts are published: nothing is left open, and nothing is to be proved."""

    _proof = ""

    def __init__(self, counts: NamedArray, names: tuple[str, ...]) -> None:
        self._counts, self._margin = counts, counts.summed(names).array
        self.places = CellIndex(self._margin.shape)

    def bounds(self) -> Arrays:
        return self._margin, self._margin

    def values(self, index: Position) -> ValueSet:
        return ValueSet.from_values([int(self._margin[index])])

    def cells(self, index: Position, value: int) -> CellList:
        """The published table; no other count can be aimed at than its own."""
        assert value == self._margin[index]
        return self._counts.cells()


# Parts, from the leaves up. `names` are the variables that values are over; tables are over
# `variables`; both in the order of the domain. Bounds come laid out for where the query looks,
# proven or attained (None: no table is known).


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """Variables that a solver answered for, all cells of their margin or some; or published."""

    solution: Solution
    names: tuple[str, ...]
    variables: tuple[str, ...]

    def _ends(self, attained: bool) -> Arrays:
        return (self.solution.attained() if attained else None) or self.solution.bounds()

    def _index(self, at: dict[str, int]) -> Position:
        return tuple(at[name] for name in self.names)

    def bounds(self, lookup: Lookup, attained: bool = False) -> Arrays:
        chosen = self.solution.places.chosen is not None
        low, high = (lookup.back(e, self.names, chosen=chosen) for e in self._ends(attained))
        return low, high

    def bound(self, at: dict[str, int], side: int, attained: bool) -> Any:
        index = self._index(at)
        settled = self.solution.bound(index, side)
        if settled is not None:
            return settled
        return self._ends(attained)[side][self.solution.places.spot(index)]

    def values(self, at: dict[str, int]) -> ValueSet:
        return self.solution.values(self._index(at))

    def table(self, target: CellTarget | None) -> CellList:
        """A witness of the solver: for the target, or any."""
        if target is None:
            at = dict.fromkeys(self.names, 0)
            value = self.bound(at, 0, True)
            if value is None:
                raise CellboundsError("a part of the release has no table yet; give more seconds")
            target = CellTarget(at, int(value))
        index = self._index(target.at)
        if isinstance(self.solution, _Published):
            return self.solution.cells(index, target.value)
        positions, counts = self.solution.witness(index, target.value).cells()
        return CellList(self.variables, tuple(positions.T), counts)

    def possible(self) -> bool | None:
        return self.solution.possible()

    def proofs(self, at: dict[str, int], side: int) -> list[str]:
        return [self.solution.proof(self._index(at), side)]


class _Completed:
    """Two parts of which only one matters for what is asked; the other only completes tables."""

    def __init__(self, asked: _Part, other: _Part, variables: tuple[str, ...]) -> None:
        self._asked, self._other = asked, other
        self.names: tuple[str, ...] = asked.names
        self.variables = variables
        # Nothing holds of a release of which one part is impossible.
        self._completes = other.possible()

    def possible(self) -> bool | None:
        return self._completes and self._asked.possible()

    def bounds(self, lookup: Lookup, attained: bool = False) -> Arrays:
        """The asked part's bounds; nothing is attained while the other part has no table."""
        if self._completes or not attained:
            return self._asked.bounds(lookup, attained)
        nothing = np.full(self._asked.bounds(lookup)[0].shape, None, dtype=object)
        return nothing, nothing.copy()

    def bound(self, at: dict[str, int], side: int, attained: bool) -> Any:
        hidden = attained and not self._completes
        return None if hidden else self._asked.bound(at, side, attained)

    def values(self, at: dict[str, int]) -> ValueSet:
        """The asked part's values; none is known while the other part has no table."""
        values = self._asked.values(at)
        if self._completes:
            return values
        return ValueSet([], unknown=[*values.progressions, *values.unknown])

    def table(self, target: CellTarget | None) -> CellList:
        return glued(self._asked.table(target), self._other.table(None), self.variables)

    def proofs(self, at: dict[str, int], side: int) -> list[str]:
        return self._asked.proofs(at, side)


@dataclass(frozen=True, slots=True, eq=False)
class _Glued:
    """Two parts that are both asked about, sharing variables whose counts are known.

    A cell of the whole lies between ``max(0, y1 + y2 - n)`` and ``min(y1, y2)`` if its sums in
    the two parts are y1 and y2 and n people share its separator; every count between is attained.
    """

    parts: Sequence[_Part]
    separator: NamedArray
    names: tuple[str, ...]
    variables: tuple[str, ...]
    _settled: dict[Position, ValueSet] = field(default_factory=dict)

    def bounds(self, lookup: Lookup, attained: bool = False) -> Arrays:
        """Both parts' bounds combined; what both attain is attained, as tables can be glued."""
        lows, highs = zip(*(part.bounds(lookup, attained) for part in self.parts), strict=True)
        count = lookup.laid_out(self.separator)
        if all(array.dtype != object for array in (*lows, *highs)):
            return np.maximum(lows[0] + lows[1] - count, 0), np.minimum(*highs)
        return (
            np.asarray(np.frompyfunc(_overlap, 3, 1)(*lows, count)),
            np.asarray(np.frompyfunc(_smaller, 2, 1)(*highs)),
        )

    def _count(self, at: dict[str, int]) -> int:
        """How many share the separator of a cell."""
        return int(self.separator.array[tuple(at[name] for name in self.separator.names)])

    def bound(self, at: dict[str, int], side: int, attained: bool) -> Any:
        left, right = (part.bound(at, side, attained) for part in self.parts)
        return _smaller(left, right) if side else _overlap(left, right, self._count(at))

    def values(self, at: dict[str, int]) -> ValueSet:
        """The union over the two parts' values; from run to run it has no gaps inside."""
        # Many cells of the whole share one of a part.
        place = tuple(at[name] for name in self.names)
        if place in self._settled:
            return self._settled[place]
        values = self._united(at)
        if values.settled:
            self._settled[place] = values
        return values

    def _united(self, at: dict[str, int]) -> ValueSet:
        ours, theirs = (part.values(at) for part in self.parts)
        count = self._count(at)

        def united(left: ValueSet, right: ValueSet) -> ValueSet:
            pairs = itertools.product(_runs(left), _runs(right))
            return ValueSet.from_intervals(
                (_overlap(a, c, count), min(b, d)) for (a, b), (c, d) in pairs
            )

        known = united(ours.known, theirs.known)
        if ours.settled and theirs.settled:
            return known
        possible = united(_hull(ours), _hull(theirs))
        return ValueSet(known.progressions, unknown=_without(possible, known))

    def table(self, target: CellTarget | None) -> CellList:
        """Tables of both parts, glued so that the target is met."""
        aims = (None, None) if target is None else self._split(target)
        left, right = (part.table(aim) for part, aim in zip(self.parts, aims, strict=True))
        return glued(left, right, self.variables, target)

    def _split(self, target: CellTarget) -> tuple[CellTarget, CellTarget]:
        """Counts of the two parts between which the target lies."""
        count, value = self._count(target.at), target.value
        ours, theirs = (part.values(target.at).known for part in self.parts)
        for (a, b), (c, d) in itertools.product(_runs(ours), _runs(theirs)):
            if _overlap(a, c, count) <= value <= min(b, d):
                left, right = max(a, value), max(c, value)
                return CellTarget(target.at, left), CellTarget(target.at, right)
        raise CellboundsError("a count that was found attainable has no parts; please report this")

    def possible(self) -> bool | None:
        ours, theirs = (part.possible() for part in self.parts)
        return ours and theirs

    def proofs(self, at: dict[str, int], side: int) -> list[str]:
        return [proof for part in self.parts for proof in part.proofs(at, side)]


_Part = _Solved | _Completed | _Glued


def _overlap(left: Any, right: Any, count: Any) -> Any:
    """How many must be in two sets of this size among so many people; None: not known."""
    return None if left is None or right is None else max(0, int(left) + int(right) - int(count))


def _smaller(left: Any, right: Any) -> Any:
    """The smaller of two counts, which may be unbounded; None: not known."""
    if left is None or right is None:
        return None
    least = min(left, right)
    return least if isinstance(least, Unbounded) else int(least)


def _runs(values: ValueSet) -> list[tuple[int, int]]:
    """Runs of a set that ends: a part's counts are at most what its separator holds."""
    return [(first, last) for first, last in values.runs if last is not None]


def _hull(values: ValueSet) -> ValueSet:
    """Everything known or unknown, as runs."""
    both = (*values.progressions, *values.unknown)
    return ValueSet.from_intervals((first, last) for first, last, _ in both)


def _without(possible: ValueSet, known: ValueSet) -> list[tuple[int, int | None, int]]:
    """Runs of the first set outside the second."""
    outside: list[tuple[int, int | None, int]] = []
    for first, last in _runs(possible):
        # From where one known run ends to where the next begins, within this run.
        inner = [(a, b) for a, b in _runs(known) if b >= first and a <= last]
        begins = [first, *(b + 1 for _, b in inner)]
        ends = [*(a - 1 for a, _ in inner), last]
        outside += [(a, b, 1) for a, b in zip(begins, ends, strict=True) if a <= b]
    return outside
