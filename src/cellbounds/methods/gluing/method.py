"""Bounds of a release that falls apart: parts by whatever method fits, then glued."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.constraints import violations
from cellbounds.domain import Domain
from cellbounds.errors import InconsistentRelease
from cellbounds.methods.gluing.parts import Answered, Both, KnownPart, OneSide, Part
from cellbounds.methods.gluing.tables import Named, Target, summed
from cellbounds.methods.protocol import Arrays, Ask, Question
from cellbounds.methods.witnessing import checked
from cellbounds.releases import Margin, Release, Statement, Total
from cellbounds.results.evidence import Evidence
from cellbounds.results.values import Unbounded, ValueSet
from cellbounds.structure import Border, Facts, Leaf, Split, Tree
from cellbounds.table import Table

__all__ = ["Gluing"]


class Gluing:
    """Fréchet bounds, decomposable and reducible sets of margins, mixtures with a known border.

    With every part published the bounds are closed forms: the smallest of the margins above, and
    the sum of margins less the borders below, if that is more than zero.
    """

    name = "parts glued at exact margins"

    def __init__(self, ask: Ask) -> None:
        """Take what answers the parts."""
        self._ask = ask

    def refusal(self, facts: Facts, question: Question) -> str | None:
        """Needs a release that can be split, or variables that no statement is about."""
        if question.kind != "sharp":
            return "gives sharp bounds only"
        if any(facts.release.domain.grouping(name) for name in question.over):
            return "the question merges levels"
        tree = facts.tree
        # A single part is of use if some variables are left out of it, but not all of them.
        useless = not tree.variables or tree.variables == set(facts.release.domain.names)
        if isinstance(tree, Leaf) and tree.known is None and useless:
            return "no exact margin splits the release"
        if _hides_border(tree, frozenset(question.over)):
            return "the question sums over variables that the parts share"
        return None

    def work(self, facts: Facts, question: Question) -> GluedAnswers:
        """Answer the leaves, then combine."""
        return GluedAnswers(facts, question, _Builder(facts.release, question, self._ask))


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

    def __init__(self, release: Release, question: Question, ask: Ask) -> None:
        self._release, self._question, self._ask = release, question, ask
        self._order = release.domain.names

    def part(self, tree: Tree, asked: frozenset[str]) -> Part:
        """The part for a tree, about the variables asked for."""
        if isinstance(tree, Leaf):
            return self._leaf(tree, asked)
        return self._split(tree, asked)

    def _split(self, tree: Split, asked: frozenset[str]) -> Part:
        border = tree.border.variables
        if not asked & (tree.right.variables - border):
            left, right = self.part(tree.left, asked), self.part(tree.right, border)
            return OneSide(left, right, self._order)
        if not asked & (tree.left.variables - border):
            left, right = self.part(tree.left, border), self.part(tree.right, asked)
            return OneSide(right, left, self._order)
        left = self.part(tree.left, asked)
        right = self.part(tree.right, asked)
        return Both(left, right, self._counts(tree.border), self._order)

    def _leaf(self, leaf: Leaf, asked: frozenset[str]) -> Part:
        variables = self._ordered(leaf.variables)
        names = self._ordered(leaf.variables & asked)
        release = self._about(leaf, variables)
        if leaf.known is None:
            effort = self._question.effort
            question = Question("sharp", names, _for_part(effort, variables))
            assert release is not None
            return Answered(self._ask(release, question), names, variables)
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
        return Release(_part_domain(self._release.domain, variables), statements)

    def _border(self, border: Border) -> Margin | Total:
        counts = self._counts(border)
        if not counts.names:
            return Total(int(counts.array))
        return Margin(counts.names, counts.array)

    def _counts(self, border: Border) -> Named:
        """The published counts over some variables, in the order of the domain."""
        statement = self._release.statements[border.place]
        if isinstance(statement, Total):
            return Named((), np.asarray(statement.lower))
        assert isinstance(statement, Margin)
        table = Named(statement.variables, statement.counts)
        return summed(table, self._ordered(border.variables))

    def _ordered(self, names: frozenset[str]) -> tuple[str, ...]:
        return tuple(name for name in self._order if name in names)


def _part_domain(domain: Domain, variables: tuple[str, ...]) -> Domain:
    part = domain.project(variables)
    kept = {name: one for name, one in domain.groupings.items() if one.of in variables}
    return part.with_groupings(kept) if kept else part


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


class GluedAnswers:
    """Answers from glued parts, and for variables that nothing is said about."""

    def __init__(self, facts: Facts, question: Question, builder: _Builder) -> None:
        self._release = release = facts.release
        self._over = question.over
        tree = facts.tree
        self._free = frozenset(release.domain.names) - tree.variables
        self._part = builder.part(tree, frozenset(question.over) - self._free)
        self._shape = tuple(len(release.domain.levels(name)) for name in question.over)
        asked_free = [n for n in question.over if n in self._free]
        self._loose = any(len(release.domain.levels(n)) > 1 for n in asked_free)
        self._found: Arrays | None = None
        self._possible = self._part.possible()

    def settle(self) -> None:
        """Settle what the parts leave open."""
        self.bounds()

    def bounds(self) -> Arrays:
        """Lower and upper bounds in the shape of the cells asked for."""
        if self._found is None:
            self._found = self._laid_out(self._part.bounds())
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
        proven, attained = self.bounds(), self._laid_out(self._part.attained())
        same = all(np.array_equal(a, b) for a, b in zip(proven, attained, strict=True))
        return None if same else attained

    def _laid_out(self, arrays: Arrays) -> Arrays:
        """From the part's variables to those asked for; loose cells may always be empty."""
        low, high = arrays
        if self._loose:
            low = np.array([one if one is None else 0 for one in low.flat]).reshape(low.shape)
        names = self._part.names
        turned = [name for name in self._over if name in names]
        shape = [
            len(self._release.domain.levels(name)) if name in names else 1 for name in self._over
        ]
        laid = []
        for array in (low, high):
            moved = np.transpose(array, [names.index(name) for name in turned]).reshape(shape)
            laid.append(np.array(np.broadcast_to(moved, self._shape), order="C"))
        return laid[0], laid[1]

    def _at(self, index: tuple[int, ...]) -> dict[str, int]:
        at = dict(zip(self._over, index, strict=True))
        return {name: at[name] for name in self._part.names}

    def bound(self, index: tuple[int, ...], side: int) -> Any:
        """One bound if it is settled."""
        at = self._at(index)
        if side == 0 and self._loose:
            return 0 if self._possible else None
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
        values = self._part.values(self._at(index))
        if not self._loose:
            return values
        # Whoever is in the summed cell may be in this part of it, or not.
        top = values.known.largest if values.progressions else -1
        if isinstance(top, Unbounded):
            return ValueSet([(0, None, 1)])
        known = [(0, top, 1)] if top >= 0 else []
        beyond = values.possible.largest
        if beyond == top:
            return ValueSet(known)
        end = None if isinstance(beyond, Unbounded) else beyond
        return ValueSet(known, unknown=[(top + 1, end, 1)])

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        at = self._at(index)
        held = value
        if self._loose:
            # The summed cell must hold at least this many; the least such count will do.
            known = self._part.values(at).known
            held = next(count for count in known if count >= value)
        part = self._part.table(Target(at, held))
        table = self._completed(part, dict(zip(self._over, index, strict=True)), at, value)
        return checked(self._release, table, self._over, index, value)

    def _completed(
        self, part: Named, asked: dict[str, int], at: dict[str, int], value: int
    ) -> Table:
        """Spread the counts over the variables that nothing is said about."""
        domain = self._release.domain
        free = [name for name in domain.names if name in self._free]
        names = [*part.names, *free]
        shape = [len(domain.levels(name)) for name in names]
        counts = np.zeros(shape, dtype=part.array.dtype)
        here = tuple(asked.get(name, 0) for name in free)
        away = self._elsewhere(free, here)
        # Who is not at the position asked for may be anywhere; who is must leave `value` there.
        everywhere: tuple[Any, ...] = (..., *away)
        counts[everywhere] = part.array
        place: tuple[Any, ...] = tuple(
            at[name] if name in at else slice(None) for name in part.names
        )
        if self._loose:
            block = part.array[place]
            kept = np.diff(np.minimum(np.cumsum(block.ravel()), value), prepend=0)
            kept = kept.reshape(np.shape(block))
            there: tuple[Any, ...] = (*place, *away)
            asked_for: tuple[Any, ...] = (*place, *here)
            counts[there] -= kept
            counts[asked_for] += kept
        turned = np.transpose(counts, [names.index(name) for name in domain.names])
        return Table(domain, turned)

    def _elsewhere(self, free: list[str], here: tuple[int, ...]) -> tuple[int, ...]:
        """Another place on the free variables than the one asked for, if there is one."""
        domain = self._release.domain
        away = list(here)
        for axis, name in enumerate(free):
            if name in self._over and len(domain.levels(name)) > 1:
                away[axis] = 1 if here[axis] == 0 else 0
                break
        return tuple(away)

    def proof(self, index: tuple[int, ...], side: int) -> str:
        """A closed form if every part is published, else what the parts rest on."""
        at = self._at(index)
        rest = sorted({leaf.proof(at, side) for leaf in self._part.answered()})
        return f"closed form over {', '.join(rest)}" if rest else "closed form"
