"""Published margins: exact, rounded, ranges, suppressed; what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cellbounds as cb
from bruteforce import count_fits
from cellbounds.statements.rounding import COUNT_ROUNDINGS, round_counts

DOMAIN = cb.Domain({"row": ["r", "s"], "col": ["x", "y"]})


def ends(entry, **options):
    margin = cb.Margin(["a"], [entry], **options)
    return int(margin.lower[0]), int(margin.upper[0])


@pytest.mark.parametrize(
    ("entry", "lower", "upper"),
    [
        (0, 0, 0),
        (12, 12, 12),
        ("12", 12, 12),
        (" 12 ", 12, 12),
        ("007", 7, 7),
        (np.int8(12), 12, 12),
        (np.uint64(12), 12, 12),
        (10**30, 10**30, 10**30),
        ("<5", 0, 4),
        (" < 5 ", 0, 4),
        ("<05", 0, 4),
        ("<1", 0, 0),
        ("<=4", 0, 4),
        ("≤4", 0, 4),
        ("<=0", 0, 0),
        (">10", 11, -1),
        (">=11", 11, -1),
        ("≥11", 11, -1),
        (">=0", 0, -1),
        ("3-7", 3, 7),
        ("3 – 7", 3, 7),
        ("3-3", 3, 3),
        ("0-0", 0, 0),
        (f"<{10**30}", 0, 10**30 - 1),
        (None, 0, -1),
        ("", 0, -1),
        ("  ", 0, -1),
        ("x", 0, -1),
        ("X", 0, -1),
        ("..", 0, -1),
        ("Suppressed", 0, -1),
    ],
)
def test_entries(entry, lower, upper):
    assert ends(entry) == (lower, upper)


@pytest.mark.parametrize(
    "entry",
    [
        -1, "-1", 2.0, "2.0", 1.5, np.float64(3), float("nan"), True, "many", "NA", "1,200",
        "1 200",
        "<0", "<-1", "<", "> ", "7-3", "3-", "-3", "3-7-9", "<5>", "<4.5", "٣", "²", b"5", object,
        (), {}, {3},
    ],
)  # fmt: skip
def test_entries_refused(entry):
    with pytest.raises(cb.InvalidInput, match=r"whole number|no count fits|same length"):
        cb.Margin(["a", "b"], [[1, 2], [3, entry]])


def test_the_place_of_a_refused_entry_is_named():
    with pytest.raises(cb.InvalidInput, match=r"\[a,b\]: the count at place \(2, 1\) is 'most'"):
        cb.Margin(["a", "b"], [[1, 2], ["most", 4]])
    with pytest.raises(cb.InvalidInput, match="the count at place 3 is no multiple of the base 5"):
        cb.Margin(["a"], [0, 5, 7], base=5)


@pytest.mark.parametrize(
    "counts",
    [
        None,
        5,
        "5",
        [],
        [[]],
        [1, 2],
        [[[1]]],
        [[1, 2], [3]],
        [[1, 2], 3],
        [[[1, 2], [3]], [[1], [2]]],
        [np.zeros((2, 3), dtype=int), np.zeros((2, 4), dtype=int)],
    ],
)
def test_shapes_refused(counts):
    with pytest.raises(cb.InvalidInput, match=r"counts of shape .* 2 variables"):
        cb.Margin(["a", "b"], counts)


@pytest.mark.parametrize("rounding", COUNT_ROUNDINGS)
@pytest.mark.parametrize("base", [2, 3, 4, 5, 10])
def test_rounded_counts_stand_for_what_rounds_to_them(base, rounding):
    for figure in range(0, 4 * base, base):
        margin = cb.Margin(["a"], [figure], base=base, rounding=rounding)
        fits = [n for n in range(6 * base) if count_fits(margin, figure, n)]
        assert fits == list(range(margin.lower[0], margin.upper[0] + 1))
    counts = np.arange(6 * base)
    for seed in range(3):
        rounded = round_counts(counts, base, rounding, np.random.default_rng(seed))
        margin = cb.Margin(["a"], rounded, base=base, rounding=rounding)
        assert ((margin.lower <= counts) & (counts <= margin.upper)).all()


@pytest.mark.parametrize(
    ("rounding", "lower", "upper"),
    [
        (None, 8, 12),
        ("nearest", 8, 12),
        ("half-even", 8, 12),
        ("down", 10, 14),
        ("up", 6, 10),
        ("random", 6, 14),
    ],
)
def test_rounding_rules_for_an_odd_base(rounding, lower, upper):
    assert ends(10, base=5, rounding=rounding) == (lower, upper)


def test_even_bases_have_halves():
    assert ends(10, base=10) == (5, 14)
    assert ends(10, base=10, rounding="half-even") == (6, 14)  # 5 goes to 0, 15 to 20
    assert ends(20, base=10, rounding="half-even") == (15, 25)
    assert ends(10, base=10, rounding="half-even", rule="interval") == (5, 15)
    assert ends(0, base=10) == (0, 4)
    assert ends(0, base=10, rounding="up") == (0, 0)
    assert ends("20", base=np.int64(10)) == (15, 24)
    assert ends(10**30, base=10**30) == (5 * 10**29, 15 * 10**29 - 1)


def test_other_entries_beside_rounded_ones_mean_what_they_say():
    margin = cb.Margin(["a"], [10, "3-7", "<4", None, ">11"], base=5, rounding="down")
    assert margin.lower.tolist() == [10, 3, 0, 0, 12]
    assert margin.upper.tolist() == [14, 7, 3, -1, -1]
    assert margin.rule == "rounded to multiples of 5, down; 3 of 5 as ranges; 1 of 5 suppressed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"base": 1}, "base is 1; give a whole number, 2 or more"),
        ({"base": 0}, "2 or more"),
        ({"base": -5}, "whole"),
        ({"base": 2.5}, "whole"),
        ({"base": "2.5"}, "whole"),
        ({"base": True}, "whole"),
        ({"rounding": "nearest"}, "without a base"),
        ({"base": 5, "rounding": "bankers"}, "nearest, half-even, down, up, random"),
        ({"base": 5, "rounding": "consistent"}, "nearest, half-even, down, up, random"),
        ({"base": 5, "rounding": ["up"]}, "choose one of"),
    ],
)
def test_rules_refused(options, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.Margin(["a"], [0, 10], **options)


def test_exact_margins_have_counts():
    exact = cb.Margin(["row", "col"], [[1, "2"], ["3-3", 4]])
    assert exact.exact
    assert exact.counts.tolist() == [[1, 2], [3, 4]]
    assert exact.rule == "1 of 4 as ranges"
    crossed = cb.Margin(["a"], [1, ">=1", "3-4", ">=1", ">=2", ">=0"])
    assert crossed.rule == "2 of 6 as ranges; 1 of 6 not stated; 2 of 6 suppressed, each at least 1"
    for other in (cb.Margin(["a"], [5], base=5), cb.Margin(["a"], ["<5"]), cb.Margin(["a"], [""])):
        assert not other.exact
        with pytest.raises(cb.InvalidInput, match="use `lower` and `upper`"):
            _ = other.counts


def test_known_checks_the_shape():
    margin = cb.Margin(["col", "row"], [[1, "<3"], [None, 4]])
    known = margin.known(DOMAIN)
    assert known.lower.tolist() == [[1, 0], [0, 4]]
    assert known.upper.tolist() == [[1, 2], [-1, 4]]
    assert known.values == {}
    with pytest.raises(cb.InvalidInput, match=r"shape \(3,\).*need \(2,\)"):
        cb.Margin(["row"], [1, 2, 3]).known(DOMAIN)
    with pytest.raises(cb.InvalidInput, match="unknown variable"):
        cb.Margin(["age"], [1, 2]).known(DOMAIN)


def test_arrays_cannot_be_changed():
    margin = cb.Margin(["a"], [1, "<5"])
    for array in (margin.entries, margin.lower, margin.upper):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3


@pytest.mark.parametrize(
    ("entries", "options", "notation"),
    [
        ([1, 2], {}, "[a]"),
        ([0, 10], {"base": 5}, "[a]~5"),
        ([5, "<5"], {"base": 5}, "[a]~5"),
        ([12, "<5"], {}, "[a]<5"),
        (["<5", "<5"], {}, "[a]<5"),
        ([0, "<5"], {}, "[a]"),
        (["<3", "<5"], {}, "[a]"),
        (["1-4", 9], {}, "[a]"),
        ([None, 9], {}, "[a]"),
        (["<1", 9], {}, "[a]"),
    ],
)
def test_notation(entries, options, notation):
    assert cb.Margin(["a"], entries, **options).notation == notation
    assert repr(cb.Margin(["a"], entries, **options)) == f"Margin({notation})"


def test_figures_as_text():
    margin = cb.Margin(["a", "b"], [[15, "< 5"], [None, "3–7"]], base=5)
    assert [margin.figure_text(k) for k in range(4)] == [
        "about 15 (base 5, nearest)",
        "<5",
        "suppressed",
        "3-7",
    ]
    assert cb.Margin(["a"], [12]).figure_text(0) == "12"


def test_withheld_entries_say_nothing():
    margin = cb.Margin(["row", "col"], [[1, 2], [10**30, 4]])
    hidden = margin.withheld(np.array([[True, False], [False, True]]))
    assert hidden.lower.tolist() == [[0, 2], [10**30, 0]]
    assert hidden.upper.tolist() == [[-1, 2], [10**30, -1]]
    assert hidden.figure_text(0) == "suppressed"
    assert margin.exact
    assert not hidden.exact
    same = hidden.withheld(np.zeros((2, 2), dtype=bool))
    assert same.to_dict() == hidden.to_dict()
    rounded = cb.Margin(["a"], [5, 10], base=5, rounding="up").withheld(np.array([True, False]))
    assert (rounded.base, rounded.rounding, rounded.notation) == (5, "up", "[a]~5")
    with pytest.raises(cb.InvalidInput, match=r"shape \(4,\)"):
        margin.withheld(np.zeros(4, dtype=bool))


@pytest.mark.parametrize(
    "margin",
    [
        cb.Margin(["row", "col"], [[1, 2], [3, 10**30]]),
        cb.Margin(["row", "col"], np.array([["<5", 12], [None, "3 - 7"]], dtype=object)),
        cb.Margin(["row", "col"], [[0, 5], ["x", 15]], base=5, rounding="random"),
    ],
)
def test_plain_values_round_trip(margin):
    said = margin.to_dict()
    again = cb.Margin(**said["margin"])
    assert again.to_dict() == said
    assert cb.Release(DOMAIN, [again]).digest == cb.Release(DOMAIN, [margin]).digest


def test_the_digest_is_of_what_the_entries_stand_for():
    def digest(*entries, **options):
        margin = cb.Margin(["row"], list(entries), **options)
        return cb.Release(DOMAIN, [margin]).digest

    assert digest("<5", 3) == digest("0-4", "3") == digest("<=4", "3-3")
    assert digest("<5", 3) != digest("<6", 3)
    assert digest(5, 5, base=5, rounding="up") == digest("1-5", "1-5")
    different = [digest(5, 0, base=5, rounding=rule) for rule in ("nearest", "down", "up")]
    assert len(set(different)) == 3


def test_releases_in_words():
    release = cb.Release(
        DOMAIN,
        [
            cb.Margin(["row"], [1, 2]),
            cb.Margin(["col"], [5, "<5"], base=5),
            cb.Margin(["col"], [5, "<5"]),
            cb.Linear(["row"], [1, -1], lower=0, upper="5/2"),
        ],
    )
    assert str(release).splitlines()[1:] == [
        "  [row]",
        "  [col] rounded to multiples of 5, nearest; 1 of 2 as ranges",
        "  [col] 1 of 2 as ranges",
        "  linear on [row]: 0 <= sum <= 5/2",
    ]
    assert repr(release) == "Release([row], [col]~5, [col]<5, linear on [row])"


def test_releases_in_words_with_an_at_sign_in_a_name():
    domain = cb.Domain({"a@b": ["x", "y"]})
    release = cb.Release(domain, [cb.Conditional(["a@b"], rates=["0.25", "0.75"])])
    assert str(release).splitlines()[1] == '  ["a@b"|] 2 decimals, nearest'


def test_random_rounding_is_unbiased_and_takes_any_base():
    rng = np.random.default_rng(7)
    counts = np.full(20_000, 12)
    rounded = round_counts(counts, 5, "random", rng)
    assert set(rounded.tolist()) == {10, 15}
    # 8000 expected; the standard deviation is 69.
    assert abs(int((rounded == 15).sum()) - 8000) < 400
    # A base that does not divide the bytes drawn: 4971 expected, the standard deviation is 50.
    uneven = round_counts(np.full(10_000, 85), 171, "random", rng)
    assert abs(int((uneven == 171).sum()) - 4971) < 300
    assert round_counts(np.array([0, 5, 10]), 5, "random", rng).tolist() == [0, 5, 10]
    huge = round_counts(np.array([10**40 + 1], dtype=object), 10**30, "random", rng)
    assert huge.tolist() == [10**40]
    with pytest.raises(cb.InvalidInput, match="rng="):
        round_counts(counts, 5, "random")


def test_rounding_of_counts_halves():
    counts = np.array([4, 5, 6, 15, 25, 10**20 + 5], dtype=object)
    made = {
        rule: round_counts(counts, 10, rule).tolist()
        for rule in COUNT_ROUNDINGS
        if rule != "random"
    }
    assert made["nearest"] == [0, 10, 10, 20, 30, 10**20 + 10]
    assert made["half-even"] == [0, 0, 10, 20, 20, 10**20]
    assert made["down"] == [0, 0, 0, 10, 20, 10**20]
    assert made["up"] == [10, 10, 10, 20, 30, 10**20 + 10]


def test_every_pair_of_kinds_can_stand_together():
    kinds = [7, "<5", "3-7", ">2", None, "x", np.int16(3)]
    for first, second in itertools.product(kinds, repeat=2):
        assert cb.Margin(["row"], [first, second]).known(DOMAIN).lower.shape == (2,)
