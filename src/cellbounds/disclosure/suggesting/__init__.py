"""What to publish instead: safe releases near an unsafe one."""

from cellbounds.disclosure.suggesting.near_releases import suggest
from cellbounds.disclosure.suggesting.suggestions import Suggestion, Suggestions

__all__ = ["Suggestion", "Suggestions", "suggest"]
