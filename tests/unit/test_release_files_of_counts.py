"""Files with groupings, rounded and hidden counts, and linear statements."""

from __future__ import annotations

from fractions import Fraction

import pytest

import cellbounds as cb
from cellbounds.statements.release import combined_release

HEAD = """
[domain]
county = ["A", "B, é", "<5"]
sex = ["m", "f"]

[grouping.region]
of = "county"
levels = {North = ["A", "B, é"], "x, y" = ["<5", "A"]}
"""


def written(tmp_path, text, **beside):
    for name, content in beside.items():
        (tmp_path / f"{name}.csv").write_text(content, encoding="utf-8")
    path = tmp_path / "release.toml"
    path.write_text(text, encoding="utf-8")
    return path


def only(path, kind):
    release = cb.read_release(path)
    return release.domain, next(one for one in release.statements if isinstance(one, kind))


MARGIN = """
[[margin]]
variables = ["sex", "region"]
"""


def test_groupings_and_entries_of_every_kind(tmp_path):
    text = HEAD + MARGIN + 'counts = [[15, "<5"], ["", "3-7"]]\nbase = 5\nrounding = "up"\n'
    domain, margin = only(written(tmp_path, text), cb.Margin)
    assert domain.grouping("region") == ("county", ((0, 1), (2, 0)))
    assert margin.entries.tolist() == [[15, "<5"], [None, "3-7"]]
    assert (margin.base, margin.rounding) == (5, "up")


def test_entries_in_csv(tmp_path):
    text = HEAD + MARGIN + 'counts = "counts.csv"\nbase = 5\n'
    content = 'region,sex,count\n"x, y",m,<5\nNorth,m,15\n"x, y",f,\nNorth,f,>=20\n'
    _, margin = only(written(tmp_path, text, counts=content), cb.Margin)
    assert margin.entries.tolist() == [[15, "<5"], [">=20", None]]
    assert margin.rounding == "nearest"


LINEAR = """
[[linear]]
variables = ["county", "sex"]
"""


@pytest.mark.parametrize(
    ("limits", "lower", "upper"),
    [
        ("lower = 1", 1, None),
        ('lower = -0.5\nupper = "7/3"', Fraction(-1, 2), Fraction(7, 3)),
        ("equals = 0.25", Fraction(1, 4), Fraction(1, 4)),
        ('upper = "-3"', None, -3),
    ],
)
def test_linear_statements(tmp_path, limits, lower, upper):
    nested = 'coefficients = [[1, 0.5], ["-1/3", 0], [0, 0]]\n'
    domain, linear = only(written(tmp_path, HEAD + LINEAR + nested + limits), cb.Linear)
    assert (linear.lower, linear.upper) == (lower, upper)
    assert linear.laid_out(domain) == [1, Fraction(1, 2), Fraction(-1, 3), 0, 0, 0]


def test_linear_statements_in_csv_and_by_labels(tmp_path):
    text = HEAD + LINEAR + 'coefficients = "weights.csv"\nlower = 1\n'
    content = 'sex,county,coefficient\nf,<5,-1/2\nm,"B, é",0.25\n'
    domain, linear = only(written(tmp_path, text, weights=content), cb.Linear)
    assert linear.terms(domain)[0].tolist() == [0, 0, 1, 0, 0, -2]
    text = HEAD + '[[linear]]\nvariables = ["region"]\nequals = 1\n'
    text += "[linear.coefficients]\nNorth = 0.5\n"
    domain, linear = only(written(tmp_path, text), cb.Linear)
    assert linear.laid_out(domain) == [Fraction(1, 2), 0]


COUNTS = "counts = [[1, 2], [3, 4]]\n"
WEIGHTS = "coefficients = [[1, 1], [1, 1], [1, 1]]\n"
BAD = {
    "grouping a list": (HEAD.replace("[grouping.region]", "[[grouping]]"), r"\[grouping\.name\]"),
    "grouping unknown entry": (HEAD + "colour = 3\n", "'colour'; known are levels, of"),
    "grouping of nothing": (HEAD.replace('of = "county"', ""), "needs of ="),
    "grouping without levels": (HEAD.split("levels")[0], "needs of ="),
    "group of text": (HEAD.replace('["<5", "A"]', '"A"'), "a list of levels"),
    "grouping of unknown": (HEAD.replace('of = "county"', 'of = "age"'), "'age'"),
    "grouping of unknown level": (HEAD.replace('["<5", "A"]', '["<6"]'), "unknown level '<6'"),
    "grouping with a taken name": (HEAD.replace("grouping.region", "grouping.sex"), "variable"),
    "margin unknown entry": (HEAD + MARGIN + COUNTS + "digits = 1\n", "'digits'"),
    "base too small": (HEAD + MARGIN + COUNTS + "base = 1\n", "2 or more"),
    "base with a point": (HEAD + MARGIN + COUNTS + "base = 2.5\n", "whole"),
    "no multiple": (HEAD + MARGIN + COUNTS + "base = 2\n", r"place \(1, 1\) is no multiple"),
    "rounding alone": (HEAD + MARGIN + COUNTS + 'rounding = "up"\n', "without a base"),
    "rounding unknown": (HEAD + MARGIN + COUNTS + 'base = 2\nrounding = "so-so"\n', "so-so"),
    "count with a point": (HEAD + MARGIN + "counts = [[1.0, 2], [3, 4]]\n", "'1.0'"),
    "counts a number": (HEAD + MARGIN + "counts = 1.5\n", "needs counts"),
    "ragged counts": (HEAD + MARGIN + "counts = [[1, 2], [3]]\n", "same length"),
    "linear without coefficients": (HEAD + LINEAR + "lower = 1\n", "needs coefficients"),
    "linear without limits": (HEAD + LINEAR + WEIGHTS, "no limit"),
    "linear unknown entry": (HEAD + LINEAR + WEIGHTS + "lower = 1\ncounts = 3\n", "'counts'"),
    "linear of two minds": (HEAD + LINEAR + WEIGHTS + "lower = 1\nequals = 3\n", "or the other"),
    "linear limit in words": (HEAD + LINEAR + WEIGHTS + 'lower = "few"\n', "'few'"),
    "linear limit with exponent": (HEAD + LINEAR + WEIGHTS + "lower = 1e3\n", "give a number"),
    "linear of zeros": (
        HEAD + LINEAR + WEIGHTS.replace("1", "0") + "lower = 1\n",
        "no coefficient other than 0",
    ),
    "linear of one bracket": (HEAD + "[linear]\nlower = 1\n", r"\[\[linear\]\]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_refused(tmp_path, kind):
    text, said = BAD[kind]
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_release(written(tmp_path, text))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("county,sex,weight\nA,m,1\n", "no column 'coefficient'"),
        ("county,sex,coefficient\nA,m,1\nA,m,1\n", "twice"),
        ("county,sex,coefficient\nD,m,1\n", "unknown level 'D'"),
        ("county,sex,coefficient\nA,m,much\n", "'much'"),
    ],
)
def test_bad_csv_files_of_coefficients(tmp_path, content, said):
    text = HEAD + LINEAR + 'coefficients = "weights.csv"\nlower = 1\n'
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_release(written(tmp_path, text, weights=content))


DOMAIN = cb.Domain(
    {"count": ["a,b", "é", "<5", ""], "coefficient": ["x"], "count_": [0, 1]},
    groupings={
        'the "big", ones': cb.Grouping("count", {"<5": ["a,b", "é"], "": ["", "<5"]}),
        "lower": cb.Grouping("count_", {7: [1], (8, 9): [0, 1]}),
        "unused": cb.Grouping("coefficient", {"x": ["x"]}),
    },
)
ROUND_TRIPS = {
    "rounded": cb.Margin(["count", "coefficient"], [[0], [5], [10**30], [15]], base=5),
    "random": cb.Margin(["count_"], [3, 6], base=3, rounding="random"),
    "half-even": cb.Margin(["count_"], [10, 20], base=10, rounding="half-even"),
    "ranges": cb.Margin(["count"], ["<5", "<=3", ">7", ">=8"]),
    "suppressed": cb.Margin(["count_", "count"], [[None, "3-7", 0, ".."], [1, 2, 3, 10**40]]),
    "rounded beside ranges": cb.Margin(["count_"], [5, "<5"], base=5, rounding="down"),
    "groups": cb.Margin(['the "big", ones', "lower"], [[1, "<3"], [None, 4]]),
    "groups of nothing shown": cb.Margin(["lower"], [None, None]),
    "rates of groups": cb.Conditional(
        ['the "big", ones'], ["lower"], rates=[["0.25", "0.75"], ["0.5", "0.5"]], digits=2
    ),
    "prior on groups": cb.Known(["lower"], lower={7: 3}, values={(8, 9): [5, 6]}),
    "linear": cb.Linear(["count", "count_"], {("<5", 0): "1/3", ("", 1): -(10**30)}, upper="-0.7"),
    "linear equality": cb.Linear(["coefficient"], [2], equals="3/2"),
    "linear between": cb.Linear(["lower"], ["0.1", "-1/7"], lower=-5, upper=10**30),
}


@pytest.mark.parametrize("kind", ROUND_TRIPS)
def test_round_trips_keep_the_digest(tmp_path, kind):
    release = cb.Release(DOMAIN, [ROUND_TRIPS[kind], cb.Total(10**31)])
    release.write(tmp_path / "release.toml")
    again = cb.read_release(tmp_path / "release.toml")
    assert again.digest == release.digest
    assert repr(again) == repr(release)
    assert list(again.domain.groupings) == list(DOMAIN.groupings)


def test_everything_at_once_round_trips(tmp_path):
    release = cb.Release(DOMAIN, ROUND_TRIPS.values())
    release.write(tmp_path / "release.toml")
    again = cb.read_release(tmp_path / "release.toml")
    assert again.digest == release.digest
    again.write(tmp_path / "again.toml")
    assert cb.read_release(tmp_path / "again.toml").digest == release.digest


def test_only_coefficients_that_matter_are_written(tmp_path):
    cb.Release(DOMAIN, [ROUND_TRIPS["linear"]]).write(tmp_path / "release.toml")
    (figures,) = tmp_path.glob("*.csv")
    assert figures.read_text("utf-8").splitlines() == [
        "count,count_,coefficient",
        "<5,0,1/3",
        f",1,-{10**30}",
    ]


def test_groups_that_read_the_same_are_not_written(tmp_path):
    twice = cb.Domain({"a": ["x"]}, groupings={"b": cb.Grouping("a", {1: ["x"], "1": ["x"]})})
    with pytest.raises(cb.InvalidInput, match="'b' has levels that read the same"):
        cb.Release(twice, [cb.Total(1)]).write(tmp_path / "release.toml")


def test_statements_may_name_the_groupings_of_files(tmp_path):
    path = written(tmp_path, HEAD + MARGIN + COUNTS)
    table = cb.Table(
        cb.Domain({"county": ["A", "B, é", "<5"], "sex": ["m", "f"]}), [[1, 2], [3, 4], [5, 6]]
    )
    sources = [str(path), "[region]~5"]
    release = combined_release(table, sources, count_rounding="random", rng=3)
    assert [one.notation for one in release.statements] == ["[sex,region]", "[region]~5", "N=21"]
    other = table.grouped("region", of="sex", levels={"m": ["m"]})
    with pytest.raises(cb.InvalidInput, match="'region' is already there"):
        combined_release(other, sources)
    with pytest.raises(cb.InvalidInput, match="files have theirs"):
        combined_release(table, [str(path)], count_rounding="up")


DEEP = "[" * 50 + "1" + "]" * 50
"""More than numpy goes through one by one."""


@pytest.mark.parametrize(
    "entry",
    [
        f"[[margin]]\nvariables = ['a']\ncounts = {DEEP}\n",
        f"[[conditional]]\nresponses = ['a']\nrates = {DEEP}\ndigits = 1\n",
        f"[[known]]\nvariables = ['a']\nlower = {DEEP}\n",
        f"[[known]]\nvariables = ['a']\nvalues = {DEEP}\n",
        f"[[linear]]\nvariables = ['a']\ncoefficients = {DEEP}\nlower = 1\n",
    ],
    ids=["counts", "rates", "limits", "lists", "coefficients"],
)
def test_figures_that_are_nested_too_deep_are_refused(tmp_path, entry):
    path = tmp_path / "deep.toml"
    path.write_text("format = 'cellbounds-release/1'\n[domain]\na = ['x', 'y']\n" + entry)
    with pytest.raises(cb.InvalidInput):
        cb.read_release(path)
