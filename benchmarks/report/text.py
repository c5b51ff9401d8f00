"""Numbers, times and tables as the report writes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def markdown(lines: Iterable[Iterable[str]]) -> str:
    """Join cells into the lines of a Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def duration(seconds: float) -> str:
    """Write a time with three significant digits in a unit that suits it."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds * 1e6)} µs"


def times(ratio: float) -> str:
    """Write a ratio with three significant digits."""
    return f"{significant(ratio)}x"


def significant(value: float) -> str:
    """Write a positive number with three significant digits and grouped thousands."""
    if value <= 0:
        return "0"
    decimals = 2 - math.floor(math.log10(value))
    return f"{round(value, decimals):,.{max(decimals, 0)}f}"


def megabytes(size: int | None) -> str:
    """Write a size in millions of bytes."""
    return "-" if size is None else f"{size / 1e6:,.0f} MB"


def share(part: int, whole: int) -> str:
    """Write a part of a whole with its percentage, never rounded up to all of it."""
    if not whole:
        return "-"
    percentage = min(100 * part / whole, 100.0 if part == whole else 99.9)
    return f"{part:,} of {whole:,} ({percentage:.1f}%)"


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def head(names: Sequence[str], left: int = 1) -> list[list[str]]:
    """Return the two lines above a table; so many columns are text, the others numbers."""
    return [list(names), ["---"] * left + ["---:"] * (len(names) - left)]
