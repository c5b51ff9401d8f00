"""Growing a diagram layer after layer, and counting its paths on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellbounds.inference.decision_diagram.layers import BITS, Floor, Layer
from cellbounds.runtime.arrays import IntArray

__all__ = ["Grown", "TooLarge", "grow"]

MEMORY = 1_500_000_000
"""Bytes that a diagram may take."""


@dataclass(frozen=True, slots=True, eq=False)
class TooLarge:
    """Growing stopped, and why."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """The number of paths, and the diagram if there was room to keep it.

    `steps` is what counting took, `edges` what every sum of weights takes.
    """

    paths: int
    steps: int
    edges: int
    floors: tuple[Floor, ...] | None


def grow(layers: Sequence[Layer], effort: float, memory: int = MEMORY) -> Grown | TooLarge:
    """Follow every path, node by node; stop when steps pass `effort` or nodes the memory.

    Layers are kept as long as there is room for all of them; then only the paths are counted.
    """
    nodes = _Nodes(np.zeros(1, dtype=np.int64), np.ones((1, 1), dtype=np.int64))
    floors: list[Floor] | None = []
    held, steps, edges = 0, 0, 0
    for layer in layers:
        if layer.places >= 2**31:
            return TooLarge("a cell has more values than can be listed")
        stepped = _step(layer, nodes, effort - steps, memory)
        if isinstance(stepped, str):
            return TooLarge(stepped)
        nodes, floor, taken = stepped
        steps += taken
        edges += int(floor.sizes.sum(dtype=np.int64))
        held += floor.nbytes
        if floors is not None:
            floors.append(floor)
        # The next step takes about this much.
        if held + 4 * nodes.nbytes > memory:
            floors = None
        if not len(nodes.keys):
            return Grown(0, steps, edges, ())
    paths = sum(int(word) << (BITS * place) for place, word in enumerate(nodes.ways[0].tolist()))
    if floors is not None:
        _cut_dead_ends(floors)
    return Grown(paths, steps, edges, None if floors is None else tuple(floors))


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
        runs_over = top * len(self.ways) * values >= 1 << BITS
        return int(self.ways.shape[1]) + runs_over


OUT_OF_MEMORY = "it would take too much memory"


def _step(
    layer: Layer, nodes: _Nodes, effort: float, memory: int
) -> tuple[_Nodes, Floor, int] | str:
    """Place one cell; gives a reason if it cannot be done within effort and memory.

    The nodes are used up: what is not needed any more is set free on the way.
    """
    from cellbounds.inference.decision_diagram.expansion_kernel import arrive, merge_ways, project

    before, span = len(nodes.keys), layer.upper - layer.lower + 1
    if nodes.nbytes + 40 * before > memory:
        return OUT_OF_MEMORY
    floor = _empty_floor(layer, before)
    places = np.empty(before, np.int32)
    line_keys, least, most = _lines_followed(layer, nodes.keys, floor, places)
    nodes.keys = np.empty(0, np.int64)
    total = len(least) + int((most - least).sum(dtype=np.int64))
    words = nodes.words_for(span)
    slots = 1 << (2 * total).bit_length() if layer.merging else 0
    wanted = nodes.nbytes + floor.nbytes + 4 * before + 20 * len(least)
    wanted += (8 * words + 12) * total + 4 * slots + 8 * words * total * layer.merging
    if wanted > memory or total >= 2**31:
        return OUT_OF_MEMORY
    steps = before + total
    if steps > effort:
        return "it would take more steps than the effort allows"
    offsets = np.zeros(len(least) + 1, np.int32)
    np.cumsum(most - least + 1, out=offsets[1:])
    sums = np.zeros((total, words), dtype=np.int64)
    arrive(layer.moving, floor.sizes, floor.goals, places, least, offsets, nodes.ways, sums)
    nodes.ways = np.empty((0, 1), np.int64)
    del places, most
    keys, numbers = np.empty(total, np.int64), np.empty(total, np.int32)
    table = np.full(slots, -1, dtype=np.int32)
    count = project(layer, line_keys, least, offsets, sums, keys, table, numbers)
    if count < total:
        ways = np.zeros((count, words), dtype=np.int64)
        merge_ways(sums, numbers, ways)
        keys, sums, floor = keys[:count].copy(), ways, floor._replace(numbers=numbers)
    if words > 1 and not sums[:, -1].any():
        sums = np.ascontiguousarray(sums[:, :-1])
    return _Nodes(keys, sums), floor, steps


def _empty_floor(layer: Layer, nodes: int) -> Floor:
    lowers = np.append(layer.lower, layer.other_lower)
    uppers = np.append(layer.upper, layer.other_upper)
    return Floor(
        lowers,
        uppers - lowers + 1,
        np.append(1, layer.other_slope),
        int(layer.moving > 0),
        np.zeros((nodes, len(lowers)), np.int32),
        np.zeros(nodes, np.int32),
        np.zeros(nodes, np.int32),
        np.empty(0, np.int32),
    )


def _lines_followed(
    layer: Layer, keys: IntArray, floor: Floor, places: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Fill in what the nodes lead to; gives the lines found: keys, least and most places."""
    from cellbounds.inference.decision_diagram.expansion_kernel import follow, spread

    capacity = min(len(keys), max(1024, len(keys) // 8))
    kinds = (np.int64, np.int32, np.int32)
    found = [np.empty(capacity, kind) for kind in kinds]
    begin = count = 0
    while True:
        table = np.full(1 << (2 * capacity - 1).bit_length(), -1, dtype=np.int32)
        spread(found[0], count, table)
        begin, count = follow(
            layer, keys, begin, floor.firsts, floor.sizes, floor.goals, places, table,
            *found, count,
        )  # fmt: skip
        if begin == len(keys):
            return found[0][:count], found[1][:count], found[2][:count]
        capacity = min(len(keys), max(2 * capacity, 2 * count * len(keys) // max(begin, 1)))
        for place, kind in enumerate(kinds):
            found[place] = np.concatenate([found[place], np.empty(capacity - count, kind)])


def _cut_dead_ends(floors: Sequence[Floor]) -> None:
    """Leave out values that do not lead to the end, from the last layer up."""
    from cellbounds.inference.decision_diagram.expansion_kernel import cut_dead_ends

    after = np.ones(1, dtype=np.int32)
    for one in reversed(floors):
        cut_dead_ends(one, after)
        after = one.sizes
