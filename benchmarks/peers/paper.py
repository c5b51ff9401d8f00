"""Document 004's algorithm as its authors describe it (sections 2.2 and 2.3), in numpy and scipy.

Phase 1 tests every row sum 1..N of every row (conditions 9 and 10). Phase 2 adds the sets of
admissible row sums by fast Fourier transforms of indicator vectors over 0..N, keeping every
prefix and one running suffix. Phase 3 puts each feasible row sum into the closed forms
n_ij^-(n) and n_ij^+(n) of Theorem 2.1.

It is the opponent, so it is written for speed as far as the description allows:

- whole blocks of row sums at once, sized for the processor's cache;
- 32-bit unsigned integers where no product overflows them (3 to 10 times faster than 64-bit);
- real transforms of a length that suits the library, and the transform of the running suffix
  shared between its two uses: 8 transforms a row instead of 9;
- indicators of one byte, packed into bits when the prefixes would pass `MEMORY_LIMIT`. The
  document's divide and conquer, for tables too large even so, is not needed for its sizes.

Everything runs on one core. Like the document's own tests, it does not treat rows with a
lone nonzero rate specially. The prior lower bound is 0, not the document's 1, which no table
with a zero cell satisfies; the prior upper bound N never binds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from benchmarks.arrays import BoolArray, IntArray

Unsigned: TypeAlias = NDArray[np.unsignedinteger]

BLOCK_ELEMENTS = 2**18  # a block of row sums times columns that stays in the cache
MEMORY_LIMIT = 2**31  # bytes of prefix indicators beyond which they are packed into bits


@dataclass(frozen=True, slots=True, eq=False)
class CellValues:
    """Sharp bounds of every cell and, if asked for, which values each can take.

    Parameters
    ----------
    lower, upper : IntArray
        Smallest and largest attainable count, of shape (I, J).
    attainable : BoolArray or None
        Of shape (I, J, N + 1): whether the cell can hold that value.
    """

    lower: IntArray
    upper: IntArray
    attainable: BoolArray | None = None


def bounds(rates: IntArray, scale: int, total: int, *, every_value: bool = False) -> CellValues:
    """Bound every cell of a table from its rounded row conditionals and its total.

    Parameters
    ----------
    rates : IntArray
        Numerators of the rates over `scale`; each is within one unit, weak.
    scale : int
        Common denominator of the rates.
    total : int
        The sum of all counts, N.
    every_value : bool, optional
        Also mark every attainable value: I * J * (N + 1) bytes, for small tables.

    Raises
    ------
    ValueError
        If no table is consistent with the rates and the total.
    """
    # The largest intermediate results are (p_j + 1) * n, and the sum of u_j(n) over j.
    fits = (scale + rates.shape[1]) * total + scale < 2**32
    row_sums: Unsigned = np.arange(total + 1, dtype=np.uint32 if fits else np.uint64)
    admissible = np.array([admissible_row_sums(row, scale, row_sums) for row in rates])
    feasible = feasible_row_sums(admissible, total)
    shape = rates.shape
    lower, upper = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    attainable = np.zeros((*shape, total + 1), dtype=np.bool_) if every_value else None
    for i, row in enumerate(rates):
        row_feasible = row_sums[feasible[i]]
        if row_feasible.size == 0:
            msg = f"no table of {total} people has these rates; row {i} has no feasible sum"
            raise ValueError(msg)
        values = None if attainable is None else attainable[i]
        lower[i], upper[i] = cell_extremes(row, scale, row_feasible, values)
    return CellValues(lower, upper, attainable)


def admissible_row_sums(row: IntArray, scale: int, row_sums: Unsigned) -> BoolArray:
    """Phase 1: mark the row sums n with l_j(n) <= u_j(n) and sum l_j(n) <= n <= sum u_j(n)."""
    admissible = np.empty(row_sums.size, dtype=np.bool_)
    start = 0
    for n, low, high in blocks(row, scale, row_sums):
        stop = start + n.size
        block = admissible[start:stop]
        np.all(low <= high, axis=0, out=block)
        block &= low.sum(axis=0, dtype=low.dtype) <= n
        block &= n <= high.sum(axis=0, dtype=high.dtype)
        start = stop
    admissible[0] = False  # a row with published rates holds somebody
    return admissible


def blocks(
    row: IntArray, scale: int, row_sums: Unsigned
) -> Iterator[tuple[Unsigned, Unsigned, Unsigned]]:
    """Yield blocks of row sums n with l_j(n) and u_j(n) for every column j."""
    dtype = row_sums.dtype
    # A slope below zero would give a bound below the prior one, which is 0.
    low_slopes = np.maximum(row - 1, 0).astype(dtype)
    high_slopes = (row + 1).astype(dtype)
    divisor, to_ceiling = dtype.type(scale), dtype.type(scale - 1)
    width = max(1, BLOCK_ELEMENTS // row.size)
    for start in range(0, row_sums.size, width):
        n = row_sums[start : start + width]
        low = np.multiply.outer(low_slopes, n)
        low += to_ceiling
        low //= divisor
        high = np.multiply.outer(high_slopes, n)
        high //= divisor
        yield n, low, high


def feasible_row_sums(admissible: BoolArray, total: int) -> BoolArray:
    """Phase 2: mark the admissible row sums that the other rows can complete to the total."""
    prefixes = PrefixStore(*admissible.shape)
    length = scipy.fft.next_fast_len(2 * total + 1, real=True)

    def transform(indicator: BoolArray) -> NDArray[np.complex128]:
        spectrum: NDArray[np.complex128] = scipy.fft.rfft(indicator, length)
        return spectrum

    def support(spectrum: NDArray[np.complex128]) -> BoolArray:
        multiplicities = scipy.fft.irfft(spectrum, length, overwrite_x=True)
        present: BoolArray = multiplicities[: total + 1] > 0.5
        return present

    accumulated = np.zeros(total + 1, dtype=np.bool_)
    accumulated[0] = True
    for i, indicator in enumerate(admissible):
        prefixes[i] = accumulated
        if i + 1 < len(admissible):
            accumulated = support(transform(accumulated) * transform(indicator))

    suffix = np.zeros(total + 1, dtype=np.bool_)
    suffix[0] = True
    feasible = np.empty_like(admissible)
    for i in reversed(range(len(admissible))):
        suffix_spectrum = transform(suffix)
        others = support(suffix_spectrum * transform(prefixes[i]))
        feasible[i] = admissible[i] & others[::-1]  # N - n must be a sum of the other rows
        if i > 0:
            suffix = support(suffix_spectrum * transform(admissible[i]))
    return feasible


class PrefixStore:
    """The stored prefix sets: one byte an indicator, or one bit when bytes take too much."""

    def __init__(self, rows: int, width: int) -> None:
        self._width = width
        self._packed = rows * width > MEMORY_LIMIT
        if self._packed:
            self._sets: NDArray[np.uint8] = np.empty((rows, (width + 7) // 8), dtype=np.uint8)
        else:
            self._sets = np.empty((rows, width), dtype=np.uint8)

    def __setitem__(self, i: int, indicator: BoolArray) -> None:
        self._sets[i] = np.packbits(indicator) if self._packed else indicator

    def __getitem__(self, i: int) -> BoolArray:
        stored: NDArray[np.uint8] = self._sets[i]
        if self._packed:
            stored = np.unpackbits(stored, count=self._width)
        return stored.view(np.bool_)


def cell_extremes(
    row: IntArray, scale: int, feasible: Unsigned, attainable: BoolArray | None
) -> tuple[IntArray, IntArray]:
    """Phase 3: the extremes of n_j^-(n) and n_j^+(n) over the feasible row sums of a row.

    If `attainable`, of shape (J, N + 1), is given, every attainable value is marked in it.
    """
    lower = np.full(row.size, np.iinfo(np.int64).max)
    upper = np.full(row.size, -1)
    for n, low, high in blocks(row, scale, feasible):
        # n - sum_{k != j} u_k and n - sum_{k != j} l_k; the first may pass below zero, where
        # l_j decides, so it is compared in the form that stays unsigned.
        spare_high = high.sum(axis=0, dtype=high.dtype) - n
        spare_low = n - low.sum(axis=0, dtype=low.dtype)
        smallest = np.maximum(low, high - np.minimum(high, spare_high))
        largest = np.minimum(high, low + spare_low)
        # Mixing signed and unsigned 64-bit integers would turn both into floating point.
        np.minimum(lower, smallest.min(axis=1).astype(np.int64), out=lower)
        np.maximum(upper, largest.max(axis=1).astype(np.int64), out=upper)
        if attainable is not None:
            mark_intervals(smallest, largest, attainable)
    return lower, upper


def mark_intervals(smallest: Unsigned, largest: Unsigned, attainable: BoolArray) -> None:
    """Mark, for every column, the union of the intervals from smallest to largest."""
    size = attainable.shape[1]
    for j in range(len(attainable)):
        opened = np.bincount(smallest[j].astype(np.int64), minlength=size)
        closed = np.bincount(largest[j].astype(np.int64) + 1, minlength=size + 1)
        attainable[j] |= np.cumsum(opened - closed[:size]) > 0
