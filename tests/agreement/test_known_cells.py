"""Certificates of which of many cells are known exactly: true ones are verified, false ones never.

What is true is known from the list of all tables.
"""

from __future__ import annotations

import copy
import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.certificates.making import known_cells
from cellbounds.certificates.verifying.known_cells import Changes
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import read_statement
from cellbounds.model.constraints import compile_release
from cellbounds.results.solution import Constants
from cellbounds.solvers.general.constant_proofs import constant_steps, stated_sums
from listing import listed
from mixtures import cases
from strategies import few

SUMS = ("margin", "margin", "loose", "prior", "zeros")


def certified(release, tables, first, changed):
    """A certificate of a small release, made as of a large one; None if it has more than sums."""
    system = compile_release(release)
    problem = stated_sums(system, release.domain.size)
    if problem is None:
        return None
    table = tables[first]
    constant = (tables == tables[0]).all(axis=0)
    steps, proven = constant_steps(problem, table, constant)
    assert not (proven & ~constant).any()
    chosen = tables[changed]
    found = Constants(
        np.flatnonzero(proven),
        np.flatnonzero(constant & ~proven),
        np.flatnonzero((chosen != table).any(axis=0)),
        (table, *chosen),
        steps.starts,
        np.stack([system.statement, system.figure], axis=1)[steps.rows],
        steps.times,
    )
    said = {"digest": release.digest, **release.to_dict()}
    head = {"version": "0", "public": True, "release": said, "over": list(release.domain.names)}
    claims = known_cells(found, np.arange(release.domain.size))
    return json.loads(json.dumps(head | claims))


def settled(made):
    """Whether a certificate is believed; what cannot be read is not."""
    try:
        return cb.verify_certificate(json.loads(json.dumps(made)), seconds=60).settled
    except cb.InvalidInput:
        return False


def is_true(made, release, tables):
    """Whether every claim holds for the tables of a release."""
    if made["release"]["digest"] != release.digest:
        return False
    consistent = set(map(tuple, tables.tolist()))
    shown = [list(made["table"])]
    for cells, by in made["changes"]:
        shown.append(list(made["table"]))
        for cell, change in zip(cells, by, strict=True):
            shown[-1][cell] += change
    if not set(map(tuple, shown)) <= consistent:
        return False
    constant = (tables == tables[0]).all(axis=0)
    if not all(constant[cell] for key in ("known", "told") for cell in made[key]):
        return False
    return not any(constant[cell] for cell in made["moving"])


def claim_known(draw, made):
    """Of cells that move it is said that they do not; perhaps the tables go that show it."""
    if made["moving"]:
        cell = draw(st.sampled_from(made["moving"]))
        made["moving"].remove(cell)
        made[draw(st.sampled_from(["known", "known", "told"]))].append(cell)
        if draw(st.booleans()):
            made["changes"], made["moving"] = [], []


def swear_a_step(draw, made):
    """Steps that prove what is false, if figures could be had as one likes."""
    claim_known(draw, made)
    count = len(made["figures"])
    if count:
        rows = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))
        times = [draw(st.sampled_from([-2, -1, 1, 1, 2])) for _ in rows]
        made["steps"].insert(draw(st.integers(0, len(made["steps"]))), [rows, times])


def other_figure(draw, made):
    claim_known(draw, made)
    statements = len(made["release"]["statements"])
    if statements:
        made["figures"].append([draw(st.integers(0, statements)), draw(st.integers(0, 4))])
        made["steps"].append(len(made["figures"]) - 1)


def claim_moving(draw, made):
    if made["known"]:
        made["moving"].append(made["known"].pop(draw(st.integers(0, len(made["known"]) - 1))))


def change_the_table(draw, made):
    cell = draw(st.integers(0, len(made["table"]) - 1))
    made["table"][cell] = max(0, made["table"][cell] + draw(st.sampled_from([-1, 1])))


def change_a_change(draw, made):
    cell = draw(st.integers(0, len(made["table"]) - 1))
    made["changes"].append([[cell], [draw(st.sampled_from([-1, 1]))]])
    if cell in made["known"]:
        made["known"].remove(cell)
        made["moving"].append(cell)


CHANGES = (
    claim_known, swear_a_step, swear_a_step, other_figure, claim_moving, change_the_table,
    change_a_change,
)  # fmt: skip


@few(60)
@given(cases(kinds=SUMS, spoil=False), st.data())
def test_steps_that_are_taken_prove_nothing_false(case, data):
    """Whatever figures are added up, in whatever order: what is known then is the same everywhere.

    First each figure alone and each with each, as often as they are taken; then some at random.
    """
    tables = listed(case.release, case.largest)
    constant = (tables == tables[0]).all(axis=0)
    said = json.loads(json.dumps(case.release.to_dict()))
    space = Space(said["domain"], said.get("groupings", {}))
    statements = [read_statement(one, place, space) for place, one in enumerate(said["statements"])]
    names = [
        (place, figure)
        for place, one in enumerate(statements)
        for figure in range(one.behind.size)
    ]  # fmt: skip
    table = tables[data.draw(st.integers(0, len(tables) - 1))]
    changes = Changes(space, statements, table)
    steps = [([name], [1]) for name in names]
    steps += [([one, two], [1, by]) for one in names for two in names for by in (-1, 1)]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    for _ in range(100 if names else 0):
        chosen = rng.integers(0, len(names), 3)
        steps.append(([names[k] for k in chosen], rng.integers(-2, 3, 3).tolist()))
    for figures, times in steps:
        changes.take(figures, times)
        for cell in np.flatnonzero(~constant).tolist():
            assert not changes.is_known(cell), (figures, times)


@few(30)
@given(cases(kinds=SUMS, spoil=False), st.data())
def test_only_true_certificates_are_verified(case, data):
    tables = listed(case.release, case.largest)
    first = data.draw(st.integers(0, len(tables) - 1))
    changed = data.draw(st.lists(st.integers(0, len(tables) - 1), max_size=3))
    made = certified(case.release, tables, first, changed)
    if made is None:
        return
    assert is_true(made, case.release, tables)
    if not made["told"]:
        assert settled(made)
    for _ in range(8):
        wrong = copy.deepcopy(made)
        for _ in range(data.draw(st.integers(1, 2))):
            data.draw(st.sampled_from(CHANGES))(data.draw, wrong)
        if not is_true(wrong, case.release, tables):
            assert not settled(wrong), wrong


@few(10)
@given(cases(kinds=SUMS, spoil=False), st.data())
def test_signed_anew_without_a_statement(case, data):
    release = case.release
    tables = listed(release, case.largest)
    made = certified(release, tables, 0, [])
    if made is None or not release.statements:
        return
    gone = data.draw(st.integers(0, len(release.statements) - 1))
    left = [one for place, one in enumerate(release.statements) if place != gone]
    weaker = cb.Release(release.domain, left)
    wrong = made | {
        "release": json.loads(json.dumps({"digest": weaker.digest, **weaker.to_dict()}))
    }
    if not is_true(wrong, weaker, listed(weaker, case.largest + 2)):
        assert not settled(wrong)
