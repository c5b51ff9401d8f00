"""What shape a release has: facts gathered once, for the methods to decide on."""

from cellbounds.structure.facts import ConditionalFacts, conditional_facts

__all__ = ["ConditionalFacts", "conditional_facts"]
