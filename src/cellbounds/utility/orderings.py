"""Which of two tables is further from a model: statistics of whole tables, compared exactly.

Floating point settles all but near ties. Those are settled in integers or fractions where the
statistic has them:

- *Pearson's*, where the expected counts m are known as fractions (decomposable models): the sum
  of (n - m)**2 / m is the sum of n**2 / m, less N.
- *The likelihood ratio*, always: log m is a sum of terms of the model's margins, so that the sum
  of n log m is the same for all tables with those margins, and what is left to compare is the sum
  of n log n: the integers prod n**n.
- *The probability* of a table is in the ratio of 1 / prod n!.

Where expected counts are the limit of an iteration there is no exact comparison: tables within
`TOLERANCE` of the observed one count as tied with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray

TOLERANCE = 1e-7
"""Relative difference below which statistics that cannot be compared exactly are taken as tied."""

NEAR = 1e-9
"""Relative difference below which floating point does not decide: far above its errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Ordering:
    """A statistic, the larger the further a table is from the model.

    Attributes
    ----------
    name
        What it is called.
    floats
        The statistic of many tables (tables, cells), or one that orders them alike.
    exact
        The same of one table, to be compared exactly; None if there is no such number.
    shift
        What to add to `floats`, times `scale`, for the statistic itself.
    """

    name: str
    floats: Callable[[IntArray], FloatArray]
    exact: Callable[[IntArray], Any] | None
    scale: float = 1.0
    shift: float = 0.0

    @property
    def tolerance(self) -> float:
        """What counts as tied; 0 if ties are told exactly."""
        return TOLERANCE if self.exact is None else 0.0

    def value(self, observed: IntArray) -> float:
        """The statistic of one table."""
        return self.scale * float(self.floats(observed[None, :])[0]) + self.shift

    def compared(self, tables: IntArray, observed: IntArray) -> tuple[BoolArray, BoolArray]:
        """Which tables are at least as far as the observed one, and which are just as far."""
        here = float(self.floats(observed[None, :])[0])
        values = self.floats(tables)
        with np.errstate(invalid="ignore"):
            gaps = np.where(values == here, 0.0, values - here)
        if np.isnan(gaps).any():
            raise InvalidInput(f"the statistic {self.name} is undefined (NaN) for some table")
        # One unit is the least that statistics are measured by, so that zero has neighbours.
        near = np.abs(gaps) <= (self.tolerance or NEAR) * (1 + abs(here))
        further, tied = np.asarray(gaps > 0), np.array(near)
        if self.exact is not None:
            mark = self.exact(observed)
            for place in np.flatnonzero(near).tolist():
                own = self.exact(tables[place])
                further[place], tied[place] = own > mark, own == mark
        return np.asarray(further | tied), tied


def pearson(expected: FloatArray, fractions: list[Fraction] | None, total: int) -> Ordering:
    """Pearson's statistic; `fractions` are the expected counts if they are known exactly."""
    possible = expected > 0

    def floats(tables: IntArray) -> FloatArray:
        return np.asarray((tables[:, possible].astype(np.float64) ** 2 / expected[possible]).sum(1))

    def exact(table: IntArray) -> Fraction:
        assert fractions is not None
        pairs = zip(table.tolist(), fractions, strict=True)
        return sum((Fraction(n * n) / m for n, m in pairs if m), Fraction(0))

    return Ordering("chi-squared", floats, exact if fractions else None, shift=-float(total))


def likelihood_ratio(expected: FloatArray, observed: IntArray) -> Ordering:
    """Twice the logarithm of the likelihood ratio to the table itself."""
    from scipy.special import xlogy

    possible = expected > 0
    fixed = float(xlogy(observed[possible], expected[possible]).sum())

    def floats(tables: IntArray) -> FloatArray:
        return np.asarray(xlogy(tables, tables).sum(axis=1))

    def exact(table: IntArray) -> int:
        return math.prod(n**n for n in table.tolist())

    return Ordering("G", floats, exact, scale=2.0, shift=-2 * fixed)


def improbability() -> Ordering:
    """The sum of log n!, which orders tables from the most probable to the least."""
    from scipy.special import gammaln

    def floats(tables: IntArray) -> FloatArray:
        return np.asarray(gammaln(tables.astype(np.float64) + 1).sum(axis=1))

    def exact(table: IntArray) -> int:
        return math.prod(map(math.factorial, table.tolist()))

    return Ordering("probability", floats, exact)


def of_tables(statistic: Callable[[Table], Any], domain: Domain, observed: IntArray) -> Ordering:
    """Any statistic of a table; compared exactly if it gives whole numbers or fractions."""

    def exact(table: IntArray) -> Any:
        return statistic(Table(domain, table.reshape(domain.shape)))

    def floats(tables: IntArray) -> FloatArray:
        # Draws repeat themselves; a statistic may be slow.
        distinct, places = np.unique(tables, axis=0, return_inverse=True)
        values = np.array([float(exact(table)) for table in distinct])
        return np.asarray(values[places.reshape(-1)])

    first = exact(observed)
    if isinstance(first, bool) or not isinstance(first, int | float | Fraction | np.number):
        raise InvalidInput(
            f"the statistic gives a {type(first).__name__}; it should give a number, the larger "
            "the further a table is from the model"
        )
    whole = isinstance(first, int | Fraction | np.integer)
    name = getattr(statistic, "__name__", type(statistic).__name__)
    return Ordering(name, floats, exact if whole else None)
