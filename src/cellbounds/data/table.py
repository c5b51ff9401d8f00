"""Counts over a domain: margins, conditionals, merging, reshaping."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain, Grouping, Label
from cellbounds.data.frames import frame_of
from cellbounds.data.merging import merged_levels, regrouped
from cellbounds.data.storage import DENSE_LIMIT, Cells, Dense, Sparse
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.arrays import BoolArray, IntArray, summable

_MOST_SHOWN = 16
"""Variables that the short form of a table names."""


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
    >>> table.margin(["sex"]).counts
    array([25, 25])
    """

    __slots__ = ("_dense", "_sparse", "_stored", "domain")

    domain: Domain
    _stored: Dense | Sparse  # whichever is at hand; the other is made when it is asked for
    _dense: Dense | None
    _sparse: Sparse | None

    def __init__(
        self, domain: Domain, counts: npt.ArrayLike, *, structural: npt.ArrayLike | None = None
    ) -> None:
        # Lists go through objects: numpy would round numbers between 63 and 64 bits.
        given = counts if isinstance(counts, np.ndarray) else np.array(counts, dtype=object)
        if given.shape != domain.shape:
            raise InvalidInput(
                f"counts of shape {given.shape}; {domain!r} needs the shape {domain.shape}"
            )

        def labels(place: int) -> tuple[Label, ...]:
            return domain.labels([int(axis) for axis in np.unravel_index(place, domain.shape)])

        whole = _whole_counts(given.ravel(), labels).reshape(domain.shape)
        closed = np.zeros(domain.shape, dtype=bool)
        if structural is not None:
            closed = np.array(structural, dtype=bool)
            if closed.shape != domain.shape:
                raise InvalidInput(
                    f"structural zeros of shape {closed.shape}; they need the shape "
                    f"{domain.shape} of {domain!r}"
                )
            occupied = np.argwhere(closed & (whole != 0))
            if len(occupied):
                raise _not_empty(domain, occupied[0])
        self.domain = domain
        self._stored = self._dense = Dense(whole, closed)
        self._sparse = None

    @classmethod
    def from_cells(
        cls,
        domain: Domain,
        places: npt.ArrayLike,
        counts: npt.ArrayLike,
        *,
        structural: Iterable[Sequence[Label]] = (),
    ) -> Table:
        """A table from the cells that hold somebody; nothing of the domain's size is made.

        Parameters
        ----------
        domain
            The variables and their levels: of any number of cells.
        places
            Positions of levels: one line for each cell listed, one column for each variable.
        counts
            Whole numbers, 0 or more. Cells that are listed twice add up; those that are not
            listed hold nobody.
        structural
            Cells that cannot hold anybody, as tuples of labels.

        Examples
        --------
        >>> from cellbounds import Domain, Table
        >>> domain = Domain({f"v{k}": ["yes", "no"] for k in range(40)})
        >>> table = Table.from_cells(domain, [[0] * 40, [1] * 40], [3, 4])
        >>> table, table.total
        (Table(40 variables, 1099511627776 cells), 7)
        >>> table.margin(["v5", "v7"]).counts
        array([[3, 0],
               [0, 4]])
        """
        columns = _columns(domain, places)
        given = counts if isinstance(counts, np.ndarray) else np.array(counts, dtype=object)
        if given.shape != columns[0].shape:
            raise InvalidInput(
                f"counts of shape {given.shape} for {len(columns[0])} cells; give one count for "
                "each cell"
            )

        def labels(place: int) -> tuple[Label, ...]:
            return domain.labels([int(column[place]) for column in columns])

        occupied = Cells.gathered(domain.shape, columns, _whole_counts(given, labels))
        return cls.holding(domain, sparse_of(domain, occupied, structural))

    @classmethod
    def holding(cls, domain: Domain, stored: Dense | Sparse) -> Table:
        """A table of counts that need not be checked."""
        table = cls.__new__(cls)
        table.domain, table._stored = domain, stored
        table._dense = stored if isinstance(stored, Dense) else None
        table._sparse = stored if isinstance(stored, Sparse) else None
        return table

    @property
    def _listed(self) -> Sparse:
        if self._sparse is None:
            assert self._dense is not None  # one of the two is always there
            counts, structural = self._dense.counts, self._dense.structural
            self._sparse = Sparse(Cells.of_array(counts), Cells.of_array(structural))
        return self._sparse

    def _made_dense(self) -> Dense:
        if self.domain.size > DENSE_LIMIT:
            raise TooMuchWork(
                f"a table of {self.domain.size} cells would have to be listed cell by cell; that "
                f"is done up to {DENSE_LIMIT}. Ask about fewer variables: table.margin(...), "
                "over=[...]"
            )
        self._stored = self._dense = self._listed.to_dense()
        return self._dense

    @property
    def counts(self) -> IntArray:
        """Every count, in the domain's shape; made when first asked for, if it can be."""
        return (self._dense or self._made_dense()).counts

    @property
    def structural(self) -> BoolArray:
        """Which cells are structural zeros, in the domain's shape; made when first asked for."""
        return (self._dense or self._made_dense()).structural

    @property
    def has_structural(self) -> bool:
        """Whether there are structural zeros."""
        stored = self._stored
        return bool(stored.structural.any() if isinstance(stored, Dense) else len(stored.closed))

    def cells(self) -> tuple[IntArray, IntArray]:
        """The cells that hold somebody, in the order of the domain (last variable fastest).

        Returns
        -------
        places, counts
            Positions of levels, a line for each such cell; and their counts.

        Examples
        --------
        >>> from cellbounds import Domain, Table
        >>> places, counts = Table(Domain({"a": ["x", "y"], "b": ["z"]}), [[0], [5]]).cells()
        >>> places.tolist(), counts.tolist()
        ([[1, 0]], [5])
        """
        occupied = self._listed.occupied
        return np.array(occupied.columns()).T, occupied.counts

    @property
    def total(self) -> int:
        """The sample size N: the sum of all counts."""
        stored = self._stored
        counts = stored.counts if isinstance(stored, Dense) else stored.occupied.counts
        return int(counts.sum())

    def __getitem__(self, labels: Label | tuple[Label, ...]) -> int:
        """The count in the cell with these labels."""
        key = labels if isinstance(labels, tuple) else (labels,)
        return self.at(self.domain.index(key))

    def at(self, index: tuple[int, ...]) -> int:
        """The count in the cell at an index, such as (0, 2)."""
        return self._stored.at(index)

    def margin(self, variables: Iterable[str]) -> Table:
        """Sum over all other variables; the axes follow the order given.

        Derived variables of the domain may be named: their levels count everybody behind them.

        Examples
        --------
        >>> from cellbounds import datasets
        >>> datasets.read("koch4").margin(["treatment", "status"])
        Table(Domain(treatment[2] x status[2]), 4 cells)
        """
        names = self.domain.distinct(variables)
        if not names:
            raise InvalidInput("a margin names no variable; `table.total` is the overall sum")
        return Table.holding(self.domain.project(names), self._stored.margin(self.domain, names))

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
        >>> from cellbounds import datasets
        >>> rates = datasets.read("mp3").conditional(["mp3"], given=["gender"])
        >>> [[str(rate) for rate in row] for row in rates]
        [['3/5', '2/5'], ['1/5', '4/5']]
        """
        responses, given = tuple(responses), tuple(given)
        two_way = self.reshape(response=responses, given=given)
        for name in responses:
            self.domain.check_partition(name)
        sums = two_way.counts.sum(axis=1)
        rates = np.empty(two_way.counts.shape, dtype=object)
        for row, total in enumerate(sums.tolist()):
            if total:
                rates[row] = [Fraction(count, total) for count in two_way.counts[row].tolist()]
        return rates.reshape([len(self.domain.levels(name)) for name in (*given, *responses)])

    def reshape(self, *, response: Iterable[str], given: Iterable[str] = ()) -> Table:
        """Lay the table out as rows (givens) by columns (responses), summing over the rest.

        Returns
        -------
        Table
            A two-way table whose variables are named after those they combine (``"a,b"``). The
            level of a combined variable is the tuple of its parts' levels.

        Examples
        --------
        >>> from cellbounds import datasets
        >>> koch = datasets.read("koch4")
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
        levels = {
            ",".join(givens) or "(all)": _combined_levels(self.domain, givens),
            ",".join(responses): _combined_levels(self.domain, responses),
        }
        laid_out = Domain(levels)
        stored = self._stored.margin(self.domain, named)
        return Table.holding(laid_out, stored.reshaped(laid_out.shape))

    def grouped(self, name: str, *, of: str, levels: Mapping[Label, Iterable[Label]]) -> Table:
        """The same table, whose domain knows one more derived variable.

        Examples
        --------
        >>> from cellbounds import datasets
        >>> children = datasets.read("delinquent")
        >>> grouped = children.grouped(
        ...     "region", of="county", levels={"west": ["Alpha", "Beta"], "east": ["Gamma"]}
        ... )
        >>> grouped.margin(["region"]).domain
        Domain(region[2])
        """
        return self.with_domain(self.domain.with_groupings({name: Grouping(of, levels)}))

    def nested(self, child: str, parent: str) -> Table:
        """The same table, where everybody knows that one variable determines another.

        Each level of `child` holds people in one level of `parent`: all other combinations become
        structural zeros.
        """
        from cellbounds.data.nesting import declared  # built on tables

        return declared(self, child, parent)

    def with_domain(self, domain: Domain) -> Table:
        """The same counts over a domain of the same shape: other names, labels or groupings."""
        if domain.shape != self.domain.shape:
            raise InvalidInput(
                f"{domain!r} has the shape {domain.shape}; a table over {self.domain!r} needs "
                f"{self.domain.shape}"
            )
        return Table.holding(domain, self._stored)

    def merge(self, variable: str, groups: Mapping[Label, Sequence[Label]] | str) -> Table:
        """Merge levels of one variable; levels not named stay as they are.

        A merged level stands where the first of its parts stood. The name of a coarser level of
        the variable's hierarchy instead of groups recodes it to that level. Levels of a hierarchy
        above the merged ones stay; groupings that would cut a merged level are left behind.

        Examples
        --------
        >>> from cellbounds import datasets
        >>> children = datasets.read("delinquent")
        >>> merged = children.merge("education", {"High+": ["High", "Very High"]})
        >>> merged.domain.levels("education")
        ('Low', 'Medium', 'High+')
        """
        if isinstance(groups, str):
            groups = self._levels_of(variable, groups)
        behind = merged_levels(self.domain, variable, groups)
        # A merged variable is a derived one that takes the place of what is behind it.
        derived = variable
        while derived in self.domain or derived in self.domain.groupings:
            derived += "+"
        grown = self.domain.with_groupings({derived: Grouping(variable, behind)})
        names = [derived if name == variable else name for name in self.domain.names]
        levels = self.domain.to_dict()
        levels[variable] = list(behind)
        still = {
            name: left
            for name, grouping in self.domain.groupings.items()
            if (left := grouping if grouping.of != variable else regrouped(grouping, behind))
        }
        return Table.holding(Domain(levels, groupings=still), self._stored.margin(grown, names))

    def _levels_of(self, variable: str, level: str) -> dict[Label, tuple[Label, ...]]:
        """The levels of a coarser level of a hierarchy, with those behind them."""
        self.domain.axis(variable)
        names = self.domain.coarser(variable)
        if level not in names:
            known = f"its coarser levels are {', '.join(names)}" if names else "it has none"
            raise InvalidInput(
                f"{level!r} is no coarser level of {variable!r}; {known}: name one, or give groups "
                "of levels"
            )
        return self.domain.groupings[level].levels

    @property
    def digest(self) -> str:
        """SHA-256 of domain, structural zeros and counts: for the owner's eyes only.

        Who knows few candidates, such as the tables that fit a release, finds the true one among
        them by its digest. Hand on :meth:`keyed_digest` instead.
        """
        return self._hashed(hashlib.sha256())

    def _hashed(self, hashed: Any) -> str:
        for piece in _canonical_bytes(self.domain, self._listed):
            hashed.update(piece)
        return str(hashed.hexdigest())

    def keyed_digest(self, key: bytes) -> str:
        """HMAC-SHA256 of the same under a secret key: it tells nothing to those without the key.

        Examples
        --------
        >>> from cellbounds import datasets
        >>> datasets.read("mp3").keyed_digest(b"kept with the table")[:16]
        'ea927bb1066d1707'
        """
        if not isinstance(key, bytes) or not key:
            raise InvalidInput("the key of a digest is empty or not bytes; give secret bytes")
        return self._hashed(hmac.new(key, digestmod=hashlib.sha256))

    def to_frame(self, backend: str | None = None, *, zeros: bool = True) -> Any:
        """A tidy data frame: one row for each cell, the variables and ``count``.

        With ``zeros=False`` only the cells that hold somebody are listed, of a domain of any size.
        """
        if zeros:
            counts = self.counts.ravel()
            where = np.indices(self.domain.shape).reshape(len(self.domain.shape), -1).T
        else:
            where, counts = self.cells()
        columns: dict[str, list[Any]] = {}
        for name, column in zip(self.domain.names, where.T.tolist(), strict=True):
            levels = self.domain.levels(name)
            columns[name] = [levels[place] for place in column]
        return frame_of({**columns, "count": counts.tolist()}, backend)

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
        ``structural="missing"``. Groupings are not written. Every cell is: a table with too many
        of them to be listed is refused (see ``to_frame(zeros=False)``). A new file is for its owner
        only.
        """
        from cellbounds.data.formats.writing import write_counts

        counts = [
            None if empty else int(number)
            for number, empty in zip(self.counts.flat, self.structural.flat, strict=True)
        ]
        write_counts(Path(path), self.domain.to_dict(), counts, count=count)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if self.domain != other.domain:
            return False
        if self._dense is None or other._dense is None:
            return self._listed.same(other._listed)
        return self._dense.same(other._dense)

    # Tables compare by their counts, in arrays; types have no way to take a hash away.
    __hash__ = None  # type: ignore[assignment]  # Python's own way to say: no hash

    def __repr__(self) -> str:
        # Counts are confidential: what is printed by accident must not show them.
        names = len(self.domain.names)
        domain = repr(self.domain) if names <= _MOST_SHOWN else f"{names} variables"
        return f"Table({domain}, {self.domain.size} cells)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Table.holding, (self.domain, self._sparse or self._stored)


def sparse_of(domain: Domain, occupied: Cells, structural: Iterable[Sequence[Label]]) -> Sparse:
    """Counts from the cells that hold somebody, and structural zeros by their labels."""
    closed = [domain.index(tuple(cell)) for cell in structural]
    for index in closed:
        if occupied.find(index) >= 0:
            raise _not_empty(domain, index)
    return Sparse(occupied, Cells.listed(domain.shape, _columns(domain, closed)))


def _whole_counts(given: npt.NDArray[Any], labels: Callable[[int], tuple[Label, ...]]) -> IntArray:
    """Numbers that are counts; a refusal names the cell."""
    if given.dtype.kind in "iu":
        if given.size and given.min() < 0:
            where = labels(int(np.argmax(given < 0)))
            raise InvalidInput(f"the count of cell {where} is negative; counts are 0 or more")
        return summable(np.array(given))
    whole = np.empty(given.size, dtype=object)
    for place, value in enumerate(given.tolist()):
        try:
            exact = Fraction(value)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(
                f"the count of cell {labels(place)} is not a number; counts are whole numbers"
            ) from None
        if exact.denominator != 1 or exact < 0:
            raise InvalidInput(
                f"the count of cell {labels(place)} is negative or not whole; counts are whole "
                "numbers, 0 or more (weighted tables are not counts)"
            )
        whole[place] = int(exact)
    return summable(whole)


def _columns(domain: Domain, places: npt.ArrayLike) -> list[IntArray]:
    """Columns of positions from lines of them, checked against the levels of each variable."""
    lines = np.asarray(places)
    if not lines.size:
        lines = np.zeros((0, len(domain.shape)), dtype=np.int64)
    if lines.ndim != 2 or lines.shape[1] != len(domain.shape) or lines.dtype.kind not in "iu":
        raise InvalidInput(
            f"places of shape {lines.shape} and type {lines.dtype}; give positions of levels "
            f"(whole numbers): a line for each cell, {len(domain.shape)} columns"
        )
    if len(lines):
        # By lines: a column of a large array of lines is far apart in memory.
        least, most = lines.min(axis=0).tolist(), lines.max(axis=0).tolist()
        for name, size, low, high in zip(domain.names, domain.shape, least, most, strict=True):
            if low < 0 or high >= size:
                raise InvalidInput(
                    f"position {low if low < 0 else high} of a level of {name!r}; it has {size} "
                    f"levels, so positions are 0 to {size - 1}"
                )
    return [lines[:, axis] for axis in range(lines.shape[1])]


def _not_empty(domain: Domain, index: Sequence[int]) -> InvalidInput:
    return InvalidInput(
        f"the cell {domain.labels(index)} is declared a structural zero but is not empty; correct "
        "the declaration or the count"
    )


def _combined_levels(domain: Domain, names: Sequence[str]) -> list[Label]:
    """The levels of one variable in place of several: the tuples of their levels."""
    if not names:
        return ["(all)"]
    if len(names) == 1:
        return list(domain.levels(names[0]))
    number = math.prod(len(domain.levels(name)) for name in names)
    if number > DENSE_LIMIT:
        raise TooMuchWork(
            f"{', '.join(names)} have {number} combinations of levels, and each would be listed; "
            f"that is done up to {DENSE_LIMIT}. Name fewer variables"
        )
    return list(domain.project(names).cells())


_AT_ONCE = 2**16
"""Numbers that are put together before they are handed on."""


def _canonical_bytes(domain: Domain, cells: Sparse) -> Iterator[bytes]:
    """Levels, the places of structural zeros, and counts, in JSON and in pieces.

    Every count in order where a table can be listed cell by cell; beyond that, the place and the
    count of each occupied cell.
    """
    levels = [[name, list(map(str, domain.levels(name)))] for name in domain.names]
    closed = json.dumps(cells.closed.numbers())
    yield f"[{json.dumps(levels)}, {closed}, [".encode()
    listed = zip(cells.occupied.numbers(), cells.occupied.counts.tolist(), strict=True)
    if domain.size <= DENSE_LIMIT:
        yield from _joined(_every_count(listed, domain.size))
    else:
        yield from _joined(f"[{place}, {count}]" for place, count in listed)
    yield b"]]"


def _every_count(listed: Iterable[tuple[int, int]], size: int) -> Iterator[str]:
    """Counts as texts, long stretches of zeros as one text."""
    done = 0
    for place, count in listed:
        yield from _zeros(place - done)
        yield str(count)
        done = place + 1
    yield from _zeros(size - done)


def _zeros(number: int) -> Iterator[str]:
    while number:
        run = min(number, _AT_ONCE)
        yield ", ".join(["0"] * run)
        number -= run


def _joined(texts: Iterable[str]) -> Iterator[bytes]:
    waiting: list[str] = []
    begun = False
    for text in texts:
        waiting.append(text)
        if len(waiting) >= _AT_ONCE:
            yield ((", " if begun else "") + ", ".join(waiting)).encode()
            waiting, begun = [], True
    if waiting:
        yield ((", " if begun else "") + ", ".join(waiting)).encode()
