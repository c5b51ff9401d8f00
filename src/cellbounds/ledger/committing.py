"""Asking, committing and refusing: one question, judged in a state of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cellbounds.data.table import Table
from cellbounds.disclosure.policies.scenarios import checked_knowledge
from cellbounds.errors import InvalidInput
from cellbounds.ledger.answers import Answer, notations_of
from cellbounds.ledger.book import Book, Draft, Said
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.cumulative import Effort, answered, blamed
from cellbounds.ledger.errors import NotSafe
from cellbounds.ledger.lifting import Piece, informing, stacked
from cellbounds.ledger.recording import plain_release
from cellbounds.ledger.state import State
from cellbounds.ledger.supplying import Tables, supplied
from cellbounds.statements import Prior, Release
from cellbounds.statements.files import read_release
from cellbounds.statements.publishing import combined_release

__all__ = ["Judgement", "Request", "What", "ask", "commit", "refuse"]

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

    state: State
    answer: Answer
    _table: Table | None
    _effort: Effort

    @classmethod
    def of(cls, book: Book, state: State, question: Request, effort: Effort) -> Judgement:
        """Judge a question."""
        about, release, knowledge, found = _understood(book, state, question)
        whole = None if found is None else stacked(state, found)
        answer = answered(state, release, about, whole, effort, knowledge)
        return cls(state, answer, whole, effort)

    def explained(self) -> Answer:
        """The answer with the past releases that do the harm."""
        return blamed(self.state, self.answer, self._table, self._effort)


def ask(book: Book, question: Request, said: Said, effort: Effort) -> Answer:
    """Judge, and record the question and its verdict."""
    return _without_release(book, "asked", question, said, effort)[0]


def refuse(book: Book, question: Request, said: Said, effort: Effort) -> Entry:
    """Judge, and record the refusal."""
    return _without_release(book, "refused", question, said, effort)[1]


def _without_release(
    book: Book, kind: str, question: Request, said: Said, effort: Effort
) -> tuple[Answer, Entry]:
    answers: list[Answer] = []

    def drafted(state: State) -> Draft:
        answers.append(Judgement.of(book, state, question, effort).explained())
        return Draft(kind, _without_figures(answers[-1]))

    entry = book.record(drafted, said)
    assert entry is not None  # such a draft is always recorded
    return replace(answers[-1], entry=entry), entry


def commit(
    book: Book,
    question: Request,
    said: Said,
    effort: Effort,
    *,
    already_out: bool,
    record: bool,
) -> Entry:
    """Judge, and record the release, or perhaps the refusal, if nothing came in meanwhile."""
    answers: list[Answer] = []
    judged: list[Judgement] = []

    def drafted(state: State) -> Draft:
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
    book: Book, state: State, question: Request
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


def _earlier(book: Book, state: State, question: Request) -> Entry | None:
    """The entry with which this very release went out; what he knows was recorded by then too."""
    about, release, knowledge, _ = _understood(book, state, question)
    new = Piece.of(release, about, knowledge)
    past = [Piece.recorded(one) for one in state.released]
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


def _with_figures(answer: Answer, already_out: bool) -> dict[str, Any]:
    """What is recorded of a release that is out: its figures are public."""
    assert answer.release is not None  # asked with a release
    said = _without_figures(answer)
    if answer.knowledge is not None:
        said["knowledge"] = plain_release(answer.knowledge)
    return {**said, "release": plain_release(answer.release), "already_out": already_out}


def _without_figures(answer: Answer) -> dict[str, Any]:
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
