"""So what: which cells a release gives away."""

from cellbounds.risk.disclosure import NARROW, RULE, SMALL, Audit, CellRisk, audit

__all__ = ["NARROW", "RULE", "SMALL", "Audit", "CellRisk", "audit"]
