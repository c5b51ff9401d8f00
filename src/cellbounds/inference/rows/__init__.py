"""Sums over the consistent tables of one conditional, row by row."""

from cellbounds.inference.rows.row_fibre import rows_fibre

__all__ = ["rows_fibre"]
