"""Bounds of a release that falls apart: parts by whatever method fits, then glued."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import InconsistentRelease
from cellbounds.model.constraints import violations
from cellbounds.model.structure import Facts, Leaf, Separator, Split, Tree
from cellbounds.reductions.decomposition.cells import Where, where_of
from cellbounds.reductions.decomposition.parts import Answered, Both, KnownPart, OneSide, Part
from cellbounds.reductions.decomposition.tables import Named, Target, summed
from cellbounds.results.evidence import Evidence
from cellbounds.results.solution import Arrays, Ask, Query
from cellbounds.results.values import ValueSet
from cellbounds.results.witnesses import checked
from cellbounds.runtime.arrays import whole_array
from cellbounds.statements import Margin, Release, Statement, Total

__all__ = ["DecompositionSolver"]


class DecompositionSolver:
    """Fréchet bounds, decomposable and reducible sets of margins, mixtures with a known border.

    With every part published the bounds are closed forms: the smallest of the margins above, and
    the sum of margins less the borders below, if that is more than zero.
    """

    name = "parts glued at exact margins"

    def __init__(self, ask: Ask) -> None:
        """Take what answers the parts."""
        self._ask = ask

    def refusal(self, facts: Facts, question: Query) -> str | None:
        """Needs a release that can be split and names every variable."""
        if question.kind != "sharp":
            return "gives sharp bounds only"
        if any(facts.release.domain.grouping(name) for name in question.over):
            return "the question merges levels"
        tree = facts.tree
        if tree.variables != set(facts.release.domain.names):
            return "no statement names some of the variables"
        if isinstance(tree, Leaf) and tree.known is None:
            return "no exact margin splits the release"
        if _hides_border(tree, frozenset(question.over)):
            return "the question sums over variables that the parts share"
        return None

    def work(self, facts: Facts, question: Query) -> DecomposedSolution:
        """Answer the leaves, then combine."""
        return DecomposedSolution(facts, question, _Builder(facts.release, question, self._ask))


def _hides_border(tree: Tree, asked: frozenset[str]) -> bool:
    """Whether two parts matter while a variable they share is summed over."""
    if isinstance(tree, Leaf):
        return False
    border = tree.border.variables
    right = bool(asked & (tree.right.variables - border))
    left = bool(asked & (tree.left.variables - border))
    if not right:
        return _hides_border(tree.left, asked)
    if not left:
        return _hides_border(tree.right, asked)
    if not border <= asked:
        return True
    return _hides_border(tree.left, asked | border) or _hides_border(tree.right, asked | border)


class _Builder:
    """Makes the parts of one release for one question."""

    def __init__(self, release: Release, question: Query, ask: Ask) -> None:
        self._release, self._question, self._ask = release, question, ask
        self._order = release.domain.names

    def part(self, tree: Tree, asked: frozenset[str], where: Where | None) -> Part:
        """The part for a tree, about the variables asked for; None: it only completes tables."""
        if isinstance(tree, Leaf):
            return self._leaf(tree, asked, where)
        return self._split(tree, asked, where)

    def _split(self, tree: Split, asked: frozenset[str], where: Where | None) -> Part:
        border = tree.border.variables
        if not asked & (tree.right.variables - border):
            left = self.part(tree.left, asked, where)
            return OneSide(left, self.part(tree.right, border, None), self._order)
        if not asked & (tree.left.variables - border):
            other = self.part(tree.left, border, None)
            return OneSide(self.part(tree.right, asked, where), other, self._order)
        left = self.part(tree.left, asked, where)
        right = self.part(tree.right, asked, where)
        return Both(left, right, self._counts(tree.border), self._order)

    def _leaf(self, leaf: Leaf, asked: frozenset[str], where: Where | None) -> Part:
        variables = self._ordered(leaf.variables)
        names = self._ordered(leaf.variables & asked)
        release = self._about(leaf, variables)
        if leaf.known is None:
            assert release is not None
            cells = None if where is None else where.cells(names)
            effort = _for_part(self._question.effort, variables)
            question = Query("sharp", names, effort, cells)
            worked = self._ask(release, question)
            return Answered(worked, names, variables, question.places(release.domain))
        counts = self._counts(leaf.known)
        if release is not None:
            broken = violations(release, Table(release.domain, counts.array))
            if broken:
                known = self._release.statements[leaf.known.place]
                raise InconsistentRelease(
                    f"{known.notation} contradicts {', '.join(dict.fromkeys(broken))}"
                )
        return KnownPart(counts, names)

    def _about(self, leaf: Leaf, variables: tuple[str, ...]) -> Release | None:
        """The leaf's statements and borders as a release of their own."""
        if not variables:
            return None
        statements: list[Statement] = [self._release.statements[k] for k in leaf.statements]
        given = {frozenset(s.variables) for s in statements if isinstance(s, Margin) and s.exact}
        statements += [
            self._border(border)
            for border in leaf.borders
            if border.variables not in given or not border.variables
        ]
        statements += [s for s in self._release.statements if isinstance(s, Total)]
        totals = [s for s in statements if isinstance(s, Total)]
        if len(totals) > 1:
            agreed = _agreed(totals)
            statements = [s for s in statements if not isinstance(s, Total)] + [agreed]
        return Release(self._release.domain.part(variables), statements)

    def _border(self, border: Separator) -> Margin | Total:
        counts = self._counts(border)
        if not counts.names:
            return Total(int(counts.array))
        return Margin(counts.names, counts.array)

    def _counts(self, border: Separator) -> Named:
        """The published counts over some variables, in the order of the domain."""
        statement = self._release.statements[border.place]
        if isinstance(statement, Total):
            return Named((), whole_array([statement.lower], ()))
        assert isinstance(statement, Margin)
        table = Named(statement.variables, statement.counts)
        return summed(table, self._ordered(border.variables))

    def _ordered(self, names: frozenset[str]) -> tuple[str, ...]:
        return tuple(name for name in self._order if name in names)


def _for_part(effort: Any, variables: tuple[str, ...]) -> Any:
    if effort.start is None:
        return effort
    return effort.for_part(effort.start.margin(*variables))


def _agreed(totals: list[Total]) -> Total:
    lower = max(one.lower for one in totals)
    upper = min((one.upper for one in totals if one.upper is not None), default=None)
    if upper is not None and upper < lower:
        raise InconsistentRelease(
            f"the counts add to another total than {totals[-1].notation} says"
        )
    return Total(lower=lower, upper=upper)


class DecomposedSolution:
    """Answers from glued parts."""

    def __init__(self, facts: Facts, question: Query, builder: _Builder) -> None:
        self._release = facts.release
        self._over = question.over
        self._places = question.places(facts.release.domain)
        self._where = where_of(question.over, self._places)
        self._part = builder.part(facts.tree, frozenset(question.over), self._where)
        self._found: Arrays | None = None
        self._possible = self._part.possible()

    def settle(self) -> None:
        """Settle what the parts leave open."""
        self.bounds()

    def bounds(self) -> Arrays:
        """Lower and upper bounds in the shape of the cells asked for."""
        if self._found is None:
            self._found = self._shaped(self._part.bounds(self._where))
        return self._found

    @property
    def evidence(self) -> Evidence:
        """EXACT if every bound is attained."""
        attained = self.attained()
        if attained is None:
            return Evidence.EXACT
        return Evidence.OUTER

    def attained(self) -> Arrays | None:
        """What tables attain, if that is not all."""
        proven, attained = self.bounds(), self._shaped(self._part.attained(self._where))
        same = all(np.array_equal(a, b) for a, b in zip(proven, attained, strict=True))
        return None if same else attained

    def _shaped(self, arrays: Arrays) -> Arrays:
        low, high = (
            np.array(np.broadcast_to(array, self._places.shape), order="C") for array in arrays
        )
        return low, high

    def _at(self, index: tuple[int, ...]) -> dict[str, int]:
        return dict(zip(self._over, index, strict=True))

    def bound(self, index: tuple[int, ...], side: int) -> Any:
        """One bound if it is settled."""
        at = self._at(index)
        proven, attained = (self._part.bound(at, side, attained=one) for one in (False, True))
        return proven if proven == attained else None

    def possible(self) -> bool | None:
        """Whether every part has a table."""
        return self._possible

    def forces(self, index: tuple[int, ...], side: int, value: int) -> bool | None:
        """Compare with the bound if it is settled."""
        bound = self.bound(index, side)
        if bound is None:
            return None
        return bool(bound >= value if side == 0 else bound <= value)

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of one cell."""
        return self._part.values(self._at(index))

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        part = self._part.table(Target(self._at(index), value))
        domain = self._release.domain
        table = Table.from_cells(domain, np.column_stack(part.places(domain.names)), part.counts)
        return checked(self._release, table, self._over, index, value)

    def proof(self, index: tuple[int, ...], side: int) -> str:
        """A closed form if every part is published, else what the parts rest on."""
        at = self._at(index)
        rest = sorted({leaf.proof(at, side) for leaf in self._part.answered()})
        return f"closed form over {', '.join(rest)}" if rest else "closed form"
