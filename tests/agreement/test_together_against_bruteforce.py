"""Largest safe sets against the slow, obvious way: judge every set over all consistent tables."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cellbounds import Domain, Margin, Release, Table, publish
from cellbounds.disclosure.policies import (
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    Policy,
    PosteriorChance,
    SmallCounts,
)
from cellbounds.disclosure.safe_sets import safe_margins
from cellbounds.disclosure.safe_sets.candidates import Candidates, spoken_candidates
from cellbounds.disclosure.safe_sets.margins import why_not_monotone
from cellbounds.disclosure.safe_sets.move_proofs import reached, safe_by_moves
from cellbounds.runtime.budget import UNLIMITED, Budget
from listing import listed
from strategies import examples
from test_verdicts_against_bruteforce import Judged, any_broken, policies

SHAPES = [((2, 2), 8), ((2, 3), 7), ((2, 2, 2), 6)]
"""Numbers of levels, and records at most."""

FEW_TABLES = 120
"""Consistent tables at most where each of them may be the true one."""


@dataclass(frozen=True)
class Targets:
    """A table, what is out already, candidates, and a policy."""

    table: Table
    given: tuple[str, ...]
    candidates: tuple[str, ...]
    policy: Policy
    independent: bool

    def release(self, chosen) -> Release:
        return publish(self.table, *self.given, *chosen, "N")

    def unsafe(self, chosen) -> bool:
        """Whether a set breaks the policy, by listing every table."""
        release = self.release(chosen)
        tables = listed(release, self.table.total)
        tables = tables[(tables[:, self.table.structural.ravel()] == 0).all(axis=1)]
        case = Judged(release, self.table, self.policy, (), tables)
        if not self.independent:
            return any_broken(case, self.table.counts.ravel())
        return any(any_broken(case, x) for x in tables)

    def closed(self, chosen) -> frozenset[str]:
        """The set with all exact margins that follow from its own."""
        said = publish(self.table, *self.given).statements if self.given else ()
        margins = [frozenset(s.variables) for s in said if isinstance(s, Margin) and s.exact]
        exact = [names_in(text) for text in chosen if text.endswith("]")]
        margins += [names for names in exact if names is not None]
        return (frozenset(chosen) | (frozenset(self.given) & set(self.candidates))) | {
            text
            for text in self.candidates
            if text.endswith("]")
            and names_in(text) is not None
            and any(names_in(text) <= names for names in margins)
        }

    def subsets(self):
        for size in range(len(self.candidates) + 1):
            yield from map(frozenset, itertools.combinations(self.candidates, size))


def names_in(text: str) -> frozenset[str] | None:
    """The variables of an exact margin; None for rates."""
    return None if "|" in text else frozenset(text[1:-1].split(","))


def statements_of(names):
    """Some statements in the notation."""
    margins = [
        f"[{','.join(some)}]"
        for size in range(1, len(names) + 1)
        for some in itertools.combinations(names, size)
    ]
    pairs = [(y, x) for y, x in itertools.permutations(names, 2)]
    rates = [f"[{y}|{x}]{digits}" for y, x in pairs for digits in ("", "@0", "@1", "@2")]
    return margins, [f"{one}{end}" for one in margins for end in ("~2", "~3", "<2", "<3")] + rates


@st.composite
def questions(draw, independent=False, margins_only=False, monotone=False):
    shape, most = draw(st.sampled_from(SHAPES))
    names = "abc"[: len(shape)]
    domain = Domain({n: range(k) for n, k in zip(names, shape, strict=True)})
    total = draw(st.integers(1, most))
    cells = draw(st.lists(st.integers(0, domain.size - 1), min_size=total, max_size=total))
    counts = np.bincount(cells, minlength=domain.size)
    structural = np.zeros(domain.size, dtype=bool)
    if draw(st.integers(0, 4)) == 0:
        structural = (counts == 0) & np.array([draw(st.booleans()) for _ in counts])
    table = Table(domain, counts.reshape(shape), structural=structural.reshape(shape))
    margins, others = statements_of(names)
    pool = margins if margins_only else margins + draw(st.sampled_from([[], others, others]))
    candidates = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4, unique=True))
    out = draw(st.lists(st.sampled_from(pool), max_size=1))
    policy = draw(policies(domain, True))
    if independent:
        assume(math.comb(total + domain.size - 1, total) <= FEW_TABLES)
    if monotone:
        assume(not any(isinstance(rule, PosteriorChance) for rule in policy.rules))
    return Targets(table, tuple(out), tuple(candidates), policy, independent)


def found_for(case: Targets, **options):
    out = publish(case.table, *case.given) if case.given else None
    return safe_margins(
        case.table,
        given=out,
        statements=case.candidates,
        policy=case.policy,
        independent=case.independent,
        **options,
    )


def check(case: Targets) -> None:
    unsafe = {one: case.unsafe(one) for one in case.subsets()}
    for chosen, broken in unsafe.items():
        # What follows from a set is no news: also for figures that are too small to be shown.
        assert unsafe[case.closed(chosen)] is broken
    closed = {one for one in unsafe if case.closed(one) == one}
    safe = [one for one in closed if not unsafe[one]]
    wrong = [one for one in closed if unsafe[one]]
    found = found_for(case)
    assert found.complete
    assert not found.undecided
    assert {case.closed(one) for one in found.maximal} == {
        one for one in safe if not any(one < other for other in safe)
    }
    assert {case.closed(one) for one in found.minimal_unsafe} == {
        one for one in wrong if not any(other < one for other in wrong)
    }
    assert len(found.safe) == len(found.maximal)
    assert len(found.unsafe) == len(found.minimal_unsafe)
    assert set(found.never) == {
        one for one in case.candidates if unsafe[case.closed(frozenset((one,)))]
    }
    assert found.judgements <= len(closed)


@given(questions())
@examples(30, 120)
def test_largest_safe_sets(case):
    check(case)


@given(questions(margins_only=True))
@examples(25, 100)
def test_largest_safe_sets_of_margins(case):
    check(case)


@given(questions(independent=True))
@examples(20, 60)
def test_largest_safe_sets_without_the_true_counts(case):
    check(case)


@given(st.booleans().flatmap(lambda independent: questions(independent=independent)))
@examples(20, 80)
def test_where_sets_are_skipped_more_is_never_better(case):
    made = Candidates.of(
        case.table.domain,
        case.release(()).statements,
        spoken_candidates(case.table, case.candidates),
    )
    assume(not why_not_monotone(case.policy, made, independent=case.independent))
    unsafe = {one: case.unsafe(one) for one in case.subsets()}
    for one, other in itertools.permutations(unsafe, 2):
        if one < other and unsafe[one]:
            assert unsafe[other]


@given(questions(monotone=True), st.sampled_from([1e-6, 1e-3, 1e-2]))
@examples(20, 60)
def test_a_spent_budget_never_lies(case, seconds):
    found = found_for(case, seconds=seconds)
    for one in found.safe:
        assert not case.unsafe(one.statements)
    for one in found.unsafe:
        assert case.unsafe(one.statements)
    unsafe = {one: case.unsafe(one) for one in case.subsets()}
    for one in found.maximal:
        here = case.closed(one)
        assert all(broken for other, broken in unsafe.items() if other > here)
    for one in found.minimal_unsafe:
        here = case.closed(one)
        assert not any(unsafe[o] for o in unsafe if case.closed(o) < here)


@given(questions(monotone=True))
@examples(25, 100)
def test_moves_reach_consistent_tables_and_prove_nothing_wrong(case):
    release = case.release(case.candidates)
    tables = listed(release, case.table.total)
    tables = tables[(tables[:, case.table.structural.ravel()] == 0).all(axis=1)]

    def look(least, most):
        for cell in range(case.table.domain.size):
            attained = set(tables[:, cell].tolist())
            assert set(range(least.flat[cell], most.flat[cell] + 1)) <= attained
        return least == most

    left = list(itertools.islice(reached(release, case.table, look, UNLIMITED), 3))
    assert left == sorted(left, reverse=True)
    if safe_by_moves(release, case.table, case.policy, Budget()):
        assert not case.unsafe(case.candidates)


# Where more can be better: one table for each reason.

PAIR = Domain({"a": [0, 1]})
SQUARE = Domain({"a": [0, 1], "b": [0, 1]})
TRIPLE = Domain({"a": [0, 1, 2]})

BETTER = {
    "posterior": Targets(
        Table(SQUARE, [[0, 0], [3, 3]]),
        (),
        ("[b]",),
        Policy("p", rules=[PosteriorChance(at_most=1, probability="1/2")]),
        False,
    ),
    "small counts, without the true ones": Targets(
        Table(PAIR, [5, 5]),
        ("[a]~5",),
        ("[a]<5",),
        Policy("p", rules=[SmallCounts(at_most=3, values=6)]),
        True,
    ),
    "respondents, without the true counts": Targets(
        Table(TRIPLE, [4, 0, 3]),
        ("[a]~5",),
        ("[a]~2",),
        Policy("p", rules=[ExactDisclosure(of="positive")], respondent=True, respondent_at_most=1),
        True,
    ),
    "rows published as empty": Targets(
        Table(SQUARE, [[0, 0], [0, 7]]),
        ("[a]",),
        ("[b|a]@0",),
        Policy("p", rules=[SmallCounts(at_most=3, values=2)]),
        False,
    ),
}


@pytest.mark.parametrize("name", BETTER)
def test_publishing_more_can_make_an_unsafe_release_safe(name):
    case = BETTER[name]
    assert case.unsafe(())
    assert not case.unsafe(case.candidates)
    found = found_for(case)
    assert found.maximal == (case.candidates,)
    assert found.minimal_unsafe == ((),)
    assert found.notes[0].startswith("every set was judged")


@pytest.mark.parametrize(
    ("rule", "independent"),
    [
        (SmallCounts(at_most=3, values=4), False),
        (SmallCounts(at_most=3, values=2), True),
        (ExactDisclosure(), True),
        (GroupDisclosure(not_in=True), True),
        (MinimumCount(at_least=3), True),
    ],
)
def test_rules_that_are_monotone(rule, independent):
    table = Table(SQUARE, [[1, 2], [3, 1]])
    made = Candidates.of(SQUARE, [], spoken_candidates(table, ["[a]"]))
    assert not why_not_monotone(Policy("p", rules=[rule]), made, independent=independent)
