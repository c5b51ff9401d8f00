"""One SCIP programme per bound, through pyscipopt.

SCIP accepts constraints that are violated by up to its tolerance (numerics/feastol, 1e-6 of their
size by default), so exact feasibility is not guaranteed: its tables are checked in integers, and
its optimum wherever answers are compared. The constraints are built once; from bound to bound
only the objective changes, after the transformed problem has been freed.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from benchmarks.peers.per_bound import Ask, Claim
from benchmarks.peers.programs import NO_LIMIT, Program

# What is not named here is left at the solver's default.
SETTINGS: dict[str, float] = {"limits/gap": 0.0}


def asked(program: Program, seconds: float) -> Ask:
    """Build the model; returns what answers for one bound after the other."""
    from pyscipopt import Model, quicksum

    model = Model()
    model.hideOutput()
    for name, value in {**SETTINGS, "limits/time": seconds}.items():
        model.setParam(name, value)
    limits = zip(program.lower.tolist(), program.upper.tolist(), strict=True)
    variables = [model.addVar(vtype="I", lb=low, ub=high) for low, high in limits]
    for used, coefficients, low, high in program.lines:
        row = quicksum(
            coefficient * variables[k] for k, coefficient in zip(used, coefficients, strict=True)
        )
        if low == high:
            model.addCons(row == low)
        elif high == NO_LIMIT:
            model.addCons(row >= low)
        elif low == -NO_LIMIT:
            model.addCons(row <= high)
        else:
            model.addCons((row >= low) <= high)

    def ask(cell: int, maximize: bool) -> Claim:
        started = perf_counter()
        model.freeTransform()
        model.setObjective(variables[cell], "maximize" if maximize else "minimize")
        model.optimize()
        took = perf_counter() - started
        best = None
        solution = model.getBestSol() if model.getNSols() else None
        if solution is not None:
            counts = np.array([round(solution[one]) for one in variables], dtype=np.int64)
            best = int(counts[cell]) if program.holds_for(counts) else None
        optimal = model.getStatus() == "optimal"
        return Claim(best if optimal else None, best, float(model.getDualbound()), took)

    return ask
