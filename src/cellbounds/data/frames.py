"""Data frames of any library, in and out, through narwhals."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.errors import InvalidInput

FRAME_LIBRARIES = ("pandas", "polars", "pyarrow")


def frame_of(columns: Mapping[str, list[Any]], backend: str | None = None) -> Any:
    """Build a native frame; without `backend`, by the first library that is installed."""
    import narwhals

    if backend is not None and backend not in FRAME_LIBRARIES:
        raise InvalidInput(f"frame library {backend!r}; choose one of {', '.join(FRAME_LIBRARIES)}")
    wanted: Any
    for wanted in FRAME_LIBRARIES if backend is None else (backend,):
        if importlib.util.find_spec(wanted) is not None:
            given = {name: _storable(column, wanted) for name, column in columns.items()}
            return narwhals.from_dict(given, backend=wanted).to_native()
    wanted = backend or "pandas"
    raise InvalidInput(
        f"no data frame library for to_frame(); install one, such as `pip install {wanted}`"
    )


def _storable(column: list[Any], library: str) -> Any:
    """Arrow has no type for fractions and for integers beyond 64 bits: they become text.

    pandas would make doubles of integers among which something is missing: large ones stay objects.
    """
    if library == "pandas":
        large = any(isinstance(value, int) and abs(value) > 2**53 for value in column)
        return np.array(column, dtype=object) if large and None in column else column
    if library != "pyarrow":
        return column
    odd = any(
        isinstance(value, Fraction) or (isinstance(value, int) and abs(value) >= 2**63)
        for value in column
    )
    return [None if value is None else str(value) for value in column] if odd else column


def frame_columns(frame: Any) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Split a frame into columns of Python values and the ordered categories it declares."""
    import narwhals.stable.v1 as narwhals

    try:
        wrapped = narwhals.from_native(frame, eager_only=True)
    except (ValueError, AttributeError):
        raise InvalidInput(
            f"the {type(frame).__name__} cannot be read; its columns need distinct texts as names"
        ) from None
    except TypeError:
        raise InvalidInput(
            f"a {type(frame).__name__} is neither a path nor a data frame; give a CSV file, an "
            "array, a pandas, polars or Arrow frame, a DuckDB relation or an Ibis expression"
        ) from None
    names = [str(name) for name in wrapped.columns]
    if len(set(names)) < len(names) or names != list(wrapped.columns):
        raise InvalidInput(
            f"the frame's columns {list(wrapped.columns)!r} must have distinct texts as names; "
            "rename them"
        )
    columns: dict[str, list[Any]] = {}
    categories: dict[str, list[Any]] = {}
    for name in wrapped.columns:
        series = wrapped[name]
        if isinstance(series.dtype, narwhals.Categorical | narwhals.Enum):
            categories[name] = series.cat.get_categories().to_list()
        columns[name] = series.to_list()
    return columns, categories
