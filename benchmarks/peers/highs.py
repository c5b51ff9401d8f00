"""One HiGHS mixed-integer programme per bound.

The model is laid out once; from bound to bound only the objective changes, and every bound is
solved by a solver of its own, as the clock of a solver runs on otherwise. HiGHS 1.14 has called a
table optimal, with no gap left, that was not, on as few as 20 x 10 cells, on a fresh model too,
and depending on its random seed; tolerances of 1e-9 instead of the defaults made a case worse.
Its table is therefore checked in integers here, and its optimum wherever answers are compared.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from benchmarks.peers.per_bound import Ask, Claim
from benchmarks.peers.programs import Program, in_floats

# What is not named here is left at the solver's default.
SETTINGS: dict[str, bool | float] = {"output_flag": False, "mip_rel_gap": 0.0}


def asked(program: Program, seconds: float) -> Ask:
    """Lay the model out; returns what answers for one bound after the other."""
    import highspy

    size = program.variables
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = size, program.matrix.shape[0]
    model.col_lower_, model.col_upper_ = in_floats(program.lower), in_floats(program.upper)
    model.row_lower_, model.row_upper_ = in_floats(program.row_lower), in_floats(program.row_upper)
    model.integrality_ = [highspy.HighsVarType.kInteger] * size
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = program.matrix.indptr
    model.a_matrix_.index_ = program.matrix.indices
    model.a_matrix_.value_ = program.matrix.data.astype(float)

    def ask(cell: int, maximize: bool) -> Claim:
        started = perf_counter()
        model.col_cost_ = (np.arange(size) == cell).astype(float)
        model.sense_ = highspy.ObjSense.kMaximize if maximize else highspy.ObjSense.kMinimize
        solver = highspy.Highs()
        for name, value in {**SETTINGS, "time_limit": seconds}.items():
            solver.setOptionValue(name, value)
        solver.passModel(model)
        solver.run()
        took = perf_counter() - started
        best = None
        values = solver.getSolution().col_value
        if len(values) == size:
            counts = np.rint(values).astype(np.int64)
            # A table that fails in exact arithmetic proves nothing.
            best = int(counts[cell]) if program.holds_for(counts) else None
        optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return Claim(best if optimal else None, best, float(solver.getInfo().mip_dual_bound), took)

    return ask
