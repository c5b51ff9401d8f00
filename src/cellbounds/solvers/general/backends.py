"""What answers single questions about one problem, made when first needed.

Everything here answers the same question in the same way, whatever it was asked before, and may
therefore be shared by searches that must not know of each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from cellbounds.model.constraints import NO_UPPER
from cellbounds.model.linear_programs import LinearProgram
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.general.cp_sat import IntegerProgram, fits_solver
from cellbounds.solvers.general.duals import Duals
from cellbounds.solvers.general.nested_families import Nested

__all__ = ["CAP", "Solvers"]

CAP = 10**6
"""Cells that nothing limits are searched so far up; beyond, only proofs count."""


@dataclass(slots=True, eq=False)
class Solvers:
    """Solvers of a problem, and of the same reduced to `small`, whose cells are its `numbers`."""

    full: Problem
    small: Problem
    numbers: IntArray
    _interior: LinearProgram | None = field(init=False, default=None)
    _duals: Duals | None = field(init=False, default=None)
    _integers: IntegerProgram | None = field(init=False, default=None)
    _sendable: bool | None = field(init=False, default=None)
    _component: IntArray | None = field(init=False, default=None)
    _nested: Nested | None = field(init=False, default=None)

    def program(self) -> LinearProgram:
        """The linear relaxation: always the same one if it does not remember its last answer.

        Interior points begin anew for each question; the simplex method begins where the last
        question ended, so that whoever wants the same answers again needs a new program.
        """
        if self._interior is not None:
            return self._interior
        made = LinearProgram(self.small)
        if made.interior:
            self._interior = made
        return made

    @property
    def duals(self) -> Duals:
        """Evaluation of dual vectors."""
        if self._duals is None:
            self._duals = Duals(self.small)
        return self._duals

    @property
    def nested(self) -> Nested:
        """Whether the rows are nested, of which the values of sums may follow."""
        if self._nested is None:
            self._nested = Nested(self.full)
        return self._nested

    @property
    def components(self) -> IntArray:
        """The smallest cell that each cell is connected with."""
        if self._component is None:
            self._component = self.small.components()
        return self._component

    @property
    def sendable(self) -> bool:
        """Whether the integer solver can take the problem."""
        if self._sendable is None:
            self._sendable = fits_solver(self.for_integers())
        return self._sendable

    @property
    def integers(self) -> IntegerProgram:
        """The integer program."""
        if self._integers is None:
            self._integers = IntegerProgram(self.for_integers())
        return self._integers

    def for_integers(self) -> Problem:
        """The problem with cells that nothing limits cut off, CAP above what they hold at least."""
        endless = self.small.upper == NO_UPPER
        if not endless.any():
            return self.small
        capped = np.where(endless, self.small.lower + CAP, self.small.upper)
        return replace(self.small, upper=capped)
