"""The game for every rounding and every rule: all tables at once, each of them the true one.

For one request all tables of so many people are published, and each is judged against whoever
reruns it. Those that are SAFE with the same figures are what he is left with: each must keep the
policy among just these. What rules ask is written down a second time, and so are the chances of
random rounding.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions
from cellbounds.disclosure.policies import (
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    PosteriorChance,
    SmallCounts,
    crowds,
    rerunning,
)
from cellbounds.disclosure.policies.scenarios import cases_of

SOME = settings().max_examples // 8

POSTERIOR = PosteriorChance(at_most=2, probability="0.8", positive=True)
RULES = {
    "two values": [SmallCounts(at_most=3, zeros=False, values=2)],
    "three values": [SmallCounts(at_most=2, zeros=True, values=3)],
    "width": [SmallCounts(at_most=3, zeros=False, width=2)],
    "relative": [SmallCounts(at_most=3, zeros=False, relative="1")],
    "above": [SmallCounts(at_most=2, zeros=False, protect_above=1)],
    "around": [SmallCounts(at_most=3, zeros=False, protect_above=1, protect_below=1)],
    "not small": [SmallCounts(at_most=2, zeros=False, above_threshold=True)],
    "either": [SmallCounts(at_most=2, zeros=False, values=4, protect_above=2, need="any")],
    "exact": [ExactDisclosure()],
    "groups": [GroupDisclosure(not_in=True), SmallCounts(at_most=1, values=3)],
    "posterior": [POSTERIOR],
    "near": [PosteriorChance(at_most=3, near=0, probability="0.6")],
    "multinomial": [PosteriorChance(at_most=1, probability="0.7", prior="multinomial")],
}
POLICIES = {name: cb.policies.Policy(name, rules=rules) for name, rules in RULES.items()}
POLICIES |= {
    f"{name}, respondents": cb.policies.Policy(name, rules=RULES[name], respondent=True)
    for name in ("two values", "above", "width", "groups", "posterior")
}
POLICIES |= {name: cb.policies.read(name) for name in cb.policies.profiles()}
TELLING = sorted(name for name, policy in POLICIES.items() if policy.tells())

LINE = ["[a]", "[a]~2", "[a]~3", "[a]~5", "[a]<3", "[a]<8~5", "[a]<3~2", "[a|]@1", "[a]~10"]
SQUARE = ["[a]", "[b]~4", "[a,b]~2", "[a,b]~3", "[a,b]<3", "[a,b]<2~3", "[b|a]@1", "[b|a]@0"]
SQUARE += ["[a|b]@1", "[a,b|]@1", "[b|a]", "[a]<2", "[a,b]"]

RATES = ["nearest", "half-even", "down", "up", "consistent"]
COUNTS = ["nearest", "half-even", "down", "up", "random"]


@st.composite
def requests(draw):
    """The levels of the variables, how many people, what is published, and by which rules."""
    shape = draw(st.sampled_from([(2,), (3,), (2, 2), (2, 2), (1, 3)]))
    texts = SQUARE if len(shape) > 1 else LINE
    chosen = draw(st.lists(st.sampled_from(texts), min_size=1, max_size=2, unique=True))
    rule = draw(st.sampled_from(COUNTS))
    if rule == "random" and any("~" not in one or "<" in one for one in chosen):
        rule = "half-even"
    people = draw(st.integers(1, {2: 24, 3: 12, 4: 6}[math.prod(shape)]))
    return shape, people, tuple(chosen), draw(st.sampled_from(RATES)), rule


def published(table, request, seed=0):
    _, _, texts, rates, counts = request
    rates = rates if any("@" in one for one in texts) else None
    counts = counts if any("~" in one for one in texts) else None
    return cb.publish(table, *texts, rounding=rates, count_rounding=counts, rng=seed)


def chance(table, release):
    """The probability that a table is published with these figures by unbiased rounding."""
    product = Fraction(1)
    for one in release.statements:
        if one.variables:
            counts = table.margin(one.variables).counts.ravel().tolist()
            for count, figure in zip(counts, one.entries.ravel().tolist(), strict=True):
                away = Fraction(abs(count - figure), one.base)
                product *= max(1 - away, Fraction(0))
    return product


def played(request, policy, seed=0):
    """Each release, with the tables that are SAFE with it and how likely each leads to it."""
    shape, people, *_, rule = request
    domain = cb.Domain({name: list("pqr")[:size] for name, size in zip("ab", shape, strict=False)})
    flat = compositions(people, math.prod(shape))
    every = [cb.Table(domain, np.array(one).reshape(shape)) for one in flat]
    releases, fitting = {}, defaultdict(list)
    if rule == "random":
        for true in every[seed % 7 :: 7][:3]:
            release = published(true, request, seed)
            releases[release.digest] = release
        for digest, release in releases.items():
            weighed = [(table, chance(table, release)) for table in every]
            fitting[digest] = [pair for pair in weighed if pair[1]]
    else:
        for table in every:
            release = published(table, request)
            releases[release.digest] = release
            fitting[release.digest].append((table, Fraction(1)))
    for digest, several in fitting.items():
        release = releases[digest]
        safe = [
            (table, weight)
            for table, weight in several
            if cb.judge(table, release, policy, independent=True).safe
        ]
        if safe:
            ways = [weight * arrangements(one, policy) for one, weight in safe]
            yield release, [one for one, _ in safe], ways


def arrangements(table, policy):
    """How many ways there are to fill a table, under the prior that has all of them alike."""
    if all(getattr(rule, "prior", "uniform") == "uniform" for rule in policy.rules):
        return 1
    return math.factorial(table.total) // math.prod(map(math.factorial, table.counts.flat))


def margins(release):
    """The margins that are judged: the cells, and what the statements speak of."""
    names = release.domain.names
    spoken = [one.variables for one in release.statements if one.variables]
    return [
        over
        for size in range(1, len(names) + 1)
        for over in itertools.combinations(names, size)
        if size == len(names) or any(set(over) <= set(one) for one in spoken)
    ]


def exposed(policy, release, tables, weights):
    """What is not hidden among tables of which each may be the true one."""
    for true in tables:
        yield from given_away(policy, release, tables, weights, true)


def given_away(policy, release, tables, weights, true):
    """What is told of one of the tables, if these are taken for possible."""
    for over in margins(release):
        counts, own = (
            np.array([one.margin(over).counts for one in tables]),
            true.margin(over).counts,
        )
        exempt = empty_rows(release, over, own)
        yield from broken(policy, release, over, counts, own, weights, exempt, None)
        small = list(map(tuple, np.argwhere((own >= 1) & (own <= policy.small) & ~exempt).tolist()))
        looking = [(index,) for index in small] if policy.respondent else []
        if policy.against.respondents > 1:
            looking += [
                pair
                for pair in itertools.combinations_with_replacement(small, 2)
                if sum(one != other for one, other in zip(*pair, strict=True)) < 2
                and own[pair[0]] >= pair.count(pair[0])
            ]
        for cells in looking:
            there = [(counts[(slice(None), *one)] >= cells.count(one)) for one in cells]
            with_them = np.all(there, axis=0)
            theirs = list(itertools.compress(weights, with_them))
            look = counts[with_them], own, theirs, exempt, cells[0]
            yield from broken(policy, release, over, *look)


def empty_rows(release, over, true):
    """Cells of rows that rates say to hold nobody."""
    empty = np.zeros(true.shape, dtype=bool)
    for one in release.statements:
        rows = [name for name in getattr(one, "given", ()) if one.responses]
        if set(rows) <= set(over) and rows:
            others = tuple(axis for axis, name in enumerate(over) if name not in rows)
            empty |= true.sum(axis=others, keepdims=True) == 0
    return empty


def broken(policy, release, over, counts, true, weights, exempt, own):
    for rule in policy.rules:
        if isinstance(rule, GroupDisclosure):
            yield from alike(rule, over, counts, own)
        elif not isinstance(rule, MinimumCount):
            for index in np.argwhere(~exempt).tolist():
                column = counts[(slice(None), *index)].tolist()
                truth = int(true[tuple(index)])
                if not keeps(rule, release, over, column, truth, weights):
                    yield rule.name, over, index, truth, sorted(set(column)), own


def keeps(rule, release, over, column, truth, weights):
    values = set(column)
    if isinstance(rule, ExactDisclosure):
        shown = [one for one in release.statements if one.fixed_counts(release.domain) is not None]
        return len(values) > 1 or any(set(over) <= set(one.variables) for one in shown)
    if isinstance(rule, PosteriorChance):
        low, high = int(rule.positive), rule.small
        if not low <= truth <= high:
            return True
        if rule.near is not None:
            low, high = truth - rule.near, truth + rule.near
        inside = sum(w for w, n in zip(weights, column, strict=True) if low <= n <= high)
        return inside <= rule.probability * sum(weights)
    if not (0 if rule.zeros else 1) <= truth <= rule.small:
        return True
    width, answers = max(values) - min(values), []
    if rule.values is not None:
        answers.append(len(values) >= rule.values)
    if rule.width is not None:
        answers.append(width >= rule.width)
    if rule.relative is not None:
        answers.append(width >= rule.relative * max(truth, 1))
    if rule.protect_above is not None:
        answers.append(max(values) >= truth + rule.protect_above)
    if rule.protect_below is not None:
        answers.append(min(values) <= max(truth - rule.protect_below, 0))
    if rule.above_threshold:
        answers.append(max(values) > rule.small)
    return all(answers) if rule.need == "all" else any(answers)


def alike(rule, over, counts, own):
    """Rows of which all know that the members are in one level, or that none is in some level."""
    for axis, name in enumerate(over):
        laid = np.moveaxis(counts, axis + 1, -1)
        for row in np.ndindex(laid.shape[1:-1]):
            if own is not None and row != (*own[:axis], *own[axis + 1 :]):
                continue
            seen = laid[(slice(None), *row)]
            possible = (seen > 0).any(axis=0)
            told = possible.sum() < 2 or (rule.not_in and not possible.all())
            if len(possible) > 1 and told and (seen.sum(axis=1) > 0).all():
                yield rule.name, over, name, row, own


@settings(suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([(3,), (2, 2)]),
    st.sampled_from(sorted(set(RULES) - {"groups"})),
    st.integers(0, 2),
    st.integers(0, 2**32 - 1),
)
def test_which_tables_of_a_crowd_are_given_away(shape, name, respondents, seed):
    """Whichever tables somebody takes for possible; two may tell each other where they are."""
    policy, rng = POLICIES[name].facing(respondents=respondents), np.random.default_rng(seed)
    domain = cb.Domain({name: list("pqr")[:size] for name, size in zip("ab", shape, strict=False)})
    listed = np.array(list(compositions(5, math.prod(shape))))
    release = cb.Release(domain, [cb.Total(5)])
    chosen = rng.choice(listed, rng.integers(1, 15), replace=False)
    few = [cb.Table(domain, one.reshape(shape)) for one in chosen]
    ways = [arrangements(one, policy) for one in few]
    found = crowds.breaking(crowds.crowds_of(cases_of(release, few[0], policy))(chosen))
    right = [any(True for _ in given_away(policy, release, few, ways, one)) for one in few]
    assert found.tolist() == right


@settings(max_examples=SOME, suppress_health_check=list(HealthCheck))
@given(requests(), st.sampled_from(sorted(POLICIES)), st.integers(0, 99))
def test_every_table_that_is_safe_hides_among_those_that_are(request, name, seed):
    for release, tables, weights in played(request, POLICIES[name], seed):
        assert not list(exposed(POLICIES[name], release, tables, weights)), release


@settings(max_examples=SOME, suppress_health_check=list(HealthCheck))
@given(requests(), st.sampled_from(TELLING), st.integers(0, 99))
def test_also_under_policies_that_tell_something(request, name, seed):
    for release, tables, weights in played(request, POLICIES[name], seed):
        assert not list(exposed(POLICIES[name], release, tables, weights)), release


def test_a_table_that_only_looks_safe_because_others_went_before_it():
    """Chances of random rounding: five of six tables go, and the sixth is known then."""
    domain = cb.Domain({"a": ["p"], "b": ["q", "r", "s"]})
    policy = cb.policies.Policy("sure", rules=[PosteriorChance(at_most=1, probability="0.7")])
    figures = [cb.Margin(["b"], [0, 4, 4], base=4, rounding="random")]
    figures += [cb.Margin(["a", "b"], [[0, 3, 6]], base=3, rounding="random"), cb.Total(7)]
    release = cb.Release(domain, figures)
    last = cb.Table(domain, [[2, 1, 4]])
    assert cb.judge(last, release, policy).safe
    verdict = cb.judge(last, release, policy, independent=True)
    assert verdict.outcome is cb.Outcome.UNSAFE
    assert "whoever reruns it learns more than the policy allows" in verdict.notes[-1]
    assert verdict.broken[0].evidence == "probability 1 (of 1 tables)"


@pytest.mark.parametrize(
    ("spent", "doubting", "hides"), [(False, None, False), (False, True, None), (True, None, None)]
)
def test_what_is_said_when_no_table_leads_to_a_release(monkeypatch, spent, doubting, hides):
    """That all were tried, unless it was stopped; and nothing for sure before who doubts it."""
    table = cb.Table(cb.Domain({"a": ["p", "q"]}), [1, 4])
    cases = cases_of(cb.publish(table, "[a]~5"), None, POLICIES["exact"])
    cases = [replace(one, doubting=doubting and one.known) for one in cases]
    monkeypatch.setattr(rerunning, "Fitting", lambda *_, **__: All([np.array([2, 3])]))
    budget = SimpleNamespace(spent=spent)
    answer = rerunning.hiding(cases, table.counts, lambda _: None, budget)
    assert answer.hides is hides
    assert answer.cut is spent
    assert ("which are all" in answer.sentence) is (hides is False)


class All(list):
    """Tables that fit."""

    complete = True


def test_that_the_game_notices_one_round_instead_of_all(monkeypatch):
    """Of 0, 1 and 2 the 2 goes, having nothing above it; then the 1, which one round leaves.

    What is said of the cells of the tables that are left would notice, too.
    """

    def once(made, tables, passed=()):
        left = ~crowds.breaking(made(tables)) if len(tables) else np.zeros(0, dtype=bool)
        return tables[left], list(itertools.compress(passed or [frozenset()] * len(tables), left))

    request, policy = ((3,), 5, ("[a]~3",), "nearest", "down"), POLICIES["above"]
    assert not any(list(exposed(policy, *one)) for one in played(request, policy))
    monkeypatch.setattr(rerunning, "closed", once)
    monkeypatch.setattr(rerunning, "_findings", lambda *_, **__: iter(()))
    assert any(list(exposed(policy, *one)) for one in played(request, policy))
