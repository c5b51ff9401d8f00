"""The structure of a certificate: keys, indices and labels, checked before anything else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellbounds.certificates.verifying.plain import (
    IntArray,
    choice,
    entries,
    flag,
    load,
    object_with,
    text,
    whole,
)
from cellbounds.certificates.verifying.row_proofs import Progression
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import Statement, read_statement
from cellbounds.errors import InvalidInput

__all__ = ["FORMATS", "Bound", "Cell", "Certificate", "ClaimedProof", "Sparse", "read_certificate"]

FORMATS = ("cellbounds-certificate/1", "cellbounds-certificate/2")
"""What is read; the first has no proofs by rows."""

Sparse = tuple[tuple[int, int], ...]
"""Cells and numbers; every other cell has 0."""

_ENDS = ("lower", "upper", "row", "empty")
_TOLD = ("closed form", "method", "solver")
"""Proofs that the certificate only tells of; they are re-proved, not checked."""

_PROOFS = ("nonnegative", "dual", "rows", *_TOLD, "unbounded")


@dataclass(frozen=True, slots=True)
class ClaimedProof:
    """Why a bound holds: its kind, and what a dual proof, a proof by rows or a ray consists of."""

    kind: str
    denominator: int = 1
    multipliers: tuple[tuple[int, int, str, int], ...] = ()
    statement: int = 0
    row: int = 0
    sums: tuple[Progression, ...] = ()
    ray: Sparse = ()

    @property
    def told(self) -> bool:
        """Whether there is nothing to check but the claim itself."""
        return self.kind in _TOLD


@dataclass(frozen=True, slots=True)
class Bound:
    """One side of a cell: what is proven (None: no bound) and what some table attains."""

    side: str
    proven: int | None
    attained: int | None
    witness: int | None
    proof: ClaimedProof

    @property
    def sign(self) -> int:
        """The bound speaks of ``sign * q`` from below."""
        return 1 if self.side == "lower" else -1


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A cell of the margin asked about, the cells of the domain behind it, and its bounds."""

    words: str
    figure: int
    behind: IntArray
    bounds: tuple[Bound, Bound]


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """Everything that a certificate claims."""

    space: Space
    statements: tuple[Statement, ...]
    over: tuple[str, ...]
    exact: bool
    digest: str
    witnesses: tuple[Sparse, ...]
    cells: tuple[Cell, ...]
    rows: dict[int, list[tuple[Progression, ...]]]
    """For statements of rates: the sums that each row may have."""


def read_certificate(source: Mapping[str, Any] | str | Path) -> Certificate:
    """Read a certificate and check its structure."""
    keys = ["format", "version", "public", "release", "over", "kind", "method", "evidence"]
    content = object_with(
        load(source), "the certificate", [*keys, "witnesses", "cells"], only=["rows"]
    )
    if content["format"] not in FORMATS:
        raise InvalidInput(
            f"format is {content['format']!r}; this verifier reads {' and '.join(FORMATS)}"
        )
    for key in ("version", "method"):
        text(content[key], key)
    flag(content["public"], "public")
    choice(content["kind"], "kind", ("sharp",))
    evidence = choice(content["evidence"], "evidence", ("exact", "outer"))
    release = object_with(
        content["release"], "release", ["digest", "domain", "statements"], only=["groupings"]
    )
    digest = text(release["digest"], "release.digest")
    if not re.fullmatch("[0-9a-f]+", digest):
        raise InvalidInput("release.digest is not written in hexadecimal digits")
    space = Space(release["domain"], release.get("groupings", {}))
    statements = entries(release["statements"], "release.statements")
    over = space.checked_names(content["over"], "over")
    witnesses = tuple(
        _sparse(witness, f"witness {place}", space, None)
        for place, witness in enumerate(entries(content["witnesses"], "witnesses"))
    )
    return Certificate(
        space=space,
        statements=tuple(read_statement(one, place, space) for place, one in enumerate(statements)),
        over=over,
        exact=evidence == "exact",
        digest=digest,
        witnesses=witnesses,
        cells=_cells(content["cells"], over, space, len(witnesses)),
        rows=_rows(content.get("rows", [])),
    )


def _sparse(given: object, where: str, space: Space, least: int | None) -> Sparse:
    pairs = []
    for pair in entries(given, where):
        flat, amount = entries(pair, f"an entry of {where}", 2)
        if whole(flat, f"{where}: a cell") >= space.size:
            raise InvalidInput(f"{where}: cell {flat} of a domain of {space.size} cells")
        pairs.append((flat, whole(amount, f"{where}: the number at cell {flat}", least)))
    if len({flat for flat, _ in pairs}) < len(pairs):
        raise InvalidInput(f"{where} lists a cell twice; list it once")
    return tuple(pairs)


def _rows(given: object) -> dict[int, list[tuple[Progression, ...]]]:
    sums_of: dict[int, list[tuple[Progression, ...]]] = {}
    for place, value in enumerate(entries(given, "rows")):
        where = f"rows[{place}]"
        content = object_with(value, where, ["statement", "sums"], only=[])
        statement = whole(content["statement"], f"{where}.statement")
        if statement in sums_of:
            raise InvalidInput(f"{where}: statement {statement} stands there twice; list it once")
        sums = entries(content["sums"], f"{where}.sums")
        sums_of[statement] = [_progressions(row, f"{where}.sums") for row in sums]
    return sums_of


def _progressions(given: object, where: str) -> tuple[Progression, ...]:
    ascending: list[Progression] = []
    for value in entries(given, f"an entry of {where}"):
        first, last, step = entries(value, f"{where}: first, last and step", 3)
        whole(step, f"{where}: a step", 1)
        whole(first, f"{where}: a first sum")
        if last is not None:
            whole(last, f"{where}: a last sum")
        before = ascending[-1][1] if ascending else -1
        if before is None or first <= before or (last is not None and last < first):
            raise InvalidInput(f"{where}: sums do not ascend; list each once, the smallest first")
        ascending.append((first, last, step))
    return tuple(ascending)


def _cells(given: object, over: tuple[str, ...], space: Space, witnesses: int) -> tuple[Cell, ...]:
    behind = space.behind(over)
    cells: list[Cell] = []
    seen: set[int] = set()
    for place, value in enumerate(entries(given, "cells")):
        where = f"cells[{place}]"
        content = object_with(value, where, ["labels", "lower", "upper"], only=[])
        figure = space.figure(over, content["labels"], where)
        words = f"cell {space.words(over, figure)}"
        if figure in seen:
            raise InvalidInput(f"{where}: {words} stands there twice; list it once")
        seen.add(figure)
        lower = _bound(content["lower"], "lower", f"{where}.lower", space, witnesses)
        upper = _bound(content["upper"], "upper", f"{where}.upper", space, witnesses)
        cells.append(Cell(words, figure, behind.of(figure), (lower, upper)))
    return tuple(cells)


def _bound(given: object, side: str, where: str, space: Space, witnesses: int) -> Bound:
    content = object_with(given, where, ["proven", "attained", "witness", "proof"], only=[])
    proven, attained, witness = (content[key] for key in ("proven", "attained", "witness"))
    if proven is not None or side == "lower":
        whole(proven, f"{where}.proven", None)
    if attained is not None:
        whole(attained, f"{where}.attained", None)
    if witness is not None:
        if attained is None:
            raise InvalidInput(f"{where} has a witness, but says not what it attains")
        if whole(witness, f"{where}.witness") >= witnesses:
            raise InvalidInput(f"{where}.witness is {witness}; there are {witnesses} witnesses")
    return Bound(side, proven, attained, witness, _proof(content["proof"], where, space))


def _proof(given: object, where: str, space: Space) -> ClaimedProof:
    where = f"{where}.proof"
    content = object_with(given, where, ["kind"])
    kind = choice(content["kind"], f"{where}.kind", _PROOFS)
    if kind == "dual":
        object_with(content, where, ["kind", "denominator", "multipliers"], only=[])
        multipliers = []
        for multiplier in entries(content["multipliers"], f"{where}.multipliers"):
            statement, figure, end, factor = entries(
                multiplier, f"an entry of {where}.multipliers", 4
            )
            multipliers.append(
                (
                    whole(statement, f"{where}: a statement"),
                    whole(figure, f"{where}: a figure"),
                    choice(end, f"{where}: an end", _ENDS),
                    whole(factor, f"{where}: a multiplier"),
                )
            )
        denominator = whole(content["denominator"], f"{where}.denominator", 1)
        return ClaimedProof(kind, denominator, tuple(multipliers))
    if kind == "rows":
        object_with(content, where, ["kind", "statement", "row", "sums"], only=[])
        return ClaimedProof(
            kind,
            statement=whole(content["statement"], f"{where}.statement"),
            row=whole(content["row"], f"{where}.row"),
            sums=_progressions(content["sums"], f"{where}.sums"),
        )
    if kind == "unbounded":
        object_with(content, where, ["kind", "ray"], only=[])
        return ClaimedProof(kind, ray=_sparse(content["ray"], f"{where}.ray", space, 0))
    if kind in _TOLD:
        object_with(content, where, ["kind", "text"], only=[])
        text(content["text"], f"{where}.text")
    else:
        object_with(content, where, ["kind"], only=[])
    return ClaimedProof(kind)
