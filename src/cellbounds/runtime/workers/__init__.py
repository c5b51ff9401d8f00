"""Sharing work: the same answers by one process, by several, or by a cluster."""

from cellbounds.runtime.workers.processes import Processes, Until
from cellbounds.runtime.workers.tasks import checked_executor, shared

__all__ = ["Processes", "Until", "checked_executor", "shared"]
