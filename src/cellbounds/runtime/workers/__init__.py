"""Sharing work: the same answers by one process, by several, or by a cluster."""

from cellbounds.runtime.workers.tasks import Processes, Until, checked_executor, shared

__all__ = ["Processes", "Until", "checked_executor", "shared"]
