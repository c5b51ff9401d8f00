"""What we may claim: bounds, attainable counts, evidence, explanations."""

from cellbounds.results.answers import Bounds
from cellbounds.results.attainable import Attainable
from cellbounds.results.evidence import Evidence
from cellbounds.results.explanation import Blame, Explanation
from cellbounds.results.values import UNBOUNDED, Unbounded, ValueSet

__all__ = [
    "UNBOUNDED",
    "Attainable",
    "Blame",
    "Bounds",
    "Evidence",
    "Explanation",
    "Unbounded",
    "ValueSet",
]
