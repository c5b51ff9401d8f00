"""Sequential importance sampling: weighted tables, and about how many there are."""

from __future__ import annotations

from cellbounds.inference.importance.estimates import Estimate, ImportanceDraws
from cellbounds.inference.importance.running import estimate_count, importance_draws

__all__ = ["Estimate", "ImportanceDraws", "estimate_count", "importance_draws"]
