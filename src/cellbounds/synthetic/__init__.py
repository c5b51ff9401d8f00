"""Synthetic tables: data to release instead, which keep what would have been published."""

from cellbounds.synthetic.report import SyntheticReport
from cellbounds.synthetic.synthesis import synthesize
from cellbounds.synthetic.synthetic_tables import Synthetic

__all__ = ["Synthetic", "SyntheticReport", "synthesize"]
