"""Random rounding and noise: what is published, read, refused, judged and verified."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from cellbounds import Domain, Margin, Release, Table, Total
from cellbounds.disclosure.policies import Outcome
from cellbounds.errors import InvalidInput
from cellbounds.ledger import Ledger, NotSafe
from cellbounds.ledger.history import history_text
from cellbounds.statements.mechanisms import RandomRounding, mechanism_of

LAPLACE = {"laplace": "1/2"}
STEPS = {"differences": {"-2": "1/4", "0": "1/2", "1": "1/4"}}
TABLE = {"chances": {"0": {"0": 1}, "1": {"0": "2/3", "3": "1/3"}, "3": {"3": "1"}}}

DOMAIN = Domain({"a": ["x", "y"]})


@pytest.mark.parametrize(
    ("mechanism", "count", "law"),
    [
        (RandomRounding(5), 7, {5: Fraction(3, 5), 10: Fraction(2, 5)}),
        (mechanism_of(STEPS, "n"), 1, {-1: Fraction(1, 4), 1: Fraction(1, 2), 2: Fraction(1, 4)}),
        (mechanism_of(TABLE, "n"), 1, {0: Fraction(2, 3), 3: Fraction(1, 3)}),
        (
            mechanism_of(LAPLACE, "n"),
            4,
            {4 + d: Fraction(1, 3) * Fraction(1, 2) ** abs(d) for d in range(-9, 10)},
        ),
    ],
)
def test_figures_follow_the_stated_law(mechanism, count, law):
    rng, size = np.random.default_rng(11), 20_000
    drawn = [mechanism.draw(count, rng) for _ in range(size)]
    values, times = np.unique(drawn, return_counts=True)
    found = dict(zip(values.tolist(), times.tolist(), strict=True))
    assert sum(law.get(value, 0) == 0 for value in drawn) < size / 200
    square = sum(
        (found.get(shown, 0) - size * float(chance)) ** 2 / (size * float(chance))
        for shown, chance in law.items()
    )
    assert square < 3 * len(law) + 12
    # What posteriors weigh by has the same ratios.
    first = next(iter(law))
    unit = mechanism.chance(count, first)
    for shown, chance in law.items():
        base, power = mechanism.chance(count, shown)
        assert base**power / unit[0] ** unit[1] == chance / law[first]
        support = mechanism.support(shown)
        assert support is None or count in support


@pytest.mark.parametrize("noise", [LAPLACE, STEPS, TABLE])
def test_noise_is_written_and_read_again(tmp_path, noise):
    table = Table(DOMAIN, [0, 1])
    release = cb.publish(table, "[a]~noise", noise=noise, rng=4)
    assert cb.violations(table, release) == []
    assert cb.publish(table, "[a]~noise", noise=noise, rng=4).digest == release.digest
    release.write(tmp_path / "r.toml")
    again = cb.read_release(tmp_path / "r.toml")
    assert again.digest == release.digest
    assert again.to_dict()["statements"] == release.to_dict()["statements"]
    plain = json.loads(json.dumps(release.statements[0].to_dict()["margin"]))
    assert Margin.from_plain(plain, DOMAIN).meaning(DOMAIN) == release.statements[0].meaning(DOMAIN)
    other = cb.publish(table, "[a]~noise", noise=noise, rng=6)
    assert (other.digest == release.digest) == (
        other.to_dict()["statements"] == release.to_dict()["statements"]
    )


def test_negative_figures_of_noise_are_read(tmp_path):
    release = Release(DOMAIN, [Margin(["a"], [-3, 2], noise=LAPLACE), Total(4)])
    release.write(tmp_path / "r.toml")
    assert cb.read_release(tmp_path / "r.toml").digest == release.digest
    assert cb.bounds(release)["x"] == (0, 4)
    # Weights 2 ** -(|x + 3| + |4 - x - 2|) for x = 0 to 4.
    weights = [Fraction(1, 2) ** (x + 3 + abs(2 - x)) for x in range(5)]
    assert cb.posterior(release)["x"][0] == pytest.approx(float(weights[0] / sum(weights)))


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ({"laplace": "3/2"}, "between 0 and 1"),
        ({"laplace": 0.5}, "float"),
        ({"gauss": 1}, "not known"),
        ({"differences": {"0": "1/2"}}, "add up to 1/2"),
        ({"differences": {"0": "3/2", "1": "-1/2"}}, "0 or more"),
        ({"chances": {"-1": {"0": 1}}}, "whole number"),
        ({"chances": {}}, "for each count"),
        (7, "not known"),
    ],
)
def test_laws_that_are_none_are_refused(noise, words):
    with pytest.raises(InvalidInput, match=words):
        Margin(["a"], [0, 0], noise=noise)


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(InvalidInput, match="both a base and noise"):
        Margin(["a"], [0, 5], base=5, noise=LAPLACE)
    with pytest.raises(InvalidInput, match="no count leads to"):
        Margin(["a"], [1, 0], noise=TABLE)
    table = Table(DOMAIN, [2, 1])
    with pytest.raises(InvalidInput, match="another count"):
        cb.publish(table, "[a]~noise", noise=TABLE, rng=1)
    for options in ({"noise": LAPLACE}, {"rng": 1}):
        with pytest.raises(InvalidInput, match=r"rng=None|its law"):
            cb.publish(table, "[a]~noise", **options)
    with pytest.raises(InvalidInput, match="only for them"):
        cb.publish(table, "[a]", noise=LAPLACE)


def test_certificates_of_noise_are_verified_by_their_support():
    domain = Domain({"a": ["x", "y"], "b": ["u", "v"]})
    statements = [
        Margin(["a"], [0, 3], noise=TABLE),
        Margin(["b"], [2, None], noise=STEPS),
        Margin(["b"], [-1, 2], noise=LAPLACE),
    ]
    answer = cb.attainable(Release(domain, statements))
    made = json.loads(json.dumps(answer.certificate()))
    assert cb.verify_certificate(made).ok
    forged = json.loads(json.dumps(made).replace('"2/3"', '"0"').replace('"1/3"', '"1"'))
    assert forged != made
    assert not cb.verify_certificate(forged).ok


def test_the_ledger_counts_repetitions_and_judges_all_of_them(tmp_path):
    table = Table(Domain({"a": ["x", "y", "z"]}), [1, 21, 22])
    # One 0 at base 5 means at most 3 with probability 14/15, two of them 54/55.
    rule = cb.policies.PosteriorChance(at_most=3, probability="0.97")
    policy = cb.policies.Policy("likely", rules=[rule])
    ledger = Ledger.create(str(tmp_path / "ledger"), table, policy=policy, who="ann")
    options = {"count_rounding": "random", "total": False}
    shown = [cb.publish(table, "[a]~5", rng=seed, **options) for seed in range(40)]
    zeros = {release.digest: release for release in shown if release.statements[0].entries[0] == 0}
    first, second = list(zeros.values())[:2]
    ledger.commit(first, why="x", table=table, total=False)
    assert cb.judge(table, second, policy).outcome is Outcome.SAFE
    with pytest.raises(NotSafe):
        ledger.commit(second, why="y", table=table, total=False)
    ledger.commit(second, why="y", table=table, total=False, already_out=True)
    assert "(so far [a]~5 2 times by chance)" in history_text(ledger.history())


def test_noise_on_the_command_line(tmp_path, run):
    table = Table(Domain({"a": ["x", "y"], "b": ["u", "v"]}), [[1, 7], [8, 9]])
    table.write(tmp_path / "t.csv")
    (tmp_path / "n.toml").write_text('[differences]\n-1 = "1/2"\n1 = "1/2"\n')
    audit = ("audit", tmp_path / "t.csv", "[a]~noise", "--noise")
    for law, words in (("laplace=1/2", "ratio 1/2"), (tmp_path / "n.toml", "2 differences")):
        code, out, err = run(*audit, law, "--seed", 3)
        assert code in (0, 1), err
        assert words in " ".join(out.split())
    for law, words in (("laplace=2", "between 0 and 1"), ("gauss=1", "not known"), ("no.toml", "")):
        code, _, err = run(*audit, law, "--seed", 3)
        assert code == 2
        assert words in err
