"""One intruder before one release, and what each rule finds there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain, Label
from cellbounds.disclosure.policies.attainable_cache import AttainableCache, Swapped
from cellbounds.disclosure.policies.chances import Chances
from cellbounds.disclosure.policies.deciding import (
    all_true,
    any_true,
    broken_exact,
    broken_small,
    certainly_held,
    certainly_zero,
    largest_within,
)
from cellbounds.disclosure.policies.rules import (
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    PosteriorChance,
    Rule,
    SmallCounts,
)
from cellbounds.disclosure.policies.verdict import Finding, Outcome
from cellbounds.disclosure.policies.words import (
    chance_change,
    exact_change,
    group_words,
    sets_words,
    small_change,
)
from cellbounds.model.effort import Effort
from cellbounds.results import ValueSet
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.statements import Release

__all__ = ["Attacker", "asked_rows", "found_in"]

EVERYTHING = ValueSet((), unknown=[(0, None, 1)])
"""A true count of which nothing is known."""

Truths = Callable[[tuple[int, ...], ValueSet], ValueSet]
"""The counts that a cell may truly hold, from its index and its attainable counts."""


Cells = Iterable[tuple[int, ...]]

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True, eq=False)
class Attacker:
    """What an intruder knows, and what may be true.

    Attributes
    ----------
    known
        The release with his own knowledge.
    over, domain
        The variables of the margin whose cells are judged, and those cells.
    remedy
        What could be coarser or withheld, in words.
    counts
        The true counts; None if judged without them.
    truths
        The counts that a cell may truly hold; not known yet if they are asked for later.
    structural, exempt
        Structural zeros; these and cells of rows published as empty.
    possible
        Whether the intruder may be there at all: None if that is open.
    """

    known: Release
    over: tuple[str, ...]
    domain: Domain
    remedy: str
    counts: IntArray | None
    truths: Truths
    structural: BoolArray
    exempt: BoolArray
    reach: AttainableCache | Swapped
    effort: Effort
    respondent: tuple[Label, ...] | None = None
    possible: bool | None = True
    _zeros: dict[str, npt.NDArray[np.object_]] = field(default_factory=dict)

    @property
    def zeros(self) -> npt.NDArray[np.object_]:
        """Which cells hold nobody for certain; None where that is open."""
        if not self._zeros:
            shape = self.domain.shape
            found = np.empty(shape, dtype=object)
            for index in np.ndindex(shape):
                found[index] = self.reach.decided(index, certainly_zero)[0]
            self._zeros["cells"] = found
        return self._zeros["cells"]

    def outcome(self, broken: bool | None) -> Outcome:
        """The outcome for this intruder: nothing is broken if he cannot be there."""
        return Outcome.of(all_true([broken, self.possible]))

    def cell(
        self,
        rule: Rule,
        index: tuple[int, ...],
        broken: bool | None,
        evidence: str,
        change: str,
        values: ValueSet | None = None,
    ) -> Finding:
        """A finding about one cell."""
        outcome = self.outcome(broken)
        return Finding(
            rule.name,
            outcome,
            self.over,
            self.domain.labels(index),
            evidence,
            "" if outcome is Outcome.SAFE else change,
            values,
            None if self.counts is None else int(self.counts[index]),
            respondent=self.respondent,
        )


def found_in(scene: Attacker, rule: Rule, cells: Cells | None = None) -> Iterator[Finding]:
    """What a rule finds, cell by cell or row by row: everywhere, or about some cells only."""
    asked = np.ndindex(scene.domain.shape) if cells is None else iter(cells)
    match rule:
        case SmallCounts():
            return _small(scene, rule, asked)
        case ExactDisclosure():
            return _exact(scene, rule, asked)
        case GroupDisclosure():
            return _groups(scene, rule, cells)
        case PosteriorChance():
            return _chances(scene, rule, asked)
        case MinimumCount():
            return iter(())  # about what is shown, whoever looks at it: see shown.py


def _spoken_of(
    scene: Attacker, rule: SmallCounts | PosteriorChance, asked: Cells
) -> Iterator[tuple[int, ...]]:
    """The cells that a rule for small counts speaks of; all of them without the true counts."""
    for index in asked:
        if scene.exempt[index]:
            continue
        if scene.counts is None or rule.smallest <= scene.counts[index] <= rule.small:
            yield index


class _Once(Generic[Said]):
    """What is said of a set, worked out once for all cells that share it."""

    def __init__(self, say: Callable[[ValueSet], Said]) -> None:
        self._say = say
        self._said: dict[int, tuple[ValueSet, Said]] = {}

    def __call__(self, values: ValueSet) -> Said:
        if id(values) not in self._said:
            # Keeping the set keeps its number from being given to another one.
            self._said[id(values)] = values, self._say(values)
        return self._said[id(values)][1]


def _small(scene: Attacker, rule: SmallCounts, asked: Cells) -> Iterator[Finding]:
    # Many cells may share a set, as those do that a release cannot tell apart.
    kept = _Once(lambda values: broken_small(rule, values, EVERYTHING) is False)
    words = _Once(sets_words)
    for index in _spoken_of(scene, rule, asked):

        def broken_by(values: ValueSet, index: tuple[int, ...] = index) -> bool | None:
            # Which counts may be true costs work only where it matters.
            if kept(values):
                return False
            return broken_small(rule, values, scene.truths(index, values))

        broken, values = scene.reach.decided(index, broken_by)
        change = "" if broken is False else small_change(rule, values, broken, scene.remedy)
        yield scene.cell(rule, index, broken, words(values), change, values)


def _exact(scene: Attacker, rule: ExactDisclosure, asked: Cells) -> Iterator[Finding]:
    for index in asked:
        if scene.exempt[index]:
            continue
        broken, values = scene.reach.decided(index, lambda found: broken_exact(rule, found))
        change = exact_change(broken, scene.remedy)
        yield scene.cell(rule, index, broken, sets_words(values), change, values)


def _chances(scene: Attacker, rule: PosteriorChance, asked: Cells) -> Iterator[Finding]:
    chances = Chances(scene.known, scene.over, rule, scene.effort)
    assert rule.probability is not None  # checked when the rule was made
    for index in _spoken_of(scene, rule, asked):
        cell = int(np.ravel_multi_index(index, scene.domain.shape))
        chance = chances.of(cell)
        broken = chance.exceeds(rule.probability)
        if broken is not False and scene.counts is None and scene.respondent is not None:
            truths = scene.truths(index, EVERYTHING)
            broken = all_true([broken, _some_small(truths, rule)])
        change = chance_change(broken, scene.remedy)
        yield scene.cell(rule, index, broken, chance.words, change)


def _some_small(truths: ValueSet, rule: PosteriorChance) -> bool | None:
    if largest_within(truths.known, rule.smallest, rule.small) is not None:
        return True
    open_still = largest_within(truths.possible, rule.smallest, rule.small) is not None
    return None if open_still else False


def asked_rows(rule: GroupDisclosure, names: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Each response and the variables whose combinations are its rows."""
    given = rule.given
    responses = rule.responses or tuple(name for name in names if name not in (given or ()))
    return [
        (response, tuple(name for name in names if name != response) if given is None else given)
        for response in responses
    ]


def _groups(scene: Attacker, rule: GroupDisclosure, cells: Cells | None) -> Iterator[Finding]:
    domain = scene.domain
    asked = None if cells is None else list(cells)
    numbers = np.arange(domain.size).reshape(domain.shape)
    for response, given in asked_rows(rule, domain.names):
        rest = [name for name in domain.names if name != response and name not in given]
        axes = domain.axes((*given, response, *rest))
        rows = domain.project(given) if given else None
        shape = (-1, len(domain.levels(response)), int(np.prod(_sizes(scene, rest))))
        zeros = scene.zeros.transpose(axes).reshape(shape)
        structural = np.all(scene.structural.transpose(axes).reshape(shape), axis=2)
        members = numbers.transpose(axes).reshape(len(zeros), -1)
        places = range(len(zeros)) if asked is None else _rows_of(domain, given, asked)
        for place in places:
            levels = [all_true(parts) for parts in zeros[place]]
            shared = _in_common(rule, levels, structural[place].tolist())
            held = None
            if shared is not False:
                held = _held(scene, given, place, members[place].tolist())
            outcome = scene.outcome(all_true([shared, held]))
            evidence, change = group_words(
                domain.levels(response), levels, held, outcome, scene.remedy
            )
            index = () if rows is None else np.unravel_index(place, rows.shape)
            labels = () if rows is None else rows.labels([int(one) for one in index])
            yield Finding(
                rule.name,
                outcome,
                given,
                labels,
                evidence,
                change,
                response=response,
                respondent=scene.respondent,
            )


def _rows_of(domain: Domain, given: tuple[str, ...], cells: list[tuple[int, ...]]) -> list[int]:
    """The rows that some cells are in, in order."""
    if not given:
        return [0]
    axes = domain.axes(given)
    shape = domain.project(given).shape
    found = {int(np.ravel_multi_index([cell[axis] for axis in axes], shape)) for cell in cells}
    return sorted(found)


def _held(scene: Attacker, given: tuple[str, ...], place: int, row: list[int]) -> bool | None:
    """Whether a row holds somebody in every table: from its cells if they tell, else asked for.

    If a single cell is not empty for certain, the row is that cell.
    """
    shape = scene.domain.shape
    indices = [tuple(int(i) for i in np.unravel_index(cell, shape)) for cell in row]
    if scene.counts is not None and not any(scene.counts[index] for index in indices):
        return False
    left = [index for index in indices if scene.zeros[index] is not True]
    answers = [scene.reach.decided(index, certainly_held)[0] for index in left]
    if len(left) < 2 or True in answers:
        return any_true(answers)
    answer: bool | None = scene.reach.held(given).ravel()[place]
    return answer


def _sizes(scene: Attacker, names: list[str]) -> list[int]:
    return [len(scene.domain.levels(name)) for name in names]


def _in_common(
    rule: GroupDisclosure, zeros: list[bool | None], structural: list[bool]
) -> bool | None:
    """Whether the members of a row, if it has any, are known to have something in common.

    All in one level: every other one is empty, and not only because nobody can be in it.
    """
    answers = [
        all_true(zeros[:level] + zeros[level + 1 :])
        for level in range(len(zeros))
        if not all(structural[:level] + structural[level + 1 :])
    ]
    if rule.not_in:
        answers += [zero for zero, known in zip(zeros, structural, strict=True) if not known]
    return any_true(answers)
