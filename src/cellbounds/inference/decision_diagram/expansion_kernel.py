"""From the nodes of one layer to those of the next, and the ways to them; compiled.

Placing a cell moves a node along a line: its partial sums grow by the cell's factors for every
one that the cell holds. Places on a line are numbered one after the other, so that consecutive
values lead to consecutive places. Then places that differ in nothing that still matters become one
node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.inference.decision_diagram.layers import (
    BITS,
    DiagramLayer,
    LineCodes,
    LineTable,
    SumCodes,
    Transition,
)
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
def _recall(transition: Transition, key: Any, partial: IntArray) -> None:
    """The partial sums of a node."""
    codes, formulas = transition.before, transition.formulas
    for r in range(len(partial)):
        code: Any = 0
        if codes.stride[r] > 0:
            code = (key // codes.stride[r]) % codes.width[r]
        partial[r] = codes.low[r] + code
        if code > codes.same[r]:
            partial[r] += codes.more[r]
    # What was left out of the key follows from what is in it; all sums are known by now.
    for d in range(len(formulas.places)):
        total = formulas.constants[d]
        for r in range(len(partial)):
            total += formulas.times[d, r] * partial[r]
        partial[formulas.places[d]] = total // formulas.divisors[d]


@compiled
def _code(codes: SumCodes, r: Any, value: Any) -> Any:
    """The code of a partial sum."""
    code = value - codes.low[r]
    if code > codes.same[r]:
        code = max(code - codes.more[r], codes.same[r])
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
def _others(transition: Transition, partial: IntArray, beside: IntArray) -> tuple[Any, Any]:
    """Place the other cells as if the first were 0; gives the values that suit all of them."""
    others = transition.others
    low, high = transition.lower, transition.upper
    for k in range(len(beside)):
        # The equation fixes the cell: its factor is 1 or -1, so that nothing is divided.
        count = others.sign[k] * (others.limit[k] - partial[others.row[k]])
        beside[k] = count
        for r in range(transition.touched):
            partial[r] += others.gain[r, k] * count
        low, high = _within(count, others.slope[k], others.lower[k], others.upper[k], low, high)
    return low, high


@compiled
def follow(
    transition: Transition, keys: IntArray, begin: int, layer: DiagramLayer, places: IntArray,
    table: IntArray, lines: LineTable, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Find the values of the cell that each node allows, and the line that they lead along.

    Of `layer`, `firsts` gets the smallest value and what the other cells then are (all above
    their lower bounds), `sizes` how many values there are, `goals` the line, and `places` the
    place on it of the first. Stops when there is no room for another line; returns the next node
    and the number of lines.
    """
    touched, rows, moving = transition.touched, len(transition.before.stride), transition.moving
    others, after, codes = transition.others, transition.after, transition.lines
    partial = np.zeros(rows, dtype=np.int64)
    beside = np.zeros(len(others.row), dtype=np.int64)
    for node in range(begin, len(keys)):
        if count == len(lines.keys):
            return node, count
        _recall(transition, keys[node], partial)
        low, high = _others(transition, partial, beside)
        for r in range(touched):
            low, high = _within(
                partial[r], transition.factor[r], after.low[r], after.high[r], low, high
            )
        layer.firsts[node, 0] = low - transition.lower
        layer.sizes[node] = max(high - low + 1, 0)
        if high < low:
            continue
        for k in range(len(beside)):
            layer.firsts[node, k + 1] = beside[k] + others.slope[k] * low - others.lower[k]
        key: Any = 0
        for r in range(moving, rows):
            if codes.stride[r] > 0:
                key += _code(after, r, partial[r]) * codes.stride[r]
        place: Any = 0
        if moving > 0:
            # Nodes whose first moving sums differ by a multiple of the factor share a line if
            # the other moving sums keep step with it.
            first, factor = partial[0], transition.factor[0]
            rest = first % abs(factor)
            place = (first - rest) // factor + low - transition.place_low
            key += rest * codes.stride[0]
            for r in range(1, moving):
                across = codes.along[r] * partial[r] - codes.across[r] * first
                key += (across - codes.low[r]) * codes.stride[r]
        slot = _found(key, lines.keys, table)
        line = table[slot]
        if line < 0:
            line = count
            table[slot] = line
            lines.keys[line] = key
            lines.least[line] = place
            lines.most[line] = place
            count += 1
        layer.goals[node] = line
        places[node] = place
        lines.least[line] = min(lines.least[line], place)
        end = place + layer.sizes[node] - 1 if moving > 0 else place
        lines.most[line] = max(lines.most[line], end)
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
    """Add a multiple (between -2**31 and 2**31) of a number of several words to another.

    As `_add`: what runs over, or falls below zero, wraps around. Shifts round down, so that
    borrowing from the next word is a carry of -1.
    """
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
def arrive(
    moving: int, layer: DiagramLayer, places: IntArray, least: IntArray, offsets: IntArray,
    ways: IntArray, sums: IntArray,
) -> None:  # fmt: skip
    """Number the places (`goals` becomes the place of each node's first value); count the ways.

    The ways of a node are added where its values begin on the line, and taken away behind their
    end; sums along the line then do for all values at once.
    """
    sizes, lines = layer.sizes, layer.goals
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
            _add_times(sums, goal + sizes[node], ways, node, np.int64(-1))
    for line in range(len(least)):
        for place in range(offsets[line] + 1, offsets[line + 1]):
            _add(sums, place, sums, place - 1)


@compiled
def _part(held: Any, codes: LineCodes, r: Any) -> Any:
    """What the number of a line says of one sum."""
    return (held // codes.stride[r]) % codes.width[r] if codes.stride[r] > 0 else 0


@compiled
def project(
    transition: Transition, lines: LineTable, offsets: IntArray, sums: IntArray, keys: IntArray,
    table: IntArray, numbers: IntArray,
) -> int:  # fmt: skip
    """Make nodes of the places that are reached; gives their number.

    `keys` gets the keys of the nodes, `numbers` the node of each place (-1: none). Without a
    table no two places can be the same node.
    """
    rows, moving = len(transition.before.stride), transition.moving
    after, codes = transition.after, transition.lines
    count = 0
    for line in range(len(lines.keys)):
        held = lines.keys[line]
        base: Any = 0
        for r in range(moving, rows):
            base += _part(held, codes, r) * after.stride[r]
        for place in range(offsets[line], offsets[line + 1]):
            numbers[place] = -1
            reached = False
            for word in range(sums.shape[1]):
                reached |= sums[place, word] != 0
            key = base
            first: Any = 0
            for r in range(moving if reached else 0):
                if r == 0:
                    at = transition.place_low + lines.least[line] + place - offsets[line]
                    first = _part(held, codes, 0) + transition.factor[0] * at
                    s = first
                else:
                    across = _part(held, codes, r) + codes.low[r]
                    s = (across + codes.across[r] * first) // codes.along[r]
                listed = transition.listed[r]
                if listed >= 0 and not transition.allowed[listed + s - after.low[r]]:
                    reached = False
                    break
                key += _code(after, r, s) * after.stride[r]
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
def cut_dead_ends(layer: DiagramLayer, after: IntArray) -> None:
    """Cut values off that do not lead to the end; a node without any has size 0.

    `after` are the sizes of the nodes that follow.
    """
    for node in range(len(layer.sizes)):
        first, last = 0, layer.sizes[node] - 1
        while first <= last and not _alive(layer, layer.goals[node] + layer.step * first, after):
            first += 1
        while last >= first and not _alive(layer, layer.goals[node] + layer.step * last, after):
            last -= 1
        layer.sizes[node] = last - first + 1
        layer.goals[node] += layer.step * first
        for cell in range(len(layer.slopes)):
            layer.firsts[node, cell] += layer.slopes[cell] * first


@compiled
def _alive(layer: DiagramLayer, place: Any, after: IntArray) -> Any:
    node = place if len(layer.numbers) == 0 else layer.numbers[place]
    return node >= 0 and after[node] > 0
