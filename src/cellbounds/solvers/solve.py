"""Asking: bounds and attainable counts, by the reductions and the solver that fit a release."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
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
from cellbounds.reductions.decomposition import Decomposition
from cellbounds.reductions.unnamed_variables import UnnamedVariables
from cellbounds.results import Attainable, Bounds, Explanation
from cellbounds.results.cell_index import Position, asked_positions, check_listable
from cellbounds.results.solution import Query, Reduction, Solution, Solver
from cellbounds.runtime.checkpoints import Checkpoint
from cellbounds.solvers.blame import contradiction, explain_bounds
from cellbounds.solvers.closed_forms import TwoCubed
from cellbounds.solvers.conditional.relaxed import ImprovedConditional, LinearConditional
from cellbounds.solvers.conditional.sharp import SharpConditional
from cellbounds.solvers.general.solutions import GeneralLinear, GeneralSharp
from cellbounds.statements import Release

__all__ = ["KINDS", "REDUCTIONS", "SOLVERS", "attainable", "bounds", "solve"]

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
    query = _query(release, kind, over, cells, effort, state)
    with _contradictions_named(release, query):
        solution = solve(release, query)
        solution.settle()
    lower, upper = solution.bounds()
    lower.flags.writeable = upper.flags.writeable = False
    sharp = kind == "sharp"
    return Bounds(
        release=release,
        over=query.over,
        method=solution.method,
        evidence=solution.evidence,
        seconds=time.perf_counter() - begun,
        lower=lower,
        upper=upper,
        kind=kind,
        _places=solution.places,
        _source=solution if sharp else None,
        _attained=solution.attained() if kind in ("sharp", "linear") else None,
        _explain=partial(_explained, solution, release, query) if sharp else None,
        _certify=partial(certify, solution, release, query, solution.method, start is not None)
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
    query = _query(release, "sharp", over, cells, effort, state)
    with _contradictions_named(release, query):
        solution = solve(release, query)
        solution.settle()
    return Attainable(
        release=release,
        over=query.over,
        method=solution.method,
        evidence=solution.evidence,
        seconds=time.perf_counter() - begun,
        _source=solution,
        _places=solution.places,
        _certify=partial(certify, solution, release, query, solution.method, start is not None),
    )


def _query(
    release: Release,
    kind: str,
    over: Iterable[str] | None,
    cells: Iterable[Sequence[Label]] | None,
    effort: Effort,
    state: str | Path | Checkpoint | None,
) -> Query:
    """Check what is asked."""
    names = release.domain.names if over is None else release.domain.distinct(over)
    if not names:
        raise InvalidInput("over=[] names no variable; the total N is in the release itself")
    chosen = None
    if cells is not None:
        chosen = asked_positions(release.domain.project(names), cells)
    else:
        check_listable(release, names, some="about some of them: cells=[(label, ...), ...]")
    start, progress = effort.start, effort.progress
    if start is not None and not isinstance(start, Table):
        raise InvalidInput(f"start={start!r}; give a Table that the release was made from")
    if progress is not None and not callable(progress):
        raise InvalidInput(
            f"progress={progress!r}; give a function of the steps done and the steps in all"
        )
    broken = [] if start is None else violations(release, start)
    if broken:
        raise InvalidInput(
            f"the table to start from contradicts {', '.join(broken)}; give one that the "
            "release was made from"
        )
    checkpoint = opened(state, release, kind, names, chosen, start=start is not None)
    return Query(kind, names, replace(effort, state=checkpoint), chosen)


@contextmanager
def _contradictions_named(release: Release, query: Query) -> Iterator[None]:
    """A contradiction is named by the statements that make it."""
    try:
        yield
    except InconsistentRelease as problem:
        facts = gather(release)
        if UNNAMED.refusal(facts, query) is None:
            facts = gather(UNNAMED.apply(facts, query).release)
        if query.kind != "sharp" or facts.conditional is not None:
            raise
        raise contradiction(_solved, release, problem) from None


def _explained(
    solution: Solution, release: Release, query: Query, labels: tuple[Label, ...]
) -> Explanation:
    solver: Callable[[Release, tuple[str, ...]], Solution] = _solved
    if query.cells is not None:
        # Nor does the explanation ask about all cells of a margin that may be huge.
        index = release.domain.project(query.over).index(labels)
        solver = partial(_solved, cells=(index,))
    return explain_bounds(solver, solution, release, query.over, solution.method, labels)


def _solved(
    release: Release, over: tuple[str, ...], cells: tuple[Position, ...] | None = None
) -> Solution:
    return solve(release, Query("sharp", over, cells=cells))


UNNAMED = UnnamedVariables()

REDUCTIONS: tuple[Reduction, ...] = (UNNAMED, Decomposition())
"""What makes a release smaller, in the order in which it is tried."""

SOLVERS: tuple[Solver, ...] = (
    SharpConditional(),
    TwoCubed(),
    GeneralSharp(),
    LinearConditional(),
    GeneralLinear(),
    ImprovedConditional(),
)
"""In the order in which they are tried."""


def solve(release: Release, query: Query) -> Solution:
    """Reduce the release as far as it goes, then solve what is left; the only chooser there is.

    Raises
    ------
    UnsupportedRelease
        If no solver takes the query; the message says why each refused.
    """
    facts = gather(release)
    refusals = []
    for reduction in REDUCTIONS:
        refusal = reduction.refusal(facts, query)
        if refusal is None:
            reduced = reduction.apply(facts, query)
            return reduced.invert([solve(*part) for part in reduced.parts])
        refusals.append((reduction.name, refusal))
    for solver in SOLVERS:
        refusal = solver.refusal(facts, query)
        if refusal is None:
            return solver.solve(facts, query)
        refusals.append((solver.name, refusal))
    reasons = "; ".join(
        f"{name}: {why}" for name, why in refusals if why and not why.endswith(" bounds only")
    )
    raise UnsupportedRelease(
        f"no method answers {query.kind} bounds over {list(query.over)} from "
        f"{', '.join(s.notation for s in release.statements) or 'an empty release'} ({reasons})"
    )
