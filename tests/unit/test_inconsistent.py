"""Releases that no table fits: every way to contradict, each with a message that says where."""

from __future__ import annotations

import pytest

import cellbounds as cb

TWO = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
GOOD = ["1/2", "1/2"]


def release(rates, *statements, total=10, **options):
    conditional = cb.Conditional(["col"], ["row"], rates=rates, **options)
    totals = [] if total is None else [total if isinstance(total, cb.Total) else cb.Total(total)]
    return cb.Release(TWO, [conditional, *totals, *statements])


ROWS = {
    "exact rates below one": [GOOD, ["1/2", "1/3"]],
    "exact rates above one": [GOOD, ["1/2", "2/3"]],
    "rounded rates too small": [["0.50", "0.50"], ["0.40", "0.50"]],
    "rounded rates too large": [["0.50", "0.50"], ["0.60", "0.50"]],
    # [.495, .505) twice at most .505 + .505; .49 + .50: below .495 + .505, open
    "rounded rates just missing one at an open end": [["0.50", "0.50"], ["0.49", "0.50"]],
    "all zero": [["0.50", "0.50"], ["0.00", "0.00"]],
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("total", [10, None, 10**6])
def test_a_row_that_no_counts_make_is_named(kind, total):
    with pytest.raises(cb.InconsistentRelease, match=r"row=b of \[col\|row\].*rates") as caught:
        cb.bounds(release(ROWS[kind], total=total))
    assert "row=a" not in str(caught.value)
    with pytest.raises(cb.InconsistentRelease, match="row=b"):
        cb.attainable(release(ROWS[kind], total=total))


def test_closed_ends_make_the_same_row_possible():
    touching = [["0.50", "0.50"], ["0.49", "0.50"]]
    how = {"total": 2 * 200, "rounding": "half-even"}
    answer = cb.bounds(release(touching, rule="interval", **how))
    # .495 and .505: only a row of 200, 400, ... = 99/200 and 101/200
    assert answer["b", "x"] == (99, 99)
    # But halves go to the even digit: .495 is printed as .50.
    with pytest.raises(cb.InconsistentRelease, match="row=b"):
        cb.bounds(release(touching, **how))


def test_a_strict_tolerance_excludes_its_ends():
    wide = [GOOD, ["0.4", "0.4"]]
    assert cb.bounds(release(wide, eps="0.1", total=4))["b", "x"] == (1, 1)
    with pytest.raises(cb.InconsistentRelease, match="row=b"):
        cb.bounds(release(wide, eps="0.1", strict=True, total=4))


def test_several_givens_are_all_named():
    domain = cb.Domain({"county": ["A", "B"], "sex": ["m", "f"], "col": ["x", "y"]})
    rates = [[GOOD, GOOD], [GOOD, ["1/2", "1/3"]]]
    conditional = cb.Conditional(["col"], ["county", "sex"], rates=rates)
    with pytest.raises(cb.InconsistentRelease, match="county=B, sex=f"):
        cb.bounds(cb.Release(domain, [conditional, cb.Total(20)]))


def test_joint_proportions_that_do_not_add_up():
    conditional = cb.Conditional(["row", "col"], rates=[["0.1", "0.2"], ["0.3", "0.1"]])
    with pytest.raises(cb.InconsistentRelease, match=r"\(all\).*\[row,col\|\]"):
        cb.bounds(cb.Release(TWO, [conditional, cb.Total(20)]))


@pytest.mark.parametrize("total", [0, 1, 4])
def test_a_total_smaller_than_the_rows_need(total):
    with pytest.raises(cb.InconsistentRelease, match=rf"N={total} is smaller.*at least 5"):
        cb.bounds(release([GOOD, ["1/3", "2/3"]], total=total))


@pytest.mark.parametrize("total", [6, cb.Total(lower=6, upper=6)])
def test_a_total_that_cannot_be_reached(total):
    # 2 + 3 = 5 and 4 + 3 = 7: six is between.
    with pytest.raises(cb.InconsistentRelease, match="N=6 cannot be reached"):
        cb.bounds(release([GOOD, ["1/3", "2/3"]], total=total))


def test_an_odd_total_of_even_rows():
    with pytest.raises(cb.InconsistentRelease, match="N=1000000000000001 cannot be reached"):
        cb.bounds(release([GOOD, ["1/4", "3/4"]], total=10**15 + 1))


def test_a_range_of_totals_without_a_reachable_one():
    thirds = [["1/30", "29/30"], ["1/30", "29/30"]]
    with pytest.raises(cb.InconsistentRelease, match=r"61\.\.89 cannot be reached"):
        cb.bounds(release(thirds, total=cb.Total(lower=61, upper=89)))


def test_everybody_is_said_to_be_nowhere():
    nobody = [[None, None], [None, None]]
    with pytest.raises(cb.InconsistentRelease, match=r"hold nobody.*N=10"):
        cb.bounds(release(nobody, missing="zero"))
    assert cb.bounds(release(nobody, missing="zero", total=0)).upper.tolist() == [[0, 0], [0, 0]]


def test_a_row_of_nobody_with_somebody():
    rates = [GOOD, [None, None]]
    for prior in (
        cb.Known(["row"], lower={"b": 1}),
        cb.Known(["row", "col"], lower={("b", "y"): 1}),
        cb.Margin(["row"], [8, 2]),
        cb.Known(["row"], values={"b": [1, 2]}),
    ):
        with pytest.raises(cb.InconsistentRelease, match="row=b is said to hold nobody"):
            cb.bounds(release(rates, prior, missing="zero", total=None))


PRIORS = {
    "cell above what its rate allows": (
        [["1", "0"], GOOD],
        [cb.Known(["row", "col"], lower={("a", "y"): 1})],
        "row=a",
    ),
    "cell below what its rate needs": (
        [GOOD, GOOD],
        [cb.Known(["row", "col"], upper={("a", "x"): 0})],
        "row=a",
    ),
    "cells that do not fit together": (
        [GOOD, GOOD],
        [cb.Known(["row", "col"], lower={("a", "x"): 3}, upper={("a", "y"): 2})],
        "row=a",
    ),
    "row sum that its rates forbid": (
        [GOOD, GOOD],
        [cb.Known(["row"], values={"a": [1, 3, 5]})],
        "row=a",
    ),
    "row must be larger than N": ([GOOD, GOOD], [cb.Known(["row"], lower={"a": 12})], "row=a|N"),
    "rows cannot reach N": ([GOOD, GOOD], [cb.Known(["row"], upper=4)], "N=10 cannot be reached"),
    "margin does not add to N": ([GOOD, GOOD], [cb.Margin(["row"], [4, 4])], "N=10"),
    "margin that the rates forbid": ([GOOD, GOOD], [cb.Margin(["row"], [5, 5])], "row=a"),
    "priors that contradict each other": (
        [GOOD, GOOD],
        [cb.Known(["row"], lower={"a": 6}), cb.Known(["row"], upper={"a": 4})],
        r"knowledge of \[row\]",
    ),
    "list outside its bounds": (
        [GOOD, GOOD],
        [cb.Known(["row"], lower={"a": 6}), cb.Known(["row"], values={"a": [2, 4]})],
        r"knowledge of \[row\]",
    ),
    "lists without a common value": (
        [GOOD, GOOD],
        [cb.Known(["row"], values={"a": [6]}), cb.Known(["row"], values={"a": [2, 4]})],
        r"knowledge of \[row\]",
    ),
    "margin against prior": (
        [GOOD, GOOD],
        [cb.Margin(["row"], [4, 6]), cb.Known(["row"], upper={"b": 4})],
        r"\[row\], knowledge of \[row\]",
    ),
    "cell lists that no row sum joins": (
        [GOOD, GOOD],
        [cb.Known(["row", "col"], values={("a", "x"): [1, 3], ("a", "y"): [2, 4]})],
        "row=a",
    ),
}


@pytest.mark.parametrize("kind", PRIORS)
def test_priors_that_cannot_hold(kind):
    rates, priors, said = PRIORS[kind]
    bad = release(rates, *priors, **({"eps": 0} if ["1", "0"] in rates else {}))
    with pytest.raises(cb.InconsistentRelease, match=said):
        cb.bounds(bad)
    with pytest.raises(cb.InconsistentRelease):
        cb.attainable(bad)


def test_a_whole_release_that_contradicts_two_statements_names_both():
    # Rates and a margin of the same cells: 3 of 10 is not a half.
    bad = release([GOOD, GOOD], cb.Margin(["row", "col"], [[3, 2], [2, 3]]))
    with pytest.raises(cb.InconsistentRelease) as caught:
        cb.bounds(bad)
    said = str(caught.value)
    assert "row=a" in said
    assert "[col|row]" in said


@pytest.mark.parametrize(
    "bad",
    [
        release([GOOD, ["1/2", "1/3"]]),
        release([GOOD, GOOD], total=3),
        release([GOOD, GOOD], cb.Known(["row"], upper=2)),
    ],
    ids=["row", "small", "unreachable"],
)
def test_the_relaxation_refuses_too_where_no_real_table_fits(bad):
    if bad.total == cb.Total(3):
        # Real rows of one person each fit.
        assert cb.bounds(bad, kind="linear")["a", "x"] == (0.5, 1)
        return
    with pytest.raises(cb.InconsistentRelease):
        cb.bounds(bad, kind="linear")


def test_messages_say_no_more_than_the_release():
    table = cb.datasets.read("delinquent")
    bad = cb.Release(
        table.domain,
        [*cb.publish(table, "[education|county]@2", total=False).statements, cb.Total(134)],
    )
    with pytest.raises(cb.InconsistentRelease, match="N=134"):
        cb.bounds(bad)
