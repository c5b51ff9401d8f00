"""Decomposition: a release that falls apart at exact margins is solved in parts that are glued.

The parts are the leaves of a tree of separators (model/structure). A leaf whose counts are
published needs no solver; the others are releases of their own. With every part published the
bounds are closed forms: the smallest of the margins above, and the sum of margins less the
separators below, if that is more than zero (Fréchet bounds, decomposable sets of margins).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
from cellbounds.runtime.arrays import IntArray
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


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A leaf: variables that a solver answers for, or whose counts are published.

    `place` is that of its solution. Values are over `names`, tables over `variables`, both in the
    order of the domain.
    """

    place: int
    names: tuple[str, ...]
    variables: tuple[str, ...]

    def index(self, at: dict[str, int]) -> Position:
        """The cell of this part that a cell of the whole lies in."""
        return tuple(at[name] for name in self.names)


@dataclass(frozen=True, slots=True, eq=False)
class _Glued:
    """Two parts that share variables whose counts are known.

    A cell of the whole lies between ``max(0, y1 + y2 - n)`` and ``min(y1, y2)`` if its sums in
    the two parts are y1 and y2 and n people share its separator; every count between is attained.
    Only one of the parts may matter for what is asked: the other completes tables.
    """

    parts: Sequence[_Node]
    matters: Sequence[bool]
    separator: NamedArray
    names: tuple[str, ...]
    variables: tuple[str, ...]
    settled: dict[Position, ValueSet] = field(default_factory=dict)

    @property
    def asked(self) -> list[_Node]:
        """The parts that matter."""
        return [part for part, matters in zip(self.parts, self.matters, strict=True) if matters]

    def count(self, at: dict[str, int]) -> int:
        """How many share the separator of a cell."""
        return int(self.separator.array[tuple(at[name] for name in self.separator.names)])


_Node = _Part | _Glued


class Decomposed:
    """The parts of one release for one query, and how they are glued."""

    def __init__(self, release: Release, tree: Tree, query: Query) -> None:
        self.release, self.query = release, query
        self.places = query.places(release.domain)
        self.lookup = lookup_of(query.over, self.places)
        self.parts: list[tuple[Release, Query]] = []
        # The solutions of all leaves, from left to right; None: to be found.
        self._solutions: list[Solution | None] = []
        self.whole = self._node(tree, frozenset(query.over), self.lookup)

    def invert(self, solutions: Sequence[Solution]) -> DecomposedSolution:
        """Glue the solutions of the parts."""
        missing = iter(solutions)
        return DecomposedSolution(self, [solution or next(missing) for solution in self._solutions])

    def _node(self, tree: Tree, asked: frozenset[str], lookup: Lookup | None) -> _Node:
        """A part, or two that are glued; `lookup` says where the query looks, if it does."""
        variables, names = self._ordered(tree.variables), self._ordered(tree.variables & asked)
        if isinstance(tree, Split):
            sides = _sides(tree, asked)
            parts = [
                self._node(side, names_asked, lookup if matters else None)
                for side, names_asked, matters in sides
            ]
            matters = [matters for _, _, matters in sides]
            return _Glued(parts, matters, self._counts(tree.border), names, variables)
        if tree.known is None:
            release = self._release_of(tree)
            assert release is not None
            cells = None if lookup is None else lookup.cells(names)
            self.parts.append((release, self.query.about(release.domain, names, cells)))
        self._solutions.append(None if tree.known is None else self._published(tree, names))
        return _Part(len(self._solutions) - 1, names, variables)

    def _published(self, leaf: Leaf, names: tuple[str, ...]) -> _Published:
        """The counts of a leaf that are published, checked against what else is said of them."""
        assert leaf.known is not None
        counts, release = self._counts(leaf.known), self._release_of(leaf)
        broken = [] if release is None else violations(Table(release.domain, counts.array), release)
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

    def __init__(self, decomposed: Decomposed, solutions: list[Solution]) -> None:
        self._release, self._over = decomposed.release, decomposed.query.over
        self.places, self._lookup = decomposed.places, decomposed.lookup
        self._whole, self._solutions = decomposed.whole, solutions
        # Nothing holds of a release of which one part is impossible.
        possible = [solution.possible() for solution in solutions]
        self._possible = all(possible) or None

    def settle(self) -> None:
        """Settle what the parts leave open."""
        self.bounds()

    def bounds(self) -> Arrays:
        """Lower and upper bounds in the shape of the cells asked for."""
        if self._bounds is None:
            self._bounds = self._ends(attained=False)
        return self._bounds

    def attained(self) -> Arrays | None:
        """What tables attain, if that is not all; what all parts attain, as they can be glued."""
        if not self._possible:
            nothing = np.full(self.places.shape, None, dtype=object)
            return nothing, nothing.copy()
        proven, attained = self.bounds(), self._ends(attained=True)
        same = all(np.array_equal(a, b) for a, b in zip(proven, attained, strict=True))
        return None if same else attained

    def _folded(self, node: _Node, leaf: Callable[[_Part], Any], glue: Callable[..., Any]) -> Any:
        """What `glue` makes of what `leaf` says of the parts that matter, from the leaves up."""
        if isinstance(node, _Part):
            return leaf(node)
        parts = [self._folded(part, leaf, glue) for part in node.asked]
        return parts[0] if len(parts) == 1 else glue(node, *parts)

    def _ends(self, *, attained: bool) -> Arrays:
        """All bounds, laid out for where the query looks: proven, or attained."""
        lookup = self._lookup

        def of_part(part: _Part) -> list[IntArray]:
            solution = self._solutions[part.place]
            ends = (solution.attained() if attained else None) or solution.bounds()
            chosen = solution.places.chosen is not None
            return [lookup.back(end, part.names, chosen=chosen) for end in ends]

        def of_both(node: _Glued, ours: list[IntArray], theirs: list[IntArray]) -> list[IntArray]:
            (low, high), (other_low, other_high) = ours, theirs
            count = lookup.laid_out(node.separator)
            if all(array.dtype != object for array in (*ours, *theirs)):
                return [np.maximum(low + other_low - count, 0), np.minimum(high, other_high)]
            return [
                np.asarray(np.frompyfunc(_overlap, 3, 1)(low, other_low, count)),
                np.asarray(np.frompyfunc(_smaller, 2, 1)(high, other_high)),
            ]

        low, high = (
            np.array(np.broadcast_to(array, self.places.shape), order="C")
            for array in self._folded(self._whole, of_part, of_both)
        )
        return low, high

    def bound(self, index: Position, side: int) -> Any:
        """One bound if it is settled."""
        if not self._possible:
            return None
        at = self._at(index)

        def end(attained: bool) -> Any:
            return self._folded(
                self._whole,
                lambda part: self._end_of(part, at, side, attained),
                lambda node, left, right: (
                    _smaller(left, right) if side else _overlap(left, right, node.count(at))
                ),
            )

        proven = end(attained=False)
        return proven if proven == end(attained=True) else None

    def _end_of(self, part: _Part, at: dict[str, int], side: int, attained: bool) -> Any:
        """One bound of a part, or what is proven or attained of it."""
        solution, index = self._solutions[part.place], part.index(at)
        settled = solution.bound(index, side)
        if settled is not None:
            return settled
        ends = (solution.attained() if attained else None) or solution.bounds()
        return ends[side][solution.places.spot(index)]

    def _at(self, index: Position) -> dict[str, int]:
        return dict(zip(self._over, index, strict=True))

    def possible(self) -> bool | None:
        """Whether every part has a table."""
        return self._possible

    def values(self, index: Position) -> ValueSet:
        """Every attainable count of one cell; none is known while a part has no table."""
        values = self._values(self._whole, self._at(index))
        if self._possible:
            return values
        return ValueSet([], unknown=[*values.progressions, *values.unknown])

    def _values(self, node: _Node, at: dict[str, int]) -> ValueSet:
        """The union over two parts' values; from run to run it has no gaps inside."""
        if isinstance(node, _Part):
            return self._solutions[node.place].values(node.index(at))
        if len(node.asked) == 1:
            return self._values(node.asked[0], at)
        # Many cells of the whole share one of a part.
        place = tuple(at[name] for name in node.names)
        if place in node.settled:
            return node.settled[place]
        ours, theirs = (self._values(part, at) for part in node.parts)
        count = node.count(at)

        def united(left: ValueSet, right: ValueSet) -> ValueSet:
            pairs = itertools.product(_runs(left), _runs(right))
            return ValueSet.from_intervals(
                (_overlap(a, c, count), min(b, d)) for (a, b), (c, d) in pairs
            )

        known = united(ours.known, theirs.known)
        if ours.settled and theirs.settled:
            node.settled[place] = known
            return known
        possible = united(_hull(ours), _hull(theirs))
        return ValueSet(known.progressions, unknown=_without(possible, known))

    def witness(self, index: Position, value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        made = self._table(self._whole, CellTarget(self._at(index), value))
        domain = self._release.domain
        cells = np.column_stack(made.positions(domain.names))
        table = Table.from_cells(domain, cells, made.counts)
        return checked(self._release, table, self._over, index, value)

    def _table(self, node: _Node, target: CellTarget | None) -> CellList:
        """A table of a part: one that meets the target, or any."""
        if isinstance(node, _Glued):
            both = all(node.matters)
            aims = [target if matters else None for matters in node.matters]
            if both and target is not None:
                aims = self._split(node, target)
            left, right = map(self._table, node.parts, aims)
            return glued(left, right, node.variables, target if both else None)
        solution = self._solutions[node.place]
        if target is None:
            at = dict.fromkeys(node.names, 0)
            value = self._end_of(node, at, 0, attained=True)
            if value is None:
                raise CellboundsError("a part of the release has no table yet; give more seconds")
            target = CellTarget(at, int(value))
        index = node.index(target.at)
        if isinstance(solution, _Published):
            return solution.cells(index, target.value)
        positions, counts = solution.witness(index, target.value).cells()
        return CellList(node.variables, tuple(positions.T), counts)

    def _split(self, node: _Glued, target: CellTarget) -> list[CellTarget | None]:
        """Counts of the two parts between which the target lies."""
        count, value = node.count(target.at), target.value
        ours, theirs = (self._values(part, target.at).known for part in node.parts)
        for (a, b), (c, d) in itertools.product(_runs(ours), _runs(theirs)):
            if _overlap(a, c, count) <= value <= min(b, d):
                return [CellTarget(target.at, max(least, value)) for least in (a, c)]
        raise CellboundsError("a count that was found attainable has no parts; please report this")

    @cached_property
    def _leaves(self) -> list[tuple[Solution, list[int]]]:
        """The solution of each part that matters, and where its variables are in a cell."""
        leaves: list[_Part] = self._folded(
            self._whole, lambda part: [part], lambda _, ours, theirs: ours + theirs
        )
        return [
            (self._solutions[part.place], [self._over.index(name) for name in part.names])
            for part in leaves
        ]

    def proof(self, index: Position, side: int) -> str:
        """A closed form if every part is published, else what the parts rest on."""
        proofs = {
            solution.proof(tuple([index[place] for place in places]), side)
            for solution, places in self._leaves
        }
        rest = sorted(filter(None, proofs))
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
