"""What is asked of a file, a folder, a frame or an engine: which columns, and what they count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellbounds.errors import InvalidInput
from cellbounds.text import column_names

MISSING = "(missing)"
"""The label of missing values where they are a level of their own."""

_POLICIES = ("error", "drop", "level")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which columns make cells, and what is added up in them.

    Parameters
    ----------
    names
        The variables of the table, in order.
    used
        The columns that make cells. Those of a file of counts are all of its columns, whatever
        `names` says: only so is it seen whether a cell is listed twice.
    amount
        The column of counts or weights; None if every line counts one.
    weighted
        Whether that column is one of weights.
    rounded
        Whether weights may be fractions, which are added up exactly and rounded in each cell.
    uncounted
        Whether counts may be missing.
    missing
        What to do with missing labels: ``"error"``, ``"drop"`` or ``"level"``.
    """

    names: tuple[str, ...]
    used: tuple[str, ...]
    amount: str | None = None
    weighted: bool = False
    rounded: bool = False
    uncounted: bool = False
    missing: str = "error"

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.used, *([] if self.amount is None else [self.amount])]

    @property
    def what(self) -> str:
        """What the column of amounts holds."""
        return "weight" if self.weighted else "count"


def selection_of(
    where: str,
    header: Sequence[str],
    *,
    count: str | None,
    variables: Sequence[str] | None,
    weight: str | None,
    rounded: bool,
    missing: str,
    uncounted: bool,
) -> Selection:
    """Check the arguments of a reading against the columns that there are."""
    _check_missing(missing, count)
    if rounded or weight is not None:
        _check_weight(where, header, weight, count)
    if count is not None and count not in header:
        raise InvalidInput(
            f"{where}: no column {count!r} among {column_names(header)}; name the column "
            "of counts with count=... (--count), or count=None (--records) if lines are records"
        )
    amount = weight if count is None else count
    names = [name for name in header if name != amount]
    if variables is None and not names:
        raise InvalidInput(f"{where}: there is no column besides the counts; add variables")
    chosen = names if variables is None else _chosen(where, names, variables)
    return Selection(
        tuple(chosen),
        tuple(chosen if count is None else names),
        amount,
        weighted=weight is not None,
        rounded=rounded,
        uncounted=uncounted,
        missing=missing,
    )


def _chosen(where: str, names: list[str], variables: Sequence[str]) -> list[str]:
    if isinstance(variables, str):
        raise InvalidInput(
            f"variables are given as the text {variables!r}; give a list, such as [{variables!r}]"
        )
    for name in variables:
        if name not in names:
            raise InvalidInput(
                f"{where}: unknown variable {name!r}; the columns are {column_names(names)}"
            )
        if list(variables).count(name) > 1:
            raise InvalidInput(f"variable {name!r} is named twice; name it once")
    if not variables:
        raise InvalidInput("variables=[] names no variable; name at least one, or leave it out")
    return list(variables)


def _check_missing(missing: str, count: str | None) -> None:
    if missing not in _POLICIES:
        raise InvalidInput(
            f"missing={missing!r}; give one of {', '.join(map(repr, _POLICIES))} (--missing)"
        )
    if missing == "drop" and count is not None:
        raise InvalidInput(
            "missing='drop' leaves out records, but a line here is a cell with its count, and "
            "everybody in it would be lost; give missing='level' to keep such cells, or count=None "
            "(--records) if lines are records"
        )


def _check_weight(where: str, header: Sequence[str], weight: str | None, count: str | None) -> None:
    if weight is None:
        raise InvalidInput(
            "round_weight=True without a column of weights; name it with weight=... (--weight)"
        )
    if count is not None:
        raise InvalidInput(
            f"weight={weight!r} goes with records, but lines here are cells with counts; give "
            "count=None (--records), or leave the weight out"
        )
    if weight not in header:
        raise InvalidInput(
            f"{where}: no column {weight!r} among {column_names(header)}; name the column of "
            "weights with weight=... (--weight)"
        )
