"""Every claim of a certificate, checked: witnesses, proofs, rays, and the rest proved anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.certificates.verifying import known_cells, plain
from cellbounds.certificates.verifying.certificate import (
    SUBJECT,
    Bound,
    Certificate,
    Subject,
    read_certificate,
    read_subject,
)
from cellbounds.certificates.verifying.inequalities import (
    Inequality,
    Statement,
    sum_at_least,
    sum_at_most,
)
from cellbounds.certificates.verifying.plain import IntArray, packed
from cellbounds.certificates.verifying.proofs import Proofs, Reprover, laid_out, table_fault
from cellbounds.certificates.verifying.space import Space
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.interrupts import Late
from cellbounds.text import aligned
from cellbounds.version import __version__

FORMAT = "cellbounds-verification/2"

SHOWN = 20
"""Problems that are shown to people; `to_dict` has them all."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of the claims of a certificate.

    Attributes
    ----------
    digest
        The digest of the release, worked out from the statements: compare it with
        `Release.digest` to know that the certificate is about your release.
    cells, witnesses, attained
        Cells read, tables found consistent with every statement, and counts found in them.
    duals, rows, rays, trivial
        Bounds proven by dual proofs and by the sums of rows, cells shown to have no bound, bounds
        that need no proof.
    known, differing
        Of many cells, those proven by steps to hold one count only, and those that consistent
        tables differ in.
    reproved, not_reproved
        Claims that come without a proof: proved anew, not settled.
    problems
        Claims found wrong or not supported by what the certificate offers for them.
    unsettled
        Which claims were not proved anew, and why.
    """

    digest: str
    cells: int
    witnesses: int
    attained: int
    duals: int
    rows: int
    rays: int
    trivial: int
    reproved: int
    not_reproved: int
    known: int = 0
    differing: int = 0
    problems: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.problems

    @property
    def settled(self) -> bool:
        """Whether every claim was found to be true."""
        return self.ok and not self.not_reproved

    def to_dict(self) -> dict[str, Any]:
        """The verification as plain values."""
        counts = {name: getattr(self, name) for name, _ in _COUNTS}
        return {
            "format": FORMAT,
            "version": __version__,
            "ok": self.ok,
            "settled": self.settled,
            "digest": self.digest,
            "counts": counts,
            "problems": list(self.problems),
            "unsettled": list(self.unsettled),
        }

    def __str__(self) -> str:
        verdict = "verified"
        if self.problems:
            count = len(self.problems)
            verdict = f"NOT verified: {count} {'problem' if count == 1 else 'problems'}"
        elif self.unsettled:
            reason = "nothing wrong was found, but some claims could not be proved anew"
            verdict = f"NOT verified: {reason}"
        rows = [[words, str(getattr(self, name))] for name, words in _COUNTS]
        counts = aligned(["what", "number"], rows, {"number"})
        lines = [verdict, f"release {self.digest}", "", counts]
        for title, texts in (("problems", self.problems), ("not proved anew", self.unsettled)):
            if texts:
                lines += ["", f"{title}:", *(f"  {text}" for text in texts[:SHOWN])]
            if len(texts) > SHOWN:
                lines.append(f"  ... and {len(texts) - SHOWN} more")
        return "\n".join(lines)


_COUNTS = (
    ("cells", "cells"),
    ("witnesses", "witnesses consistent with every statement"),
    ("attained", "counts attained by a witness"),
    ("duals", "bounds with a dual proof"),
    ("rows", "bounds with a proof by rows"),
    ("rays", "cells without upper bound, by a ray"),
    ("trivial", "bounds that need no proof"),
    ("known", "cells with one count only, by steps"),
    ("differing", "cells that witnesses differ in"),
    ("reproved", "claims proved anew"),
    ("not_reproved", "claims not proved anew"),
)


REPROVING = 600.0
"""Seconds for proving claims anew, if no other budget is given."""


@budgeted
def verify_certificate(
    certificate: Mapping[str, Any] | str | Path,
    *,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Verification:
    """Check every claim of a certificate.

    The digest of the release is worked out anew. Witnesses, dual proofs, proofs by rows and rays
    are checked in exact integers. Claims that come without a proof are proved anew, by the sums of
    rows or by CP-SAT; what is not settled in time leaves the certificate unverified (`settled`).

    Parameters
    ----------
    certificate
        The certificate, or the path of its JSON file.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone. What it leaves after the
        checks, or ten minutes if there is none, is shared out among claims to be proved anew.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("delinquent"), "[education|county]@3")
    >>> certificate = cb.bounds(release).certificate()
    >>> found = cb.verify_certificate(certificate)
    >>> found.settled, found.rows
    (True, 32)
    >>> certificate["cells"][0]["upper"]["proven"] -= 1
    >>> cb.verify_certificate(certificate).ok
    False
    """
    content = plain.object_with(plain.load(certificate), "the certificate", ["format"])
    if content["format"] == known_cells.FORMAT:
        return _verified_known(content, budget)
    return _Verifier(read_certificate(content)).verified(budget)


def digest(space: Space, statements: Sequence[Statement]) -> str:
    """SHA-256 of the domain and of what the statements mean, in whatever order they stand."""
    used = {name for statement in statements for name in statement.names}
    levels, groups = space.definitions(used)
    try:
        meanings = sorted(json.dumps(statement.meaning) for statement in statements)
    except ValueError:  # Python writes no longer ones
        raise InvalidInput(
            "a statement has numbers of more than 4300 digits once they share a denominator; "
            "write shorter ones"
        ) from None
    content = [levels, meanings, groups] if groups else [levels, meanings]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class _Verifier:
    """The checks of one certificate, and what they found so far."""

    def __init__(self, certificate: Certificate) -> None:
        self._certificate = certificate
        self._proofs = Proofs(certificate.space, certificate.statements)
        self._digest = digest(certificate.space, certificate.statements)
        same = self._digest == certificate.digest
        self._problems = [] if same else ["the digest is not that of the statements"]
        self._unsettled: list[str] = []
        self._counts = {name: 0 for name, _ in _COUNTS} | {"cells": certificate.cells}
        # The first consistent witness, and what comes without a proof: a bound, or (True) that
        # its count is attained.
        self._known: IntArray | None = None
        self._told: list[tuple[Bound, bool]] = []

    def verified(self, budget: Budget) -> Verification:
        """Everything that is found, as far as the budget goes."""
        try:
            self._rows()
            self._witnesses()
            self._bounds()
            self._reprove(budget)
        except Late:
            self._leave("claims that were not come to", "the budget was spent")
        problems, unsettled = tuple(self._problems), tuple(self._unsettled)
        return Verification(self._digest, **self._counts, problems=problems, unsettled=unsettled)

    def _rows(self) -> None:
        """Check that rows can have no sums but those listed."""
        for place, shown in self._certificate.rows.items():
            fault = self._proofs.sums_fault(place, shown)
            if fault is not None:
                self._problems.append(f"the sums of rows: {fault}")

    def _witnesses(self) -> None:
        """Check each witness against every statement, and what is said to be attained in it."""
        read = self._certificate
        behind = read.space.behind(read.over)
        claims: dict[int | None, list[Bound]] = {}
        for bound in read.bounds:
            claims.setdefault(bound.witness, []).append(bound)
        limited = [bound for bound in read.bounds if bound.proven is not None]
        limited.sort(key=lambda bound: bound.side)
        figures = [bound.figure for bound in limited]
        proven = packed([bound.proven or 0 for bound in limited])
        signs = np.array([bound.sign for bound in limited])
        for place, sparse in enumerate(read.witnesses):
            table = laid_out(sparse, read.space.size)
            fault = table_fault(table, read.statements)
            if fault is not None:
                self._problems.append(f"witness {place}: {fault}")
                continue
            self._counts["witnesses"] += 1
            if self._known is None:
                self._known = table
            sums = behind.sums(table)
            for bound in claims.get(place, ()):
                right = int(sums[bound.figure]) == bound.attained
                fault = None if right else f"witness {place} has another count there"
                self._count("attained", bound, fault)
            # A consistent table may be outside bounds that nobody named it for.
            outside = signs * (sums[figures] - proven) < 0
            for number in np.flatnonzero(outside.astype(bool)):
                self._wrong(limited[number], f"REFUTED by witness {place}")

    def _wrong(self, bound: Bound, why: str) -> None:
        self._problems.append(f"{bound.words}: {why}")

    def _count(self, name: str, bound: Bound, fault: str | None) -> None:
        if fault is None:
            self._counts[name] += 1
        else:
            self._wrong(bound, fault)

    def _bounds(self) -> None:
        """Check each bound's proof, or keep it for re-proof."""
        for bound in self._certificate.bounds:
            proven, attained = bound.proven, bound.attained
            # What is attained says nothing about there being no bound.
            if proven is not None and self._certificate.exact and attained != proven:
                self._wrong(bound, "the evidence is 'exact', but what is proven is not attained")
            elif (
                proven is not None and attained is not None and bound.sign * (attained - proven) < 0
            ):
                self._wrong(bound, "what is attained lies outside what is proven")
            if attained is not None and bound.witness is None:
                self._told.append((bound, True))
            self._proof(bound)

    def _proof(self, bound: Bound) -> None:
        kind, proven = bound.proof.kind, bound.proven
        trivial = bound.side == "lower" and proven is not None and proven <= 0
        if kind == "nonnegative":
            fault = None if trivial else "more than counts being 0 or more"
            self._count("trivial", bound, fault)
        elif kind == "dual":
            self._count("duals", bound, self._proofs.dual_fault(bound))
        elif kind == "rows":
            self._count("rows", bound, self._proofs.row_fault(bound))
        elif kind == "unbounded":
            fault = self._proofs.ray_fault(bound)
            if proven is not None:
                fault = "a ray shows that there is no bound, but one is claimed"
            elif self._known is None:
                fault = fault or "a ray proves nothing without a consistent witness to start from"
            self._count("rays", bound, fault)
        elif proven is None and self._certificate.exact:
            self._leave(bound.words, "that there is no bound needs a ray")
        elif proven is None or trivial:
            self._counts["trivial"] += 1
        else:
            self._told.append((bound, False))

    def _leave(self, words: str, why: str) -> None:
        """Say what is left unsettled."""
        self._counts["not_reproved"] += 1
        self._unsettled.append(f"{words}: {why}")

    def _reprove(self, budget: Budget) -> None:
        """Settle the claims that come without a proof: by rows, else by CP-SAT."""
        effort = budget.share(most=REPROVING) if budget.left is None else budget
        open_claims = [
            (bound, attained)
            for bound, attained in self._told
            if attained or effort.spent or not self._proofs.holds_by_rows(bound)
        ]
        settled = len(self._told) - len(open_claims)
        self._counts["reproved"] += settled
        if not open_claims:
            return
        read = self._certificate
        solver = Reprover(read.space.size, read.statements, self._known)
        for done, (bound, attained) in enumerate(open_claims, 1):
            words = bound.words + (": that it is attained (no witness)" if attained else "")
            left = effort.left or 0.0
            # Most claims need little of their share; what they leave goes to those after them.
            share = min(left, max(1.0, 4 * left / (len(open_claims) - done + 1)))
            exists, why = (None, "no time was left")
            if left > 0:
                exists, why = solver.settle(*_sought(bound, attained), seconds=share)
            if exists is None:
                self._leave(words, why)
            elif exists is attained:
                self._counts["reproved"] += 1
            else:
                self._problems.append(f"{words}: REFUTED by CP-SAT")
            budget.say(settled + done, len(self._told))


NEAR = (20, 160)
"""Cells of the largest figure that is taken into account in proving that a cell is known."""


def _verified_known(content: dict[str, Any], budget: Budget) -> Verification:
    """Every claim of which cells are known exactly."""
    keys = ["kind", "known", "told", "moving", "table", "changes", "figures", "steps"]
    plain.object_with(content, "the certificate", [*SUBJECT, *keys], only=[])
    plain.choice(content["kind"], "kind", ("known",))
    subject = read_subject(content)
    claims = known_cells.read_known_cells(content, subject.space, subject.over)
    counts = {name: 0 for name, _ in _COUNTS}
    counts["cells"] = len(claims.known) + len(claims.told) + len(claims.moving)
    found = digest(subject.space, subject.statements)
    problems = [] if found == subject.digest else ["the digest is not that of the statements"]
    unsettled: list[str] = []
    names = subject.space.names
    try:
        faults, differs = known_cells.witness_faults(claims, subject.statements)
        problems += faults
        counts["witnesses"] = 1 + len(claims.changes) - len(faults)
        for cell in claims.moving.tolist():
            if differs[cell]:
                counts["differing"] += 1
            else:
                words = subject.space.words(names, cell)
                problems.append(f"cell {words}: no two consistent tables differ in it")
        if faults and faults[0].startswith("the table"):
            counts["witnesses"] = 0
            problems.append("nothing is known to be constant without a consistent table")
        else:
            _check_steps(subject, claims, problems, unsettled, counts, budget)
    except Late:
        counts["not_reproved"] += 1
        unsettled.append("claims that were not come to: the budget was spent")
    return Verification(found, **counts, problems=tuple(problems), unsettled=tuple(unsettled))


def _check_steps(
    subject: Subject,
    claims: known_cells.KnownCells,
    problems: list[str],
    unsettled: list[str],
    counts: dict[str, int],
    budget: Budget,
) -> None:
    """Take every step, then see which cells are known."""
    words = partial(subject.space.words, subject.space.names)
    changes = known_cells.Changes(subject.space, subject.statements, claims.table)
    for place, (rows, times) in enumerate(claims.steps):
        fault = changes.take([claims.figures[row] for row in rows], times)
        if fault is not None:
            problems.append(f"step {place} {fault}")
    for cell in claims.known.tolist():
        if changes.is_known(cell):
            counts["known"] += 1
        else:
            problems.append(f"cell {words(cell)}: no step shows that it is known")
    effort = budget.share(most=REPROVING) if budget.left is None else budget
    for done, cell in enumerate(claims.told.tolist()):
        share = max(1.0, (effort.left or 0.0) / (len(claims.told) - done) / len(NEAR))
        if changes.is_known(cell) or (
            not effort.spent and any(changes.settle(cell, near, share) for near in NEAR)
        ):
            counts["reproved"] += 1
        else:
            counts["not_reproved"] += 1
            unsettled.append(f"cell {words(cell)}: that it is known was not settled in time")


def _sought(bound: Bound, attained: bool) -> list[Inequality]:
    """What a table has to fulfil that attains a count, or that is outside a bound."""
    if attained:
        assert bound.attained is not None
        return [make(bound.behind, bound.attained) for make in (sum_at_least, sum_at_most)]
    assert bound.proven is not None
    if bound.side == "lower":
        return [sum_at_most(bound.behind, bound.proven - 1)]
    return [sum_at_least(bound.behind, bound.proven + 1)]
