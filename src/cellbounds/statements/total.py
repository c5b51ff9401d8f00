"""The sample size N, or what is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cellbounds.data.cell_groups import CellGroups
from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.statements.inequalities import LinearRows, bounded_sums
from cellbounds.statements.notation import Request
from cellbounds.statements.numbers import whole_number
from cellbounds.statements.statement import Statement

if TYPE_CHECKING:
    from numpy.random import Generator

    from cellbounds.statements.release_files import FileEntry, ReleaseFile


@dataclass(frozen=True, slots=True, init=False)
class Total(Statement):
    """The sample size N, or what is known of it.

    Examples
    --------
    >>> from cellbounds import Total
    >>> Total(135)
    Total(135)
    >>> Total(lower=100, upper=200)
    Total(lower=100, upper=200)
    """

    kind: ClassVar[str] = "total"
    several: ClassVar[bool] = False
    subject: ClassVar[str] = "N"
    variables: ClassVar[tuple[str, ...]] = ()

    lower: int
    upper: int | None
    exact: int | None  # N itself if it is known

    def __init__(self, n: object = None, *, lower: object = None, upper: object = None) -> None:
        if n is not None:
            if lower is not None or upper is not None:
                raise InvalidInput(
                    "a total with n= needs no lower= or upper=; give one or the other"
                )
            lower = upper = n
        low = 0 if lower is None else whole_number(lower, "the total's lower")
        high = None if upper is None else whole_number(upper, "the total's upper")
        if high is not None and high < low:
            raise InvalidInput(f"the total's lower {low} is above its upper {high}; swap them")
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "exact", low if low == high else None)

    @property
    def notation(self) -> str:
        """This statement in the notation of releases."""
        if self.exact is not None:
            return f"N={self.exact}"
        return f"N in {self.lower}..{'' if self.upper is None else self.upper}"

    def description(self, domain: Domain) -> str:
        """What N is."""
        if self.exact is not None:
            return "the number of people in the table"
        return "what is said of the number of people in the table"

    def check(self, domain: Domain) -> None:
        """N fits every domain."""

    def allows(self, total: int) -> bool:
        """Whether N may be this."""
        return self.lower <= total and (self.upper is None or total <= self.upper)

    def holds(self, domain: Domain, table: Table) -> bool:
        """Whether the counts of a table add up to it."""
        return self.allows(table.total)

    def inequalities(self, domain: Domain, *, closed: bool = False) -> Iterator[LinearRows]:
        """The sum of all cells."""
        everything = CellGroups(np.array([0, domain.size]), np.arange(domain.size))
        most = -1 if self.upper is None else self.upper
        return bounded_sums(everything, whole_array([self.lower], (1,)), whole_array([most], (1,)))

    def fixed_counts(self, domain: Domain) -> IntArray | None:
        """N, if it is known."""
        return None if self.exact is None else whole_array([self.exact], ())

    def shown_counts(self) -> npt.NDArray[np.object_] | None:
        """N, if it is known."""
        return None if self.exact is None else np.array(self.exact, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values."""
        return {self.kind: {"lower": self.lower, "upper": self.upper}}

    @classmethod
    def from_plain(cls, values: dict[str, Any], domain: Domain) -> Self:
        """From the plain values of a ledger."""
        return cls(lower=values["lower"], upper=values["upper"])

    def to_entry(self, domain: Domain, figures: str) -> FileEntry:
        """``total = 50``, or its lower and upper limit."""
        limits = {"lower": self.lower, "upper": self.upper}
        given = {key: limit for key, limit in limits.items() if limit is not None}
        return (given if self.exact is None else self.exact), (), None

    @classmethod
    def from_entry(cls, entry: Any, file: ReleaseFile) -> Self:
        """From ``total``: a number, or lower and upper."""
        if not isinstance(entry, dict):
            return cls(entry)
        file.only(entry, {"lower", "upper"}, "total")
        return cls(lower=entry.get("lower"), upper=entry.get("upper"))

    @classmethod
    def requested(cls, request: Request) -> bool:
        """Whether N is asked for."""
        return not request.responses

    @classmethod
    def publish(cls, table: Table, request: Request, rng: Generator | None = None) -> Self:
        """N itself."""
        return cls(table.total)

    def __repr__(self) -> str:
        if self.exact is not None:
            return f"Total({self.exact})"
        return f"Total(lower={self.lower}, upper={self.upper})"
