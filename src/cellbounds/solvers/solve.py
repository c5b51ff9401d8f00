"""Asking: bounds and attainable counts, by the reductions and the solver that fit a release."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from cellbounds.certificates.making import certify
from cellbounds.data.domain import Label
from cellbounds.data.table import Table
from cellbounds.errors import InconsistentRelease, InvalidInput, UnsupportedRelease
from cellbounds.model.constraints import violations
from cellbounds.model.structure import gather
from cellbounds.reductions.decomposition import Decomposition
from cellbounds.reductions.unnamed_variables import UnnamedVariables
from cellbounds.results import Attainable, Bounds, Explanation
from cellbounds.results.cell_index import Position, asked_cells
from cellbounds.results.solution import (
    Query,
    Reduction,
    Solution,
    Solver,
    Undecided,
    Unsolved,
)
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.checkpoints import Checkpoint, header_of
from cellbounds.runtime.interrupts import Late
from cellbounds.solvers.blame import contradiction, explain_bounds
from cellbounds.solvers.closed_forms import TwoCubed
from cellbounds.solvers.conditional.relaxed import ImprovedConditional, LinearConditional
from cellbounds.solvers.conditional.row_groups import GroupedConditional
from cellbounds.solvers.conditional.sharp import SharpConditional
from cellbounds.solvers.general.solutions import GeneralLinear, GeneralSharp
from cellbounds.statements import Release

SHARE = 0.75
"""The part of a budget for bounds when every attainable value is asked for."""

KINDS = ("sharp", "linear", "improved", "improved-verbal")


@budgeted(resumes=True)
def bounds(
    release: Release,
    *,
    kind: str = "sharp",
    over: Iterable[str] | None = None,
    cells: Iterable[Sequence[Label]] | None = None,
    start: Table | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
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
    start
        A consistent table that is known already, such as the owner's: the first witness.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone. What is not settled by then
        comes back proven (`lower`, `upper`) and attained (`attained_lower`, `attained_upper`), with
        evidence OUTER. Of linear bounds, `settled` says which are the optimum; the others are
        proven.

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
    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
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
    query, solution = _answered(release, kind, over, cells, start, budget)
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
        _certify=partial(certify, solution, release, query) if sharp else None,
    )


@budgeted(resumes=True)
def attainable(
    release: Release,
    *,
    over: Iterable[str] | None = None,
    cells: Iterable[Sequence[Label]] | None = None,
    start: Table | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Attainable:
    """Every count that each cell can have, gaps included; arguments as for :func:`bounds`.

    Under a budget, sets know their `unknown` numbers, and what needs those raises Unsettled.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    >>> cb.attainable(release)["Male", "yes"]
    ValueSet(3, 6, 9, 12, 15, 18, 21, 24, 27)
    >>> cb.attainable(release, over=["gender"])["Male"].size
    9
    """
    begun = time.perf_counter()
    early = budget.share(SHARE).deadline
    query, solution = _answered(
        release=release,
        kind="sharp",
        over=over,
        cells=cells,
        start=start,
        budget=budget,
        early=early,
    )
    return _attainable(release, query, solution, time.perf_counter() - begun)


@budgeted(resumes=True)
def attainable_enough(
    release: Release,
    undecided: Undecided | None,
    *,
    over: Iterable[str],
    cells: Iterable[Sequence[Label]] | None = None,
    start: Table | None = None,
    budget: Budget = UNLIMITED,
) -> Attainable:
    """Every attainable count, beginning with bounds of the cells that something hangs on.

    Bounds are worked out until no cell is `undecided` (see :class:`Query`); the others are what is
    known by then. Every count is still there for the asking.
    """
    begun = time.perf_counter()
    early = budget.share(SHARE).deadline
    query, solution = _answered(
        release=release,
        kind="sharp",
        over=over,
        cells=cells,
        start=start,
        budget=budget,
        early=early,
        undecided=undecided,
    )
    return _attainable(release, query, solution, time.perf_counter() - begun)


def nothing_known(release: Release, over: tuple[str, ...], seconds: float) -> Attainable:
    """The answer of whoever worked nothing out, in so many seconds."""
    query = Query("sharp", over)
    return _attainable(release, query, Unsolved(query.places(release.domain)), seconds)


def _attainable(release: Release, query: Query, solution: Solution, seconds: float) -> Attainable:
    return Attainable(
        release=release,
        over=query.over,
        method=solution.method,
        evidence=solution.evidence,
        seconds=seconds,
        _source=solution,
        _places=solution.places,
        kind="sharp",
        _certify=partial(certify, solution, release, query),
    )


def _answered(
    release: Release,
    kind: str,
    over: Iterable[str] | None,
    cells: Iterable[Sequence[Label]] | None,
    start: Table | None,
    budget: Budget,
    early: float | None = None,
    undecided: Undecided | None = None,
) -> tuple[Query, Solution]:
    """Check what is asked, and solve it as far as the budget goes.

    A contradiction is named by its statements.
    """
    names, chosen = asked_cells(release, over, cells)
    if start is not None and not isinstance(start, Table):
        raise InvalidInput(f"start={start!r}; give a Table that the release was made from")
    broken = [] if start is None else violations(start, release)
    if broken:
        raise InvalidInput(
            f"the table to start from contradicts {', '.join(broken)}; give one that the "
            "release was made from"
        )
    if budget.checkpoint is not None:
        budget = resumable(budget, release, kind, names, chosen, start=start is not None)
    query = Query(
        kind=kind,
        over=names,
        budget=budget,
        cells=chosen,
        start=start,
        early=early,
        undecided=undecided,
    )
    try:
        solution = solve(release, query)
        solution.settle()
        return query, solution
    except InconsistentRelease as problem:
        facts = gather(release)
        if UNNAMED.refusal(facts, query) is None:
            facts = gather(UNNAMED.apply(facts, query).release)
        if query.kind != "sharp" or facts.conditional is not None:
            raise
        with suppress(Late):  # naming it may take longer than finding it
            raise contradiction(_solved, release, problem) from None
        raise


def resumable(
    budget: Budget,
    release: Release,
    kind: str,
    over: Sequence[str],
    cells: Sequence[Position] | None,
    *,
    start: bool,
) -> Budget:
    """The budget with its checkpoint opened for a question.

    One that is open already is for parts of its question: they are not compared with it, but what
    was found with the help of the owner's table is for those only who have it.

    Raises
    ------
    InvalidInput
        If there is none of that name and none can be made, or it belongs to another question.
    """
    checkpoint = budget.checkpoint
    if checkpoint is None:
        return budget
    if not isinstance(checkpoint, Checkpoint):
        header = header_of(release.digest, kind, over, cells, start=start)
        return budget.resumed(Checkpoint(checkpoint, header))
    return budget if checkpoint.start == start else budget.resumed(None)


def _explained(
    solution: Solution, release: Release, query: Query, labels: tuple[Label, ...]
) -> Explanation:
    solver: Callable[[Release, tuple[str, ...]], Solution] = _solved
    if query.cells is not None:
        # Nor does the explanation ask about all cells of a margin that may be huge.
        index = release.domain.project(query.over).index(labels)
        solver = partial(_solved, cells=(index,))
    return explain_bounds(solver, solution, release, query.over, labels)


def _solved(
    release: Release, over: tuple[str, ...], cells: tuple[Position, ...] | None = None
) -> Solution:
    return solve(release, Query("sharp", over, cells=cells))


UNNAMED = UnnamedVariables()

REDUCTIONS: tuple[Reduction, ...] = (UNNAMED, Decomposition())
"""What makes a release smaller, in the order in which it is tried."""

SOLVERS: tuple[Solver, ...] = (
    SharpConditional(),
    GroupedConditional(),
    TwoCubed(),
    GeneralSharp(),
    LinearConditional(),
    GeneralLinear(),
    ImprovedConditional(),
)
"""In the order in which they are tried."""


def solve(
    release: Release,
    query: Query,
    *,
    reductions: Sequence[Reduction] = REDUCTIONS,
    solvers: Sequence[Solver] = SOLVERS,
) -> Solution:
    """Reduce the release as far as it goes, then solve what is left; the only chooser there is.

    Raises
    ------
    UnsupportedRelease
        If no solver takes the query; the message says why each refused.
    """
    facts = gather(release)
    refusals = []
    for reduction in reductions:
        refusal = reduction.refusal(facts, query)
        if refusal is None:
            reduced = reduction.apply(facts, query)
            parts = [solve(*part, reductions=reductions, solvers=solvers) for part in reduced.parts]
            return reduced.invert(parts)
        refusals.append((reduction.name, refusal))
    for solver in solvers:
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
