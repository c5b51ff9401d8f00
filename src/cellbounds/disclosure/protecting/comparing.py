"""The ways to protect a table side by side: each judged alike, and what it keeps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, overload

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import DEFAULT, Outcome, Policy, policy_of
from cellbounds.disclosure.policies.knowledge import with_known_structure
from cellbounds.disclosure.protecting.finished import Finished
from cellbounds.disclosure.protecting.protection import METHODS, protect
from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.statements import Release, publish
from cellbounds.text import counted, wrapped
from cellbounds.utility.display import Listing, columns_of
from cellbounds.utility.retained_utility import Retained, retained
from cellbounds.version import __version__

FORMAT = "cellbounds-compare/1"

DEPENDS = "what is kept and what is lost depends on the counts: keep this to yourself"

SPENT = "not tried: the budget was spent on other ways"

WIDTH = 80


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """One way to protect a table.

    Attributes
    ----------
    method
        Its name.
    result
        What came out; None if nothing did.
    kept
        What that keeps of what was asked for.
    why
        Why nothing came out; else empty.
    seconds
        How long it took.
    """

    method: str
    result: Finished | None
    kept: Retained | None
    why: str
    seconds: float

    @property
    def outcome(self) -> Outcome:
        """How it was judged."""
        return Outcome.UNDECIDED if self.result is None else self.result.outcome

    @property
    def safe(self) -> bool:
        """Whether it was judged safe."""
        return self.outcome is Outcome.SAFE

    @property
    def held(self) -> bool:
        """Whether that holds against whoever reruns this way alone, too."""
        return self.safe and self.result is not None and self.result.verdict.independent

    @property
    def share(self) -> float:
        """The share that is kept; 0 if nothing came out."""
        return 0.0 if self.kept is None else self.kept.share

    @property
    def lost(self) -> str:
        """What it costs, in words."""
        if self.result is None:
            return self.why
        if self.result.optimal:
            return f"{self.result.cost} (proven): {self.result.costing}"
        return f"{self.result.cost} (gap {self.result.gap:.1%}): {self.result.costing}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the owner."""
        result, kept = self.result, self.kept
        values: dict[str, Any] = {"method": self.method, "verdict": self.outcome.value}
        if result is None or kept is None:
            return values | {"why": self.why, "seconds": round(self.seconds, 6)}
        return values | {
            "kept": kept.to_dict(),
            "independent": self.held,
            "changed": result.changed,
            "published": result.asked,
            "cost": result.cost,
            "bound": result.bound,
            "optimal": result.optimal,
            "costing": result.costing,
            "release": result.release.digest,
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(Listing, Sequence[Compared]):
    """Ways to protect a table: safe ones first, and of these the one that keeps most.

    Attributes
    ----------
    release, policy
        What was asked for.
    ways
        The ways.
    """

    numbers: ClassVar[frozenset[str]] = frozenset({"keeps", "changed", "seconds"})

    release: Release
    policy: Policy
    ways: tuple[Compared, ...]
    seconds: float

    @property
    def best(self) -> Compared | None:
        """The safe way that keeps most; None if none is safe."""
        return self.ways[0] if self.ways[0].safe else None

    @property
    def outcome(self) -> Outcome:
        """Whether one of them is safe."""
        outcomes = {way.outcome for way in self.ways}
        settled = Outcome.UNSAFE if outcomes == {Outcome.UNSAFE} else Outcome.UNDECIDED
        return Outcome.SAFE if Outcome.SAFE in outcomes else settled

    @overload
    def __getitem__(self, place: int) -> Compared: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Compared]: ...

    def __getitem__(self, place: int | slice) -> Compared | Sequence[Compared]:
        return self.ways[place]

    def __len__(self) -> int:
        return len(self.ways)

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.ways)

    @property
    def warning(self) -> str:
        """What the list gives away."""
        return DEPENDS

    def columns(self) -> dict[str, list[Any]]:
        """The ways column by column."""
        header = ["method", "verdict", "kept", "changed", "published"]
        header += ["cost", "bound", "costing", "seconds"]
        rows = [{**way.to_dict(), "kept": way.share} for way in self.ways]
        return columns_of(header, [[row.get(name) for name in header] for row in rows])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; for the owner."""
        return {
            "format": FORMAT,
            "version": __version__,
            "verdict": self.outcome.value,
            "policy": self.policy.to_dict(),
            "warning": DEPENDS,
            "statements": [one.notation for one in self.release.statements if one.published],
            "best": None if self.best is None else self.best.method,
            "ways": [way.to_dict() for way in self.ways],
            "seconds": round(self.seconds, 6),
        }

    def _title(self) -> str:
        safe = sum(way.safe for way in self.ways)
        words = f"{safe} of {counted(len(self.ways), 'way')} safe under the policy"
        best = "" if self.best is None else f"; {self.best.method} keeps most"
        return f"{words} {self.policy.name}{best}"

    def _remarks(self) -> list[str]:
        asked = ", ".join(one.subject for one in self.release.statements if one.published)
        unsafe = [way.method for way in self.ways if way.outcome is Outcome.UNSAFE]
        open_ways = [way.method for way in self.ways if way.outcome is Outcome.UNDECIDED]
        remarks = [f"asked for: {asked}"]
        remarks += [f"NOT SAFE: {', '.join(unsafe)}"] if unsafe else []
        remarks += [f"not known to be safe: {', '.join(open_ways)}"] if open_ways else []
        held = ", ".join(way.method for way in self.ways if way.held)
        remarks += ["keeps: how close a reader still comes to the figures asked for"]
        said = f"against whoever reruns that way alone, too: {held}"
        return [*remarks, *([said] if held else [])]

    def _heading(self) -> list[str]:
        lines = [self._title(), *(f"  {remark}" for remark in self._remarks())]
        return [part for line in lines for part in wrapped(line, WIDTH, "    ")]

    def _table(self, _: int) -> tuple[list[str], list[list[str]], str]:
        header = ["method", "verdict", "keeps", "changed", "seconds", "lost"]
        rows = []
        for way in self.ways:
            changed = ""
            if way.result is not None:
                changed = f"{way.result.changed} of {way.result.asked}"
            keeps = "" if way.kept is None else way.kept.percent
            rows.append(
                [way.method, str(way.outcome), keeps, changed, f"{way.seconds:.1f}", way.lost]
            )
        return header, rows, ""


@budgeted(stops=False)
def compare(
    table: Table,
    *statements: str,
    policy: Policy | str | Path = DEFAULT,
    methods: Iterable[str] = tuple(METHODS),
    base: int | None = None,
    widths: Sequence[int] | None = None,
    total: bool = True,
    independent: bool | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Comparison:
    """Protect a table in several ways, and put them side by side by what they keep.

    Each way is judged by the same policy, against the same intruder. What it keeps is how close a
    reader comes to the figures that were asked for (:func:`cellbounds.utility.retained`).

    Parameters
    ----------
    table, *statements, policy, base, widths, total, independent
        As for :func:`protect`.
    methods
        The ways, by their names.
    budget, seconds
        What all of it may cost; each way gets its part.

    Examples
    --------
    >>> import cellbounds as cb
    >>> found = cb.compare(
    ...     cb.datasets.read("delinquent"), "[county+,education+]", methods=["suppress", "round"]
    ... )
    >>> [(way.method, way.safe, way.result.cost) for way in found]
    [('round', True, 16), ('suppress', True, 29)]
    """
    begun = time.perf_counter()
    if not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give the Table to be protected")
    chosen, names = policy_of(policy), _methods(methods)
    table = with_known_structure(table)
    release = publish(table, *statements, total=total)
    given: dict[str, Any] = {"base": base, "widths": widths}
    ways, refused = [], 0
    for place, name in enumerate(names):
        if budget.spent:
            ways.append(Compared(name, None, None, SPENT, 0.0))
            continue
        share = budget.share(1 / (len(names) - place))
        options: dict[str, Any] = {key: given[key] for key in given if key in METHODS[name]}
        started = time.perf_counter()
        try:
            result = protect(
                table,
                *statements,
                policy=chosen,
                method=name,
                total=total,
                independent=independent,
                budget=share,
                **options,
            )
            kept, why = _kept(table, release, result), ""
        except (Unsettled, TooMuchWork, UnsupportedRelease) as problem:
            result, kept, why = None, None, str(problem)
            refused += isinstance(problem, UnsupportedRelease)
            if refused == len(names):
                raise  # none of them is for such releases
        ways.append(Compared(name, result, kept, why, time.perf_counter() - started))
    ways.sort(key=lambda way: (not way.safe, -way.share))
    return Comparison(release, chosen, tuple(ways), time.perf_counter() - begun)


def _methods(methods: Iterable[str]) -> list[str]:
    names = [methods] if isinstance(methods, str) else list(dict.fromkeys(methods))
    for name in names:
        if name not in METHODS:
            raise InvalidInput(f"methods: {name!r}; choose from {', '.join(METHODS)}")
    if not names:
        raise InvalidInput(f"methods is empty; choose from {', '.join(METHODS)}")
    return names


def _kept(table: Table, asked: Release, result: Finished) -> Retained:
    """What a result keeps of what was asked for: every margin, and N."""
    use = [one.subject for one in asked.statements if one.published]
    known = table.with_domain(result.release.domain)
    return retained(known, result.release, use)
