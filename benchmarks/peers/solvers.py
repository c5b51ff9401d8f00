"""The general solvers by name: how each is asked, with which settings, and whether it is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from benchmarks.peers import cpsat, highs, scip, scipy_milp
from benchmarks.peers.per_bound import Ask, SolverAnswer, solve_each
from benchmarks.peers.programs import Program


@dataclass(frozen=True, slots=True)
class Solver:
    """A general solver.

    Parameters
    ----------
    name : str
        What the report calls it.
    module, package : str
        What must be importable, and the installed package whose version is printed.
    asked : callable
        Lays out a program under a time limit for each bound.
    settings : mapping
        What is not at the solver's default.
    exact : bool
        Whether it computes in integers: a difference from it is an error of somebody.
    remark : str
        What else has to be said of it.
    """

    name: str
    module: str
    package: str
    asked: Callable[[Program, float], Ask]
    settings: Mapping[str, object]
    exact: bool
    remark: str

    @property
    def installed(self) -> bool:
        """Whether it can be asked on this machine."""
        return find_spec(self.module) is not None

    def bounds(
        self, program: Program, *, max_bounds: int | None, seconds: float, seed: int
    ) -> SolverAnswer:
        """Bound every cell of a program, or a random sample of the bounds.

        Parameters
        ----------
        program : Program
            What is published.
        max_bounds : int or None
            Solve only that many bounds, chosen at random.
        seconds : float
            Time limit for each bound.
        seed : int
            Chooses the sample.
        """
        return solve_each(
            program.cells,
            lambda: self.asked(program, seconds),
            max_bounds=max_bounds,
            seed=seed,
        )

    def described(self) -> str:
        """Say how it is asked."""
        return f"{self.remark}; {dict(self.settings)}, otherwise defaults"


HIGHS = Solver(
    "HiGHS",
    "highspy",
    "highspy",
    highs.asked,
    highs.SETTINGS,
    exact=False,
    remark="one model, one solve per bound, floating point, tables checked in integers",
)
CPSAT = Solver(
    "CP-SAT",
    "ortools",
    "ortools",
    cpsat.asked,
    cpsat.SETTINGS,
    exact=True,
    remark="one model, one search per bound, 64-bit integers",
)
SCIP = Solver(
    "SCIP",
    "pyscipopt",
    "pyscipopt",
    scip.asked,
    scip.SETTINGS,
    exact=False,
    remark="one model, one solve per bound, floating point: exact feasibility is not guaranteed, "
    "tables are checked in integers",
)
SCIPY = Solver(
    "scipy",
    "scipy",
    "scipy",
    scipy_milp.asked,
    scipy_milp.SETTINGS,
    exact=False,
    remark="scipy.optimize.milp, one call per bound, floating point, tables checked in integers",
)

SOLVERS = (HIGHS, CPSAT, SCIP, SCIPY)
