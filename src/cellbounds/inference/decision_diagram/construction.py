"""Building a decision diagram layer after layer, and counting its paths on the way; compiled.

Placing a cell moves a node along a line: its partial sums grow by the cell's factors for every
one that the cell holds. Places on a line are numbered one after the other, so that consecutive
values lead to consecutive places, and a node is worked on once instead of once for each value.
Then places that differ in nothing that still matters become one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.inference.decision_diagram.layers import (
    DiagramLayer,
    LineTable,
    SumCodes,
    Transition,
    pieces,
)
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled, compiled_above

BITS = 62
"""Numbers of ways are written in words of so many bits."""

FULL, HALF = (1 << BITS) - 1, (1 << BITS // 2) - 1

FEW = 10_000
"""Numbers up to which a layer is worked on in plain Python: some tenths of a second."""

AT_ONCE = 2_000_000
"""Nodes or places that one compiled call works on, about: some tenths of a second."""

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
    transition: Transition, keys: IntArray, layer: DiagramLayer, places: IntArray,
    table: IntArray, lines: LineTable, count: int,
) -> int:  # fmt: skip
    """Find the values of the cell that each node allows, and the line that they lead along.

    Of `layer`, `firsts` gets the smallest value and what the other cells then are (all above
    their lower bounds), `sizes` how many values there are, `goals` the line, and `places` the
    place on it of the first. Gives the number of lines, which was `count` before these nodes.
    """
    touched, rows, moving = transition.touched, len(transition.before.low), transition.moving
    others, factor, origin_low = transition.others, transition.factor, transition.origin_low
    word, stride, _ = transition.lines
    _, least, most, same, more = transition.after
    partial = np.zeros(rows, dtype=np.int64)
    beside = np.zeros(len(others.row), dtype=np.int64)
    for node in range(len(keys)):
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
    return count


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
    """Number the places (`goals` becomes the place of each node's first value); begin to count.

    The ways of a node are added where its values begin on the line, and taken away behind their
    end; sums along the line (`count_ways`) then do for all values at once.
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


@compiled_above(FEW)
def count_ways(offsets: IntArray, sums: IntArray) -> None:
    """The ways to each place, from those that begin and end there."""
    for line in range(len(offsets) - 1):
        for place in range(offsets[line] + 1, offsets[line + 1]):
            _add(sums, place, sums, place - 1)


@compiled_above(FEW)
def project(
    transition: Transition, lines: LineTable, offsets: IntArray, sums: IntArray, keys: IntArray,
    table: IntArray, numbers: IntArray, count: int,
) -> int:  # fmt: skip
    """Make nodes of the places that are reached; gives their number, `count` before these lines.

    `keys` gets the keys of the nodes, `numbers` the node of each place (-1: none). Without a
    table no two places can be the same node.
    """
    rows, moving, factor = len(transition.before.low), transition.moving, transition.factor
    listed, allowed = transition.listed, transition.allowed
    (word, stride, _), low, _, same, more = transition.after
    line_word, line_stride, line_width = transition.lines
    base, partial = np.zeros(keys.shape[1], dtype=np.int64), np.zeros(rows, dtype=np.int64)
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


MEMORY = 1_500_000_000
"""Bytes that a diagram may take."""

OUT_OF_MEMORY = "it would take too much memory"


@dataclass(frozen=True, slots=True, eq=False)
class Construction:
    """The number of paths, and the layers of the diagram if there was room to keep them.

    `steps` is what counting took, `edges` what every sum of weights takes.
    """

    paths: int
    steps: int
    edges: int
    layers: tuple[DiagramLayer, ...] | None


def construct(
    transitions: Sequence[Transition], effort: float, memory: int = MEMORY, at_once: int = AT_ONCE
) -> Construction:
    """Follow every path, node by node.

    Layers are kept as long as there is room for all of them; then only the paths are counted.
    `at_once` are the nodes or places of one compiled call, about; they change no result.

    Raises
    ------
    TooMuchWork
        When steps pass `effort` or nodes the memory.
    """
    nodes = _Nodes(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64))
    layers: list[DiagramLayer] | None = []
    held, steps, edges = 0, 0, 0
    for transition in transitions:
        if transition.places >= 2**31:
            raise TooMuchWork("a cell has more values than can be listed")
        nodes, layer, taken = _step(transition, nodes, effort - steps, memory, at_once)
        steps += taken
        edges += int(layer.sizes.sum(dtype=np.int64))
        held += layer.nbytes
        if layers is not None:
            layers.append(layer)
        # The next step takes about this much.
        if held + 4 * nodes.nbytes > memory:
            layers = None
        if not len(nodes.keys):
            return Construction(0, steps, edges, ())
    paths = sum(int(word) << (BITS * place) for place, word in enumerate(nodes.ways[0].tolist()))
    after = np.ones(1, dtype=np.int32)
    for layer in reversed(layers or ()):
        for own in pieces(layer.sizes, at_once):
            cut_dead_ends(layer.part(own), after)
        after = layer.sizes
    return Construction(paths, steps, edges, None if layers is None else tuple(layers))


@dataclass(slots=True, eq=False)
class _Nodes:
    """The keys of the nodes of a layer, and the ways to each in words of `BITS` bits."""

    keys: IntArray
    ways: IntArray

    @property
    def nbytes(self) -> int:
        return int(self.keys.nbytes + self.ways.nbytes)


def _step(
    transition: Transition, nodes: _Nodes, effort: float, memory: int, at_once: int
) -> tuple[_Nodes, DiagramLayer, int]:
    """Place one cell, if that can be done within effort and memory.

    The nodes are used up: what is not needed any more is set free on the way.
    """
    before = len(nodes.keys)
    if nodes.nbytes + 40 * before > memory:
        raise TooMuchWork(OUT_OF_MEMORY)
    layer = DiagramLayer.empty(transition, before)
    places = np.empty(before, np.int32)
    # There are no more lines than nodes, and mostly far fewer: what is not used stays untouched.
    room = np.empty((before, transition.lines.words), np.int64)
    lines = LineTable(room, np.empty(before, np.int32), np.empty(before, np.int32))
    table = np.full(1 << (2 * before - 1).bit_length(), -1, dtype=np.int32)
    count, by_node = 0, [slice(k, k + at_once) for k in range(0, before, at_once)]
    for own in by_node:
        keys = nodes.keys[own]
        count = follow(transition, keys, layer.part(own), places[own], table, lines, count)
    lines = LineTable(*(array[:count] for array in lines))
    del table
    nodes.keys = np.empty((0, 1), np.int64)
    total = len(lines.least) + int((lines.most - lines.least).sum(dtype=np.int64))
    # Sums of ways have one more word if the last might run over.
    top = int(nodes.ways[:, -1].max()) + 1
    span = transition.upper - transition.lower + 1
    words = int(nodes.ways.shape[1]) + (top * before * span >= 1 << BITS)
    slots = 1 << (2 * total).bit_length() if transition.merging else 0
    key_words = transition.after.digits.words
    wanted = nodes.nbytes + layer.nbytes + 4 * before + 2 * lines.keys.nbytes
    wanted += (8 * words + 8 * key_words + 4) * total + 4 * slots
    wanted += 8 * words * total * transition.merging
    if wanted > memory or total >= 2**31:
        raise TooMuchWork(OUT_OF_MEMORY)
    steps = before + total
    if steps > effort:
        raise TooMuchWork("it would take more steps than the effort allows")
    offsets = np.zeros(len(lines.least) + 1, np.int32)
    np.cumsum(lines.most - lines.least + 1, out=offsets[1:])
    sums = np.zeros((total, words), dtype=np.int64)
    for own in by_node:
        ways_to = lines.least, offsets, nodes.ways[own]
        arrive(transition.moving, layer.part(own), places[own], *ways_to, sums)
    by_line = pieces(np.diff(offsets), at_once)
    for own in by_line:
        count_ways(offsets[own.start : own.stop + 1], sums)
    nodes.ways = np.empty((0, 1), np.int64)
    del places
    keys, numbers = np.empty((total, key_words), np.int64), np.empty(total, np.int32)
    table = np.full(slots, -1, dtype=np.int32)
    count = 0
    for own in by_line:
        some = LineTable(*(array[own] for array in lines))
        places_of = offsets[own.start : own.stop + 1]
        count = project(transition, some, places_of, sums, keys, table, numbers, count)
    if count < total:
        ways = np.zeros((count, words), dtype=np.int64)
        for begin in range(0, total, at_once):
            own = slice(begin, begin + at_once)
            merge_ways(sums[own], numbers[own], ways)
        keys, sums, layer = keys[:count].copy(), ways, layer._replace(numbers=numbers)
    if words > 1 and not sums[:, -1].any():
        sums = np.ascontiguousarray(sums[:, :-1])
    return _Nodes(keys, sums), layer, steps
