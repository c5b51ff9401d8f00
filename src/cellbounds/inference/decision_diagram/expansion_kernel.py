"""From the nodes of one layer to those of the next, and the ways to them; compiled.

Placing a cell moves a node along a line: its partial sums grow by the cell's factors for every
one that the cell holds. Places on a line are numbered one after the other, so that consecutive
values lead to consecutive places, and a node is worked on once instead of once for each value.
Then places that differ in nothing that still matters become one node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.inference.decision_diagram.layers import (
    BITS,
    DiagramLayer,
    LineTable,
    SumCodes,
    Transition,
)
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled, compiled_above

FULL, HALF = (1 << BITS) - 1, (1 << BITS // 2) - 1

FEW = 10_000
"""Numbers up to which a layer is worked on in plain Python: some tenths of a second."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio: multiplying by it spreads keys that are close together."""


@compiled
def _slot(keys: IntArray, k: Any, mask: Any) -> Any:
    """Where to look for a key first; neighbours stay together, which is kind to the cache."""
    block = np.uint64(keys[k, 0] >> 4)
    for word in range(1, keys.shape[1]):
        block = (block ^ (block >> np.uint64(31))) * GOLDEN + np.uint64(keys[k, word])
    mixed = (block ^ (block >> np.uint64(29))) * GOLDEN
    mixed ^= mixed >> np.uint64(32)
    return np.int64(((mixed << np.uint64(4)) | np.uint64(keys[k, 0] & 15)) & np.uint64(mask))


@compiled
def _slot_of(keys: IntArray, k: Any, table: IntArray) -> Any:
    """The slot of the k-th key, or of an equal one before it; else the empty one it belongs in.

    What is looked up was written behind the keys in the table: if it is new, it stays there.
    """
    mask = len(table) - 1
    slot = _slot(keys, k, mask)
    while table[slot] >= 0:
        same = True
        for word in range(keys.shape[1]):
            same &= keys[table[slot], word] == keys[k, word]
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@compiled_above(FEW)
def spread(keys: IntArray, count: int, table: IntArray) -> None:
    """Enter the first `count` keys into an empty table."""
    for k in range(count):
        table[_slot_of(keys, k, table)] = k


# Tuples are taken apart before loops: handing them on, or looking a member up, counts references
# to all their arrays, which costs more than the arithmetic.
@compiled
def _recall(codes: SumCodes, keys: IntArray, node: Any, partial: IntArray) -> None:
    """The partial sums of a node."""
    (word, stride, width), low, _, same, more = codes
    for r in range(len(partial)):
        code: Any = 0
        if stride[r] > 0:
            code = (keys[node, word[r]] // stride[r]) % width[r]
        partial[r] = low[r] + code
        if code > same[r]:
            partial[r] += more[r]


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


@compiled_above(FEW)
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
    touched, rows, moving = transition.touched, len(transition.before.low), transition.moving
    others, factor, origin_low = transition.others, transition.factor, transition.origin_low
    word, stride, _ = transition.lines
    _, least, most, same, more = transition.after
    partial = np.zeros(rows, dtype=np.int64)
    beside = np.zeros(len(others.row), dtype=np.int64)
    for node in range(begin, len(keys)):
        # The table of lines is made by the caller, which cannot know how many there will be.
        if count == len(lines.keys):
            return node, count
        _recall(transition.before, keys, node, partial)
        low, high = _others(transition, partial, beside)
        for r in range(touched):
            low, high = _within(partial[r], factor[r], least[r], most[r], low, high)
        layer.firsts[node, 0] = low - transition.lower
        layer.sizes[node] = max(high - low + 1, 0)
        if high < low:
            continue
        for k in range(len(beside)):
            layer.firsts[node, k + 1] = beside[k] + others.slope[k] * low - others.lower[k]
        for at in range(lines.keys.shape[1]):
            lines.keys[count, at] = 0
        for r in range(moving, rows):
            if stride[r] > 0:
                code = _code(partial[r], least[r], same[r], more[r])
                lines.keys[count, word[r]] += code * stride[r]
        place: Any = 0
        if moving > 0:
            # A line is known by its origin: every node on it goes back there in whole steps.
            steps = (partial[0] - partial[0] % abs(factor[0])) // factor[0]
            place = steps + low - transition.place_low
            for r in range(moving):
                origin = partial[r] - factor[r] * steps - origin_low[r]
                lines.keys[count, word[r]] += origin * stride[r]
        slot = _slot_of(lines.keys, count, table)
        line = table[slot]
        if line < 0:
            line = count
            table[slot] = line
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


@compiled_above(FEW)
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


@compiled_above(FEW)
def project(
    transition: Transition, lines: LineTable, offsets: IntArray, sums: IntArray, keys: IntArray,
    table: IntArray, numbers: IntArray,
) -> int:  # fmt: skip
    """Make nodes of the places that are reached; gives their number.

    `keys` gets the keys of the nodes, `numbers` the node of each place (-1: none). Without a
    table no two places can be the same node.
    """
    rows, moving, factor = len(transition.before.low), transition.moving, transition.factor
    listed, allowed = transition.listed, transition.allowed
    (word, stride, _), low, _, same, more = transition.after
    line_word, line_stride, line_width = transition.lines
    base, partial = np.zeros(keys.shape[1], dtype=np.int64), np.zeros(rows, dtype=np.int64)
    count = 0
    for line in range(len(lines.keys)):
        base[:] = 0
        for r in range(rows):
            part: Any = 0
            if line_stride[r] > 0:
                part = (lines.keys[line, line_word[r]] // line_stride[r]) % line_width[r]
            if r >= moving:
                base[word[r]] += part * stride[r]
            else:
                # One step before the first place, for each place begins with a step.
                steps = transition.place_low + lines.least[line] - 1
                partial[r] = transition.origin_low[r] + part + factor[r] * steps
        for place in range(offsets[line], offsets[line + 1]):
            numbers[place] = -1
            reached = False
            for at in range(sums.shape[1]):
                reached |= sums[place, at] != 0
            for at in range(len(base)):
                keys[count, at] = base[at]
            for r in range(moving):
                partial[r] += factor[r]
                if reached and listed[r] >= 0:
                    reached = allowed[listed[r] + partial[r] - low[r]]
                keys[count, word[r]] += _code(partial[r], low[r], same[r], more[r]) * stride[r]
            if not reached:
                continue
            node = count
            if len(table) > 0:
                slot = _slot_of(keys, count, table)
                if table[slot] >= 0:
                    node = table[slot]
                else:
                    table[slot] = node
            numbers[place] = node
            if node == count:
                count += 1
    return count


@compiled_above(FEW)
def merge_ways(sums: IntArray, numbers: IntArray, ways: IntArray) -> None:
    """The ways to nodes from those to places."""
    for place in range(len(numbers)):
        if numbers[place] >= 0:
            _add(ways, numbers[place], sums, place)


@compiled_above(FEW)
def cut_dead_ends(layer: DiagramLayer, after: IntArray) -> None:
    """Cut values off that do not lead to the end; a node without any has size 0.

    `after` are the sizes of the nodes that follow.
    """
    # Only from both ends: what is cut off in between would not be one run of values any more.
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
