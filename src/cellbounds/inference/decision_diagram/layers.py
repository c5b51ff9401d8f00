"""Layers of a decision diagram: the numbers that the compiled parts need to place cells in turn.

A node is known by the partial sums of the open sums, written as digits of one key. After some of
its cells a sum is known in part: s. What matters of s is which totals of the other cells would
still do. If no total can fall short any more and none can be too large, all such s are the same,
and are written as one. Values of s that cannot be completed are left out.

The last cell of an equation has no choice. Placed together with the cell before it, it costs no
layer of its own, and the nodes in between, often the most of all, are never made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.inference.decision_diagram.components import LinearSum
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray

TOO_WIDE = "what is left open between the cells does not fit 64-bit integers"

MOST_LISTED = 50_000_000
"""Partial sums of listed values, over all layers, that may be written down."""


def pieces(steps: IntArray, at_once: int) -> list[slice]:
    """Slices of about so many steps each, given those of every item; an item is never cut.

    Nothing stops a compiled function while it works, so that each call does a piece of the work.
    """
    before = np.cumsum(steps, dtype=np.int64) - steps
    begins = np.flatnonzero(np.diff(before // at_once, prepend=-1)).tolist()
    return list(map(slice, begins, [*begins[1:], len(steps)]))


class PartialSums(NamedTuple):
    """One sum after 0, 1, ... of its cells, in the order in which they are placed.

    Attributes
    ----------
    total
        The sum.
    places
        When its cells are placed, ascending.
    factors
        Their factors.
    low, high
        Partial sums that can be reached and completed; a stage with low > high has none.
    same, more
        Partial sums from ``low + same`` to ``low + same + more`` are all alike.
    rest_least, rest_most
        The least and the most that the cells not placed yet give.
    """

    total: LinearSum
    places: IntArray
    factors: IntArray
    low: IntArray
    high: IntArray
    same: IntArray
    more: IntArray
    rest_least: IntArray
    rest_most: IntArray

    @property
    def width(self) -> IntArray:
        """How many partial sums are told apart."""
        return np.asarray(self.high - self.low + 1 - self.more)

    @property
    def completed(self) -> bool:
        """Whether its last cell has no choice."""
        return self.total.fixed and self.total.values is None and abs(int(self.factors[-1])) == 1

    def allowed(self, stage: int) -> BoolArray:
        """Which partial sums leave a listed value within reach of the other cells; empty: all."""
        if self.total.values is None:
            return np.zeros(0, dtype=bool)
        partial = np.arange(int(self.low[stage]), int(self.high[stage]) + 1)
        listed = np.array(sorted(self.total.values), dtype=np.int64)
        after = np.searchsorted(listed, partial + self.rest_least[stage])
        nearest = listed[np.minimum(after, len(listed) - 1)]
        return np.asarray((after < len(listed)) & (nearest <= partial + self.rest_most[stage]))


def partial_sums(total: LinearSum, rank: IntArray, lower: IntArray, upper: IntArray) -> PartialSums:
    """The stages of a sum whose cells are placed in the order of `rank`."""
    order = np.argsort(rank[total.cells], kind="stable")
    factors, cells = total.factors[order], total.cells[order]
    places = rank[cells]
    first, second = factors * lower[cells], factors * upper[cells]
    least = np.concatenate([[0], np.cumsum(np.minimum(first, second))])
    most = np.concatenate([[0], np.cumsum(np.maximum(first, second))])
    rest_least, rest_most = least[-1] - least, most[-1] - most
    # Where there is no limit, the number that stands for none is further than any sum.
    low = np.maximum(least, total.lower - rest_most)
    high = np.minimum(most, total.upper - rest_least)
    safe_low = np.maximum(low, total.lower - rest_least)
    safe_high = np.minimum(high, total.upper - rest_most)
    alike = safe_low <= safe_high
    if total.values is not None:
        alike[:-1] = False
    same = np.where(alike, safe_low - low, 0)
    more = np.where(alike, safe_high - safe_low, 0)
    return PartialSums(
        total=total,
        places=places,
        factors=factors,
        low=low,
        high=high,
        same=same,
        more=more,
        rest_least=rest_least,
        rest_most=rest_most,
    )


class DiagramLayer(NamedTuple):
    """One layer of a finished diagram: nodes before a cell is placed, and where its values lead.

    Attributes
    ----------
    lowers, spans
        The smallest value of the cell, and how many it has; then those of cells placed with it.
    slopes
        What one more in the cell adds to itself, and to each of the cells placed with it.
    step
        1; or 0 if all values lead to the same place.
    firsts
        The first values of each node, above the smallest ones.
    sizes
        How many values each node has; one without any does not lead to the end.
    goals
        The place that the first value leads to; the others lead to the places that follow.
    numbers
        The node of the next layer at each place (-1: none); empty if they are the same.
    """

    lowers: IntArray
    spans: IntArray
    slopes: IntArray
    step: int
    firsts: IntArray
    sizes: IntArray
    goals: IntArray
    numbers: IntArray

    @classmethod
    def empty(cls, transition: Transition, nodes: int) -> DiagramLayer:
        """A layer of so many nodes to be filled in."""
        others = transition.others
        lowers = np.append(transition.lower, others.lower)
        spans = np.append(transition.upper, others.upper) - lowers + 1
        firsts = np.zeros((nodes, len(lowers)), np.int32)
        sizes, goals, numbers = (np.zeros(size, np.int32) for size in (nodes, nodes, 0))
        slopes, step = np.append(1, others.slope), int(transition.moving > 0)
        return cls(
            lowers=lowers,
            spans=spans,
            slopes=slopes,
            step=step,
            firsts=firsts,
            sizes=sizes,
            goals=goals,
            numbers=numbers,
        )

    def part(self, own: slice) -> DiagramLayer:
        """Some of its nodes, in the same memory."""
        nodes = {name: getattr(self, name)[own] for name in ("firsts", "sizes", "goals")}
        return self._replace(**nodes)

    @property
    def nbytes(self) -> int:
        """Bytes taken."""
        return sum(int(a.nbytes) for a in (self.firsts, self.sizes, self.goals, self.numbers))

    @property
    def most_terms(self) -> int:
        """The largest number of nodes, with a value each, that lead to one node."""
        alive = self.sizes > 0
        begins = self.goals[alive]
        ends = begins + self.step * (self.sizes[alive] - 1) + 1
        size = int(ends.max()) + 1
        # One more from each node's first place on, one less behind its last.
        changes = np.bincount(begins, minlength=size) - np.bincount(ends, minlength=size)
        by_place = np.cumsum(changes)[:-1]
        if not len(self.numbers):
            return int(by_place.max())
        return int(np.bincount(self.numbers[: size - 1] + 1, by_place)[1:].max())

    def values(self, node: int, turn: int) -> IntArray:
        """The counts of the cells placed when a node takes a turn."""
        return np.asarray(self.lowers + self.firsts[node] + self.slopes * turn)


class Digits(NamedTuple):
    """Where numbers are written in a key of one or more words: mixed radix within each word.

    A number of which nothing is told apart is not written: its stride is 0.
    """

    word: IntArray
    stride: IntArray
    width: IntArray

    @property
    def words(self) -> int:
        """How many words a key has."""
        return int(self.word.max(initial=0)) + 1


class SumCodes(NamedTuple):
    """How partial sums are written into keys, one entry for each open sum.

    A code is the number of a partial sum among those told apart: up to `same` it counts from
    `low`, beyond it leaves `more` out (see `PartialSums`).
    """

    digits: Digits
    low: IntArray
    high: IntArray
    same: IntArray
    more: IntArray


class LineTable(NamedTuple):
    """The lines found so far: their keys, and the least and most places on them."""

    keys: IntArray
    least: IntArray
    most: IntArray


class CompletingCells(NamedTuple):
    """Cells placed along with the first one, each completing an equation.

    Attributes
    ----------
    row, sign, limit
        The equation that each completes, its factor there (1 or -1), and the equation's value.
    lower, upper, slope
        Their bounds, and what one more in the first cell adds to each.
    gain
        Their factors in each touched sum.
    """

    row: IntArray
    sign: IntArray
    limit: IntArray
    lower: IntArray
    upper: IntArray
    slope: IntArray
    gain: IntArray


class Transition(NamedTuple):
    """Placing one cell: from the key of a node to the partial sums, and from these to new keys.

    There is one entry for each sum that is open before or after; the first `touched` are those
    that the cell belongs to, and the first `moving` of them still matter afterwards.

    Attributes
    ----------
    lower, upper
        The bounds of the cell.
    merging
        Whether different places may become one node.
    place_low
        Places on lines are counted from here.
    factor
        What one more in the cell adds to each touched sum, through the others placed too.
    origin_low
        The least partial sum of each moving sum at the origin of a line.
    lines
        How lines are written: by the moving sums at the origin, and the codes of the others.
    listed, allowed
        Where the values allowed to a moving sum begin in `allowed`; -1: all.
    """

    lower: int
    upper: int
    touched: int
    moving: int
    merging: bool
    place_low: int
    factor: IntArray
    origin_low: IntArray
    others: CompletingCells
    before: SumCodes
    after: SumCodes
    lines: Digits
    listed: IntArray
    allowed: BoolArray

    @property
    def places(self) -> int:
        """No line is longer, and no cell has more values."""
        spans = (self.after.high - self.after.low)[: self.moving]
        others = self.others.upper - self.others.lower
        return int(max(self.upper - self.lower, *spans.tolist(), *others.tolist(), 0)) + 4


class SumsTooWide(TooMuchWork):
    """A diagram cannot even be begun in 64-bit integers."""


def transitions_of(
    cells: IntArray, sums: Sequence[LinearSum], lower: IntArray, upper: IntArray
) -> list[Transition]:
    """The transitions for an order of the cells.

    Raises
    ------
    SumsTooWide
        If a number does not fit 64-bit integers.
    """
    rank = np.empty_like(cells)
    rank[cells] = np.arange(len(cells))
    partial = [partial_sums(total, rank, lower, upper) for total in sums]
    listed = [own for own in partial if own.total.values is not None]
    if sum(int((own.high - own.low + 1).sum()) for own in listed) > MOST_LISTED:
        raise SumsTooWide(TOO_WIDE)
    bounds = lower[cells], upper[cells]
    stage = dict.fromkeys(range(len(sums)), 0)
    active: list[int] = []
    held: dict[int, _Digit] = {}
    transitions = []
    for group in _groups(partial, len(cells)):
        active += [k for k, own in enumerate(partial) if int(own.places[0]) in group]
        placed = _placed(partial, active, group)
        then = {k: stage[k] + len(placed.factors.get(k, ())) for k in active}
        moving = [
            k
            for k, rise in placed.rise.items()
            if rise and (partial[k].width[then[k]] > 1 or sums[k].values is not None)
        ]
        rows = [*moving, *(k for k in placed.rise if k not in moving)]
        rows += [k for k in active if k not in placed.rise]
        widths = [max(int(partial[k].width[then[k]]), 1) for k in rows]
        digits = _laid_out(widths)
        before = _codes([held.get(k, (0, 0, 1)) for k in rows], partial, stage, rows)
        after = _codes(digits, partial, then, rows)
        factor = _whole([placed.rise[k] for k in rows[: len(placed.rise)]])
        first = group[0]
        lowest, highest = int(bounds[0][first]), int(bounds[1][first])
        place_low, origin_low, spans = _lines(factor[: len(moving)].tolist(), after, highest)
        allowed = [partial[k].allowed(then[k]) for k in moving]
        begins = np.cumsum([0, *map(len, allowed)])[:-1]
        transitions.append(
            Transition(
                lower=lowest,
                upper=highest,
                touched=len(placed.rise),
                moving=len(moving),
                merging=bool((after.more[: len(moving)] > 0).any()),
                place_low=place_low,
                factor=factor,
                origin_low=_whole(origin_low),
                others=_completing(partial, placed, group[1:], rows, bounds),
                before=before,
                after=after,
                lines=_digits(_laid_out([*spans, *widths[len(moving) :]])),
                listed=np.where([len(own) > 0 for own in allowed], begins, -1),
                allowed=np.concatenate([np.zeros(0, dtype=bool), *allowed]),
            )
        )
        stage |= then
        held = dict(zip(rows, digits, strict=True))
        active = [k for k in active if stage[k] < len(partial[k].places)]
    return transitions


def _groups(partial: Sequence[PartialSums], size: int) -> list[list[int]]:
    """Groups of consecutive cells: a first one, and those that complete an equation."""
    listed = {at for own in partial if own.total.values for at in own.places.tolist()}
    last = {int(own.places[-1]) for own in partial if own.completed}
    groups: list[list[int]] = []
    for at in range(size):
        if groups and at in last and at not in listed and groups[-1][0] not in listed:
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


class _Placed(NamedTuple):
    """A group of cells placed together, and the open sums that they belong to.

    Attributes
    ----------
    factors
        For each sum, the factors of the cells (by when they are placed).
    equations
        For each cell but the first, an equation that it completes.
    slopes, rise
        What one more in the first cell adds to each of the others, and to each sum.
    """

    factors: dict[int, dict[int, int]]
    equations: dict[int, int]
    slopes: dict[int, int]
    rise: dict[int, int]


def _placed(partial: Sequence[PartialSums], active: Iterable[int], group: Sequence[int]) -> _Placed:
    """What placing a group of cells does to the open sums."""
    factors: dict[int, dict[int, int]] = {}
    equations: dict[int, int] = {}
    for k in active:
        entries = zip(partial[k].places.tolist(), partial[k].factors.tolist(), strict=True)
        here = {at: factor for at, factor in entries if group[0] <= at <= group[-1]}
        if here:
            factors[k] = here
            end = int(partial[k].places[-1])
            if end in group[1:] and partial[k].completed:
                equations.setdefault(end, k)
    slopes = {group[0]: 1}
    for at in group[1:]:
        own = factors[equations[at]]
        risen = sum(own.get(other, 0) * slope for other, slope in slopes.items())
        # The factor of the cell itself is 1 or -1, which is its own inverse.
        slopes[at] = -own[at] * risen
    rise = {k: sum(f * slopes[at] for at, f in here.items()) for k, here in factors.items()}
    return _Placed(factors, equations, slopes, rise)


_Digit = tuple[int, int, int]
"""Word, stride and width of one number in a key."""


def _laid_out(widths: Iterable[int]) -> list[_Digit]:
    """Digits one after the other, in as many words as they take."""
    digits: list[_Digit] = []
    word, filled = 0, 1
    for width in widths:
        if filled * width >= SAFE:
            word, filled = word + 1, 1
        digits.append((word, filled if width > 1 else 0, width))
        filled *= width
    return digits


def _digits(digits: Sequence[_Digit]) -> Digits:
    return Digits(*_whole(digits).reshape(-1, 3).T.copy())


def _codes(
    digits: Sequence[_Digit], partial: Sequence[PartialSums], stage: dict[int, int], rows: list[int]
) -> SumCodes:
    """How some partial sums are written."""
    own = [(partial[k], stage[k]) for k in rows]
    limits = [(sums.low[at], sums.high[at], sums.same[at], sums.more[at]) for sums, at in own]
    return SumCodes(_digits(digits), *_whole(limits).reshape(-1, 4).T.copy())


def _lines(
    factors: Sequence[int], after: SumCodes, highest: int
) -> tuple[int, list[int], list[int]]:
    """The first place, and for each moving sum what it can be at the origin: least, how many.

    The origin of a line is where its first moving sum is from 0 to below the (absolute) factor.
    """
    if not factors:
        return 0, [], []
    lows, highs = after.low.tolist(), after.high.tolist()
    step = factors[0]
    places = sorted((end - end % abs(step)) // step for end in (lows[0], highs[0]))
    low, widths = [], []
    for factor, least, most in zip(factors, lows, highs, strict=False):
        shifts = [factor * place for place in places]
        low.append(least - max(shifts))
        widths.append(most - min(shifts) - low[-1] + 1)
        # Partial sums are written as if the cell were empty, which may be far from any end.
        away = abs(factor) * (max(map(abs, places)) + 2 * highest)
        if widths[-1] + abs(low[-1]) + away >= SAFE:
            raise SumsTooWide(TOO_WIDE)
    # At the origin the first sum is less than one factor above zero.
    low[0], widths[0] = 0, abs(step)
    return places[0], low, widths


def _completing(
    partial: Sequence[PartialSums],
    placed: _Placed,
    others: list[int],
    rows: list[int],
    bounds: tuple[IntArray, IntArray],
) -> CompletingCells:
    equations = [placed.equations[at] for at in others]
    touched = [placed.factors[k] for k in rows if k in placed.factors]
    gain = _whole([[own.get(at, 0) for at in others] for own in touched])
    lower, upper = (ends[others].astype(np.int64) for ends in bounds)
    return CompletingCells(
        row=_whole([rows.index(k) for k in equations]),
        sign=_whole([placed.factors[k][at] for k, at in zip(equations, others, strict=True)]),
        limit=_whole([partial[k].total.lower for k in equations]),
        lower=lower,
        upper=upper,
        slope=_whole([placed.slopes[at] for at in others]),
        gain=gain.reshape(len(touched), len(others)),
    )


def _whole(values: Sequence[object]) -> IntArray:
    return np.array(values, dtype=np.int64)
