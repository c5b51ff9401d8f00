"""Tables of counts from files of any size, folders, frames, engines and records."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.data.formats.delimited import rows_of
from cellbounds.data.formats.excel import excel_columns
from cellbounds.data.formats.kinds import (
    HEAD,
    Kind,
    SourceColumns,
    check_name,
    files_named,
    kind_of,
    kind_of_all,
)
from cellbounds.data.frames import frame_columns
from cellbounds.data.microdata.tally import (
    MISSING,
    Selection,
    Tally,
    check_size,
    counted_lines,
    joined_tally,
    rounded,
    selection_of,
)
from cellbounds.data.owned_totals import owned_table
from cellbounds.data.storage import DENSE_LIMIT, Cells, Dense
from cellbounds.data.table import Table, sparse_of
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.inputs import GZIP, limit, read_bytes
from cellbounds.runtime.memory import size_of

_SMALL = 2**12
"""Cells that are listed one by one at once: about all questions need them so."""


def read_table(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    count: str | None = "count",
    variables: Sequence[str] | None = None,
    levels: Mapping[str, Sequence[Label]] | None = None,
    weight: str | None = None,
    round_weight: bool = False,
    missing: str = "error",
    structural: str | Iterable[Sequence[Label]] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    totals: Mapping[str, Label] | bool | None = None,
    domain: Domain | None = None,
    encoding: str = "utf-8",
    delimiter: str = ",",
    sheet: str | None = None,
    memory: str | None = None,
) -> Table:
    """Read a table of counts, or count records.

    Parameters
    ----------
    source
        Path of a tidy CSV file (plain or gzip), Excel workbook or Parquet file; a folder of CSV
        files or of Parquet files, a pattern such as ``"data/*.parquet"``, or a list of paths, whose
        files are read one after another as one table; a pandas, polars or Arrow frame; a DuckDB
        relation, an Ibis expression or a lazy frame, whose engine then does the counting. There is
        one column for each variable, and a column of counts. Or a crosstab (in a file, or pandas'
        ``crosstab`` and ``pivot_table``): labels of rows at the left, those of columns above. Or an
        array of counts, one axis a variable.
    count
        Name of the column of counts; None if each line is one record, to be tabulated.
    variables
        The columns to use, in this order; the others are summed over, and of records not even
        read. All, unless given. Of a crosstab, also names for all its variables, those of the rows
        first.
    levels
        The levels of some variables, in order, whether or not they occur. A label that is not
        among them is refused.
    weight
        Of records: name of the column that says how many persons each stands for. Whole numbers,
        added up exactly.
    round_weight
        Take weights that are fractions, too: decimals are added up exactly, and the sum of each
        cell is rounded to a whole number, halves up.
    missing
        What an empty field, a missing value or a NaN among the labels means: ``"error"`` refuses
        it, ``"drop"`` leaves out the records that have one in a column that is used, ``"level"``
        makes ``"(missing)"`` the last level of the variable.
    structural
        Cells that cannot hold anybody: ``"missing"`` if the cells that the file does not list
        or lists without a count are such, or the cells as tuples of labels. Otherwise cells that
        are not listed are sampling zeros, and a count must not be missing.
    hierarchies
        Levels above those of a variable, each of which becomes a derived variable: the nested
        columns from the coarsest to the variable itself (``{"mun": ["county", "mun"]}``), a file
        (``.hrc``, or CSV: child and parent, or nested columns), ``"prefix"`` or a nested mapping.
        ``"[mun+]"`` publishes all of them.
    totals
        Levels of a table of counts that are totals of the others, by variable; they are left out.
        Unless given, a level is one if its name says so and the arithmetic confirms it, and
        refused if only one of these is so; False: there are none.
    domain
        Variables and levels of an array. Without it they are named by `variables` (or ``"v1"``,
        ``"v2"``, ...) and ``"1"``, ``"2"``, ...
    encoding, delimiter
        How to read a CSV file.
    sheet
        The sheet of an Excel workbook; needed if several are not empty.
    memory
        Most memory for the cells that occur while they are counted, such as ``"2GiB"``; half of
        what is free, unless given. More of them are refused.

    Notes
    -----
    What a file holds decides how it is read; a file whose name says something else is refused.
    Files larger than memory are read a part at a time, and by Arrow if it is installed.

    Levels stand in the order in which they first appear; a categorical column of a frame or a
    Parquet file keeps the order of its categories. The files of a folder follow each other in the
    order of their paths, and names of folders such as ``year=2024`` are no columns. An engine
    keeps no order of lines: there, levels stand in the order of their values.

    Labels read from CSV are text, exactly as written, but for one case: if no field of the files
    begins like a formula, an apostrophe before such a beginning (``'=A1``) is taken away. That is
    how :meth:`Table.write <cellbounds.Table.write>` and others make CSV safe for spreadsheets.

    Labels read from Excel are text too. Text cells stay as they are; numbers become their digits,
    with the zeros in front that a format such as ``000`` shows; dates become ``2024-01-31`` and
    truth values ``TRUE`` and ``FALSE``, whatever their format. Formulas count as their stored
    value. The first line that is not empty is the header, empty lines are skipped, hidden ones
    are not.

    Labels of frames, engines and Parquet files keep their types.

    Examples
    --------
    >>> from cellbounds import datasets, read_table
    >>> table = read_table(datasets.path("delinquent"))
    >>> table.domain
    Domain(county[4] x education[4])

    Records with weights, from a frame:

    >>> import polars
    >>> people = polars.DataFrame({"age": ["old", "young", None], "w": [3, 5, 2]})
    >>> table = read_table(people, count=None, weight="w", missing="level")
    >>> table.domain.levels("age"), table.counts
    (('old', 'young', '(missing)'), array([3, 5, 2]))
    """
    if isinstance(source, np.ndarray | list | tuple) and not is_paths(source):
        alone: dict[str, object] = {"levels": levels, "weight": weight}
        alone |= {"round_weight": round_weight or None}
        alone |= {"hierarchies": hierarchies, "totals": totals}
        for name, value in alone.items():
            if value is not None:
                raise InvalidInput(
                    f"{name}={value!r} with an array of counts; it goes with files, frames and "
                    "records"
                )
        return _from_array(source, domain, variables, structural)
    if domain is not None:
        raise InvalidInput("domain= goes with an array; files and frames name their variables")
    try:
        limit = None if memory is None else size_of(memory)
    except (InvalidInput, TypeError):
        raise InvalidInput(f"memory={memory!r}; give a text, such as '2GiB' or '500MB'") from None
    how: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "sheet": sheet}
    try:
        records = source_of(source, **how)
        wide = count is not None and count not in records.header
    except InvalidInput:
        # Headers of several rows, or labels in the index: a crosstab, or what the error says.
        how |= {"variables": variables, "hierarchies": hierarchies or {}, "totals": totals}
        table = None if count is None else _crosstab(source, **how)
        if table is None:
            raise
        return table
    if wide and levels is None and structural is None:
        how |= {"variables": variables, "hierarchies": hierarchies or {}, "totals": totals}
        table = _crosstab(source, **how)
        if table is not None:
            return table
    selection = selection_of(
        records.where,
        records.header,
        count=count,
        variables=variables,
        weight=weight,
        rounded=round_weight,
        missing=missing,
        uncounted=isinstance(structural, str) and structural == "missing",
    )
    table = _table(records.tally(selection, limit), selection, levels or {}, structural)
    if count is None:  # records are people, never totals
        totals = False
    return owned_table(table, records.where, selection.names, hierarchies or {}, totals)


def _crosstab(source: Any, **how: Any) -> Table | None:
    """A crosstab; None if the source is something else."""
    from cellbounds.data.owned_crosstabs import crosstab_table  # few tables are such

    return crosstab_table(source, **how)


def _from_array(
    source: Any,
    domain: Domain | None,
    variables: Sequence[str] | None,
    structural: str | Iterable[Sequence[Label]] | None,
) -> Table:
    shape = np.shape(source if isinstance(source, np.ndarray) else np.array(source, dtype=object))
    if not shape or 0 in shape:
        raise InvalidInput(f"an array of counts of shape {shape}; it needs at least one cell")
    if domain is None:
        names = [f"v{axis}" for axis in range(1, len(shape) + 1)]
        if variables is not None:
            names = list(variables)
        if len(set(names)) != len(shape):
            raise InvalidInput(
                f"variables {names!r} for an array of {len(shape)} axes; name each axis once"
            )
        levels = [[str(level) for level in range(1, size + 1)] for size in shape]
        domain = Domain(dict(zip(names, levels, strict=True)))
    elif variables is not None:
        raise InvalidInput("an array with domain= needs no variables=; the domain names them")
    if isinstance(structural, str):
        raise InvalidInput(
            f"structural={structural!r} with an array; list the cells (tuples of labels)"
        )
    mask = np.zeros(domain.shape, dtype=bool)
    for labels in structural or ():
        mask[domain.index(tuple(labels))] = True
    return Table(domain, source, structural=mask)


def _table(
    tally: Tally,
    selection: Selection,
    levels: Mapping[str, Sequence[Label]],
    structural: str | Iterable[Sequence[Label]] | None,
) -> Table:
    """A table from the cells that occur: nothing is made of the size of the domain."""
    if isinstance(structural, str) and structural != "missing":
        raise InvalidInput(
            f"structural={structural!r}; give 'missing' or a list of cells (tuples of labels)"
        )
    if levels or selection.missing != "error":
        tally = _with_levels(tally, selection, levels)
    domain = Domain(tally.levels)
    lines = tally.lines
    is_records = selection.amount is None or selection.weighted
    if not is_records and lines.counts.max(initial=0) > 1:
        most = int(np.argmax(lines.counts))
        labels = domain.labels([int(column[most]) for column in lines.columns()])
        raise InvalidInput(
            f"{tally.where}: the cell {labels} is listed more than once; list each cell once, or "
            "give count=None (--records) if lines are records"
        )
    if isinstance(structural, str):
        return _closed_elsewhere(tally, domain)
    if structural or domain.size > _SMALL:
        return Table.holding(domain, sparse_of(domain, tally.sums, structural or ()))
    counts = tally.sums.to_array(tally.sums.counts.dtype)
    return Table.holding(domain, Dense(counts, np.zeros(domain.shape, dtype=bool)))


def _closed_elsewhere(tally: Tally, domain: Domain) -> Table:
    """A table whose cells are structural zeros unless they have a count."""
    if domain.size > DENSE_LIMIT:
        raise InvalidInput(
            f"{tally.where}: structural='missing' would make structural zeros of most of "
            f"{domain.size} cells, which is done up to {DENSE_LIMIT}; choose fewer columns with "
            "variables=[...], or list the structural zeros"
        )
    # Every record has a count.
    listed = tally.lines if tally.counted is None else tally.counted
    counts = tally.sums.to_array(tally.sums.counts.dtype)
    return Table(domain, counts, structural=~listed.to_array(bool))


def _with_levels(tally: Tally, selection: Selection, given: Mapping[str, Sequence[Label]]) -> Tally:
    """The same cells over the levels given, missing labels left out or a level of their own."""
    for name in given:
        if name not in tally.levels:
            raise InvalidInput(
                f"levels= names {name!r}, which is no variable that is read; the variables are "
                f"{', '.join(map(repr, tally.levels))}"
            )
    if selection.missing == "drop":
        tally = _without_missing(tally)
    if not given and not any(None in labels for labels in tally.levels.values()):
        return tally
    levels: dict[str, list[Any]] = {}
    moves: list[IntArray] = []
    for axis, (name, labels) in enumerate(tally.levels.items()):
        levels[name] = _levels(tally, name, labels, given.get(name))
        places = {label: place for place, label in enumerate(levels[name])}
        move = [places.get(MISSING if label is None else label, -1) for label in labels]
        moves.append(np.array(move, dtype=np.int64))
        if name in given and -1 in move:
            _check_given(tally, axis, move, levels[name])
    return joined_tally(tally.where, levels, [(tally, moves)])


def _levels(tally: Tally, name: str, labels: list[Any], given: Sequence[Label] | None) -> list[Any]:
    """The levels of a variable: those that were given or occur; the missing label is the last."""
    if None in labels and MISSING in labels:
        raise InvalidInput(
            f"{tally.where}: {name!r} has missing values and a label {MISSING!r} of its own; give "
            "missing values another label first"
        )
    levels = [label for label in labels if label is not None]
    if given is not None:
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
            raise InvalidInput(f"levels of {name!r} are given as {given!r}; give a list of them")
        levels = list(given)
        if not levels:
            raise InvalidInput(f"levels of {name!r} are an empty list; give at least one")
    return [*levels, MISSING] if None in labels and MISSING not in levels else levels


def _check_given(tally: Tally, axis: int, move: list[int], levels: list[Any]) -> None:
    """Refuse a label that occurs and is not among the levels given; others may be declared."""
    name, labels = list(tally.levels.items())[axis]
    for place in np.unique(tally.lines.column(axis)).tolist():
        if move[place] < 0:
            kinds = {type(labels[place]).__name__, *(type(label).__name__ for label in levels)}
            hint = "" if len(kinds) == 1 else " (labels of CSV and Excel files are text)"
            raise InvalidInput(
                f"{tally.where}: the label {labels[place]!r} of {name!r} is not among its levels= "
                f"given{hint}; add it, or correct the data"
            )


def _without_missing(tally: Tally) -> Tally:
    """The records all of whose labels are there; labels of the others stay levels."""
    levels = {
        name: [label for label in labels if label is not None]
        for name, labels in tally.levels.items()
    }
    moves = [
        np.cumsum([label is not None for label in labels]) - 1 for labels in tally.levels.values()
    ]
    sums = _present(tally.sums, tally)
    lines = sums if tally.lines is tally.sums else _present(tally.lines, tally)
    complete = Tally(tally.where, tally.levels, sums, lines)
    if not len(lines):
        raise InvalidInput(
            f"{tally.where}: missing='drop' leaves no record, as every one lacks a label; choose "
            "fewer columns with variables=[...], or give missing='level'"
        )
    return joined_tally(tally.where, levels, [(complete, moves)])


def _present(cells: Cells, tally: Tally) -> Cells:
    """The cells all of whose labels are there."""
    present = np.ones(len(cells), dtype=bool)
    for axis, labels in enumerate(tally.levels.values()):
        if None in labels:
            present &= cells.column(axis) != labels.index(None)
    return cells.chosen(present)


def check_options(
    where: str, kind: Kind, *, encoding: str, delimiter: str, sheet: str | None
) -> None:
    """Refuse options that belong to files of another kind."""
    if sheet is not None and kind is not Kind.EXCEL:
        raise InvalidInput(
            f"sheet={sheet!r}, but {where} is no Excel workbook; leave sheet out (--sheet)"
        )
    if kind is not Kind.TEXT and (encoding.lower() not in ("utf-8", "utf8") or delimiter != ","):
        raise InvalidInput(
            f"{where} is {kind.value}: encoding and delimiter belong to CSV files; leave them out"
        )
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidInput(f"delimiter {delimiter!r}; give one character, such as ',' or ';'")


def is_paths(source: Any) -> bool:
    """Whether a list is one of paths, and not of counts."""
    if not isinstance(source, list | tuple) or not source:
        return False
    if not all(isinstance(name, str | Path) for name in source):
        return False
    return not all(isinstance(name, str) and name.strip().isdigit() for name in source)


def holds_parquet(source: str | Path) -> bool:
    """Whether a file, or the first of a folder or a pattern, is a Parquet file by its first bytes.

    What cannot be read is none: reading it says why.
    """
    try:
        first = Path(source)
        if not first.is_file():
            first = files_named(source)[0]
        if not first.is_file():
            return False
        # Nothing is unpacked: no budget is at work yet, and a packed file may go on for ever.
        with first.open("rb") as stream:
            return kind_of(first, stream.read(HEAD)) is Kind.PARQUET
    except (InvalidInput, OSError):
        return False


def check_same_columns(
    first: Path | str, expected: Sequence[str], path: Path | str, header: Sequence[str]
) -> None:
    """Refuse a file with other columns than the first one; their order does not matter."""
    for has, lacks, name in (
        *((path, first, name) for name in header if name not in expected),
        *((first, path, name) for name in expected if name not in header),
    ):
        raise InvalidInput(
            f"{has} has a column {name!r}, but {lacks} has not; files of one table need the same "
            "columns"
        )


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is read at a time.

    Parameters
    ----------
    large
        Bytes from which on a CSV file is not read at once: its fields, as Python values, take
        fifteen times the memory, and Arrow starts and reads it faster.
    rows, block, lines
        Rows of a CSV file that Python reads at a time, bytes that Arrow reads at a time (a line
        is shorter), and lines of a Parquet file.
    quick
        Whether Arrow may read CSV files.
    """

    large: int = 2**24
    rows: int = 2**15
    block: int = 2**20
    lines: int = 2**17
    quick: bool = True


SIZES = Sizes()


class RecordSource(Protocol):
    """Something that lines can be counted in."""

    @property
    def where(self) -> str:
        """What it is, for messages."""

    @property
    def header(self) -> list[str]:
        """The names of its columns."""

    def tally(self, selection: Selection, memory: int | None) -> Tally:
        """How many there are in each cell that occurs, within so many bytes of memory."""


@dataclass(frozen=True, slots=True)
class _AtOnce:
    """A frame or a small file, all of whose values are at hand."""

    where: str
    header: list[str]
    columns: SourceColumns

    def tally(self, selection: Selection, memory: int | None) -> Tally:
        tally = counted_lines(self.where, self.columns, selection, {})
        check_size(tally, memory)
        return rounded(tally) if selection.rounded else tally


def source_of(
    source: Any, *, encoding: str, delimiter: str, sheet: str | None, sizes: Sizes = SIZES
) -> RecordSource:
    """Look at a source; nothing but headers is read of what is large."""
    # Of its class: a frame may have a column of this name.
    if hasattr(type(source), "tally"):
        return cast(RecordSource, source)
    if isinstance(source, str | Path) and Path(source).is_file():
        return _lone_file(Path(source), encoding, delimiter, sheet, sizes)
    if isinstance(source, str | Path) or is_paths(source):
        named = [source] if isinstance(source, str | Path) else source
        paths = [path for name in named for path in files_named(name)]
        if paths == [Path(named[0])] and named[0] is source:
            return _lone_file(paths[0], encoding, delimiter, sheet, sizes)
        where = str(source) if named[0] is source else f"{len(named)} files from {named[0]}"
        kind = kind_of_all(where, paths)
        check_options(where, kind, encoding=encoding, delimiter=delimiter, sheet=sheet)
        return _several(where, paths, kind, encoding, delimiter, sizes)
    if sheet is not None:
        raise InvalidInput(f"sheet={sheet!r} goes with an Excel workbook; leave it out")
    from cellbounds.data.microdata.lazy_frames import engine_of

    engine = engine_of(source)
    if engine is not None:
        return engine
    columns = SourceColumns("the frame", *frame_columns(source))
    return _AtOnce(columns.where, list(columns.values), columns)


def _several(
    where: str, paths: Sequence[Path], kind: Kind, encoding: str, delimiter: str, sizes: Sizes
) -> RecordSource:
    if kind is Kind.TEXT:
        from cellbounds.data.microdata.csv_files import csv_files

        return csv_files(where, paths, encoding=encoding, delimiter=delimiter, sizes=sizes)
    from cellbounds.data.microdata.parquet_files import parquet_files

    return parquet_files(where, [(str(path), path) for path in paths], sizes.lines)


def _lone_file(
    path: Path, encoding: str, delimiter: str, sheet: str | None, sizes: Sizes
) -> RecordSource:
    """A file that was named as such: read a part at a time if it is large."""
    raw = None
    # What is no ordinary file, such as a pipe, can be read only once and from its beginning.
    kind = _kind_in_parts(path, min(sizes.large, limit("bytes"))) if path.is_file() else None
    if kind is None:
        raw = read_bytes(path)
        kind = kind_of(path, raw)
    check_name(path, kind)
    check_options(str(path), kind, encoding=encoding, delimiter=delimiter, sheet=sheet)
    if kind is Kind.PARQUET:
        from cellbounds.data.microdata.parquet_files import parquet_files

        return parquet_files(str(path), [(str(path), path if raw is None else raw)], sizes.lines)
    if raw is None:
        return _several(str(path), [path], kind, encoding, delimiter, sizes)
    if kind is Kind.EXCEL:
        columns = excel_columns(path, raw, sheet)
    else:
        header, rows = rows_of(path, raw, encoding, delimiter)
        values = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
        columns = SourceColumns(str(path), values)
    return _AtOnce(columns.where, list(columns.values), columns)


def _kind_in_parts(path: Path, large: int) -> Kind | None:
    """The kind of a file that is read a part at a time; None if all of it is, or nobody may.

    Workbooks and texts up to a size are read at once.
    """
    try:
        with path.open("rb") as stream:
            head, size = stream.read(HEAD), os.fstat(stream.fileno()).st_size
    except OSError:
        return None
    kind = None if head.startswith(b"PK") else kind_of(path, head)
    if kind is Kind.TEXT and head.startswith(GZIP):
        # How much it holds, looked at as far as it is small; if damaged, whoever reads it says so.
        size = 0
        with suppress(OSError, EOFError, zlib.error), gzip.open(path) as packed:
            while size <= large and (part := packed.read(2**20)):
                size += len(part)
    return None if kind is Kind.TEXT and size <= large else kind
