"""What shape a release has: facts gathered once, for the methods to decide on."""

from cellbounds.model.structure.facts import ConditionalFacts, Facts, gather
from cellbounds.model.structure.separators import Border, Leaf, Split, Tree, split_release
from cellbounds.statements.restriction import spoken_of

__all__ = [
    "Border",
    "ConditionalFacts",
    "Facts",
    "Leaf",
    "Split",
    "Tree",
    "gather",
    "split_release",
    "spoken_of",
]
