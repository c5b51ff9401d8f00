"""What to publish instead: safe releases near an unsafe one."""

from cellbounds.disclosure.suggesting.changes import (
    Change,
    CoarserCounts,
    DropVariable,
    FewerDigits,
    HideSmall,
    MergeLevels,
    Suppress,
    Withhold,
    WithholdTotal,
)
from cellbounds.disclosure.suggesting.searching import suggest
from cellbounds.disclosure.suggesting.suggestions import Searched, Suggestion, Suggestions

__all__ = [
    "Change",
    "CoarserCounts",
    "DropVariable",
    "FewerDigits",
    "HideSmall",
    "MergeLevels",
    "Searched",
    "Suggestion",
    "Suggestions",
    "Suppress",
    "Withhold",
    "WithholdTotal",
    "suggest",
]
