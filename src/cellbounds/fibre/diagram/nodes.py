"""From the nodes of one layer to those of the next, and the ways to them; compiled.

Placing a cell moves a node along a line: its partial sums grow by the cell's factors for every
one that the cell holds. Places on a line are numbered one after the other, so that consecutive
values lead to consecutive places. Then places that differ in nothing that still matters become one
node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cellbounds.arrays import IntArray
from cellbounds.fibre.diagram.layers import BITS, Layer

__all__ = ["arrive", "cut_dead_ends", "follow", "merge_ways", "project", "spread"]

FULL = (1 << BITS) - 1


def _compiled(function: Any) -> Any:
    """Compile when first called, and keep the result on disk if there is a place for it."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return njit(function)


@_compiled
def _slot(key: Any, mask: Any) -> Any:
    """Where to look for a key first; neighbours stay together, which is kind to the cache."""
    block = np.uint64(key >> 4)
    mixed = (block ^ (block >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(((mixed << np.uint64(4)) | np.uint64(key & 15)) & np.uint64(mask))


@_compiled
def _found(key: Any, keys: IntArray, table: IntArray) -> Any:
    """The slot of a key, or the empty one where it belongs."""
    mask = len(table) - 1
    slot = _slot(key, mask)
    while table[slot] >= 0 and keys[table[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@_compiled
def spread(keys: IntArray, count: int, table: IntArray) -> None:
    """Enter the first `count` keys into an empty table."""
    for k in range(count):
        table[_found(keys[k], keys, table)] = k


@_compiled
def _recall(layer: Layer, key: Any, partial: IntArray) -> None:
    """The partial sums of a node."""
    for r in range(len(partial)):
        code: Any = 0
        if layer.stride[r] > 0:
            code = (key // layer.stride[r]) % layer.width[r]
        partial[r] = layer.low[r] + code
        if code > layer.same[r]:
            partial[r] += layer.more[r]
    for d in range(len(layer.derived)):
        total = layer.constant[d]
        for r in range(len(partial)):
            total += layer.times[d, r] * partial[r]
        partial[layer.derived[d]] = total // layer.divisor[d]


@_compiled
def _code(value: Any, low: Any, same: Any, more: Any) -> Any:
    """The code of a partial sum."""
    code = value - low
    if code > same:
        code = max(code - more, same)
    return code


@_compiled
def follow(
    layer: Layer,
    keys: IntArray,
    begin: int,
    firsts: IntArray,
    sizes: IntArray,
    lines: IntArray,
    places: IntArray,
    table: IntArray,
    line_keys: IntArray,
    least: IntArray,
    most: IntArray,
    count: int,
) -> tuple[int, int]:
    """Find the values of the cell that each node allows, and the line that they lead along.

    `firsts` gets the smallest value (above the cell's lower bound), `sizes` how many there are,
    `lines` the line and `places` the place on it of the first. `line_keys`, `least` and `most`
    describe the lines found. Stops when there is no room for another line; returns the next node
    and the number of lines.
    """
    touched, rows = layer.touched, len(layer.stride)
    partial = np.zeros(rows, dtype=np.int64)
    for node in range(begin, len(keys)):
        if count == len(line_keys):
            return node, count
        _recall(layer, keys[node], partial)
        low, high = layer.lower, layer.upper
        for r in range(touched):
            s, factor = partial[r], layer.factor[r]
            if factor > 0:
                high = min(high, (layer.new_high[r] - s) // factor)
                low = max(low, -((s - layer.new_low[r]) // factor))
            else:
                high = min(high, (s - layer.new_low[r]) // -factor)
                low = max(low, -((layer.new_high[r] - s) // -factor))
        firsts[node] = low - layer.lower
        sizes[node] = max(high - low + 1, 0)
        if high < low:
            continue
        key: Any = 0
        for r in range(touched, rows):
            if layer.line_stride[r] > 0:
                code = _code(partial[r], layer.new_low[r], layer.new_same[r], layer.new_more[r])
                key += code * layer.line_stride[r]
        place: Any = 0
        if layer.moving > 0:
            first, factor = partial[0], layer.factor[0]
            rest = first % abs(factor)
            place = (first - rest) // factor + low - layer.place_low
            key += rest * layer.line_stride[0]
            for r in range(1, layer.moving):
                across = layer.along[r] * partial[r] - layer.across[r] * first
                key += (across - layer.across_low[r]) * layer.line_stride[r]
        slot = _found(key, line_keys, table)
        line = table[slot]
        if line < 0:
            line = count
            table[slot] = line
            line_keys[line] = key
            least[line] = place
            most[line] = place
            count += 1
        lines[node] = line
        places[node] = place
        least[line] = min(least[line], place)
        most[line] = max(most[line], place + sizes[node] - 1 if layer.moving > 0 else place)
    return len(keys), count


@_compiled
def _add(sums: IntArray, goal: Any, ways: IntArray, source: Any) -> None:
    """Add a number of several words to another, which has at least as many."""
    carry: Any = 0
    for word in range(sums.shape[1]):
        total = sums[goal, word] + carry
        if word < ways.shape[1]:
            total += ways[source, word]
        elif carry == 0:
            break
        carry = total >> BITS
        sums[goal, word] = total & FULL


@_compiled
def arrive(
    moving: int,
    sizes: IntArray,
    lines: IntArray,
    places: IntArray,
    least: IntArray,
    offsets: IntArray,
    ways: IntArray,
    sums: IntArray,
) -> int:
    """Number the places (`lines` becomes the place of each node's first value); count the ways.

    Returns the number of edges.
    """
    edges = 0
    for node in range(len(sizes)):
        if sizes[node] == 0:
            continue
        goal = offsets[lines[node]] + places[node] - least[lines[node]]
        lines[node] = goal
        edges += sizes[node]
        for k in range(sizes[node]):
            _add(sums, goal + k if moving > 0 else goal, ways, node)
    return edges


@_compiled
def project(
    layer: Layer,
    line_keys: IntArray,
    least: IntArray,
    offsets: IntArray,
    sums: IntArray,
    keys: IntArray,
    table: IntArray,
    numbers: IntArray,
) -> int:
    """Make nodes of the places that are reached; gives their number.

    `keys` gets the keys of the nodes, `numbers` the node of each place (-1: none). Without a
    table no two places can be the same node.
    """
    touched, rows, moving = layer.touched, len(layer.stride), layer.moving
    count = 0
    for line in range(len(line_keys)):
        held = line_keys[line]
        base: Any = 0
        for r in range(touched, rows):
            if layer.line_stride[r] > 0:
                code = (held // layer.line_stride[r]) % layer.line_width[r]
                base += code * layer.new_stride[r]
        for place in range(offsets[line], offsets[line + 1]):
            reached = False
            for word in range(sums.shape[1]):
                reached |= sums[place, word] != 0
            numbers[place] = -1
            if not reached:
                continue
            key = base
            first: Any = 0
            for r in range(moving):
                if r == 0:
                    rest: Any = 0
                    if layer.line_stride[0] > 0:
                        rest = (held // layer.line_stride[0]) % layer.line_width[0]
                    first = rest + layer.factor[0] * (
                        layer.place_low + least[line] + place - offsets[line]
                    )
                    s = first
                else:
                    across: Any = 0
                    if layer.line_stride[r] > 0:
                        across = (held // layer.line_stride[r]) % layer.line_width[r]
                    across += layer.across_low[r]
                    s = (across + layer.across[r] * first) // layer.along[r]
                if (
                    layer.listed[r] >= 0
                    and not (layer.allowed[layer.listed[r] + s - layer.new_low[r]])
                ):
                    reached = False
                    break
                code = _code(s, layer.new_low[r], layer.new_same[r], layer.new_more[r])
                key += code * layer.new_stride[r]
            if not reached:
                continue
            node = count
            if len(table) > 0:
                slot = _found(key, keys, table)
                if table[slot] >= 0:
                    node = table[slot]
                else:
                    table[slot] = node
            numbers[place] = node
            if node == count:
                keys[count] = key
                count += 1
    return count


@_compiled
def merge_ways(sums: IntArray, numbers: IntArray, ways: IntArray) -> None:
    """The ways to nodes from those to places."""
    for place in range(len(numbers)):
        if numbers[place] >= 0:
            _add(ways, numbers[place], sums, place)


@_compiled
def cut_dead_ends(
    step: int,
    firsts: IntArray,
    sizes: IntArray,
    goals: IntArray,
    numbers: IntArray,
    after: IntArray,
) -> int:
    """Cut values off that do not lead to the end; a node without any has size 0.

    `after` are the sizes of the nodes that follow. Returns the edges left.
    """
    edges = 0
    for node in range(len(sizes)):
        first, last = 0, sizes[node] - 1
        while first <= last and not _alive(goals[node] + step * first, numbers, after):
            first += 1
        while last >= first and not _alive(goals[node] + step * last, numbers, after):
            last -= 1
        sizes[node] = last - first + 1
        firsts[node] += first
        goals[node] += step * first
        edges += sizes[node]
    return edges


@_compiled
def _alive(place: Any, numbers: IntArray, after: IntArray) -> Any:
    node = place if len(numbers) == 0 else numbers[place]
    return node >= 0 and after[node] > 0
