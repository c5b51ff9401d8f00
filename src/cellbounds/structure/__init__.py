"""What shape a release has: facts gathered once, for the methods to decide on."""

from cellbounds.releases.reducing import spoken_of
from cellbounds.structure.facts import ConditionalFacts, Facts, gather
from cellbounds.structure.splitting import Border, Leaf, Split, Tree, split_release

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
