"""Sums over the consistent tables of one conditional, row by row."""

from cellbounds.fibre.rows.fibre import rows_fibre

__all__ = ["rows_fibre"]
