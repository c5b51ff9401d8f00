"""What a set of margins is good for."""

from __future__ import annotations

from cellbounds.data.table import Table
from cellbounds.statements import Margin, Prior, Release, Total
from cellbounds.utility import fit_loglinear

__all__ = ["Worth"]


class Worth:
    """How much of the association in a table the margins of a release tell.

    That is ``1 - G(margins) / G(independence)``: 0 for one-way margins alone, which are taken to be
    known, and 1 for the whole table. G is twice the log-likelihood ratio of the log-linear model
    that fits the margins to the table itself.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._singles = [(name,) for name in table.domain.names]
        self._apart = 0.0
        if table.total and len(self._singles) > 1:
            self._apart = fit_loglinear(table, self._singles).g

    def of(self, release: Release) -> float | None:
        """The worth of a release of exact margins; None if it says something else.

        None also if there is no association to be told.
        """
        said = [one for one in release.statements if not isinstance(one, Total | Prior)]
        margins = [one.variables for one in said if isinstance(one, Margin) and one.exact]
        derived = any(
            release.domain.grouping(name) is not None for names in margins for name in names
        )
        # Rounding in the fit leaves a little of G even where nothing is associated.
        if self._apart < 1e-9 * max(self.table.total, 1) or derived or len(margins) < len(said):
            return None
        g = fit_loglinear(self.table, [*margins, *self._singles]).g
        return min(1.0, max(0.0, 1 - g / self._apart))
