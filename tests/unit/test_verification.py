"""The verifier of certificates: what it believes, what it refutes, what it refuses to read."""

from __future__ import annotations

import copy
import itertools
import json
import time
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions, holds
from cellbounds.certificates.verifying import verify as verifying
from cellbounds.certificates.verifying import verify_certificate
from cellbounds.certificates.verifying.inequalities import sum_at_least, sum_at_most
from cellbounds.certificates.verifying.proofs import CpModel, Reprover
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import SumStatement, read_statement
from cellbounds.certificates.verifying.verify import digest
from cellbounds.cli.checks import verify
from cellbounds.runtime import isolation
from listing import listed, sums
from mixtures import cases
from strategies import few, releases

DOMAIN = {"a": ["x", "y"], "b": ["p", "q"]}
GROUPINGS = {
    "any": {"of": "a", "levels": {"both": ["x", "y"], "first": ["x"]}},
    "halves": {"of": "b", "levels": [["P", ["p"]], ["Q", ["q"]]]},
    "some": {"of": "a", "levels": {"first": ["x"]}},
}
SECRET = 91827


def total(lower, upper):
    return {"total": {"lower": lower, "upper": upper}}


def margin(names, counts, **rule):
    return {"margin": {"variables": list(names), "counts": counts, **rule}}


def prior(names, *, keyed=(), **known):
    said = {"lower": None, "upper": None, "values": None, "keyed": list(keyed)}
    return {"prior": {"variables": list(names), **said, **known}}


def linear(names, coefficients, lower=None, upper=None):
    said = {"coefficients": coefficients, "lower": lower, "upper": upper}
    return {"linear": {"variables": list(names), **said}}


def rates(responses, given_names, figures, **how):
    said = {"digits": None, "rounding": None, "eps": None, "strict": False, "missing": None}
    said |= {"responses": list(responses), "given": list(given_names), "rates": figures}
    return {"conditional": said | how}


TOLD = {"kind": "closed form", "text": "by hand"}
ZERO = {"kind": "nonnegative"}


def dual(*multipliers, by=1):
    return {"kind": "dual", "denominator": by, "multipliers": [list(one) for one in multipliers]}


def bound(proven, proof, attained=None, witness=None):
    return {"proven": proven, "attained": attained, "witness": witness, "proof": proof}


def certificate(statements, *cells, over="ab", witnesses=(), evidence="outer", domain=None):
    """A certificate by hand; a cell is (labels, lower, upper)."""
    groupings = GROUPINGS if domain is None else {}
    return signed(
        {
            "format": "cellbounds-certificate/1",
            "version": "0.1.0",
            "public": False,
            "release": {
                "domain": domain or DOMAIN,
                "groupings": groupings,
                "statements": list(statements),
            },
            "over": list(over),
            "kind": "sharp",
            "method": "by hand",
            "evidence": evidence,
            "witnesses": [[list(pair) for pair in one] for one in witnesses],
            "cells": [
                {"labels": list(labels), "lower": low, "upper": high} for labels, low, high in cells
            ],
        }
    )


def signed(made):
    """The certificate with the digest of its own statements."""
    release = made["release"]
    space = Space(release["domain"], release["groupings"])
    said = [read_statement(one, place, space) for place, one in enumerate(release["statements"])]
    return made | {"release": release | {"digest": digest(space, said)}}


def one_sided(statements, labels, side, proven, proof, over="ab"):
    """A certificate of one bound; the other side claims nothing."""
    low, high = bound(0, ZERO), bound(None, TOLD)
    if side == "lower":
        low = bound(proven, proof)
    else:
        high = bound(proven, proof)
    return certificate(statements, (labels, low, high), over=over)


SHARED = rates(
    "b", "a", [["0.3", "0.7"], ["0.5", "0.5"]], digits=1, rounding="consistent", rule="rounding"
)

# Each: statements, the cell, the side, the tightest value proven, denominator, multipliers.
DUALS = {
    "total upper": ([total(0, 7)], "xp", "upper", 7, 1, [(0, 0, "upper", 1)]),
    "margin upper": ([margin("a", [5, None])], "xp", "upper", 5, 1, [(0, 0, "upper", 1)]),
    "margin and total": (
        [total(9, 9), margin("ab", [["<3", None], ["0-2", "<=1"]])],
        "xq",
        "lower",
        9 - 2 - 2 - 1,
        1,
        [(0, 0, "lower", 1), (1, 0, "upper", 1), (1, 2, "upper", 1), (1, 3, "upper", 1)],
    ),
    "order of the names": (
        [margin("ba", [[1, 2], [3, 4]])],
        "xq",
        "lower",
        3,
        1,
        [(0, 2, "lower", 1)],
    ),
    "above": (
        [margin("ab", [[">4", None], [None, None]])],
        "xp",
        "lower",
        5,
        1,
        [(0, 0, "lower", 1)],
    ),
    "prior for all": ([prior("ab", upper=3)], "yq", "upper", 3, 1, [(0, 3, "upper", 1)]),
    "prior as an array": (
        [prior("a", lower=[None, 0], upper=["4", 5])],
        "xp",
        "upper",
        4,
        1,
        [(0, 0, "upper", 1)],
    ),
    "prior by labels": (
        [prior("b", keyed=["lower"], lower=[[["q"], 6]]), prior("ab", upper=2)],
        "xq",
        "lower",
        4,
        1,
        [(0, 1, "lower", 1), (1, 3, "upper", 1)],
    ),
    "values and upper": (
        [prior("ab", keyed=["values"], values=[[["x", "p"], [2, 5, 9]]], upper=7)],
        "xp",
        "upper",
        7,
        1,
        [(0, 0, "upper", 1)],
    ),
    "values, least": (
        [prior("ab", keyed=["values"], values=[[["x", "p"], [5, 2]]])],
        "xp",
        "lower",
        2,
        1,
        [(0, 0, "lower", 1)],
    ),
    "values as lists": (
        [prior("ab", values=[[[3, 4], None], [None, [1]]])],
        "yq",
        "lower",
        1,
        1,
        [(0, 3, "lower", 1)],
    ),
    "linear, divided": (
        [linear("ab", [["1/2", "0"], ["0", "0"]], lower="7/4")],
        "xp",
        "lower",
        4,
        1,
        [(0, 0, "lower", 1)],
    ),
    "linear by labels": (
        [linear("ab", [[["x", "p"], "2"], [["y", "q"], "-1"]], upper="3"), prior("ab", upper=4)],
        "xp",
        "upper",
        3,
        2,
        [(0, 0, "upper", 1), (1, 3, "upper", 1)],
    ),
    "linear over groups that overlap": (  # x is behind both: 2 xp + 2 xq + yp + yq >= 7
        [
            linear(["any"], ["1", "1"], lower="7"),
            margin("a", [None, 2]),
            margin("ab", [[None, 1], [None, None]]),
        ],
        "xp",
        "lower",
        2,
        2,
        [(0, 0, "lower", 1), (1, 1, "upper", 1), (2, 1, "upper", 2)],
    ),
    "a group": (
        [margin(["any"], [8, None])],
        "yq",
        "upper",
        8,
        1,
        [(0, 0, "upper", 1)],
    ),
    "exact rates": (  # xp = 3/5 of row x, which holds 10
        [rates("b", "a", [["3/5", "2/5"], ["1/2", "1/2"]]), margin("a", [10, None])],
        "xp",
        "lower",
        6,
        5,
        [(0, 0, "lower", 1), (1, 0, "lower", 3)],
    ),
    "a row holds somebody": (
        [rates("b", "a", [["1", "0"], ["1/2", "1/2"]])],
        "xp",
        "lower",
        1,
        1,
        [(0, 0, "row", 1), (0, 1, "upper", 1)],
    ),
    "an empty row": (
        [rates("b", "a", [[None, None], ["1/2", "1/2"]], missing="zero")],
        "xp",
        "upper",
        0,
        1,
        [(0, 0, "empty", 1)],
    ),
    "rates of a group": (
        [rates(["halves"], "a", [["1/4", "3/4"], ["1/2", "1/2"]]), margin("a", [8, None])],
        "xp",
        "upper",
        2,
        4,
        [(0, 0, "upper", 1), (1, 0, "upper", 1)],
    ),
    "joint rates": (
        [rates("ab", "", [["1/2", "1/4", "1/4", "0"]]), total(8, 8)],
        "xq",
        "lower",
        2,
        4,
        [(0, 1, "lower", 1), (1, 0, "lower", 1)],
    ),
    # Rows that add to one: of 10 with 0.3 and 0.7, -13 xp + 7 xq >= 1 and 3 xp - xq >= 0.
    "a column that is not too far above another": (
        [SHARED, margin("a", [10, None])],
        "xp",
        "upper",
        3,
        20,
        [(0, 5, "upper", 1), (1, 0, "upper", 7)],
    ),
    "a column that is not too far below another": (
        [SHARED, margin("a", [10, None])],
        "xp",
        "lower",
        3,
        4,
        [(0, 6, "upper", 1), (1, 0, "lower", 1)],
    ),
    "huge numbers": (
        [margin("a", [10**40, None]), prior("ab", upper=10**39)],
        "xp",
        "lower",
        9 * 10**39,
        10**30,
        [(0, 0, "lower", 10**30), (1, 1, "upper", 10**30)],
    ),
}


@pytest.mark.parametrize("name", DUALS)
def test_dual_proofs_prove_what_they_prove_and_no_more(name):
    statements, labels, side, proven, by, multipliers = DUALS[name]
    tighter = proven + (1 if side == "lower" else -1)
    good = verify_certificate(
        one_sided(statements, labels, side, proven, dual(*multipliers, by=by))
    )
    assert good.problems == ()
    assert good.duals == 1
    bad = verify_certificate(
        one_sided(statements, labels, side, tighter, dual(*multipliers, by=by))
    )
    assert bad.problems == (
        f"the {side} bound of cell (a={labels[0]}, b={labels[1]}): the dual proof proves less",
    )
    for place in range(len(multipliers)):
        fewer = dual(*multipliers[:place], *multipliers[place + 1 :], by=by)
        assert not verify_certificate(one_sided(statements, labels, side, proven, fewer)).ok


# A row of 10 with the figure 0.3 at xp: what the first cell may be, by rule.
RATE_RULES = [
    ({"rounding": "nearest", "digits": 1}, 3, 3),  # 2.5 <= x < 3.5
    ({"rounding": "half-even", "digits": 1}, 3, 3),
    ({"rounding": "down", "digits": 1}, 3, 3),  # 3 <= x < 4
    ({"rounding": "up", "digits": 1}, 3, 3),  # 2 < x <= 3
    ({"rounding": "consistent", "digits": 1}, 2, 4),
    ({"eps": "0.1"}, 2, 4),
    ({"eps": "0.1", "strict": True}, 3, 3),
    ({"eps": ["1/5", "0", "0", "0"], "digits": 1}, 1, 5),
    ({}, 3, 3),
]


@pytest.mark.parametrize(("how", "low", "high"), RATE_RULES, ids=str)
@pytest.mark.parametrize("held", [10])
def test_rounded_rates(how, low, high, held):
    figures = [["0.3", "0.7"], ["0.5", "0.5"]]
    statements = [rates("b", "a", figures, **how), margin("a", [held, held])]
    space = Space(DOMAIN, {})
    first = read_statement(statements[0], 0, space)
    allowed = [x for x in range(11) if first.broken(np.array([x, 10 - x, 5, 5])) is None]
    if how.get("eps") == ["1/5", "0", "0", "0"]:
        assert allowed == [3]  # the other figure of the row is exact
    else:
        assert (allowed[0], allowed[-1]) == (low, high)
    for side, value in (("lower", low), ("upper", high)):
        sign = 1 if side == "lower" else -1
        inequality = first.inequality(0, side)
        cells, factors = inequality.cells.tolist(), inequality.coefficients.tolist()
        assert cells == [0, 1]

        def gap(x, factors=factors, inequality=inequality):
            return factors[0] * x + factors[1] * (10 - x) - inequality.bound

        assert gap(value) >= 0
        assert gap(value - sign) < 0


ENDS = [  # rule, figure, what 20 people may be: halves are told apart
    ("nearest", "0.3", [5, 6]),
    ("half-even", "0.3", [5, 6, 7]),
    ("down", "0.3", [6, 7]),
    ("up", "0.3", [5, 6]),
    ("consistent", "0.3", [4, 5, 6, 7, 8]),
]


@pytest.mark.parametrize(("rule", "figure", "allowed"), ENDS)
def test_open_and_closed_ends_of_rates(rule, figure, allowed):
    said = rates("b", "", [[figure, None]], missing="suppressed", digits=1, rounding=rule)
    statement = read_statement(said, 0, Space({"b": ["p", "q"]}, {}))
    assert [x for x in range(21) if statement.broken(np.array([x, 20 - x])) is None] == allowed


COUNT_RULES = [
    ("nearest", 4, (2, 5)),
    ("half-even", 4, (2, 6)),
    ("down", 4, (4, 7)),
    ("up", 4, (1, 4)),
    ("random", 4, (1, 7)),
    ("random", 0, (0, 3)),
    ("up", 0, (0, 0)),
    ("nearest", 0, (0, 1)),
]


@pytest.mark.parametrize(("rule", "figure", "ends"), COUNT_RULES)
def test_rounded_counts(rule, figure, ends):
    said = margin("a", [figure, "2-3"], base=4, rounding=rule)
    statement = read_statement(said, 0, Space({"a": ["x", "y"]}, {}))
    allowed = [x for x in range(12) if statement.broken(np.array([x, 2])) is None]
    assert (allowed[0], allowed[-1]) == ends
    assert (statement.least[0], statement.most[0]) == ends


# Wrong in every way -----------------------------------------------------------------------------


@pytest.fixture
def good():
    """N = 5 and a margin: everything attained, every kind of check at work."""
    rows = [total(5, 5), margin("a", [3, 2])]
    witnesses = [[[0, 3], [2, 2]], [[1, 3], [3, 2]]]
    up = dual((1, 0, "upper", 1))
    return certificate(
        rows,
        ("xp", bound(0, ZERO, 0, 1), bound(3, up, 3, 0)),
        ("xq", bound(0, ZERO, 0, 0), bound(3, TOLD, 3, 1)),
        witnesses=witnesses,
        evidence="exact",
    )


def changed(made, *path, to):
    """The certificate with one value replaced (`...` removes the key)."""
    made = copy.deepcopy(made)
    inside = made
    for step in path[:-1]:
        inside = inside[step]
    if to is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = to
    return made


def test_a_good_certificate(good):
    found = verify_certificate(good)
    assert found.ok
    assert found.settled
    counts = found.to_dict()["counts"]
    assert counts == {
        "cells": 2,
        "witnesses": 2,
        "attained": 4,
        "duals": 1,
        "rows": 0,
        "rays": 0,
        "trivial": 2,
        "known": 0,
        "differing": 0,
        "reproved": 1,
        "not_reproved": 0,
    }
    assert str(found).startswith(f"verified\nrelease {good['release']['digest']}\n")
    assert found.to_dict()["format"] == "cellbounds-verification/2"
    json.dumps(found.to_dict())


WRONG = {
    "another count": (("witnesses", 0, 0, 1), 4, ["witness 0: it contradicts statement 0 (total)"]),
    "a moved record": (
        ("witnesses", 0),
        [[0, 2], [1, 1], [2, 2]],
        [
            "upper bound of cell (a=x, b=p): witness 0 has another count",
            "lower bound of cell (a=x, b=q): witness 0 has another count",
        ],
    ),
    "a margin": (
        ("witnesses", 1),
        [[1, 2], [3, 3]],
        ["witness 1: it contradicts statement 1 (margin) [a] at (a=x)"],
    ),
    "a negative count": (
        ("witnesses", 0),
        [[0, 4], [1, -1], [2, 2]],
        ["witness 0: a cell is negative"],
    ),
    "attained": (
        ("cells", 0, "upper", "attained"),
        2,
        ["witness 0 has another count", "'exact', but what is proven is not attained"],
    ),
    "not attained": (
        ("cells", 1, "upper"),
        bound(3, TOLD),
        ["(a=x, b=q): the evidence is 'exact'"],
    ),
    "too tight, refuted by a witness": (
        ("cells", 1, "upper", "proven"),
        2,
        ["'exact'", "REFUTED by witness 1", "REFUTED by CP-SAT"],
    ),
    "nothing proves it": (
        ("cells", 0, "upper", "proof"),
        ZERO,
        ["(a=x, b=p): more than counts being 0 or more"],
    ),
    "a lower bound out of the air": (
        ("cells", 0, "lower"),
        bound(1, ZERO, 1),
        ["counts being 0 or more", "REFUTED by witness 1"],
    ),
    "a dual of another row": (
        ("cells", 0, "upper", "proof"),
        dual((1, 1, "upper", 1)),
        ["negative coefficient at (a=x, b=p)"],
    ),
    "a figure that is not there": (
        ("cells", 0, "upper", "proof"),
        dual((1, 2, "upper", 1)),
        ["names figure 2, upper, of statement 1"],
    ),
    "a statement that is not there": (
        ("cells", 0, "upper", "proof"),
        dual((7, 0, "upper", 1)),
        ["of statement 7"],
    ),
    "an end that is not there": (
        ("cells", 0, "upper", "proof"),
        dual((1, 0, "row", 1)),
        ["names figure 0, row, of statement 1"],
    ),
    "a denominator": (
        ("cells", 0, "upper", "proof", "denominator"),
        2,
        ["negative coefficient at (a=x, b=p)"],
    ),
    "a huge multiplier": (
        ("cells", 0, "upper", "proof"),
        dual((0, 0, "lower", 10**30), (1, 0, "upper", 1)),
        ["negative coefficient at (a=x, b=p)"],
    ),
    "an unbounded cell with a bound": (
        ("cells", 0, "upper", "proof"),
        {"kind": "unbounded", "ray": [[0, 1]]},
        ["there is no bound, but one is claimed"],
    ),
    "a ray that leaves": (
        ("cells", 0, "upper"),
        bound(None, {"kind": "unbounded", "ray": [[0, 1]]}),
        ["the ray contradicts statement 0 (total)"],
    ),
    "the release": (
        ("release", "statements", 0),
        total(6, 6),
        ["the digest is not that of the statements", "witness 0: it contradicts", "witness 1"],
    ),
    "the digest": (("release", "digest"), "0af3", ["the digest is not that of the statements"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(good, name):
    path, value, expected = WRONG[name]
    found = verify_certificate(changed(good, *path, to=value))
    assert not found.ok
    text = "\n".join(found.problems)
    for part in expected:
        assert part in text
    assert str(found).startswith("NOT verified: ")


def test_a_witness_that_does_not_fit_attains_nothing(good):
    found = verify_certificate(changed(good, "witnesses", 0, 0, 1, to=4))
    assert (found.witnesses, found.attained, found.ok) == (1, 2, False)


MALFORMED = {
    "format": (("format",), "cellbounds-certificate/3", "format is 'cellbounds-certificate/3'"),
    "a key beside": (("sworn",), True, "the key 'sworn'"),
    "a key beside a cell": (("cells", 0, "sworn"), True, "the key 'sworn'"),
    "a key beside a bound": (("cells", 0, "upper", "sworn"), True, "the key 'sworn'"),
    "a key beside a proof": (("cells", 0, "upper", "proof", "sworn"), True, "the key 'sworn'"),
    "no cells": (("cells",), ..., "no 'cells'"),
    "no release": (("release",), ..., "no 'release'"),
    "no digest": (("release", "digest"), ..., "no 'digest'"),
    "digest": (("release", "digest"), "zz", "hexadecimal"),
    "kind": (("kind",), "linear", "kind is 'linear'"),
    "evidence": (("evidence",), "inner", "exact, outer"),
    "public": (("public",), 1, "true or false"),
    "over": (("over",), ["a", "c"], "over names 'c'"),
    "over twice": (("over",), ["a", "a"], "twice"),
    "no domain": (("release", "domain"), {}, "names no variable"),
    "levels twice": (("release", "domain", "a"), ["x", "x"], "'a' lists a level twice"),
    "too many cells": (
        ("release", "domain"),
        {n: [1, 2, 3, 4, 5] for n in "abcdefghijklmn"},
        "more than 100000000 cells",
    ),
    "a group of nothing": (("release", "groupings", "any", "of"), "c", "variable of the domain"),
    "a group of strangers": (
        ("release", "groupings", "any", "levels", "both"),
        ["z"],
        "'z' is not a level of 'a'",
    ),
    "a group that is a variable": (
        ("release", "groupings"),
        {"a": {"of": "b", "levels": {"P": ["p"]}}},
        "name of a variable",
    ),
    "labels": (("cells", 0, "labels"), ["x", "z"], "'z' is not a level of 'b'"),
    "labels as numbers": (("cells", 0, "labels"), ["x", 1], "1 is not a level of 'b'"),
    "too few labels": (("cells", 0, "labels"), ["x"], "has 1 entries; it needs 2"),
    "a cell twice": (("cells", 0, "labels"), ["x", "q"], "cell (a=x, b=q) stands there twice"),
    "no lower": (("cells", 0, "lower"), ..., "cells[0] has no 'lower'"),
    "no lower bound": (("cells", 0, "lower", "proven"), None, "cells[0].lower.proven is null"),
    "a float": (("cells", 0, "upper", "proven"), 3.0, "a number with a point"),
    "true": (("cells", 0, "upper", "proven"), True, "true or false"),
    "a witness that is not there": (("cells", 0, "upper", "witness"), 2, "there are 2 witnesses"),
    "a negative witness": (("cells", 0, "upper", "witness"), -1, "0 or more"),
    "a witness of nothing": (("cells", 0, "upper", "attained"), None, "says not what it attains"),
    "a witness cell": (("witnesses", 0, 0, 0), 4, "cell 4 of a domain of 4 cells"),
    "a witness cell twice": (("witnesses", 0), [[0, 1], [0, 2]], "lists a cell twice"),
    "a witness with a point": (
        ("witnesses", 0, 0, 1),
        2.5,
        "the number at cell 0 is a number with a point",
    ),
    "no proof": (("cells", 0, "upper", "proof"), ..., "no 'proof'"),
    "a proof of another kind": (("cells", 0, "upper", "proof", "kind"), "magic", "'magic'"),
    "a proof without words": (("cells", 1, "upper", "proof"), {"kind": "solver"}, "no 'text'"),
    "no multipliers": (("cells", 0, "upper", "proof", "multipliers"), ..., "no 'multipliers'"),
    "a negative multiplier": (
        ("cells", 0, "upper", "proof"),
        dual((1, 0, "upper", -1)),
        "a multiplier is too small",
    ),
    "a multiplier with a point": (
        ("cells", 0, "upper", "proof"),
        dual((1, 0, "upper", 0.5)),
        "must be a whole number",
    ),
    "a negative figure": (
        ("cells", 0, "upper", "proof"),
        dual((1, -1, "upper", 1)),
        "a figure is too small",
    ),
    "an unknown end": (("cells", 0, "upper", "proof"), dual((1, 0, "side", 1)), "'side'"),
    "three parts": (("cells", 0, "upper", "proof"), dual((1, 0, "upper")), "it needs 4"),
    "denominator": (("cells", 0, "upper", "proof", "denominator"), 0, "1 or more"),
    "a negative ray": (
        ("cells", 0, "upper", "proof"),
        {"kind": "unbounded", "ray": [[0, -1]]},
        "0 or more",
    ),
    "a statement of two kinds": (
        ("release", "statements", 0),
        total(1, 1) | margin("a", [1, 2]),
        "one key",
    ),
    "a statement of no kind": (("release", "statements", 0), {"odds": {}}, "one key"),
    "a key that is not known": (("release", "statements", 0, "total", "unit"), "percent", "'unit'"),
    "counts of another shape": (
        ("release", "statements", 1, "margin", "counts"),
        [1, 2, 3],
        "3 entries; it needs 2",
    ),
    "a count in words": (("release", "statements", 1, "margin", "counts", 0), "few", "no range"),
    # A digest knows "no limit" and a limit below 0 by the same number.
    "a range of nothing": (("release", "statements", 1, "margin", "counts", 0), "<0", "no count"),
    "a range turned around": (
        ("release", "statements", 1, "margin", "counts", 0),
        "5-4",
        "no count fits",
    ),
    "coefficients of too many digits": (
        ("release", "statements", 0),
        linear("ab", [[f"1/{10**990 + k}" for k in row] for row in ([1, 3], [5, 7])], "9" * 990),
        "4300 digits",
    ),
    "a rule without a base": (
        ("release", "statements", 1, "margin", "rounding"),
        "up",
        "without a base",
    ),
    "a figure off the base": (
        ("release", "statements", 1),
        margin("a", [3, 2], base=2, rounding="up"),
        "no multiple of the base 2",
    ),
    "a rule of rates": (
        ("release", "statements", 1),
        margin("a", [4, 2], base=2, rounding="consistent"),
        "'consistent'",
    ),
    "rates not said why": (
        ("release", "statements", 0),
        rates("b", "a", [[None, "1"], ["1", "0"]]),
        "does not say why",
    ),
    "half an empty row": (
        ("release", "statements", 0),
        rates("b", "a", [[None, "1"], ["1", "0"]], missing="zero"),
        "lacks some rates",
    ),
    "rates as floats": (
        ("release", "statements", 0),
        rates("b", "a", [[0.5, 0.5], ["1", "0"]]),
        "must be a text",
    ),
    "no number": (
        ("release", "statements", 0),
        rates("b", "a", [["half", "1"], ["1", "0"]]),
        "not an exact number",
    ),
    "divided by nothing": (
        ("release", "statements", 0),
        rates("b", "a", [["1/0", "1"], ["1", "0"]]),
        "not an exact number",
    ),
    "rounding without digits": (
        ("release", "statements", 0),
        rates("b", "a", [["0", "1"], ["1", "0"]], rounding="up"),
        "digits is null",
    ),
    "a rule of counts": (
        ("release", "statements", 0),
        rates("b", "a", [["0", "1"], ["1", "0"]], rounding="random", digits=1),
        "'random'",
    ),
    "eps and a rule": (
        ("release", "statements", 0),
        rates(
            "b", "a", [["0", "1"], ["1", "0"]], rounding="up", digits=1, eps="1", rule="interval"
        ),
        "both eps",
    ),
    "eps below 0": (
        ("release", "statements", 0),
        rates("b", "a", [["0", "1"], ["1", "0"]], eps="-1"),
        "eps is negative",
    ),
    "rates of themselves": (
        ("release", "statements", 0),
        rates("a", ["any"], [["0", "1"], ["1", "0"]]),
        "each variable once",
    ),
    "rates of groups that overlap": (
        ("release", "statements", 0),
        rates(["any"], "b", [["0", "1"], ["1", "0"]]),
        "overlap",
    ),
    "an empty list": (
        ("release", "statements", 0),
        prior("a", keyed=["values"], values=[[["x"], []]]),
        "empty list",
    ),
    "a prior that is not said how": (
        ("release", "statements", 0),
        {"prior": {"variables": ["a"], "lower": 1, "upper": None, "values": None}},
        "no 'keyed'",
    ),
    "a cell of a prior twice": (
        ("release", "statements", 0),
        prior("a", keyed=["lower"], lower=[[["x"], 1], [["x"], 2]]),
        "twice",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_refused(good, name):
    path, value, expected = MALFORMED[name]
    with pytest.raises(cb.InvalidInput) as refused:
        verify_certificate(changed(good, *path, to=value))
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "not JSON"),
        ("[]", "the certificate is a list"),
        ('{"format": 1, "format": 2}', "'format' twice"),
        ('{"format": NaN}', "NaN"),
        ("[" * 100_000, "nested more than 64 deep"),
        ("1" * 5000, "more than 1000 digits"),
        (b"\xff\xfe", "not JSON"),
    ],
)
def test_files_that_are_no_certificates(tmp_path, content, expected):
    file = tmp_path / "made.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(cb.InvalidInput, match=expected):
        verify_certificate(file)
    with pytest.raises(cb.InvalidInput, match="cannot be read"):
        verify_certificate(tmp_path / "absent.json")


def test_values_that_are_no_json(good):
    with pytest.raises(cb.InvalidInput, match="not JSON"):
        verify_certificate(changed(good, "cells", 0, "upper", "proven", to=Fraction(3)))
    with pytest.raises(cb.InvalidInput, match="NaN, which is not JSON"):
        verify_certificate(changed(good, "cells", 0, "upper", "proven", to=float("nan")))


@pytest.mark.parametrize(
    "options",
    [{"seconds": 0}, {"seconds": -1}, {"seconds": float("nan")}, {"seconds": float("inf")}],
)
def test_options_are_checked(good, options):
    with pytest.raises(cb.InvalidInput, match=next(iter(options))):
        verify_certificate(good, **options)


def test_a_budget_that_is_spent_before_all_was_checked_settles_nothing(good, monkeypatch):
    def stuck(*_):
        ends = time.monotonic() + 30
        while time.monotonic() < ends:
            time.sleep(0.005)
        raise AssertionError("nobody stopped it")

    monkeypatch.setattr(verifying, "table_fault", stuck)
    found = verify_certificate(good, budget=cb.Budget(seconds=0.05))
    assert found.ok and not found.settled
    assert found.unsettled == ("claims that were not come to: the budget was spent",)


def test_counts_of_witnesses_are_never_shown(good):
    for value in (SECRET, -SECRET, SECRET + 0.5):
        for path in (("witnesses", 0, 0, 1), ("cells", 0, "upper", "attained")):
            try:
                found = verify_certificate(changed(good, *path, to=value))
                said = f"{found} {found.to_dict()}"
            except cb.InvalidInput as refused:
                said = str(refused)
            assert str(SECRET) not in said


def test_huge_counts():
    most = 10**60
    made = certificate(
        [margin("a", [most, None]), prior("ab", lower=1)],
        ("xp", bound(1, dual((1, 0, "lower", 1)), 1, 1), bound(most - 1, TOLD, most - 1, 0)),
        witnesses=[
            [[0, most - 1], [1, 1], [2, 1], [3, 1]],
            [[0, 1], [1, most - 1], [2, 1], [3, 1]],
        ],
        evidence="exact",
    )
    found = verify_certificate(made)
    assert found.problems == ()
    assert (found.witnesses, found.attained, found.duals) == (2, 2, 1)
    assert found.unsettled == (
        "the upper bound of cell (a=x, b=p): its numbers are too large for CP-SAT",
    )
    assert not found.settled
    off = verify_certificate(changed(made, "witnesses", 0, 0, 1, to=most))
    assert off.problems[0] == "witness 0: it contradicts statement 0 (margin) [a] at (a=x)"


# Rays -------------------------------------------------------------------------------------------


def endless(ray, statements=None, witnesses=([[0, 1], [1, 1], [2, 1], [3, 1]],), **options):
    said = [rates("b", "a", [["1/2", "1/2"], ["0.5", "0.5"]]), linear("a", ["1", "-1"], upper="4")]
    return certificate(
        statements or said,
        ("xp", bound(0, ZERO), bound(None, {"kind": "unbounded", "ray": ray})),
        witnesses=witnesses,
        **options,
    )


def test_rays():
    along = [[0, 1], [1, 1], [2, 1], [3, 1]]
    found = verify_certificate(endless(along))
    assert found.problems == ()
    assert found.rays == 1
    for ray, why in {
        ((0, 1), (1, 1)): "contradicts statement 1 (linear) [a]",
        ((0, 1), (2, 1)): "contradicts statement 0 (conditional) [b|a] at (a=x, b=p)",
        ((2, 1), (3, 1)): "the ray does not increase the cell",
        (): "the ray does not increase the cell",
    }.items():
        (problem,) = verify_certificate(endless([list(pair) for pair in ray])).problems
        assert why in problem
    (problem,) = verify_certificate(endless(along, witnesses=())).problems
    assert "without a consistent witness" in problem


@pytest.mark.parametrize(
    "said",
    [
        prior("ab", keyed=["values"], values=[[["x", "p"], [1, 50]]]),
        margin("ab", [["<9", None], [None, None]]),
        rates("b", "a", [[None, None], [None, None]], missing="zero"),
        linear("ab", [["-1", "0"], ["0", "0"]], lower="-5/2"),
    ],
)
def test_what_stops_a_ray(said):
    found = verify_certificate(endless([[0, 1], [1, 1]], [said], witnesses=()))
    assert any("the ray contradicts statement 0" in problem for problem in found.problems)


def test_no_bound_needs_a_ray_if_it_is_said_to_be_exact():
    cells = ("xp", bound(0, ZERO, 0, 0), bound(None, TOLD))
    outer = verify_certificate(certificate([], cells, witnesses=[[]]))
    assert outer.settled
    assert outer.trivial == 2
    exact = verify_certificate(certificate([], cells, witnesses=[[]], evidence="exact"))
    assert exact.ok
    assert exact.unsettled == (
        "the upper bound of cell (a=x, b=p): that there is no bound needs a ray",
    )


# Re-proof ---------------------------------------------------------------------------------------


def many(shown):
    """Nine cells of two margins, the bounds only told of."""
    levels = {"r": [1, 2, 3], "s": [1, 2, 3]}
    cells = [
        ([i, j], bound(0, TOLD), bound(min(shown[i - 1], shown[j - 1]), TOLD))
        for i, j in itertools.product([1, 2, 3], repeat=2)
    ]
    statements = [margin("r", shown), margin("s", shown)]
    return certificate(statements, *cells, over="rs", domain=levels)


def test_every_claim_without_a_proof_is_proved_anew():
    steps = []
    found = verify_certificate(
        many([3, 4, 5]),
        budget=cb.Budget(progress=lambda done, size: steps.append((done, size))),
    )
    assert found.settled
    assert (found.trivial, found.reproved, found.not_reproved) == (9, 9, 0)
    assert steps == [(done, 9) for done in range(1, 10)]


@pytest.mark.parametrize("place", range(9))
def test_no_wrong_bound_is_missed(place):
    made = many([3, 4, 5])
    made["cells"][place]["upper"]["proven"] -= 1
    found = verify_certificate(made)
    assert len(found.problems) == 1
    assert found.problems[0].endswith(": REFUTED by CP-SAT")
    assert found.reproved == 8


def test_refutation_gives_no_table_away():
    made = changed(many([3, 4, SECRET]), "cells", 8, "upper", "proven", to=SECRET - 1)
    found = verify_certificate(made)
    assert not found.ok
    assert str(SECRET) not in f"{found} {found.to_dict()}"


def test_an_attained_count_without_a_witness_is_looked_for():
    low, high = bound(0, ZERO, 0), bound(3, dual((0, 0, "upper", 1)), 3)
    made = certificate([margin("a", [3, 1])], ("xp", low, high), evidence="exact")
    found = verify_certificate(made)
    assert found.ok
    assert found.reproved == 2
    never = signed(
        changed(
            made,
            "release",
            "statements",
            to=[margin("a", [3, 1]), margin("ab", [["<3", None], [None, None]])],
        )
    )
    assert verify_certificate(never).problems == (
        "the upper bound of cell (a=x, b=p): that it is attained (no witness): REFUTED by CP-SAT",
    )


def test_cells_that_nothing_limits():
    said = [rates("b", "a", [["1/3", "2/3"], ["1/2", "1/2"]])]
    low = certificate(said, ("xp", bound(1, TOLD), bound(None, TOLD)))
    assert verify_certificate(low).reproved == 1
    two = changed(low, "cells", 0, "lower", "proven", to=2)
    unsettled = verify_certificate(two)
    assert unsettled.ok
    assert "cells that nothing limits" in unsettled.unsettled[0]
    # With a table to complete it, the smaller table is a refutation.
    known = changed(two, "witnesses", to=[[[0, 5], [1, 10], [2, 1], [3, 1]]])
    assert "REFUTED by CP-SAT" in verify_certificate(known).problems[0]


def test_a_table_that_is_not_as_asked_refutes_nothing():
    """Each of two cells is limited by the other alone, which is not followed: xp is 4 at most."""
    said = [
        linear("ab", [[["x", "p"], "2"], [["x", "q"], "-1"]], upper="3"),
        linear("ab", [[["x", "q"], "1"], [["x", "p"], "-1"]], upper="1"),
    ]
    found = verify_certificate(one_sided(said, "xp", "upper", 4, TOLD))
    assert found.problems == ()
    assert "cells that nothing limits" in found.unsettled[0]


def test_a_chain_of_limits_is_followed():
    said = [
        margin("ab", [[None, None], [None, "<=4"]]),
        linear("ab", [[["y", "p"], "1"], [["y", "q"], "-2"]], upper="1"),
        linear("ab", [[["x", "p"], "3"], [["y", "p"], "-1"]], upper="0"),
    ]
    made = one_sided(said, "xp", "upper", 3, TOLD)
    assert verify_certificate(made).reproved == 1
    assert not verify_certificate(one_sided(said, "xp", "upper", 2, TOLD)).ok


def test_a_margin_cell_that_no_cell_is_behind():
    made = certificate(
        [total(4, 4)], (["first", "y"], bound(0, ZERO), bound(0, TOLD)), over=["any", "a"]
    )
    assert verify_certificate(made).reproved == 1
    more = verify_certificate(changed(made, "cells", 0, "lower", to=bound(1, TOLD)))
    assert more.problems == ("the lower bound of cell (any=first, a=y): REFUTED by CP-SAT",)


def test_time_and_solver(monkeypatch):
    # Sixty market-split rows: no solver settles this in a millisecond.
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 10**6, size=(6, 50)).tolist()
    levels = {"a": [f"a{k}" for k in range(50)]}
    said = [prior("a", upper=1)]
    for row in weights:
        half = str(sum(row) // 2)
        said.append(linear("a", [str(one) for one in row], half, half))
    made = certificate(said, (["a0"], bound(0, ZERO), bound(0, TOLD)), over="a", domain=levels)
    found = verify_certificate(made, seconds=1.5)
    assert found.ok
    (why,) = found.unsettled
    assert why.startswith("the upper bound of cell (a=a0): CP-SAT did not settle it in ")
    assert not found.settled
    assert str(found).startswith("NOT verified: nothing wrong was found, but some claims")
    without = f"import sys; sys.modules['ortools.sat.python'] = None; {isolation.CODE}"
    monkeypatch.setattr(isolation, "CODE", without)
    assert "pip install ortools" in verify_certificate(made).unsettled[0]


def test_values_between_the_ends_are_left_out():
    said = [prior("ab", keyed=["values"], values=[[["x", "p"], [0, 5, 50]]]), total(20, 20)]
    assert verify_certificate(one_sided(said, "xp", "upper", 5, TOLD)).reproved == 1
    assert not verify_certificate(one_sided(said, "xp", "upper", 4, TOLD)).ok
    alone = [prior("ab", keyed=["values"], values=[[["x", "p"], [30]]]), total(20, 20)]
    assert verify_certificate(one_sided(alone, "yq", "upper", 0, TOLD)).reproved == 1


# Labels -----------------------------------------------------------------------------------------


def test_labels_are_told_apart_as_json_does():
    levels = {"a": [1, "1", True, None]}
    said = [margin("a", [4, 3, 2, 1])]
    cells = [
        ([label], bound(count, dual((0, k, "lower", 1))), bound(count, dual((0, k, "upper", 1))))
        for k, (label, count) in enumerate(zip(levels["a"], [4, 3, 2, 1], strict=True))
    ]
    assert verify_certificate(certificate(said, *cells, over="a", domain=levels)).duals == 8


def test_labels_that_are_numbers_in_priors():
    """Pairs of labels and lists look like an array of lists; `keyed` tells which."""
    domain = cb.Domain({"a": [0, 1], "b": [0, 1]})
    by_labels = cb.Known(["a", "b"], values={(0, 1): [1, 0], (1, 1): [0, 1]})
    in_lists = cb.Known(["a", "b"], values=[[[0, 1], [1, 0]], [[1, 1], [0, 1]]])
    first, second = by_labels.to_dict()["prior"], in_lists.to_dict()["prior"]
    assert first["values"] == second["values"]
    assert (first["keyed"], second["keyed"]) == (["values"], [])
    for statement in (by_labels, in_lists):
        check_meaning(cb.Release(domain, [statement]), tables_up_to(4, 5))


def test_levels_that_are_lists():
    levels = {"a": [["x", "y"], "z"]}
    said = prior("a", keyed=["lower"], lower=[[["x", "y"], 4], [["z"], 2]])
    assert read_statement(said, 0, Space(levels, {})).least == [4, 2]
    with pytest.raises(cb.InvalidInput, match="either of two levels"):
        said = prior("a", keyed=["lower"], lower=[[["z"], 2]])
        read_statement(said, 0, Space({"a": ["z", ["z"]]}, {}))


# The meaning of statements, against the slow, obvious way ---------------------------------------


def tables_up_to(cells, records):
    return [np.array(t) for n in range(records + 1) for t in compositions(n, cells)]


def meaning(release):
    said = json.loads(json.dumps(release.to_dict()))
    space = Space(said["domain"], said.get("groupings", {}))
    read = [read_statement(one, place, space) for place, one in enumerate(said["statements"])]
    return space, read


def allows(statement, table):
    """Whether a table satisfies every inequality and list that the statement makes."""
    for row in statement.inequalities():
        if (row.coefficients * table[row.cells]).sum() < row.bound:
            return False
    lists = statement.lists() if isinstance(statement, SumStatement) else ()
    return all(int(table[cells].sum()) in values for cells, values in lists)


def check_meaning(release, tables):
    _, read = meaning(release)
    for mine, theirs in zip(read, release.statements, strict=True):
        for table in tables:
            shaped = table.reshape(release.domain.shape)
            expected = holds(theirs, release, shaped)
            assert (mine.broken(table) is None) == expected, (theirs.to_dict(), table)
            assert (mine.broken(table.astype(object)) is None) == expected
            assert allows(mine, table) == expected, (theirs.to_dict(), table)


def near(counts, data):
    """Tables around one, and a few of any kind."""
    flat = counts.ravel()
    for _ in range(12):
        moved = flat.copy()
        for _ in range(data.draw(st.integers(0, 3))):
            place = data.draw(st.integers(0, len(flat) - 1))
            moved[place] = max(0, moved[place] + data.draw(st.sampled_from([-1, 1, 1, 2])))
        yield moved


@given(releases(), st.data())
def test_statements_mean_what_the_brute_force_says(release, data):
    size = release.domain.size
    sizes = st.lists(st.integers(0, 4), min_size=size, max_size=size)
    drawn = data.draw(st.lists(sizes, min_size=5, max_size=20))
    check_meaning(release, [np.array(one) for one in drawn])


@given(cases(), st.data())
def test_every_kind_of_statement_and_derived_variables(case, data):
    check_meaning(case.release, [case.counts.ravel(), *near(case.counts, data)])


@few(20, least=20)
@given(cases())
def test_cp_sat_agrees_with_the_list_of_all_tables(case):
    space, read = meaning(case.release)
    tables = listed(case.release, case.largest)
    known = tables[0].astype(np.int64) if len(tables) else None
    solver = Reprover(space.size, read, known)

    def settled(asked):
        return solver.settle(asked, seconds=30)[0]

    behind = space.behind(case.over)
    figure = behind.size - 1
    cells = behind.of(figure)
    if not len(tables):
        assert settled(sum_at_least(cells, 0)) is False
        return
    column = sums(case.release, tables, case.over)[:, figure]
    assert settled(sum_at_most(cells, int(column.min()) - 1)) is False
    assert settled(sum_at_least(cells, int(column.max()) + 1)) is False
    assert settled(sum_at_most(cells, int(column.min()))) is True
    assert settled(sum_at_least(cells, int(column.max()))) is True


# The command ------------------------------------------------------------------------------------


def run(made, tmp_path, *options):
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(made), "utf-8")
    return CliRunner().invoke(verify, [str(file), *options], standalone_mode=False)


def test_exit_statuses(good, tmp_path):
    assert run(good, tmp_path).return_value == 0
    assert run(changed(good, "cells", 1, "upper", "proven", to=2), tmp_path).return_value == 1
    said = [margin("a", [2**62, None]), prior("ab", lower=1)]
    wide = certificate(said, ("xp", bound(0, ZERO), bound(2**62 - 1, TOLD)))
    assert run(wide, tmp_path).return_value == 3
    refused = run(changed(good, "cells", to=...), tmp_path)
    assert isinstance(refused.exception, cb.InvalidInput)


def test_output(good, tmp_path):
    shown = run(good, tmp_path)
    assert shown.output == f"{verify_certificate(good)}\n"
    told = json.loads(run(good, tmp_path, "--format", "json").output)
    assert told == verify_certificate(good).to_dict()
    target = tmp_path / "out.json"
    quiet = run(good, tmp_path, "--format", "json", "-o", str(target), "--seconds", "5")
    assert quiet.output == ""
    assert json.loads(target.read_text("utf-8")) == told


def test_long_lists_of_problems_are_cut_for_people():
    made = many([3, 4, 5])
    for place in range(9):
        made = changed(made, "cells", place, "upper", "proof", to=ZERO)
        made = changed(made, "cells", place, "lower", to=bound(1, ZERO))
        made = changed(made, "cells", place, "upper", "attained", to=7)
    found = verify_certificate(made)
    assert len(found.problems) > 20
    assert f"... and {len(found.problems) - 20} more" in str(found)
    assert len(found.to_dict()["problems"]) == len(found.problems)


def test_cells_behind_several_groups_add_up():
    space = Space(DOMAIN, GROUPINGS)
    said = read_statement(linear(["any"], ["1", "1/2"], lower="7"), 0, space)
    assert said.coefficients == [3, 3, 2, 2]
    assert said.lower == 14
    row = said.inequality(0, "lower")
    assert (row.coefficients.tolist(), row.bound) == ([3, 3, 2, 2], 14)


def test_rows_are_empty_or_not():
    said = rates("b", "a", [[None, None], ["1/2", "1/2"]], missing="zero")
    statement = read_statement(said, 0, Space(DOMAIN, {}))
    assert statement.inequality(0, "row") is None
    assert statement.inequality(2, "empty") is None
    assert statement.inequality(0, "lower") is None
    assert statement.inequality(3, "row") is None
    assert statement.inequality(2, "row").bound == 1


def test_sums_that_pass_64_bits_are_still_exact():
    part = 2**61
    said = [margin("a", [8 * part, None])]
    levels = {"a": ["x", "y"], "b": [1, 2, 3, 4, 5, 6, 7, 8]}
    table = [[k, part] for k in range(8)]
    made = certificate(said, over="ab", domain=levels, witnesses=[table])
    assert verify_certificate(made).witnesses == 1
    wrapped = changed(made, "release", "statements", 0, "margin", "counts", 0, to=0)
    assert not verify_certificate(wrapped).ok


def test_what_is_attained_lies_within_what_is_proven():
    made = certificate([total(5, 5)], ("xp", bound(0, ZERO), bound(5, dual((0, 0, "upper", 1)), 6)))
    found = verify_certificate(made)
    assert found.problems == (
        "the upper bound of cell (a=x, b=p): what is attained lies outside what is proven",
        "the upper bound of cell (a=x, b=p): that it is attained (no witness): REFUTED by CP-SAT",
    )


def test_limits_are_worked_out_against_the_order_of_the_statements():
    said = [
        linear("ab", [[["x", "p"], "3"], [["y", "p"], "-1"]], upper="0"),
        linear("ab", [[["y", "p"], "1"], [["y", "q"], "-2"]], upper="1"),
        margin("ab", [[None, None], [None, "<=4"]]),
    ]
    assert not verify_certificate(one_sided(said, "xp", "upper", 2, TOLD)).ok


def test_a_group_lists_a_level_once(good):
    path = ("release", "groupings", "any", "levels", "both")
    with pytest.raises(cb.InvalidInput, match="'both' lists a level twice"):
        verify_certificate(changed(good, *path, to=["x", "x"]))


# Proofs by rows, by hand ------------------------------------------------------------------------


def by_rows(row=0, *sums, statement=0):
    """A proof that a cell lies in a row, which can have none of these sums."""
    return {
        "kind": "rows",
        "statement": statement,
        "row": row,
        "sums": [list(part) for part in sums],
    }


HALVES = [["1/2", "1/2"], ["1/2", "1/2"]]
ONE_OF_TWO = [["0.5", None], ["0.5", None]]
SOME = rates("b", "a", ONE_OF_TWO, eps="0.25", missing="suppressed")
OPEN = rates("b", "a", ONE_OF_TWO, eps="0.25", missing="suppressed", strict=True)

# Each: statements, the cell, the side, the tightest value proven, and the proof.
BY_ROWS = {
    "a cell that is 0": (
        [
            rates("b", "a", [["0.1", "0.9"], ["0.5", "0.5"]], eps="0.2"),
            prior("ab", keyed=["upper"], upper=[[["x", "p"], 0]]),
            prior("a", keyed=["lower"], lower=[[["x"], 5]]),
        ],
        "xq",
        "lower",
        5,
        by_rows(0),
    ),
    "numbers that pass 64 bits on the way": (
        [
            rates("ab", "", [["0.3333", "0.1667", "0.25", "0.25"]]),
            total(10**4 * 2**47, 10**4 * 2**47),
        ],
        "xp",
        "upper",
        3333 * 2**47,
        by_rows(0),
    ),
    "rates of many digits beside those of nobody": (
        [
            rates("ab", "", [["0.3333", "0.6667", "0", "0"]]),
            total(10**4 * 2**47, 10**4 * 2**47),
        ],
        "xp",
        "upper",
        3333 * 2**47,
        by_rows(0),
    ),
    "the lower end of a rate": (  # a quarter of 7
        [SOME, margin("a", [7, None])],
        "xp",
        "lower",
        2,
        by_rows(0),
    ),
    "the upper end of a rate": ([SOME, margin("a", [7, None])], "xp", "upper", 5, by_rows(0)),
    "an open lower end": ([OPEN, margin("a", [8, None])], "xp", "lower", 3, by_rows(0)),
    "an open upper end": ([OPEN, margin("a", [8, None])], "xp", "upper", 5, by_rows(0)),
    "what no table has": (  # each row holds three at least
        [rates("b", "a", [["1/3", "2/3"], ["1/3", "2/3"]]), total(7, 7)],
        "xp",
        "lower",
        9,
        by_rows(0, (3, 6, 3)),
    ),
    "groups that overlap say nothing of N, what follows does": (
        [
            rates("b", "a", HALVES),
            margin(["any"], [None, None]),
            total(8, 8),
        ],
        "xp",
        "upper",
        3,
        by_rows(0, (8, 8, 2)),
    ),
    "what no N has": (
        [rates("b", "a", HALVES), total(0, 8), total(20, None)],
        "xp",
        "lower",
        9,
        by_rows(0, (2, 6, 2)),
    ),
    "less than the rows hold at least": (  # 3 and 2
        [rates("b", "a", [["0.3", "0.7"], HALVES[0]], digits=1, rounding="nearest"), total(4, 4)],
        "xp",
        "lower",
        9,
        by_rows(0, (3, 3, 1)),
    ),
    "what is known of a cell, however large its row": (
        [SOME, prior("ab", keyed=["lower"], lower=[[["x", "q"], 3]])],
        "xq",
        "lower",
        3,
        by_rows(0),
    ),
    "a column that ends before N does": (  # 3000 are two fifths of 7500
        [
            rates("b", "a", [["0.5", None], ["0.5", None]], eps="0.1", missing="suppressed"),
            prior("ab", keyed=["upper"], upper=[[["x", "p"], 3000]]),
            total(20000, 20000),
        ],
        "xq",
        "upper",
        4500,
        by_rows(0),
    ),
    "rows that share people": (
        [rates("b", ["any"], HALVES), prior("a", upper=[4, 2])],
        "xp",
        "upper",
        3,
        by_rows(0),
    ),
}

NO_TABLE = {"what no table has", "what no N has", "less than the rows hold at least"}
"""Of no table anything is true."""


@pytest.mark.parametrize("name", BY_ROWS)
def test_rows_prove_what_they_prove_and_no_more(name):
    statements, labels, side, proven, proof = BY_ROWS[name]
    found = verify_certificate(one_sided(statements, labels, side, proven, proof))
    assert found.problems == ()
    assert found.rows == 1
    tighter = proven + (1 if side == "lower" else -1)
    bad = verify_certificate(one_sided(statements, labels, side, tighter, proof))
    assert bad.ok is (name in NO_TABLE)


def test_people_beside_the_rows_are_taken_off_n():
    said = [rates("b", ["some"], [["1/2", "1/2"]]), margin("a", [None, 5]), total(9, 9)]
    for side, proof in (("lower", by_rows(0, (2, 2, 2))), ("upper", by_rows(0))):
        assert verify_certificate(one_sided(said, "xp", side, 2, proof)).rows == 1
    assert not verify_certificate(one_sided(said, "xp", "upper", 1, by_rows(0))).ok


@pytest.mark.parametrize(("side", "true", "wrong"), [("lower", 0, 1), ("upper", 2, 1)])
def test_a_part_of_a_column_is_not_all_of_it(side, true, wrong):
    levels = {"a": ["x", "y"], "b": ["p", "q"], "c": ["u", "v"]}
    said = [rates("b", "a", HALVES), margin("a", [4, None])]
    for proven in (true, wrong):
        claim = {"lower": bound(0, ZERO), "upper": bound(None, TOLD)}
        claim[side] = bound(proven, by_rows(0))
        cell = ("xpu", claim["lower"], claim["upper"])
        found = verify_certificate(certificate(said, cell, over="abc", domain=levels))
        assert found.ok is (proven == true)


@pytest.mark.parametrize(("proven", "ok"), [(1, True), (0, False)])
def test_people_who_are_known_leave_less_of_a_column_to_others(proven, ok):
    """Half of 4 at most, and one of these two is v."""
    levels = {"a": ["x", "y"], "b": ["p", "q"], "c": ["u", "v"]}
    said = [
        rates("b", "a", [["0.25", None], ["0.25", None]], eps="0.25", missing="suppressed"),
        margin("a", [4, None]),
        prior("abc", keyed=["lower"], lower=[[["x", "p", "v"], 1]]),
    ]
    cell = ("xpu", bound(0, ZERO), bound(proven, by_rows(0)))
    assert verify_certificate(certificate(said, cell, over="abc", domain=levels)).ok is ok


NOBODY = [None, None]
ANY = ["1/2", "1/2"]


@pytest.mark.parametrize(
    ("figures", "eps", "limited", "n", "row"),
    [
        # Two rows of at most 2 beside one of 5 or 10: both have 2.
        ([ANY, ANY, ["1/5", "4/5"]], "110", "xy", 9, 0),
        # One of at most 2 beside an even one, and two of nobody: it has 2.
        ([NOBODY, NOBODY, ANY, ANY], "0001", "v", 4, 3),
    ],
)
def test_rows_of_few_people_are_not_taken_for_rows_of_any_number(figures, eps, limited, n, row):
    levels = {"a": ["x", "y", "z", "v"][: len(figures)], "b": ["p", "q"]}
    wide = [["0", "1/2"][int(one)] for one in eps for _ in "pq"]
    said = [
        rates("b", "a", figures, missing="zero", eps=wide),
        prior("a", keyed=["upper"], upper=[[[one], 2] for one in limited]),
        total(n, n),
    ]
    for proven, ok in ((2, True), (3, False)):
        cell = (levels["a"][row], bound(proven, by_rows(row, (1, 1, 1))), bound(None, TOLD))
        found = verify_certificate(certificate(said, cell, over="a", domain=levels))
        assert found.ok is ok


def test_two_rows_of_even_sums_leave_an_odd_one_to_the_third():
    levels = {"a": ["x", "y", "z"], "b": ["p", "q"]}
    said = [
        rates("b", "a", [*HALVES, [None, None]], missing="suppressed"),
        prior("a", keyed=["upper"], upper=[[["z"], 4]]),
        total(9, 9),
    ]
    for proven, ok in ((3, True), (2, False)):
        cell = ("zp", bound(0, ZERO), bound(proven, by_rows(2, (4, 4, 1))))
        found = verify_certificate(certificate(said, cell, domain=levels))
        assert found.ok is ok


NOT_BY_ROWS = {
    "a cell of several rows": (
        ([rates("b", "a", HALVES), total(4, 4)], "p", "upper", 1, by_rows(0, (2, 2, 2)), "b"),
        "it does not lie in row 0 of statement 0",
    ),
    "N leaves no choice": (
        ([rates("b", "a", HALVES), total(4, 4)], "xp", "lower", 2, by_rows(0, (2, 2, 2)), "ab"),
        "the other rows can make up the rest of N",
    ),
    "nobody but those beside": (
        (
            [
                rates("b", ["some"], [[None, None]], missing="zero"),
                margin("a", [None, "<=3"]),
                total(3, 3),
            ],
            "xp",
            "lower",
            1,
            by_rows(0, (0, 0, 1)),
            "ab",
        ),
        "the other rows can make up the rest of N",
    ),
    "N between two, of which only the larger is reached": (
        ([rates("b", "a", HALVES), total(7, 8)], "xp", "upper", 1, by_rows(0, (4, 6, 2)), "ab"),
        "the other rows can make up the rest of N",
    ),
    "a margin of others": (
        ([rates("b", "a", HALVES), margin(["some"], [4])], "yp", "upper", 2, by_rows(1), "ab"),
        "too many sums of the row could break it",
    ),
    "N beyond 64 bits": (
        (
            [
                rates("b", "a", HALVES),
                prior("a", keyed=["upper"], upper=[[["x"], 4]]),
                total(2**64, 2**64),
            ],
            "xp",
            "upper",
            1,
            by_rows(0, (4, 4, 2)),
            "ab",
        ),
        "the other rows can make up the rest of N",
    ),
}


@pytest.mark.parametrize("name", NOT_BY_ROWS)
def test_rows_do_not_prove(name):
    claim, why = NOT_BY_ROWS[name]
    *claim, over = claim
    (problem,) = verify_certificate(one_sided(*claim, over=over)).problems
    assert problem.endswith(why) or why in problem


# Dual proofs, limits and words ------------------------------------------------------------------


def test_multipliers_that_pass_64_bits_beside_a_small_denominator():
    huge = 2**64
    above = one_sided([total(0, 5)], "xp", "upper", 5 * huge, dual((0, 0, "upper", huge)))
    assert verify_certificate(above).duals == 1
    below = one_sided([total(5, 5)], "xp", "lower", 1, dual((0, 0, "lower", huge)))
    (problem,) = verify_certificate(below).problems
    assert "the dual proof leaves a negative coefficient" in problem


def test_a_cell_that_is_0_limits_others():
    said = [
        margin("ab", [[0, None], [None, None]]),
        linear("ab", [[["x", "q"], "1"], [["x", "p"], "-2"]], upper="3"),
    ]
    assert verify_certificate(one_sided(said, "xq", "upper", 3, TOLD)).reproved == 1
    assert not verify_certificate(one_sided(said, "xq", "upper", 2, TOLD)).ok


def test_a_list_of_a_figure_that_no_cell_is_behind_ends_no_other():
    values = [[["first", "y"], [0, 3]], [["first", "x"], [2, 5]]]
    said = [prior(["any", "a"], keyed=["values"], values=values), total(0, 4)]
    assert verify_certificate(one_sided(said, "x", "upper", 2, TOLD, over="a")).reproved == 1
    assert not verify_certificate(one_sided(said, "x", "upper", 1, TOLD, over="a")).ok


def test_a_factor_is_too_large_even_of_a_cell_that_is_0():
    said = [
        margin("ab", [[0, "<=4"], [0, 3]]),
        linear("ab", [[["x", "p"], str(2**64)], [["x", "q"], "1"], [["y", "q"], "2"]], lower="9"),
    ]
    (why,) = verify_certificate(one_sided(said, "xq", "lower", 3, TOLD)).unsettled
    assert why.endswith("its numbers are too large for CP-SAT")


def test_one_hard_claim_leaves_time_to_the_others(monkeypatch):
    """Each may take four times its share of what is left, and all of it once few are left."""
    shares = []

    def settle(_self, *_asked, seconds):
        shares.append(seconds)
        return None, "not tried"

    monkeypatch.setattr(Reprover, "settle", settle)
    said = [margin("ab", [["<9", "<9"], ["<9", "<9"]]), total(5, 5)]
    cells = [(labels, bound(1, TOLD), bound(4, TOLD)) for labels in ("xp", "xq", "yp", "yq")]
    found = verify_certificate(certificate(said, *cells), seconds=800)
    assert found.not_reproved == 8
    assert shares == pytest.approx([400, 3200 / 7, 3200 / 6, 640, 800, 800, 800, 800], abs=40)


def test_limits_that_take_too_many_rounds_are_left_out():
    """Each cell is limited by the next one, and the last by itself, which is said last."""
    levels = {"a": [f"a{k}" for k in range(60)]}
    said = [
        linear("a", [[[f"a{k}"], "1"], [[f"a{k + 1}"], "-1"]], upper="0") for k in range(59)
    ] + [prior("a", keyed=["upper"], upper=[[["a59"], 4]])]
    for proven, ok in ((4, True), (3, False)):
        cell = (["a59"], bound(0, ZERO), bound(proven, TOLD))
        assert verify_certificate(certificate(said, cell, over="a", domain=levels)).ok is ok


MODELS = [  # rows, lists, tops, and what the first cell is
    ([([(0, 1), (1, 1)], 5)], [], [2, 3], 2),
    ([([(0, -1)], 0)], [], [7, 0], 0),
    ([([(0, 1), (1, -2)], 0), ([(1, 1)], 2)], [], [4, 9], 4),
    ([([(0, 1)], 1)], [([0, 1], [0, 3, 8])], [2, 1], 2),
    ([([(0, 1)], 3)], [], [2, 0], None),
]


@pytest.mark.parametrize("presolve", [True, False])
@pytest.mark.parametrize(("rows", "lists", "tops", "first"), MODELS)
def test_models_for_cp_sat(rows, lists, tops, first, presolve):
    status, counts = CpModel(rows, lists, tops).solve(10, presolve)
    assert status in (("OPTIMAL", "FEASIBLE") if first is not None else ("INFEASIBLE",))
    assert counts.get(0) == first


RANGES = {"<5": (0, 4), "<=5": (0, 5), ">5": (6, None), ">=5": (5, None), "5-7": (5, 7)}


@pytest.mark.parametrize("entry", RANGES)
def test_ranges(entry):
    statement = read_statement(margin("a", [entry, None]), 0, Space(DOMAIN, {}))
    assert (statement.least[0], statement.most[0]) == RANGES[entry]
    assert (statement.least[1], statement.most[1]) == (0, None)


def test_a_number_that_was_not_hidden_is_at_least_the_threshold():
    """Rounded to 10 are 8 to 12; below 9 they were hidden."""
    said = margin("a", [10, "<9"], base=5, rounding="nearest", below=9)
    statement = read_statement(said, 0, Space(DOMAIN, {}))
    assert (statement.least, statement.most) == ([9, 0], [12, 8])
    with pytest.raises(cb.InvalidInput, match="below"):
        read_statement(
            margin("a", [10, 5], base=5, rounding="nearest", below=1), 0, Space(DOMAIN, {})
        )


KEYS = {"0": {"0": "1"}, "1": {"0": "1/2", "3": "1/2"}, "2": {"0": "1/4", "2": "1/2", "4": "1/4"}}
NOISES = {
    # By hand: the counts that may be shown as 4, and as 0.
    "differences": ({"-1": "1/2", "0": "0", "2": "1/2"}, [2, 5], [1]),
    "chances": (KEYS, [2], [0, 1, 2]),
    # Beyond 2 a count is shown as two less, as it is, or as two more.
    "cell key": (KEYS, [2, 4, 6], [0, 1, 2]),
}


@pytest.mark.parametrize("kind", NOISES)
def test_counts_that_lead_to_a_figure_with_noise(kind):
    given, *possible = NOISES[kind]
    said = margin("a", [4, 0], noise={kind: given})
    statement = read_statement(said, 0, Space(DOMAIN, {}))
    for place, counts in enumerate(possible):
        held = range(statement.least[place], statement.most[place] + 1)
        listed = statement.values.get(place)
        assert [count for count in held if listed is None or count in listed] == counts


LABELS = cb.Domain(
    {"a": [1, ("x", 2), "z"], "b": ["p", "q"]},
    groupings={"some": cb.Grouping("a", {"low": [1], "rest": [("x", 2), "z"]})},
)
KINDS = {
    "a total": cb.Total(lower=3, upper=9),
    "a total from below": cb.Total(lower=3),
    "a margin": cb.Margin(["b", "a"], [["<5", "<=5", 0], [">5", ">=5", "5-7"]]),
    "a rounded margin": cb.Margin(["some"], [10, 5], base=5, rounding="nearest"),
    "a margin with a threshold": cb.Margin(["some"], [10, "<9"], base=5, below=9),
    "a margin with noise": cb.Margin(["some"], [4, 0], noise={"cell key": KEYS}),
    "knowledge": cb.Known(["a", "b"], upper=8, values={(1, "p"): [7, 0], ("z", "q"): [3]}),
    "a sum": cb.Linear(["a"], [Fraction(-3, 2), 0, 3], lower=Fraction(-7, 4), upper=8),
    "a sum from below": cb.Linear(["b"], [2, 4], lower=3),
    "rates": cb.Conditional(["b"], ["some"], rates=[["0.3", "0.7"], ["0.5", "0.5"]], eps="0.05"),
    "rates of nobody": cb.Conditional(
        ["b"], ["some"], rates=[["0.3", "0.7"], [None, None]], missing="zero", rounding="down"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_digest_is_that_of_the_release(kind):
    release = cb.Release(LABELS, [KINDS[kind]])
    assert digest(*meaning(release)) == release.digest
    both = cb.Release(LABELS, [KINDS[kind], cb.Margin(["b"], ["<50", None])])
    assert digest(*meaning(both)) == both.digest


def test_the_largest_of_the_values_is_one_of_them():
    said = [prior("ab", keyed=["values"], values=[[["x", "p"], [0, 5]]])]
    assert not verify_certificate(one_sided(said, "xp", "upper", 4, TOLD)).ok


def test_what_is_said_of_a_cell_without_limit_proves_nothing():
    """(x, q) may hold the five."""
    said = [margin("a", [">=5", None]), prior("ab", keyed=["upper"], upper=[[["x", "p"], 2]])]
    assert verify_certificate(one_sided(said, "xp", "lower", 1, TOLD)).reproved == 0


def test_one_huge_row_is_too_large_whatever_the_others_are():
    said = [margin("a", [2**70, 5]), margin("b", [None, "<=7"])]
    (why,) = verify_certificate(one_sided(said, "xp", "lower", 2**70 - 7, TOLD)).unsettled
    assert why.endswith("its numbers are too large for CP-SAT")


def test_lower_bounds_are_proved_anew():
    said = [margin("a", [3, 1]), margin("b", [2, 2])]
    assert verify_certificate(one_sided(said, "xp", "lower", 1, TOLD)).reproved == 1
    assert not verify_certificate(one_sided(said, "xp", "lower", 2, TOLD)).ok


def test_a_solver_that_dies_leaves_a_claim_unsettled(monkeypatch):
    monkeypatch.setattr(isolation, "CODE", "import os; os._exit(3)")
    said = [margin("a", [3, 1]), margin("b", [2, 2])]
    (why,) = verify_certificate(one_sided(said, "xp", "lower", 1, TOLD)).unsettled
    assert "CP-SAT failed" in why
    # The limits of the cells prove this one.
    assert verify_certificate(one_sided([total(4, 4)], "xp", "upper", 4, TOLD)).reproved == 1


@pytest.mark.parametrize(
    "said",
    [
        lambda text: linear("a", [text, "0"], "1"),
        lambda text: prior("a", upper=[text, 1]),
        lambda text: margin("a", ["<" + text[1:], 1]),
    ],
)
def test_numbers_in_texts_have_1000_characters_at_most(said):
    space = Space(DOMAIN, {})
    assert read_statement(said("7" * 1000), 0, space).names == ("a",)
    with pytest.raises(cb.InvalidInput, match="statement 0"):
        read_statement(said("7" * 1001), 0, space)


def test_rows_after_an_empty_one_are_looked_at():
    said = [rates("b", "a", [[None, None], ["1/2", "1/2"]], missing="zero")]
    made = certificate(said, over="ab", witnesses=[[[2, 1], [3, 3]]])
    (problem,) = verify_certificate(made).problems
    assert problem.endswith("at (a=y, b=p)")


def test_rows_prove_nothing_of_people_beside_them():
    said = [rates("b", ["some"], [["1/2", "1/2"]]), total(8, 8)]
    assert not verify_certificate(one_sided(said, "yp", "upper", 0, TOLD)).ok


def test_the_row_that_a_table_contradicts_is_named():
    said = [rates("b", "a", HALVES)]
    made = certificate(said, over="ab", witnesses=[[[0, 1], [1, 1]]])
    (problem,) = verify_certificate(made).problems
    assert problem.endswith("it contradicts statement 0 (conditional) [b|a] at (a=y, b=p)")


def test_a_ray_keeps_the_lower_end_of_a_rate_to_the_last_count():
    said = [rates("b", "a", [["3/4", None], ["1/2", "1/2"]], eps="1/4", missing="suppressed")]
    assert verify_certificate(endless([[0, 1], [1, 1]], said)).rays == 1
    found = verify_certificate(endless([[0, 1], [1, 2]], said))
    assert "the ray contradicts statement 0" in found.problems[0]


def test_a_linear_statement_has_one_figure():
    said = [linear("ab", [["1", "0"], ["0", "0"]], upper="3")]
    made = one_sided(said, "xp", "upper", 3, dual((0, 1, "upper", 1)))
    (problem,) = verify_certificate(made).problems
    assert "names figure 1, upper, of statement 0, which says no such thing" in problem


def test_rates_have_1000_digits_at_most():
    space = Space(DOMAIN, {})
    read_statement(rates("b", "a", HALVES, digits=1000, rounding="down"), 0, space)
    with pytest.raises(cb.InvalidInput, match="digits is above 1000"):
        read_statement(rates("b", "a", HALVES, digits=1001, rounding="down"), 0, space)


def test_the_key_that_stands_there_twice_is_named(tmp_path):
    file = tmp_path / "made.json"
    file.write_text('{"version": 1, "format": 1, "format": 2}')
    with pytest.raises(cb.InvalidInput, match="the key 'format' twice"):
        verify_certificate(file)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (True, "true or false"), ("3", "a text"), (1.5, "a number with a point")],
)
def test_what_is_no_whole_number_is_told_by_its_kind(good, value, kind):
    with pytest.raises(cb.InvalidInput, match=f"lower.proven is {kind}; it must be a whole number"):
        verify_certificate(changed(good, "cells", 0, "lower", "proven", to=value))


def test_margins_of_too_many_figures_are_refused(good):
    groups = {f"g{k}": {"of": "a", "levels": {str(j): ["x"] for j in range(10)}} for k in range(9)}
    made = changed(good, "release", "groupings", to=groups)
    with pytest.raises(cb.InvalidInput, match="over spans more than 100000000 cells"):
        verify_certificate(changed(made, "over", to=list(groups)))


# Rounding and noise, by hand ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "figure", "ends"),
    [
        ("controlled", 12, (9, 15)),
        ("controlled-2", 12, (5, 19)),
        ("controlled-3", 12, (1, 23)),
        ("controlled-2", 0, (0, 7)),
        ("random", 12, (9, 15)),
        ("half-even", 12, (11, 13)),  # 10 and 14 are nearer to 8 and 16, which are even
        ("half-even", 8, (6, 10)),
    ],
)
def test_counts_that_a_rule_prints(rule, figure, ends):
    said = margin("a", [figure, None], base=4, rounding=rule, rule="rounding")
    statement = read_statement(said, 0, Space(DOMAIN, {}))
    assert (statement.least[0], statement.most[0]) == ends


@pytest.mark.parametrize(
    ("figure", "how", "allowed"),
    [
        ("0.3", {"rounding": "half-even"}, [6]),  # 5 and 7 of 20 are printed as 0.2 and 0.4
        ("0.4", {"rounding": "half-even"}, [7, 8, 9]),
        ("0.3", {"rounding": "nearest", "eps": "0.05", "strict": True}, [6]),
        ("0.3", {"rounding": "nearest", "eps": "0.05"}, [5, 6]),
        ("0.3", {"rounding": "down", "eps": "0.04"}, [6]),
        ("0.3", {"rounding": "down", "eps": "0.1"}, [6, 7]),
    ],
)
def test_rates_that_a_rule_prints(figure, how, allowed):
    said = rates("b", "", [[figure, None]], missing="suppressed", digits=1, rule="rounding", **how)
    statement = read_statement(said, 0, Space({"b": ["p", "q"]}, {}))
    assert [x for x in range(21) if statement.broken(np.array([x, 20 - x])) is None] == allowed


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        ({}, "must have one key"),
        ({"wishes": {"0": "1"}}, "must have one key"),
        ({"differences": {"0": "1"}, "chances": {"0": {"0": "1"}}}, "must have one key"),
        ({"laplace": "1", "differences": {"0": "1"}}, "must have one key"),
        ({"differences": {"0": "x"}}, "no table of whole numbers"),
        ({"differences": {"x": "1"}}, "no table of whole numbers"),
        ({"chances": {"0": {"3": "1/0"}}}, "no table of whole numbers"),
        ({"cell key": {}}, "no table of whole numbers"),
        ({"differences": {"4": "1"}}, "a figure that no count leads to"),
        ({"differences": {"0": "0"}}, "a figure that no count leads to"),
    ],
    ids=str,
)
def test_noise_that_means_nothing(noise, says):
    with pytest.raises(cb.InvalidInput, match=says):
        read_statement(margin("a", [3, None], noise=noise), 0, Space(DOMAIN, {}))
    with pytest.raises(cb.InvalidInput, match="both a base and noise"):
        noisy = margin("a", [4, None], noise=noise, base=4, rounding="up")
        read_statement(noisy, 0, Space(DOMAIN, {}))


@pytest.mark.parametrize("figure", [True, 1.5, [1]])
def test_figures_with_noise_are_whole_numbers(figure):
    said = margin("a", [figure, None], noise={"differences": {"0": "1"}})
    with pytest.raises(cb.InvalidInput, match="must be a whole number"):
        read_statement(said, 0, Space(DOMAIN, {}))


@pytest.mark.parametrize(
    ("labels", "side", "proven", "ok"),
    [
        ("x", "upper", 5, True),
        ("x", "upper", 4, False),
        ("x", "lower", 2, True),
        ("x", "lower", 3, False),
        ("y", "upper", 3, True),
        ("y", "upper", 2, False),
    ],
)
def test_bounds_by_what_noise_says(labels, side, proven, ok):
    """4 was 2 or 5, and what is hidden as <4 is 3 at most."""
    said = [margin("a", [4, "<4"], noise={"differences": {"2": "1/2", "-1": "1/2"}})]
    for proof in (TOLD, dual((0, "xy".index(labels), side, 1))):
        made = one_sided(said, labels, side, proven, proof, over="a")
        assert verify_certificate(made).settled is ok


@pytest.mark.parametrize(
    ("ray", "stays"),
    [
        ([3, 7], True),
        ([1, 2], True),
        ([1, 3], True),  # as far from 0.3 as may be
        ([1, 4], False),
        ([2, 3], False),
        ([1, 1], False),
    ],
)
def test_rays_of_rows_that_add_to_one(ray, stays):
    fixed = read_statement(SHARED, 0, Space(DOMAIN, {}))
    assert (fixed.broken(np.array([*ray, 0, 0]), ray=True) is None) is stays


def test_the_words_of_a_linear_statement():
    said = read_statement(linear("a", ["1", "-1"], upper="4"), 3, Space(DOMAIN, {}))
    assert (said.words(0), said.words(2)) == (
        "statement 3 (linear) [a]",
        "statement 3 (linear) [a], figure 2",
    )
