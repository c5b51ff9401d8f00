"""What is recorded: questions, releases and refusals, another policy, a finer or later table.

Each is judged in a state of the ledger, and recorded with its verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.policies.scenarios import checked_knowledge
from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.errors import NotSafe
from cellbounds.ledger.journal import Draft, Journal, LedgerState, Signed, changed, plain_layout
from cellbounds.ledger.judgement import LedgerAnswer, answered, blamed, notations_of
from cellbounds.ledger.serialization import plain_release
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
from cellbounds.statements import Prior, Release
from cellbounds.statements.publishing import combined_release
from cellbounds.statements.release_files import read_release

__all__ = [
    "Between",
    "ReleaseRequest",
    "What",
    "another_version",
    "bare",
    "change_policy",
    "checked_policy",
    "commit",
    "judged",
    "protected",
    "record_judged",
    "refine",
]

What = Release | str | Sequence[str]
"""A release, or statements in the notation and release files."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseRequest:
    """What is to be released, about which version, the tables at hand, and who looks at it."""

    what: What
    tables: Tables
    version: int | None
    total: bool
    knows: Iterable[Prior] = ()

    def __post_init__(self) -> None:
        # Checked before anything is judged, and listed: it may be asked for more than once.
        object.__setattr__(self, "knows", checked_knowledge(self.knows))


def judged(
    book: Journal,
    state: LedgerState,
    request: ReleaseRequest,
    budget: Budget,
    *,
    blame: bool = True,
) -> LedgerAnswer:
    """Judge a release in a state of the ledger, and say which past releases do the harm."""
    about, release, knowledge, tables = _understood(book, state, request)
    whole = None if tables is None else stacked(state, tables)
    answer = answered(state, release, about, whole, budget, knowledge=knowledge)
    return blamed(state, answer, whole, budget) if blame else answer


def record_judged(
    book: Journal, kind: str, request: ReleaseRequest, signed: Signed, budget: Budget
) -> tuple[LedgerAnswer, Entry]:
    """Judge, and record the question (``"asked"``) or the refusal (``"refused"``)."""
    answers: list[LedgerAnswer] = []

    def drafted(state: LedgerState) -> Draft:
        answers.append(judged(book, state, request, budget))
        return Draft(kind, _without_figures(answers[-1]))

    entry = book.record(drafted, signed)
    assert entry is not None  # such a draft is always recorded
    return replace(answers[-1], entry=entry), entry


def commit(
    book: Journal,
    request: ReleaseRequest,
    signed: Signed,
    budget: Budget,
    *,
    already_out: bool,
    record: bool,
) -> Entry:
    """Judge, and record the release, or perhaps the refusal, if nothing came in meanwhile."""
    answers: list[LedgerAnswer] = []

    def drafted(state: LedgerState) -> Draft:
        earlier = _earlier(book, state, request)
        if earlier is not None:
            return Draft(earlier=replace(earlier, repeated=True))
        answer = judged(book, state, request, budget, blame=not already_out)
        answers.append(answer)
        if answer.safe or already_out:
            return Draft("released", _with_figures(answer, already_out))
        return Draft("refused", _without_figures(answer)) if record else Draft()

    entry = book.record(drafted, signed)
    if entry is not None and entry.kind == "released":
        return entry
    answer = replace(answers[-1], entry=entry)
    raise NotSafe(f"not committed: {answer.reason}", answer)


def _understood(
    book: Journal, state: LedgerState, request: ReleaseRequest
) -> tuple[int, Release, Release | None, list[Table] | None]:
    """The version, the release and what an intruder knows, and the tables at hand."""
    about = state.about(request.version)
    tables = supplied(state, request.tables, book.store.kept)
    own = None if tables is None else tables[about - 1]
    release = _release(request.what, own, request.total)
    if not request.knows:
        return about, release, None, tables
    domain = state.domain.with_groupings(release.domain.groupings)
    if own is not None:
        domain = domain.with_groupings(own.domain.groupings)
    return about, release, Release(domain, request.knows), tables


def _earlier(book: Journal, state: LedgerState, request: ReleaseRequest) -> Entry | None:
    """The entry with which this very release went out; what he knows was recorded by then too."""
    about, release, knowledge, _ = _understood(book, state, request)
    new = PublishedRelease.of(release, about, knowledge)
    past = [PublishedRelease.recorded(entry) for entry in state.released]
    if len(informing(state, [*past, new])[1]) > len(informing(state, past)[1]):
        return None
    for entry in state.released:
        if (entry.content["digest"], entry.content["version"]) == (release.digest, about):
            return entry
    return None


def _release(what: What, table: Table | None, total: bool) -> Release:
    """A release as it is, or made from statements and files."""
    if isinstance(what, Release):
        return what
    sources = [what] if isinstance(what, str) else list(what)
    if not sources or not all(isinstance(one, str) for one in sources):
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


def _with_figures(answer: LedgerAnswer, already_out: bool) -> dict[str, Any]:
    """What is recorded of a release that is out: its figures are public."""
    assert answer.release is not None  # asked with a release
    content = _without_figures(answer)
    if answer.knowledge is not None:
        content["knowledge"] = plain_release(answer.knowledge)
    return {**content, "release": plain_release(answer.release), "already_out": already_out}


def _without_figures(answer: LedgerAnswer) -> dict[str, Any]:
    """What is recorded of a question or a refusal: figures that are not out stay out of it."""
    assert answer.release is not None  # asked with a release
    content = {
        "statements": notations_of(answer.release),
        "digest": answer.release.digest,
        "version": answer.version,
        "judged": answer.summary(),
    }
    if answer.knowledge is not None:
        content["knows"] = [statement.notation for statement in answer.knowledge.statements]
    return content


def bare(table: Table) -> Table:
    """A table without its derived variables, which statements bring along."""
    levels = {name: table.domain.levels(name) for name in table.domain.names}
    return Table(Domain(levels), table.counts, structural=table.structural)


def protected(domain: Domain, margins: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Margins to protect, each once, checked."""
    distinct = [domain.distinct(names) for names in margins]
    for names in distinct:
        domain.axes(names)  # derived variables are not the table's own
        if not names:
            raise InvalidInput("a margin to protect names no variable; name at least one")
    return tuple(dict.fromkeys(distinct))


def checked_policy(policy: Policy, domain: Domain) -> Policy:
    """A policy whose rules name variables of the table only."""
    for rule in policy.rules:
        domain.axes(rule.variables)
    return policy


class Change(NamedTuple):
    """A change of the ledger itself: its entry, the tables at hand, and those to keep with it.

    No kind: the ledger is in this state by its last change.
    """

    kind: str
    content: dict[str, Any]
    tables: Tables
    new: Sequence[Table] = ()


def change_policy(
    book: Journal,
    signed: Signed,
    budget: Budget,
    *,
    policy: Policy | None,
    independent: bool | None,
    protect: Sequence[Sequence[str]],
    tables: Tables,
) -> LedgerAnswer:
    """Judge by another policy from now on, or more margins by the same."""

    def change(state: LedgerState) -> Change:
        chosen = state.policy if policy is None else checked_policy(policy, state.domain)
        margins = protected(state.domain, (*state.protected, *protect))
        content = {
            "policy": chosen.to_dict(),
            "independent": state.independent if independent is None else independent,
            "protected": [list(names) for names in margins],
        }
        return Change("policy", content, tables)

    return _record_change(book, change, signed, budget)


def refine(
    book: Journal, tables: Table | Sequence[Table], signed: Signed, budget: Budget
) -> LedgerAnswer:
    """Go on with a table of additional variables."""

    def change(state: LedgerState) -> Change:
        given = listed(tables)
        if _brought(state, "refined", digests=sorted(bare(table).digest for table in given)):
            return Change("", {}, given)
        finer = [bare(table) for table in check_refined(state, given)]
        content = {**plain_layout(finer[0]), "digests": [table.digest for table in finer]}
        return Change("refined", content, finer, finer)

    return _record_change(book, change, signed, budget)


Between = int | tuple[int, int | None] | None
"""A number that is known, two between which it is known to be (None: no end), or nothing."""


def another_version(
    book: Journal,
    signed: Signed,
    budget: Budget,
    table: Table,
    earlier: Tables,
    known: dict[str, Between] | None = None,
) -> LedgerAnswer:
    """Go on with a later version of the table, to which records were added.

    With what is `known` of how many were removed and added, some may have been removed too, or
    moved to other cells.
    """
    kind = "grown" if known is None else "revised"
    counted = {what: list(_checked_between(what, ends)) for what, ends in (known or {}).items()}

    def change(state: LedgerState) -> Change:
        later = bare(check_version(state, table))
        if _brought(state, kind, digest=later.digest, **counted):
            return Change("", {}, [*listed(earlier), table])
        before = supplied(replace(state, independent=False), earlier, book.store.kept)
        assert before is not None  # without `independent` a missing table is an error
        check_change(before[-1], later, only_added=known is None)
        _check_stated(counted, before[-1], later)
        return Change(kind, {"digest": later.digest, **counted}, [*before, later], [later])

    return _record_change(book, change, signed, budget)


def _brought(state: LedgerState, kind: str, **content: object) -> bool:
    """Whether the newest table came with a change that says the same."""
    source = state.source
    if source is None or source.kind != kind:
        return False
    recorded = source.content
    if "digests" in content:
        return sorted(recorded["digests"]) == content["digests"]
    return all(recorded[key] == value for key, value in content.items())


def _check_stated(counted: dict[str, list[int | None]], before: Table, later: Table) -> None:
    """Check that an intruder knows what is true: the tables tell by their fewest changes."""
    change = later.counts - before.counts
    for what, (low, high) in counted.items():
        number = int(np.maximum(-change if what == "removed" else change, 0).sum())
        if number < (low or 0) or (high is not None and number > high):
            raise InvalidInput(
                f"{what}: the tables differ by another number of {what} records than is stated; an "
                "intruder knows what is true: count the records that cells have more or fewer"
            )


def _checked_between(what: str, given: object) -> tuple[int, int | None]:
    ends = (0, None) if given is None else given
    if isinstance(ends, int) and not isinstance(ends, bool):
        ends = ends, ends
    if isinstance(ends, tuple) and len(ends) == 2:
        low, high = ends
        whole = [one for one in ends if isinstance(one, int) and not isinstance(one, bool)]
        if len(whole) + (high is None) == 2 and low >= 0 and (high is None or low <= high):
            return low, high
    raise InvalidInput(
        f"{what}={given!r}; give the number of records that an intruder knows, two numbers between "
        "which he knows it to be, or nothing"
    )


def _record_change(
    book: Journal, change: Callable[[LedgerState], Change], signed: Signed, budget: Budget
) -> LedgerAnswer:
    """Judge what is out in the new state, and record the change with the verdict."""
    answers: list[LedgerAnswer] = []

    def drafted(state: LedgerState) -> Draft:
        kind, content, given, new = change(state)
        after = changed(state, kind, content)
        tables = supplied(after, given, book.store.kept)
        whole = None if tables is None else stacked(after, tables)
        answers.append(answered(after, None, after.versions, whole, budget))
        content = {**content, "judged": answers[-1].summary()}
        kept = {table.digest: kept_text(table) for table in new if after.kept}
        if not kind and state.source is not None:
            return Draft(earlier=replace(state.source, repeated=True))
        return Draft(kind, content, kept)

    entry = book.record(drafted, signed)
    return replace(answers[-1], entry=entry)
