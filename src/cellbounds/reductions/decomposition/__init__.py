"""Releases that fall apart at exact margins: parts are answered alone and glued together."""

from cellbounds.reductions.decomposition.method import DecompositionSolver

__all__ = ["DecompositionSolver"]
