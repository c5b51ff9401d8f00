"""Markov chains over the consistent tables of a release, for what cannot be summed exactly."""

from cellbounds.fibre.chains.basic import basic_moves
from cellbounds.fibre.chains.choosing import choose_moves
from cellbounds.fibre.chains.combining import Combined, SummedSets, combine, summed_sets
from cellbounds.fibre.chains.connecting import connectivity
from cellbounds.fibre.chains.diagnostics import batch_errors, diagnose
from cellbounds.fibre.chains.families import conditional_moves
from cellbounds.fibre.chains.lattice import lattice_moves
from cellbounds.fibre.chains.markov import markov_basis
from cellbounds.fibre.chains.metropolis import run_chain
from cellbounds.fibre.chains.moves import Connection, Connectivity, Moves
from cellbounds.fibre.chains.running import ChainDraws
from cellbounds.fibre.chains.starting import start_tables

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
