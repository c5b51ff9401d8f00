"""From the owner's table to the release."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from bruteforce import holds
from cellbounds.statements.rounding import COUNT_ROUNDINGS


@pytest.fixture
def table():
    domain = cb.Domain({"row": ["r", "s", "t"], "col": ["x", "y"], "sex": ["m", "f"]})
    return cb.Table(domain, [[[1, 2], [3, 4]], [[5, 0], [0, 5]], [[0, 0], [0, 0]]])


def test_rates_margin_and_total(table):
    release = cb.publish(table, "[col|row]@2", "[row]", "N")
    rates, margin, total = release.statements
    assert rates.rates.tolist() == [
        [Fraction(3, 10), Fraction(7, 10)],
        [Fraction(1, 2), Fraction(1, 2)],
        [None, None],
    ]
    assert rates.missing == "zero"
    assert margin.counts.tolist() == [10, 10, 0]
    assert total == cb.Total(20)
    assert repr(release) == "Release([col|row]@2, [row], N=20)"


def test_the_total_is_published_once(table):
    assert [s for s in cb.publish(table, "N").statements if isinstance(s, cb.Total)] == [
        cb.Total(20)
    ]
    assert not any(
        isinstance(s, cb.Total) for s in cb.publish(table, "[col|row]", total=False).statements
    )
    assert cb.publish(table, "[col|row]", "N", total=False).total == cb.Total(20)


def test_exact_rates_are_fractions_in_the_order_named(table):
    release = cb.publish(table, "[sex,col|row]")
    rates = release.statements[0]
    assert rates.exact
    assert rates.shape == (3, 2, 2)
    # row r: m/x 1, m/y 3, f/x 2, f/y 4 of ten
    assert rates.rates[0].tolist() == [
        [Fraction(1, 10), Fraction(3, 10)],
        [Fraction(2, 10), Fraction(4, 10)],
    ]


def test_several_givens_and_omitted_variables(table):
    rates = cb.publish(table, "[col|sex,row]").statements[0]
    assert rates.given == ("sex", "row")
    assert rates.rates[1, 0].tolist() == [Fraction(1, 3), Fraction(2, 3)]


def test_joint_proportions(table):
    rates = cb.publish(table, "[col|]@1").statements[0]
    assert rates.given == ()
    assert rates.rates.tolist() == [Fraction(4, 10), Fraction(6, 10)]


def test_the_true_table_is_always_consistent(table):
    for rounding in ("nearest", "half-even", "down", "up", "consistent"):
        for digits in range(4):
            release = cb.publish(table, f"[col,sex|row]@{digits}", rounding=rounding)
            assert cb.violations(table, release) == []
    assert cb.violations(table, cb.publish(table, "[col,sex|row]")) == []


def test_structural_zeros_are_public():
    domain = cb.Domain({"sex": ["m", "f"], "state": ["pregnant", "not"]})
    structural = [[True, False], [False, False]]
    release = cb.publish(cb.Table(domain, [[0, 9], [2, 7]], structural=structural), "[state|sex]@2")
    prior = next(s for s in release.statements if isinstance(s, cb.Known))
    assert prior.known(domain).upper.tolist() == [[0, -1], [-1, -1]]
    assert cb.bounds(release)["m", "pregnant"] == (0, 0)


def test_an_announced_tolerance_stands_beside_the_rounding(table):
    release = cb.publish(table, "[col|row]@1", eps="0.1", strict=True)
    rates = release.statements[0]
    assert rates.intervals.interval(0, 0) == (Fraction(1, 4), Fraction(7, 20), False, True)
    assert rates.rounding == "nearest"
    release = cb.publish(table, "[col|row]@1", eps="0.1", strict=True, rule="interval")
    rates = release.statements[0]
    assert rates.intervals.interval(0, 0) == (Fraction(1, 5), Fraction(2, 5), True, True)
    assert rates.rounding is None


def test_a_tolerance_must_cover_the_rounding():
    domain = cb.Domain({"row": ["r"], "col": ["x", "y"]})
    table = cb.Table(domain, [[1, 2]])
    # .333.. is published as .3, off by a thirtieth.
    cb.publish(table, "[col|row]@1", eps="1/30")
    with pytest.raises(cb.InvalidInput, match="row 1, column 1 is not within eps"):
        cb.publish(table, "[col|row]@1", eps="1/31")
    with pytest.raises(cb.InvalidInput, match="not within eps"):
        cb.publish(table, "[col|row]@1", eps="1/30", strict=True)


@pytest.mark.parametrize(
    ("statements", "options", "said"),
    [
        ((), {}, "nothing to publish"),
        (("[col|age]",), {}, "unknown variable 'age'"),
        (("[col|col]",), {}, "twice"),
        (("[col",), {}, "'\\]' is missing"),
        (("[col|row]@2",), {"strict": True}, "strict=True goes with eps"),
        (("[col|row]@2",), {"eps": 0.1}, "float"),
        (("[col|row]",), {"eps": "0.1"}, "number of decimals"),
        (("[col|row]@2",), {"rounding": "bankers"}, "bankers"),
        (("[row]@2",), {}, "counts"),
    ],
)
def test_refusals(table, statements, options, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.publish(table, *statements, **options)


def test_eps_says_no_less_than_the_rounding():
    domain = cb.Domain({"row": ["r"], "col": ["x", "y"]})
    release = cb.publish(cb.Table(domain, [[1, 2]]), "[col|row]@1", rounding="up", eps="0.1")
    rates = release.statements[0]
    assert rates.rates.tolist() == [[Fraction(4, 10), Fraction(7, 10)]]
    assert rates.intervals.interval(0, 0) == (Fraction(3, 10), Fraction(2, 5), True, False)
    told = {"rounding": "up", "eps": "0.1", "rule": "interval"}
    release = cb.publish(cb.Table(domain, [[1, 2]]), "[col|row]@1", **told)
    wide = release.statements[0].intervals.interval(0, 0)
    assert wide == (Fraction(3, 10), Fraction(1, 2), False, False)


def test_a_table_of_nobody():
    domain = cb.Domain({"row": ["r", "s"], "col": ["x", "y"]})
    release = cb.publish(cb.Table(domain, np.zeros((2, 2), dtype=int)), "[col|row]@2")
    answer = cb.bounds(release)
    assert answer.lower.tolist() == answer.upper.tolist() == [[0, 0], [0, 0]]


def test_counts_beyond_64_bits():
    domain = cb.Domain({"row": ["r"], "col": ["x", "y"]})
    table = cb.Table(domain, [[10**30, 2 * 10**30]])
    assert cb.publish(table, "[col|row]").statements[0].rates.tolist() == [
        [Fraction(1, 3), Fraction(2, 3)]
    ]
    assert cb.publish(table, "[col|row]@2").total == cb.Total(3 * 10**30)


def test_digest_depends_on_what_was_said(table):
    same = cb.publish(table, "[col|row]@2")
    assert same.digest == cb.publish(table, "[col|row]@2").digest
    others = [
        cb.publish(table, "[col|row]@3"),
        cb.publish(table, "[col|row]@2", total=False),
        cb.publish(table, "[col|row]@2", rounding="down"),
        cb.publish(table, "[row|col]@2"),
    ]
    assert len({same.digest, *(one.digest for one in others)}) == 5


def test_release_needs_statements_of_one_total(table):
    with pytest.raises(cb.InvalidInput, match="two totals"):
        cb.Release(table.domain, [cb.Total(5), cb.Total(6)])
    with pytest.raises(cb.InvalidInput, match=r"'\[row\]' is not a statement"):
        cb.Release(table.domain, ["[row]"])


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((-1,), {}, "0 or more"),
        ((1.5,), {}, "whole"),
        ((5,), {"lower": 3}, "one or the other"),
        ((), {"lower": 5, "upper": 4}, "above its upper"),
        ((True,), {}, "whole"),
    ],
)
def test_totals_refused(arguments, options, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.Total(*arguments, **options)


def test_totals():
    assert cb.Total(5).exact == 5
    assert cb.Total(lower=3).exact is None
    assert cb.Total(lower=3, upper=3) == cb.Total(3)
    assert cb.Total().notation == "N in 0.."
    assert cb.Total(lower=3, upper=9).notation == "N in 3..9"


DOMAIN = cb.Domain({"row": ["r", "s"], "col": ["x", "y"]})


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        (lambda: cb.Known(["row"]), "says nothing"),
        (lambda: cb.Known("row", lower=1), "list"),
        (lambda: cb.Known([], lower=1), "names no variable"),
        (lambda: cb.Known(["age"], lower=1), "'age'"),
        (lambda: cb.Known(["row"], lower=-1), "0 or more"),
        (lambda: cb.Known(["row"], lower=1.5), "whole"),
        (lambda: cb.Known(["row"], lower=[1, 2, 3]), r"shape \(3,\)"),
        (lambda: cb.Known(["row"], lower={"q": 1}), "unknown level 'q'"),
        (lambda: cb.Known(["row"], lower={"r": 5}, upper={"r": 4}), "lower is above upper"),
        (lambda: cb.Known(["row"], values={"r": []}), "is empty"),
        (lambda: cb.Known(["row"], values={"r": [1.5]}), "whole"),
        (lambda: cb.Known(["row"], values=[[1], [2], [3]]), "3 lists"),
        (lambda: cb.Known(["row", "col"], lower={"r": 1}), "1 labels"),
        (lambda: cb.Known(["row"], values={"r": 5}), "list"),
        (lambda: cb.Known(["row"], values={"r": "12"}), "list"),
        (lambda: cb.Known(["row"], values=5), "list"),
    ],
)
def test_priors_refused(prior, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.Release(DOMAIN, [prior()])


@pytest.mark.parametrize(
    "prior",
    [
        cb.Known(["row", "col"], lower=[[1, 0], [0, 0]], upper=[[4, None], [None, None]]),
        cb.Known(["row", "col"], lower={("r", "x"): 1}, upper={("r", "x"): 4}),
        cb.Known(["col", "row"], lower=np.array([[1, 0], [0, 0]]), upper={("x", "r"): 4}),
    ],
)
def test_priors_by_array_and_by_labels_mean_the_same(prior):
    release = cb.Release(
        DOMAIN,
        [
            cb.Conditional(["col"], ["row"], rates=[["1/2", "1/2"], ["1/4", "3/4"]]),
            cb.Total(20),
            prior,
        ],
    )
    # r/x is half of its row: 1..4; row s is a multiple of four that leaves an even 2..8.
    assert cb.attainable(release)["r", "x"] == {2, 4}


def test_small_counts_are_shown_as_such(table):
    margin = cb.publish(table, "[row,col]<5").statements[0]
    # 3, 7 / 5, 5 / 0, 0: zeros are hidden among the small ones.
    assert margin.entries.tolist() == [["<5", 7], [5, 5], ["<5", "<5"]]
    assert margin.notation == "[row,col]<5"


@pytest.mark.parametrize(
    ("rounding", "shown"),
    [
        ("nearest", [[4, 8], [4, 4], [0, 0]]),
        ("half-even", [[4, 8], [4, 4], [0, 0]]),
        ("down", [[0, 4], [4, 4], [0, 0]]),
        ("up", [[4, 8], [8, 8], [0, 0]]),
    ],
)
def test_rounded_margins(table, rounding, shown):
    for options in ({"rounding": rounding}, {"count_rounding": rounding}):
        margin = cb.publish(table, "[row,col]~4", **options).statements[0]
        assert margin.entries.tolist() == shown
        assert (margin.base, margin.rounding) == (4, rounding)


def test_random_rounding_comes_from_the_seed(table):
    def figures(rng):
        release = cb.publish(table, "[row,col,sex]~3", rounding="random", rng=rng)
        return release.statements[0].entries.tolist()

    assert figures(5) == figures(5) == figures(np.random.default_rng(5)) == figures(np.int64(5))
    assert len({str(figures(seed)) for seed in range(20)}) > 5
    generator = np.random.default_rng(1)
    assert len({str(figures(generator)) for _ in range(20)}) > 5


def test_one_rule_for_rates_and_another_for_counts(table):
    statements = ("[col|row]@1", "[row]~3")

    def rules(**options):
        rates, margin = cb.publish(table, *statements, **options).statements[:2]
        return rates.rounding, margin.rounding

    assert rules() == ("nearest", "nearest")
    assert rules(rounding="down") == ("down", "down")
    assert rules(rounding="consistent") == ("consistent", "nearest")
    assert rules(rounding="consistent", count_rounding="up") == ("consistent", "up")
    assert rules(count_rounding="random", rng=1) == ("nearest", "random")


@pytest.mark.parametrize(
    ("statements", "options", "said"),
    [
        (("[row]~5",), {"rounding": "random"}, "rng=None; give a seed"),
        (("[row]~5",), {"rounding": "random", "rng": -1}, "rng=-1"),
        (("[row]~5",), {"rounding": "random", "rng": True}, "rng=True"),
        (("[row]~5",), {"rounding": "random", "rng": "luck"}, "rng='luck'"),
        (("[row]~5",), {"rounding": "consistent"}, "nearest, half-even, down, up, random"),
        (("[row]~5",), {"rounding": ["up"]}, "choose one of"),
        (("[row]~5",), {"count_rounding": "bankers"}, "bankers"),
        (("[row]~5", "[col|row]@2"), {"rounding": "random", "rng": 1}, "count_rounding='random'"),
        (("[row]~5", "[col|row]@2"), {"rounding": "bankers"}, "bankers"),
        (("[row]", "[col|row]@2"), {"count_rounding": "up"}, "no margin is rounded"),
        (("[row]~1",), {}, "base of 2"),
        (("[age]~5",), {}, "unknown variable 'age'"),
    ],
)
def test_rounded_margins_refused(table, statements, options, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.publish(table, *statements, **options)


def test_what_is_published_holds_in_the_table(table):
    grouped = table.grouped("rest", of="row", levels={"rs": ["r", "s"], "st": ["s", "t"]})
    for rule in COUNT_ROUNDINGS:
        for base in (2, 3, 4, 10):
            statement = f"[col,rest]~{base}"
            release = cb.publish(grouped, statement, "[rest]<5", count_rounding=rule, rng=base)
            assert all(holds(one, release, table.counts) for one in release.statements)


def test_statements_over_groups(table):
    grouped = table.grouped("part", of="row", levels={"first": ["r"], "last": ["s", "t"]})
    release = cb.publish(grouped, "[part,sex]", "[part|sex]", "[sex|part]@1")
    margin, rates, given = release.statements[:3]
    assert margin.counts.tolist() == [[4, 6], [5, 5]]
    assert rates.rates.tolist() == [
        [Fraction(4, 9), Fraction(5, 9)],
        [Fraction(6, 11), Fraction(5, 11)],
    ]
    assert given.rates.tolist() == [
        [Fraction(4, 10), Fraction(6, 10)],
        [Fraction(5, 10), Fraction(5, 10)],
    ]
    assert release.domain.groupings == grouped.domain.groupings


def test_huge_counts_can_be_rounded():
    table = cb.Table(cb.Domain({"row": ["r", "s"]}), [10**30 + 7, 0])
    rounded = cb.publish(table, "[row]~5").statements[0]
    assert rounded.entries.tolist() == [10**30 + 5, 0]
    hidden = cb.publish(table, f"[row]<{10**29}").statements[0]
    assert hidden.entries.tolist() == [10**30 + 7, f"<{10**29}"]


def test_margins_refused():
    with pytest.raises(cb.InvalidInput, match=r"shape \(3,\)"):
        cb.Release(DOMAIN, [cb.Margin(["row"], [1, 2, 3])])
    with pytest.raises(cb.InvalidInput, match="whole"):
        cb.Margin(["row"], [1, -2])
