"""What a release keeps: how close its reader comes to the rates that he wants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements import Conditional, Margin, Release
from cellbounds.statements.conditional import check_rate_variables
from cellbounds.statements.notation import Request, parse
from cellbounds.text import aligned
from cellbounds.utility.display import picked
from cellbounds.utility.distances import as_floats

EVEN = "an even guess"


@dataclass(frozen=True, slots=True)
class RetainedUse:
    """One use of a release.

    Attributes
    ----------
    notation
        The rates that are wanted, or the margin.
    distance
        How far the reader's best guess is from them: the mean over people of the total variation
        distance in their row, from 0 to 1.
    even
        The same for an even guess, which needs no release.
    source
        The statement that the best guess is read from; None for the even guess.
    figures
        How many figures are wanted.
    """

    notation: str
    distance: float
    even: float
    source: str | None
    figures: int = 1

    @property
    def share(self) -> float:
        """1: as good as the exact figures; 0: nothing better than an even guess, or not told."""
        if self.even == 0:  # the even guess is right, but only who is told can know that
            return float(self.source is not None)
        return max(0.0, 1.0 - self.distance / self.even)


@dataclass(frozen=True, slots=True)
class Retained:
    """What a release keeps for some uses; it depends on the confidential counts.

    Attributes
    ----------
    parts
        The uses, one by one.
    """

    parts: tuple[RetainedUse, ...]

    @property
    def share(self) -> float:
        """1: as good as the exact figures; 0: nothing better than an even guess.

        The mean of the uses, each of which counts by the number of its figures.
        """
        figures = sum(use.figures for use in self.parts)
        return 1.0 if not figures else sum(use.share * use.figures for use in self.parts) / figures

    @property
    def percent(self) -> str:
        """The share for people: 100% only if nothing is lost."""
        return "100%" if self.share == 1 else f"{min(self.share, 0.999):.1%}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "share": self.share,
            "uses": [
                {"use": use.notation, **picked(use, "distance", "even", "source")}
                for use in self.parts
            ],
        }

    def __str__(self) -> str:
        header = ["use", "distance", "even guess", "read from"]
        rows = [
            [use.notation, f"{use.distance:.4f}", f"{use.even:.4f}", use.source or EVEN]
            for use in self.parts
        ]
        return f"keeps {self.percent}\n" + aligned(header, rows, {"distance", "even guess"})


def retained(table: Table, release: Release, use: Iterable[str] | None = None) -> Retained:
    """How much of what a reader wants to know a release tells him.

    Parameters
    ----------
    table
        The true table.
    release
        What would be published about it.
    use
        What the reader wants, in the notation without rounding: ``"[Y|A,B]"`` (rates) or
        ``"[A,B]"`` (the shares of a margin) or ``"N"``. The statements of the release but for N if
        not said.

    Notes
    -----
    A use is a conditional of responses Y given G; a margin is that of all its variables given
    nothing. The reader guesses p(y|g) from one statement at a time. He takes the middle of what
    each figure stands for; a rate that is not shown gets its even part of what its row leaves, a
    count without a limit its even part of what the total leaves. He sums over what he does not
    need, shares what is told of merged levels or without some response out evenly over the levels
    behind, and scales each row to one; a row of which nothing is told is guessed evenly. The
    distance of a guess is ``D = sum over g of n_g / N * TV(p(.|g), guess(.|g))``, and the reader
    has the statement with the smallest D, or the even guess. The share that is kept of a use is
    1 - D / (the even guess's D); where the even guess is right, and for N, it is 1 if every figure
    is told and else 0. The share kept is the mean over the uses, each counted by the number of its
    figures: a total that is hidden is a loss, also where it could be guessed well.

    Binary floating point is good enough here: nothing about safety is decided by it. The result
    depends on the confidential counts, so that it is for their owner.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.utility.retained_utility import retained
    >>> table = cb.datasets.read("delinquent")
    >>> for text in ("[education|county]", "[education|county]@1", "[education|]@2"):
    ...     release = cb.publish(table, text)
    ...     print(text, round(retained(table, release, use=["[education|county]"]).share, 3))
    [education|county] 1.0
    [education|county]@1 0.891
    [education|]@2 0.187
    """
    if not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give the Table that the release was made from")
    if not isinstance(release, Release):
        raise InvalidInput(f"release={release!r}; give a Release, such as publish(table, ...)")
    if table.domain != release.domain:
        raise InvalidInput(
            f"the release is over {release.domain!r}, the table over {table.domain!r}; give the "
            "table that the release was made from"
        )
    domain = release.domain.with_groupings(table.domain.groupings)
    known = table.with_domain(domain)
    total = _known_total(release)
    looked_up = [statement for statement in release.statements if isinstance(statement, Told)]
    readings = [(statement, *_told(statement, total)) for statement in looked_up]
    source = None if total is None else f"N={total}"
    parts = []
    for notation, request in _stated(looked_up) if use is None else _read(use, domain):
        if request.is_total:
            parts.append(RetainedUse("N", float(total is None), 1.0, source))
        else:
            parts.append(_part(known, notation, request, readings))
    return Retained(tuple(parts))


Told = Conditional | Margin
"""Statements with figures that a reader can look up."""


def _stated(statements: Sequence[Told]) -> list[tuple[str, Request]]:
    """The statements of a release, exact, each once."""
    distinct: dict[object, tuple[str, Request]] = {}
    for statement in statements:
        exact = Request(statement.request.responses, statement.request.given)
        distinct.setdefault((exact.responses, exact.given or ()), (exact.notation, exact))
    return list(distinct.values())


def _read(use: Iterable[str], domain: Domain) -> list[tuple[str, Request]]:
    if isinstance(use, str):
        raise InvalidInput(f"use={use!r} is one text; give a list, such as [{use!r}]")
    wanted = []
    for text in use:
        request = parse(text)
        if request.is_total:
            wanted.append(("N", request))
            continue
        if not request.exact:
            raise InvalidInput(
                f"the use {text!r}: what a reader wants are exact rates or margins; write it "
                "without a suffix, such as '[Y|A,B]' or '[A,B]'"
            )
        domain.distinct(request.names)
        if request.given is not None:
            check_rate_variables(domain, request.responses, request.given, text)
        wanted.append((text.strip(), request))
    if not wanted:
        raise InvalidInput("use is empty; name what a reader wants, such as ['[Y|A,B]']")
    return wanted


def _told(statement: Told, total: int | None) -> tuple[FloatArray, bool]:
    """Figures as a reader takes them, axes givens, then responses; and whether they are all told.

    They are 0 where nothing is told.
    """
    if isinstance(statement, Margin):
        return _middle_counts(statement, total), bool((statement.upper != -1).all())
    return _middle_rates(statement).reshape(statement.shape), statement.missing != "suppressed"


def _middle_rates(statement: Conditional) -> FloatArray:
    """Rows by columns; a rate of which nothing is told gets its part of what the row leaves."""
    ends = statement.intervals
    scale = ends.scale[:, None]
    silent = np.asarray((ends.low <= 0) & (ends.high >= scale), dtype=bool)
    middle = np.asarray((ends.low + ends.high) / (2 * scale), dtype=np.float64)
    middle = np.where(silent, 0.0, np.maximum(middle, 0.0))
    rest = np.maximum(1.0 - middle.sum(axis=1), 0.0) / np.maximum(silent.sum(axis=1), 1)
    middle = np.where(silent, rest[:, None], middle)
    return np.asarray(np.where(ends.zero[:, None], 0.0, middle))


def _middle_counts(statement: Margin, total: int | None) -> FloatArray:
    """The middle of each entry; entries without a limit share what the total leaves."""
    lower = np.asarray(statement.lower, dtype=np.float64)
    endless = np.asarray(statement.upper == -1, dtype=bool)
    middle = np.where(endless, lower, (lower + np.asarray(statement.upper, dtype=np.float64)) / 2)
    if total is None or not endless.any():
        return middle
    rest = (total - middle[~endless].sum()) / endless.sum()
    return np.where(endless, np.maximum(lower, rest), middle)


def _known_total(release: Release) -> int | None:
    """N as the release tells it, or the sum of a margin that shares out everybody."""
    if release.total.exact is not None:
        return release.total.exact
    shares_out = release.domain.shares_out
    margins = (statement for statement in release.statements if isinstance(statement, Margin))
    for margin in margins:
        if margin.exact and all(map(shares_out, margin.variables)):
            return int(margin.counts.sum())
    return None


def _part(
    table: Table, notation: str, wanted: Request, readings: Sequence[tuple[Told, FloatArray, bool]]
) -> RetainedUse:
    counts = as_floats(table.margin(wanted.names))
    rows = int(np.prod(counts.shape[: len(wanted.given or ())], dtype=np.int64))
    flat = counts.reshape(rows, -1)
    even = _distance(flat, np.zeros(flat.shape))
    best, source = even, None
    for statement, figures, whole in readings:
        guess = _guess(table.domain, wanted, statement.request, figures, counts.shape)
        if guess is not None:
            distance = _distance(flat, guess.reshape(rows, -1))
            if distance < best or (even == 0 and whole):
                best, source = min(distance, best), statement.notation
    return RetainedUse(notation, best, even, source, flat.size)


def _distance(counts: FloatArray, guess: FloatArray) -> float:
    """The mean over people of the distance in their row; a guess of zeros is an even one."""
    sums, guessed = counts.sum(axis=1), guess.sum(axis=1)
    held = sums > 0
    if not held.any():
        return 0.0
    some = guessed[held, None] > 0
    scaled = guess[held] / np.where(some, guessed[held, None], 1.0)
    shares = np.where(some, scaled, 1.0 / counts.shape[1])
    apart = np.abs(counts[held] / sums[held, None] - shares).sum(axis=1) / 2
    return float((apart * sums[held]).sum() / sums.sum())


def _guess(
    domain: Domain, wanted: Request, told: Request, figures: FloatArray, shape: tuple[int, ...]
) -> FloatArray | None:
    """What a statement tells, laid out as what is wanted; None if it tells nothing of it.

    Each axis of the statement is summed over, or turned into the axis of the variable wanted that
    speaks of the same levels.
    """
    names, first_response = wanted.names, len(wanted.given or ())
    bases, axes = [*map(domain.base, names)], list[int]()
    for name in told.names:
        conditioned = name in (told.given or ())
        summable = not conditioned and domain.shares_out(name)
        # The variable wanted that speaks of the same levels: itself, or one of the same base.
        wanted_names, spoken = (names, name) if name in names else (bases, domain.base(name))
        place = wanted_names.index(spoken) if spoken in wanted_names else None
        axis = len(axes)
        if place is None or place in axes:
            if not summable:
                return None
            figures = figures.sum(axis=axis)
            continue
        response = place >= first_response
        turned = _turned(domain, names[place], name, summable, response)
        if turned is None or (conditioned and response):
            return None
        figures = np.moveaxis(np.tensordot(turned, figures, axes=(1, axis)), 0, axis)
        axes.append(place)
    if not any(place >= first_response for place in axes):
        return None
    ordered = figures.transpose(np.argsort(axes))
    apart = [size if place in axes else 1 for place, size in enumerate(shape)]
    return np.asarray(np.broadcast_to(ordered.reshape(apart), shape))


def _turned(
    domain: Domain, wanted: str, told: str, summable: bool, response: bool
) -> FloatArray | None:
    """Weights (levels wanted by levels told) that turn one axis into the other, if any do."""
    ours, theirs = domain.level_sets(wanted), domain.level_sets(told)
    if wanted == told:
        return np.eye(len(ours))
    if not domain.shares_out(told):
        return None
    inside = np.array([[a <= b for b in theirs] for a in ours], dtype=np.float64)
    if (inside.sum(axis=1) == 1).all():
        # Coarser than wanted: of a response, the levels behind a group share its figure.
        return inside / np.maximum(inside.sum(axis=0), 1.0) if response else inside
    if not summable:
        return None
    around = np.array([[b <= a for b in theirs] for a in ours], dtype=np.float64)
    return around if (around.sum(axis=0) == 1).all() else None
