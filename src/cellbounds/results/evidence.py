"""How strong a claim is, the witnesses behind it, and the published figures to blame for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from cellbounds.data.domain import Label
from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.data.table import Table
from cellbounds.errors import CellboundsError
from cellbounds.model.constraints import System, violations
from cellbounds.results.values import Unbounded
from cellbounds.statements import Release


class Evidence(Enum):
    """What stands behind a bound.

    EXACT: nobody can be outside, and a table attains it. OUTER: nobody can be outside, but it may
    not be attained. INNER: a table attains it, but others may go further.
    ESTIMATED: an average over draws, with a Monte Carlo error.
    """

    EXACT = "exact"
    OUTER = "outer"
    INNER = "inner"
    ESTIMATED = "estimated"

    def __repr__(self) -> str:
        return self.name


def checked(
    release: Release,
    table: Table,
    over: tuple[str, ...],
    index: tuple[int, ...],
    value: int,
    system: System | None = None,
) -> Table:
    """The table, if it is consistent and holds `value` in the cell asked for.

    Raises
    ------
    CellboundsError
        If not: a method went wrong.
    """
    broken = violations(table, release, system)
    held = table.margin(over).at(index) if index else table.total
    if broken or held != value:
        raise CellboundsError(
            f"a witness failed its check ({', '.join(broken) or 'another count'}); please report "
            "this with the release"
        )
    return table


SHOWN = 40
"""Figures that a printed explanation lists."""


@dataclass(frozen=True, slots=True)
class Blame:
    """What forces one bound.

    Attributes
    ----------
    statements
        A smallest set of statements that alone forces the bound (see `smallest`).
    figures
        Published figures within them that force it, as text (see `irreducible`).
    smallest
        Whether no smaller set of statements does it; if not, none of the set can be left out.
    irreducible
        Whether none of the figures can be left out; if not, there were too many to try.
    """

    statements: tuple[str, ...]
    figures: tuple[str, ...]
    smallest: bool
    irreducible: bool


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The bounds of one cell, the tables that attain them and what forces them."""

    labels: tuple[Label, ...]
    lower: int
    upper: int | Unbounded
    evidence: Evidence
    method: str
    lower_witness: Table
    upper_witness: Table | None
    lower_blame: Blame
    upper_blame: Blame

    def __str__(self) -> str:
        cell = ", ".join(map(str, self.labels))
        lines = [
            f"cell {cell}: from {self.lower} to {self.upper} ({self.evidence.value}, {self.method})"
        ]
        for side, value, blame in (
            ("at least", self.lower, self.lower_blame),
            ("at most", self.upper, self.upper_blame),
        ):
            if not blame.statements:
                lines.append(f"  {side} {value}: without any statement")
                continue
            which = "smallest set" if blame.smallest else "irreducible set"
            lines.append(f"  {side} {value}: because of {', '.join(blame.statements)} ({which})")
            lines += [f"    {figure}" for figure in blame.figures[:SHOWN]]
            if len(blame.figures) > SHOWN:
                lines.append(f"    and {len(blame.figures) - SHOWN} more figures")
            if not blame.irreducible:
                lines.append("    (some of these may not be needed: too many to try them all)")
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Plain values; witnesses as nested lists of counts.

        Of a domain with more cells than can be listed, they are ``{"cells": [...]}``: the labels
        and the count of each cell that holds somebody.
        """
        upper = None if isinstance(self.upper, Unbounded) else self.upper
        witness = None if self.upper_witness is None else _counts(self.upper_witness)
        return {
            "labels": list(self.labels),
            "lower": self.lower,
            "upper": upper,
            "evidence": self.evidence.value,
            "method": self.method,
            "lower_blame": _plain(self.lower_blame),
            "upper_blame": _plain(self.upper_blame),
            "lower_witness": _counts(self.lower_witness),
            "upper_witness": witness,
        }


def _counts(table: Table) -> Any:
    if table.domain.size <= DENSE_LIMIT:
        return table.counts.tolist()
    places, counts = table.cells()
    lines = zip(places.tolist(), counts.tolist(), strict=True)
    return {"cells": [[*table.domain.labels(place), count] for place, count in lines]}


def _plain(blame: Blame) -> dict[str, Any]:
    lists = {"statements": list(blame.statements), "figures": list(blame.figures)}
    return asdict(blame) | lists
