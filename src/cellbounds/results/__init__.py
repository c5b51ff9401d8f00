"""What we may claim: bounds, attainable counts, posteriors, draws, evidence, explanations."""

from cellbounds.results.answers import Attainable, Bounds
from cellbounds.results.distribution import Distribution, MonteCarlo, Rate
from cellbounds.results.draws import Draws
from cellbounds.results.evidence import Blame, Evidence, Explanation
from cellbounds.results.posterior import Posterior
from cellbounds.results.values import UNBOUNDED, Unbounded, ValueSet

__all__ = [
    "UNBOUNDED",
    "Attainable",
    "Blame",
    "Bounds",
    "Distribution",
    "Draws",
    "Evidence",
    "Explanation",
    "MonteCarlo",
    "Posterior",
    "Rate",
    "Unbounded",
    "ValueSet",
]
