"""What we may claim: bounds, attainable counts, posteriors, draws, evidence, explanations."""

from cellbounds.results.answers import Bounds
from cellbounds.results.attainable import Attainable
from cellbounds.results.distribution import Distribution
from cellbounds.results.draws import Draws
from cellbounds.results.evidence import Evidence
from cellbounds.results.explanation import Blame, Explanation
from cellbounds.results.montecarlo import MonteCarlo
from cellbounds.results.poisson_means import Rate
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
