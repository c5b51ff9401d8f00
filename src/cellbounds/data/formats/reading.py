"""The columns of a file of any kind."""

from __future__ import annotations

from pathlib import Path

from cellbounds.data.formats.delimited import rows_of
from cellbounds.data.formats.excel import excel_columns
from cellbounds.data.formats.kinds import Columns, Kind, check_name, kind_of
from cellbounds.data.formats.parquet import parquet_columns
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import read_bytes

__all__ = ["check_options", "read_columns"]


def read_columns(path: Path, *, encoding: str, delimiter: str, sheet: str | None) -> Columns:
    """Read a CSV, Excel or Parquet file; the content decides which it is."""
    raw = read_bytes(path)
    kind = kind_of(path, raw)
    check_name(path, kind)
    check_options(str(path), kind, encoding=encoding, delimiter=delimiter, sheet=sheet)
    if kind is Kind.TEXT:
        header, rows = rows_of(path, raw, encoding, delimiter)
        values = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
        return Columns(str(path), values)
    return excel_columns(path, raw, sheet) if kind is Kind.EXCEL else parquet_columns(path, raw)


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
