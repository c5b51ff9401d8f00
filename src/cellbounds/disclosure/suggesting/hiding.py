"""Figures that a statement does not show, and the statement without some more of them."""

from __future__ import annotations

import numpy as np

from cellbounds.runtime.arrays import BoolArray
from cellbounds.statements import Conditional, Margin

__all__ = ["hidden_in", "with_hidden"]


def hidden_in(statement: Margin | Conditional) -> BoolArray:
    """Which figures are not shown, in the statement's shape; rows that hold nobody are shown."""
    if isinstance(statement, Margin):
        shown = [isinstance(entry, int) for entry in statement.entries.flat]
        return ~np.array(shown, dtype=bool).reshape(statement.entries.shape)
    rows, columns = statement.intervals.low.shape
    missing = [
        [statement.figure_text(row, column) == "missing" for column in range(columns)]
        for row in range(rows)
    ]
    hidden = np.array(missing, dtype=bool) & ~statement.intervals.zero[:, None]
    return np.asarray(hidden.reshape(statement.shape))


def with_hidden(statement: Margin | Conditional, hidden: BoolArray) -> Margin | Conditional | None:
    """The statement with these figures suppressed too.

    None for rates beside rows that hold nobody: files have one word for what is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from cellbounds import Margin
    >>> with_hidden(Margin(["county"], [15, 1]), np.array([False, True])).entries.tolist()
    [15, None]
    """
    if not hidden.any():
        return statement
    if isinstance(statement, Margin):
        return statement.withheld(hidden)
    if statement.intervals.zero.any():
        return None
    gone = (hidden | hidden_in(statement)).reshape(statement.intervals.low.shape)
    laid = np.full(gone.shape, None, dtype=object)
    for row, column in np.argwhere(~gone).tolist():
        laid[row, column] = statement.figure_text(row, column)
    announced = statement.eps is not None
    return Conditional(
        statement.responses,
        statement.given,
        rates=laid.reshape(statement.shape),
        digits=statement.digits,
        rounding=statement.rounding,
        eps=_laid_eps(statement) if announced else None,
        strict=statement.strict,
        missing="suppressed",
    )


def _laid_eps(statement: Conditional) -> object:
    assert statement.eps is not None  # asked for announced tolerances only
    if len(statement.eps) == 1:
        return statement.eps[0]
    tolerances = np.empty(len(statement.eps), dtype=object)
    tolerances[:] = statement.eps
    return tolerances.reshape(statement.shape)
