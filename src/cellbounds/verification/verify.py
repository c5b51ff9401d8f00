"""Every claim of a certificate, checked: witnesses, dual proofs, rays, and the rest re-proved."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.text import aligned
from cellbounds.verification.certificate import Bound, Cell, Certificate, read_certificate
from cellbounds.verification.plain import IntArray, packed
from cellbounds.verification.proofs import Proofs, laid_out, table_fault
from cellbounds.verification.solving import Solver, sum_at_least, sum_at_most
from cellbounds.version import __version__

__all__ = ["FORMAT", "Verification", "verify_certificate"]

FORMAT = "cellbounds-verification/1"

SHOWN = 20
"""Problems that are shown to people; `to_dict` has them all."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of the claims of a certificate.

    Attributes
    ----------
    digest
        The digest of the release as the certificate states it. It is not recomputed: compare it
        with `Release.digest` to know that the certificate is about your release.
    cells, witnesses, attained
        Cells read, tables found consistent with every statement, and counts found in them.
    duals, rays, trivial
        Bounds proven by dual proofs, cells shown to have no bound, bounds that need no proof.
    reproved, not_reproved, assumed
        Claims that come without a checkable proof: re-proved, not settled, not sampled.
    problems
        Claims found wrong or not supported by what the certificate offers for them.
    unsettled
        Which claims were not re-proved, and why.
    """

    digest: str
    cells: int
    witnesses: int
    attained: int
    duals: int
    rays: int
    trivial: int
    reproved: int
    not_reproved: int
    assumed: int
    problems: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.problems

    @property
    def settled(self) -> bool:
        """Whether nothing was found wrong and everything that was tried was re-proved."""
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
            verdict = "nothing wrong found, but not everything could be re-proved"
        rows = [[words, str(getattr(self, name))] for name, words in _COUNTS]
        lines = [
            verdict,
            f"release {self.digest}",
            "",
            aligned(["what", "number"], rows, {"number"}),
        ]
        for title, texts in (("problems", self.problems), ("not re-proved", self.unsettled)):
            if texts:
                lines += ["", f"{title}:", *(f"  {one}" for one in texts[:SHOWN])]
            if len(texts) > SHOWN:
                lines.append(f"  ... and {len(texts) - SHOWN} more")
        return "\n".join(lines)


_COUNTS = (
    ("cells", "cells"),
    ("witnesses", "witnesses consistent with every statement"),
    ("attained", "counts attained by a witness"),
    ("duals", "bounds with a dual proof"),
    ("rays", "cells without upper bound, by a ray"),
    ("trivial", "bounds that need no proof"),
    ("reproved", "claims re-proved"),
    ("not_reproved", "claims not re-proved"),
    ("assumed", "claims assumed (not sampled)"),
)


def verify_certificate(
    certificate: Mapping[str, Any] | str | Path,
    *,
    sample: int = 20,
    everything: bool = False,
    seconds: float = 10,
    seed: int = 0,
    progress: Progress | None = None,
) -> Verification:
    """Check every claim of a certificate.

    Witnesses and dual proofs are checked in exact integers. Claims that rest on a closed form, a
    method or a solver are re-proved by CP-SAT: `sample` of them, chosen by `seed`, or `everything`,
    with `seconds` for each.

    Parameters
    ----------
    certificate
        The certificate, or the path of its JSON file.
    progress
        Called with how many claims were tried for re-proof, and how many will be.

    Examples
    --------
    >>> from cellbounds.verification import verify_certificate
    >>> certificate = {
    ...     "format": "cellbounds-certificate/1", "version": "0.1.0", "public": True,
    ...     "release": {"digest": "00", "domain": {"a": ["x", "y"]}, "groupings": {},
    ...                 "statements": [{"total": {"lower": 3, "upper": 3}}]},
    ...     "over": ["a"], "kind": "sharp", "method": "by hand", "evidence": "exact",
    ...     "witnesses": [[[1, 3]], [[0, 3]]],
    ...     "cells": [{"labels": ["x"],
    ...         "lower": {"proven": 0, "attained": 0, "witness": 0,
    ...                   "proof": {"kind": "nonnegative"}},
    ...         "upper": {"proven": 3, "attained": 3, "witness": 1,
    ...                   "proof": {"kind": "dual", "denominator": 1,
    ...                             "multipliers": [[0, 0, "upper", 1]]}}}],
    ... }
    >>> found = verify_certificate(certificate)
    >>> found.ok, found.witnesses, found.duals, found.trivial
    (True, 2, 1, 1)
    """
    if type(sample) is not int or sample < 0:
        raise InvalidInput(f"sample={sample!r}; give a whole number, 0 or more")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise InvalidInput(f"seconds={seconds!r}; give a number above 0")
    if type(seed) is not int or not 0 <= seed < 2**31:
        raise InvalidInput(f"seed={seed!r}; give a whole number from 0 to 2^31 - 1")
    read = read_certificate(certificate)
    check = _Check(read)
    check.witnesses()
    check.bounds()
    chosen = check.told
    if not everything and sample < len(chosen):
        places = sorted(random.Random(seed).sample(range(len(chosen)), sample))
        chosen = [chosen[place] for place in places]
    check.reprove(chosen, seconds, seed, progress)
    return check.result(assumed=len(check.told) - len(chosen))


@dataclass(frozen=True, slots=True, eq=False)
class _Claim:
    """Something that only CP-SAT can settle: a bound, or that a count is attained."""

    cell: Cell
    bound: Bound
    attained: bool

    @property
    def words(self) -> str:
        what = f"the {self.bound.side} bound of {self.cell.words}"
        return f"{what}: that it is attained (no witness)" if self.attained else what


class _Check:
    """The checks of one certificate, and what they found so far."""

    def __init__(self, certificate: Certificate) -> None:
        self._certificate = certificate
        self._proofs = Proofs(certificate.space, certificate.statements)
        self._problems: list[str] = []
        self._unsettled: list[str] = []
        self._counts = {name: 0 for name, _ in _COUNTS} | {"cells": len(certificate.cells)}
        self._known: IntArray | None = None
        self.told: list[_Claim] = []

    def witnesses(self) -> None:
        """Check each witness against every statement, and what is said to be attained in it."""
        read = self._certificate
        behind = read.space.behind(read.over)
        claims: dict[int, list[tuple[Cell, Bound]]] = {}
        for cell in read.cells:
            for bound in cell.bounds:
                if bound.witness is not None:
                    claims.setdefault(bound.witness, []).append((cell, bound))
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
            for cell, bound in claims.get(place, ()):
                if int(sums[cell.figure]) == bound.attained:
                    self._counts["attained"] += 1
                else:
                    self._wrong(cell, bound, f"witness {place} has another count there")
            for cell, bound in self._outside(sums):
                self._wrong(cell, bound, f"REFUTED by witness {place}")

    def _outside(self, sums: IntArray) -> Iterator[tuple[Cell, Bound]]:
        """The bounds that a consistent table is outside of, though nobody named it for them."""
        for pairs, figures, proven, sign in self._claimed:
            wrong = sign * (sums[figures] - proven) < 0
            yield from (pairs[place] for place in np.flatnonzero(wrong.astype(bool)))

    @cached_property
    def _claimed(self) -> list[tuple[list[tuple[Cell, Bound]], list[int], IntArray, int]]:
        """The bounds of each side: whose they are, where, and what is proven."""
        sides = []
        for side, sign in ((0, 1), (1, -1)):
            pairs = [(cell, cell.bounds[side]) for cell in self._certificate.cells]
            pairs = [(cell, bound) for cell, bound in pairs if bound.proven is not None]
            proven = packed([bound.proven or 0 for _, bound in pairs])
            sides.append((pairs, [cell.figure for cell, _ in pairs], proven, sign))
        return sides

    def _wrong(self, cell: Cell, bound: Bound, why: str) -> None:
        self._problems.append(f"the {bound.side} bound of {cell.words}: {why}")

    def bounds(self) -> None:
        """Check each bound's proof, or keep it for re-proof."""
        for cell in self._certificate.cells:
            for bound in cell.bounds:
                self._evidence(cell, bound)
                if bound.attained is not None and bound.witness is None:
                    self.told.append(_Claim(cell, bound, attained=True))
                self._proof(cell, bound)

    def _evidence(self, cell: Cell, bound: Bound) -> None:
        if bound.proven is None:
            return  # what is attained says nothing about there being no bound
        if self._certificate.exact and bound.attained != bound.proven:
            self._wrong(cell, bound, "the evidence is 'exact', but what is proven is not attained")
        elif bound.attained is not None and bound.sign * (bound.attained - bound.proven) < 0:
            self._wrong(cell, bound, "what is attained lies outside what is proven")

    def _proof(self, cell: Cell, bound: Bound) -> None:
        proof = bound.proof
        if proof.kind == "nonnegative":
            true = bound.side == "lower" and bound.proven is not None and bound.proven <= 0
            self._count(
                "trivial", cell, bound, None if true else "more than counts being 0 or more"
            )
        elif proof.kind == "dual":
            self._count("duals", cell, bound, self._proofs.dual_fault(cell, bound))
        elif proof.kind == "unbounded":
            fault = self._proofs.ray_fault(cell, proof)
            if bound.proven is not None:
                fault = "a ray shows that there is no bound, but one is claimed"
            elif self._known is None:
                fault = fault or "a ray proves nothing without a consistent witness to start from"
            self._count("rays", cell, bound, fault)
        elif bound.proven is None and self._certificate.exact:
            self._leave(cell, bound, "that there is no bound needs a ray")
        elif bound.proven is None or (bound.side == "lower" and bound.proven <= 0):
            self._counts["trivial"] += 1
        else:
            self.told.append(_Claim(cell, bound, attained=False))

    def _count(self, name: str, cell: Cell, bound: Bound, fault: str | None) -> None:
        if fault is None:
            self._counts[name] += 1
        else:
            self._wrong(cell, bound, fault)

    def _leave(self, cell: Cell, bound: Bound, why: str) -> None:
        self._counts["not_reproved"] += 1
        self._unsettled.append(f"the {bound.side} bound of {cell.words}: {why}")

    def reprove(
        self, claims: Sequence[_Claim], seconds: float, seed: int, progress: Progress | None
    ) -> None:
        """Settle claims by CP-SAT."""
        if not claims:
            return
        read = self._certificate
        solver = Solver(read.space.size, read.statements, self._known, seconds=seconds, seed=seed)
        for done, claim in enumerate(claims, 1):
            exists, why = self._asked(solver, claim)
            if exists is None:
                self._counts["not_reproved"] += 1
                self._unsettled.append(f"{claim.words}: {why}")
            elif exists is claim.attained:
                self._counts["reproved"] += 1
            else:
                self._problems.append(f"{claim.words}: REFUTED by CP-SAT")
            if progress is not None:
                progress(done, len(claims))

    @staticmethod
    def _asked(solver: Solver, claim: _Claim) -> tuple[bool | None, str]:
        """Whether there is a table that attains the count, or that is outside the bound."""
        cells, bound = claim.cell.behind, claim.bound
        if claim.attained:
            assert bound.attained is not None
            value = bound.attained
            return solver.settle(sum_at_least(cells, value), sum_at_most(cells, value))
        assert bound.proven is not None
        if bound.side == "lower":
            return solver.settle(sum_at_most(cells, bound.proven - 1))
        return solver.settle(sum_at_least(cells, bound.proven + 1))

    def result(self, assumed: int) -> Verification:
        """Everything that was found."""
        counts = self._counts | {"assumed": assumed}
        return Verification(
            self._certificate.digest,
            **counts,
            problems=tuple(self._problems),
            unsettled=tuple(self._unsettled),
        )
