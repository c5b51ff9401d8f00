"""Rounded rates of one conditional: beside the peers, and how the cost grows."""
