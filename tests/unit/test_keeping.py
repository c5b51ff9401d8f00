"""What a release keeps: against hand-made figures and a slow reading of the definition."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.utility.retained_utility import retained


def people(counts, **levels):
    return cb.Table(cb.Domain(levels), counts)


@pytest.fixture
def music():
    return people([[15, 10], [5, 20]], sex=["m", "f"], mp3=["yes", "no"])


def test_exact_figures_keep_everything(music):
    for text in ("[mp3|sex]", "[sex,mp3]", "[mp3|]"):
        assert retained(music, cb.publish(music, text)).share == 1


def test_nothing_told_keeps_nothing(music):
    found = retained(music, cb.publish(music, "N"), ["[mp3|sex]"])
    assert found.share == 0
    assert found.parts[0].source is None
    assert found.parts[0].distance == found.parts[0].even


def test_the_marginal_rate_is_a_guess_for_each_row(music):
    # p(yes) = 0.4 overall; 0.6 and 0.2 in the rows, half of the people each.
    found = retained(music, cb.publish(music, "[mp3|]@1"), ["[mp3|sex]"])
    assert found.parts[0].distance == pytest.approx(0.2)
    assert found.parts[0].even == pytest.approx((0.1 + 0.3) / 2)
    assert found.share == pytest.approx(0)


def test_the_best_statement_serves(music):
    release = cb.publish(music, "[mp3|]@1", "[mp3|sex]@1")
    assert retained(music, release, ["[mp3|sex]"]).parts[0].source == "[mp3|sex]@1"


def test_a_margin_tells_rates_and_joint_rates_tell_conditional_ones(music):
    for text in ("[sex,mp3]", "[sex,mp3|]@2"):
        assert retained(music, cb.publish(music, text), ["[mp3|sex]"]).share == pytest.approx(1)


def test_rates_within_givens_that_nobody_asked_about_do_not_serve(music):
    assert retained(music, cb.publish(music, "[mp3|sex]"), ["[mp3|]"]).parts[0].source is None


def test_a_margin_without_some_response_is_shared_out_evenly(music):
    found = retained(music, cb.publish(music, "[mp3]"), ["[sex,mp3]"])
    # 20 and 30 of 50, half of each to each sex: 10, 15, 10, 15 against 15, 10, 5, 20.
    assert found.parts[0].distance == pytest.approx((5 + 5 + 5 + 5) / 50 / 2)


def test_merged_responses_are_shared_out_evenly():
    table = people([[6, 1, 3]], one=["x"], y=["a", "b", "c"])
    table = table.grouped("y2", of="y", levels={"a": ["a"], "b+c": ["b", "c"]})
    found = retained(table, cb.publish(table, "[y2|one]"), ["[y|one]"])
    assert found.parts[0].distance == pytest.approx(0.1)  # 0.6, 0.2, 0.2 against 0.6, 0.1, 0.3


def test_merged_givens_tell_the_same_for_each_level_behind():
    table = people([[4, 0], [0, 4], [2, 2]], g=["a", "b", "c"], y=["u", "v"])
    table = table.grouped("g2", of="g", levels={"a+b": ["a", "b"], "c": ["c"]})
    found = retained(table, cb.publish(table, "[y|g2]"), ["[y|g]"])
    assert found.parts[0].distance == pytest.approx(8 / 12 * 0.5)


def test_finer_figures_are_summed_up():
    table = people([[6, 1, 3], [1, 1, 1]], g=["p", "q"], y=["a", "b", "c"])
    table = table.grouped("y2", of="y", levels={"a": ["a"], "b+c": ["b", "c"]})
    assert retained(table, cb.publish(table, "[y|g]"), ["[y2|g]"]).share == pytest.approx(1)


def test_a_suppressed_rate_gets_what_its_row_leaves():
    table = people([[5, 3, 2]], one=["x"], y=["a", "b", "c"])
    rates = cb.Conditional(["y"], ["one"], rates=[["0.5", None, None]], missing="suppressed")
    release = cb.Release(table.domain, [rates])
    assert retained(table, release).parts[0].distance == pytest.approx(0.05)


def test_hidden_counts_stand_in_the_middle():
    table = people([16, 3, 1], y=["a", "b", "c"])
    found = retained(table, cb.publish(table, "[y]<5"), ["[y]"])
    # 16, 2, 2 of 20.
    assert found.parts[0].distance == pytest.approx(0.05)


def test_suppressed_counts_share_what_the_total_leaves():
    table = people([16, 3, 1], y=["a", "b", "c"])
    margin = cb.Margin(["y"], [16, None, None])
    told = cb.Release(table.domain, [margin, cb.Total(20)])
    untold = cb.Release(table.domain, [margin])
    assert retained(table, told).parts[0].distance == pytest.approx(0.05)
    assert retained(table, untold).parts[0].distance == pytest.approx(0.2)


def test_an_exact_margin_tells_the_total():
    table = people([[16, 3, 1]], one=["x"], y=["a", "b", "c"])
    margins = [cb.Margin(["y"], [16, None, None]), cb.Margin(["one"], [20])]
    assert retained(table, cb.Release(table.domain, margins), ["[y]"]).parts[0].distance < 0.06


def test_rows_that_hold_nobody_weigh_nothing():
    table = people([[0, 0], [3, 1]], g=["a", "b"], y=["u", "v"])
    assert retained(table, cb.publish(table, "[y|g]@2")).share == 1


def test_an_empty_table_and_a_lone_level_lose_nothing():
    empty = people([[0, 0], [0, 0]], g=["a", "b"], y=["u", "v"])
    assert retained(empty, cb.publish(empty, "[y|g]@1")).share == 1
    lone = people([[3], [4]], g=["a", "b"], y=["u"])
    assert retained(lone, cb.publish(lone, "[y|g]@1")).share == 1


def test_counts_beyond_64_bits():
    table = people([[3 * 10**30, 10**30]], one=["x"], y=["u", "v"])
    assert retained(table, cb.publish(table, "[y|one]@2")).share == pytest.approx(1)


def test_groups_that_leave_somebody_out_serve_only_themselves():
    table = people([[3, 1, 4]], one=["x"], y=["a", "b", "c"])
    table = table.grouped("some", of="y", levels={"a": ["a"], "b": ["b"]})
    release = cb.publish(table, "[some]")
    assert retained(table, release).share == 1
    assert retained(table, release, ["[y]"]).parts[0].source is None


def test_a_margin_of_a_variable_and_its_groups():
    table = people([3, 1, 4], y=["a", "b", "c"])
    table = table.grouped("y2", of="y", levels={"a": ["a"], "b+c": ["b", "c"]})
    release = cb.publish(table, "[y,y2]")
    assert retained(table, release).share == 1
    assert retained(table, release, ["[y]"]).share == 1


def test_it_says_what_it_found(music):
    found = retained(music, cb.publish(music, "[mp3|sex]@1"))
    assert str(found).startswith("keeps 100%\nuse")
    said = found.to_dict()
    assert said["share"] == found.share
    assert said["uses"][0]["use"] == "[mp3|sex]"


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("[mp3|sex]", "give a list"),
        ([], "use is empty"),
        (["[mp3|sex]@2"], "without a suffix"),
        (["[mp3|age]"], "unknown variable 'age'"),
        (["mp3"], "does not begin with"),
    ],
)
def test_bad_uses(music, use, said):
    with pytest.raises(cb.InvalidInput, match=said.replace("[", r"\[")):
        retained(music, cb.publish(music, "[mp3|sex]@2"), use)


def test_another_table_is_refused(music):
    other = people([1, 2], y=["a", "b"])
    with pytest.raises(cb.InvalidInput, match="the release is over"):
        retained(other, cb.publish(music, "[mp3|sex]@2"))


@st.composite
def small_cases(draw):
    shape = draw(st.tuples(*[st.integers(1, 3)] * 3))
    size = shape[0] * shape[1] * shape[2]
    cells = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    levels = {name: list(range(width)) for name, width in zip("abc", shape, strict=True)}
    domain = cb.Domain(levels)
    flat = dict(zip(domain.cells(), cells, strict=True))
    counts = [
        [[flat[i, j, k] for k in range(shape[2])] for j in range(shape[1])] for i in range(shape[0])
    ]
    told = draw(st.sampled_from(["[c|a]", "[c|a,b]", "[c|]", "[c,b|a]", "[c,a]", "[b,c]", "[a]"]))
    wanted = draw(st.sampled_from(["[c|a,b]", "[c|b]", "[b,c|a]", "[c]", "[a,b,c]"]))
    return cb.Table(domain, counts), told, wanted


def slow_distance(table, told, wanted):
    """The definition, cell by cell in fractions, for exact statements."""
    domain, names = table.domain, table.domain.names

    def parts(text):
        left, _, right = text.strip("[]").partition("|")
        return left.split(","), [one for one in right.split(",") if one]

    def total(fixed):
        return sum(
            int(table.counts[index])
            for index in itertools.product(*(range(n) for n in domain.shape))
            if all(index[names.index(name)] == place for name, place in fixed.items())
        )

    responses, given_names = parts(wanted)
    told_responses, told_given = parts(told)
    rows = [
        dict(zip(given_names, levels, strict=True))
        for levels in itertools.product(*(domain.levels(one) for one in given_names))
    ]
    cells = [
        dict(zip(responses, levels, strict=True))
        for levels in itertools.product(*(domain.levels(one) for one in responses))
    ]
    usable = set(told_given) <= set(given_names) and set(told_responses) & set(responses)
    guessed = even = Fraction(0)
    for row in rows:
        held = total(row)
        if not held:
            continue
        truth = [Fraction(total(row | cell), held) for cell in cells]
        weights = [
            total({k: v for k, v in (row | cell).items() if k in told_responses + told_given})
            for cell in cells
        ]
        flat = [Fraction(1, len(cells))] * len(cells)
        guess = [Fraction(w, sum(weights)) for w in weights] if usable else flat
        weight = Fraction(held, table.total)
        guessed += weight * sum(abs(p - q) for p, q in zip(truth, guess, strict=True)) / 2
        even += weight * sum(abs(p - q) for p, q in zip(truth, flat, strict=True)) / 2
    return min(guessed, even), even


@given(small_cases())
def test_the_definition_read_slowly(case):
    table, told, wanted = case
    part = retained(table, cb.publish(table, told), [wanted]).parts[0]
    best, even = slow_distance(table, told, wanted) if table.total else (0, 0)
    assert part.distance == pytest.approx(float(best), abs=1e-12)
    assert part.even == pytest.approx(float(even), abs=1e-12)
