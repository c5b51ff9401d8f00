"""The slow, obvious way: list every table and ask each statement whether it holds.

Nothing here uses the library's intervals, constraints or methods: what a statement means is
written down a second time, from the definitions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from cellbounds import Conditional, Known, Linear, Margin, Release, Total


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def consistent_tables(release: Release, largest: int) -> Iterator[np.ndarray]:
    """Every consistent table with at most `largest` records."""
    size = release.domain.size
    for total in range(largest + 1):
        if any(isinstance(s, Total) and not total_holds(s, total) for s in release.statements):
            continue
        for flat in compositions(total, size):
            counts = np.array(flat).reshape(release.domain.shape)
            if all(holds(statement, release, counts) for statement in release.statements):
                yield counts


def total_holds(statement: Total, total: int) -> bool:
    return statement.lower <= total and (statement.upper is None or total <= statement.upper)


def holds(statement: object, release: Release, counts: np.ndarray) -> bool:
    match statement:
        case Total():
            return total_holds(statement, int(counts.sum()))
        case Margin():
            margin = summed(release, counts, statement.variables)
            return all(
                count_fits(statement, entry, int(value))
                for entry, value in zip(statement.entries.flat, margin.flat, strict=True)
            )
        case Linear():
            return linear_holds(statement, release, counts)
        case Known():
            return prior_holds(statement, release, counts)
        case Conditional():
            return conditional_holds(statement, release, counts)
    raise AssertionError(statement)


def summed(release: Release, counts: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Sum out other variables, one at a time, then put the axes in order."""
    if any(name in release.domain.groupings for name in names):
        return summed_by_cell(release, counts, names)
    left = list(release.domain.names)
    for name in release.domain.names:
        if name not in names:
            counts = counts.sum(axis=left.index(name))
            left.remove(name)
    return np.transpose(counts, [left.index(name) for name in names])


def summed_by_cell(release: Release, counts: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Add each cell to every cell of the margin that it belongs to; it may be several, or none."""
    domain = release.domain
    margin = np.zeros([len(domain.levels(name)) for name in names], dtype=counts.dtype)
    for value, labels in zip(counts.flat, domain.cells(), strict=True):
        for index in cell_index_of(release, labels, names):
            margin[index] += value
    return margin


def cell_index_of(release: Release, labels: tuple, names: tuple[str, ...]) -> Iterator[tuple]:
    """The cells of a margin that a cell of the domain belongs to."""
    domain, groupings = release.domain, release.domain.groupings
    person = dict(zip(domain.names, labels, strict=True))
    belongs = []
    for name in names:
        if name in groupings:
            groups = groupings[name].levels.values()
            own = person[groupings[name].of]
            belongs.append([k for k, members in enumerate(groups) if own in members])
        else:
            belongs.append([domain.levels(name).index(person[name])])
    return itertools.product(*belongs)


def chance_of(statement: Margin, entry: int, value: int) -> Fraction:
    """How likely a figure is given the count, from the definitions; Laplace up to a factor."""
    if statement.rounding == "random":
        rest, base = value % statement.base, statement.base
        chances = {value - rest: 1 - Fraction(rest, base)}
        if rest:
            chances[value - rest + base] = Fraction(rest, base)
        return chances.get(entry, Fraction(0))
    ((kind, law),) = statement.noise.plain.items()
    if kind == "laplace":
        return Fraction(law) ** abs(entry - value)
    if kind == "cell key" and value > max(map(int, law)):
        # As the largest count that is listed, so many further.
        last = max(map(int, law))
        return Fraction(law[str(last)].get(str(entry - value + last), 0))
    chances = law if kind == "differences" else law.get(str(value), {})
    shown = entry - value if kind == "differences" else entry
    return Fraction(chances.get(str(shown), 0))


def likelihood(release: Release, counts: np.ndarray) -> Fraction:
    """How likely all figures that were made by chance are, given a table; all independent."""
    product = Fraction(1)
    for statement in release.statements:
        if isinstance(statement, Margin) and (statement.noise or statement.rounding == "random"):
            margin = summed(release, counts, statement.variables)
            for entry, value in zip(statement.entries.flat, margin.flat, strict=True):
                if isinstance(entry, int):
                    product *= chance_of(statement, entry, int(value))
    return product


def count_fits(statement: Margin, entry: int | str | None, value: int) -> bool:
    if entry is None:
        return True
    if isinstance(entry, str):
        if entry.startswith("<="):
            return value <= int(entry[2:])
        if entry.startswith(">="):
            return value >= int(entry[2:])
        if entry.startswith("<"):
            return value < int(entry[1:])
        if entry.startswith(">"):
            return value > int(entry[1:])
        first, last = entry.split("-")
        return value in range(int(first), int(last) + 1)
    if statement.noise is not None:
        return chance_of(statement, entry, value) > 0
    base = statement.base
    if base is None:
        return value == entry
    if statement.below is not None and value < statement.below:
        return False  # it would have been hidden
    return {
        "nearest": 2 * entry - base <= 2 * value < 2 * entry + base,
        "half-even": halves_to_even(Fraction(value, base)) * base == entry
        or (statement.interval and abs(2 * value - 2 * entry) <= base),
        "down": value // base * base == entry,
        "up": -(-value // base) * base == entry,
        "random": entry in (value // base * base, -(-value // base) * base),
        "controlled": abs(entry - value) < base,
        "controlled-2": abs(entry - value) < 2 * base,
        "controlled-3": abs(entry - value) < 3 * base,
    }[statement.rounding]


def linear_holds(statement: Linear, release: Release, counts: np.ndarray) -> bool:
    margin = summed(release, counts, statement.variables)
    domain = release.domain.project(statement.variables)
    weighted = Fraction(0)
    for index, labels in zip(np.ndindex(margin.shape), domain.cells(), strict=True):
        weighted += (looked_up(statement.coefficients, index, labels) or 0) * int(margin[index])
    return (statement.lower is None or statement.lower <= weighted) and (
        statement.upper is None or weighted <= statement.upper
    )


def prior_holds(statement: Known, release: Release, counts: np.ndarray) -> bool:
    margin = summed(release, counts, statement.variables)
    domain = release.domain.project(statement.variables)
    for index, labels in zip(np.ndindex(margin.shape), domain.cells(), strict=True):
        value = int(margin[index])
        for rule, given in (("lower", statement.lower), ("upper", statement.upper)):
            bound = looked_up(given, index, labels)
            if bound is not None and (value < bound if rule == "lower" else value > bound):
                return False
        listed = looked_up(statement.values, index, labels)
        if listed is not None and value not in listed:
            return False
    return True


def looked_up(given, index, labels):
    if given is None:
        return None
    if isinstance(given, dict):
        return given.get(labels, given.get(labels[0]) if len(labels) == 1 else None)
    if isinstance(given, int):
        return given
    for place in index:
        given = given[place]
    return given


def halves_to_even(number: Fraction) -> int:
    whole, rest = divmod(number, 1)
    return int(whole) + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1))


def printed(row: list[int], unit: int, rounding: str) -> list[int]:
    """What a rule prints of a row, in units of the last decimal."""
    shares = [Fraction(unit * count, sum(row)) for count in row]
    if rounding == "consistent":
        figures = [share // 1 for share in shares]
        while sum(figures) < unit:
            # The first of the largest remainders that did not go up yet.
            left = [share - figure for share, figure in zip(shares, figures, strict=True)]
            figures[left.index(max(left))] += 1
        return figures
    rules = {
        "nearest": lambda share: (share + Fraction(1, 2)) // 1,
        "half-even": halves_to_even,
        "down": lambda share: share // 1,
        "up": lambda share: -(-share // 1),
    }
    return [rules[rounding](share) for share in shares]


def reprinted(statement: Conditional, row: list[int], figures: list[Fraction | None]) -> bool:
    """Whether rounding a row again prints the figures that are shown of it."""
    unit = 10**statement.digits
    return all(
        figure is None or figure * unit == again
        for figure, again in zip(figures, printed(row, unit, statement.rounding), strict=True)
    )


def rate_fits(statement: Conditional, figure: Fraction | None, eps, true: Fraction) -> bool:
    if figure is None:
        return True
    if statement.eps is not None:
        distance = abs(true - figure)
        return distance < eps if statement.strict else distance <= eps
    if statement.rounding is None:
        return true == figure
    if not statement.interval:
        return True  # asked of the whole row
    unit = Fraction(1, 10**statement.digits)
    return {
        "nearest": figure - unit / 2 <= true < figure + unit / 2,
        "half-even": figure - unit / 2 <= true <= figure + unit / 2,
        "down": figure <= true < figure + unit,
        "up": figure - unit < true <= figure,
        "consistent": figure - unit <= true <= figure + unit,
    }[statement.rounding]


def conditional_holds(statement: Conditional, release: Release, counts: np.ndarray) -> bool:
    margin = summed(release, counts, statement.variables)
    rates = statement.rates
    rows = int(np.prod(margin.shape[: len(statement.given)], dtype=int))
    margin, rates = margin.reshape(rows, -1), rates.reshape(rows, -1)
    tolerances = statement.eps or (Fraction(0),)
    if len(tolerances) == 1:
        tolerances *= rates.size
    eps = np.array(tolerances, dtype=object).reshape(rates.shape)
    for i in range(rows):
        total = int(margin[i].sum())
        if statement.missing == "zero" and all(rate is None for rate in rates[i]):
            if total:
                return False
            continue
        if total < 1:
            return False
        ruled = statement.rounding is not None and not statement.interval
        if ruled and not reprinted(statement, margin[i].tolist(), list(rates[i])):
            return False
        for j in range(rates.shape[1]):
            true = Fraction(int(margin[i, j]), total)
            if not rate_fits(statement, rates[i, j], eps[i, j], true):
                return False
    return True
