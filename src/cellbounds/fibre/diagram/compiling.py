"""Compiling functions when they are first called."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["compiled"]


def compiled(function: Any) -> Any:
    """Compile when first called, and keep the result on disk if there is a place for it."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return njit(function)
