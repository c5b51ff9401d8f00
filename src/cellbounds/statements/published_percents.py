"""Percents of published tables as statements: rates where each row is spoken of, else limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.published import UNKNOWN, Cell, Entry, Percents, PublishedTable
from cellbounds.statements.conditional import Conditional
from cellbounds.statements.linear import Linear
from cellbounds.statements.statement import Statement

Levels = Mapping[str, Mapping[object, str | None]]
"""The level of each code, by variable; None for the total."""


def percent_statements(
    table: PublishedTable, percents: Percents, levels: Levels, domain: Domain
) -> Iterator[Statement]:
    """What percents say: rates of some levels within others, for each combination of these."""
    rates: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[Cell, str]] = {}
    silent: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[Cell, Entry]] = {}
    for cell in table.entries:
        named = [(name, levels[name][code], code) for name, code in zip(levels, cell, strict=True)]
        given = [(level, code) for name, level, code in named if name in percents.within and level]
        parts = [
            (level, code) for name, level, code in named if name not in percents.within and level
        ]
        if not parts:
            continue  # a hundred percent
        key = tuple(level for level, _ in given), tuple(level for level, _ in parts)
        place = tuple(code for _, code in (*given, *parts))
        if cell in percents.figures:
            rates.setdefault(key, {})[place] = percents.figures[cell]
        base = tuple(
            tree.total if code is None else code
            for code, tree in zip(
                percents.base_of(cell, table.hierarchies), table.hierarchies.values(), strict=True
            )
        )
        row = tuple(code for _, code in given)
        silent.setdefault(key, {})[row] = table.entries.get(base, UNKNOWN)
    for (given_names, responses), figures in rates.items():
        every = domain.project((*given_names, *responses))
        rows = domain.project(given_names).cells() if given_names else iter([()])
        spoken = {place[: len(given_names)] for place in figures}
        bases = silent[given_names, responses]
        known = all(row in spoken or _holds_somebody(bases.get(row, UNKNOWN)) for row in rows)
        # Columns may have other decimals than their neighbours.
        by_decimals: dict[int, np.ndarray] = {}
        for place, text in figures.items():
            decimals = len(text.partition(".")[2])
            alike = by_decimals.setdefault(decimals, np.full(every.shape, None, dtype=object))
            alike[every.index(place)] = text
        for texts in by_decimals.values():
            if known:
                yield _rates(percents, responses, given_names, texts)
            for row in () if known else spoken:
                yield from _limits(percents, responses, given_names, row, texts, domain)


def _holds_somebody(entry: Entry) -> bool:
    return isinstance(entry, int) and entry > 0


def _rates(
    percents: Percents, responses: tuple[str, ...], given: tuple[str, ...], texts: object
) -> Conditional:
    return Conditional(
        responses,
        given,
        rates=texts,
        rounding=percents.rounding,
        unit=percents.unit,
        missing="suppressed",
    )


def _limits(
    percents: Percents,
    responses: tuple[str, ...],
    given: tuple[str, ...],
    row: Cell,
    texts: np.ndarray,
    domain: Domain,
) -> Iterator[Linear]:
    """The rates of one row, beside rows of which nothing is said, not even that somebody is there.

    A whole number that is more than 0 is 1 at least.
    """
    own = domain.project(given).index(row) if given else ()
    alone = _rates(percents, responses, (), texts[own])
    cells = list(domain.project(responses).cells())
    yield Linear((*given, *responses), {(*row, *cell): 1 for cell in cells}, lower=1)
    for column, text in enumerate(texts[own].flat):
        if text is None:
            continue
        low, high, low_open, high_open = alone.intervals.interval(0, column)
        for end, sign, is_open in ((low, 1, low_open), (high, -1, high_open)):
            if (sign > 0 and end <= 0) or (sign < 0 and end >= 1 and not is_open):
                continue
            laid = {
                (*row, *cell): sign * ((place == column) - end) for place, cell in enumerate(cells)
            }
            scale = math.lcm(*(Fraction(value).denominator for value in laid.values()))
            yield Linear(
                (*given, *responses),
                {cell: value * scale for cell, value in laid.items()},
                lower=1 if is_open else 0,
            )
