"""So what: what a release gives away, and whether a policy allows it."""

from cellbounds.disclosure.auditing import NARROW, Audit, CellRisk, audit

__all__ = ["NARROW", "Audit", "CellRisk", "audit"]
