"""Certificates: bounds with witnesses and proofs that somebody else can check.

A bound is proven by the sums that the rows of published rates can have, or by multipliers of the
published inequalities wherever a linear program finds such; both need nothing but the release to be
checked. Where whole numbers do better, the certificate says which method proved it, and a verifier
has to prove it again.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled
from cellbounds.model.constraints import System, compile_release
from cellbounds.model.linear_programs import LinearProgram
from cellbounds.model.problem import Problem, raw_problem
from cellbounds.model.targets import asked_about
from cellbounds.results import Unbounded
from cellbounds.results.cell_index import Position
from cellbounds.results.solution import Constants, Query, Solution, Unsolved
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.runtime.budget import Budget, stopped_late
from cellbounds.runtime.interrupts import Late
from cellbounds.statements import Release
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER
from cellbounds.version import __version__

if TYPE_CHECKING:
    from cellbounds.certificates.verifying.row_proofs import RowProofs

FORMAT = "cellbounds-certificate/2"

MANY_FORMAT = "cellbounds-known/1"
"""Of many cells, which are known exactly."""

SIDES = ("lower", "upper")

MOST_CELLS = 10**8
"""Cells of the largest domain of a certificate: as many as who checks it reads."""

PROGRAM = 0.25
"""The part of what is left of a budget for one linear program; none is tried after one that took
longer."""

DENOMINATORS = (1, 2, 6, 60, 1 << 16, 1 << 24)
"""Denominators of multipliers that are tried in turn."""


def certify(
    worked: Solution, release: Release, question: Query, public: bool | None, budget: Budget
) -> dict[str, Any]:
    """The certificate of all bounds asked for as plain values.

    Witnesses and proofs are looked for until the budget is spent; then there are none any more, and
    only the method is named.

    Raises
    ------
    InvalidInput
        If it is to be public, but witnesses were found with the help of the owner's table.
    TooMuchWork
        If the domain has more cells than a certificate can number.
    Unsettled
        If nothing was worked out.
    """
    if release.domain.size > MOST_CELLS:
        raise TooMuchWork(
            f"a certificate numbers the cells of its domain, and {release.domain.size} are more "
            f"than {MOST_CELLS}; state the release over the variables that it names "
            f"({', '.join(release.named_variables) or 'none'}) and ask about that: "
            "Release(release.domain.project([...]), release.statements)"
        )
    if isinstance(worked, Unsolved):
        raise Unsettled("nothing was worked out within the budget; give more seconds")
    from_table = question.start is not None
    if public and from_table:
        raise InvalidInput(
            "a public certificate may not use witnesses that lean on the owner's table; ask "
            "bounds(release) without start= and certify that"
        )
    release_values = release.to_dict()
    head = {
        "version": __version__,
        "public": not from_table if public is None else public,
        "release": {"digest": release.digest, **release_values},
        "over": list(question.over),
    }
    constants = worked.constants(budget)
    if constants is not None:
        return head | known_cells(constants, question.figures(release.domain))
    ends = worked.bounds()
    attained = worked.attained() or ends
    places, margin = question.places(release.domain), release.domain.project(question.over)
    asked = asked_about(release.domain, question.over, question.cells)
    support = _Support(worked, partial(_Prover, release, release_values, budget))
    claims = [
        (index, side, ends[side][places.spot(index)], attained[side][places.spot(index)])
        for index in places
        for side in (0, 1)
    ]
    try:
        with stopped_late(budget):
            for index, *claim in claims:
                if budget.spent:
                    break
                support.find(index, asked.members(places.number(index)), *claim)
    except (Late, Unsettled):
        if not budget.spent:
            raise
    numbers: dict[bytes, int] = {}
    cells: list[dict[str, Any]] = []
    for index, side, proven, reached in claims:
        key, proof = support.found.get((index, side), (None, None))
        if side == 0:
            cells.append({"labels": list(margin.labels(index))})
        cells[-1][SIDES[side]] = {
            "proven": None if isinstance(proven, Unbounded) else int(proven),
            "attained": None if _missing(reached) else int(reached),
            # Each table is stored once.
            "witness": None if key is None else numbers.setdefault(key, len(numbers)),
            "proof": proof or _told(worked.proof(index, side)),
        }
    witnesses = [support.tables[key] for key in numbers]
    for entry in () if witnesses else cells:
        # A direction proves that there is no bound only if there is a table to start from.
        if entry["upper"]["proof"]["kind"] == "unbounded":
            entry["upper"]["proof"] = {"kind": "method", "text": "no table was found"}
    certificate = {
        "format": FORMAT,
        **head,
        "kind": "sharp",
        "method": worked.method,
        "evidence": worked.evidence.value,
        "witnesses": witnesses,
        "cells": cells,
    }
    return certificate | ({"rows": list(support.rows.values())} if support.rows else {})


def known_cells(found: Constants, figures: IntArray) -> dict[str, Any]:
    """Which of many cells are known exactly, in few numbers: tables as what changes in them."""
    first, *others = found.tables
    changed = [(where, table[where] - first[where]) for table in others
               for where in [np.flatnonzero(table != first)]]  # fmt: skip
    used, places = np.unique(found.figures, axis=0, return_inverse=True)
    rows, times = places.ravel().tolist(), found.times.tolist()
    return {
        "format": MANY_FORMAT,
        "kind": "known",
        "known": figures[found.known].tolist(),
        "told": figures[found.told].tolist(),
        "moving": figures[found.moving].tolist(),
        "table": first.tolist(),
        "changes": [[where.tolist(), by.tolist()] for where, by in changed],
        "figures": used.tolist(),
        # A figure alone, or figures and how often each is taken.
        "steps": [
            rows[begin] if end - begin == 1 else [rows[begin:end], times[begin:end]]
            for begin, end in itertools.pairwise(found.starts.tolist())
        ],
    }


def _missing(reached: Any) -> bool:
    return reached is None or isinstance(reached, Unbounded)


class _Support:
    """Witnesses and proofs of bounds; what was found stays, wherever the search is stopped."""

    def __init__(self, worked: Solution, prover: Callable[[], _Prover]) -> None:
        self._worked, self._make_prover = worked, prover
        self.rows: dict[int, dict[str, Any]] = {}
        self.found: dict[tuple[Position, int], tuple[bytes | None, dict[str, Any] | None]] = {}
        self.tables: dict[bytes, list[list[int]]] = {}

    @cached_property
    def _prover(self) -> _Prover:
        """Made when the first bound is looked at: that may take long, and be stopped."""
        prover = self._make_prover()
        self.rows = prover.used_rows
        return prover

    def find(
        self, index: Position, members: IntArray, side: int, proven: Any, reached: Any
    ) -> None:
        """Find what supports one bound."""
        key = None
        if not _missing(reached):
            counts = self._worked.witness(index, int(reached)).counts.ravel()
            key = _key(counts)
            if key not in self.tables:
                self.tables[key] = _packed(counts)
        self.found[index, side] = key, self._prover.proof(members, SIDES[side], proven)


def _key(counts: IntArray) -> bytes:
    """What tells tables apart."""
    return str(counts.tolist()).encode() if counts.dtype == object else counts.tobytes()


def _packed(numbers: IntArray) -> list[list[int]]:
    """Where numbers are not zero, and what they are there."""
    where = np.flatnonzero(numbers)
    return [list(pair) for pair in zip(where.tolist(), numbers[where].tolist(), strict=True)]


def _told(method: str) -> dict[str, Any]:
    """What stands for a proof that only the method itself can give."""
    kind = "closed form" if method.startswith("closed form") else "method"
    return {"kind": "solver" if method == "solver" else kind, "text": method}


def _row_proofs(values: dict[str, Any]) -> dict[int, RowProofs]:
    """What the rows of each statement of rates prove, by the verifier's own means."""
    if not any("conditional" in statement for statement in values["statements"]):
        return {}
    # Loaded with the first certificate of rates.
    from cellbounds.certificates.verifying.row_proofs import proofs_by_rows
    from cellbounds.certificates.verifying.space import Space
    from cellbounds.certificates.verifying.statements import read_statement

    # As a file would hold it; labels that JSON does not know are shown as text there.
    plain = json.loads(json.dumps(values, default=str))
    space = Space(plain["domain"], plain.get("groupings", {}))
    given = enumerate(plain["statements"])
    return proofs_by_rows(space, [read_statement(each, place, space) for place, each in given])


class _Prover:
    """Finds proofs by rows, multipliers of the published inequalities, and rays."""

    def __init__(self, release: Release, values: dict[str, Any], effort: Budget) -> None:
        self._size, self._effort = release.domain.size, effort
        self._rows = _row_proofs(values)
        self.used_rows: dict[int, dict[str, Any]] = {}
        self._system: System = compile_release(release)
        try:
            self._problem: Problem | None = raw_problem(self._system, self._size)
        except TooMuchWork:
            self._problem = None

    def proof(self, cells: IntArray, side: str, proven: Any) -> dict[str, Any] | None:
        """Why the sum of some cells has a bound, or has none; None if that was not found."""
        if side == "lower" and proven == 0:
            return {"kind": "nonnegative"}
        limited = not isinstance(proven, Unbounded)
        by_rows = self._by_rows(cells, side, int(proven)) if limited else None
        if by_rows is not None or self._problem is None:
            return by_rows
        sign = 1 if side == "lower" else -1
        weights = np.zeros(self._size, dtype=np.int64)
        np.add.at(weights, cells, sign)
        if limited:
            return self._dual(self._problem, weights, sign * int(proven))
        ray = _ray(self._problem, weights, self._effort.left)
        return None if ray is None else {"kind": "unbounded", "ray": ray}

    def _by_rows(self, cells: IntArray, side: str, proven: int) -> dict[str, Any] | None:
        """A proof by rows, if one of the statements gives it; the rows are noted as used."""
        for place, rows in self._rows.items():
            proof = rows.proof(cells, side, proven)
            if proof is None:
                continue
            if place not in self.used_rows:
                admitted = [[*map(list, parts)] for parts in rows.admitted]
                self.used_rows[place] = {"statement": place, "sums": admitted}
            row, sums = proof
            return {"kind": "rows", "statement": place, "row": row, "sums": [*map(list, sums)]}
        return None

    @cached_property
    def _program(self) -> LinearProgram:
        assert self._problem is not None
        return LinearProgram(self._problem)

    def _dual(self, problem: Problem, weights: IntArray, proven: int) -> dict[str, Any] | None:
        """Multipliers that prove ``weights @ cells >= proven``."""
        if not len(problem.cells) or self._effort.spent:
            return None
        cells = np.flatnonzero(weights)
        share = self._effort.share(PROGRAM)
        proposal = self._program.minimize(cells, weights[cells], share.left)
        if proposal is None:
            if share.spent:  # the others would take as long
                self._problem = None
            return None
        for denominator in DENOMINATORS:
            multipliers = np.rint(proposal.duals * denominator)
            if np.abs(multipliers).max(initial=0) * denominator > 2**52:
                return None
            whole = repaired(problem, weights * denominator, multipliers.astype(np.int64))
            if whole is None:
                continue
            limits = np.where(whole > 0, problem.row_lower, problem.row_upper)
            total = sum(int(m) * int(b) for m, b in zip(whole, limits, strict=True) if m)
            if -(-total // denominator) >= proven:
                named = [self._named(row, multiplier) for row, multiplier in _packed(whole)]
                return {"kind": "dual", "denominator": denominator, "multipliers": named}
        return None

    def _named(self, row: int, multiplier: int) -> list[Any]:
        system = self._system
        ends = ("empty", "row") if system.about_sum[row] else ("upper", "lower")
        place, figure = int(system.statement[row]), int(system.figure[row])
        return [place, figure, ends[multiplier > 0], abs(multiplier)]


def _ray(problem: Problem, weights: IntArray, seconds: float | None) -> list[list[int]] | None:
    """A direction of whole numbers in which the sum grows and every inequality still holds."""
    cone = replace(
        problem,
        upper=np.ones_like(problem.upper),
        row_lower=np.where(problem.row_lower == NO_LOWER, NO_LOWER, 0),
        row_upper=np.where(problem.row_upper == NO_UPPER, NO_UPPER, 0),
    )
    cells = np.flatnonzero(weights)
    proposal = LinearProgram(cone, exact=True).minimize(cells, weights[cells], seconds)
    if proposal is None:
        return None
    near = (Fraction(float(share)).limit_denominator(1000) for share in proposal.cells)
    common = math.lcm(*(share.denominator for share in near))
    for scale in (common, 1000, 10**6):
        if scale >= SAFE:
            continue
        ray = np.rint(proposal.cells * scale).astype(np.int64)
        sums = cone.sums(ray)
        inside = (sums >= cone.row_lower) & (sums <= cone.row_upper)
        if inside.all() and int(weights @ ray) < 0:
            return _packed(ray)
    return None


def repaired(problem: Problem, weights: IntArray, multipliers: IntArray) -> IntArray | None:
    """Multipliers after which no cell is left with a negative coefficient; None if impossible."""
    limits = np.where(multipliers > 0, problem.row_lower, problem.row_upper)
    multipliers = np.where((limits == NO_LOWER) | (limits == NO_UPPER), 0, multipliers)
    rows = problem.rows
    terms = problem.coefficients * multipliers[rows]
    if float(np.abs(terms).astype(float).sum()) >= SAFE:
        return None
    rest = weights.copy()
    np.subtract.at(rest, problem.cells, terms)
    if (rest >= 0).all():
        return multipliers
    # For each cell the row with the smallest upper limit that counts it, -1 if there is none.
    plain = np.minimum.reduceat(problem.coefficients, problem.starts[:-1]) > 0
    usable = plain & (problem.row_upper != NO_UPPER)
    covering = np.full(len(problem.lower), -1)
    # Largest limits first, so that the smallest is written last.
    for row in np.argsort(-problem.row_upper, kind="stable"):
        if usable[row]:
            covering[problem.cells[problem.starts[row] : problem.starts[row + 1]]] = row
    for cell in np.flatnonzero(rest < 0).tolist():
        if rest[cell] >= 0:
            continue
        row = int(covering[cell])
        if row < 0:
            return None
        inside = slice(problem.starts[row], problem.starts[row + 1])
        own = int(problem.coefficients[inside][problem.cells[inside] == cell][0])
        # The row has an upper limit, so that its multiplier may become negative.
        more = -(int(rest[cell]) // own)
        multipliers[row] -= more
        rest[problem.cells[inside]] += more * problem.coefficients[inside]
    return multipliers if (rest >= 0).all() else None
