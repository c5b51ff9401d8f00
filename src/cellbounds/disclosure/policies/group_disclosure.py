"""The rule about attributes: what all members of a row have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.rule import (
    OPEN,
    Cells,
    ReleaseRule,
    Rule,
    all_true,
    any_true,
    certainly_held,
    check_bool,
    listed,
)
from cellbounds.disclosure.policies.verdict import Finding, Outcome
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from cellbounds.disclosure.policies.attacker import Attacker


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDisclosure(ReleaseRule):
    """Attribute disclosure: nobody may learn what all members of a row have in common.

    A row is a combination of the `given` variables (all but the response if not said) that holds
    somebody for certain. Each of the `responses` (all variables that are not given, if not said) is
    tried in turn. With `not_in`, nobody may learn either that no member is in some level.

    Examples
    --------
    >>> print(GroupDisclosure(responses=["income"]).sentence)
    nobody may learn that all members of a row (which holds >= 1 for certain) are in one level of
    income; rows are combinations of all other variables
    """

    name: ClassVar[str] = "group-disclosure"

    responses: tuple[str, ...] | None = None
    given: tuple[str, ...] | None = None
    not_in: bool = False

    def __post_init__(self) -> None:
        for what in ("responses", "given"):
            object.__setattr__(self, what, _variables(getattr(self, what), self._of(what)))
        check_bool(self, "not_in")
        both = [name for name in self.responses or () if name in (self.given or ())]
        if both:
            raise InvalidInput(
                f"the rule {self.name} has {both[0]!r} among its responses and its given "
                "variables; name it in one of the two"
            )

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        which = "any variable" if self.responses is None else ", ".join(self.responses)
        if self.responses is None and self.given is not None:
            which = "any other variable"
        rows = "all other variables" if self.given is None else ", ".join(self.given)
        also = ", or that none of them is in some level" if self.not_in else ""
        return (
            "nobody may learn that all members of a row (which holds >= 1 for certain) are in one "
            f"level of {which}{also}; rows are combinations of {rows}"
        )

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the rule names."""
        return (*(self.responses or ()), *(self.given or ()))

    def rows(self, names: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
        """Each response and the variables whose combinations are its rows."""
        given = self.given
        responses = self.responses or tuple(name for name in names if name not in (given or ()))
        return [
            (
                response,
                tuple(name for name in names if name != response) if given is None else given,
            )
            for response in responses
        ]

    def check(self, domain: Domain, over: tuple[str, ...]) -> None:
        """Check that the rows are rows of the cells judged, and share everybody out."""
        rows = self.rows(over)
        if not rows:
            raise InvalidInput(
                f"the rule {self.name} takes every variable judged ({', '.join(over)}) as given, "
                "so that there is nothing to learn about a row and the rule could never fail; "
                "leave one of them out of its given variables"
            )
        Rule.check(self, domain, over)
        for name in over:
            learnt = any(name not in given for _, given in rows)
            if learnt and not domain.shares_out(name):
                raise InvalidInput(
                    f"the rule {self.name} asks in which level of {name!r} the members of a row "
                    "are, but these levels overlap or leave somebody out; judge over the variable "
                    "behind it"
                )

    def fits(self, domain: Domain, over: Sequence[str]) -> bool:
        """Whether there are rows among these cells, and they share everybody out."""
        rows = self.rows(tuple(over))
        learnt = [name for name in over if any(name not in given for _, given in rows)]
        shared = all(map(domain.shares_out, learnt))
        return bool(rows) and shared and Rule.fits(self, domain, over)

    def within(self, names: Mapping[str, str]) -> GroupDisclosure | None:
        """The rule about a margin that has its variables, and leaves a response among them."""
        if not set(self.variables) <= set(names) or set(self.given or ()) == set(names):
            return None
        return replace(
            self,
            responses=self.responses and tuple(names[name] for name in self.responses),
            given=self.given and tuple(names[name] for name in self.given),
        )

    def among(self, part: str, names: tuple[str, ...]) -> GroupDisclosure:
        """Groups are those among the records of this part; which part it is, is no response."""
        responses = tuple(response for response, _ in self.rows(names))
        given = None if self.given is None else (part, *self.given)
        return replace(self, responses=responses, given=given)

    def findings(self, attacker: Attacker, cells: Cells | None = None) -> Iterator[Finding]:
        """One finding for each response and row."""
        domain = attacker.domain
        chosen = None if cells is None else list(cells)
        numbers = np.arange(domain.size).reshape(domain.shape)
        for response, given in self.rows(domain.names):
            rest = [name for name in domain.names if name != response and name not in given]
            axes = domain.axes((*given, response, *rest))
            rows = domain.project(given) if given else None
            count = 1 if rows is None else rows.size
            shape = (count, len(domain.levels(response)), -1)
            zeros = attacker.zeros.transpose(axes).reshape(shape)
            structural = np.all(attacker.structural.transpose(axes).reshape(shape), axis=2)
            members = numbers.transpose(axes).reshape(count, -1)
            for row in range(count) if chosen is None else _rows_of(domain, given, chosen):
                empty = [all_true(parts) for parts in zeros[row]]
                shared = self._in_common(empty, structural[row].tolist())
                held = None
                if shared is not False:
                    held = _held(attacker, given, row, members[row].tolist())
                outcome = attacker.outcome(all_true([shared, held]))
                evidence, lacking = _evidence(domain.levels(response), empty, held)
                changes = {Outcome.SAFE: "", Outcome.UNDECIDED: OPEN}
                change = changes.get(outcome, f"{lacking}: {attacker.remedy}")
                place = () if rows is None else np.unravel_index(row, rows.shape)
                labels = () if rows is None else rows.labels([*map(int, place)])
                finding = Finding(self.name, outcome, given, labels, evidence, change)
                yield replace(
                    finding,
                    response=response,
                    respondent=attacker.respondent,
                    partner=attacker.partner,
                )

    def _in_common(self, empty: list[bool | None], structural: list[bool]) -> bool | None:
        """Whether the members of a row, if it has any, are known to have something in common.

        All in one level: every other one is empty, and not only because nobody can be in it.
        """
        answers = [
            all_true(empty[:level] + empty[level + 1 :])
            for level in range(len(empty))
            if not all(structural[:level] + structural[level + 1 :])
        ]
        if self.not_in:
            answers += [zero for zero, known in zip(empty, structural, strict=True) if not known]
        return any_true(answers)

    def why_not_monotone(self, *, independent: bool) -> str:
        """Never: who is known to be in no other level stays known to be."""
        return ""

    def unproven(
        self, table: Table, exempt: BoolArray, least: IntArray, most: IntArray
    ) -> BoolArray:
        """Cells that nobody is known to be possible in, while the members of a row may be alike."""
        if not self._alike(table, most > 0):
            return np.zeros(table.counts.shape, dtype=bool)
        return np.asarray((most == 0) & ~table.structural, dtype=bool)

    def _alike(self, table: Table, possible: BoolArray) -> bool:
        """Whether the members of a row may have something in common, for all that is known.

        A row is kept if people are possible in two of its levels; with `not_in`, in all of them.
        """
        filled = Table(table.domain, possible.astype(np.int64))
        for response, given in self.rows(table.domain.names):
            laid_out = table.reshape(response=[response], given=given)
            empty = filled.reshape(response=[response], given=given).counts == 0
            closed = laid_out.structural
            # Whoever can only be in one level gives nothing away.
            alike = ((~empty).sum(axis=1) < 2) & ((~closed).sum(axis=1) >= 2)
            if self.not_in:
                alike |= (empty & ~closed).any(axis=1)
            if bool((alike & (laid_out.counts.sum(axis=1) > 0)).any()):
                return True
        return False


def _variables(given: Iterable[str] | None, what: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    texts = all(isinstance(name, str) for name in names)
    if not names or not texts or len(set(names)) < len(names):
        raise InvalidInput(
            f"{what} is {given!r}; give a list of different variables, or leave it out"
        )
    return names


def _rows_of(domain: Domain, given: tuple[str, ...], cells: list[tuple[int, ...]]) -> list[int]:
    """The rows that some cells are in, in order."""
    if not given:
        return [0]
    levels = np.array(cells)[:, domain.axes(given)].T
    rows = np.ravel_multi_index(tuple(levels), domain.project(given).shape)
    return [int(row) for row in np.unique(rows)]


def _held(attacker: Attacker, given: tuple[str, ...], row: int, cells: list[int]) -> bool | None:
    """Whether a row holds somebody in every table: from its cells if they tell, else asked for.

    If a single cell is not empty for certain, the row is that cell.
    """
    shape = attacker.domain.shape
    indices = [tuple(int(i) for i in np.unravel_index(cell, shape)) for cell in cells]
    if attacker.counts is not None and not any(attacker.counts[index] for index in indices):
        return False
    left = [index for index in indices if attacker.zeros[index] is not True]
    answers = [attacker.decided(index, certainly_held)[0] for index in left]
    if len(left) < 2 or True in answers:
        return any_true(answers)
    answer: bool | None = attacker.held(given).ravel()[row]
    return answer


def _evidence(
    levels: Iterable[Label], zeros: list[bool | None], held: bool | None
) -> tuple[str, str]:
    """What is known of a row, and what would have to be otherwise."""
    pairs = [(str(label), zero) for label, zero in zip(levels, zeros, strict=True)]
    empty = [label for label, zero in pairs if zero]
    filled = [label for label, zero in pairs if not zero]
    lacking = f"a consistent table with somebody in {listed(empty)}" if empty else ""
    if held is False:
        return "the row is empty in some consistent table", lacking
    if not empty:
        return "no level is known to be empty", lacking
    if len(filled) == 1:
        return f"everybody is in {filled[0]}", lacking
    return f"nobody is in {', '.join(empty)}", lacking
