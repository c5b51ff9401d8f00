"""One call of ``scipy.optimize.milp`` per bound: the HiGHS that scipy brings along.

Its version is scipy's choice, and each call lays the model out anew. Like HiGHS, it computes in
floating point: a table that fails in integers proves nothing.
"""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np

from benchmarks.peers.per_bound import Ask, Claim
from benchmarks.peers.programs import Program, in_floats

# What is not named here is left at the solver's default.
SETTINGS: dict[str, float] = {"mip_rel_gap": 0.0}


def asked(program: Program, seconds: float) -> Ask:
    """Lay the model out; returns what answers for one bound after the other."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    size = program.variables
    constraints = LinearConstraint(
        program.matrix.astype(float), in_floats(program.row_lower), in_floats(program.row_upper)
    )
    limits = Bounds(in_floats(program.lower), in_floats(program.upper))
    integers = np.ones(size, dtype=np.int64)

    def ask(cell: int, maximize: bool) -> Claim:
        started = perf_counter()
        sign = -1.0 if maximize else 1.0
        found = milp(
            sign * (np.arange(size) == cell),
            integrality=integers,
            bounds=limits,
            constraints=constraints,
            options={"mip_rel_gap": SETTINGS["mip_rel_gap"], "time_limit": seconds},
        )
        took = perf_counter() - started
        best = None
        if found.x is not None:
            counts = np.rint(found.x).astype(np.int64)
            best = int(counts[cell]) if program.holds_for(counts) else None
        proven = getattr(found, "mip_dual_bound", None)
        limit = math.nan if proven is None else sign * float(proven)
        return Claim(best if found.status == 0 else None, best, limit, took)

    return ask
