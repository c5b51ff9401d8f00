"""Proofs by rows alone: what they show is believed, and nothing beyond it.

A forger drops what would give him away, witnesses and attained counts, and claims one count more
than is true; his proof lists the true sums, none, or all that the rows may have.
"""

from __future__ import annotations

import copy
import json
from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.certificates.verifying.row_proofs import (
    RowWork,
    covers,
    inside,
    leaving_one_out,
    numbers_of,
    progressions,
    proofs_by_rows,
)
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import read_statement

ROWS = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
THREE = cb.Domain({"row": ["a", "b", "c"], "col": ["x", "y", "z"]})
SEX = cb.Domain({"row": ["a", "b"], "col": ["x", "y"], "sex": ["f", "m"]})
THIRDS = [[Fraction(1, 3), Fraction(2, 3)], [Fraction(1, 4), Fraction(3, 4)]]


def rates(figures, **options):
    return cb.Conditional(["col"], ["row"], rates=figures, **options)


NEAREST = rates([["0.3", "0.7"], ["0.5", "0.5"]], rounding="nearest")
WIDE = rates([["0.4", "0.6"], ["0.5", "0.5"]], eps="0.2")
DOWN = rates([["0.1", "0.3", "0.5"], ["0.2", "0.2", "0.4"], ["0.0", "0.6", "0.3"]], rounding="down")

RELEASES = {
    "rounded": cb.Release(ROWS, [NEAREST, cb.Total(17)]),
    "exact": cb.Release(ROWS, [rates(THIRDS), cb.Total(29)]),
    "one that is exact": cb.Release(
        ROWS,
        [
            rates(
                [[Fraction(1, 3), Fraction(2, 3)], ["0.4", "0.6"]], eps=[["0", "0"], ["0.1", "0.1"]]
            ),
            cb.Total(23),
        ],
    ),
    "open ends": cb.Release(
        ROWS, [rates([["0.25", "0.75"], ["0.5", "0.5"]], eps="0.05", strict=True), cb.Total(19)]
    ),
    "N between two": cb.Release(ROWS, [NEAREST, cb.Total(lower=9, upper=12)]),
    "N at most": cb.Release(ROWS, [NEAREST, cb.Total(upper=12)]),
    "limits of cells": cb.Release(
        ROWS,
        [
            WIDE,
            cb.Total(14),
            cb.Known(["row", "col"], lower={("a", "x"): 3}, upper={("b", "y"): 4}),
        ],
    ),
    "limits of rows": cb.Release(
        ROWS, [WIDE, cb.Total(14), cb.Known(["row"], lower={"a": 5}, upper={"b": 8})]
    ),
    "a margin of its own": cb.Release(
        ROWS, [WIDE, cb.Margin(["row"], ["6-7", "<9"]), cb.Total(13)]
    ),
    "three by three": cb.Release(THREE, [DOWN, cb.Total(31)]),
    "an empty row": cb.Release(
        ROWS,
        [rates([["0.3", "0.7"], [None, None]], missing="zero", rounding="nearest"), cb.Total(10)],
    ),
    "a variable left out": cb.Release(SEX, [NEAREST, cb.Total(17)]),
    "parts that are limited": cb.Release(
        SEX,
        [
            NEAREST,
            cb.Total(17),
            cb.Known(["row", "col", "sex"], lower={("a", "x", "f"): 1}, upper={("b", "y", "m"): 2}),
        ],
    ),
}


def verified(made):
    return cb.verify_certificate(json.loads(json.dumps(made)), seconds=60)


def bounds_of(made):
    for cell in made["cells"]:
        for side, sign in (("lower", 1), ("upper", -1)):
            yield cell[side], sign


@pytest.mark.parametrize("name", RELEASES)
def test_what_is_proven_by_rows_is_sharp(name):
    made = json.loads(json.dumps(cb.bounds(RELEASES[name]).certificate()))
    assert made["evidence"] == "exact"
    by_rows = sum(bound["proof"]["kind"] == "rows" for bound, _ in bounds_of(made))
    assert by_rows
    found = verified(made)
    assert found.settled
    assert (found.rows, found.reproved, found.not_reproved) == (by_rows, 0, 0)
    sworn = copy.deepcopy(made)
    for bound, _ in bounds_of(sworn):
        if bound["proof"]["kind"] == "rows":
            bound["proof"] = {"kind": "method", "text": "sworn"}
    found = verified(sworn)
    assert found.settled
    assert (found.rows, found.not_reproved) == (0, 0)


@pytest.mark.parametrize("name", RELEASES)
def test_one_count_more_is_not_believed(name):
    made = json.loads(json.dumps(cb.bounds(RELEASES[name]).certificate()))
    # Without witnesses nothing but the proofs speaks against him.
    made |= {"evidence": "outer", "witnesses": []}
    for bound, _ in bounds_of(made):
        bound |= {"attained": None, "witness": None}
        if bound["proof"]["kind"] == "unbounded":
            bound["proof"] = {"kind": "method", "text": "sworn"}
    assert verified(made).settled
    statement, rows = made["rows"][0]["statement"], made["rows"][0]["sums"]
    for place, (bound, _) in enumerate(bounds_of(made)):
        proof = bound["proof"]
        if bound["proven"] is None or proof["kind"] not in ("rows", "nonnegative"):
            continue
        proofs = [
            {"kind": "rows", "statement": statement, "row": row, "sums": sums}
            for row, sums in enumerate(rows)
            if proof.get("row", row) == row
        ]
        if proof["kind"] == "rows":
            proofs.append(proof)
        for forged in proofs:
            wrong = copy.deepcopy(made)
            claim, sign = list(bounds_of(wrong))[place]
            claim |= {"proven": bound["proven"] + sign, "proof": forged}
            assert not verified(wrong).settled, (place, forged)


def test_sums_that_rows_may_have_are_all_listed():
    made = json.loads(json.dumps(cb.bounds(RELEASES["rounded"]).certificate()))
    for row, sums in enumerate(made["rows"][0]["sums"]):
        for part in range(len(sums)):
            wrong = copy.deepcopy(made)
            del wrong["rows"][0]["sums"][row][part]
            assert not verified(wrong).settled
            wrong = copy.deepcopy(made)
            first, last, step = sums[part]
            wrong["rows"][0]["sums"][row][part] = [first + step, max(last, first + step), step]
            assert not verified(wrong).settled
            if last > first:
                wrong["rows"][0]["sums"][row][part] = [first, last - step, step]
                assert not verified(wrong).settled


def test_gaps_among_small_sums_are_listed_where_all_large_ones_may_be():
    made = json.loads(
        json.dumps(cb.bounds(cb.Release(ROWS, [NEAREST, cb.Total(5000)])).certificate())
    )
    sums = made["rows"][0]["sums"][0]
    assert len(sums) > 2
    assert verified(made).settled
    for part in range(len(sums)):
        wrong = copy.deepcopy(made)
        del wrong["rows"][0]["sums"][0][part]
        assert not verified(wrong).settled


def members(part, most=60):
    first, last, step = part
    return set(range(first, most + 1 if last is None else last + 1, step))


PARTS = [(0, 0, 1), (3, 9, 3), (3, 3, 1), (4, None, 2), (5, 11, 1), (6, 12, 6), (0, None, 5)]


def test_progressions_that_hold_one_another():
    for one in PARTS:
        for other in PARTS:
            held = members(other) <= members(one) and (one[1] is None or other[1] is not None)
            assert covers([one], other) is held, (one, other)
    two = [(0, 4, 2), (7, 9, 1)]
    assert not covers(two, (0, 8, 2))
    assert covers(two, (8, 9, 1))
    assert not covers(two, (6, 7, 1))
    assert not covers([(3, 9, 3)], (0, 0, 1))
    assert not covers([], (0, 0, 1))


def test_numbers_of_progressions():
    assert numbers_of([(0, 4, 2), (7, 7, 1)]).tolist() == [0, 2, 4, 7]
    assert numbers_of([(0, None, 2)]) is None
    assert numbers_of([(0, 1 << 25, 1)]) is None
    assert numbers_of([(0, 1 << 24, 1)]) is None  # one too many
    for first in (1 << 25, 1 << 64):
        assert numbers_of([(first, first + 4, 2)]).tolist() == [first, first + 2, first + 4]
    numbers = np.arange(15)
    parts = [(1, 5, 2), (8, None, 3)]
    assert numbers[inside(numbers, parts)].tolist() == [1, 3, 5, 8, 11, 14]
    assert numbers[inside(numbers, [(0, 0, 1)])].tolist() == [0]
    assert not inside(numbers, []).any()
    flags = np.array([True, True, False, True])
    assert progressions(flags, 6, 3, endless=False) == ((6, 9, 3), (15, 15, 3))
    assert progressions(flags, 6, 3, endless=True) == ((6, 9, 3), (15, None, 3))
    assert progressions(~flags, 6, 3, endless=True) == ((12, 12, 3), (18, None, 3))


def by_rows(release, work):
    made = json.loads(json.dumps(release.to_dict()))
    space = Space(made["domain"], made.get("groupings", {}))
    statements = [read_statement(said, at, space) for at, said in enumerate(made["statements"])]
    return proofs_by_rows(space, statements, work)[0]


def admitted(release, work):
    return by_rows(release, work).admitted


@pytest.mark.parametrize("name", RELEASES)
def test_sums_are_the_same_however_many_are_tried_at_once(name):
    whole = admitted(RELEASES[name], RowWork())
    for chunk in (1, 2, 3, 5):
        assert admitted(RELEASES[name], RowWork(chunk=chunk)) == whole


@pytest.mark.parametrize(
    ("tried", "sums"),
    [
        (4, ((3, 8, 1),)),  # 1 and 2
        (9, ((3, 3, 1), (5, 8, 1))),  # 1 to 4
        (10, ((3, 3, 1), (6, 8, 1))),
        (16, ((3, 3, 1), (6, 7, 1))),
    ],
)
def test_sums_that_are_not_tried_count_as_possible(tried, sums):
    """What may be tried is shared out between the two columns."""
    first, _ = admitted(cb.Release(ROWS, [NEAREST, cb.Total(9)]), RowWork(tried=tried))
    assert first == sums


def test_bounds_that_more_sums_could_break_than_are_tried_are_not_proved():
    """The first row has 2 or 4, as the second has 3 at least: both break it."""
    release = cb.Release(ROWS, [rates([["1/2", "1/2"], THIRDS[0]]), cb.Total(8)])
    asked = (np.array([0]), "upper", 0)
    assert by_rows(release, RowWork(tried=4)).breaking(*asked).tolist() == [2, 4]
    assert by_rows(release, RowWork(tried=3)).breaking(*asked) is None


def test_sums_end_with_what_n_leaves():
    """Of 3 to 8 in the first row, 4, 5 and 8 are no multiples of what rounds to 0.3."""
    first, _ = admitted(cb.Release(ROWS, [NEAREST, cb.Total(9)]), RowWork())
    assert first == ((3, 3, 1), (6, 7, 1))


def test_sums_of_all_but_one():
    sets = [[(0, 0, 1), (3, 9, 3)], [(0, None, 4)], [(0, 2, 2), (7, 7, 1)], [(0, 0, 1)]]
    window = 30
    for left, found in enumerate(leaving_one_out(sets, window)):
        sums = {0}
        for place, parts in enumerate(sets):
            if place != left:
                held = set().union(*(members(part) for part in parts))
                sums = {a + b for a in sums for b in held if a + b <= window}
        assert {k for k in range(window + 1) if found >> k & 1} == sums
        assert found < 1 << (window + 1)


@pytest.mark.parametrize("number", [-1, "3", True, 1.5, None, [3]])
def test_sums_are_whole_numbers(number):
    made = json.loads(json.dumps(cb.bounds(RELEASES["rounded"]).certificate()))
    for place in (0, 2):
        wrong = copy.deepcopy(made)
        wrong["rows"][0]["sums"][0][0][place] = number
        with pytest.raises(cb.InvalidInput, match="rows"):
            verified(wrong)
    for key in ("statement", "row"):
        wrong = copy.deepcopy(made)
        wrong["cells"][0]["lower"]["proof"][key] = number
        with pytest.raises(cb.InvalidInput, match=key):
            verified(wrong)
    if number is not None and number != -1:
        wrong = copy.deepcopy(made)
        wrong["cells"][0]["lower"]["attained"] = number
        with pytest.raises(cb.InvalidInput, match="attained"):
            verified(wrong)


def test_a_proof_says_nothing_else():
    made = json.loads(json.dumps(cb.bounds(RELEASES["rounded"]).certificate()))
    for proof in (
        {"kind": "unbounded"},
        {"kind": "unbounded", "ray": [], "why": "so"},
        {"kind": "rows", "statement": 0, "row": 0},
        {"kind": "nonnegative", "why": "so"},
        {"kind": "method"},
    ):
        wrong = copy.deepcopy(made)
        wrong["cells"][0]["upper"]["proof"] = proof
        with pytest.raises(cb.InvalidInput):
            verified(wrong)


def test_claims_that_no_time_is_left_for_are_counted():
    margins = [cb.Margin(["row"], ["4-6", 7]), cb.Margin(["col"], ["3-5", "<9"])]
    made = json.loads(json.dumps(cb.bounds(cb.Release(ROWS, margins)).certificate()))
    claims = 0
    for bound, sign in bounds_of(made):
        if sign < 0 or bound["proven"] > 0:
            bound["proof"] = {"kind": "method", "text": "sworn"}
            claims += 1
    late = cb.verify_certificate(made, seconds=1e-9)
    assert (late.not_reproved, late.reproved, late.settled) == (claims, 0, False)
    assert len(late.unsettled) == claims
    found = cb.verify_certificate(made, seconds=60)
    assert (found.not_reproved, found.reproved, found.settled) == (0, claims, True)


def test_no_bound_needs_a_ray():
    release = cb.Release(ROWS, [NEAREST])
    made = json.loads(json.dumps(cb.bounds(release).certificate()))
    assert verified(made).settled
    endless = [bound for bound, _ in bounds_of(made) if bound["proven"] is None]
    assert len(endless) == 4
    for bound in endless:
        bound["proof"] = {"kind": "method", "text": "sworn"}
    found = verified(made)
    assert (found.not_reproved, found.settled) == (4, False)


def test_rows_that_share_people():
    groups = cb.Grouping("x", {"u": ["p", "q"], "v": ["q", "r"]})
    domain = cb.Domain({"x": ["p", "q", "r"], "col": ["y", "z"]}, groupings={"some": groups})
    half = cb.Conditional(["col"], ["some"], rates=[["0.5", "0.5"], ["0.3", "0.7"]], eps="0.1")
    limits = cb.Known(["x", "col"], upper=3)
    release = cb.Release(domain, [half, limits])
    made = json.loads(json.dumps(cb.bounds(release, over=["some", "col"]).certificate()))
    assert verified(made).settled
    for place, (bound, sign) in enumerate(bounds_of(made)):
        wrong = copy.deepcopy(made)
        claim, _ = list(bounds_of(wrong))[place]
        claim |= {"proven": bound["proven"] + sign, "attained": None, "witness": None}
        wrong |= {"evidence": "outer"}
        assert not verified(wrong).settled
