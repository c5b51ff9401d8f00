"""Verdicts: what was decided of each cell, by which rule, and on what evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain, Label
from cellbounds.results.answers import notations, value_entries
from cellbounds.results.values import ValueSet
from cellbounds.runtime.arrays import BoolArray
from cellbounds.statements import Release, Statement
from cellbounds.statements.notation import names_text
from cellbounds.text import counted, label_keys
from cellbounds.utility.display import Listing, columns_of, more_lines, picked
from cellbounds.version import __version__

if TYPE_CHECKING:
    from cellbounds.disclosure.policies.policy import Policy

FORMAT = "cellbounds-verdict/1"

COLUMNS = ("rule", "outcome", "respondent", "evidence", "change", "count")

MARGINS = 8
"""Margins that were judged besides, that people are told."""

CHANGES = 3
"""Ways to change what was found that people are told."""

DEPENDS = (
    "this verdict depends on the confidential counts: keep it to yourself (a SAFE of "
    "independent=True or --independent may be told)"
)

CANNOT_RERUN = "SAFE if the intruder cannot rerun the choice"
"""Against whom a choice by the counts holds."""

INDEPENDENT = "safe means: also against an intruder who reruns this on every table that fits"

OUTSIDE = (
    "judged without the table: UNSAFE is what is given away whatever table is behind it, SAFE that "
    "nothing is in any of them; what lies between depends on the table"
)


class Outcome(Enum):
    """SAFE: no rule is broken, for certain. UNSAFE: one is, for certain. UNDECIDED: neither."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    UNDECIDED = "undecided"

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, broken: bool | None) -> Outcome:
        """The outcome of a rule that is broken, kept, or open."""
        return cls.UNDECIDED if broken is None else cls.UNSAFE if broken else cls.SAFE


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """One rule and one cell, row or published figure.

    Attributes
    ----------
    rule, outcome
        The rule's name, and whether it is broken there.
    variables, labels
        Where: a cell, or a row or figure of a margin.
    evidence
        What the outcome rests on, in words, without any confidential count.
    change
        What would change it, in words; empty if it is safe.
    values
        The attainable counts of the cell, if it is about one.
    count
        The true count; None unless the verdict was made for the owner's eyes.
    response
        The response variable of a row.
    respondent, partner
        The cell of the intruder who is himself in the table; and that of somebody who tells him.
    figure
        Whether it is about a published figure, whoever looks at it.
    """

    rule: str
    outcome: Outcome
    variables: tuple[str, ...]
    labels: tuple[Label, ...]
    evidence: str
    change: str = ""
    values: ValueSet | None = None
    count: int | None = None
    response: str | None = None
    respondent: tuple[Label, ...] | None = None
    partner: tuple[Label, ...] | None = None
    figure: bool = False

    @property
    def where(self) -> str:
        """The place in words: labels, and whose they are where they are mere numbers."""
        pairs = zip(self.variables, map(str, self.labels), strict=True)
        texts = [f"{name}={label}" if label.isdecimal() else label for name, label in pairs]
        place = ", ".join(texts) or "everybody"
        return place if self.response is None else f"{place} ({self.response})"

    @property
    def place_key(self) -> tuple[object, ...]:
        """What it is about: rule, place, and who looks."""
        where = self.rule, self.response, self.variables, self.labels
        return (*where, self.respondent, self.partner)

    @property
    def whose(self) -> str:
        """The cells of the people who look, in words; empty if they are not in the table."""
        cells = [self.respondent, self.partner]
        return " and ".join(", ".join(map(str, cell)) for cell in cells if cell is not None)

    def place(self, over: tuple[str, ...]) -> str:
        """The place in words, beside cells of `over`: of another margin, with the margin."""
        elsewhere = self.values is not None and self.variables != over
        return f"[{names_text(self.variables)}] {self.where}" if elsewhere else self.where

    def to_dict(self) -> dict[str, Any]:
        """Plain values; everything, for the owner."""
        entries: dict[str, Any] = {
            "rule": self.rule,
            "outcome": self.outcome.value,
            "cell": dict(zip(self.variables, self.labels, strict=True)),
            **picked(self, "response", "respondent", "evidence", "change"),
        }
        if self.partner is not None:
            entries["partner"] = list(self.partner)
        if self.values is not None:
            entries |= value_entries(self.values)
        if self.count is not None:
            entries["count"] = self.count
        return entries


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """UNSAFE if one is, else UNDECIDED if one is, else SAFE."""
    so_far = Outcome.SAFE
    for outcome in outcomes:
        if outcome is Outcome.UNSAFE:
            return outcome
        if outcome is Outcome.UNDECIDED:
            so_far = outcome
    return so_far


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verdict(Listing):
    """Whether a release is safe under a policy, and why.

    Attributes
    ----------
    policy
        The policy that judged.
    release
        What was judged.
    cells
        The findings, one for each rule and each cell, row or figure that the rule speaks of.
    independent, outside
        Whether it was judged without the true counts, so that every table that fits must pass; or
        without a table, so that UNSAFE is what is given away whatever table is behind the release.
    over, margins
        The variables of the margin whose cells were judged, those of the table unless chosen; and
        the margins whose cells were judged besides.
    knows, intruder
        What the intruder was said to know besides; and what else he was taken to know, in words:
        from the release itself, of N, and of the structure of the table.
    notes
        What was left out, and why.
    elsewhere
        What respondents find besides, the worst of each place: `cells` sums up each of them.
    broken, open
        What breaks a rule for certain, and what could not be decided.
    outcome
        UNSAFE if a rule is broken for certain, else UNDECIDED if one is open, else SAFE.
    """

    policy: Policy
    release: Release
    cells: tuple[Finding, ...]
    independent: bool
    over: tuple[str, ...]
    knows: tuple[Statement, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    margins: tuple[tuple[str, ...], ...] = ()
    _blame: Callable[[Finding], tuple[str, ...]] | None = field(repr=False, default=None)
    elsewhere: tuple[Finding, ...] = field(repr=False, default=())
    outside: bool = False
    intruder: tuple[str, ...] = ()
    broken: tuple[Finding, ...] = field(init=False)
    open: tuple[Finding, ...] = field(init=False)
    outcome: Outcome = field(init=False)

    def __post_init__(self) -> None:
        broken = tuple(finding for finding in self.cells if finding.outcome is Outcome.UNSAFE)
        undecided = tuple(finding for finding in self.cells if finding.outcome is Outcome.UNDECIDED)
        outcome = Outcome.UNDECIDED if undecided else Outcome.SAFE
        object.__setattr__(self, "broken", broken)
        object.__setattr__(self, "open", undecided)
        object.__setattr__(self, "outcome", Outcome.UNSAFE if broken else outcome)

    @property
    def safe(self) -> bool:
        """Whether it is certain that no rule is broken."""
        return self.outcome is Outcome.SAFE

    @property
    def warning(self) -> str:
        """Whether the verdict itself gives something away."""
        return "" if self.independent or self.outside else DEPENDS

    @property
    def open_to_all(self) -> bool:
        """Whether the verdict may be shown to anybody: it rests on what everybody knows."""
        return (self.independent or self.outside) and not self.knows

    @property
    def domain(self) -> Domain:
        """The cells that were judged."""
        return self.release.domain.project(self.over)

    @property
    def outcomes(self) -> npt.NDArray[np.object_]:
        """The outcome of each cell, in the shape of the cells judged; see :meth:`at`."""
        domain = self.domain
        cells = np.full(domain.shape, Outcome.SAFE, dtype=object)
        findings = [*self.open, *self.broken, *self.elsewhere]
        # What is broken has the last word.
        for finding in sorted(findings, key=lambda finding: finding.outcome is Outcome.UNSAFE):
            names, labels = finding.variables, finding.labels
            if names == self.over:
                cells[domain.index(labels)] = finding.outcome
            else:
                touched = touched_levels(self.release.domain, self.over, names, labels)
                cells[np.ix_(*touched)] = finding.outcome
        return cells

    def at(self, *labels: Label) -> Outcome:
        """The worst finding that a cell shares people with; SAFE if no rule speaks of it."""
        outcome: Outcome = self.outcomes[self.domain.index(labels)]
        return outcome

    def blame(self, finding: Finding) -> tuple[str, ...]:
        """The statements of the release that force a finding, in the notation, worked out now.

        A smallest set for each bound (see ``Bounds.explain``); empty if it has no bound to blame.
        """
        return () if self._blame is None else self._blame(finding)

    def columns(self) -> dict[str, list[Any]]:
        """The findings column by column: a label for each variable, None where it is summed over.

        The count is there for its owner only.
        """
        named = (name for finding in self.cells for name in finding.variables)
        names = tuple(dict.fromkeys((*self.over, *named)))  # figures may be of other margins
        keys = label_keys(names, (*COLUMNS, "place"))
        header = ["rule", "outcome", "place", *keys.values(), "respondent", "evidence", "change"]
        rows: list[list[Any]] = []
        for finding in self.cells:
            place = dict(zip(finding.variables, map(str, finding.labels), strict=True))
            who = [*map(place.get, names), finding.whose or None]
            why = [finding.evidence, finding.change, finding.count]
            rows.append([finding.rule, finding.outcome.value, finding.where, *who, *why])
        # The last one, the count, has no name unless its owner looks.
        unseen = self.independent or self.outside
        return columns_of(header if unseen else [*header, "count"], rows)

    def to_dict(self, *, public: bool = False) -> dict[str, Any]:
        """Plain values, versioned.

        The public view has no confidential count. The verdict (else None) and the findings are in
        it only if they were made without the counts and without private knowledge: that a release
        is unsafe, and which cells a rule speaks of, says that counts are small.
        """
        withheld = public and not self.open_to_all
        entries: dict[str, Any] = {
            "format": FORMAT,
            "version": __version__,
            "view": "public" if public else "owner",
            "verdict": None if withheld else self.outcome.value,
            "independent": self.independent,
            "warning": self.warning,
            "policy": self.policy.to_dict(),
            "release": {"digest": self.release.digest, "statements": notations(self.release)},
            "over": list(self.over),
            "margins": [list(names) for names in self.margins],
            "knows": [statement.notation for statement in self.knows],
            "intruder": list(self.intruder),
            "outside": self.outside,
        }
        if withheld:
            return entries
        counted = Counter(finding.outcome for finding in self.cells)
        return entries | {
            "notes": list(self.notes),
            "seconds": round(self.seconds, 6),
            "summary": {outcome.value: counted[outcome] for outcome in Outcome},
            "cells": [finding.to_dict() for finding in self.cells],
        }

    def _title(self) -> str:
        about = "" if self.over == self.release.domain.names else f" over {list(self.over)}"
        return (
            f"{self.outcome} under the policy {self.policy.name}{about}: "
            f"{', '.join(notations(self.release)) or 'nothing said'}"
        )

    @property
    def besides(self) -> str:
        """The margins that were judged besides, in words; empty if there are none."""
        texts = [f"[{names_text(names)}]" for names in self.margins]
        more = len(texts) - MARGINS
        return ", ".join(texts[:MARGINS]) + (f" and {more} more margins" if more > 0 else "")

    @property
    def changes(self) -> tuple[str, ...]:
        """What would change the findings, in words, each way once."""
        ways = (finding.change for finding in (*self.broken, *self.open) if finding.change)
        return tuple(dict.fromkeys(ways))

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        shown = [*self.broken, *self.open]
        respondents = any(finding.respondent is not None for finding in shown)
        whose = ["respondent in"] if respondents else []
        header = ["outcome", "rule", "place", *whose, "evidence"]
        rows = []
        for finding in shown[:most]:
            whose = [finding.whose] if respondents else []
            rows.append(
                [str(finding.outcome), finding.rule, finding.where, *whose, finding.evidence]
            )
        ways = [f"what would change it: {change}" for change in self.changes[:CHANGES]]
        left = len(self.changes) - CHANGES
        ways += [f"... {counted(left, 'more way')}: to_frame() has them all"] if left > 0 else []
        return header, rows, "\n".join(filter(None, [more_lines(len(shown) - most), *ways]))

    def _remarks(self) -> list[str]:
        remarks = list(self.policy.sentences)
        if self.margins:
            remarks.append(f"judged besides the cells: {self.besides}")
        if self.knows:
            remarks.append(f"the intruder also knows: {', '.join(p.notation for p in self.knows)}")
        remarks += [f"the intruder knows: {sentence}" for sentence in self.intruder]
        remarks += [INDEPENDENT] if self.independent else [OUTSIDE] if self.outside else []
        return [*remarks, *self.notes]


def touched_levels(
    domain: Domain, over: Sequence[str], variables: Sequence[str], labels: Sequence[Label]
) -> list[BoolArray]:
    """For each variable of a margin, the levels that may share people with a place.

    A cell shares people with the place if all its levels do. Variables that only one of the two
    names say nothing; derived ones speak of the variable behind them.

    Examples
    --------
    >>> domain = Domain({"county": ["A", "B"], "sex": ["f", "m"]})
    >>> [one.tolist() for one in touched_levels(domain, ["sex", "county"], ["county"], ["B"])]
    [[True, True], [False, True]]
    """
    wanted: dict[str, frozenset[int]] = {}
    for name, label in zip(variables, labels, strict=True):
        of, inside = domain.base(name), domain.level_sets(name)[domain.position(name, label)]
        wanted[of] = wanted.get(of, inside) & inside
    return [
        np.array(
            [of not in wanted or bool(group & wanted[of]) for group in domain.level_sets(name)]
        )
        for name, of in zip(over, map(domain.base, over), strict=True)
    ]
