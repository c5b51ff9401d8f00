"""A table of many variables laid out as rows and columns that fit a page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellbounds.data.domain import Domain
from cellbounds.report.pages.plain import label_text

__all__ = ["Head", "Line", "Map", "columns_of", "laid_out"]

WIDEST = 10
"""Columns that a long table may be spread over."""

TALL = 40
"""A table with more rows than this is spread over more columns, if it has the variables."""

GROUP = 24
"""Rows under one heading; tables with no more rows than this have none."""


def columns_of(domain: Domain, responses: Sequence[str]) -> tuple[str, ...]:
    """The variables that go over the columns: the responses or else the last one, and more.

    Examples
    --------
    >>> from cellbounds import Domain
    >>> columns_of(Domain({"county": ["A", "B"], "age": [1, 2], "sex": ["f", "m"]}), ["age"])
    ('age',)
    """
    names = domain.names
    if len(names) == 1:
        return ()
    columns = [name for name in names if name in responses]
    if not columns or len(columns) == len(names) or _size(domain, columns) > 2 * WIDEST:
        columns = [names[-1]]
    rest = [name for name in names if name not in columns]
    while len(rest) > 1 and _size(domain, rest) > TALL:
        if _size(domain, [*columns, rest[-1]]) > WIDEST:
            break
        columns.insert(0, rest.pop())
    return tuple(columns)


def _size(domain: Domain, names: Sequence[str]) -> int:
    return math.prod(len(domain.levels(name)) for name in names)


@dataclass(frozen=True, slots=True)
class Head:
    """A header cell: its text, and the columns or rows that it stands over."""

    text: str
    span: int


@dataclass(frozen=True, slots=True)
class Line:
    """A row: the headers that begin with it, and the places of its cells in the table."""

    heads: tuple[Head, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """The whole layout: lines of column headers, then rows in groups under headings."""

    names: tuple[str, ...]
    tops: tuple[tuple[str, tuple[Head, ...]], ...]
    groups: tuple[tuple[str, tuple[Line, ...]], ...]

    @property
    def width(self) -> int:
        """How many columns a heading stands over."""
        return len(self.names) + len(self.groups[0][1][0].places)


def laid_out(variables: Sequence[tuple[str, Sequence[Any]]], columns: Sequence[str]) -> Map:
    """Lay the cells of a table, the last variable running fastest, out over a page.

    Examples
    --------
    >>> made = laid_out([("county", ["A", "B"]), ("age", [1, 2, 3])], ["age"])
    >>> made.tops
    (('age', (Head(text='1', span=1), Head(text='2', span=1), Head(text='3', span=1))),)
    >>> made.groups[0][1][1]
    Line(heads=(Head(text='B', span=1),), places=(3, 4, 5))
    """
    levels = {name: [label_text(label) for label in labels] for name, labels in variables}
    strides = _strides(levels)
    rest = [name for name in levels if name not in columns]
    inner = _inner(levels, rest)
    outer = rest[: len(rest) - len(inner)]
    across = [sum(step) for step in _steps(levels, strides, columns)]
    groups = []
    for index in itertools.product(*(range(len(levels[name])) for name in outer)):
        chosen = list(zip(outer, index, strict=True))
        start = sum(strides[name] * place for name, place in chosen)
        title = "; ".join(f"{name}: {levels[name][place]}" for name, place in chosen)
        groups.append((title, tuple(_lines(levels, strides, inner, start, across))))
    return Map(tuple(inner), tuple(_tops(levels, columns)), tuple(groups))


def _strides(levels: Mapping[str, Sequence[str]]) -> dict[str, int]:
    strides: dict[str, int] = {}
    step = 1
    for name in reversed(list(levels)):
        strides[name] = step
        step *= len(levels[name])
    return strides


def _inner(levels: Mapping[str, Sequence[str]], rest: Sequence[str]) -> list[str]:
    """The last row variables: as many as give a group of bearable length, but one at least."""
    rows = 1
    inner: list[str] = []
    for name in reversed(rest):
        rows *= len(levels[name])
        if inner and rows > GROUP:
            break
        inner.insert(0, name)
    return inner


def _steps(
    levels: Mapping[str, Sequence[str]], strides: Mapping[str, int], names: Sequence[str]
) -> Iterator[tuple[int, ...]]:
    return itertools.product(
        *([strides[name] * place for place in range(len(levels[name]))] for name in names)
    )


def _tops(
    levels: Mapping[str, Sequence[str]], columns: Sequence[str]
) -> Iterator[tuple[str, tuple[Head, ...]]]:
    width = math.prod(len(levels[name]) for name in columns)
    repeats = 1
    for name in columns:
        width //= len(levels[name])
        heads = tuple(Head(text, width) for text in levels[name]) * repeats
        yield name, heads
        repeats *= len(levels[name])


def _lines(
    levels: Mapping[str, Sequence[str]],
    strides: Mapping[str, int],
    inner: Sequence[str],
    start: int,
    across: Sequence[int],
) -> Iterator[Line]:
    shape = [len(levels[name]) for name in inner]
    below = [math.prod(shape[place + 1 :]) for place in range(len(inner))]
    for number, index in enumerate(itertools.product(*map(range, shape))):
        heads = tuple(
            Head(levels[name][place], span)
            for name, place, span in zip(inner, index, below, strict=True)
            if number % span == 0
        )
        first = start + sum(strides[n] * p for n, p in zip(inner, index, strict=True))
        yield Line(heads, tuple(first + step for step in across))
