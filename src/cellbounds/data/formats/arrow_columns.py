"""Columns of Arrow data as labels and their numbers, without a Python value for each line."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.data.formats.kinds import Coded
from cellbounds.runtime.arrays import IntArray

_FLOATS = {"float": "float32", "double": "float64"}


def source_column(column: Any) -> Coded | list[Any]:
    """A column of labels: numbered, or as a list if its values are no labels.

    Texts that a writer did not mark as such become texts.
    """
    import pyarrow

    types = pyarrow.types
    if types.is_nested(column.type):
        listed: list[Any] = column.to_pylist()
        return listed
    if not types.is_dictionary(column.type):
        column = column.dictionary_encode()
    labels = column.dictionary
    if types.is_binary(labels.type) or types.is_large_binary(labels.type):
        labels = labels.cast(pyarrow.string())
    values = labels.to_pylist()
    indices = column.indices
    if indices.type != pyarrow.int32():
        indices = indices.cast(pyarrow.int32())
    if indices.null_count:
        values.append(None)
    codes = _plain(indices, instead=len(values) - 1)
    if codes.view(np.uint32).max(initial=0) >= max(len(values), 1):
        raise ValueError("a number that no label has")
    return Coded(values, codes)


def number_column(column: Any) -> Coded | list[Any] | IntArray:
    """A column of numbers: an array, if none of them is missing."""
    import pyarrow

    is_binary = pyarrow.types.is_integer(column.type) or str(column.type) in _FLOATS
    return _plain(column) if is_binary and not column.null_count else source_column(column)


def _plain(column: Any, instead: int = 0) -> IntArray:
    """Numbers of an Arrow column, with something instead of missing ones.

    Arrow's own way loads pandas first, which takes as long as counting ten million lines.
    """
    validity, values = column.buffers()
    span = slice(column.offset, column.offset + len(column))
    kind = np.dtype(_FLOATS.get(str(column.type), str(column.type)))
    numbers = np.frombuffer(values or b"", dtype=kind)[span]
    if not column.null_count:
        return numbers
    there = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[span]
    return np.where(there, numbers, numbers.dtype.type(instead))
