"""Linear bounds from complete margins, many at once, by operator splitting.

The tables of real numbers with given margins are an affine set, and its orthogonal projection has a
closed form: in the basis that is a Kronecker product of one orthonormal matrix for each variable,
the constant first, the margins fix the coefficients whose variables, those that they are not
constant in, lie in one margin together, and no others. So the least of a sum over tables in a box
is found by turns: clip to the box, project on the margins (Douglas and Rachford's splitting). No
matrix is factored, all bounds share the projection, and after every turn multipliers of the margins
are at hand that prove something (docs/theory/splitting.md).

The turns are in floating point and only propose. What they prove is worked out in whole numbers
(:meth:`Splitting.evaluated`): multipliers of the margins as integers over a power of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.runtime.devices import CPU, Device

if TYPE_CHECKING:
    from cellbounds.statements import Release

RELAXED = 1.7
"""How far beyond the clipped table the next turn starts; from 1 to below 2."""

STEP = 2.0
"""The size of a turn in mean widths of the box: with less the tables settle sooner, with more the
multipliers do, which are what is wanted."""

CHECKED = 20
"""Turns between two looks at what is proven."""

MOST_TURNS = 1200
"""Turns after which a bound is left as it is proven."""

PATIENCE, IDLE = 10, 20
"""A bound is slow if it would take more than so many looks to gain a whole number, and stands still
if it was slow for so many looks."""

NEAR, TOGETHER = 0.02, 0.01
"""The optimum is met if the table of real numbers is so near to what is proven, and the two tables
of a turn (in the box, with the margins) to each other."""

HOPED = 1e-6
"""What floating point may lack of a whole number that is then proven in whole numbers."""

BITS = (30, 20, 10, 0)
"""Multipliers are rounded to so many bits behind the point, the first number that fits int64."""


def margin_axes(release: Release) -> dict[int, tuple[int, ...]] | None:
    """The axes of each complete margin, by the places of the statements that give them.

    None if something else was said but limits of single cells: then margins do not tell all.
    """
    domain, values = release.domain, dict[int, tuple[int, ...]]()
    for place, statement in enumerate(release.statements):
        if statement.fixed_counts(domain) is not None:
            values[place] = domain.axes(statement.variables)
        elif not _limits_cells(release, place):
            return None
    return values


def _limits_cells(release: Release, place: int) -> bool:
    statement, domain = release.statements[place], release.domain
    single = frozenset(statement.variables) == frozenset(domain.names)
    return single and statement.bounds_counts and not statement.lists_values


class SumBound(NamedTuple):
    """The least of a sum over some cells (side 0) or of its negative (side 1).

    `met` is what a table attains of it, in the same sense, or None.
    """

    cells: IntArray
    side: int
    met: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SplitBound:
    """What was found of one bound.

    Attributes
    ----------
    proven
        A whole number that the sum (or its negative) is never below; None if nothing was proven.
    value
        The table of real numbers has so much there; near the linear optimum if it `converged`.
    converged
        Whether what is proven and the table met; otherwise the bound stood still, or ran out of
        turns, or nothing more was wanted.
    multipliers
        Floating-point multipliers in the corner basis, from which all others follow.
    table
        The table of real numbers, with the margins; cells may be a little out of their limits.
    """

    proven: int | None
    value: float
    converged: bool
    multipliers: IntArray
    table: IntArray
    turns: int


class Splitting:
    """Least and largest sums over the tables with some margins, between limits of the cells.

    Parameters
    ----------
    shape, faces
        The table, and the axes of each complete margin.
    lower, upper
        Limits of the cells, flat; all finite.
    table
        Some table with these margins, flat; it need not keep the limits.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        faces: Sequence[tuple[int, ...]],
        lower: IntArray,
        upper: IntArray,
        table: IntArray,
        *,
        device: Device = CPU,
    ) -> None:
        self.shape, self.faces, self._device = shape, tuple(faces), device
        order = _halves(shape)
        self._axes, self._inner = order[0] + order[1], tuple(shape[axis] for axis in sum(order, ()))
        # Cells are laid out with the axes of the first half first; `_spot` says where each one is.
        # The most populous level of each axis comes first: what follows from the margins are then
        # the largest counts.
        counts = table.reshape(shape)
        self._levels = [np.argsort(-_summed(counts, axis), kind="stable") for axis in _range(shape)]
        laid = np.arange(len(lower)).reshape(shape)[np.ix_(*self._levels)]
        laid = laid.transpose(self._axes).ravel()
        self._cell = laid
        self._spot = np.empty_like(laid)
        self._spot[laid] = np.arange(len(laid))
        self._lower, self._upper = (device.whole(ends[laid]) for ends in (lower, upper))
        self._low, self._high = (device.real(ends[laid]) for ends in (lower, upper))
        self._base_whole, self._base = device.whole(table[laid]), device.real(table[laid])
        inside = _inside(self._inner, [[self._axes.index(axis) for axis in face] for face in faces])
        self._inside = device.flags(inside.ravel())
        self._first, self._second, self._mask = self._bases(order, inside)
        self._fixed = self._projected(self._base[None])
        free = upper > lower
        self._step = STEP * float((upper - lower)[free].mean()) if free.any() else 1.0

    def _bases(self, order: tuple[tuple[int, ...], ...], inside: BoolArray) -> tuple[Any, Any, Any]:
        """Orthonormal bases of both halves, without what lies in no margin, and the mask."""
        matrices = [_orthonormal([self.shape[axis] for axis in half]) for half in order]
        mask = inside.reshape(len(matrices[0]), len(matrices[1]))
        rows_and_columns = mask.any(axis=1), mask.any(axis=0)
        first, second = (
            matrix[:, keep] for matrix, keep in zip(matrices, rows_and_columns, strict=True)
        )
        mask = mask[np.ix_(*rows_and_columns)].astype(float)
        return tuple(map(self._device.real, (first, second, mask)))

    def _projected(self, tables: Any) -> Any:
        """The part of tables (one a line) that their margins determine."""
        first, second = self._first, self._second
        halves = tables.reshape(-1, first.shape[0], second.shape[0])
        inner = ((first.T @ halves) @ second) * self._mask
        return ((first @ inner) @ second.T).reshape(tables.shape)

    @property
    def layout(self) -> IntArray:
        """The cells in the order in which weights and coefficients are laid out."""
        return self._cell

    # Proving, in whole numbers.

    def _corner(self, tables: Any, sign: int) -> Any:
        """Add (1) or take away (-1) the first level of each axis from the others, axis by axis."""
        laid = tables.reshape(-1, *self._inner)
        for axis in range(1, len(self._inner) + 1):
            before = (slice(None),) * axis
            laid[(*before, slice(1, None))] += sign * laid[(*before, slice(0, 1))]
        return laid.reshape(tables.shape)

    @cached_property
    def _corner_sums(self) -> Any:
        """The sums of the table that coefficients of the corner basis stand for."""
        laid = self._device.copied(self._base_whole).reshape(self._inner)
        for axis in range(len(self._inner)):
            before = (slice(None),) * axis
            laid[(*before, slice(0, 1))] = laid.sum(axis, keepdims=True)
        return laid.reshape(-1)

    def coefficients(self, weights: Any) -> Any:
        """Weights of the cells, sums of margins' multipliers, in the corner basis.

        There a coefficient belongs to all cells with given levels, none of them the first, on some
        axes: to a sum that a margin gives if it has these axes. All others are zero.
        """
        corners = self._corner(self._device.copied(weights), -1)
        return self._device.where(self._inside, corners, 0.0)

    def evaluated(self, coefficients: Any, weights: Any) -> list[int | None]:
        """What rounded multipliers prove of ``weights @ cells``, for some lines of both."""
        proven: list[int | None] = [None] * len(coefficients)
        waiting = np.arange(len(coefficients))
        for bits in BITS:
            if not len(waiting):
                break
            chosen = self._device.whole(waiting)
            fits, totals = self._rounded(coefficients[chosen], weights[chosen], bits)
            for k in np.flatnonzero(fits).tolist():
                proven[waiting[k]] = -(-int(totals[k]) >> bits)
            waiting = waiting[~fits]
        return proven

    def _rounded(self, coefficients: Any, weights: Any, bits: int) -> tuple[BoolArray, IntArray]:
        """Totals over a power of two, and which of them were small enough to be right."""
        device = self._device
        scaled = device.xp.round(coefficients * 2.0**bits)
        # A corner of the table adds up as many coefficients as there are.
        sizes = (device.xp.abs(scaled)).sum(1)
        fits = device.numpy(sizes < 2.0**60)
        whole = device.as_whole(device.where((sizes < 2.0**60)[:, None], scaled, 0.0))
        rest = device.as_whole(weights) * (1 << bits) - self._corner(device.copied(whole), 1)
        ends = device.where(rest > 0, self._lower, self._upper)
        sizes = (abs(device.as_real(whole)) * device.as_real(abs(self._corner_sums))).sum(1)
        sizes = sizes + (abs(device.as_real(rest)) * device.as_real(abs(ends))).sum(1)
        totals = (whole * self._corner_sums).sum(1) + (rest * ends).sum(1)
        return fits & device.numpy(sizes < float(SAFE)), device.numpy(totals)

    # Proposing, in floating point.

    def solve(
        self,
        bounds: Sequence[SumBound],
        *,
        together: int | None = None,
        spent: Callable[[], bool] = lambda: False,
        tables: bool = True,
    ) -> list[SplitBound]:
        """What can be proven of each bound, as far as there is time.

        `together` are worked on at a time; otherwise as many as are best for the device. Without
        `tables`, multipliers and tables of real numbers are not kept.
        """
        if together is None:
            together = max(1, self._device.numbers // len(self._cell))
        running = _Turns(self, tables)
        found: dict[int, SplitBound] = {}
        waiting = list(range(len(bounds)))[::-1]
        while (waiting or len(running)) and not spent():
            if len(running) <= together // 2:
                room = min(together - len(running), len(waiting))
                running.add([(k, bounds[k]) for k in (waiting.pop() for _ in range(room))])
            found.update(running.advance())
        found.update(running.stopped())
        nothing = np.zeros(0)
        return [
            found.get(k) or SplitBound(None, np.nan, False, nothing, nothing, 0)
            for k in range(len(bounds))
        ]

    def multipliers(self, coefficients: IntArray) -> list[IntArray]:
        """Multipliers of the entries of each margin, in its own order of axes."""
        laid = coefficients.reshape(self._inner)
        laid = laid.transpose([self._axes.index(axis) for axis in range(len(self.shape))])
        given = np.zeros(self.shape, dtype=bool)
        shares = []
        for face in self.faces:
            others = tuple(axis for axis in range(len(self.shape)) if axis not in face)
            at = tuple(slice(None) if a in face else slice(0, 1) for a in range(len(self.shape)))
            own = np.where(given[at], 0, laid[at]).copy()
            given[at] = True
            for axis in face:
                before = (slice(None),) * axis
                own[(*before, slice(1, None))] += own[(*before, slice(0, 1))]
                own = np.take(own, np.argsort(self._levels[axis]), axis=axis)
            ranks = np.argsort(np.argsort(face)).tolist()
            shares.append(own.squeeze(others).transpose(ranks) if face else own.reshape(()))
        return shares

    # Towards tables of counts.

    def rounded(self, real: IntArray, rng: np.random.Generator) -> IntArray:
        """A table of whole numbers with the margins, near one of real numbers.

        Cells that the margins leave free, outside the corner, are rounded at random; the others
        follow from the margins and may leave their limits.
        """
        base = self._device.numpy(self._base_whole)
        chosen = np.floor(real[self._cell] + rng.random(len(base))).astype(np.int64)
        moved = np.where(self._device.numpy(self._inside), 0, chosen - base).reshape(self._inner)
        for own, spread, others in self._followers:
            moved[own] -= moved[spread].sum(axis=others, keepdims=True)
        return np.asarray((base + moved.ravel())[self._spot])

    @cached_property
    def _followers(self) -> list[tuple[Any, Any, tuple[int, ...]]]:
        """For each set of axes in a margin, large ones first: its cells, and what they balance."""
        axes, faces = _range(self._inner), [[self._axes.index(a) for a in f] for f in self.faces]
        sets = {s for f in faces for k in range(len(f) + 1) for s in combinations(sorted(f), k)}
        followers = []
        for inside in sorted(sets, key=lambda one: (-len(one), one)):
            own = tuple(slice(1, None) if a in inside else slice(0, 1) for a in axes)
            spread = tuple(slice(1, None) if a in inside else slice(None) for a in axes)
            followers.append((own, spread, tuple(a for a in axes if a not in inside)))
        return followers


class _Turns:
    """Bounds that are worked on, one a line: the state of the splitting."""

    def __init__(self, space: Splitting, tables: bool) -> None:
        self._space, self._tables = space, tables
        self._lines: list[tuple[int, SumBound]] = []
        self._idle = self._turns = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, lines: Sequence[tuple[int, SumBound]]) -> None:
        """Begin with more bounds, at the known table."""
        if not lines:
            return
        space, device, size = self._space, self._space._device, len(self._space._cell)
        many = len(lines)
        weights = np.zeros((many, size))
        for line, (_, bound) in enumerate(lines):
            weights[line, space._spot[bound.cells]] = 1 - 2 * bound.side
        zeros = device.real(np.zeros((many, size)))
        fresh = {
            "weights": device.real(weights),
            "real": zeros + space._base,
            "dual": zeros,
            "shown": device.copied(zeros),
            "best": device.real(np.full(many, -np.inf)),
        }
        self._idle = np.append(self._idle, np.zeros(many, dtype=np.int64))
        self._turns = np.append(self._turns, np.zeros(many, dtype=np.int64))
        old = self.__dict__.get("_state")
        if old is not None:
            fresh = {name: device.joined(old[name], fresh[name]) for name in fresh}
        self._state = fresh
        self._lines.extend(lines)

    def advance(self) -> dict[int, SplitBound]:
        """Some turns for all of them; those that are done are given out."""
        space, state, step = self._space, self._state, self._space._step
        xp, device = space._device.xp, space._device
        weights, real, dual = state["weights"], state["real"], state["dual"]
        push = step * weights
        boxed = real
        for _ in range(CHECKED):
            boxed = xp.minimum(xp.maximum(real - dual - push, space._low), space._high)
            ahead = RELAXED * boxed + dual
            ahead -= (RELAXED - 1) * real
            real = ahead - space._projected(ahead)
            real += space._fixed
            dual = ahead - real
        state["real"], state["dual"] = real, dual
        self._turns = self._turns + CHECKED
        spanned = dual * (-1 / step)
        rest = weights - spanned
        values = spanned @ space._base
        values = values + xp.maximum(rest, 0 * rest) @ space._low
        values = values + xp.minimum(rest, 0 * rest) @ space._high
        better = values > state["best"]
        state["shown"] = device.where(better[:, None], spanned, state["shown"])
        before, best = state["best"], device.where(better, values, state["best"])
        state["best"] = best
        reached = (weights * real).sum(1)
        apart = xp.amax(xp.abs(boxed - real), 1)
        return self._finished(*map(device.numpy, (best, before, reached, apart)))

    def _finished(
        self, best: IntArray, before: IntArray, reached: IntArray, apart: IntArray
    ) -> dict[int, SplitBound]:
        """Give out bounds that are settled, at their optimum, standing still or out of turns."""
        met = np.array([np.inf if b.met is None else b.met for _, b in self._lines])
        whole = np.ceil(best - HOPED)
        optimal = (whole >= np.ceil(reached - NEAR)) & (apart < TOGETHER)
        # To the next whole number, at the pace of the last turns.
        slow = (best - before) * PATIENCE < whole - best + 2 * HOPED
        self._idle = np.where(slow, self._idle + 1, 0)
        done = (whole >= met) | optimal | (self._idle >= IDLE) | (self._turns >= MOST_TURNS)
        return self._given_out(done, optimal, reached)

    def stopped(self) -> dict[int, SplitBound]:
        """Give out what is left, as far as it is."""
        if not self._lines:
            return {}
        space, state = self._space, self._state
        reached = space._device.numpy((state["weights"] * state["real"]).sum(1))
        nothing = np.zeros(len(self), dtype=bool)
        return self._given_out(~nothing, nothing, reached)

    def _given_out(
        self, done: BoolArray, optimal: BoolArray, reached: IntArray
    ) -> dict[int, SplitBound]:
        chosen = np.flatnonzero(done)
        if not len(chosen):
            return {}
        space, state, device = self._space, self._state, self._space._device
        at = device.whole(chosen)
        coefficients = space.coefficients(state["shown"][at])
        proven = space.evaluated(coefficients, state["weights"][at])
        shown = tables = np.zeros((len(chosen), 0))
        if self._tables:
            shown = device.numpy(coefficients)
            tables = device.numpy(state["real"][at])[:, space._spot]
        ended = {}
        for k, line in enumerate(chosen.tolist()):
            number = self._lines[line][0]
            ended[number] = SplitBound(
                proven[k], float(reached[line]), bool(optimal[line]), shown[k], tables[k],
                int(self._turns[line]),
            )  # fmt: skip
        left = np.flatnonzero(~done)
        self._idle, self._turns = self._idle[left], self._turns[left]
        self._lines = [self._lines[line] for line in left.tolist()]
        rows = device.whole(left)
        self._state = {name: values[rows] for name, values in state.items()}
        return ended


def _range(shape: Sequence[int]) -> range:
    return range(len(shape))


def _summed(counts: IntArray, axis: int) -> IntArray:
    """The margin of one axis."""
    return np.asarray(counts.sum(axis=tuple(a for a in range(counts.ndim) if a != axis)))


def _halves(shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes in two groups with about as many cells each, for two small matrix products."""
    goal, size = float(np.prod(shape, dtype=float)) ** 0.5 * 1.5, 1
    first: list[int] = []
    for axis in sorted(range(len(shape)), key=lambda axis: -shape[axis]):
        if size * shape[axis] <= goal:
            first.append(axis)
            size *= shape[axis]
    return tuple(first), tuple(axis for axis in range(len(shape)) if axis not in first)


def _orthonormal(lengths: Sequence[int]) -> IntArray:
    """The Kronecker product of one orthonormal matrix for each axis, the constant first."""
    product = np.ones((1, 1))
    for length in lengths:
        columns = np.column_stack([np.ones(length), np.eye(length)[:, 1:]])
        product = np.kron(product, np.linalg.qr(columns)[0])
    return product


def _inside(shape: Sequence[int], faces: Sequence[Sequence[int]]) -> BoolArray:
    """Which cells have the first level on every axis outside some face: what margins determine."""
    inside = np.zeros(tuple(shape), dtype=bool)
    for face in faces:
        inside[tuple(slice(None) if a in face else slice(0, 1) for a in range(len(shape)))] = True
    return inside
