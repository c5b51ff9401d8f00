"""The designs that somebody tried, side by side: what each gives away, and what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WIDE, HIGH = 340.0, 230.0
LEFT, TOP, RIGHT, BOTTOM = 40.0, 22.0, 14.0, 38.0

SCALES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Where the axis of risk may end."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One design that was looked at: its address, its words, and what was found."""

    query: str
    words: str
    outcome: str
    risk: float
    kept: float
    exact: int
    broken: int
    wanted: str
    settled: bool


def frontier(tried: Sequence[Tried]) -> list[Tried]:
    """The safe designs that no other safe one beats in risk and use, by rising risk.

    Examples
    --------
    >>> def one(risk, kept, outcome="safe"):
    ...     return Tried(f"{risk}", "", outcome, risk, kept, 0, 0, "", True)
    >>> found = frontier([one(0.5, 0.9), one(0.1, 0.4), one(0.3, 0.4), one(0.2, 1.0, "unsafe")])
    >>> [(design.risk, design.kept) for design in found]
    [(0.1, 0.4), (0.5, 0.9)]
    """
    best: list[Tried] = []
    for one in sorted(tried, key=lambda one: (one.risk, -one.kept)):
        if one.outcome == "safe" and (not best or one.kept > best[-1].kept):
            best.append(one)
    return best


def drawn(tried: Sequence[Tried], current: str) -> dict[str, Any]:
    """Where everything stands in the chart; the template draws it.

    Designs with another aim than the current one are left out: what they keep is not comparable.
    """
    aim = next((one.wanted for one in tried if one.query == current), None)
    same = [one for one in tried if one.wanted == aim]
    most = max((one.risk for one in same), default=0.0)
    scale = next(limit for limit in SCALES if limit >= min(most, 1.0))

    def at(one: Tried) -> tuple[float, float]:
        x = LEFT + min(one.risk, 1.0) / scale * (WIDE - LEFT - RIGHT)
        y = HIGH - BOTTOM - one.kept * (HIGH - TOP - BOTTOM)
        return round(x, 1), round(y, 1)

    best = frontier(same)
    return {
        "wide": WIDE,
        "high": HIGH,
        "left": LEFT,
        "right": WIDE - RIGHT,
        "top": TOP,
        "floor": HIGH - BOTTOM,
        "aim": aim,
        "points": [
            {"x": x, "y": y, "one": one, "current": one.query == current}
            for one, (x, y) in ((one, at(one)) for one in same)
        ],
        "line": " ".join(f"{x},{y}" for x, y in map(at, best)) if len(best) > 1 else "",
        "across": [
            (round(LEFT + part * (WIDE - LEFT - RIGHT), 1), f"{part * scale:g}")
            for part in (0, 0.5, 1)
        ],
        "up": [
            (round(HIGH - BOTTOM - part * (HIGH - TOP - BOTTOM), 1), f"{part:.0%}")
            for part in (0, 0.5, 1)
        ],
        "others": len(tried) - len(same),
    }
