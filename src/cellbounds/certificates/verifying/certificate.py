"""The structure of a certificate: keys, indices and labels, checked before anything else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from cellbounds.certificates.verifying import plain
from cellbounds.certificates.verifying.inequalities import ENDS, Statement
from cellbounds.certificates.verifying.plain import IntArray
from cellbounds.certificates.verifying.row_proofs import Progression
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import read_statement
from cellbounds.errors import InvalidInput

FORMATS = ("cellbounds-certificate/1", "cellbounds-certificate/2")
"""What is read; the first has no proofs by rows."""

Sparse = tuple[tuple[int, int], ...]
"""Cells and numbers; every other cell has 0."""

_CONTENT = {
    "nonnegative": [],
    "dual": ["denominator", "multipliers"],
    "rows": ["statement", "row", "sums"],
    "closed form": ["text"],
    "method": ["text"],
    "solver": ["text"],
    "unbounded": ["ray"],
}
"""What a proof of each kind consists of; one with a text is only told of, and re-proved."""


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
    text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """One side of a cell: what is proven (None: no bound) and what some table attains.

    `figure` is the place of the cell in the margin asked about, `behind` the cells of the domain
    that it is the sum of.
    """

    cell: str
    figure: int
    behind: IntArray
    side: str
    proven: int | None
    attained: int | None
    witness: int | None
    proof: ClaimedProof

    @property
    def sign(self) -> int:
        """The bound speaks of ``sign * q`` from below."""
        return 1 if self.side == "lower" else -1

    @property
    def words(self) -> str:
        """The bound for people."""
        return f"the {self.side} bound of {self.cell}"


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What a certificate is about: a release and a margin."""

    space: Space
    statements: tuple[Statement, ...]
    over: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True, eq=False)
class Certificate(Subject):
    """Everything that a certificate claims of bounds."""

    exact: bool
    witnesses: tuple[Sparse, ...]
    cells: int
    bounds: list[Bound]
    rows: dict[int, list[tuple[Progression, ...]]]
    """For statements of rates: the sums that each row may have."""


def read_certificate(content: dict[str, Any]) -> Certificate:
    """Check the structure of a certificate of bounds."""
    keys = ["kind", "method", "evidence", "witnesses", "cells"]
    plain.object_with(content, "the certificate", [*SUBJECT, *keys], only=["rows"])
    if content["format"] not in FORMATS:
        raise InvalidInput(
            f"format is {content['format']!r}; this verifier reads {' and '.join(FORMATS)}"
        )
    plain.typed(content["method"], "method", str)
    plain.choice(content["kind"], "kind", ("sharp",))
    evidence = plain.choice(content["evidence"], "evidence", ("exact", "outer"))
    subject = read_subject(content)
    space, over = subject.space, subject.over
    cells = plain.entries(content["cells"], "cells")
    witnesses = tuple(
        _sparse(witness, f"witness {place}", space, None)
        for place, witness in enumerate(plain.entries(content["witnesses"], "witnesses"))
    )
    return Certificate(
        space=space,
        statements=subject.statements,
        over=over,
        digest=subject.digest,
        exact=evidence == "exact",
        witnesses=witnesses,
        cells=len(cells),
        bounds=_bounds(cells, over, space, len(witnesses)),
        rows=_rows(content.get("rows", [])),
    )


SUBJECT = ("format", "version", "public", "release", "over")
"""Keys of every certificate."""


def read_subject(content: Mapping[str, Any]) -> Subject:
    """What a certificate is about, and its keys that say nothing else."""
    plain.typed(content["version"], "version", str)
    plain.typed(content["public"], "public", bool)
    release = plain.object_with(
        content["release"], "release", ["digest", "domain", "statements"], only=["groupings"]
    )
    digest = plain.typed(release["digest"], "release.digest", str)
    if not re.fullmatch("[0-9a-f]+", digest):
        raise InvalidInput("release.digest is not written in hexadecimal digits")
    space = Space(release["domain"], release.get("groupings", {}))
    given = plain.entries(release["statements"], "release.statements")
    statements = tuple(read_statement(each, place, space) for place, each in enumerate(given))
    return Subject(space, statements, space.checked_names(content["over"], "over"), digest)


def _sparse(given: object, where: str, space: Space, least: int | None) -> Sparse:
    pairs = []
    for pair in plain.entries(given, where):
        flat, amount = plain.entries(pair, f"an entry of {where}", 2)
        if plain.whole(flat, f"{where}: a cell") >= space.size:
            raise InvalidInput(f"{where}: cell {flat} of a domain of {space.size} cells")
        pairs.append((flat, plain.whole(amount, f"{where}: the number at cell {flat}", least)))
    if len({flat for flat, _ in pairs}) < len(pairs):
        raise InvalidInput(f"{where} lists a cell twice; list it once")
    return tuple(pairs)


def _rows(given: object) -> dict[int, list[tuple[Progression, ...]]]:
    sums_of: dict[int, list[tuple[Progression, ...]]] = {}
    for place, value in enumerate(plain.entries(given, "rows")):
        where = f"rows[{place}]"
        content = plain.object_with(value, where, ["statement", "sums"], only=[])
        statement = plain.whole(content["statement"], f"{where}.statement")
        if statement in sums_of:
            raise InvalidInput(f"{where}: statement {statement} stands there twice; list it once")
        sums = plain.entries(content["sums"], f"{where}.sums")
        sums_of[statement] = [_progressions(row, f"{where}.sums") for row in sums]
    return sums_of


def _progressions(given: object, where: str) -> tuple[Progression, ...]:
    ascending: list[Progression] = []
    for value in plain.entries(given, f"an entry of {where}"):
        first, last, step = plain.entries(value, f"{where}: first, last and step", 3)
        plain.whole(step, f"{where}: a step", 1)
        plain.whole(first, f"{where}: a first sum")
        if last is not None:
            plain.whole(last, f"{where}: a last sum")
        before = ascending[-1][1] if ascending else -1
        if before is None or first <= before or (last is not None and last < first):
            raise InvalidInput(f"{where}: sums do not ascend; list each once, the smallest first")
        ascending.append((first, last, step))
    return tuple(ascending)


def _bounds(cells: list[Any], over: tuple[str, ...], space: Space, witnesses: int) -> list[Bound]:
    """The bounds of all cells, the lower one of each first."""
    behind = space.behind(over)
    bounds: list[Bound] = []
    seen: set[int] = set()
    for place, value in enumerate(cells):
        where = f"cells[{place}]"
        content = plain.object_with(value, where, ["labels", "lower", "upper"], only=[])
        figure = space.figure(over, content["labels"], where)
        words = f"cell {space.words(over, figure)}"
        if figure in seen:
            raise InvalidInput(f"{where}: {words} stands there twice; list it once")
        seen.add(figure)
        for side in ("lower", "upper"):
            here = f"{where}.{side}"
            claim = plain.object_with(
                content[side], here, ["proven", "attained", "witness", "proof"], only=[]
            )
            proven, attained, witness = (claim[key] for key in ("proven", "attained", "witness"))
            if proven is not None or side == "lower":
                plain.whole(proven, f"{here}.proven", None)
            if attained is not None:
                plain.whole(attained, f"{here}.attained", None)
            elif witness is not None:
                raise InvalidInput(f"{here} has a witness, but says not what it attains")
            if witness is not None and plain.whole(witness, f"{here}.witness") >= witnesses:
                raise InvalidInput(f"{here}.witness is {witness}; there are {witnesses} witnesses")
            proof = _proof(claim["proof"], f"{here}.proof", space)
            claims = (side, proven, attained, witness, proof)
            bounds.append(Bound(words, figure, behind.of(figure), *claims))
    return bounds


def _proof(given: object, where: str, space: Space) -> ClaimedProof:
    content = plain.object_with(given, where, ["kind"])
    kind = plain.choice(content["kind"], f"{where}.kind", _CONTENT)
    plain.object_with(content, where, ["kind", *_CONTENT[kind]], only=[])
    read: dict[str, Callable[[object, str], Any]] = {
        "denominator": partial(plain.whole, least=1),
        "multipliers": _multipliers,
        "statement": plain.whole,
        "row": plain.whole,
        "sums": _progressions,
        "ray": partial(_sparse, space=space, least=0),
        "text": partial(plain.typed, kind=str),
    }
    return ClaimedProof(kind, **{k: read[k](content[k], f"{where}.{k}") for k in _CONTENT[kind]})


def _multipliers(given: object, where: str) -> tuple[tuple[int, int, str, int], ...]:
    proof = where.removesuffix(".multipliers")
    multipliers = []
    for multiplier in plain.entries(given, where):
        statement, figure, end, factor = plain.entries(multiplier, f"an entry of {where}", 4)
        plain.whole(statement, f"{proof}: a statement")
        plain.whole(figure, f"{proof}: a figure")
        plain.choice(end, f"{proof}: an end", ENDS)
        plain.whole(factor, f"{proof}: a multiplier")
        multipliers.append((statement, figure, end, factor))
    return tuple(multipliers)
