"""The levels of a tally: as found, as given by the user, with or without missing ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.data.microdata.asking import MISSING, Asked
from cellbounds.data.microdata.tally import Tally, check_levels
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray

__all__ = ["with_levels"]


def with_levels(tally: Tally, asked: Asked, given: Mapping[str, Sequence[Label]]) -> Tally:
    """The same cells over the levels given, missing labels left out or a level of their own."""
    for name in given:
        if name not in tally.levels:
            raise InvalidInput(
                f"levels= names {name!r}, which is no variable that is read; the variables are "
                f"{', '.join(map(repr, tally.levels))}"
            )
    if asked.missing == "drop":
        tally = _without_missing(tally)
    levels: dict[str, list[Any]] = {}
    columns: list[IntArray] = []
    for place, (name, found) in enumerate(tally.levels.items()):
        check_levels(tally.where, name, len(found))
        column = tally.places[:, place]
        levels[name], moved = _chosen(tally, name, column, list(found), given.get(name))
        columns.append(column if moved is None else moved[column])
    return replace(tally, levels=levels, places=np.column_stack(columns))


def _chosen(
    tally: Tally, name: str, column: IntArray, found: list[Any], given: Sequence[Label] | None
) -> tuple[list[Any], IntArray | None]:
    """The levels of a variable, and where each position moves (the last: a missing label)."""
    has_missing = bool(column.min(initial=0) < 0)
    if has_missing and MISSING in found:
        raise InvalidInput(
            f"{tally.where}: {name!r} has missing values and a label {MISSING!r} of its own; give "
            "missing values another label first"
        )
    if given is None:
        if not has_missing:
            return found, None
        return [*found, MISSING], np.arange(len(found) + 1)
    levels = _listed(name, given)
    if has_missing and MISSING not in levels:
        levels.append(MISSING)
    places = {label: place for place, label in enumerate(levels)}
    occurring = np.unique(column).tolist()
    moved = np.zeros(len(found) + 1, dtype=np.int64)
    moved[-1] = places.get(MISSING, 0)
    for place in occurring:
        if place < 0:
            continue
        if found[place] not in places:
            kinds = {type(found[place]).__name__, *(type(label).__name__ for label in levels)}
            hint = "" if len(kinds) == 1 else " (labels of CSV and Excel files are text)"
            raise InvalidInput(
                f"{tally.where}: the label {found[place]!r} of {name!r} is not among its levels= "
                f"given{hint}; add it, or correct the data"
            )
        moved[place] = places[found[place]]
    return levels, moved


def _listed(name: str, given: Any) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise InvalidInput(f"levels of {name!r} are given as {given!r}; give a list of them")
    levels = list(given)
    if not levels:
        raise InvalidInput(f"levels of {name!r} are an empty list; give at least one")
    return levels


def _without_missing(tally: Tally) -> Tally:
    """The records all of whose labels are there; labels of the others stay levels."""
    kept = (tally.places >= 0).all(axis=1)
    if not kept.any():
        raise InvalidInput(
            f"{tally.where}: missing='drop' leaves no record, as every one lacks a label; choose "
            "fewer columns with variables=[...], or give missing='level'"
        )
    return replace(tally, places=tally.places[kept], amounts=tally.amounts[kept])
