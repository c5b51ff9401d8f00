"""What answers single questions about one problem: programs, splittings, integer programs."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from cellbounds.model.linear_programs import LinearProgram
from cellbounds.model.problem import Problem
from cellbounds.model.splitting import Splitting, margin_axes
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.devices import CPU, Device
from cellbounds.solvers.general.cp_sat import IntegerProgram, fits_solver
from cellbounds.solvers.general.hypercubes import moves_of
from cellbounds.solvers.general.nested_families import Nested
from cellbounds.statements import Release
from cellbounds.statements.inequalities import NO_UPPER

CAP = 10**6
"""Cells that nothing limits are searched so far up; beyond, only proofs count."""

SPLIT = 100
"""Cells left from which on splitting beats programs, where there are complete margins alone."""

MOST_QUICK = 1_500
"""Cells left up to which integer programs mostly end in a moment."""


class Solvers:
    """What answers single questions about one problem, made when first needed.

    Everything here answers the same question in the same way, whatever it was asked before, and may
    therefore be shared by searches that must not know of each other. `small` is the reduced one.
    """

    def __init__(self, full: Problem, small: Problem) -> None:
        self.full, self.small = full, small
        self._interior: LinearProgram | None = None
        self._parts: dict[int, IntegerProgram] = {}
        self._splittings: dict[str, Splitting] = {}
        self._faces: tuple[tuple[int, ...], ...] | None = None

    def splitting(
        self, release: Release, table: IntArray, device: Device = CPU
    ) -> Splitting | None:
        """The splitting of a release of complete margins; None if it is not one.

        It is the same whichever table (flat, of the whole) it is made from.
        """
        faces = self._margins(release)
        if device.name not in self._splittings and faces:
            limits = self.full.lower, self.full.upper
            self._splittings[device.name] = Splitting(
                release.domain.shape, faces, *limits, table, device=device
            )
        return self._splittings.get(device.name)

    def splits(self, release: Release) -> bool:
        """Whether bounds are found faster by splitting than by programs."""
        return len(self.small.lower) >= SPLIT and bool(self._margins(release))

    @property
    def integers_are_quick(self) -> bool:
        """Whether integer programs are worth a moment before long repairs."""
        return len(self.small.lower) < MOST_QUICK

    def _margins(self, release: Release) -> tuple[tuple[int, ...], ...]:
        """The axes of complete margins if nothing else was said, and cells have limits and move."""
        if self._faces is None:
            # Tables at the bound are found by moves: without any, programs give them.
            limited = bool(moves_of(release)) and not (self.full.upper == NO_UPPER).any()
            self._faces = tuple((margin_axes(release) or {}).values()) if limited else ()
        return self._faces

    def program(self) -> LinearProgram:
        """The linear relaxation: always the same one if it does not remember its last answer.

        Interior points begin anew for each question; the simplex method begins where the last
        question ended, so that whoever wants the same answers again needs a new program.
        """
        if self._interior is not None:
            return self._interior
        program = LinearProgram(self.small)
        if program.interior:
            self._interior = program
        return program

    @cached_property
    def nested(self) -> Nested:
        """Which sums take every value between two that they take."""
        return Nested(self.full)

    @cached_property
    def components(self) -> IntArray:
        """The smallest cell that each cell is connected with."""
        return self.small.components()

    @cached_property
    def sendable(self) -> bool:
        """Whether the integer solver can take the problem."""
        return fits_solver(self.cut_off)

    @cached_property
    def integers(self) -> IntegerProgram:
        """The integer program."""
        return IntegerProgram(self.cut_off)

    def part(self, near: BoolArray) -> IntegerProgram:
        """The integer program of the cells that are connected with some cell."""
        label = int(np.argmax(near))
        if label not in self._parts:
            problem = self.small if near.all() else self.small.restricted(near)
            self._parts[label] = IntegerProgram(problem)
        return self._parts[label]

    @cached_property
    def cut_off(self) -> Problem:
        """The problem with cells that nothing limits cut off, CAP above what they hold at least."""
        endless = self.small.upper == NO_UPPER
        if not endless.any():
            return self.small
        capped = np.where(endless, self.small.lower + CAP, self.small.upper)
        return replace(self.small, upper=capped)
