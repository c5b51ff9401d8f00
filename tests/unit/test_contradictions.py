"""Which statements contradict each other: the fewest, by name, without their counts."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from hypothesis import assume, given

import cellbounds as cb
from cellbounds import cli
from cellbounds.results.solution import Query
from cellbounds.solvers.blame import BlameLimits, contradiction
from cellbounds.solvers.solve import solve
from mixtures import cases
from strategies import few

TWO = ["0", "1"]
DOMAIN = cb.Domain(dict.fromkeys("abcd", TWO))
BIG = 91827


def said(*statements, domain=DOMAIN, over=None):
    """The message, which must not show a count."""
    release = cb.Release(domain, statements)
    with pytest.raises(cb.InconsistentRelease) as caught:
        cb.bounds(release, over=over)
    with pytest.raises(cb.InconsistentRelease):
        cb.attainable(release, over=over)
    message = str(caught.value)
    assert str(BIG) not in message
    return message


def margin(names, *counts):
    return cb.Margin(list(names), np.reshape(counts, [2] * len(names)))


def test_two_margins_that_differ_where_they_overlap():
    message = said(margin("ab", BIG, 1, 2, 3), margin("bc", BIG, 2, 1, 4), margin("cd", 1, 2, 3, 4))
    assert message == "[a,b] and [b,c] give different counts for [b]"
    message = said(margin("abc", *range(8)), margin("bcd", *range(8)), margin("a", 6, 22))
    assert message == "[a,b,c] and [b,c,d] give different counts for [b,c]"
    message = said(margin("ab", 1, 2, 3, 4), margin("ba", 1, 2, 3, 4))
    assert message == "[a,b] and [b,a] give different counts for [a,b]"


def test_margins_in_another_order_agree():
    cb.bounds(cb.Release(DOMAIN, [margin("ab", 1, 2, 3, 4), margin("ba", 1, 3, 2, 4)]))


def test_different_totals():
    assert said(margin("a", BIG, 1), margin("b", 3, 4)) == "[a] and [b] give different totals"
    assert said(margin("a", 3, 4), cb.Total(8)) == "[a] and N=8 give different totals"
    for total in (cb.Total(upper=6), cb.Total(lower=8)):
        assert said(total, margin("a", 3, 4)).startswith("[a] and N")
    for total in (cb.Total(upper=7), cb.Total(lower=7)):
        cb.bounds(cb.Release(DOMAIN, [total, margin("a", 3, 4)]))


TRIANGLE = [margin("ab", 2, 0, 0, 2), margin("bc", 2, 0, 0, 2), margin("ac", 0, 2, 2, 0)]


def test_three_margins_that_agree_in_pairs():
    expected = "no table of counts fits [a,b], [b,c], [a,c] together, though any fewer of them do"
    assert said(*TRIANGLE) == expected
    assert (
        said(*TRIANGLE, margin("d", 1, 3), cb.Total(4), cb.Known(["a", "d"], upper=4)) == expected
    )
    assert said(*TRIANGLE, over=["d"]) == expected
    for two in itertools.combinations(TRIANGLE, 2):
        cb.bounds(cb.Release(DOMAIN, list(two)))


def test_the_closed_form_of_the_cube_names_them_too():
    cube = cb.Domain(dict.fromkeys("abc", TWO))
    message = said(*TRIANGLE, domain=cube)
    assert message.startswith("no table of counts fits [a,b], [b,c], [a,c] together")
    three = [TRIANGLE[0], TRIANGLE[1], margin("ac", 0, 2, 1, 1)]
    assert said(*three, domain=cube) == "[b,c] and [a,c] give different counts for [c]"


def test_a_smaller_set_is_found_though_a_larger_one_comes_first():
    """Leaving out one at a time, from the front, would end with the three margins."""
    pair = [cb.Known(["d"], upper=1), cb.Margin(["d"], [">2", None])]
    message = said(*pair, *TRIANGLE)
    assert message.startswith(f"no table of counts fits {pair[0].notation}, {pair[1].notation} ")
    message = said(*TRIANGLE[:2], *pair, TRIANGLE[2])
    assert "[a,b]" not in message


def test_contradictions_beside_cells_without_limit():
    """Nothing limits d=1; the two statements about d=0 contradict each other all the same."""
    pair = [cb.Known(["d"], upper={"0": 1}), cb.Margin(["d"], [">2", None])]
    expected = f"no table of counts fits {pair[0].notation}, {pair[1].notation} together"
    assert said(*pair).startswith(expected)
    assert said(*pair, over=["a"]).startswith(expected)
    assert said(*pair, *TRIANGLE).startswith(expected)


def test_a_statement_that_no_table_fits_even_alone():
    alone = cb.Linear(["a"], [2, 4], equals=3)
    message = said(margin("b", 1, 1), alone, margin("c", BIG, 1))
    assert "give different totals" in message
    message = said(margin("b", 1, 1), alone)
    assert message.startswith(f"no table of counts fits {alone.notation}, even alone (")
    assert "[b]" not in message


def test_loose_statements():
    domain = cb.Domain({"a": TWO, "b": TWO})
    high, low = cb.Margin(["a"], [f">{BIG}", None]), cb.Known(["a", "b"], upper=7)
    message = said(high, cb.Margin(["b"], ["<99999", None]), low, domain=domain)
    assert message.startswith(f"no table of counts fits {high.notation}, {low.notation} together")


def test_more_than_twelve_statements():
    names = [f"v{k}" for k in range(14)]
    domain = cb.Domain(dict.fromkeys(names[:3], TWO) | {name: ["x"] for name in names[3:]})
    extra = [cb.Margin([name], [4]) for name in names[3:]]
    a, b, c = names[:3]
    triangle = [
        cb.Margin([a, b], [[2, 0], [0, 2]]),
        cb.Margin([b, c], [[2, 0], [0, 2]]),
        cb.Margin([a, c], [[0, 2], [2, 0]]),
    ]
    message = said(*extra, *triangle, domain=domain)
    assert message == (
        "no table of counts fits [v0,v1], [v1,v2], [v0,v2] together, though any fewer of them do"
    )


def test_when_trials_run_out_the_set_is_only_irreducible():
    tried = []

    def solved(release, over):
        tried.append(len(release.statements))
        return solve(release, Query("sharp", over))

    extra = [cb.Known(["d"], upper=9), cb.Known(["a", "d"], upper=9)]
    release = cb.Release(DOMAIN, [*extra, *TRIANGLE])
    problem, limits = cb.InconsistentRelease("no table"), BlameLimits(trials=4)
    message = str(contradiction(solved, release, problem, limits=limits))
    assert len(tried) == 5  # each statement once
    assert message.endswith("though without one of them the others can")
    assert all(one.notation in message for one in TRIANGLE)


def test_one_statement_keeps_its_own_message():
    message = said(cb.Linear(["a"], [2, 4], equals=3))
    assert "together" not in message


@few(3)
@given(cases())
def test_what_is_named_contradicts_and_nothing_can_be_left_out(case):
    release = case.release
    notations = [one.notation for one in release.statements]
    assume(len(set(notations)) == len(notations) > 1)
    try:
        cb.bounds(release)
    except cb.InconsistentRelease as problem:
        message = str(problem)
    else:
        return
    if "together" not in message and "give different" not in message:
        return
    listed = message.split(" together")[0].split(" give different")[0]
    named = [one for one in release.statements if one.notation in separated(listed, notations)]
    assert not possible(release, named), message
    for left_out in named:
        assert possible(release, [one for one in named if one is not left_out]), message


def separated(text, notations):
    """The notations that a message lists, the longest first so that none is part of another."""
    found = []
    for notation in sorted(notations, key=len, reverse=True):
        if notation in text:
            found.append(notation)
            text = text.replace(notation, "", 1)
    return found


def possible(release, statements):
    try:
        cb.bounds(cb.Release(release.domain, statements))
    except cb.InconsistentRelease:
        return False
    return True


def test_the_command_line_says_which_and_leaves_with_2(tmp_path, monkeypatch, capsys):
    path = tmp_path / "release.toml"
    cb.Release(DOMAIN, [*TRIANGLE, cb.Total(4)]).write(path)
    monkeypatch.setattr(sys, "argv", ["cellbounds", "attack", str(path)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err == (
        "error: no table of counts fits [a,b], [b,c], [a,c] together, though any fewer of them do\n"
    )


def test_a_cube_that_misses_by_one_has_no_table():
    """The closed form's range ends one before it begins; no table has these three margins."""
    domain = cb.Domain({name: ["0", "1"] for name in "abc"})
    turned = [[0, 1], [1, 0]]
    margins = [cb.Margin(list(pair), turned) for pair in ("ab", "bc", "ac")]
    with pytest.raises(cb.InconsistentRelease, match=r"\[a,b\], \[b,c\], \[a,c\] together"):
        cb.bounds(cb.Release(domain, margins))
