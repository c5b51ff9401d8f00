"""Document 004's decomposition over 1..N as it stands: no windows, no saturation, no periods.

Sets of sums are the bits of one integer, bit n for the sum n; sums are added one member at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass
class PlainRow:
    low: list[Fraction]
    high: list[Fraction]
    low_open: list[bool]
    high_open: list[bool]
    lower: list[int]
    upper: list[int | None]
    most: int | None = None

    def limits(self, n: int) -> list[tuple[int, int]]:
        found = []
        for j in range(len(self.low)):
            a, b = self.low[j] * n, self.high[j] * n
            least = math.floor(a) + 1 if self.low_open[j] else math.ceil(a)
            most = math.ceil(b) - 1 if self.high_open[j] else math.floor(b)
            cap = self.upper[j]
            found.append((max(least, self.lower[j]), most if cap is None else min(most, cap)))
        return found

    def admits(self, n: int) -> bool:
        if self.most is not None and n > self.most:
            return False
        limits = self.limits(n)
        if any(low > high for low, high in limits):
            return False
        return sum(low for low, _ in limits) <= n <= sum(high for _, high in limits)

    def cells(self, n: int) -> list[range]:
        limits = self.limits(n)
        low_sum = sum(low for low, _ in limits)
        high_sum = sum(high for _, high in limits)
        return [
            range(max(low, n - (high_sum - high)), min(high, n - (low_sum - low)) + 1)
            for low, high in limits
        ]


def add(left: int, right: int, most: int) -> int:
    total = 0
    for n in members(left):
        total |= right << n
    return total & ((1 << (most + 1)) - 1)


def members(bits: int) -> list[int]:
    return [n for n, bit in enumerate(reversed(bin(bits))) if bit == "1"]


def three_phases(rows: list[PlainRow], total: int):
    """Feasible row sums and attainable cell values, or None if there is no table."""
    admissible = [sum(1 << n for n in range(1, total + 1) if row.admits(n)) for row in rows]
    prefix = [1]
    for one in admissible[:-1]:
        prefix.append(add(prefix[-1], one, total))
    suffix = [1]
    for one in reversed(admissible[1:]):
        suffix.append(add(suffix[-1], one, total))
    suffix.reverse()
    sums, values = [], []
    for row, one, before, after in zip(rows, admissible, prefix, suffix, strict=True):
        others = add(before, after, total)
        feasible = {n for n in members(one) if others >> (total - n) & 1}
        if not feasible:
            return None
        sums.append(feasible)
        cells: list[set[int]] = [set() for _ in row.low]
        for n in feasible:
            for held, span in zip(cells, row.cells(n), strict=True):
                held.update(span)
        values.append(cells)
    return sums, values
