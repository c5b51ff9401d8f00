"""Counts over a domain: margins, conditionals, merging, reshaping."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.arrays import SAFE, BoolArray, IntArray, whole_array
from cellbounds.domain import Domain, Grouping, Label
from cellbounds.errors import InvalidInput
from cellbounds.frames import frame_of
from cellbounds.table_files import write_counts

__all__ = ["Table"]


class Table:
    """A table of counts: one whole number, zero or more, for each cell of a domain.

    Parameters
    ----------
    domain
        The variables and their levels.
    counts
        An array (or nested lists) of whole numbers in the domain's shape.
    structural
        Cells that cannot hold anybody (structural zeros): a boolean array in the same shape.
        Everybody is taken to know them.

    Examples
    --------
    >>> from cellbounds import Domain, Table
    >>> table = Table(Domain({"sex": ["m", "f"], "mp3": ["yes", "no"]}), [[15, 10], [5, 20]])
    >>> table.total
    50
    >>> table.margin("sex").counts
    array([25, 25])
    """

    __slots__ = ("counts", "domain", "structural")

    counts: IntArray
    domain: Domain
    structural: BoolArray

    def __init__(
        self, domain: Domain, counts: npt.ArrayLike, *, structural: npt.ArrayLike | None = None
    ) -> None:
        self.domain = domain
        self.counts = _whole_counts(counts, domain)
        if structural is None:
            self.structural = np.zeros(domain.shape, dtype=bool)
        else:
            self.structural = np.array(structural, dtype=bool)
            if self.structural.shape != domain.shape:
                raise InvalidInput(
                    f"structural zeros of shape {self.structural.shape}; they need the shape "
                    f"{domain.shape} of {domain!r}"
                )
            occupied = np.argwhere(self.structural & (self.counts != 0))
            if len(occupied):
                raise InvalidInput(
                    f"the cell {domain.labels(occupied[0])} is declared a structural zero but "
                    "is not empty; correct the declaration or the count"
                )
        self.counts.flags.writeable = False
        self.structural.flags.writeable = False

    @property
    def total(self) -> int:
        """The sample size N: the sum of all counts."""
        return int(self.counts.sum())

    def __getitem__(self, labels: Label | tuple[Label, ...]) -> int:
        """The count in the cell with these labels."""
        key = labels if isinstance(labels, tuple) else (labels,)
        return int(self.counts[self.domain.index(key)])

    def margin(self, *variables: str) -> Table:
        """Sum over all other variables; the axes follow the order given.

        Derived variables of the domain may be named: their levels count everybody behind them.
        """
        kept = self.domain.distinct(variables)
        if not kept:
            raise InvalidInput("a margin names no variable; `table.total` is the overall sum")
        return Table(
            self.domain.project(kept),
            _sum_to(self.counts, self.domain, kept),
            structural=_sum_to(~self.structural, self.domain, kept) == 0,
        )

    def conditional(
        self, responses: Iterable[str], given: Iterable[str] = ()
    ) -> npt.NDArray[np.object_]:
        """Exact rates of the responses among those who share the givens.

        Returns
        -------
        numpy.ndarray
            Fractions, axes in the order givens then responses; None where nobody shares the
            givens.

        Examples
        --------
        >>> from cellbounds import example_table
        >>> rates = example_table("mp3").conditional(["mp3"], given=["gender"])
        >>> [[str(rate) for rate in row] for row in rates]
        [['3/5', '2/5'], ['1/5', '4/5']]
        """
        responses, given = tuple(responses), tuple(given)
        two_way = self.reshape(response=responses, given=given)
        for name in responses:
            self.domain.check_partition(name)
        sums = two_way.counts.sum(axis=1)
        flat = [
            Fraction(int(count), int(total)) if total else None
            for row, total in zip(two_way.counts, sums, strict=True)
            for count in row
        ]
        rates = np.empty(len(flat), dtype=object)
        rates[:] = flat
        names = (*given, *responses)
        return rates.reshape([len(self.domain.levels(name)) for name in names])

    def reshape(self, *, response: Iterable[str], given: Iterable[str] = ()) -> Table:
        """Lay the table out as rows (givens) by columns (responses), summing over the rest.

        Returns
        -------
        Table
            A two-way table whose variables are named after those they combine (``"a,b"``). The
            level of a combined variable is the tuple of its parts' levels.

        Examples
        --------
        >>> from cellbounds import example_table
        >>> koch = example_table("koch4")
        >>> koch.reshape(response=["recovery"], given=["center", "status"]).counts
        array([[14, 34, 13],
               [ 9, 27, 17],
               [23, 22,  0],
               [ 9, 18,  7]])
        """
        responses, givens = tuple(response), tuple(given)
        named = self.domain.distinct((*givens, *responses))
        if not responses:
            raise InvalidInput("no response variable is named; name at least one")
        counts = _sum_to(self.counts, self.domain, named)
        structural = _sum_to(~self.structural, self.domain, named) == 0
        rows = math.prod(counts.shape[: len(givens)])
        levels = {
            ",".join(givens) or "(all)": _combined_levels(self.domain, givens),
            ",".join(responses): _combined_levels(self.domain, responses),
        }
        return Table(
            Domain(levels), counts.reshape(rows, -1), structural=structural.reshape(rows, -1)
        )

    def grouped(self, name: str, *, of: str, levels: Mapping[Label, Iterable[Label]]) -> Table:
        """The same table, whose domain knows one more derived variable.

        Examples
        --------
        >>> from cellbounds import example_table
        >>> children = example_table("delinquent")
        >>> grouped = children.grouped(
        ...     "region", of="county", levels={"west": ["Alpha", "Beta"], "east": ["Gamma"]}
        ... )
        >>> grouped.margin("region").domain
        Domain(region[2])
        """
        domain = self.domain.with_groupings({name: Grouping(of, levels)})
        return Table(domain, self.counts, structural=self.structural)

    def merge(self, variable: str, groups: Mapping[Label, Sequence[Label]]) -> Table:
        """Merge levels of one variable; levels not named stay as they are.

        A merged level stands where the first of its parts stood. Groupings of the variable are
        left behind: their levels are no longer there.

        Examples
        --------
        >>> from cellbounds import example_table
        >>> children = example_table("delinquent")
        >>> merged = children.merge("education", {"High+": ["High", "Very High"]})
        >>> merged.domain.levels("education")
        ('Low', 'Medium', 'High+')
        """
        axis = self.domain.axis(variable)
        target: dict[Label, Label] = {}
        for new, parts in groups.items():
            if isinstance(parts, str):
                raise InvalidInput(
                    f"the levels merged into {new!r} are given as the text {parts!r}; give a list"
                )
            for part in parts:
                self.domain.position(variable, part)
                if part in target:
                    raise InvalidInput(f"level {part!r} of {variable!r} is merged twice")
                target[part] = new
        names = [target.get(level, level) for level in self.domain.levels(variable)]
        for level, name in zip(self.domain.levels(variable), names, strict=True):
            if level not in target and level in groups:
                raise InvalidInput(
                    f"merged level {name!r} of {variable!r} has the name of a level that stays; "
                    "choose another name or merge that level too"
                )
        merged = list(dict.fromkeys(names))
        places = [merged.index(name) for name in names]
        moved = np.moveaxis(self.counts, axis, 0)
        filled = np.moveaxis(~self.structural, axis, 0)
        counts = np.zeros((len(merged), *moved.shape[1:]), dtype=moved.dtype)
        possible = np.zeros(counts.shape, dtype=bool)
        for place, layer, room in zip(places, moved, filled, strict=True):
            counts[place] += layer
            possible[place] |= room
        levels = {name: list(self.domain.levels(name)) for name in self.domain.names}
        levels[variable] = merged
        kept = {k: one for k, one in self.domain.groupings.items() if one.of != variable}
        return Table(
            Domain(levels, groupings=kept),
            np.moveaxis(counts, 0, axis),
            structural=~np.moveaxis(possible, 0, axis),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of domain, structural zeros and counts: for the owner's eyes only.

        Who knows few candidates, such as the tables that fit a release, finds the true one among
        them by its digest. Hand on :meth:`keyed_digest` instead.
        """
        return hashlib.sha256(self._canonical()).hexdigest()

    def keyed_digest(self, key: bytes) -> str:
        """HMAC-SHA256 of the same under a secret key: it tells nothing to those without the key.

        Examples
        --------
        >>> from cellbounds import example_table
        >>> example_table("mp3").keyed_digest(b"kept with the table")[:16]
        'ea927bb1066d1707'
        """
        if not isinstance(key, bytes) or not key:
            raise InvalidInput("the key of a digest is empty or not bytes; give secret bytes")
        return hmac.new(key, self._canonical(), hashlib.sha256).hexdigest()

    def _canonical(self) -> bytes:
        levels = [[name, list(map(str, self.domain.levels(name)))] for name in self.domain.names]
        structural = np.flatnonzero(self.structural).tolist()
        return json.dumps([levels, structural, self.counts.ravel().tolist()]).encode()

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: one row for each cell, the variables and ``count``."""
        columns: dict[str, list[Any]] = {name: [] for name in self.domain.names}
        for labels in self.domain.cells():
            for name, label in zip(columns, labels, strict=True):
                columns[name].append(label)
        return frame_of({**columns, "count": [int(n) for n in self.counts.flat]}, backend)

    def write(self, path: str | Path, *, count: str = "count") -> None:
        """Write the table as a CSV, Excel or Parquet file, whole or not at all.

        Parameters
        ----------
        path
            Where; the ending (``.csv``, ``.xlsx`` or ``.parquet``) says what to write.
        count
            Name of the column of counts.

        Notes
        -----
        :func:`~cellbounds.read_table` gives the same table back. CSV and Excel files hold labels
        as text; in CSV an apostrophe stands before those that a spreadsheet would take for a
        formula, and reading takes it away. Structural zeros have an empty count: read them with
        ``structural="missing"``. Groupings are not written.
        """
        counts = [
            None if empty else int(number)
            for number, empty in zip(self.counts.flat, self.structural.flat, strict=True)
        ]
        write_counts(Path(path), self.domain.to_dict(), counts, count=count)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.domain == other.domain and bool(
            np.array_equal(self.counts, other.counts)
            and np.array_equal(self.structural, other.structural)
        )

    # Tables compare by their counts, in arrays; types have no way to take a hash away.
    __hash__ = None  # type: ignore[assignment]  # Python's own way to say: no hash

    def __repr__(self) -> str:
        # Counts are confidential: what is printed by accident must not show them.
        return f"Table({self.domain!r}, {self.domain.size} cells)"


def _sum_to(counts: npt.NDArray[Any], domain: Domain, kept: Sequence[str]) -> IntArray:
    groupings = [domain.grouping(name) for name in kept]
    base = [found[0] if found else name for name, found in zip(kept, groupings, strict=True)]
    axes = domain.axes(dict.fromkeys(base))
    dropped = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    summed = counts.sum(axis=dropped) if dropped else counts
    remaining = sorted(axes)
    summed = np.transpose(summed, [remaining.index(axis) for axis in axes])
    return summed if not any(groupings) else _regrouped(summed, domain, kept, base)


def _regrouped(
    summed: npt.NDArray[Any], domain: Domain, kept: Sequence[str], base: Sequence[str]
) -> IntArray:
    """Turn each axis of `summed` (the variables in `base`) into those of the names based on it."""
    order: list[int] = []
    shape: list[int] = []
    for axis, variable in enumerate(dict.fromkeys(base)):
        places = [place for place, one in enumerate(base) if one == variable]
        # The people of several groups at once are those behind all of them.
        behind = [
            np.array(sorted(frozenset.intersection(*groups)), dtype=np.intp)
            for groups in itertools.product(*(_behind(domain, kept[place]) for place in places))
        ]
        summed = np.stack([summed.take(one, axis=axis).sum(axis=axis) for one in behind], axis=axis)
        order += places
        shape += [len(domain.levels(kept[place])) for place in places]
    apart = summed.reshape(shape)
    return np.asarray(np.transpose(apart, [order.index(place) for place in range(len(kept))]))


def _behind(domain: Domain, name: str) -> list[frozenset[int]]:
    found = domain.grouping(name)
    if found is None:
        return [frozenset((place,)) for place in range(len(domain.levels(name)))]
    return [frozenset(members) for members in found[1]]


def _combined_levels(domain: Domain, names: Sequence[str]) -> list[Label]:
    if not names:
        return ["(all)"]
    if len(names) == 1:
        return list(domain.levels(names[0]))
    return list(domain.project(names).cells())


def _whole_counts(counts: npt.ArrayLike, domain: Domain) -> IntArray:
    # Lists go through objects: numpy would round numbers between 63 and 64 bits.
    given = counts if isinstance(counts, np.ndarray) else np.array(counts, dtype=object)
    if given.shape != domain.shape:
        raise InvalidInput(
            f"counts of shape {given.shape}; {domain!r} needs the shape {domain.shape}"
        )
    if given.dtype.kind in "iu":
        if given.size and given.min() < 0:
            where = domain.labels(np.argwhere(given < 0)[0])
            raise InvalidInput(f"the count of cell {where} is negative; counts are 0 or more")
        return _summable(given.ravel().tolist(), domain)
    whole = []
    for labels, value in zip(domain.cells(), given.ravel().tolist(), strict=True):
        try:
            exact = Fraction(value)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(
                f"the count of cell {labels} is not a number; counts are whole numbers"
            ) from None
        if exact.denominator != 1 or exact < 0:
            raise InvalidInput(
                f"the count of cell {labels} is negative or not whole; counts are whole numbers, "
                "0 or more (weighted tables are not counts)"
            )
        whole.append(int(exact))
    return _summable(whole, domain)


def _summable(values: list[int], domain: Domain) -> IntArray:
    """Pack counts so that no sum of them leaves the array's type."""
    packed = whole_array(values, domain.shape)
    return packed if sum(values) < SAFE else packed.astype(object)
