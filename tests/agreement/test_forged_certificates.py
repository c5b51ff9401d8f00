"""Of certificates with a false claim none is verified; of true ones all are.

What is true is known from the list of all tables. A forger changes bounds, attained counts,
witnesses, proofs, statements or the digest, one or several at once, and signs the release anew
where that helps him.
"""

from __future__ import annotations

import copy
import itertools
import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.certificates.verifying.row_proofs import RowWork, proofs_by_rows
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import read_statement
from listing import listed, sums
from mixtures import Case, cases, margin_cases
from strategies import LONG, few, releases

SIDES = ("lower", "upper")
TOLD = {"kind": "method", "text": "sworn"}


def settled(made):
    """Whether a certificate is believed; what cannot be read is not."""
    try:
        return cb.verify_certificate(json.loads(json.dumps(made)), seconds=60).settled
    except cb.InvalidInput:
        return False


def is_true(made, release, largest):
    """Whether every claim of a certificate holds for the tables of a release."""
    tables = listed(release, largest)
    over = tuple(made["over"])
    values = sums(release, tables, over)
    consistent = set(map(tuple, tables.tolist()))
    laid = []
    for witness in made["witnesses"]:
        flat = [0] * release.domain.size
        for cell, count in witness:
            flat[cell] = count
        laid.append(tuple(flat))
    if made["release"]["digest"] != release.digest or not set(laid) <= consistent:
        return False
    for labels, cell in zip(release.domain.project(over).cells(), made["cells"], strict=True):
        assert cell["labels"] == list(labels)
    for figure, cell in enumerate(made["cells"]):
        seen = set(values[:, figure].tolist())
        for side, sign in zip(SIDES, (1, -1), strict=True):
            bound = cell[side]
            proven, attained = bound["proven"], bound["attained"]
            if proven is not None and any(sign * (value - proven) < 0 for value in seen):
                return False
            if attained is not None and attained not in seen:
                return False
            if made["evidence"] == "exact" and attained != proven:
                return False
            if bound["proof"]["kind"] == "unbounded":
                return False  # these releases are small: everything is bounded
    return True


@st.composite
def forgeries(draw, made):
    """A certificate changed in a few places."""
    wrong = copy.deepcopy(made)
    for _ in range(draw(st.integers(1, 3))):
        draw(st.sampled_from(CHANGES))(draw, wrong)
    return wrong


def some_bound(draw, made):
    cell = draw(st.sampled_from(made["cells"]))
    side = draw(st.sampled_from(SIDES))
    return cell[side], 1 if side == "lower" else -1


def tighten(draw, made):
    bound, sign = some_bound(draw, made)
    if bound["proven"] is not None:
        bound["proven"] += sign * draw(st.sampled_from([1, 1, 1, 2, 5]))


def tighten_all_of_it(draw, made):
    bound, sign = some_bound(draw, made)
    if bound["proven"] is not None:
        bound["proven"] += sign
        bound["attained"] = bound["proven"]
        if draw(st.booleans()):
            bound["witness"] = None


def tighten_and_swear(draw, made):
    tighten_all_of_it(draw, made)
    for cell in made["cells"]:
        for side in SIDES:
            if draw(st.booleans()):
                cell[side]["proof"] = copy.deepcopy(TOLD)


def attain(draw, made):
    bound, _ = some_bound(draw, made)
    bound["attained"] = draw(st.integers(0, 9))
    if draw(st.booleans()):
        bound["witness"] = None


def call_it_exact(_draw, made):
    made["evidence"] = "exact"


def move_a_record(draw, made):
    if made["witnesses"]:
        witness = draw(st.sampled_from(made["witnesses"]))
        if witness:
            pair = draw(st.sampled_from(witness))
            pair[1] = max(0, pair[1] + draw(st.sampled_from([-1, 1])))


def another_witness(draw, made):
    bound, _ = some_bound(draw, made)
    if bound["witness"] is not None:
        bound["witness"] = draw(st.integers(0, len(made["witnesses"]) - 1))


def another_proof(draw, made):
    bound, _ = some_bound(draw, made)
    other, _ = some_bound(draw, made)
    bound["proof"] = copy.deepcopy(other["proof"])


def swear(draw, made):
    some_bound(draw, made)[0]["proof"] = copy.deepcopy(TOLD)


def change_multipliers(draw, made):
    bound, sign = some_bound(draw, made)
    if bound["proof"]["kind"] == "dual" and bound["proof"]["multipliers"]:
        one = draw(st.sampled_from(bound["proof"]["multipliers"]))
        one[draw(st.sampled_from([0, 1, 3]))] += draw(st.sampled_from([-1, 1]))
        bound["proven"] += sign


def hide_sums(draw, made):
    """Sums of rows are left out, and the bound that they would break is tightened."""
    for one in made.get("rows", []):
        row = draw(st.sampled_from(one["sums"]))
        if row:
            row.remove(draw(st.sampled_from(row)))
    bound, sign = some_bound(draw, made)
    if bound["proof"]["kind"] == "rows":
        bound["proven"] += sign
        bound["proof"]["sums"] = bound["proof"]["sums"][: draw(st.integers(0, 2))]


def other_row(draw, made):
    bound, sign = some_bound(draw, made)
    if bound["proof"]["kind"] == "rows":
        bound["proof"]["row"] = draw(st.integers(0, 3))
        bound["proven"] += sign


def no_bound(draw, made):
    cell = draw(st.sampled_from(made["cells"]))
    ray = [[draw(st.integers(0, 3)), 1]]
    proof = {"kind": "unbounded", "ray": ray} if draw(st.booleans()) else copy.deepcopy(TOLD)
    cell["upper"] = {"proven": None, "attained": None, "witness": None, "proof": proof}


def other_digest(draw, made):
    digest = made["release"]["digest"]
    place = draw(st.integers(0, len(digest) - 1))
    made["release"]["digest"] = digest[:place] + "0" + digest[place + 1 :]


CHANGES = (
    tighten,
    tighten,
    tighten_all_of_it,
    tighten_all_of_it,
    tighten_and_swear,
    attain,
    call_it_exact,
    move_a_record,
    another_witness,
    another_proof,
    swear,
    change_multipliers,
    hide_sums,
    other_row,
    no_bound,
    other_digest,
)


def certified(release, over):
    try:
        return json.loads(json.dumps(cb.bounds(release, over=over).certificate()))
    except cb.InconsistentRelease:
        return None


def check(release, over, largest, data, forged):
    made = certified(release, over)
    if made is None:
        return
    assert is_true(made, release, largest)
    assert settled(made)
    for _ in range(forged):
        wrong = data.draw(forgeries(made))
        if not is_true(wrong, release, largest):
            assert not settled(wrong), wrong
    if release.statements:
        # Signed anew without one of the statements that the claims rest on.
        gone = data.draw(st.integers(0, len(release.statements) - 1))
        statements = [one for place, one in enumerate(release.statements) if place != gone]
        weaker = cb.Release(release.domain, statements)
        most = max((sum(n for _, n in one) for one in made["witnesses"]), default=0)
        said = json.loads(json.dumps({"digest": weaker.digest, **weaker.to_dict()}))
        wrong = made | {"release": said}
        # Tables beyond these may show that it is false, so only falsehood is decided here.
        if not is_true(wrong, weaker, max(most, min(largest, 6))):
            assert not settled(wrong), wrong


@few(4)
@given(cases(spoil=False), st.data())
def test_mixtures(case, data):
    check(case.release, case.over, case.largest, data, 6)


@few(4)
@given(margin_cases(), st.data())
def test_margins(case, data):
    check(case.release, case.over, case.largest, data, 6)


@few(4)
@given(releases(), st.data())
def test_rates(release, data):
    total = release.total.upper
    if total is None or total > 14 or release.domain.size > 9:
        return
    check(release, release.domain.names, total, data, 6)


DOMAIN = cb.Domain({"a": ["a0"], "b": ["b0", "b1"]})
SPLIT = Case(
    cb.Release(DOMAIN, [cb.Conditional(["a"], rates=["1"]), cb.Total(7)]),
    np.array([[3, 4]]),
    7,
    ("a", "b"),
)
"""Fewer sums are tried than the one row has people, and nothing limits the parts of its column."""


@few(4)
@given(
    cases(kinds=("rates", "rates", "loose", "prior"), spoil=False),
    st.sampled_from([2, 4, 8, 16, 32]),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 3, 1 << 20]),
)
@example(SPLIT, 4, 1, 1)
def test_rows_prove_nothing_false_where_work_ends_early(case, work, chunk, block):
    """As if sums were many: what is not tried counts as possible."""
    tables = listed(case.release, case.largest)
    values = sums(case.release, tables, case.over)
    said = json.loads(json.dumps(case.release.to_dict()))
    space = Space(said["domain"], said.get("groupings", {}))
    statements = [read_statement(one, place, space) for place, one in enumerate(said["statements"])]
    little = RowWork(tried=work, chunk=chunk, block=block, wide=2)
    for found in proofs_by_rows(space, statements, little).values():
        for figure in range(values.shape[1]):
            seen, cells = values[:, figure], space.behind(case.over).of(figure)
            for proven in range(-1, case.largest + 2):
                if found.proof(cells, "lower", proven) is not None:
                    assert (seen >= proven).all()
                if found.proof(cells, "upper", proven) is not None:
                    assert (seen <= proven).all()


@pytest.mark.parametrize("digits", [2, 3])
def test_every_bound_of_published_rates_that_is_one_off(digits):
    """Bounds of the delinquents' rates changed by one, alone or with what is attained."""
    release = cb.publish(cb.datasets.read("delinquent"), f"[education|county]@{digits}")
    made = json.loads(json.dumps(cb.bounds(release).certificate()))
    assert settled(made)
    ways = list(itertools.product((-1, 1), ((False, False), (True, False), (True, True))))
    for place, side in itertools.product(range(16), SIDES):
        # Each bound in one of the ways, the next bound in the next; in the long profile in all.
        turn = (2 * place + SIDES.index(side) + digits) % len(ways)
        for step, (along, sworn) in ways if LONG else ways[turn : turn + 1]:
            wrong = copy.deepcopy(made)
            bound = wrong["cells"][place][side]
            bound["proven"] += step
            if along:
                bound |= {"attained": bound["proven"], "witness": None}
            if sworn:
                bound["proof"] = TOLD
            assert not settled(wrong)
