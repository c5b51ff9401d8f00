"""Sharing work: the same answers by one process, by several, or by a cluster."""

from cellbounds.sharing.pieces import checked_executor, shared
from cellbounds.sharing.processes import Processes
from cellbounds.sharing.until import Until

__all__ = ["Processes", "Until", "checked_executor", "shared"]
