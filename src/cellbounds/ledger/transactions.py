"""What is recorded: questions, releases and refusals, another policy, a finer or later table.

Each is judged in a state of the ledger, and recorded with its verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.policies.knowledge import checked_knowledge
from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.journal import Draft, Journal, LedgerState, changed
from cellbounds.ledger.judgement import LedgerAnswer, answered, blamed, notations_of
from cellbounds.ledger.serialization import plain_layout, plain_release
from cellbounds.ledger.versions import (
    PublishedRelease,
    Tables,
    check_change,
    check_refined,
    check_version,
    informing,
    kept_text,
    listed,
    stacked,
    supplied,
)
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Release, Statement
from cellbounds.statements.release import combined_release
from cellbounds.statements.release_files import read_release

What = Release | str | Sequence[str]
"""A release, or statements in the notation and release files."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseRequest:
    """What is to be released, about which version, the tables at hand, and who looks at it."""

    what: What
    tables: Tables
    version: int | None
    total: bool
    knows: Iterable[Statement] = ()
    intruder: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Checked before anything is judged, and listed: it may be asked for more than once.
        object.__setattr__(self, "knows", checked_knowledge(self.knows))

    def faced(self, state: LedgerState) -> LedgerState:
        """The same state, judged against the intruder that is asked about."""
        if not self.intruder:
            return state
        return replace(state, policy=state.policy.facing(**self.intruder))

    def question(self, book: Journal, state: LedgerState) -> Question:
        """What is asked in a state of the ledger."""
        about = state.about(self.version)
        tables = supplied(state, self.tables, book.kept)
        own = None if tables is None else tables[about - 1]
        release = _release(self.what, own, self.total)
        if not self.knows:
            return Question(about, release, None, tables)
        domain = state.domain.with_groupings(release.domain.groupings)
        if own is not None:
            domain = domain.with_groupings(own.domain.groupings)
        return Question(about, release, Release(domain, self.knows), tables)


class Question(NamedTuple):
    """A request in a state of the ledger: the version, the release, what is known, the tables."""

    version: int
    release: Release
    knowledge: Release | None
    tables: list[Table] | None


def judged(
    state: LedgerState,
    request: ReleaseRequest,
    question: Question,
    budget: Budget,
    *,
    blame: bool = True,
) -> LedgerAnswer:
    """Judge a release in a state of the ledger, and say which past releases do the harm."""
    about, release, knowledge, tables = question
    state = request.faced(state)
    whole = None if tables is None else stacked(state, tables)
    answer = answered(state, release, about, whole, budget, knowledge=knowledge)
    intruder = tuple(f"{key}={value}" for key, value in request.intruder.items())
    answer = replace(answer, intruder=intruder)
    return blamed(state, answer, whole, budget) if blame else answer


def released_before(state: LedgerState, question: Question) -> Entry | None:
    """The entry with which this very release went out; what he knows was recorded by then too."""
    about, release, knowledge, _ = question
    new = PublishedRelease.of(release, about, knowledge)
    past = [PublishedRelease.recorded(entry) for entry in state.released]
    if len(informing(state, [*past, new])[1]) > len(informing(state, past)[1]):
        return None
    for entry in state.released:
        if (entry.content["digest"], entry.content["version"]) == (release.digest, about):
            return replace(entry, repeated=True)
    return None


def _release(what: What, table: Table | None, total: bool) -> Release:
    """A release as it is, or made from statements and files."""
    if isinstance(what, Release):
        return what
    sources = [what] if isinstance(what, str) else list(what)
    if not sources or not all(isinstance(source, str) for source in sources):
        raise InvalidInput(
            f"nothing to judge in {what!r}; give a Release, or statements such as '[Y|A,B]@2'"
        )
    if table is not None:
        return combined_release(table, sources, total=total)
    if len(sources) == 1 and Path(sources[0]).is_file():
        return read_release(sources[0])
    raise InvalidInput(
        "statements in the notation need the table to be worked out from; supply it (table=, "
        "--table), or give one release file"
    )


def with_figures(answer: LedgerAnswer, already_out: bool) -> dict[str, Any]:
    """What is recorded of a release that is out: its figures are public."""
    assert answer.release is not None  # asked with a release
    content = without_figures(answer)
    if answer.knowledge is not None:
        content["knowledge"] = plain_release(answer.knowledge)
    return {**content, "release": plain_release(answer.release), "already_out": already_out}


def without_figures(answer: LedgerAnswer) -> dict[str, Any]:
    """What is recorded of a question or a refusal: figures that are not out stay out of it."""
    assert answer.release is not None  # asked with a release
    content = {
        "statements": notations_of(answer.release),
        "digest": answer.release.digest,
        "version": answer.version,
        "judged": answer.summary(),
    }
    known = () if answer.knowledge is None else answer.knowledge.statements
    if known or answer.intruder:
        content["knows"] = [*(statement.notation for statement in known), *answer.intruder]
    return content


def bare(table: Table) -> Table:
    """A table without its derived variables, which statements bring along."""
    levels = {name: table.domain.levels(name) for name in table.domain.names}
    return Table(Domain(levels), table.counts, structural=table.structural)


def plain_rules(
    domain: Domain, policy: Policy, *, independent: bool, margins: Iterable[Sequence[str]]
) -> dict[str, Any]:
    """What releases are judged by, as it is recorded: rules and margins of the table's variables.

    Raises
    ------
    InvalidInput
        If a rule or a margin names another variable, or a margin none.
    """
    distinct = [domain.distinct(names) for names in margins]
    if not all(distinct):
        raise InvalidInput("a margin to protect names no variable; name at least one")
    for rule in policy.rules:
        domain.axes(rule.variables)
    protected = [list(names) for names in dict.fromkeys(distinct)]
    return {"policy": policy.to_dict(), "independent": independent, "protected": protected}


class StateChange(NamedTuple):
    """A change of the ledger itself: its entry, the tables at hand, and those to keep with it.

    No kind: the ledger is in this state by its last change.
    """

    kind: str
    content: dict[str, Any]
    tables: Tables
    new: Sequence[Table] = ()

    def drafted(self, book: Journal, state: LedgerState, budget: Budget) -> Draft:
        """Judge what is out in the new state; the change is recorded with the verdict."""
        after = changed(state, self.kind, self.content)
        tables = supplied(after, self.tables, book.kept)
        whole = None if tables is None else stacked(after, tables)
        answer = answered(after, None, after.versions, whole, budget)
        if not self.kind and state.source is not None:
            return Draft(answer=answer, earlier=replace(state.source, repeated=True))
        texts = {table.digest: kept_text(table) for table in self.new if after.kept}
        return Draft(self.kind, {**self.content, "judged": answer.summary()}, texts, answer)


def finer_tables(state: LedgerState, tables: Table | Sequence[Table]) -> StateChange:
    """Tables of additional variables, one for each version."""
    given = listed(tables)
    recorded = _brought(state, "refined")
    digests = sorted(bare(table).digest for table in given)
    if recorded and sorted(recorded["digests"]) == digests:
        return StateChange("", {}, given)
    finer = [bare(table) for table in check_refined(state, given)]
    content = {**plain_layout(finer[0]), "digests": [table.digest for table in finer]}
    return StateChange("refined", content, finer, finer)


Between = int | tuple[int, int | None] | None
"""A number that is known, two between which it is known to be (None: no end), or nothing."""


def later_version(
    book: Journal,
    table: Table,
    earlier: Tables,
    known: dict[str, Between] | None = None,
) -> Callable[[LedgerState], StateChange]:
    """A later version of the table, to which records were added.

    With what is `known` of how many were removed and added, some may have been removed too, or
    moved to other cells.
    """
    kind = "grown" if known is None else "revised"
    counted = {what: _checked_between(what, ends) for what, ends in (known or {}).items()}

    def change(state: LedgerState) -> StateChange:
        later = bare(check_version(state, table))
        recorded = {what: list(ends) for what, ends in counted.items()}
        content = {"digest": later.digest, **recorded}
        if content.items() <= _brought(state, kind).items():
            return StateChange("", {}, [*listed(earlier), table])
        before = supplied(replace(state, independent=False), earlier, book.kept)
        assert before is not None  # without `independent` a missing table is an error
        check_change(before[-1], later, only_added=known is None)
        _check_stated(counted, before[-1], later)
        return StateChange(kind, content, [*before, later], [later])

    return change


def _brought(state: LedgerState, kind: str) -> dict[str, Any]:
    """What was recorded with the newest table, if a change of this kind brought it."""
    source = state.source
    return source.content if source is not None and source.kind == kind else {}


def _check_stated(counted: dict[str, tuple[int, int | None]], before: Table, later: Table) -> None:
    """Check that an intruder knows what is true: the tables tell by their fewest changes."""
    change = later.counts - before.counts
    for what, (low, high) in counted.items():
        number = int(np.maximum(-change if what == "removed" else change, 0).sum())
        if number < low or (high is not None and number > high):
            raise InvalidInput(
                f"{what}: the tables differ by another number of {what} records than is stated; an "
                "intruder knows what is true: count the records that cells have more or fewer"
            )


def _checked_between(what: str, given: object) -> tuple[int, int | None]:
    ends = given if isinstance(given, tuple) else (0, None) if given is None else (given, given)
    match ends:
        case (int(low), int() | None as high) if not {bool} & set(map(type, ends)):
            if low >= 0 and (high is None or low <= high):
                return low, high
    raise InvalidInput(
        f"{what}={given!r}; give the number of records that an intruder knows, two numbers between "
        "which he knows it to be, or nothing"
    )
