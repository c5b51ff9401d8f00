"""Attackers who know more, tried by integer programs of their own on protected tables.

They see marks, or are in small cells themselves, alone or two together. The programs are over the
cells of the table and know nothing of how figures were chosen.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.protecting import look_alike, table_of
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix, vstack

import cellbounds as cb
from bruteforce import cell_index_of
from cellbounds.policies import Policy, SmallCounts

INSTANCES = Path(__file__).parents[3] / "shared" / "instances" / "suppression" / "tables"

ATTACKERS = {
    "marks": ({}, True),
    "one person": ({"respondents": 1}, False),
    "two people": ({"respondents": 2}, False),
    "one person and marks": ({"respondents": 1}, True),
    "two people who conclude nothing from zeros": ({"respondents": 2, "zeros": "never"}, False),
}


class Program:
    """The tables that fit a protected release, before somebody who knows people in small cells.

    `rows` adds the cells of the table up to those of every margin that is judged.
    """

    def __init__(self, done: cb.Protected, table: cb.Table, people: int, below: int) -> None:
        release = done.release
        stated = {one.variables: one for one in release.statements if one.variables}
        matrices, least, most = [], [], []
        for names in dict.fromkeys(sheet.names for sheet in done.cells.sheets):
            shape = [len(release.domain.levels(name)) for name in names]
            inside = [
                (np.ravel_multi_index(index, shape), cell)
                for cell, labels in enumerate(table.domain.cells())
                for index in cell_index_of(release, labels, names)
            ]
            rows, columns = np.array(inside).T
            size = int(np.prod(shape)), table.domain.size
            matrices.append(csr_matrix((np.ones(len(rows)), (rows, columns)), size))
            low, high = np.zeros(size[0]), np.full(size[0], np.inf)
            if names in stated:
                for place, entry in enumerate(stated[names].entries.ravel().tolist()):
                    low[place], high[place] = ends(entry)
            true = matrices[-1] @ table.counts.ravel()
            small = (true >= 1) & (true < below)
            low[small] = np.maximum(low[small], np.minimum(true[small], people))
            least.append(low)
            most.append(high)
        everybody = csr_matrix(np.ones((1, table.domain.size)))
        self.rows = vstack([*matrices, everybody]).tocsr()
        self.least = np.concatenate([*least, [table.total]])
        self.most = np.concatenate([*most, [table.total]])
        self.true = np.rint(self.rows @ table.counts.ravel()).astype(int)
        self.small = np.flatnonzero((self.true >= 1) & (self.true < below))

    def table(self, aims: np.ndarray, at: int, low: float, high: float) -> np.ndarray | None:
        """A table with a sum between limits, the largest by its aims; None if there is none."""
        least, most = self.least.copy(), self.most.copy()
        least[at], most[at] = max(least[at], low), min(most[at], high)
        if least[at] > most[at]:
            return None
        found = milp(
            -aims,
            integrality=np.ones(self.rows.shape[1]),
            bounds=Bounds(0, np.inf),
            constraints=LinearConstraint(self.rows, least, most),
            options={"mip_rel_gap": 1.0},
        )
        assert found.status in (0, 2)  # settled: a table, or none
        return None if found.x is None else np.rint(self.rows @ np.rint(found.x)).astype(int)

    def exposed(self) -> list[int]:
        """Small counts that no other table that fits shows to be uncertain."""
        rng = np.random.default_rng(0)
        left, exposed = dict.fromkeys(self.small.tolist()), []
        while left:
            cell = next(iter(left))
            for low, high in ((self.true[cell] + 1, np.inf), (0, self.true[cell] - 1)):
                found = self.table(rng.normal(size=self.rows.shape[1]), cell, low, high)
                if found is not None:
                    break
            if found is None:
                exposed.append(cell)
                del left[cell]
                continue
            assert (found >= self.least - 0.5).all()
            assert (found <= self.most + 0.5).all()
            left = {one: None for one in left if found[one] == self.true[one]}
        return exposed


def ends(entry: int | str | None) -> tuple[float, float]:
    """What an entry of a margin says of a count."""
    if entry is None:
        return 0, np.inf
    if isinstance(entry, int):
        return entry, entry
    if entry.startswith(">="):
        return int(entry[2:]), np.inf
    low, high = entry.split("-")
    return int(low), int(high)


def attacked(instance: dict, attacker: str, work: int, seconds: float | None = None):
    """A protected table, and the small counts that are exposed."""
    (intruder, marked), below = ATTACKERS[attacker], instance["threshold"]
    table, margins = table_of(instance)
    rule = SmallCounts(below=below, zeros=False, values=2)
    policy = Policy("house", rules=(rule,), intruder=intruder)
    done = cb.protect(table, *margins, policy=policy, marked=marked, work=work, seconds=seconds)
    return done, Program(done, table, intruder.get("respondents", 0), below).exposed()


def unprotectable(done: cb.Protected) -> int:
    """How many cells are named as such."""
    return len({(one.variables, one.labels) for one in done.unprotectable})


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_only_what_cannot_be_protected_is_exposed(attacker: str) -> None:
    """With marks a total of two people in two cells is hopeless; else nothing is."""
    done, exposed = attacked(look_alike(places=(2, 2), ages=3), attacker, work=1)
    assert 0 < done.proven[1] == done.proven[0] - unprotectable(done)
    assert len(exposed) == unprotectable(done)
    assert not exposed or ATTACKERS[attacker][1]


def test_the_program_finds_what_is_exposed() -> None:
    """Small counts that are hidden alone, as far as zeros and marks tell."""
    table = cb.Table(cb.Domain({"A": ["x", "y", "z"]}), [1, 1, 9])
    policy = Policy("house", rules=(SmallCounts(below=3, zeros=False, values=2),))
    done = cb.protect(table, "[A]", policy=policy)
    assert not Program(done, table, 0, 3).exposed()
    marked = cb.protect(table, "[A]", policy=policy, marked=True)
    assert not Program(marked, table, 0, 3).exposed()
    open_ = done.cells.protected(done.cells.counts < 3, ">=1")
    assert Program(_Shown(open_, done.cells), table, 0, 3).exposed() == [0, 1]


class _Shown:
    def __init__(self, release, cells) -> None:
        self.release, self.cells = release, cells


@pytest.mark.long
@pytest.mark.parametrize("attacker", ATTACKERS)
@pytest.mark.parametrize("file", sorted(INSTANCES.glob("*.json")), ids=lambda file: file.stem)
def test_nothing_is_exposed_in_real_tables(file: Path, attacker: str) -> None:
    done, exposed = attacked(json.loads(file.read_text()), attacker, work=2, seconds=120)
    assert len(exposed) == unprotectable(done)
    assert not exposed or ATTACKERS[attacker][1]
