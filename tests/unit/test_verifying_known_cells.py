"""Certificates of cells that are known exactly, by hand: each check is needed."""

from __future__ import annotations

import copy

import pytest

import cellbounds as cb
from cellbounds.certificates.verifying import verify_certificate
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import read_statement
from cellbounds.certificates.verifying.verify import digest

DOMAIN = {"a": ["x", "y", "z"], "b": ["p", "q"]}
NAMES = ["xp", "xq", "yp", "yq", "zp", "zq"]


def margin(names, counts):
    return {"margin": {"variables": list(names), "counts": counts}}


def limits(**known):
    said = {"variables": ["a", "b"], "lower": None, "upper": None, "values": None}
    return {"prior": said | known | {"keyed": list(known)}}


def signed(made):
    release = made["release"]
    space = Space(release["domain"], release["groupings"])
    said = [read_statement(one, place, space) for place, one in enumerate(release["statements"])]
    return made | {"release": release | {"digest": digest(space, said)}}


def claimed(statements, table, *, known=(), told=(), moving=(), changes=(), figures=(), steps=()):
    """A certificate; cells by their labels."""
    return signed(
        {
            "format": "cellbounds-known/1",
            "version": "0",
            "public": True,
            "release": {"domain": DOMAIN, "groupings": {}, "statements": statements},
            "over": ["a", "b"],
            "kind": "known",
            "known": [NAMES.index(name) for name in known],
            "told": [NAMES.index(name) for name in told],
            "moving": [NAMES.index(name) for name in moving],
            "table": list(table),
            "changes": [
                [[NAMES.index(name) for name in change], list(change.values())]
                for change in changes
            ],
            "figures": [list(one) for one in figures],
            "steps": list(steps),
        }
    )


# Nobody in y, so that xp is all of p but zp; x, z, p and q leave a square that moves.
SAID = [margin("a", [3, 0, 4]), margin("b", [5, 2])]
TABLE = (2, 1, 0, 0, 3, 1)
GOOD = claimed(
    SAID,
    TABLE,
    known=["yp", "yq"],
    moving=["xp", "xq", "zp", "zq"],
    changes=[{"xp": 1, "xq": -1, "zp": -1, "zq": 1}],
    figures=[(0, 1)],
    steps=[0],
)


def test_a_good_one():
    found = verify_certificate(GOOD)
    assert found.settled
    counted = {name: number for name, number in found.to_dict()["counts"].items() if number}
    assert counted == {"cells": 6, "witnesses": 2, "known": 2, "differing": 4}


WRONG = {
    "a cell that moves is known": (
        {"known": [0, 2, 3], "moving": [1, 4, 5]},
        "cell (a=x, b=p): no step shows that it is known",
    ),
    "no step": ({"steps": []}, "cell (a=y, b=p): no step shows that it is known"),
    "a figure of cells that move": (
        {"figures": [[0, 0]]},
        "step 0 leaves several cells that can differ",
    ),
    "a statement that is not there": ({"figures": [[2, 0]]}, "a figure that is none of a sum"),
    "a figure that is not there": ({"figures": [[0, 3]]}, "a figure that is none of a sum"),
    "a cell that no change moves": (
        {"known": [3], "moving": [0, 1, 2, 4, 5]},
        "cell (a=y, b=p): no two consistent tables differ in it",
    ),
    "a change of nothing": (
        {"changes": [[[0, 1, 4, 5], [0, 0, 0, 0]]]},
        "cell (a=x, b=p): no two consistent tables differ in it",
    ),
    "a change that is not consistent": (
        {"changes": [[[0, 1, 4, 5], [1, -1, -1, 2]]]},
        "changes 0: it contradicts statement 0 (margin) [a] at (a=z)",
    ),
    "a change below 0": (
        {"changes": [[[0, 1, 4, 5], [-3, 3, 3, -3]]]},
        "changes 0: a count below 0",
    ),
    "another table": (
        {"table": [3, 1, 0, 0, 3, 1]},
        "the table: it contradicts statement 0 (margin) [a] at (a=x)",
    ),
    "a table that does not fit says nothing of what is constant": (
        {"table": [3, 1, 0, 0, 3, 1]},
        "nothing is known to be constant without a consistent table",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name):
    change, why = WRONG[name]
    found = verify_certificate(GOOD | change)
    assert not found.ok
    assert any(why in problem for problem in found.problems), found.problems


def test_another_release_is_found():
    made = copy.deepcopy(GOOD)
    made["release"]["statements"][0]["margin"]["counts"][1] = None
    (problem, *_) = verify_certificate(made).problems
    assert problem == "the digest is not that of the statements"
    assert not verify_certificate(signed(made)).ok


MALFORMED = {
    "known twice": ({"known": [2, 2]}, "known lists a cell that was listed before"),
    "known and moving": ({"moving": [0, 1, 2, 4, 5]}, "moving lists a cell that was listed"),
    "a cell that is not there": ({"known": [6]}, "known: 6 of 6"),
    "a cell below 0": ({"known": [-1]}, "known is too small"),
    "a table that is too short": ({"table": [2, 1, 0, 0, 3]}, "table has 5 entries"),
    "a negative table": ({"table": [2, 1, 0, -1, 3, 1]}, "a count of the table is too small"),
    "a change of a cell that is not there": ({"changes": [[[6], [1]]]}, "changes\\[0\\]: 6 of 6"),
    "a change of a cell twice": ({"changes": [[[0, 0], [1, -1]]]}, "lists a cell twice"),
    "a change without numbers": ({"changes": [[[0], []]]}, "has 0 entries; it needs 1"),
    "a step of a figure that is not listed": ({"steps": [1]}, "steps\\[0\\]: 1 of 1"),
    "a step without times": ({"steps": [[[0], []]]}, "has 0 entries; it needs 1"),
    "another kind": ({"kind": "sharp"}, "kind is 'sharp'"),
    "another key": ({"sworn": True}, "the key 'sworn'"),
    "figures of several cells": ({"over": ["a"], "known": [1]}, "not a single cell"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_refused(name):
    change, says = MALFORMED[name]
    with pytest.raises(cb.InvalidInput, match=says):
        verify_certificate(GOOD | {"moving": [], "changes": []} | change)


def known(found, made):
    """Whether everything that a certificate says is known was found to be."""
    return found.settled and found.known == len(made["known"])


STEPS = {
    # Each: statements, the table, what is known, the figures and steps; and what spoils it.
    "a single cell that is left": (
        [margin("ab", [[2, None], [None, None], [None, None]]), margin("a", [3, None, None])],
        (2, 1, 5, 5, 5, 5),
        ["xp", "xq"],
        [(0, 0), (1, 0)],
        [0, 1],
        margin("a", ["2-3", None, None]),
    ),
    "cells at their least, in a sum at its most": (
        [limits(lower=[[["x", "p"], 1], [["x", "q"], 2]]), margin("a", ["<=3", None, None])],
        (1, 2, 5, 5, 5, 5),
        ["xp", "xq"],
        [(1, 0)],
        [0],
        margin("a", ["<=4", None, None]),
    ),
    "cells at their most, in a sum at its least": (
        [limits(upper=[[["x", "p"], 1], [["x", "q"], 2]]), margin("a", [">=3", None, None])],
        (1, 2, 5, 5, 5, 5),
        ["xp", "xq"],
        [(1, 0)],
        [0],
        margin("a", [">=2", None, None]),
    ),
    "one sum less another": (  # all but the x are known to be 1 or more, and are 4
        [
            limits(lower=[[["y", "p"], 1], [["y", "q"], 1], [["z", "p"], 1], [["z", "q"], 1]]),
            margin("", 6),
            margin("a", [2, None, None]),
        ],
        (1, 1, 1, 1, 1, 1),
        ["yp", "yq", "zp", "zq"],
        [(1, 0), (2, 0)],
        [[[0, 1], [1, -1]]],
        margin("a", ["1-2", None, None]),
    ),
    "what was found not to change stays so": (  # q is at its most; then q and x leave xp
        [
            limits(lower=[[["x", "q"], 2], [["y", "q"], 0], [["z", "q"], 1]]),
            margin("b", [None, "<=3"]),
            margin("a", [9, None, None]),
        ],
        (7, 2, 5, 0, 5, 1),
        ["xp", "xq", "yq", "zq"],
        [(1, 1), (2, 0)],
        [0, [[0, 1], [1, 1]]],
        margin("b", [None, "<=4"]),
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_prove_what_they_prove_and_no_more(name):
    statements, table, cells, figures, steps, instead = STEPS[name]
    made = claimed(statements, table, known=cells, figures=figures, steps=steps)
    assert known(verify_certificate(made), made)
    # The last sum said more loosely: the table is as consistent as before.
    place = next(
        at
        for at, one in enumerate(statements)
        if "margin" in one and one["margin"]["variables"] == instead["margin"]["variables"]
    )
    loose = [*statements[:place], instead, *statements[place + 1 :]]
    wrong = claimed(loose, table, known=cells, figures=figures, steps=steps)
    found = verify_certificate(wrong)
    assert not found.ok
    assert found.witnesses == 1
    for cell in cells:
        more = list(table)
        more[NAMES.index(cell)] += 100
        assert not verify_certificate(made | {"table": more}).ok
    assert not verify_certificate(made | {"steps": []}).ok


def test_a_figure_that_is_taken_no_time_says_nothing():
    made = claimed(SAID, TABLE, known=["yp"], figures=[(0, 1)], steps=[[[0], [0]]])
    assert not verify_certificate(made).ok


def test_terms_of_both_signs_may_make_up_for_each_other():
    """Both cells of y are 0 and may only rise: y less y is nothing, but p less q is not."""
    made = claimed(SAID[1:], TABLE, known=["yp", "yq"], figures=[(0, 0), (0, 1)])
    for times in ([1, -1], [-1, 1], [1, 1], [-1, -1]):
        assert not verify_certificate(made | {"steps": [[[0, 1], times]]}).ok


@pytest.mark.parametrize(("count", "settled"), [(0, True), (1, False)])
def test_cells_that_are_told_to_be_known_are_proved_anew(count, settled):
    """Of y there is nobody, or perhaps somebody."""
    said = [margin("a", [3, count, 4]), margin("b", [5, 2 + count])]
    table = (2, 1, 0, count, 3, 1)
    found = verify_certificate(claimed(said, table, told=["yp"]))
    assert found.ok
    assert (found.settled, found.reproved, found.not_reproved) == (settled, settled, not settled)
    stepped = claimed(SAID, TABLE, told=["yp"], figures=[(0, 1)], steps=[0])
    assert verify_certificate(stepped).reproved == 1


def test_counts_that_pass_64_bits():
    huge = 2**63
    said = [margin("a", [2 * huge, 0, 1])]
    made = claimed(said, (huge, huge, 0, 0, 1, 0), known=["yp"], figures=[(0, 1)], steps=[0])
    moved = {"moving": [0, 1], "changes": [[[0, 1], [huge, -huge]]]}
    found = verify_certificate(made | moved)
    assert (found.settled, found.differing, found.known) == (True, 2, 1)
    assert not verify_certificate(made | {"moving": [0], "changes": [[[0], [2 * huge]]]}).ok


def test_a_cell_beside_one_that_nothing_limits_is_left_open():
    """x holds three or more, five of them at most in p."""
    said = [
        margin("ab", [["<=5", None], [None, None], [None, None]]),
        margin("a", [">=3", None, None]),
    ]
    found = verify_certificate(claimed(said, (5, 1, 0, 0, 0, 0), told=["xp"]))
    assert (found.ok, found.settled, found.not_reproved) == (True, False, 1)
