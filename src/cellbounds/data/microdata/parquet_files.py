"""Records or cells in Parquet files of any size.

Parquet files tabulated by DuckDB.

One question is asked of all columns: how many lines has each cell? The labels and their order are
those of the first lines, or what a column declares. Where others turn up later, or labels are
missing, a column is asked alone which labels it has and where each stands first. Where many cells
may occur, columns are asked before, and texts turned into the numbers of their labels, which
makes counting them cheaper.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellbounds.data.formats.kinds import SourceColumns
from cellbounds.data.formats.parquet import ParquetBatches, parquet_batches
from cellbounds.data.microdata.csv_files import check_same_columns
from cellbounds.data.microdata.duckdb_engine import (
    Result,
    added_integers,
    added_numbers,
    answered,
    batches_of,
    connected,
    is_installed,
    listed,
    questioned,
    quoted,
)
from cellbounds.data.microdata.selection import Selection
from cellbounds.data.microdata.sources import Files
from cellbounds.data.microdata.tally import (
    Tally,
    check_levels,
    is_missing,
    no_label,
    refusal,
    tally_of,
)
from cellbounds.errors import InvalidInput

__all__ = ["parquet_files"]


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Parquet files with the same columns, in order."""

    where: str
    files: tuple[ParquetBatches, ...]

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return self.files[0].names

    @property
    def values(self) -> int:
        """How many values the files hold in all their columns."""
        return sum(file.lines * len(file.names) for file in self.files)

    def tally(self, selection: Selection, memory: str | None) -> Tally:
        """Count what is in the files, by DuckDB if it reads them the same way."""
        if not any(file.lines for file in self.files):
            raise InvalidInput(f"{self.where} has no data lines; add one line for each cell")
        found = quick_parquet(self, selection, memory)
        return found or tally_of(self.where, self._chunks(selection), selection)

    def _chunks(self, selection: Selection) -> Iterator[SourceColumns]:
        names = [*selection.used, *([] if selection.amount is None else [selection.amount])]
        for file in self.files:
            yield from file.chunks(names)


def parquet_files(files: Files) -> ParquetFiles:
    """Look at the schemas of Parquet files: they must name the same columns of like types."""
    found = [parquet_batches(path) for path in files.paths]
    first = found[0]
    for file in found[1:]:
        check_same_columns(first.path, first.names, file.path, file.names)
        for name in first.names:
            kinds = [_kind(one.schema.field(name).type) for one in (first, file)]
            if kinds[0] != kinds[1]:
                raise InvalidInput(
                    f"column {name!r} holds {kinds[0]} in {first.path}, but {kinds[1]} in "
                    f"{file.path}; files of one table need columns of one type"
                )
    if not first.names:
        raise InvalidInput(f"{files.where} has no columns; it needs one for each variable")
    return ParquetFiles(files.where, tuple(found))


def _kind(type_: Any) -> str:
    """What a column holds, in the words of somebody who looks at labels."""
    import pyarrow

    types = pyarrow.types
    kinds: Sequence[tuple[str, Any]] = (
        ("text", lambda one: types.is_string(one) or types.is_large_string(one)),
        ("text", lambda one: types.is_binary(one) or types.is_large_binary(one)),
        ("text", types.is_string_view),
        ("truth values", types.is_boolean),
        ("whole numbers", types.is_integer),
        ("dates", types.is_date),
    )
    if types.is_dictionary(type_):
        return _kind(type_.value_type)
    return next((kind for kind, is_one in kinds if is_one(type_)), str(type_))


_ENUMERATED = 2**15
"""Most labels of a column that are numbered before counting; more do not make it faster."""

_FEW_CELLS = 2**20
"""Cells of a table up to which texts are counted as they are: where few cells occur, DuckDB groups
packed texts faster than numbers, and little has to be handed over."""

_OWN = ("file_index", "file_row_number")
"""Columns that DuckDB adds to those of a file; here they say where a line stands."""


def quick_parquet(files: ParquetFiles, selection: Selection, memory: str | None) -> Tally | None:
    """The tally, or None if DuckDB is not there or may take a column for something else."""
    names = [*selection.used, *([] if selection.amount is None else [selection.amount])]
    if not is_installed() or _is_ambiguous(files.header):
        return None
    if not all(_is_alike(files, name) for name in names):
        return None
    # Where DuckDB refuses a file, the other reader checks more and says better what is wrong.
    with connected(memory) as connection, questioned():
        return _ParquetQuery(files, selection, connection).tally()
    return None


class _ParquetQuery:
    """The questions to one connection about some files."""

    def __init__(self, files: ParquetFiles, selection: Selection, connection: Any) -> None:
        self.files = files
        self.selection = selection
        self.connection = connection
        self._types = 0
        paths = listed([str(file.path) for file in files.files])
        self.source = f"read_parquet({paths}, hive_partitioning=false, binary_as_string=true)"

    def tally(self) -> Tally | None:
        levels = self._first_levels()
        if _is_numbered(levels):
            # Asking the columns first costs less than asking for all cells once more.
            levels |= {name: self._levels(name) for name in self._undeclared()}
        result, numbered = self._counted(levels)
        late = {name: self._levels(name) for name in self._unsure(result, levels)}
        if any(name in numbered and len(late[name]) > len(levels[name]) for name in late):
            result, _ = self._counted(levels | late)
        if result.odd:
            self._refuse_odd()
            return None
        if sum(int(lines.sum()) for lines in result.lines) != sum(
            file.lines for file in self.files.files
        ):
            raise InvalidInput(f"{self.files.where} was changed while it was read; read it again")
        return result.tally(self.files.where, levels | late)

    def _counted(self, levels: Mapping[str, list[Any]]) -> tuple[Result, set[str]]:
        """The cells, and the columns whose labels were turned into numbers for it."""
        numbered = _is_numbered(levels)
        coded = {name: self._coded(name, labels, numbered) for name, labels in levels.items()}
        result = Result(self.selection, {name: {} for name in levels})
        result.read(
            batches_of(
                self.connection,
                f"SELECT {', '.join([*coded.values(), 'count(*)', *self._sums()])} "
                f"FROM {self.source} GROUP BY {', '.join(str(k + 1) for k in range(len(coded)))}",
            )
        )
        return result, {name for name in coded if coded[name] != quoted(name)}

    def _first_levels(self) -> dict[str, list[Any]]:
        """The labels of each column in the first lines, after those that it declares."""
        first, *later = [file for file in self.files.files if file.lines]
        found = first.first_labels(self.selection.used)
        # Lines of later files come after all lines of the first one; what they declare does not.
        declared = [file.first_labels(file.declaring(self.selection.used)) for file in later]
        return {
            name: _distinct([found[name], *(one.get(name, ()) for one in declared)])
            for name in self.selection.used
        }

    def _undeclared(self) -> list[str]:
        """Columns of which the first lines need not tell all labels."""
        declared = {n for file in self.files.files for n in file.declaring(self.selection.used)}
        return [name for name in self.selection.used if name not in declared]

    def _unsure(self, result: Result, levels: Mapping[str, list[Any]]) -> Iterator[str]:
        """Columns with labels that the first lines do not have, or that are missing."""
        for place, name in enumerate(self.selection.used):
            missing = any(bool((codes[place] < 0).any()) for codes in result.codes)
            if missing or not result.positions[name].keys() <= set(levels[name]):
                yield name

    def _levels(self, name: str) -> list[Any]:
        """The labels of a column: those it declares, or in the order in which they appear."""
        import pyarrow

        # One file needs no number, and grouping by one column is a third cheaper than by two.
        file, groups = ("file_index", "1, 2") if len(self.files.files) > 1 else ("0", "1")
        query = (
            f"SELECT {quoted(name)}, {file}, min(file_row_number) FROM {self.source} "
            f"GROUP BY {groups}"
        )
        found = answered(self.connection, lambda: self.connection.sql(query).to_arrow_table())
        if len(self.files.files) == 1:
            check_levels(self.files.where, name, found.num_rows)
        labels = found.column(0).to_pylist()
        places = list(zip(found.column(1).to_pylist(), found.column(2).to_pylist(), strict=True))
        if self.selection.missing == "error":
            missing = [
                place for label, place in zip(labels, places, strict=True) if is_missing(label)
            ]
            if missing:
                raise no_label(self._place(*min(missing)), name)
        ordered = sorted(zip(places, labels, strict=True), key=lambda pair: pair[0])
        declared = [
            one.dictionary(name)
            for one in self.files.files
            if pyarrow.types.is_dictionary(one.schema.field(name).type)
        ]
        return _distinct([*declared, (label for _, label in ordered)])

    def _coded(self, name: str, labels: list[Any], numbered: bool) -> str:
        """A column in the query: by the numbers of its labels, if they are texts and not many."""
        import pyarrow

        if not numbered or not 0 < len(labels) <= _ENUMERATED or not isinstance(labels[0], str):
            return quoted(name)
        self._types += 1
        place = self._types
        self.connection.register(f"labels{place}", pyarrow.table({"label": labels}))
        self.connection.execute(
            f"CREATE TYPE level{place} AS ENUM (SELECT label FROM labels{place})"
        )
        # A cast that cannot fail is done once for each label of a packed column, not for each line.
        return f"TRY_CAST({quoted(name)} AS level{place})"

    def _sums(self) -> list[str]:
        if self.selection.amount is None:
            return []
        column = quoted(self.selection.amount)
        if self._is_integer():
            return added_integers(column, self.selection)
        text = column
        if not self._is_text():
            # A single-precision number stands for what it is as a double, as in a frame.
            text = f"CAST(CAST({column} AS DOUBLE) AS VARCHAR)"
            if self._type(self.selection.amount).startswith("decimal"):
                text = f"CAST({column} AS VARCHAR)"
        return added_numbers(text, self.selection)

    def _refuse_odd(self) -> None:
        """Say where the first odd integer stands; of other numbers somebody else decides."""
        if not self._is_integer():
            return
        assert self.selection.amount is not None  # there are no odd sums otherwise
        column = quoted(self.selection.amount)
        odd = f"{column} < 0" if self.selection.uncounted else f"{column} IS NULL OR {column} < 0"
        file, line, missing = self.connection.execute(
            f"SELECT file_index, file_row_number, {column} IS NULL FROM {self.source} "
            f"WHERE {odd} ORDER BY 1, 2 LIMIT 1"
        ).fetchone()
        raise refusal(self._place(file, line), self.selection, missing=missing)

    def _is_integer(self) -> bool:
        import pyarrow

        return bool(pyarrow.types.is_integer(_type(self.files, self.selection.amount)))

    def _is_text(self) -> bool:
        return self._type(self.selection.amount) in (
            "string",
            "large_string",
            "string_view",
            "binary",
        )

    def _type(self, name: str | None) -> str:
        return str(_type(self.files, name))

    def _place(self, file: int, line: int) -> str:
        return f"{self.files.files[file].path}, data line {line + 1}"


def _is_numbered(levels: Mapping[str, Sequence[Any]]) -> bool:
    """Whether so many cells may occur that texts are better counted as numbers."""
    return math.prod(map(len, levels.values())) > _FEW_CELLS


def _distinct(parts: Sequence[Iterable[Any]]) -> list[Any]:
    """Labels in the order in which they come; none is missing."""
    return [label for label in dict.fromkeys(itertools.chain(*parts)) if not is_missing(label)]


def _type(files: ParquetFiles, name: str | None, place: int = 0) -> Any:
    import pyarrow

    found = files.files[place].schema.field(name).type
    return found.value_type if pyarrow.types.is_dictionary(found) else found


def _is_ambiguous(header: Sequence[str]) -> bool:
    """Whether DuckDB would take a column for another, or for what it says about lines itself.

    It finds columns whatever the case of their letters, and renames those that differ in nothing
    else.
    """
    folded = [name.casefold() for name in (*header, *_OWN)]
    return len(set(folded)) < len(folded)


def _is_alike(files: ParquetFiles, name: str) -> bool:
    """Whether a column has one type everywhere, of which DuckDB and Arrow make the same labels."""
    import pyarrow

    types = pyarrow.types
    known = (
        types.is_string,
        types.is_large_string,
        types.is_binary,
        types.is_boolean,
        types.is_integer,
        types.is_date32,
        types.is_float32,
        types.is_float64,
        types.is_decimal128,
    )
    found = {_type(files, name, place) for place in range(len(files.files))}
    return len(found) == 1 and any(is_one(*found) for is_one in known)
