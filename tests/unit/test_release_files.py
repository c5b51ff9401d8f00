"""Releases as files: round trips, layouts, and every way in which a file can be wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest

import cellbounds as cb
from cellbounds.statements.release import combined_release

HEAD = 'total = 50\n[domain]\ngender = ["Male", "Female"]\nmp3 = ["yes", "no"]\n'
RATES = 'rates = [["0.6", "0.4"], ["0.2", "0.8"]]\n'
CONDITIONAL = '[[conditional]]\nresponses = ["mp3"]\ngiven = ["gender"]\n'
GOOD = 'format = "cellbounds-release/1"\n' + HEAD + CONDITIONAL + RATES


def written(tmp_path, text, name="release.toml", **beside):
    for other, content in beside.items():
        (tmp_path / f"{other}.csv").write_text(content, encoding="utf-8")
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_complete_file(tmp_path):
    release = cb.read_release(written(tmp_path, GOOD))
    rates = release.statements[0]
    assert release.domain == cb.Domain({"gender": ["Male", "Female"], "mp3": ["yes", "no"]})
    assert rates.digits == 1
    assert rates.rounding == "nearest"
    assert rates.rates[0].tolist() == [Fraction(3, 5), Fraction(2, 5)]
    assert release.total == cb.Total(50)


def test_paths_may_be_text(tmp_path):
    path = written(tmp_path, GOOD)
    assert cb.read_release(str(path)).digest == cb.read_release(path).digest


def test_bare_decimals_keep_their_zeros(tmp_path):
    text = HEAD + CONDITIONAL + "rates = [[0.60, 0.40], [0.20, 0.80]]\n"
    rates = cb.read_release(written(tmp_path, text)).statements[0]
    assert rates.digits == 2
    assert rates.rates[0, 0] == Fraction(3, 5)


def test_long_decimals_do_not_pass_through_floats(tmp_path):
    third = "0." + "3" * 25
    rest = "0." + "6" * 24 + "7"
    text = HEAD + CONDITIONAL + f"rates = [[{third}, {rest}], [{third}, {rest}]]\n"
    rates = cb.read_release(written(tmp_path, text)).statements[0]
    assert rates.rates[0, 0] == Fraction(int("3" * 25), 10**25)


@pytest.mark.parametrize("eps", ["0.05", '"0.05"', '"1/20"'])
def test_eps_in_any_spelling(tmp_path, eps):
    text = HEAD + CONDITIONAL + RATES + f"eps = {eps}\nstrict = true\n"
    rates = cb.read_release(written(tmp_path, text)).statements[0]
    assert rates.intervals.interval(0, 0) == (Fraction(11, 20), Fraction(13, 20), True, True)


def test_eps_by_cell(tmp_path):
    text = HEAD + CONDITIONAL + RATES + 'eps = [[0.1, "0.2"], [0, "1/3"]]\n'
    rates = cb.read_release(written(tmp_path, text)).statements[0]
    assert rates.eps == (Fraction(1, 10), Fraction(1, 5), 0, Fraction(1, 3))


@pytest.mark.parametrize(
    ("total", "meant"),
    [
        ("total = 50", cb.Total(50)),
        ("total = {lower = 40, upper = 60}", cb.Total(lower=40, upper=60)),
        ("total = {upper = 60}", cb.Total(upper=60)),
        ("", cb.Total()),
    ],
)
def test_totals(tmp_path, total, meant):
    text = GOOD.replace("total = 50", total)
    assert cb.read_release(written(tmp_path, text)).total == meant


TIDY = "mp3,gender,rate\nno,Male,0.40\nyes,Male,0.60\nyes,Female,0.20\nno,Female,0.80\n"
WIDE = "gender,no,yes\nFemale,0.80,0.20\nMale,0.40,0.60\n"


@pytest.mark.parametrize("content", [TIDY, WIDE], ids=["tidy", "wide"])
def test_rates_in_csv_files_of_either_layout(tmp_path, content):
    text = HEAD + CONDITIONAL + 'rates = "rates.csv"\n'
    rates = cb.read_release(written(tmp_path, text, rates=content)).statements[0]
    assert rates.digits == 2
    assert [[str(one) for one in row] for row in rates.rates] == [["3/5", "2/5"], ["1/5", "4/5"]]


def test_csv_beside_the_file_not_beside_the_reader(tmp_path, monkeypatch):
    folder = tmp_path / "deep"
    folder.mkdir()
    path = written(folder, HEAD + CONDITIONAL + 'rates = "rates.csv"\n', rates=TIDY)
    monkeypatch.chdir(tmp_path)
    assert cb.read_release(path.relative_to(tmp_path)).statements[0].digits == 2


def test_percent_and_per_mille(tmp_path):
    for unit, texts in (("percent", '"37.5", "62.5"'), ("per-mille", '"375", "625"')):
        text = HEAD + CONDITIONAL + f'rates = [[{texts}], [{texts}]]\nunit = "{unit}"\n'
        rates = cb.read_release(written(tmp_path, text)).statements[0]
        assert rates.rates[0, 0] == Fraction(3, 8)
        assert rates.digits == 3
    signs = WIDE.replace("0.80", "80%").replace("0.20", "20%")
    signs = signs.replace("0.40", "40%").replace("0.60", "60%")
    text = HEAD + CONDITIONAL + 'rates = "rates.csv"\n'
    rates = cb.read_release(written(tmp_path, text, rates=signs)).statements[0]
    assert rates.digits == 2
    assert rates.rates[1, 1] == Fraction(4, 5)


def test_missing_rates_in_csv(tmp_path):
    gone = WIDE.replace("0.80,0.20", ",")
    text = HEAD + CONDITIONAL + 'rates = "rates.csv"\nmissing = "zero"\n'
    release = cb.read_release(written(tmp_path, text, rates=gone))
    assert cb.bounds(release)["Female", "yes"] == (0, 0)
    with pytest.raises(cb.InvalidInput, match="missing="):
        cb.read_release(written(tmp_path, text.replace('missing = "zero"\n', ""), rates=gone))


def test_margins_and_priors(tmp_path):
    text = GOOD + (
        '[[margin]]\nvariables = ["gender"]\ncounts = [25, 25]\n'
        '[[known]]\nvariables = ["mp3", "gender"]\nlower = [[1, 0], [0, 0]]\n'
        '[[known]]\nvariables = ["gender"]\n[known.upper]\nMale = 30\n'
        "[known.values]\nFemale = [20, 25]\n"
    )
    release = cb.read_release(written(tmp_path, text))
    margin = next(s for s in release.statements if isinstance(s, cb.Margin))
    assert margin.counts.tolist() == [25, 25]
    first, second = (s for s in release.statements if isinstance(s, cb.Known))
    assert first.known(release.domain).lower.tolist() == [[1, 0], [0, 0]]
    assert second.known(release.domain).upper.tolist() == [30, -1]
    assert second.known(release.domain).values == {1: (20, 25)}


def test_the_section_of_0_1_is_told_by_its_new_name(tmp_path):
    text = GOOD + '[[prior]]\nvariables = ["gender"]\nupper = 30\n'
    with pytest.raises(cb.InvalidInput, match=r"\[\[prior\]\] is now called \[\[known\]\]"):
        cb.read_release(written(tmp_path, text))


def test_margin_and_prior_in_csv_files(tmp_path):
    text = GOOD + (
        '[[margin]]\nvariables = ["gender"]\ncounts = "counts.csv"\n'
        '[[known]]\nvariables = ["gender"]\nbounds = "bounds.csv"\n'
    )
    path = written(
        tmp_path,
        text,
        counts="gender,count\nFemale,24\nMale,26\n",
        bounds="gender,lower,upper,values\nFemale,1,,\nMale,,30,20 26\n",
    )
    release = cb.read_release(path)
    margin, prior = release.statements[1:3]
    assert margin.counts.tolist() == [26, 24]
    known = prior.known(release.domain)
    assert known.lower.tolist() == [0, 1]
    assert known.upper.tolist() == [30, -1]
    assert known.values == {0: (20, 26)}


AWKWARD = {
    "ort, name": ["Köln", "a,b", 'say "hi"', " padded ", "two\nlines", ""],
    'quo"te': ["yes", "näin", "<b>"],
}


def awkward_table():
    domain = cb.Domain(AWKWARD)
    counts = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 0, 0], [3, 3, 1], [2, 0, 11]]
    return cb.Table(domain, counts)


ROUND_TRIPS = {
    "rounded": lambda t: cb.publish(t, '["quo""te"|"ort, name"]@2'),
    "exact": lambda t: cb.publish(t, '["quo""te"|"ort, name"]'),
    "exact zeros and ones": lambda t: cb.publish(
        cb.Table(t.domain, [[5, 0, 0], [0, 7, 0], [0, 0, 9], [0, 0, 0], [1, 0, 0], [0, 2, 0]]),
        '["quo""te"|"ort, name"]',
    ),
    "down": lambda t: cb.publish(t, '["quo""te"|"ort, name"]@3', rounding="down"),
    "eps": lambda t: cb.publish(t, '["quo""te"|"ort, name"]@1', eps="0.1", strict=True),
    "no total": lambda t: cb.publish(t, '["quo""te"|"ort, name"]@2', total=False),
    "margin": lambda t: cb.publish(t, '["quo""te"|"ort, name"]@2', '["ort, name"]'),
    "joint": lambda t: cb.publish(t, '["quo""te","ort, name"|]@3'),
    "total range": lambda t: cb.Release(
        t.domain,
        [cb.publish(t, '["quo""te"|"ort, name"]@2').statements[0], cb.Total(lower=3, upper=90)],
    ),
    "total first": lambda t: cb.Release(
        t.domain, [cb.Total(65), cb.publish(t, '["quo""te"|"ort, name"]@2').statements[0]]
    ),
    "eps by cell": lambda t: cb.Release(
        t.domain,
        [
            cb.Conditional(
                ['quo"te'],
                ["ort, name"],
                rates=[["0.2", "0.3", "0.5"]] * 6,
                eps=[["0.1", "0.2", "1/3"]] * 6,
            ),
            cb.Total(60),
        ],
    ),
    "eps and mixed decimals": lambda t: cb.Release(
        t.domain,
        [
            cb.Conditional(
                ['quo"te'], ["ort, name"], rates=[["0.25", "0.3", "0.45"]] * 6, eps="0.1"
            ),
            cb.Total(60),
        ],
    ),
    "digits beyond the text": lambda t: cb.Release(
        t.domain,
        [
            cb.Conditional(['quo"te'], ["ort, name"], rates=[["0.2", "0.3", "0.5"]] * 6, digits=3),
            cb.Total(60),
        ],
    ),
    "suppressed": lambda t: cb.Release(
        t.domain,
        [
            cb.Conditional(
                ['quo"te'], ["ort, name"], rates=[["0.2", None, "0.5"]] * 6, missing="suppressed"
            ),
            cb.Total(60),
        ],
    ),
    "percent": lambda t: cb.Release(
        t.domain,
        [
            cb.Conditional(
                ['quo"te'], ["ort, name"], rates=[["20.5", "30.0", "49.5"]] * 6, unit="percent"
            ),
            cb.Total(6000),
        ],
    ),
    "priors by labels": lambda t: cb.Release(
        t.domain,
        [
            *cb.publish(t, '["quo""te"|"ort, name"]@2').statements,
            cb.Known(["ort, name"], lower={"a,b": 3}, values={"": [13, 14]}),
        ],
    ),
    "priors by array": lambda t: cb.Release(
        t.domain,
        [
            *cb.publish(t, '["quo""te"|"ort, name"]@2').statements,
            cb.Known(["ort, name"], lower=1 * (t.margin(["ort, name"]).counts > 0)),
        ],
    ),
    "structural zeros": lambda t: cb.publish(
        cb.Table(t.domain, t.counts, structural=t.counts == 0), '["quo""te"|"ort, name"]@2'
    ),
}


@pytest.mark.parametrize("kind", ROUND_TRIPS)
def test_round_trips_keep_the_digest_and_the_answers(tmp_path, kind):
    release = ROUND_TRIPS[kind](awkward_table())
    path = tmp_path / "out" / "release.toml"
    path.parent.mkdir()
    release.write(path)
    again = cb.read_release(path)
    assert again.domain == release.domain
    assert {type(s) for s in again.statements} == {type(s) for s in release.statements}
    before, after = cb.bounds(release), cb.bounds(again)
    assert after.lower.tolist() == before.lower.tolist()
    assert after.upper.tolist() == before.upper.tolist()
    assert again.digest == release.digest


@pytest.mark.parametrize("name", ["rate", "count", "lower", "upper", "values"])
def test_variables_named_like_a_column_of_figures(tmp_path, name):
    domain = cb.Domain({name: ["r", "s"], "col": ["x", "y"]})
    table = cb.Table(domain, [[1, 2], [3, 4]])
    made = cb.publish(table, f"[col|{name}]@2", f"[{name}]")
    release = cb.Release(domain, [*made.statements, cb.Known([name], lower={"r": 1})])
    release.write(tmp_path / "release.toml")
    again = cb.read_release(tmp_path / "release.toml")
    assert cb.bounds(again).upper.tolist() == cb.bounds(release).upper.tolist()


def test_writing_leaves_nothing_else_behind(tmp_path):
    ROUND_TRIPS["margin"](awkward_table()).write(tmp_path / "release.toml")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3
    assert all(name.startswith("release.") for name in names)


def test_writing_where_nobody_can(tmp_path):
    with pytest.raises(cb.InvalidInput, match="cannot be written"):
        ROUND_TRIPS["exact"](awkward_table()).write(tmp_path / "no" / "release.toml")


BAD = {
    "not TOML": ("total = = 5", "not a TOML file"),
    "not text": (b"\xff\xfe\x00t", "UTF-8"),
    "empty": ("", "domain"),
    "another version": (GOOD.replace("release/1", "release/9"), "this version reads"),
    "unknown entry": ("colour = 3\n" + GOOD, "'colour'; known are"),
    "no domain": ("total = 50\n" + CONDITIONAL + RATES, r"\[domain\]"),
    "domain of text": (GOOD.replace('["yes", "no"]', '"yes"'), r"\[domain\]"),
    "no levels": (GOOD.replace('["yes", "no"]', "[]"), "no levels"),
    "level twice": (GOOD.replace('["yes", "no"]', '["yes", "yes"]'), "twice"),
    "nothing said": (HEAD.replace("total = 50\n", ""), "says nothing"),
    "one bracket": (GOOD.replace("[[conditional]]", "[conditional]"), r"\[\[conditional\]\]"),
    "unknown option": (GOOD + "decimals = 2\n", "'decimals'; known are"),
    "no responses": (GOOD.replace('responses = ["mp3"]\n', ""), "respons|variable"),
    "responses as text": (GOOD.replace('["mp3"]\n', '"mp3"\n'), "list of variables"),
    "unknown variable": (GOOD.replace('["mp3"]\n', '["age"]\n'), "unknown variable 'age'"),
    "variable twice": (GOOD.replace('["mp3"]\n', '["gender"]\n'), "twice"),
    "no rates": (HEAD + CONDITIONAL, "needs rates"),
    "rates a number": (HEAD + CONDITIONAL + "rates = 0.5\n", "needs rates"),
    "rates of another shape": (
        HEAD + CONDITIONAL + 'rates = [["0.6", "0.4"]]\n',
        r"shape \(1, 2\)",
    ),
    "ragged rates": (HEAD + CONDITIONAL + 'rates = [["0.6", "0.4"], ["0.2"]]\n', "axes"),
    "rate above 1": (GOOD.replace('"0.6"', '"1.6"'), "above 1"),
    "rate below 0": (GOOD.replace('"0.6"', '"-0.6"'), "-0.6"),
    "rate in words": (GOOD.replace('"0.6"', '"most"'), "'most'"),
    "rate a date": (GOOD.replace('"0.6"', "1979-05-27"), "give a number"),
    "rate true": (GOOD.replace('"0.6"', "true"), "bool"),
    "rate with exponent": (GOOD.replace('"0.6"', "6e-1"), "give a number"),
    "decimal comma": (GOOD.replace('"0.6"', '"0,6"'), "not a comma"),
    "mixed decimals": (GOOD.replace('"0.6"', '"0.60"'), "different numbers of decimals"),
    "rounding unknown": (GOOD + 'rounding = "bankers"\n', "bankers"),
    "rounding a list": (GOOD + 'rounding = ["nearest"]\n', "rounding"),
    "unit unknown": (GOOD + 'unit = "ppm"\n', "ppm"),
    "unit a list": (GOOD + 'unit = ["percent"]\n', "unit"),
    "digits as text": (GOOD + 'digits = "2"\n', "digits="),
    "digits too few": (GOOD + "digits = 0\n", "digits=0"),
    "digits with a point": (GOOD + "digits = 2.0\n", "digits="),
    "digits with eps as text": (GOOD + 'digits = "2"\neps = 0.1\n', "digits"),
    "strict without eps": (GOOD + "strict = true\n", "goes with eps"),
    "strict as text": (GOOD + 'eps = "0.1"\nstrict = "no"\n', "strict"),
    "eps negative": (GOOD + 'eps = "-0.1"\n', "negative"),
    "eps in words": (GOOD + 'eps = "small"\n', "'small'"),
    "eps of another shape": (GOOD + 'eps = ["0.1"]\n', "shape"),
    "eps and rounding": (GOOD + 'eps = 0.1\nrounding = "up"\nrule = "interval"\n', "give one of"),
    "missing unknown": (GOOD + 'missing = "gone"\n', "gone"),
    "missing not explained": (GOOD.replace('"0.6"', '""'), "missing="),
    "total negative": (GOOD.replace("= 50", "= -50"), "0 or more"),
    "total fractional": (GOOD.replace("= 50", "= 50.5"), "whole"),
    "total in words": (GOOD.replace("= 50", '= "many"'), "many"),
    "total true": (GOOD.replace("= 50", "= true"), "whole"),
    "total a list": (GOOD.replace("= 50", "= [50]"), "whole"),
    "total unknown entry": (GOOD.replace("= 50", "= {most = 50}"), "'most'"),
    "total upside down": (GOOD.replace("= 50", "= {lower = 5, upper = 4}"), "above its upper"),
    "margin without counts": (GOOD + '[[margin]]\nvariables = ["gender"]\n', "count"),
    "margin of another shape": (
        GOOD + '[[margin]]\nvariables = ["gender"]\ncounts = [1, 2, 3]\n',
        "shape",
    ),
    "margin negative": (
        GOOD + '[[margin]]\nvariables = ["gender"]\ncounts = [1, -2]\n',
        "whole number",
    ),
    "margin unknown option": (
        GOOD + '[[margin]]\nvariables = ["gender"]\ncounts = [1, 2]\neps = 1\n',
        "'eps'",
    ),
    "margin of nothing": (GOOD + "[[margin]]\ncounts = [1, 2]\n", "variable"),
    "prior of nothing": (GOOD + '[[known]]\nvariables = ["gender"]\n', "says nothing"),
    "prior unknown level": (
        GOOD + '[[known]]\nvariables = ["gender"]\n[known.lower]\nOther = 3\n',
        "unknown level 'Other'",
    ),
    "prior upside down": (
        GOOD + '[[known]]\nvariables = ["gender"]\nlower = 5\nupper = 4\n',
        "lower is above upper",
    ),
    "prior values a number": (
        GOOD + '[[known]]\nvariables = ["gender"]\n[known.values]\nMale = 5\n',
        "list",
    ),
    "prior values as text": (
        GOOD + '[[known]]\nvariables = ["gender"]\n[known.values]\nMale = "12"\n',
        "list",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_refused(tmp_path, kind):
    text, said = BAD[kind]
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_release(written(tmp_path, text))


BAD_CSV = {
    "not there": (None, "cannot be read"),
    "empty": ("", "is empty"),
    "unknown level": (TIDY.replace("no,Male", "maybe,Male"), "unknown level 'maybe'"),
    "rate twice": (TIDY + "no,Male,0.40\n", "twice"),
    "rate not listed": (TIDY.replace("no,Male,0.40\n", ""), r"no line for \('Male', 'no'\)"),
    "columns unknown": (TIDY.replace("rate", "share"), "'share'"),
    "a level without a column": (
        "gender,yes\nFemale,0.20\nMale,0.60\n",
        "column for each of its levels",
    ),
    "ragged": (TIDY.replace("no,Male,0.40", "no,Male"), "line 2"),
    "row twice": (WIDE + "Male,0.40,0.60\n", "twice"),
    "row not listed": (WIDE.replace("Male,0.40,0.60\n", ""), "no line for"),
    "out of range": (WIDE.replace("0.80", "8.00"), "above 1"),
}


@pytest.mark.parametrize("kind", BAD_CSV)
def test_bad_csv_files_of_rates(tmp_path, kind):
    content, said = BAD_CSV[kind]
    text = HEAD + CONDITIONAL + 'rates = "rates.csv"\n'
    path = written(tmp_path, text, **({} if content is None else {"rates": content}))
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_release(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("gender,n\nMale,1\nFemale,2\n", "no column 'count'"),
        ("gender,count\nMale,1\n", "every cell"),
        ("gender,count\nMale,1\nMale,2\n", "twice"),
        ("gender,count\nMale,1\nFemale,2.5\n", "whole"),
    ],
)
def test_bad_csv_files_of_margins(tmp_path, content, said):
    text = GOOD + '[[margin]]\nvariables = ["gender"]\ncounts = "counts.csv"\n'
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_release(written(tmp_path, text, counts=content))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("gender,least\nMale,1\n", "lower"),
        ("sex,lower\nMale,1\n", "no column 'gender'"),
        ("gender,lower\nMale,x\n", "whole"),
        ("gender,values\nMale,1 2 x\n", "whole"),
    ],
)
def test_bad_csv_files_of_priors(tmp_path, content, said):
    text = GOOD + '[[known]]\nvariables = ["gender"]\nbounds = "bounds.csv"\n'
    with pytest.raises(cb.InvalidInput, match=said):
        cb.read_release(written(tmp_path, text, bounds=content))


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(cb.InvalidInput, match=r"nothing\.toml cannot be read"):
        cb.read_release(tmp_path / "nothing.toml")
    with pytest.raises(cb.InvalidInput, match="cannot be read"):
        cb.read_release(tmp_path)


def test_files_and_notation_together(tmp_path):
    table = cb.datasets.read("mp3")
    path = written(tmp_path, GOOD)
    release = combined_release(table, [str(path), "[gender]"])
    assert [s.notation for s in release.statements] == ["[mp3|gender]@1", "[gender]", "N=50"]


def test_files_of_another_table_are_refused(tmp_path):
    path = written(tmp_path, GOOD)
    with pytest.raises(cb.InvalidInput, match="same variables and levels"):
        combined_release(cb.datasets.read("delinquent"), [str(path)])


def test_sources_with_different_totals_are_refused(tmp_path):
    path = written(tmp_path, GOOD.replace("= 50", "= 51"))
    with pytest.raises(cb.InvalidInput, match="different totals"):
        combined_release(cb.datasets.read("mp3"), [str(path), "N"])


def test_rounding_belongs_to_the_notation(tmp_path):
    path = written(tmp_path, GOOD)
    with pytest.raises(cb.InvalidInput, match="files have theirs"):
        combined_release(cb.datasets.read("mp3"), [str(path)], rounding="up")
