"""What somebody believes of the counts before anything is published: ``prior=`` of a posterior.

Examples
--------
>>> import cellbounds as cb
>>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
>>> cb.posterior(release, cb.priors.Poisson(12))
<posterior given [mp3|gender], N=50; prior: Poisson with given means: 4 cells>
"""

from cellbounds.model.priors import GammaPoisson, Multinomial, Poisson, Uniform

__all__ = ["GammaPoisson", "Multinomial", "Poisson", "Uniform"]
