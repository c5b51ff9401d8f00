"""Exploring: every design of published rates, its risk and its utility, and the best safe one."""

from cellbounds.disclosure.exploring.design_search import explore
from cellbounds.disclosure.exploring.designs import Design
from cellbounds.disclosure.exploring.frontier import Frontier, JudgedDesign

__all__ = ["Design", "Frontier", "JudgedDesign", "explore"]
