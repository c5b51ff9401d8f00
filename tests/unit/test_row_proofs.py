"""Proofs for rates: what the sums of rows prove, what they leave to others, how small they are."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.certificates.verifying.row_proofs import (
    covers,
    inside,
    leaving_one_out,
    numbers_of,
    progressions,
)
from strategies import conditionals, domains, tables

SIDES = ("lower", "upper")


def certified(release, **asked):
    made = json.loads(json.dumps(cb.bounds(release, **asked).certificate()))
    found = cb.verify_certificate(made)
    assert found.settled, found
    return made


def kinds(made):
    return {cell[side]["proof"]["kind"] for cell in made["cells"] for side in SIDES}


@given(st.data())
def test_rates_with_n_need_no_solver(data):
    """Whatever the rates, their rounding and their empty rows: rows prove every bound."""
    domain = data.draw(domains())
    counts = data.draw(tables(domain))
    assume(counts.sum())
    rates = data.draw(conditionals(domain, counts))
    release = cb.Release(domain, [rates, cb.Total(int(counts.sum()))])
    try:
        made = certified(release)
    except cb.InconsistentRelease:
        return
    assert kinds(made) <= {"rows", "nonnegative", "dual"}


EDUCATION = cb.datasets.read("delinquent")


@pytest.mark.parametrize("said", ["[education|county]@1", "[education|county]@3", "[education|]@2"])
@pytest.mark.parametrize("over", [("county", "education"), ("county",), ("education", "county")])
def test_they_are_small_and_name_their_sums(said, over):
    release = cb.publish(EDUCATION, said)
    made = certified(release, over=over)
    assert kinds(made) <= {"rows", "nonnegative"}
    assert len(json.dumps(made["rows"])) < 3_000
    (listed,) = made["rows"]
    row_count = 1 if "|]" in said else 4
    assert len(listed["sums"]) == row_count
    truth = EDUCATION.margin(["county"]).counts.tolist() if row_count == 4 else [135]
    for row, count in zip(listed["sums"], truth, strict=True):
        assert any(first <= count <= last for first, last, _ in row)


def published(total, rates, **how):
    rows = [f"r{k}" for k in range(len(rates))]
    columns = [f"c{k}" for k in range(len(rates[0]))]
    domain = cb.Domain({"r": rows, "c": columns})
    said = [cb.Conditional(["c"], given=["r"], rates=rates, **how)]
    return cb.Release(domain, said if total is None else [*said, cb.Total(total)])


@pytest.mark.parametrize("total", [1_000, 10**6, 10**12, 10**18])
def test_their_size_does_not_depend_on_n(total):
    rates = [["0.25", "0.33", "0.42"], ["0.10", "0.90", "0.00"], ["0.50", "0.37", "0.13"]]
    made = certified(published(total, rates))
    assert len(json.dumps(made["rows"])) < 2_000
    assert "rows" in kinds(made)


def test_multiples_of_exact_rates():
    """Rows of multiples of 7, 11 and 13 people: N = 100 leaves few ways to share it out."""
    rates = [["3/7", "4/7"], ["5/11", "6/11"], ["1/13", "12/13"]]
    made = certified(published(100, rates))
    assert made["rows"][0]["sums"][0] == [[7, 70, 7]]
    assert kinds(made) == {"rows"}
    # Half-up rounding of (5, 3) / 8 leaves no other rates than these two: multiples of 8.
    made = certified(published(40, [["0.63", "0.38"], ["0.5", "0.5"]], digits=2))
    assert [step for _, _, step in made["rows"][0]["sums"][0]] == [8]


def test_without_n_rows_stand_alone():
    made = certified(published(None, [["3/7", "4/7"], ["1/2", "1/2"]]))
    assert made["cells"][0]["lower"]["proof"] == {
        "kind": "rows",
        "statement": 0,
        "row": 0,
        "sums": [],
    }
    assert made["cells"][0]["upper"]["proof"]["kind"] == "unbounded"


def test_what_else_is_known_of_a_row_is_used():
    domain = cb.Domain({"r": ["a", "b"], "c": ["x", "y"], "s": ["1", "2"]})
    rates = cb.Conditional(["c"], given=["r"], rates=[["0.4", "0.6"], ["0.2", "0.8"]], digits=1)
    said = [
        rates,
        cb.Total(lower=20, upper=24),
        cb.Margin(["r"], [">=11", None]),
        cb.Known(["r", "c", "s"], upper={("a", "x", "1"): 2}, lower={("b", "y", "2"): 3}),
    ]
    for over in (("r", "c", "s"), ("r", "c"), ("r",), ("s", "r", "c")):
        assert "rows" in kinds(certified(cb.Release(domain, said), over=over))


def test_rows_that_share_people_and_people_in_no_row():
    domain = cb.Domain(
        {"r": ["a", "b", "z"], "c": ["x", "y"]},
        groupings={
            "overlapping": cb.Grouping("r", {"all": ["a", "b", "z"], "first": ["a"]}),
            "some": cb.Grouping("r", {"A": ["a"], "B": ["b"]}),
        },
    )
    for given_name, rates in (
        ("overlapping", [["0.4", "0.6"], ["0.2", "0.8"]]),
        ("some", [["3/7", "4/7"], ["1/2", "1/2"]]),
    ):
        said = [cb.Conditional(["c"], given=[given_name], rates=rates), cb.Total(35)]
        certified(cb.Release(domain, said))


FORGED = {
    "statement": lambda proof: proof | {"statement": 1},
    "no such statement": lambda proof: proof | {"statement": 7},
    "row": lambda proof: proof | {"row": 1},
    "no such row": lambda proof: proof | {"row": 9},
    "sums left out": lambda proof: proof | {"sums": proof["sums"][1:]},
    "a sum that is reached": lambda proof: proof | {"sums": [[20, 20, 1], *proof["sums"]]},
    "sums without end": lambda proof: proof | {"sums": [*proof["sums"], [400, None, 1]]},
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_proofs_are_found(name):
    made = certified(cb.publish(EDUCATION, "[education|county]@2"))
    bound = made["cells"][0]["upper"]
    assert bound["proof"]["kind"] == "rows"
    assert bound["proof"]["sums"]
    wrong = copy.deepcopy(made)
    wrong["cells"][0]["upper"]["proof"] = FORGED[name](bound["proof"])
    found = cb.verify_certificate(wrong)
    assert not found.ok
    assert all("(county=Alpha, education=Low)" in problem for problem in found.problems)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda rows: rows[0].update(statement=1), "statement 1 has no rates"),
        (lambda rows: rows[0]["sums"].pop(), "sums for 3 rows instead of 4"),
        (lambda rows: rows[0]["sums"][2].pop(0), "row 2 of statement 0 may have a sum"),
        (lambda rows: rows[0]["sums"][1][-1].__setitem__(1, 1000), None),
    ],
)
def test_the_listed_sums_are_checked(change, why):
    made = certified(cb.publish(EDUCATION, "[education|county]@2"))
    change(made["rows"])
    found = cb.verify_certificate(made)
    if why is None:
        assert found.settled  # more sums than there are claim less
    else:
        assert any(why in problem for problem in found.problems)


def test_sums_must_ascend():
    made = certified(cb.publish(EDUCATION, "[education|county]@2"))
    made["rows"][0]["sums"][0].append([1, 1, 1])
    with pytest.raises(cb.InvalidInput, match="sums do not ascend"):
        cb.verify_certificate(made)


def test_certificates_of_the_first_format_are_read():
    """They have no proofs by rows: what they tell of is proved anew."""
    made = certified(cb.publish(EDUCATION, "[education|county]@3"))
    del made["rows"]
    made["format"] = "cellbounds-certificate/1"
    for cell in made["cells"]:
        for side in SIDES:
            if cell[side]["proof"]["kind"] == "rows":
                cell[side]["proof"] = {"kind": "closed form", "text": "closed form"}
    found = cb.verify_certificate(made)
    assert found.settled
    assert found.reproved == 32
    made["cells"][3]["upper"]["proven"] += 1
    made["cells"][3]["upper"]["attained"] = None
    made["cells"][3]["upper"]["witness"] = None
    assert not cb.verify_certificate(made).ok  # the evidence is 'exact'


# Large numbers -----------------------------------------------------------------------------------

BY_ROWS = {"kind": "rows", "statement": 0, "row": 0, "sums": []}
SWORN = {"kind": "method", "text": "sworn"}


def claimed(release, labels, lower, upper, proof):
    """A certificate of one cell, whose bounds are not said to be attained."""
    bounds = [
        {"proven": proven, "attained": None, "witness": None, "proof": one}
        for proven, one in ((lower, proof if lower else {"kind": "nonnegative"}), (upper, proof))
    ]
    return {
        "format": "cellbounds-certificate/2",
        "version": "0",
        "public": True,
        "release": json.loads(json.dumps({"digest": release.digest, **release.to_dict()})),
        "over": list(release.domain.names),
        "kind": "sharp",
        "method": "sworn",
        "evidence": "outer",
        "witnesses": [],
        "cells": [{"labels": labels, "lower": bounds[0], "upper": bounds[1]}],
    }


@pytest.mark.parametrize("proof", [BY_ROWS, SWORN])
def test_a_row_that_needs_more_sums_than_are_tried(proof):
    """Nobody need be in the first half of a column of a thousand million people."""
    domain = cb.Domain({"c": ["x"], "s": ["1", "2"]})
    release = cb.Release(domain, [cb.Conditional(["c"], rates=["1"]), cb.Total(10**9)])
    assert not cb.verify_certificate(claimed(release, ["x", "1"], 100, 10**9, proof)).ok
    assert certified(release)["cells"][0]["lower"]["proven"] == 0


@pytest.mark.parametrize("total", [2**63, 2**64 + 1, 10**30, 10**100])
def test_totals_that_no_machine_word_holds(total):
    release = published(total, [["0.5", "0.5"], ["0.2", "0.8"]], digits=1)
    made = certified(release)
    assert "rows" in kinds(made)
    most = made["cells"][0]["upper"]["proven"]
    for proven in (most - 1, total // 4, 2**62, 2**40):
        for proof in (BY_ROWS, SWORN):
            wrong = claimed(release, ["r0", "c0"], 0, proven, proof)
            assert not cb.verify_certificate(wrong).settled


# Sets of sums ------------------------------------------------------------------------------------

finite = st.sets(st.integers(1, 25), max_size=6).map(lambda chosen: sorted({0, *chosen}))


def as_parts(numbers):
    flags = [number in numbers for number in range(max(numbers) + 1)]
    return progressions(flags, 0, 1, endless=False)


@given(st.lists(finite, min_size=1, max_size=5), st.integers(0, 60))
def test_sums_of_all_but_one(sets, window):
    found = leaving_one_out([as_parts(one) for one in sets], window)
    for place, bits in enumerate(found):
        reached = {0}
        for other, numbers in enumerate(sets):
            if other != place:
                reached = {a + b for a in reached for b in numbers}
        assert {k for k in range(window + 1) if bits >> k & 1} == {
            k for k in reached if k <= window
        }


@given(st.sets(st.integers(0, 40), min_size=1), st.integers(1, 4), st.integers(0, 9))
def test_progressions_hold_what_they_are_made_of(chosen, step, first):
    flags = np.array([k in chosen for k in range(41)])
    for endless in (False, True):
        parts = progressions(flags, first, step, endless=endless)
        tried = np.arange(first + 60 * step)
        expected = [
            n >= first
            and (n - first) % step == 0
            and ((n - first) // step in chosen or (endless and (n - first) // step > 40))
            for n in tried.tolist()
        ]
        assert inside(tried, parts).tolist() == expected
        assert all(covers(parts, part) for part in parts)
        if not endless:
            assert numbers_of(parts).tolist() == [first + step * k for k in sorted(chosen)]
        else:
            assert numbers_of(parts) is None


def test_what_covers():
    parts = ((2, 8, 2), (11, 11, 1), (20, None, 5))
    assert covers(parts, (4, 8, 4))
    assert covers(parts, (6, 6, 1))
    assert covers(parts, (25, None, 10))
    for other in ((0, 0, 1), (3, 3, 1), (4, 10, 2), (2, 8, 1), (20, None, 1), (11, None, 1)):
        assert not covers(parts, other)
