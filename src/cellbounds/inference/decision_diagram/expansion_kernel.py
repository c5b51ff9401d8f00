"""From the nodes of one layer to those of the next, and the ways to them; compiled.

Placing a cell moves a node along a line: its partial sums grow by the cell's factors for every
one that the cell holds. Places on a line are numbered one after the other, so that consecutive
values lead to consecutive places. Then places that differ in nothing that still matters become one
node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.inference.decision_diagram.layers import BITS, Floor, Layer
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled

__all__ = ["arrive", "cut_dead_ends", "follow", "merge_ways", "project", "spread"]

FULL, HALF = (1 << BITS) - 1, (1 << BITS // 2) - 1


@compiled
def _slot(key: Any, mask: Any) -> Any:
    """Where to look for a key first; neighbours stay together, which is kind to the cache."""
    block = np.uint64(key >> 4)
    mixed = (block ^ (block >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(((mixed << np.uint64(4)) | np.uint64(key & 15)) & np.uint64(mask))


@compiled
def _found(key: Any, keys: IntArray, table: IntArray) -> Any:
    """The slot of a key, or the empty one where it belongs."""
    mask = len(table) - 1
    slot = _slot(key, mask)
    while table[slot] >= 0 and keys[table[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def spread(keys: IntArray, count: int, table: IntArray) -> None:
    """Enter the first `count` keys into an empty table."""
    for k in range(count):
        table[_found(keys[k], keys, table)] = k


@compiled
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


@compiled
def _code(value: Any, low: Any, same: Any, more: Any) -> Any:
    """The code of a partial sum."""
    code = value - low
    if code > same:
        code = max(code - more, same)
    return code


@compiled
def _within(s: Any, factor: Any, least: Any, most: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The values from `low` to `high` for which ``s + factor * value`` is between limits."""
    if factor > 0:
        return max(low, -((s - least) // factor)), min(high, (most - s) // factor)
    if factor < 0:
        return max(low, -((most - s) // -factor)), min(high, (s - least) // -factor)
    if s < least or s > most:
        return low, low - 1
    return low, high


@compiled
def _others(layer: Layer, partial: IntArray, beside: IntArray) -> tuple[Any, Any]:
    """Place the other cells as if the first were 0; gives the values that suit all of them."""
    low, high = layer.lower, layer.upper
    for other in range(len(beside)):
        row, sign = layer.other_row[other], layer.other_sign[other]
        count = sign * (layer.other_limit[other] - partial[row])
        beside[other] = count
        for r in range(layer.touched):
            partial[r] += layer.gain[r, other] * count
        low, high = _within(
            count, layer.other_slope[other], layer.other_lower[other], layer.other_upper[other],
            low, high,
        )  # fmt: skip
    return low, high


@compiled
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

    `firsts` gets the smallest value and what the other cells then are (all above their lower
    bounds), `sizes` how many values there are, `lines` the line and `places` the place on it of
    the first. `line_keys`, `least` and `most` describe the lines found. Stops when there is no
    room for another line; returns the next node and the number of lines.
    """
    touched, rows = layer.touched, len(layer.stride)
    partial = np.zeros(rows, dtype=np.int64)
    beside = np.zeros(len(layer.other_row), dtype=np.int64)
    for node in range(begin, len(keys)):
        if count == len(line_keys):
            return node, count
        _recall(layer, keys[node], partial)
        low, high = _others(layer, partial, beside)
        for r in range(touched):
            low, high = _within(
                partial[r], layer.factor[r], layer.new_low[r], layer.new_high[r], low, high
            )
        firsts[node, 0] = low - layer.lower
        sizes[node] = max(high - low + 1, 0)
        if high < low:
            continue
        for other in range(len(beside)):
            there = beside[other] + layer.other_slope[other] * low
            firsts[node, other + 1] = there - layer.other_lower[other]
        key: Any = 0
        for r in range(layer.moving, rows):
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


@compiled
def _add(sums: IntArray, goal: Any, ways: IntArray, source: Any) -> None:
    """Add a number of several words to another, which has at least as many; it may wrap around."""
    carry: Any = 0
    for word in range(sums.shape[1]):
        total = sums[goal, word] + carry
        if word < ways.shape[1]:
            total += ways[source, word]
        elif carry == 0:
            break
        carry = total >> BITS
        sums[goal, word] = total & FULL


@compiled
def _add_times(sums: IntArray, goal: Any, ways: IntArray, source: Any, times: Any) -> None:
    """Add a multiple (below 2**31) of a number of several words to another; as `_add`."""
    rest: Any = 0
    carry: Any = 0
    for word in range(sums.shape[1]):
        # Halves of a word, so that no product leaves 64 bits.
        own: Any = ways[source, word] if word < ways.shape[1] else 0
        part = (own & HALF) * times + rest
        upper = (own >> (BITS // 2)) * times + (part >> (BITS // 2))
        rest = upper >> (BITS // 2)
        total = sums[goal, word] + (((upper & HALF) << (BITS // 2)) | (part & HALF)) + carry
        carry = total >> BITS
        sums[goal, word] = total & FULL


@compiled
def _take(sums: IntArray, goal: Any, ways: IntArray, source: Any) -> None:
    """Take a number of several words from another; what falls below zero wraps around."""
    borrow: Any = 0
    for word in range(sums.shape[1]):
        total = sums[goal, word] - borrow
        if word < ways.shape[1]:
            total -= ways[source, word]
        borrow = 1 if total < 0 else 0
        sums[goal, word] = total & FULL


@compiled
def arrive(
    moving: int,
    sizes: IntArray,
    lines: IntArray,
    places: IntArray,
    least: IntArray,
    offsets: IntArray,
    ways: IntArray,
    sums: IntArray,
) -> None:
    """Number the places (`lines` becomes the place of each node's first value); count the ways.

    The ways of a node are added where its values begin on the line, and taken away behind their
    end; sums along the line then do for all values at once.
    """
    for node in range(len(sizes)):
        if sizes[node] == 0:
            continue
        line = lines[node]
        goal = offsets[line] + places[node] - least[line]
        lines[node] = goal
        if moving == 0:
            _add_times(sums, goal, ways, node, np.int64(sizes[node]))
            continue
        _add(sums, goal, ways, node)
        if goal + sizes[node] < offsets[line + 1]:
            _take(sums, goal + sizes[node], ways, node)
    for line in range(len(least)):
        for place in range(offsets[line] + 1, offsets[line + 1]):
            _add(sums, place, sums, place - 1)


@compiled
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
    rows, moving = len(layer.stride), layer.moving
    count = 0
    for line in range(len(line_keys)):
        held = line_keys[line]
        base: Any = 0
        for r in range(moving, rows):
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


@compiled
def merge_ways(sums: IntArray, numbers: IntArray, ways: IntArray) -> None:
    """The ways to nodes from those to places."""
    for place in range(len(numbers)):
        if numbers[place] >= 0:
            _add(ways, numbers[place], sums, place)


@compiled
def cut_dead_ends(floor: Floor, after: IntArray) -> None:
    """Cut values off that do not lead to the end; a node without any has size 0.

    `after` are the sizes of the nodes that follow.
    """
    for node in range(len(floor.sizes)):
        first, last = 0, floor.sizes[node] - 1
        while first <= last and not _alive(floor, floor.goals[node] + floor.step * first, after):
            first += 1
        while last >= first and not _alive(floor, floor.goals[node] + floor.step * last, after):
            last -= 1
        floor.sizes[node] = last - first + 1
        floor.goals[node] += floor.step * first
        for cell in range(len(floor.slopes)):
            floor.firsts[node, cell] += floor.slopes[cell] * first


@compiled
def _alive(floor: Floor, place: Any, after: IntArray) -> Any:
    node = place if len(floor.numbers) == 0 else floor.numbers[place]
    return node >= 0 and after[node] > 0
