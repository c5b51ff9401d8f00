"""Exploring: every design of published rates, its risk and its utility, and the best safe one."""

from cellbounds.disclosure.exploring.designs import Design
from cellbounds.disclosure.exploring.exploring import explore
from cellbounds.disclosure.exploring.frontier import Frontier
from cellbounds.disclosure.exploring.judged_design import Judged

__all__ = ["Design", "Frontier", "Judged", "explore"]
