"""Mechanisms that change counts by chance, and how likely what they show is.

A mechanism says how likely each figure is, given the count: P(shown | count). The counts that a
figure leaves possible are its support, which bounds rest on; posteriors weigh them by these
probabilities. Everything is a fraction or a power of one, so that nothing is rounded here.
``docs/theory/mechanisms.md`` has what follows from it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.other_tools.lines import read_text
from cellbounds.data.other_tools.perturbation_tables import is_ptable, parse_ptable
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import read_toml
from cellbounds.statements.numbers import exact_number, whole_number

MOST_ENTRIES = 100_000
"""Probabilities that a table of them has at most."""

Power = tuple[Fraction, int]
"""A number as a fraction and the power it is raised to: noise of any size stays small to write."""

Plain = dict[str, Any]


class Mechanism(ABC):
    """How a figure comes about from a count, by chance and independently of all others."""

    __slots__ = ()

    @abstractmethod
    def chance(self, count: int, shown: int) -> Power:
        """How likely a figure is given a count, up to a factor that does not depend on it."""

    @abstractmethod
    def support(self, shown: int) -> range | tuple[int, ...] | None:
        """The counts that a figure leaves possible, ascending; None: all."""

    @abstractmethod
    def draw(self, count: int, rng: np.random.Generator) -> int:
        """A figure for a count, drawn with integers only."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it does, for a reader."""

    @property
    @abstractmethod
    def plain(self) -> Plain:
        """As plain values, which `mechanism_of` reads again."""


@dataclass(frozen=True, slots=True)
class RandomRounding(Mechanism):
    """Unbiased random rounding: up to the next multiple of the base with chance rest / base."""

    base: int

    def chance(self, count: int, shown: int) -> Power:
        """One less the distance in units of the base."""
        return max(Fraction(0), 1 - Fraction(abs(count - shown), self.base)), 1

    def support(self, shown: int) -> range:
        """Less than one base away."""
        return range(max(0, shown - self.base + 1), shown + self.base)

    def draw(self, count: int, rng: np.random.Generator) -> int:
        """One of the two multiples beside the count."""
        whole, rest = divmod(count, self.base)
        return self.base * (whole + (bool(rest) and below(self.base, rng) < rest))

    @property
    def words(self) -> str:
        """The rule and its base."""
        return f"rounded to multiples of {self.base}, random"

    @property
    def plain(self) -> Plain:
        """The base."""
        return {"random rounding": self.base}


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Mechanism):
    """Noise d with probability proportional to ``ratio ** abs(d)``, for all whole numbers d."""

    ratio: Fraction

    def chance(self, count: int, shown: int) -> Power:
        """The ratio to the power of the distance."""
        return self.ratio, abs(count - shown)

    def support(self, shown: int) -> None:
        """Every count."""
        return

    def draw(self, count: int, rng: np.random.Generator) -> int:
        """The difference of two geometric numbers has this law."""
        return count + self._geometric(rng) - self._geometric(rng)

    def _geometric(self, rng: np.random.Generator) -> int:
        """How often in a row something of this probability happens."""
        times = 0
        while below(self.ratio.denominator, rng) < self.ratio.numerator:
            times += 1
        return times

    @property
    def words(self) -> str:
        """The law and its parameter."""
        return f"discrete Laplace noise, ratio {self.ratio}"

    @property
    def plain(self) -> Plain:
        """The ratio as text."""
        return {"laplace": str(self.ratio)}


@dataclass(frozen=True, slots=True)
class DifferenceTable(Mechanism):
    """Noise d with a given probability for each d, the same for every count."""

    chances: tuple[tuple[int, Fraction], ...]

    def chance(self, count: int, shown: int) -> Power:
        """The probability of the difference."""
        return dict(self.chances).get(shown - count, Fraction(0)), 1

    def support(self, shown: int) -> tuple[int, ...]:
        """The figure less each difference."""
        return tuple(sorted(shown - step for step, _ in self.chances if step <= shown))

    def draw(self, count: int, rng: np.random.Generator) -> int:
        """The count and a difference."""
        return count + _drawn(self.chances, rng)

    @property
    def words(self) -> str:
        """How far it reaches."""
        return f"noise by a table of {len(self.chances)} differences"

    @property
    def plain(self) -> Plain:
        """Differences and probabilities as text."""
        return {"differences": {str(step): str(chance) for step, chance in self.chances}}


@dataclass(frozen=True, slots=True)
class ChanceTable(Mechanism):
    """A given probability of each figure for each count; no other counts occur."""

    rows: tuple[tuple[int, tuple[tuple[int, Fraction], ...]], ...]

    def chance(self, count: int, shown: int) -> Power:
        """As the table has it."""
        return dict(dict(self.rows).get(count, ())).get(shown, Fraction(0)), 1

    def support(self, shown: int) -> tuple[int, ...]:
        """The counts whose line has the figure."""
        return tuple(count for count, chances in self.rows if shown in dict(chances))

    def draw(self, count: int, rng: np.random.Generator) -> int:
        """A figure of the count's line."""
        chances = dict(self.rows).get(count)
        if chances is None:
            raise InvalidInput(
                f"the table of probabilities ends at {self.rows[-1][0]} or leaves counts out, and "
                "the margin has a cell with another count; give a line for every count that occurs"
            )
        return _drawn(chances, rng)

    @property
    def words(self) -> str:
        """How many counts it knows."""
        return f"changed by a table of probabilities for {len(self.rows)} counts"

    @property
    def plain(self) -> Plain:
        """Count by count, probabilities as text."""
        return {
            "chances": {
                str(count): {str(shown): str(chance) for shown, chance in chances}
                for count, chances in self.rows
            }
        }


@dataclass(frozen=True, slots=True)
class CellKeyTable(Mechanism):
    """A perturbation table: probabilities of figures for each count; the last line for all larger.

    A count beyond the last line is changed by the differences of that line.
    """

    rows: tuple[tuple[int, tuple[tuple[int, Fraction], ...]], ...]

    def _line(self, count: int) -> dict[int, Fraction]:
        """The probability of each figure for a count."""
        last, _ = self.rows[-1]
        listed = dict(self.rows[min(count, last)][1])
        return {shown + max(0, count - last): chance for shown, chance in listed.items()}

    def chance(self, count: int, shown: int) -> Power:
        """As the line of the count has it."""
        return self._line(count).get(shown, Fraction(0)), 1

    def support(self, shown: int) -> tuple[int, ...]:
        """The counts whose line has the figure, however far the last line reaches."""
        last, chances = self.rows[-1]
        further = {shown - figure + last for figure, _ in chances}
        counts = {count for count, _ in self.rows} | {count for count in further if count > last}
        return tuple(count for count in sorted(counts) if shown in self._line(count))

    def draw(self, count: int, rng: np.random.Generator) -> int:
        """A figure of the count's line."""
        return _drawn(tuple(self._line(count).items()), rng)

    @property
    def words(self) -> str:
        """How many counts have a line."""
        return f"changed by a cell-key table for counts up to {self.rows[-1][0]} and beyond"

    @property
    def plain(self) -> Plain:
        """Count by count, probabilities as text."""
        return {
            "cell key": {
                str(count): {str(shown): str(chance) for shown, chance in chances}
                for count, chances in self.rows
            }
        }


def mechanism_of(given: object, what: str) -> Mechanism:
    """Read the noise of a margin.

    One of ``{"laplace": "1/2"}``, ``{"differences": {"-1": "1/4", "0": "1/2", "1": "1/4"}}`` and
    ``{"chances": {"0": {"0": "1"}, "1": {"0": "2/3", "3": "1/3"}}}`` (count, figure, probability);
    ``{"cell key": ...}`` is written as chances, and its last line stands for all larger counts.

    Examples
    --------
    >>> mechanism_of({"laplace": "1/2"}, "noise").words
    'discrete Laplace noise, ratio 1/2'
    """
    if isinstance(given, Mechanism):
        return given
    kind, values = next(iter(given.items()), ("", None)) if isinstance(given, Mapping) else ("", 0)
    if not isinstance(given, Mapping) or len(given) != 1 or kind not in _READERS:
        raise InvalidInput(
            f"{what}: noise {given!r} is not known; give one of {{'laplace': '1/2'}}, "
            "{'differences': {'-1': '1/4', '0': '1/2', '1': '1/4'}} or "
            "{'chances': {'0': {'0': '1'}, '1': {'0': '2/3', '3': '1/3'}}}"
        )
    return _READERS[kind](values, what)


def read_noise(text: str | None) -> object:
    """The law of noise as text, ``laplace=1/2``, or in a file; None if there is none.

    A file is TOML, or a perturbation table of the cell-key method.
    """
    if text is None:
        return None
    kind, _, ratio = text.partition("=")
    if ratio and not text.endswith(".toml"):
        return {kind: ratio}
    if not text.endswith(".toml") and is_ptable(content := read_text(text)):
        return {"cell key": parse_ptable(content, text)}
    return read_toml(text)


def _laplace(given: Any, what: str) -> Mechanism:
    ratio = exact_number(given, f"{what}: the ratio of Laplace noise")
    if not 0 < ratio < 1:
        raise InvalidInput(
            f"{what}: the ratio of Laplace noise is {ratio}; give a fraction between 0 and 1, such "
            "as '1/2' (each step further from the count is as many times as likely)"
        )
    return DiscreteLaplace(ratio)


def _differences(given: Any, what: str) -> Mechanism:
    return DifferenceTable(_law(given, f"{what}: the differences"))


def _chances(given: Any, what: str) -> ChanceTable:
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput(f"{what}: chances {given!r}; give a table of figures for each count")
    rows = []
    for count, law in given.items():
        true = whole_number(count, f"{what}: a count of the table of probabilities")
        rows.append((true, _law(law, f"{what}: the chances of {true}")))
    if len(dict(rows)) < len(rows) or sum(len(law) for _, law in rows) > MOST_ENTRIES:
        raise InvalidInput(
            f"{what}: the table of probabilities names a count twice, or has more than "
            f"{MOST_ENTRIES} entries; give each count once"
        )
    return ChanceTable(tuple(sorted(rows)))


def _cell_key(given: Any, what: str) -> Mechanism:
    rows = _chances(given, what).rows
    if [count for count, _ in rows] != list(range(len(rows))):
        raise InvalidInput(
            f"{what}: the cell-key table leaves counts out; give a line for every count from 0 to "
            "its last, which stands for all larger ones"
        )
    if any(shown < 0 for _, chances in rows for shown, _ in chances):
        raise InvalidInput(f"{what}: the cell-key table has a figure below 0; give counts")
    return CellKeyTable(rows)


_READERS = {
    "laplace": _laplace,
    "differences": _differences,
    "chances": _chances,
    "cell key": _cell_key,
}


def _law(given: Any, what: str) -> tuple[tuple[int, Fraction], ...]:
    """Probabilities of whole numbers that add up to one, ascending; zeros are left out."""
    if not isinstance(given, Mapping) or not given or len(given) > MOST_ENTRIES:
        raise InvalidInput(
            f"{what} are no table of probabilities; give whole numbers with a probability each, "
            "such as {'-1': '1/4', '0': '1/2', '1': '1/4'}"
        )
    law: dict[int, Fraction] = {}
    for key, value in given.items():
        text = str(key).strip()
        sign = -1 if text.startswith("-") else 1
        number = sign * whole_number(text.removeprefix("-"), f"{what}: {key!r}")
        chance = exact_number(value, f"{what}: the probability of {number}")
        if chance < 0 or number in law:
            raise InvalidInput(
                f"{what}: {number} stands twice or has the probability {chance}; give each once, "
                "with a probability of 0 or more"
            )
        law[number] = chance
    if sum(law.values()) != 1:
        raise InvalidInput(
            f"{what} add up to {sum(law.values())}; give exact probabilities that add up to 1, "
            "such as '1/3' instead of 0.33"
        )
    return tuple(sorted((number, chance) for number, chance in law.items() if chance))


def _drawn(law: tuple[tuple[int, Fraction], ...], rng: np.random.Generator) -> int:
    """One of the numbers, with exactly its probability."""
    unit = math.lcm(*(chance.denominator for _, chance in law))
    at = below(unit, rng)
    for number, chance in law:
        at -= int(chance * unit)
        if at < 0:
            return number
    raise AssertionError("probabilities add up to one")


def below(limit: int, rng: np.random.Generator) -> int:
    """A whole number from 0 up to below the limit, each as likely, however large the limit."""
    size = (limit.bit_length() + 7) // 8
    fair = 256**size // limit * limit
    while True:
        drawn = int.from_bytes(rng.bytes(size), "big")
        if drawn < fair:
            return drawn % limit
