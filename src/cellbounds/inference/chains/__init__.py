"""Markov chains over the consistent tables of a release, for what cannot be summed exactly."""

from cellbounds.inference.chains.basic import basic_moves
from cellbounds.inference.chains.chooser import choose_moves
from cellbounds.inference.chains.combining import Combined, SummedSets, combine, summed_sets
from cellbounds.inference.chains.connecting import connectivity
from cellbounds.inference.chains.diagnostics import batch_errors, diagnose
from cellbounds.inference.chains.families import conditional_moves
from cellbounds.inference.chains.lattice import lattice_moves
from cellbounds.inference.chains.markov_bases import markov_basis
from cellbounds.inference.chains.metropolis import run_chain
from cellbounds.inference.chains.moves import Connection, Connectivity, Moves
from cellbounds.inference.chains.running import ChainDraws
from cellbounds.inference.chains.starting import start_tables

__all__ = [
    "ChainDraws",
    "Combined",
    "Connection",
    "Connectivity",
    "Moves",
    "SummedSets",
    "basic_moves",
    "batch_errors",
    "choose_moves",
    "combine",
    "conditional_moves",
    "connectivity",
    "diagnose",
    "lattice_moves",
    "markov_basis",
    "run_chain",
    "start_tables",
    "summed_sets",
]
