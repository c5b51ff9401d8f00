"""What shape a release has: facts gathered once, for the methods to decide on."""

from cellbounds.structure.facts import ConditionalFacts, Facts, gather

__all__ = ["ConditionalFacts", "Facts", "gather"]
