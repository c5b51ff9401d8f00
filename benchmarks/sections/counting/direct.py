"""Counting the tables of one rounded conditional straight from its definition, for comparison.

For every row and every row sum n, the cells c_j with ``|p_j - c_j / n| <= eps`` that add up to n
are counted; the counts of a row are the coefficients of a polynomial, and the number of tables
is the coefficient at N of the product of all rows.
"""

from __future__ import annotations

import numpy as np

from benchmarks.arrays import IntArray
from benchmarks.problems.instances import Instance


def count_tables(instance: Instance) -> int:
    """Count the tables whose rates are within one unit of the last digit of the published ones."""
    from flint import fmpz_poly

    size = instance.total + 1
    product = fmpz_poly([1])
    for rates in instance.rates:
        row = fmpz_poly(row_vectors(rates, instance.scale, instance.total).tolist())
        product = product.mul_low(row, size)
    return int(product[instance.total])


def row_vectors(rates: IntArray, scale: int, most: int) -> IntArray:
    """Count the vectors of one row for each sum from 0 (none: no row is empty) to `most`."""
    sums = np.arange(most + 1)
    lower = np.maximum(0, -(-sums[:, None] * (rates - 1) // scale))
    upper = np.minimum(sums[:, None], sums[:, None] * (rates + 1) // scale)
    counts = vectors(lower, upper, sums)
    counts[0] = 0
    return counts


def vectors(lower: IntArray, upper: IntArray, rest: IntArray) -> IntArray:
    """For each line, count the integers between limits, column by column, that add to `rest`."""
    if lower.shape[1] == 2:
        least = np.maximum(lower[:, 0], rest - upper[:, 1])
        most = np.minimum(upper[:, 0], rest - lower[:, 1])
        both: IntArray = np.maximum(0, most - least + 1)
        return both
    counts = np.zeros(len(rest), dtype=np.int64)
    for step in range(int((upper[:, 0] - lower[:, 0]).max()) + 1):
        first = lower[:, 0] + step
        inside = first <= upper[:, 0]
        counts[inside] += vectors(lower[inside, 1:], upper[inside, 1:], (rest - first)[inside])
    return counts
