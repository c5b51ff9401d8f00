"""Policies: rules, profiles, files, and what is refused."""

from __future__ import annotations

import importlib.util
import itertools
import re
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import cellbounds as cb
from cellbounds import InvalidInput, ValueSet, policies
from cellbounds.disclosure.policies import (
    DEFAULT,
    RULES,
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    Policy,
    PosteriorChance,
    SmallCounts,
)

SMALL_RULE = SmallCounts(at_most=3, values=2)


def test_the_rules_by_name():
    assert list(RULES) == [
        "small-counts",
        "exact-disclosure",
        "group-disclosure",
        "posterior",
        "minimum-count",
    ]


def test_at_most_and_below_say_what_they_mean():
    weak, strict = SmallCounts(at_most=9, values=2), SmallCounts(below=10, values=2)
    assert weak.small == strict.small == 9
    assert "<= 9" in weak.sentence
    assert "< 10" in strict.sentence
    assert "zeros included" in weak.sentence
    assert "but not zero" in SmallCounts(at_most=9, values=2, zeros=False).sentence


def test_numbers_are_exact():
    assert SmallCounts(at_most=3, relative="0.1").relative == Fraction(1, 10)
    assert PosteriorChance(at_most=3, probability="0.9").probability == Fraction(9, 10)
    with pytest.raises(InvalidInput, match="float"):
        SmallCounts(at_most=3, relative=0.1)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (SmallCounts, {"values": 2}, "needs one threshold"),
        (SmallCounts, {"at_most": 3, "below": 4, "values": 2}, "needs one threshold"),
        (SmallCounts, {"at_most": -1, "values": 2}, "at_most .* is -1"),
        (SmallCounts, {"below": 0, "values": 2}, "below .* is 0"),
        (SmallCounts, {"at_most": True, "values": 2}, "at_most .* is True"),
        (SmallCounts, {"at_most": 3}, "asks for nothing"),
        (SmallCounts, {"at_most": 3, "values": 1}, "can never fail"),
        (SmallCounts, {"at_most": 3, "width": 0}, "can never fail"),
        (SmallCounts, {"at_most": 3, "values": 1, "width": 0}, "can never fail"),
        (SmallCounts, {"at_most": 3, "values": 2, "relative": 0}, "can never fail"),
        (SmallCounts, {"at_most": 3, "protect_above": 0}, "can never fail"),
        (SmallCounts, {"at_most": 3, "protect_below": -1}, "protect_below"),
        (SmallCounts, {"at_most": 3, "above_threshold": False}, "asks for nothing"),
        (SmallCounts, {"at_most": 3, "above_threshold": "yes"}, "true or false"),
        (SmallCounts, {"at_most": 3, "values": "2"}, "values .* is '2'"),
        (SmallCounts, {"at_most": 0, "values": 2, "zeros": False}, "there are none"),
        (SmallCounts, {"at_most": 3, "values": 2, "zeros": "yes"}, "true or false"),
        (SmallCounts, {"at_most": 3, "values": 2, "need": "some"}, "'all' or 'any'"),
        (ExactDisclosure, {"of": "ones"}, "'any', 'zeros' or 'positive'"),
        (GroupDisclosure, {"responses": "income"}, "list of different variables"),
        (GroupDisclosure, {"responses": []}, "list of different variables"),
        (GroupDisclosure, {"responses": ["a"], "given": ["a", "b"]}, "'a' among its responses"),
        (GroupDisclosure, {"not_in": 1}, "true or false"),
        (PosteriorChance, {"at_most": 3}, "needs probability"),
        (PosteriorChance, {"at_most": 3, "probability": "0"}, "above 0 and below 1"),
        (PosteriorChance, {"at_most": 3, "probability": 1}, "above 0 and below 1"),
        (PosteriorChance, {"at_most": 3, "probability": "0.9", "confidence": "0.5"}, "above 1/2"),
        (PosteriorChance, {"at_most": 3, "probability": "0.9", "prior": "flat"}, "uniform"),
        (PosteriorChance, {"at_most": 0, "probability": "0.9", "positive": True}, "none"),
        (MinimumCount, {"at_least": 0}, "1 or more"),
        (MinimumCount, {"at_least": 1, "zeros": False}, "can never fail"),
    ],
)
def test_rules_that_contradict_themselves_are_refused(kind, given, said):
    with pytest.raises(InvalidInput, match=said):
        kind(**given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": ""}, "no name"),
        ({"name": 3}, "give a text"),
        ({"rules": ()}, "no rule"),
        ({"rules": ["small-counts"]}, "among its rules"),
        ({"rules": [SMALL_RULE, SmallCounts(at_most=5, values=2)]}, "small-counts twice"),
        ({"respondent": "yes"}, "true or false"),
        ({"respondent_at_most": 3}, "without respondent"),
        ({"respondent": True, "respondent_at_most": 0}, "1 or more"),
        ({"respondent": True, "rules": [MinimumCount(at_least=3)]}, "no rule asks"),
    ],
)
def test_policies_that_contradict_themselves_are_refused(given, said):
    with pytest.raises(InvalidInput, match=said):
        Policy(**{"name": "house", "rules": [SMALL_RULE], **given})


def test_a_low_minimum_beside_another_rule_is_fine():
    Policy("house", rules=[SmallCounts(at_most=9, values=2), MinimumCount(at_least=2)])


@pytest.mark.parametrize(
    "asked",
    [
        {"values": 3},
        {"width": 2},
        {"relative": "0.5"},
        {"relative": "1", "values": 2},
        {"protect_above": 2, "protect_below": 2},
        {"values": 3, "need": "any"},
        {"above_threshold": True},
        {"above_threshold": True, "protect_above": 4, "width": 5},
    ],
)
def test_what_is_asked_of_a_suppressed_count_is_what_is_judged(asked):
    rule = SmallCounts(at_most=4, **asked)
    for count in range(5):
        above, below, width = rule.asked(count)
        for low, high in itertools.product(range(count + 1), range(count, 12)):
            good = high - count >= above and count - low >= below and high - low >= width
            assert good is rule._keeps(ValueSet([(low, high, 1)]), count), (count, low, high)


@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize("rule", [MinimumCount(at_least=3), SmallCounts(at_most=2, values=2)])
def test_which_counts_are_hidden_for_their_own_sake(rule, zeros):
    hidden = replace(rule, zeros=zeros).unshown(np.arange(5))
    assert hidden.tolist() == [zeros, True, True, False, False]


def test_the_size_of_a_respondents_cell():
    chance = PosteriorChance(at_most=7, probability="0.9")
    assert Policy("p", rules=[SMALL_RULE], respondent=True).small == 3
    assert Policy("p", rules=[SMALL_RULE, chance], respondent=True).small == 7
    assert Policy("p", rules=[ExactDisclosure()], respondent=True).small == 3
    most = Policy("p", rules=[chance], respondent=True, respondent_at_most=2)
    assert most.small == 2
    assert "1 to 2 (<= 2)" in str(most)


def test_the_shipped_profiles():
    assert policies.profiles() == (
        "acro",
        "ons-ls",
        "opensafely",
        "sdctable",
        "small-counts",
        "strict",
    )
    for name in policies.profiles():
        policy = policies.read(name)
        assert policy.name == name
        assert policy.title
        assert policy.description
        assert policy.modelled_on
        assert all("<" in one or ">" in one for one in policy.sentences)
    assert policies.read("acro").rules[1].small == 9
    assert policies.read("ons-ls").rules[1].small == 9
    assert policies.read("sdctable").rules[1].small == 3
    assert not policies.read("sdctable").rules[1].zeros
    assert policies.read("opensafely").rules[1].small == 7
    strict = policies.read("strict")
    assert strict.respondent
    assert strict.rules == (SmallCounts(at_most=5, values=5), GroupDisclosure(not_in=True))


def test_the_default_is_the_rule_of_the_audit():
    assert DEFAULT == "small-counts"
    assert policies.read(DEFAULT).rules == (SmallCounts(at_most=3, values=2, zeros=False),)


FILE = """
name = "house"
title = "Our rules"
respondent = true

[[rule]]
rule = "small-counts"
below = 4
relative = 0.10

[[rule]]
rule = "group-disclosure"
responses = ["income"]
"""


def test_a_policy_file(tmp_path):
    file = tmp_path / "house.toml"
    file.write_text(FILE)
    for source in (file, str(file)):
        policy = policies.read(source)
        assert policy == Policy(
            "house",
            "Our rules",
            rules=(
                SmallCounts(below=4, relative=Fraction(1, 10)),
                GroupDisclosure(responses=("income",)),
            ),
            respondent=True,
        )


def test_what_a_policy_says_can_be_read_again(tmp_path):
    import tomli_w

    for name in policies.profiles():
        said = policies.read(name).to_dict()
        assert len(said.pop("sentences")) >= len(said["rule"])
        file = tmp_path / f"{name}-again.toml"
        file.write_text(tomli_w.dumps(said))
        assert policies.read(file) == policies.read(name)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "house"', "", "no name"),
        ("title", "titel", "unknown key 'titel'; it knows format, name, title"),
        ("below", "under", "small-counts has the unknown key 'under'; it knows at_most, below"),
        ('rule = "small-counts"', 'rule = "small"', "unknown rule 'small'; the rules are small"),
        ('rule = "small-counts"', "", "a rule without its name"),
        ("[[rule]]", "[rule]", "not a TOML file"),
        ("0.10", "-0.10", "can never fail"),
        ('name = "house"', 'name = "house"\nformat = "cellbounds-policy/9"', "this version reads"),
        ("respondent = true", 'respondent = "true"', "true or false"),
        ("below = 4", "below = 4.0", "below .* is '4.0'"),
        ('rule = "group-disclosure"\nresponses = ["income"]', 'rule = "minimum-count"', "at_least"),
    ],
)
def test_what_a_file_gets_wrong_is_refused(tmp_path, old, new, said):
    assert old in FILE
    file = tmp_path / "house.toml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(InvalidInput, match=said) as caught:
        policies.read(file)
    assert "house.toml" in str(caught.value)


def test_what_is_neither_a_profile_nor_a_file():
    with pytest.raises(InvalidInput, match=r"'smal-counts' is neither a profile.*acro, ons-ls"):
        policies.read("smal-counts")
    with pytest.raises(InvalidInput, match="cannot be read"):
        policies.read("nowhere.toml")
    with pytest.raises(InvalidInput, match="policy 3"):
        policies.read(3)


def test_files_that_are_no_text(tmp_path):
    file = tmp_path / "house.toml"
    file.write_bytes(b'name = "\xff"')
    with pytest.raises(InvalidInput, match="UTF-8"):
        policies.read(file)


def test_rules_must_be_sections(tmp_path):
    file = tmp_path / "house.toml"
    file.write_text('name = "house"\nrule = "small-counts"\n')
    with pytest.raises(InvalidInput, match=r"\[\[rule\]\] sections"):
        policies.read(file)


YAML = """
name: house
rule:
  - rule: small-counts
    at_most: 3
    relative: 0.10
"""

if importlib.util.find_spec("yaml") is not None:

    def test_a_yaml_file(tmp_path):
        file = tmp_path / "house.yaml"
        file.write_text(YAML)
        assert policies.read(file).rules == (SmallCounts(at_most=3, relative=Fraction(1, 10)),)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (YAML + "name: other\n", "'name' .* stands twice"),
            ("name: [", "not a YAML file"),
            ("- 3", "not a policy"),
            (YAML.replace("at_most", "most"), "unknown key 'most'"),
        ],
    )
    def test_what_a_yaml_file_gets_wrong(tmp_path, text, said):
        file = tmp_path / "house.yml"
        file.write_text(text)
        with pytest.raises(InvalidInput, match=said):
            policies.read(file)


def test_rules_within_a_margin():
    levels = {"county": ["A", "B", "C"], "education": ["low", "high"]}
    merged = cb.Grouping("education", {"any": ["low", "high"]})
    some = cb.Grouping("county", {"A": ["A"], "A or B": ["A", "B"]})
    domain = cb.Domain(levels, groupings={"merged": merged, "some": some})
    rows = GroupDisclosure(responses=["education"])
    both = Policy("both", rules=[SMALL_RULE, rows], respondent=True)
    same = ["education", "county"]
    assert both.within(domain, same) == both
    assert both.within(domain, ["merged"]).rules[1].responses == ("merged",)
    fewer = both.within(domain, ["county"])
    assert fewer.rules == (SMALL_RULE,)
    assert fewer.respondent
    given = Policy("given", rules=[SMALL_RULE, GroupDisclosure(given=["education"])])
    assert given.within(domain, same) == given
    assert given.within(domain, ["merged", "county"]).rules[1].given == ("merged",)
    assert given.within(domain, ["education"]).rules == (SMALL_RULE,)  # no response is left
    assert given.within(domain, ["education", "some"]).rules == (SMALL_RULE,)  # nor a partition
    assert Policy("rows", rules=[rows]).within(domain, ["county"]) is None
    shown = Policy("shown", rules=[MinimumCount(at_least=3)])
    assert shown.within(domain, same) is None
    exact = Policy("exact", rules=[ExactDisclosure(), SMALL_RULE])
    assert exact.within(domain, same, shown=True).rules == (SMALL_RULE,)
    assert exact.within(domain, same, shown=True, sums=True) is None


KEY = re.compile(r"(?:^\| |(?<=`), )`(\w+)`(?=[^|]*\|)")
"""Keys in the first column of a table."""


def test_the_reference_page_has_every_key():
    page = (Path(__file__).parents[2] / "docs" / "policy-file.md").read_text("utf-8")
    sections = dict(part.split("`", 1) for part in page.split("\n## `")[1:])
    assert set(sections) == set(RULES)
    for name, rule in RULES.items():
        keys = {field.name for field in fields(rule)}
        named = {key for line in sections[name].splitlines() for key in KEY.findall(line)}
        assert named == keys, name
    first = page.split("\n## `")[0]
    assert {field.name for field in fields(Policy)} - {"rules"} <= set(
        re.findall(r"`(\w+)`", first)
    )
