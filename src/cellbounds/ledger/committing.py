"""Asking, committing and refusing: one question, judged in a state of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellbounds.errors import InvalidInput
from cellbounds.ledger.answers import Answer, notations_of
from cellbounds.ledger.asking import Effort, answered, blamed
from cellbounds.ledger.book import Book
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.lifting import stacked
from cellbounds.ledger.problems import NotSafe
from cellbounds.ledger.recording import plain_release
from cellbounds.ledger.state import State
from cellbounds.ledger.supplying import Tables, supplied
from cellbounds.releases import Release
from cellbounds.releases.combining import combined_release
from cellbounds.releases.files import read_release
from cellbounds.table import Table

__all__ = ["Judgement", "Question", "What", "ask", "commit", "refuse"]

What = Release | str | Sequence[str]
"""A release, or statements in the notation and release files."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is to be released, about which version, and the tables at hand."""

    what: What
    tables: Tables
    version: int | None
    total: bool


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """A question judged in a state of the ledger; who is to blame is worked out on demand."""

    state: State
    answer: Answer
    _table: Table | None
    _effort: Effort

    @classmethod
    def of(cls, book: Book, state: State, question: Question, effort: Effort) -> Judgement:
        """Judge a question."""
        about = state.about(question.version)
        found = supplied(state, question.tables, book.store.kept)
        own = None if found is None else found[about - 1]
        release = _release(question.what, own, question.total)
        whole = None if found is None else stacked(state, found)
        return cls(state, answered(state, release, about, whole, effort), whole, effort)

    def explained(self) -> Answer:
        """The answer with the past releases that do the harm."""
        return blamed(self.state, self.answer, self._table, self._effort)


def ask(book: Book, question: Question, who: str | None, why: str, effort: Effort) -> Answer:
    """Judge, and record the question and its verdict."""
    with book.writing() as page:
        answer = Judgement.of(book, page.state, question, effort).explained()
        page.append("asked", who, why, _without_figures(answer))
        return answer


def commit(
    book: Book,
    question: Question,
    said: tuple[str | None, str],
    effort: Effort,
    *,
    already_out: bool,
    record: bool,
) -> Entry:
    """Judge under the lock, and record the release, or perhaps the refusal."""
    who, why = said
    with book.writing() as page:
        judged = Judgement.of(book, page.state, question, effort)
        answer = judged.answer
        if answer.safe or already_out:
            return page.append("released", who, why, _with_figures(answer, already_out))
        if record:
            answer = judged.explained()
            page.append("refused", who, why, _without_figures(answer))
    if not record:
        answer = judged.explained()  # nobody has to wait for the reasons
    raise NotSafe(f"not committed: {answer.reason}", answer)


def refuse(book: Book, question: Question, said: tuple[str | None, str], effort: Effort) -> Entry:
    """Judge, and record the refusal."""
    who, why = said
    with book.writing() as page:
        answer = Judgement.of(book, page.state, question, effort).explained()
        return page.append("refused", who, why, _without_figures(answer))


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
    return {**said, "release": plain_release(answer.release), "already_out": already_out}


def _without_figures(answer: Answer) -> dict[str, Any]:
    """What is recorded of a question or a refusal: figures that are not out stay out of it."""
    assert answer.release is not None  # asked with a release
    return {
        "statements": notations_of(answer.release),
        "digest": answer.release.digest,
        "version": answer.version,
        "judged": answer.summary(),
    }
