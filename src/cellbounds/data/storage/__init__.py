"""How the counts of a table are kept: every cell in an array, or the cells that hold somebody."""

from __future__ import annotations

from cellbounds.data.storage.dense import DENSE_LIMIT, Dense
from cellbounds.data.storage.sparse import Sparse

__all__ = ["DENSE_LIMIT", "Dense", "Sparse"]
