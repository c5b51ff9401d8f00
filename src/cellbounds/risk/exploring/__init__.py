"""Exploring: every design of published rates, its risk and its utility, and the best safe one."""

from cellbounds.risk.exploring.designs import Design
from cellbounds.risk.exploring.exploring import explore
from cellbounds.risk.exploring.frontier import Frontier
from cellbounds.risk.exploring.judged import Judged

__all__ = ["Design", "Frontier", "Judged", "explore"]
