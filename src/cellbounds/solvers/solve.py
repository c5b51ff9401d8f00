"""The only chooser: finds the method for a question, and keeps why others were refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path

from cellbounds.certificates.making import certify
from cellbounds.data.domain import Label
from cellbounds.data.table import Table
from cellbounds.errors import InconsistentRelease, InvalidInput, UnsupportedRelease
from cellbounds.model.constraints import violations
from cellbounds.model.effort import Effort, opened
from cellbounds.model.structure import gather
from cellbounds.reductions.unnamed_variables import narrowed_question
from cellbounds.results import Attainable, Bounds, Explanation
from cellbounds.results.cell_index import Position
from cellbounds.results.solution import Method, Query, Solution
from cellbounds.results.targets import asked_positions, check_listable
from cellbounds.runtime.checkpoints import Checkpoint
from cellbounds.solvers.contradictions import contradiction
from cellbounds.solvers.explanations import explain_bounds
from cellbounds.solvers.registry import ordered_methods
from cellbounds.statements import Release

__all__ = ["KINDS", "attainable", "bounds"]

SHARE = 0.75
"""The part of a budget for bounds when every attainable value is asked for."""

KINDS = ("sharp", "linear", "improved", "improved-verbal")


def bounds(
    release: Release,
    *,
    kind: str = "sharp",
    over: Iterable[str] | None = None,
    cells: Iterable[Sequence[Label]] | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
    start: Table | None = None,
    progress: Callable[[int, int], None] | None = None,
    state: str | Path | Checkpoint | None = None,
) -> Bounds:
    """The smallest and largest count that each cell can have, given a release.

    Parameters
    ----------
    release
        What was said.
    kind
        ``"sharp"``: attained by tables of counts. ``"linear"``: of the linear relaxation, in exact
        fractions; a list of possible counts is relaxed to all between the smallest and the largest
        of those that other bounds on the same count, and N, allow. ``"improved"``,
        ``"improved-verbal"``: document 000's closed forms for exact rates.
    over
        Ask about this margin instead of the cells; axes in the order given.
    cells
        Ask about these cells only, each a tuple of labels, one for each variable of `over` (of
        the domain if that is not given). The answer's arrays then have one axis, in the order
        asked, and nothing is worked out for the other cells.
    seconds
        A budget. What is not settled by then comes back proven (`lower`, `upper`) and attained
        (`attained_lower`, `attained_upper`), with evidence OUTER. Of linear bounds, `settled` says
        which are the optimum; the others are proven.
    executor
        Workers to share long work with, such as a ``ProcessPoolExecutor``.
    start
        A consistent table that is known already, such as the owner's: the first witness.
    progress
        Called with the steps done and the steps in all.
    state
        A file that keeps what was proven and found, made if it is not there: the same question
        goes on from it after it was stopped, by whatever means. As confidential as the table if
        there is a `start`; keep it from others in any case, since what it says is believed.

    Raises
    ------
    InconsistentRelease
        If no table fits (for ``kind="linear"``: no table of real numbers).
    UnsupportedRelease
        If no method answers this question; the message says why each refused.
    TooMuchWork
        If the question is about more cells than can be listed.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.example_table("mp3"), "[mp3|gender]")
    >>> answer = cb.bounds(release)
    >>> answer["Male", "yes"]
    (3, 27)
    >>> answer.witness("Male", "yes", at="upper").counts
    array([[27, 18],
           [ 1,  4]])
    >>> print(cb.bounds(release, kind="linear", over=["gender"]))
    linear bounds over ['gender'] given [mp3|gender], N=50
    gender  lower  upper
    Male    1      49
    Female  1      49
    >>> print(cb.bounds(release, cells=[("Female", "no")]))
    sharp bounds of 1 cell given [mp3|gender], N=50
    gender  mp3  lower  upper
    Female  no   4      36
    """
    if kind not in KINDS:
        raise InvalidInput(f"kind {kind!r}; choose one of {', '.join(KINDS)}")
    begun = time.perf_counter()
    effort = Effort.of(seconds, executor, start, progress)
    question = _question(release, kind, over, cells, effort, state)
    method, worked = _answered(release, question)
    lower, upper = worked.bounds()
    lower.flags.writeable = upper.flags.writeable = False
    sharp = kind == "sharp"
    return Bounds(
        release,
        question.over,
        method.name,
        worked.evidence,
        time.perf_counter() - begun,
        worked if sharp else None,
        question.places(release.domain),
        lower,
        upper,
        kind,
        partial(_explained, worked, release, question, method.name) if sharp else None,
        worked.attained() if kind in ("sharp", "linear") else None,
        partial(certify, worked, release, question, method.name, start is not None)
        if sharp
        else None,
    )


def attainable(
    release: Release,
    *,
    over: Iterable[str] | None = None,
    cells: Iterable[Sequence[Label]] | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
    start: Table | None = None,
    progress: Callable[[int, int], None] | None = None,
    state: str | Path | Checkpoint | None = None,
) -> Attainable:
    """Every count that each cell can have, gaps included; arguments as for :func:`bounds`.

    Under a budget, sets know their `unknown` numbers, and what needs those raises Unsettled.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.example_table("mp3"), "[mp3|gender]")
    >>> cb.attainable(release)["Male", "yes"]
    ValueSet(3, 6, 9, 12, 15, 18, 21, 24, 27)
    >>> cb.attainable(release, over=["gender"])["Male"].size
    9
    """
    begun = time.perf_counter()
    effort = Effort.of(seconds, executor, start, progress, SHARE)
    question = _question(release, "sharp", over, cells, effort, state)
    method, worked = _answered(release, question)
    took = time.perf_counter() - begun
    places = question.places(release.domain)
    return Attainable(
        release,
        question.over,
        method.name,
        worked.evidence,
        took,
        worked,
        places,
        partial(certify, worked, release, question, method.name, start is not None),
    )


def _question(
    release: Release,
    kind: str,
    over: Iterable[str] | None,
    cells: Iterable[Sequence[Label]] | None,
    effort: Effort,
    state: str | Path | Checkpoint | None,
) -> Query:
    asked = _margin(release, over)
    margin = release.domain.project(asked)
    chosen = None if cells is None else asked_positions(margin, cells)
    if chosen is None:
        check_listable(release, asked, some="about some of them: cells=[(label, ...), ...]")
    start = effort.start
    if start is not None and not isinstance(start, Table):
        raise InvalidInput(f"start={start!r}; give a Table that the release was made from")
    if effort.progress is not None and not callable(effort.progress):
        raise InvalidInput(
            f"progress={effort.progress!r}; give a function of the steps done and the steps in all"
        )
    if start is not None:
        broken = violations(release, start)
        if broken:
            raise InvalidInput(
                f"the table to start from contradicts {', '.join(broken)}; give one that the "
                "release was made from"
            )
    kept = opened(state, release, kind, asked, chosen, start=start is not None)
    return Query(kind, asked, replace(effort, state=kept), chosen)


def _answered(release: Release, question: Query) -> tuple[Method, Solution]:
    """Method and answer; a contradiction is named by the statements that make it."""
    try:
        method, worked = _set_to_work(release, question)
        worked.settle()
    except InconsistentRelease as problem:
        facts = gather(narrowed_question(release, question).release)
        if question.kind != "sharp" or facts.conditional is not None:
            raise
        raise contradiction(_solved, release, problem) from None
    return method, worked


def _explained(
    worked: Solution, release: Release, question: Query, method: str, labels: tuple[Label, ...]
) -> Explanation:
    solver: Callable[[Release, tuple[str, ...]], Solution] = _solved
    if question.cells is not None:
        # Nor does the explanation ask about all cells of a margin that may be huge.
        index = release.domain.project(question.over).index(labels)
        solver = partial(_solved, cells=(index,))
    return explain_bounds(solver, worked, release, question.over, method, labels)


def _solved(
    release: Release, over: tuple[str, ...], cells: tuple[Position, ...] | None = None
) -> Solution:
    return _set_to_work(release, Query("sharp", over, cells=cells))[1]


def _margin(release: Release, over: Iterable[str] | None) -> tuple[str, ...]:
    if over is None:
        return release.domain.names
    asked = release.domain.distinct(over)
    if not asked:
        raise InvalidInput("over=[] names no variable; the total N is in the release itself")
    return asked


def _ask(release: Release, question: Query) -> Solution:
    return _set_to_work(release, question)[1]


METHODS = ordered_methods(_ask)


def _set_to_work(release: Release, question: Query) -> tuple[Method, Solution]:
    narrowed = narrowed_question(release, question)
    facts = gather(narrowed.release)
    refusals = []
    for method in METHODS:
        refusal = method.refusal(facts, narrowed.question)
        if refusal is None:
            return method, narrowed.widened(method.work(facts, narrowed.question))
        refusals.append((method.name, refusal))
    said = "; ".join(f"{name}: {why}" for name, why in refusals if not why.endswith(" bounds only"))
    raise UnsupportedRelease(
        f"no method answers {question.kind} bounds over {list(question.over)} from "
        f"{', '.join(s.notation for s in release.statements) or 'an empty release'} ({said})"
    )
