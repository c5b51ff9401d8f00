"""Building a decision diagram layer after layer, and counting its paths on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellbounds.inference.decision_diagram.layers import BITS, DiagramLayer, LineTable, Transition
from cellbounds.inference.protocol import Refusal
from cellbounds.runtime.arrays import IntArray

MEMORY = 1_500_000_000
"""Bytes that a diagram may take."""

OUT_OF_MEMORY = Refusal("it would take too much memory")


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
    transitions: Sequence[Transition], effort: float, memory: int = MEMORY
) -> Construction | Refusal:
    """Follow every path, node by node; stop when steps pass `effort` or nodes the memory.

    Layers are kept as long as there is room for all of them; then only the paths are counted.
    """
    nodes = _Nodes(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64))
    layers: list[DiagramLayer] | None = []
    held, steps, edges = 0, 0, 0
    for transition in transitions:
        if transition.places >= 2**31:
            return Refusal("a cell has more values than can be listed")
        stepped = _step(transition, nodes, effort - steps, memory)
        if isinstance(stepped, Refusal):
            return stepped
        nodes, layer, taken = stepped
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
    if layers is not None:
        _cut_dead_ends(layers)
    return Construction(paths, steps, edges, None if layers is None else tuple(layers))


@dataclass(slots=True, eq=False)
class _Nodes:
    """The keys of the nodes of a layer, and the ways to each in words of `BITS` bits."""

    keys: IntArray
    ways: IntArray

    @property
    def nbytes(self) -> int:
        return int(self.keys.nbytes + self.ways.nbytes)

    def words_for(self, values: int) -> int:
        """Words in which sums of ways are written: one more if the last might run over."""
        top = int(self.ways[:, -1].max()) + 1
        return int(self.ways.shape[1]) + (top * len(self.ways) * values >= 1 << BITS)


def _step(
    transition: Transition, nodes: _Nodes, effort: float, memory: int
) -> tuple[_Nodes, DiagramLayer, int] | Refusal:
    """Place one cell, if that can be done within effort and memory.

    The nodes are used up: what is not needed any more is set free on the way.
    """
    from cellbounds.inference.decision_diagram import expansion_kernel as kernel

    before, span = len(nodes.keys), transition.upper - transition.lower + 1
    if nodes.nbytes + 40 * before > memory:
        return OUT_OF_MEMORY
    layer = _empty_layer(transition, before)
    places = np.empty(before, np.int32)
    lines = _followed_lines(transition, nodes.keys, layer, places)
    nodes.keys = np.empty((0, 1), np.int64)
    total = len(lines.least) + int((lines.most - lines.least).sum(dtype=np.int64))
    words = nodes.words_for(span)
    slots = 1 << (2 * total).bit_length() if transition.merging else 0
    key_words = transition.after.digits.words
    wanted = nodes.nbytes + layer.nbytes + 4 * before + 2 * lines.keys.nbytes
    wanted += (8 * words + 8 * key_words + 4) * total + 4 * slots
    wanted += 8 * words * total * transition.merging
    if wanted > memory or total >= 2**31:
        return OUT_OF_MEMORY
    steps = before + total
    if steps > effort:
        return Refusal("it would take more steps than the effort allows")
    offsets = np.zeros(len(lines.least) + 1, np.int32)
    np.cumsum(lines.most - lines.least + 1, out=offsets[1:])
    sums = np.zeros((total, words), dtype=np.int64)
    kernel.arrive(transition.moving, layer, places, lines.least, offsets, nodes.ways, sums)
    nodes.ways = np.empty((0, 1), np.int64)
    del places
    keys, numbers = np.empty((total, key_words), np.int64), np.empty(total, np.int32)
    table = np.full(slots, -1, dtype=np.int32)
    count = kernel.project(transition, lines, offsets, sums, keys, table, numbers)
    if count < total:
        ways = np.zeros((count, words), dtype=np.int64)
        kernel.merge_ways(sums, numbers, ways)
        keys, sums, layer = keys[:count].copy(), ways, layer._replace(numbers=numbers)
    if words > 1 and not sums[:, -1].any():
        sums = np.ascontiguousarray(sums[:, :-1])
    return _Nodes(keys, sums), layer, steps


def _empty_layer(transition: Transition, nodes: int) -> DiagramLayer:
    others = transition.others
    lowers = np.append(transition.lower, others.lower)
    return DiagramLayer(
        lowers,
        np.append(transition.upper, others.upper) - lowers + 1,
        np.append(1, others.slope),
        int(transition.moving > 0),
        np.zeros((nodes, len(lowers)), np.int32),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int32),
        np.empty(0, np.int32),
    )


def _followed_lines(
    transition: Transition, keys: IntArray, layer: DiagramLayer, places: IntArray
) -> LineTable:
    """Fill in what the nodes lead to; gives the lines found."""
    from cellbounds.inference.decision_diagram.expansion_kernel import follow, spread

    capacity = min(len(keys), max(1024, len(keys) // 8))

    def room(size: int) -> LineTable:
        keys_of = np.empty((size, transition.lines.words), np.int64)
        return LineTable(keys_of, np.empty(size, np.int32), np.empty(size, np.int32))

    lines = room(capacity)
    begin = count = 0
    while True:
        table = np.full(1 << (2 * capacity - 1).bit_length(), -1, dtype=np.int32)
        spread(lines.keys, count, table)
        begin, count = follow(transition, keys, begin, layer, places, table, lines, count)
        if begin == len(keys):
            return LineTable(*(array[:count] for array in lines))
        # As many more lines as the nodes left will find at the rate so far.
        capacity = min(len(keys), max(2 * capacity, 2 * count * len(keys) // max(begin, 1)))
        lines = LineTable(*map(np.concatenate, zip(lines, room(capacity - count), strict=True)))


def _cut_dead_ends(layers: Sequence[DiagramLayer]) -> None:
    """Leave out values that do not lead to the end, from the last layer up."""
    from cellbounds.inference.decision_diagram.expansion_kernel import cut_dead_ends

    after = np.ones(1, dtype=np.int32)
    for layer in reversed(layers):
        cut_dead_ends(layer, after)
        after = layer.sizes
