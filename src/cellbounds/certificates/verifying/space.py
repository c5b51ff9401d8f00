"""The cells that a certificate speaks of: its domain, its groupings, the cells behind a margin."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from cellbounds.certificates.verifying.plain import IntArray, entries, label_key, object_with, typed
from cellbounds.errors import InvalidInput

MOST_CELLS = 10**8
"""Cells of a domain or a margin at most."""


@dataclass(frozen=True, slots=True, eq=False)
class CellsBehind:
    """The cells behind each figure of a margin; a cell may be behind several, or none."""

    cells: IntArray
    figures: IntArray
    starts: IntArray

    @property
    def size(self) -> int:
        """How many figures the margin has."""
        return len(self.starts) - 1

    def of(self, figure: int) -> IntArray:
        """The cells behind one figure."""
        return self.cells[self.starts[figure] : self.starts[figure + 1]]

    def sums(self, counts: IntArray) -> IntArray:
        """Each figure, for counts over the domain."""
        summed = np.zeros(self.size, dtype=counts.dtype)
        np.add.at(summed, self.figures, counts[self.cells])
        return summed


@dataclass(frozen=True, slots=True, eq=False)
class _Variable:
    """A variable or a derived one: its axis, its labels, and each level's positions there."""

    axis: int
    labels: list[Any]
    places: dict[str, int]
    groups: list[list[int]]


def _texts(labels: Sequence[Any]) -> list[str]:
    """Labels as the digest of a release knows them."""

    def plain(label: Any) -> Any:
        return tuple(map(plain, label)) if isinstance(label, list) else label

    return [str(plain(label)) for label in labels]


class Space:
    """The domain of a certificate: cells are numbered with the last variable running fastest."""

    def __init__(self, domain: object, groupings: object) -> None:
        self._variables: dict[str, _Variable] = {}
        levels = object_with(domain, "release.domain", [])
        if not levels:
            raise InvalidInput("release.domain names no variable; it needs at least one")
        for axis, (name, given) in enumerate(levels.items()):
            labels = entries(given, f"release.domain: the levels of {name!r}")
            self._add(name, axis, labels, [[place] for place in range(len(labels))])
        self.names = tuple(levels)
        self.shape = tuple(len(labels) for labels in levels.values())
        self.size = self._checked_size(self.shape, "release.domain")
        for name, given in object_with(groupings, "release.groupings", []).items():
            self._group(name, given)
        # The cells behind each figure of a margin, found once.
        self.behind = cache(self._find_behind)

    def _add(self, name: str, axis: int, labels: list[Any], groups: list[list[int]]) -> None:
        if not labels:
            raise InvalidInput(f"{name!r} has no levels; it needs at least one")
        places = {label_key(label): place for place, label in enumerate(labels)}
        if len(places) < len(labels):
            raise InvalidInput(f"{name!r} lists a level twice; levels must differ")
        if name in self._variables:
            raise InvalidInput(f"the grouping {name!r} has the name of a variable; rename it")
        self._variables[name] = _Variable(axis, labels, places, groups)

    def _group(self, name: str, given: object) -> None:
        where = f"the grouping {name!r}"
        content = object_with(given, where, ["of", "levels"], only=[])
        of = typed(content["of"], f"{where}: its 'of'", str)
        if of not in self.names:
            raise InvalidInput(f"{where} is of {of!r}; it must be of a variable of the domain")
        levels = content["levels"]
        pairs = list(levels.items()) if isinstance(levels, dict) else entries(levels, where)
        labels, groups = [], []
        for pair in pairs:
            label, members = entries(list(pair) if isinstance(pair, tuple) else pair, where, 2)
            places = [self.place(of, member, where) for member in entries(members, where)]
            if len(set(places)) < len(places):
                raise InvalidInput(f"{where}: the group {label!r} lists a level twice")
            labels.append(label)
            groups.append(places)
        self._add(name, self._variables[of].axis, labels, groups)

    @staticmethod
    def _checked_size(shape: Sequence[int], where: str) -> int:
        size = math.prod(shape)
        if size > MOST_CELLS:
            raise InvalidInput(
                f"{where} spans more than {MOST_CELLS} cells, which this verifier does not read"
            )
        return size

    def checked_names(self, given: object, where: str) -> tuple[str, ...]:
        """Variables of the domain or derived ones, each named once."""
        names = tuple(typed(value, f"{where}: a name", str) for value in entries(given, where))
        for name in names:
            if name not in self._variables:
                raise InvalidInput(f"{where} names {name!r}, which is not in the domain")
        if len(set(names)) < len(names):
            raise InvalidInput(f"{where} names a variable twice; name it once")
        self._checked_size(self.shape_of(names), where)
        return names

    def shape_of(self, names: Sequence[str]) -> tuple[int, ...]:
        """How many levels each variable has."""
        return tuple(len(self._variables[name].labels) for name in names)

    def axis_of(self, name: str) -> int:
        """The axis of a variable, or of the one that a derived variable groups."""
        return self._variables[name].axis

    def shares_out(self, name: str) -> bool:
        """Whether every level of the variable behind is in exactly one of the levels."""
        variable = self._variables[name]
        members = sorted(place for group in variable.groups for place in group)
        return members == list(range(self.shape[variable.axis]))

    def place(self, name: str, label: object, where: str) -> int:
        """The place of a level among the levels of its variable."""
        position = self._variables[name].places.get(label_key(label))
        if position is None:
            raise InvalidInput(f"{where}: {label!r} is not a level of {name!r}")
        return position

    def figure(self, names: Sequence[str], labels: object, where: str) -> int:
        """The place of a cell of a margin, laid out flat."""
        given = entries(labels, f"{where}: labels", len(names))
        figure = 0
        for name, label, levels in zip(names, given, self.shape_of(names), strict=True):
            figure = figure * levels + self.place(name, label, where)
        return figure

    def is_level(self, name: str, label: object) -> bool:
        """Whether a variable has this level."""
        return label_key(label) in self._variables[name].places

    def words(self, names: Sequence[str], figure: int) -> str:
        """A cell of a margin for people."""
        parts = []
        for name in reversed(names):
            labels = self._variables[name].labels
            figure, place = divmod(figure, len(labels))
            parts.append(f"{name}={labels[place]}")
        return "(" + ", ".join(reversed(parts)) + ")"

    def definitions(self, used: Collection[str]) -> list[Any]:
        """What the digest of a release takes of the domain, and of the derived variables used."""
        levels = [[name, _texts(self._variables[name].labels)] for name in self.names]
        groups = []
        for name in sorted(set(used) - set(self.names)):
            variable = self._variables[name]
            members = [sorted(group) for group in variable.groups]
            groups.append([name, self.names[variable.axis], _texts(variable.labels), members])
        return [levels, groups]

    def _find_behind(self, names: tuple[str, ...]) -> CellsBehind:
        cells = np.arange(self.size)
        figures = np.zeros(self.size, dtype=np.int64)
        for name in names:
            variable = self._variables[name]
            step = math.prod(self.shape[variable.axis + 1 :])
            holders: list[list[int]] = [[] for _ in range(self.shape[variable.axis])]
            for level, group in enumerate(variable.groups):
                for position in group:
                    holders[position].append(level)
            widths = np.array([len(levels) for levels in holders])
            joined = np.array([level for levels in holders for level in levels], dtype=np.int64)
            # Every cell so far is repeated for each level that it belongs to.
            positions = cells // step % len(holders)
            repeats = widths[positions]
            firsts = (np.cumsum(widths) - widths)[positions]
            within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
            levels = joined[np.repeat(firsts, repeats) + within]
            cells = np.repeat(cells, repeats)
            figures = np.repeat(figures, repeats) * len(variable.labels) + levels
        order = np.argsort(figures, kind="stable")
        size = math.prod(self.shape_of(names))
        starts = np.searchsorted(figures[order], np.arange(size + 1))
        return CellsBehind(cells[order], figures[order], starts)
