"""Synthetic tables: data to release instead, which keep what would have been published."""

from cellbounds.synthetic.drawing import synthesize
from cellbounds.synthetic.report import SyntheticReport
from cellbounds.synthetic.result import Synthetic

__all__ = ["Synthetic", "SyntheticReport", "synthesize"]
