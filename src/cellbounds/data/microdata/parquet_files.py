"""Records or cells in Parquet files of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cellbounds.data.formats import Columns, ParquetBatches, parquet_batches
from cellbounds.data.microdata.asking import Asked
from cellbounds.data.microdata.csv_files import check_same_columns
from cellbounds.data.microdata.sources import Files
from cellbounds.data.microdata.tally import Tally, tally_of
from cellbounds.errors import InvalidInput

__all__ = ["ParquetFiles", "parquet_files"]


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

    def tally(self, asked: Asked, memory: str | None) -> Tally:
        """Count what is in the files, by DuckDB if it reads them the same way."""
        from cellbounds.data.microdata.quick_parquet import quick_parquet

        if not any(file.lines for file in self.files):
            raise InvalidInput(f"{self.where} has no data lines; add one line for each cell")
        found = quick_parquet(self, asked, memory)
        return found or tally_of(self.where, self._chunks(asked), asked)

    def _chunks(self, asked: Asked) -> Iterator[Columns]:
        names = [*asked.used, *([] if asked.amount is None else [asked.amount])]
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
