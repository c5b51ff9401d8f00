"""What is recorded: questions, releases and refusals, another policy, a finer or later table.

Each is judged in a state of the ledger, and recorded with its verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.policies import GroupDisclosure, Policy
from cellbounds.disclosure.policies.scenarios import checked_knowledge
from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.errors import NotSafe
from cellbounds.ledger.journal import Draft, Journal, LedgerState, Revision, Said, plain_layout
from cellbounds.ledger.judgement import Budget, LedgerAnswer, answered, blamed, notations_of
from cellbounds.ledger.serialization import plain_policy, plain_release
from cellbounds.ledger.versions import (
    Published,
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
from cellbounds.statements import Prior, Release
from cellbounds.statements.combining import combined_release
from cellbounds.statements.files import read_release

__all__ = [
    "Between",
    "Judgement",
    "Request",
    "What",
    "ask",
    "bare",
    "change_policy",
    "checked_policy",
    "commit",
    "grow",
    "protected",
    "refine",
    "refuse",
    "revise",
]

What = Release | str | Sequence[str]
"""A release, or statements in the notation and release files."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is to be released, about which version, the tables at hand, and who looks at it."""

    what: What
    tables: Tables
    version: int | None
    total: bool
    knows: Iterable[Prior] = ()

    def __post_init__(self) -> None:
        # Checked before anything is judged, and listed: it may be asked for more than once.
        object.__setattr__(self, "knows", checked_knowledge(self.knows))


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """A question judged in a state of the ledger; who is to blame is worked out on demand."""

    state: LedgerState
    answer: LedgerAnswer
    _table: Table | None
    _effort: Budget

    @classmethod
    def of(cls, book: Journal, state: LedgerState, question: Request, effort: Budget) -> Judgement:
        """Judge a question."""
        about, release, knowledge, found = _understood(book, state, question)
        whole = None if found is None else stacked(state, found)
        answer = answered(state, release, about, whole, effort, knowledge)
        return cls(state, answer, whole, effort)

    def explained(self) -> LedgerAnswer:
        """The answer with the past releases that do the harm."""
        return blamed(self.state, self.answer, self._table, self._effort)


def ask(book: Journal, question: Request, said: Said, effort: Budget) -> LedgerAnswer:
    """Judge, and record the question and its verdict."""
    return _without_release(book, "asked", question, said, effort)[0]


def refuse(book: Journal, question: Request, said: Said, effort: Budget) -> Entry:
    """Judge, and record the refusal."""
    return _without_release(book, "refused", question, said, effort)[1]


def _without_release(
    book: Journal, kind: str, question: Request, said: Said, effort: Budget
) -> tuple[LedgerAnswer, Entry]:
    answers: list[LedgerAnswer] = []

    def drafted(state: LedgerState) -> Draft:
        answers.append(Judgement.of(book, state, question, effort).explained())
        return Draft(kind, _without_figures(answers[-1]))

    entry = book.record(drafted, said)
    assert entry is not None  # such a draft is always recorded
    return replace(answers[-1], entry=entry), entry


def commit(
    book: Journal,
    question: Request,
    said: Said,
    effort: Budget,
    *,
    already_out: bool,
    record: bool,
) -> Entry:
    """Judge, and record the release, or perhaps the refusal, if nothing came in meanwhile."""
    answers: list[LedgerAnswer] = []
    judged: list[Judgement] = []

    def drafted(state: LedgerState) -> Draft:
        earlier = _earlier(book, state, question)
        if earlier is not None:
            return Draft(earlier=earlier)
        judged.append(Judgement.of(book, state, question, effort))
        answers.append(judged[-1].answer)
        if answers[-1].safe or already_out:
            return Draft("released", _with_figures(answers[-1], already_out))
        if not record:
            return Draft()
        answers.append(judged[-1].explained())
        return Draft("refused", _without_figures(answers[-1]))

    entry = book.record(drafted, said)
    if entry is not None and entry.kind == "released":
        return entry
    answer = judged[-1].explained() if entry is None else answers[-1]
    raise NotSafe(f"not committed: {answer.reason}", replace(answer, entry=entry))


def _understood(
    book: Journal, state: LedgerState, question: Request
) -> tuple[int, Release, Release | None, list[Table] | None]:
    """The version, the release and what an intruder knows, and the tables at hand."""
    about = state.about(question.version)
    found = supplied(state, question.tables, book.store.kept)
    own = None if found is None else found[about - 1]
    release = _release(question.what, own, question.total)
    if not question.knows:
        return about, release, None, found
    domain = state.domain.with_groupings(release.domain.groupings)
    if own is not None:
        domain = domain.with_groupings(own.domain.groupings)
    return about, release, Release(domain, question.knows), found


def _earlier(book: Journal, state: LedgerState, question: Request) -> Entry | None:
    """The entry with which this very release went out; what he knows was recorded by then too."""
    about, release, knowledge, _ = _understood(book, state, question)
    new = Published.of(release, about, knowledge)
    past = [Published.recorded(one) for one in state.released]
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
    said = _without_figures(answer)
    if answer.knowledge is not None:
        said["knowledge"] = plain_release(answer.knowledge)
    return {**said, "release": plain_release(answer.release), "already_out": already_out}


def _without_figures(answer: LedgerAnswer) -> dict[str, Any]:
    """What is recorded of a question or a refusal: figures that are not out stay out of it."""
    assert answer.release is not None  # asked with a release
    said = {
        "statements": notations_of(answer.release),
        "digest": answer.release.digest,
        "version": answer.version,
        "judged": answer.summary(),
    }
    if answer.knowledge is not None:
        said["knows"] = [one.notation for one in answer.knowledge.statements]
    return said


def bare(table: Table) -> Table:
    """A table without its derived variables, which statements bring along."""
    levels = {name: table.domain.levels(name) for name in table.domain.names}
    return Table(Domain(levels), table.counts, structural=table.structural)


def protected(domain: Domain, margins: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Margins to protect, each once, checked."""
    found = [domain.distinct(one) for one in margins]
    for names in found:
        domain.axes(names)  # derived variables are not the table's own
        if not names:
            raise InvalidInput("a margin to protect names no variable; name at least one")
    return tuple(dict.fromkeys(found))


def checked_policy(policy: Policy, domain: Domain) -> Policy:
    """A policy whose rules name variables of the table only."""
    for rule in policy.rules:
        if isinstance(rule, GroupDisclosure):
            domain.axes((*(rule.responses or ()), *(rule.given or ())))
    return policy


def change_policy(
    book: Journal,
    policy: Policy | None,
    independent: bool | None,
    protect: Sequence[Sequence[str]],
    tables: Tables,
    said: Said,
    effort: Budget,
) -> LedgerAnswer:
    """Judge by another policy from now on, or more margins by the same."""

    def changed(state: LedgerState) -> Change:
        after = replace(
            state,
            policy=state.policy if policy is None else checked_policy(policy, state.domain),
            independent=state.independent if independent is None else independent,
            protected=protected(state.domain, (*state.protected, *protect)),
        )
        content = {
            "policy": plain_policy(after.policy),
            "independent": after.independent,
            "protected": [list(one) for one in after.protected],
        }
        return Change("policy", content, after, supplied(after, tables, book.store.kept))

    return _recorded(book, changed, said, effort)


def refine(
    book: Journal, tables: Table | Sequence[Table], said: Said, effort: Budget
) -> LedgerAnswer:
    """Go on with a table of additional variables."""

    def changed(state: LedgerState) -> Change:
        given = listed(tables)
        if _brought(state, "refined", digests=sorted(bare(one).digest for one in given)):
            return Change("", {}, state, supplied(state, given, book.store.kept))
        finer = [bare(one) for one in check_refined(state, given)]
        domain, digests = finer[0].domain, tuple(one.digest for one in finer)
        after = replace(
            state,
            domain=domain,
            structural=finer[0].structural,
            digests=digests,
            protected=(domain.names, *state.protected),
        )
        content = {**plain_layout(finer[0]), "digests": list(digests)}
        return Change("refined", content, after, finer, finer)

    return _recorded(book, changed, said, effort)


Between = int | tuple[int, int | None] | None
"""A number that is known, two between which it is known to be (None: no end), or nothing."""


def grow(book: Journal, table: Table, earlier: Tables, said: Said, effort: Budget) -> LedgerAnswer:
    """Go on with a later version of the table, to which records were added."""
    return _another_version(book, table, earlier, None, said, effort)


def revise(
    book: Journal,
    table: Table,
    earlier: Tables,
    known: tuple[Between, Between],
    said: Said,
    effort: Budget,
) -> LedgerAnswer:
    """Go on with a later version, from which records were removed too, or moved to other cells."""
    removed, added = known
    counted = _checked_between("removed", removed), _checked_between("added", added)
    return _another_version(book, table, earlier, counted, said, effort)


def _another_version(
    book: Journal,
    table: Table,
    earlier: Tables,
    known: tuple[tuple[int, int | None], tuple[int, int | None]] | None,
    said: Said,
    effort: Budget,
) -> LedgerAnswer:
    kind = "grown" if known is None else "revised"
    counted = {} if known is None else {"removed": list(known[0]), "added": list(known[1])}

    def changed(state: LedgerState) -> Change:
        later = bare(check_version(state, table))
        if _brought(state, kind, digest=later.digest, **counted):
            every = [*listed(earlier), table]
            return Change("", {}, state, supplied(state, every, book.store.kept))
        before = supplied(replace(state, independent=False), earlier, book.store.kept)
        assert before is not None  # without `independent` a missing table is an error
        check_change(before[-1], later, only_added=known is None)
        after = replace(state, digests=(*state.digests, later.digest))
        if known is not None:
            revision = Revision(after.versions, *known)
            _check_stated(revision, before[-1], later)
            after = replace(after, revisions=(*state.revisions, revision))
        content = {"digest": later.digest, **counted}
        return Change(kind, content, after, [*before, later], [later])

    return _recorded(book, changed, said, effort)


def _brought(state: LedgerState, kind: str, **content: object) -> bool:
    """Whether the newest table came with a change that says the same."""
    source = state.source
    if source is None or source.kind != kind:
        return False
    said = source.content
    if "digests" in content:
        return sorted(said["digests"]) == content["digests"]
    return all(said[key] == value for key, value in content.items())


def _check_stated(revision: Revision, before: Table, later: Table) -> None:
    """Check that an intruder knows what is true: the tables tell by their fewest changes."""
    change = later.counts - before.counts
    for what, found, (low, high) in (
        ("removed", int(np.maximum(-change, 0).sum()), revision.removed),
        ("added", int(np.maximum(change, 0).sum()), revision.added),
    ):
        if found < low or (high is not None and found > high):
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


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A change of the ledger itself: the entry, the state after it, and the tables of that.

    `kept` are the tables that are new, to be kept if the ledger keeps them. No kind: the ledger is
    in this state by its last change.
    """

    kind: str
    content: dict[str, Any]
    after: LedgerState
    tables: list[Table] | None
    kept: Sequence[Table] = ()


def _recorded(
    book: Journal, changed: Callable[[LedgerState], Change], said: Said, effort: Budget
) -> LedgerAnswer:
    """Judge what is out in the new state, and record the change with the verdict."""
    answers: list[LedgerAnswer] = []

    def drafted(state: LedgerState) -> Draft:
        change = changed(state)
        after, tables = change.after, change.tables
        whole = None if tables is None else stacked(after, tables)
        answers.append(answered(after, None, after.versions, whole, effort))
        content = {**change.content, "judged": answers[-1].summary()}
        kept = {one.digest: kept_text(one) for one in change.kept if after.kept}
        return Draft(change.kind, content, kept, None if change.kind else state.source)

    entry = book.record(drafted, said)
    return replace(answers[-1], entry=entry)
