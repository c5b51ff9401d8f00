"""Three cells of a large table, asked of the general solvers, and compared with our bounds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from benchmarks.errors import Mismatch
from benchmarks.peers import programs
from benchmarks.peers.per_bound import Claim
from benchmarks.peers.solvers import SOLVERS, Solver
from benchmarks.problems.owned import all_margins, owned
from benchmarks.results import Record
from benchmarks.sections.margins.budgeted import chosen_cells


def measure(
    name: str, ways: int, seconds: float, data: Path, seed: int, ours: Record | None
) -> Record:
    """Ask every solver for both bounds of the chosen cells.

    Parameters
    ----------
    name : str
        The table.
    ways : int
        The size of its margins.
    seconds : float
        Time limit for each bound.
    data : Path
        Folder of the real tables.
    seed : int
        Chooses the cells.
    ours : Record, optional
        What we found of the same release, to compare with.

    Raises
    ------
    Mismatch
        If a table of a solver goes further than what we have proven, or a solver in integers
        claims as proven what one of our tables refutes.
    """
    source = owned(name, data)
    program = programs.of_margins(all_margins(source.table, ways))
    asked = [(solver, solver.asked(program, seconds)) for solver in SOLVERS if solver.installed]
    claims: list[Record] = []
    for cell in chosen_cells(source.counts, seed):
        number = int(np.ravel_multi_index(cell, source.counts.shape))
        for side in ("lower", "upper"):
            own = bounds_of(ours, source.label, cell, side)
            for solver, ask in asked:
                claim = ask(number, side == "upper")
                claims.append(
                    {
                        "solver": solver.name,
                        "cell": list(cell),
                        "side": side,
                        "optimum": claim.optimum,
                        "best": claim.best,
                        "limit": claim.limit if math.isfinite(claim.limit) else None,
                        "seconds": claim.seconds,
                        "ours": own,
                        "wrong": own is not None and is_wrong(claim, solver, side, own),
                    }
                )
    return {"table": source.label, "ways": ways, "limit": seconds, "claims": claims}


def bounds_of(
    ours: Record | None, label: str, cell: tuple[int, ...], side: str
) -> list[int] | None:
    """Return what we have proven and attained of one bound, if that was measured."""
    if ours is None or ours["table"] != label:
        return None
    own: list[list[int]] = [one[side] for one in ours["chosen"] if one["cell"] == list(cell)]
    return own[0] if own else None


def is_wrong(claim: Claim, solver: Solver, side: str, own: list[int]) -> bool:
    """Whether one of our tables refutes a claim in floating point; other differences are errors."""
    sign = 1 if side == "lower" else -1
    proven, attained = sign * own[0], sign * own[1]
    if claim.best is not None and sign * claim.best < proven:
        msg = f"{solver.name} has a table with {claim.best}; our {side} bound is {own[0]}"
        raise Mismatch(msg)
    if claim.optimum is None or sign * claim.optimum <= attained:
        return False
    if solver.exact:
        msg = f"{solver.name} proves {claim.optimum}; a table of ours attains {own[1]} ({side})"
        raise Mismatch(msg)
    return True
