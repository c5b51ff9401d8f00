"""What shape a release has: facts gathered once, for the methods to decide on."""

from cellbounds.model.structure.facts import ConditionalFacts, Facts, gather
from cellbounds.model.structure.separators import Leaf, Separator, Split, Tree, split_release

__all__ = [
    "ConditionalFacts",
    "Facts",
    "Leaf",
    "Separator",
    "Split",
    "Tree",
    "gather",
    "split_release",
]
