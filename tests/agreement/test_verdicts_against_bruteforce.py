"""Verdicts against the slow, obvious way: list every table, ask each rule by its definition."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cellbounds import (
    Conditional,
    Domain,
    Grouping,
    Known,
    Margin,
    Release,
    Table,
    Total,
    ValueSet,
    publish,
)
from cellbounds.disclosure.policies import (
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    Outcome,
    Policy,
    PosteriorChance,
    SmallCounts,
    judge,
)
from cellbounds.disclosure.policies.attacker import Attacker
from cellbounds.disclosure.policies.judging import judged as decided
from cellbounds.disclosure.policies.knowledge import informed
from cellbounds.disclosure.policies.posterior_chance import PosteriorChances
from cellbounds.disclosure.policies.respondents import alike_cells, respondents
from cellbounds.disclosure.policies.rule import certainly_zero
from cellbounds.disclosure.policies.scenarios import case_of, cases_of
from cellbounds.runtime.budget import UNLIMITED, Budget
from concluding import believed
from listing import belongs, listed, sums
from mixtures import cases, is_partition, margin_of, priors, some_names, tables
from strategies import LARGEST, examples, releases

MOST_TABLES = 3000
FEW_TABLES = 120
"""Consistent tables at most: for one true table, and where each may be the true one."""


@dataclass(frozen=True)
class View:
    """Tables that fit all that somebody knows, and the counts in them that are judged."""

    whole: np.ndarray
    seen: np.ndarray

    def with_people_in(self, *cells: int) -> View:
        there = np.ones(len(self.seen), dtype=bool)
        for cell in cells:
            there &= self.seen[:, cell] >= cells.count(cell)
        return View(self.whole[there], self.seen[there])


@dataclass(frozen=True)
class Judged:
    """A release, a table, a policy, what an intruder knows, and every table that fits it all."""

    release: Release
    table: Table
    policy: Policy
    knows: tuple[Known, ...]
    tables: np.ndarray
    over: tuple[str, ...] | None = None
    doubted: np.ndarray | None = None
    """Every table, also those that an intruder does not believe in by what hiding shows."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.release.domain.names if self.over is None else self.over

    @property
    def domain(self) -> Domain:
        """The cells that are judged."""
        return self.release.domain.project(self.names)

    @property
    def view(self) -> View:
        return View(self.tables, sums(self.release, self.tables, self.names))

    def margin(self, x: np.ndarray) -> np.ndarray:
        return sums(self.release, x[None, :], self.names)[0]

    @property
    def structural(self) -> np.ndarray:
        """Cells whose parts are all structural zeros."""
        parts = belongs(self.release, self.names)
        return parts[~self.table.structural.ravel()].sum(axis=0) == 0

    @property
    def exempt(self) -> np.ndarray:
        """Structural zeros and rows that rates say are empty."""
        found = self.structural
        for statement in self.release.statements:
            if not isinstance(statement, Conditional) or statement.missing != "zero":
                continue
            bases = [self.base(name) for name in statement.given]
            if len(set(bases)) < len(bases) or not set(bases) <= set(self.names):
                continue
            for cell, labels in enumerate(self.domain.cells()):
                person = dict(zip(self.names, labels, strict=True))
                around = [self.around(name, person) for name in statement.given]
                for place in itertools.product(*around):
                    figures = np.array(statement.rates[place], dtype=object)
                    found[cell] |= all(figure is None for figure in figures.ravel())
        return found

    def base(self, name: str) -> str:
        """The variable among those judged that tells in which rows of another a cell is."""
        grouping = self.release.domain.grouping(name)
        return name if name in self.names or grouping is None else grouping[0]

    def around(self, name: str, person: dict) -> list[int]:
        """The levels of a variable, perhaps a derived one, that somebody belongs to."""
        domain = self.release.domain
        place = domain.levels(self.base(name)).index(person[self.base(name)])
        if name in self.names:
            return [place]
        return [k for k, group in enumerate(domain.grouping(name)[1]) if place in group]


# What each rule means, from its definition; `x` are the true counts of the cells judged.


def small_broken(rule, case, view, x, cell):
    if case.exempt[cell] or x[cell] > rule.small or (x[cell] == 0 and not rule.zeros):
        return False
    seen = view.seen[:, cell]
    width = int(seen.max() - seen.min())
    kept = []
    if rule.values is not None:
        kept.append(len(np.unique(seen)) >= rule.values)
    if rule.width is not None:
        kept.append(width >= rule.width)
    if rule.relative is not None:
        kept.append(Fraction(width, max(int(x[cell]), 1)) >= rule.relative)
    if rule.protect_above is not None:
        kept.append(bool((seen >= x[cell] + rule.protect_above).any()))
    if rule.protect_below is not None:
        kept.append(bool((seen <= max(x[cell] - rule.protect_below, 0)).any()))
    if rule.above_threshold:
        kept.append(bool((seen > rule.small).any()))
    return not (all(kept) if rule.need == "all" else any(kept))


def exact_broken(rule, case, view, x, cell):
    if case.exempt[cell]:
        return False
    seen = np.unique(view.seen[:, cell])
    return (
        len(seen) == 1
        and {
            "any": True,
            "zeros": seen[0] == 0,
            "positive": seen[0] > 0,
        }[rule.of]
    )


def posterior_broken(rule, case, view, x, cell):
    small = rule.small
    low = 1 if rule.positive else 0
    if case.exempt[cell] or not low <= x[cell] <= small:
        return False
    return small_chance(rule, view, cell, int(x[cell])) > rule.probability


def small_chance(rule, view, cell, truth=None):
    """The posterior probability that the cell holds a small count, or one near the true one."""
    low, high = 1 if rule.positive else 0, rule.small
    if rule.near is not None:
        low, high = truth - rule.near, truth + rule.near
    tables = view.whole
    if rule.prior == "uniform":
        weights = [1] * len(tables)
    else:
        most = math.factorial(int(tables.max()))
        inverse = [most // math.factorial(n) for n in range(int(tables.max()) + 1)]
        weights = [math.prod(inverse[n] for n in row) for row in tables.tolist()]
    column = view.seen[:, cell].tolist()
    part = sum(w for w, n in zip(weights, column, strict=True) if low <= n <= high)
    return Fraction(part, sum(weights))


def group_rows(rule, domain):
    free = [name for name in domain.names if name not in (rule.given or ())]
    for response in rule.responses or free:
        given = rule.given
        if given is None:
            given = tuple(name for name in domain.names if name != response)
        yield response, given


def group_broken(rule, case, view, response, labels, names):
    """Whether the row (labels of the given names) gives its members away."""
    domain = case.domain
    row = dict(zip(names, labels, strict=True))
    people = [dict(zip(domain.names, one, strict=True)) for one in domain.cells()]
    levels = []
    for level in domain.levels(response):
        inside = [
            cell
            for cell, person in enumerate(people)
            if person[response] == level and all(person[n] == row[n] for n in names)
        ]
        levels.append((view.seen[:, inside].sum(axis=1), case.structural[inside].all()))
    held = sum(level for level, _ in levels)
    if held.min() < 1:
        return False
    for place in range(len(levels)):
        others = levels[:place] + levels[place + 1 :]
        inside = levels[place][0] == held
        if inside.all() and not all(structural for _, structural in others):
            return True
    return rule.not_in and any(not structural and not level.any() for level, structural in levels)


CELL_RULES = {
    SmallCounts: small_broken,
    ExactDisclosure: exact_broken,
    PosteriorChance: posterior_broken,
}


def shown_broken(rule, case):
    """The figures that are too small, with their variables and labels."""
    domain = case.release.domain
    nobody = Table(domain, np.zeros(domain.shape, dtype=int), structural=case.table.structural)
    for statement in case.release.statements:
        if isinstance(statement, Total) and statement.lower == statement.upper:
            shown = [((), (), statement.lower)]
        elif isinstance(statement, Margin):
            margin = domain.project(statement.variables)
            known = nobody.margin(statement.variables).structural
            shown = [
                (statement.variables, labels, entry)
                for labels, entry, skip in zip(
                    margin.cells(), statement.entries.flat, known.flat, strict=True
                )
                if not skip
            ]
        else:
            continue
        for variables, labels, entry in shown:
            if isinstance(entry, str):
                entry = single_count(entry)
            if entry is not None:
                wrong = entry < rule.at_least and (entry > 0 or rule.zeros)
                yield variables, labels, wrong


def single_count(text):
    if text in ("<1", "<=0"):
        return 0
    ends = text.split("-")
    return int(ends[0]) if len(ends) == 2 and ends[0] == ends[1] else None


def broken_places(rule, case, view, x):
    """Every place that a rule speaks of by name, and whether it is broken there."""
    domain = case.domain
    if isinstance(rule, GroupDisclosure):
        for response, names in group_rows(rule, domain):
            rows = domain.project(names).cells() if names else [()]
            for labels in rows:
                yield (response, labels), group_broken(rule, case, view, response, labels, names)
        return
    for cell, labels in enumerate(domain.cells()):
        yield (None, labels), CELL_RULES[type(rule)](rule, case, view, x, cell)


def any_broken(case, x):
    """Whether the policy is broken if `x` (flat, the whole table) is true."""
    if case.over is not None and case.over != case.release.domain.names:
        return broken_over(case, x)
    rules = [rule for rule in case.policy.rules if isinstance(rule, SmallCounts | PosteriorChance)]
    shown = case.release.total.exact
    small = any(rule.smallest <= shown <= rule.small for rule in rules) if shown else False
    besides = [] if case.over is not None else margin_cases(case)
    return small or any(broken_over(one, x) for one in (case, *besides))


def margin_cases(case):
    """Every margin that is spoken of, and its margins, with the rules that make sense there."""
    domain = case.release.domain
    spoken = [
        one.variables for one in case.release.statements if not isinstance(one, Known | Total)
    ]
    exact = [
        set(one.variables)
        for one in case.release.statements
        if isinstance(one, Margin)
        and one.base is None
        and all(isinstance(entry, int) for entry in one.entries.flat)
        and set(one.variables) <= set(domain.names)
    ]
    bases = {}
    for name in itertools.chain(*spoken):
        bases.setdefault(domain.base(name), set()).add(name)
    union = [
        next(iter(bases[name])) if len(bases[name]) == 1 else name
        for name in domain.names
        if name in bases
    ]
    margins = {frozenset(union)} | {
        frozenset(some)
        for names in spoken
        for size in range(1, len(names) + 1)
        for some in itertools.combinations(names, size)
    }
    for margin in sorted(map(sorted, margins - {frozenset(), frozenset(domain.names)})):
        names = {domain.base(name): name for name in margin} | {name: name for name in margin}
        rules = []
        for rule in case.policy.rules:
            if isinstance(rule, GroupDisclosure):
                rule = group_rule_within(rule, domain, margin, names)
            shown = any(set(margin) <= one for one in exact)
            if rule is None or isinstance(rule, MinimumCount):
                continue
            if not (shown and isinstance(rule, ExactDisclosure)):
                rules.append(rule)
        if rules:
            policy = replace(case.policy, rules=tuple(rules))
            yield replace(case, over=tuple(margin), policy=policy)


def group_rule_within(rule, domain, margin, names):
    """The rule about rows of a margin; None if it has no such rows."""
    if not {*(rule.responses or ()), *(rule.given or ())} <= set(names):
        return None
    responses = rule.responses and tuple(names[name] for name in rule.responses)
    given = rule.given and tuple(names[name] for name in rule.given)
    free = [name for name in margin if name not in (given or ())]
    if not (responses or free) or not all(is_partition(domain, name) for name in free):
        return None
    return replace(rule, responses=responses, given=given)


def broken_over(case, x):
    """The same about the cells of one margin."""
    counts = case.margin(x)
    rules = [rule for rule in case.policy.rules if not isinstance(rule, MinimumCount)]
    shown = [rule for rule in case.policy.rules if isinstance(rule, MinimumCount)]
    if any(wrong for rule in shown for *_, wrong in shown_broken(rule, case)):
        return True
    views = [case.view]
    if case.policy.respondent:
        small = [cell for cell, count in enumerate(counts) if 1 <= count <= case.policy.small]
        views += [case.view.with_people_in(cell) for cell in small]
        if case.policy.against.respondents > 1:
            views += [case.view.with_people_in(*pair) for pair in pairs_of(case, counts, small)]
    return any(
        wrong
        for view in views
        for rule in rules
        for _, wrong in broken_places(rule, case, view, counts)
    )


def pairs_of(case, counts, small):
    """Two people in one small cell, or in two that differ in one variable."""
    labels = list(case.domain.cells())
    for first, second in itertools.combinations_with_replacement(small, 2):
        apart = sum(one != other for one, other in zip(labels[first], labels[second], strict=True))
        if apart == 1 or (first == second and counts[first] >= 2):
            yield first, second


# Random policies and cases.


@st.composite
def rules(draw, domain, kinds, exact_total):
    kind = draw(st.sampled_from(kinds))
    if kind is SmallCounts:
        asked = draw(
            st.sampled_from(
                [
                    {"values": 2},
                    {"values": 3},
                    {"values": 4},
                    {"width": 1},
                    {"width": 3},
                    {"relative": "1/2"},
                    {"relative": "3/2"},
                    {"values": 3, "width": 3},
                    {"values": 4, "relative": 1, "need": "any"},
                    {"protect_above": 1},
                    {"protect_above": 2, "protect_below": 1},
                    {"protect_below": 2},
                    {"protect_below": 1, "protect_above": 2, "need": "any"},
                    {"protect_below": 1, "relative": 1, "need": "any"},
                    {"above_threshold": True},
                    {"above_threshold": True, "values": 3},
                ]
            )
        )
        zeros = draw(st.booleans())
        most = draw(st.integers(0 if zeros else 1, 4))
        threshold = draw(st.sampled_from([{"at_most": most}, {"below": most + 1}]))
        return SmallCounts(**threshold, zeros=zeros, **asked)
    if kind is ExactDisclosure:
        return ExactDisclosure(of=draw(st.sampled_from(["any", "zeros", "positive"])))
    if kind is GroupDisclosure:
        names = draw(st.permutations(domain.names))
        responses = draw(st.sampled_from([None, names[:1]]))
        rest = names[1:]
        given = rest[: draw(st.integers(1, len(rest)))] if rest and draw(st.booleans()) else None
        return GroupDisclosure(responses=responses, given=given, not_in=draw(st.booleans()))
    if kind is MinimumCount:
        return MinimumCount(at_least=draw(st.integers(2, 5)), zeros=draw(st.booleans()))
    return PosteriorChance(
        at_most=draw(st.integers(1, 3)),
        probability=draw(st.sampled_from(["1/3", "1/2", "2/3", "3/4", "0.9"])),
        positive=draw(st.booleans()),
        near=draw(st.sampled_from([None, None, 0, 1, 2])),
        prior=draw(st.sampled_from(["uniform", "multinomial"] if exact_total else ["uniform"])),
    )


CELL_KINDS = [SmallCounts, SmallCounts, ExactDisclosure, MinimumCount, PosteriorChance]
KINDS = [SmallCounts, SmallCounts, ExactDisclosure, GroupDisclosure, MinimumCount, PosteriorChance]


@st.composite
def policies(draw, domain, exact_total, kinds=KINDS):
    chosen = []
    for _ in range(draw(st.integers(1, 3))):
        left = [kind for kind in kinds if not any(isinstance(one, kind) for one in chosen)]
        chosen.append(draw(rules(domain, left, exact_total)))
    respondent = draw(st.integers(0, 2)) == 0
    if all(isinstance(one, MinimumCount) for one in chosen):
        respondent = False
    most = draw(st.sampled_from([None, 1, 2])) if respondent else None
    intruder = draw(st.sampled_from([{}, {}, {"zeros": "never"}, {"marks": "never"}]))
    if respondent and draw(st.booleans()):
        intruder = intruder | {"respondents": 2}
    return Policy("random", "", "", chosen, "", respondent, most, intruder)


@st.composite
def judged(draw, most: int = MOST_TABLES, margins: bool = False):
    """A case; with `margins`, about a margin, derived variables among them."""
    if draw(st.booleans()):
        case = draw(cases())
        release, largest = case.release, case.largest
    else:
        release, largest = draw(releases()), LARGEST
    tables = listed(release, largest)
    assume(0 < len(tables) <= most)
    domain = release.domain
    x = tables[draw(st.integers(0, len(tables) - 1))]
    structural = np.zeros(domain.size, dtype=bool)
    if draw(st.integers(0, 3)) == 0:
        structural = (x == 0) & np.array([draw(st.booleans()) for _ in x])
    table = Table(domain, x.reshape(domain.shape), structural=structural.reshape(domain.shape))
    knows = ()
    if draw(st.integers(0, 3)) == 0:
        knows = (draw(priors(domain, table.counts, False)),)
    informed = Release(domain, [*release.statements, *knows])
    tables = listed(informed, largest)
    tables = tables[(tables[:, structural] == 0).all(axis=1)]
    exact_total = release.total.exact is not None
    over, kinds = None, KINDS
    if margins:
        over = draw(some_names(domain))
        if not all(is_partition(domain, name) for name in over):
            kinds = CELL_KINDS  # rows need levels that share everybody out
    policy = draw(policies(domain.project(over or domain.names), exact_total, kinds))
    case = Judged(release, table, policy, knows, tables, over, tables)
    if draw(st.integers(0, 3)) == 0:
        case = better_informed(case, x, draw(st.integers(0, 2)), draw(st.integers(0, 2)))
    return replace(case, tables=believed_in(case, x))


def better_informed(case, truth, fewer, more):
    """The same against somebody who knows N nearly, and that zeros are shown if that is so."""
    least, most = max(0, int(truth.sum()) - fewer), int(truth.sum()) + more
    sizes = case.doubted.sum(axis=1)
    known = case.doubted[(sizes >= least) & (sizes <= most)]
    case = replace(case, policy=case.policy.facing(total=f"{least}-{most}"), doubted=known)
    closed = declared(case).table.structural
    always = {"zeros": "always", "marks": "never"}
    if not len(believed(case.release, truth[None, :], closed, truth=None, **always)):
        return case
    left = believed(case.release, case.doubted, closed, truth=None, **always)
    return replace(case, policy=case.policy.facing(zeros="always"), doubted=left)


def believed_in(case, truth):
    """The tables that the intruder believes in, for all he concludes from what is hidden."""
    closed = declared(case).table.structural
    how = {"zeros": case.policy.against.zeros, "marks": case.policy.against.marks}
    return believed(case.release, case.doubted, closed, truth=truth, **how)


def overall(broken: bool) -> Outcome:
    return Outcome.UNSAFE if broken else Outcome.SAFE


@given(judged())
@examples(40, 12_000)
def test_verdicts_and_findings(case):
    check_findings(case)


@given(judged(margins=True))
@examples(40, 12_000)
def test_verdicts_and_findings_about_margins(case):
    check_findings(case)


def check_findings(case):
    found = judge(case.table, case.release, case.policy, over=case.over, knows=case.knows)
    x = case.table.counts.ravel()
    assert found.over == case.names
    assert found.outcome is overall(any_broken(case, x))
    for rule in case.policy.rules:
        mine = {}
        for one in found.cells:
            here = one.variables == case.names or isinstance(rule, GroupDisclosure)
            if one.rule == rule.name and one.respondent is None and here:
                mine.setdefault((one.response, one.labels), one.outcome)  # the cells come first
        if isinstance(rule, MinimumCount):
            shown = [
                (one.variables, one.labels, one.outcome)
                for one in found.cells
                if one.rule == rule.name
            ]
            expected = [
                (v, labels, overall(wrong)) for v, labels, wrong in shown_broken(rule, case)
            ]
            assert sorted(shown, key=repr) == sorted(expected, key=repr)
            continue
        for place, wrong in broken_places(rule, case, case.view, case.margin(x)):
            assert mine.get(place, Outcome.SAFE) is overall(wrong), (rule, place)


@given(judged())
@examples(40, 12_000)
def test_working_out_no_more_than_the_outcome_needs(case):
    """As searches do: margins that tables settle are not looked at one by one."""
    cases = cases_of(case.release, case.table, case.policy, over=case.over, knows=case.knows)
    found, _ = decided(cases, UNLIMITED, decisive=True)
    assert found.outcome is overall(any_broken(case, case.table.counts.ravel()))


@given(judged(FEW_TABLES))
@examples(40, 12_000)
def test_without_the_true_counts_every_consistent_table_must_pass(case):
    check_independent(case)


@given(judged(FEW_TABLES, margins=True))
@examples(40, 12_000)
def test_without_the_true_counts_every_margin_must_pass(case):
    check_independent(case)


def declared(case):
    """The case with the zeros that its release states of every cell, which everybody knows."""
    domain, closed = case.release.domain, case.table.structural.copy()
    for statement in case.release.statements:
        if isinstance(statement, Known) and set(statement.variables) == set(domain.names):
            upper = statement.known(domain).upper
            for index, labels in zip(np.ndindex(domain.shape), domain.cells(), strict=True):
                at = dict(zip(domain.names, labels, strict=True))
                place = domain.project(statement.variables).index(
                    tuple(at[name] for name in statement.variables)
                )
                closed[index] |= upper[place] == 0
    table = Table(domain, np.zeros(domain.shape, dtype=int), structural=closed)
    return replace(case, table=table)


def unseen(table, release, policy, *, effort=UNLIMITED, **how):
    """The verdict without the true counts, which `judge` gives if that one passes tells nothing."""
    return decided(cases_of(release, table, policy, independent=True, **how), effort)[0]


def check_independent(case):
    how = {"over": case.over, "knows": case.knows, "independent": True}
    found = unseen(case.table, case.release, case.policy, over=case.over, knows=case.knows)
    strong = judge(case.table, case.release, case.policy, **how)
    assert strong.safe or not found.safe
    assert case.policy.tells() or strong.outcome is found.outcome
    shortly = cases_of(case.release, case.table, case.policy, **how)
    expected = overall(independently_broken(case))
    assert found.outcome is expected
    assert all(one.count is None for one in found.cells)
    assert decided(shortly, UNLIMITED, decisive=True)[0].outcome is expected


def independently_broken(case):
    """Whether some table fails, for an intruder who concludes from hiding or one who does not."""
    broken = False
    for seen in (case.doubted, believed_in(case, None)):
        case = replace(declared(case), tables=seen)
        broken |= any(any_broken(case, x) for x in seen)
    return broken


PARTS = Domain(
    {"a": ["a0", "a1", "a2"], "b": ["b0", "b1"]},
    groupings={
        "g": Grouping("a", {"low": ["a0", "a1"], "high": ["a2"]}),
        "h": Grouping("a", {"one": ["a0"], "rest": ["a1", "a2"]}),
        "some": Grouping("a", {"a0": ["a0"], "not a2": ["a0", "a1"]}),
    },
)
FEW_RECORDS = 4
MARGINS = [("a",), ("g",), ("g", "b"), ("b", "a"), ("g", "h"), ("a", "g"), ("some",), ("b", "some")]


@st.composite
def spoken_margins(draw, over, total):
    """Statements about a margin, and a table that they are true of."""
    counts = draw(tables(PARTS, FEW_RECORDS))
    said = draw(st.sampled_from([(), over[:1], over[1:], over]))
    statements = [Total(counts.sum()) if total == "exact" else Total(upper=FEW_RECORDS)]
    if said:
        margin = margin_of(PARTS, counts, said)
        loose = [f"<{n + 2}" if draw(st.booleans()) else int(n) for n in margin.flat]
        entries = np.array(loose, dtype=object).reshape(margin.shape)
        statements.append(Margin(said, entries.tolist()))
    return Release(PARTS, statements)


@pytest.mark.parametrize("over", MARGINS)
@pytest.mark.parametrize(
    ("prior", "total"), [("uniform", "exact"), ("multinomial", "exact"), ("uniform", "open")]
)
@given(st.data())
@settings(max_examples=5)
def test_probabilities_of_margins(over, prior, total, data):
    release = data.draw(spoken_margins(over, total))
    whole = listed(release, FEW_RECORDS)
    view = View(whole, sums(release, whole, over))
    rule = PosteriorChance(
        at_most=data.draw(st.integers(1, 3)),
        positive=data.draw(st.booleans()),
        probability="1/2",
        prior=prior,
    )
    chances = PosteriorChances(release, over, rule, Budget())
    for cell in range(view.seen.shape[1]):
        true, found = small_chance(rule, view, cell), chances.of(cell)
        assert found.low <= true <= found.high
        assert found.high - found.low < Fraction(1, 10**9)


@given(judged(), st.data())
@examples(40, 12_000)
def test_verdicts_without_the_counts_are_the_same_for_every_table(case, data):
    other = case.doubted[data.draw(st.integers(0, len(case.doubted) - 1))]
    shape = case.release.domain.shape
    another = Table(case.release.domain, other.reshape(shape), structural=case.table.structural)
    said = [
        unseen(table, case.release, case.policy, knows=case.knows).to_dict()
        for table in (case.table, another)
    ]
    for one in said:
        one.pop("seconds")
    assert said[0] == said[1]


@given(judged(FEW_TABLES) | judged(FEW_TABLES, margins=True))
@examples(40, 12_000)
def test_outsiders_call_unsafe_what_every_table_gives_away(case):
    assume(not case.table.structural.any())  # which nobody told them
    found = judge(None, case.release, case.policy, over=case.over, knows=case.knows)
    case = declared(case)
    seen = [case.doubted, believed_in(case, None)]
    views = [replace(case, tables=tables) for tables in seen if len(tables)]
    broken = [[any_broken(view, x) for x in view.tables] for view in views]
    if found.outcome is Outcome.UNSAFE:
        assert any(all(answers) for answers in broken)
    assert (found.outcome is Outcome.SAFE) == (not any(map(any, broken)))
    assert all(one.count is None for one in found.cells)


@given(judged(), st.data())
@examples(40, 12_000)
def test_verdicts_without_the_counts_need_no_table(case, data):
    """Nor does it matter who declares what the release says: that nobody is in some cells."""
    domain, counts = case.release.domain, case.table.counts
    closed = case.table.structural.copy()
    for index in np.argwhere(counts == 0).tolist():
        closed[tuple(index)] |= data.draw(st.booleans())
    blocked = np.full(domain.shape, None, dtype=object)
    blocked[closed] = 0
    zeros = Known(domain.names, lower=0, upper=blocked.tolist())
    release = Release(domain, [*case.release.statements, zeros])
    given = [None, Table(domain, counts), Table(domain, counts, structural=closed)]
    said = [unseen(table, release, case.policy, knows=case.knows).to_dict() for table in given]
    for one in said:
        one.pop("seconds")
    assert said[0] == said[1] == said[2]


@given(
    judged(FEW_TABLES) | judged(FEW_TABLES, margins=True),
    st.sampled_from([1e-9, 1e-4, 1e-3, 5e-3]),
    st.booleans(),
)
@examples(30, 150)
def test_a_spent_budget_never_lies(case, seconds, independent):
    found = judge(
        case.table,
        case.release,
        case.policy,
        over=case.over,
        knows=case.knows,
        seconds=seconds,
        independent=independent,
    )
    if found.outcome is Outcome.UNDECIDED:
        return
    if independent and not case.policy.tells():
        assert found.outcome is overall(independently_broken(case))
    elif not independent or found.safe:
        # What holds against whoever reruns it holds against who does not.
        assert found.outcome is overall(any_broken(case, case.table.counts.ravel()))


# Decisions from sets that are known in part, against every set that they may be.


@st.composite
def partly_known(draw):
    top = draw(st.integers(0, 5))
    kinds = [draw(st.sampled_from(["in", "out", "open"])) for _ in range(top + 1)]
    known = {n for n, kind in enumerate(kinds) if kind == "in"}
    maybe = {n for n, kind in enumerate(kinds) if kind == "open"}
    assume(known or maybe)
    values = ValueSet([(n, n, 1) for n in known], unknown=[(n, n, 1) for n in maybe])
    whole = []
    for pick in range(2 ** len(maybe)):
        chosen = known | {n for k, n in enumerate(sorted(maybe)) if pick >> k & 1}
        if chosen:
            whole.append(chosen)
    return values, whole


def agree(decision, answers):
    """Decided only if every set that it may be says so; and then always decided."""
    said = set(answers)
    assert decision is (said.pop() if len(said) == 1 else None)


@given(partly_known(), st.sampled_from(["any", "zeros", "positive"]))
def test_exact_disclosure_of_sets_known_in_part(found, of):
    values, whole = found
    agree(
        ExactDisclosure(of=of).broken(values, values),
        (
            len(one) == 1 and {"any": True, "zeros": one == {0}, "positive": one != {0}}[of]
            for one in whole
        ),
    )
    agree(certainly_zero(values), (one == {0} for one in whole))


@given(partly_known(), st.data())
def test_small_counts_of_sets_known_in_part(found, data):
    values, whole = found
    domain = Release.__new__(Release)  # the rule needs no domain
    rule = data.draw(rules(domain, [SmallCounts], False))

    def kept(one, count):
        width = max(one) - min(one)
        asked = []
        if rule.values is not None:
            asked.append(len(one) >= rule.values)
        if rule.width is not None:
            asked.append(width >= rule.width)
        if rule.relative is not None:
            asked.append(Fraction(width, max(count, 1)) >= rule.relative)
        if rule.protect_above is not None:
            asked.append(max(one) - count >= rule.protect_above)
        if rule.protect_below is not None:
            asked.append(min(one) == 0 or count - min(one) >= rule.protect_below)
        if rule.above_threshold:
            asked.append(max(one) > rule.small)
        return all(asked) if rule.need == "all" else any(asked)

    def broken(one, truths):
        return any(rule.smallest <= n <= rule.small and not kept(one, n) for n in truths)

    count = data.draw(st.integers(0, 5))
    decision = rule.broken(values, ValueSet.from_values([count]))
    answers = {broken(one, {count}) for one in whole}
    assert decision is None or answers == {decision}
    decision = rule.broken(values, values)
    assert decision is None or {broken(one, one) for one in whole} == {decision}
    if values.settled:
        assert decision is not None


# Cells that are alike, by swapping them in every table.


@given(judged(FEW_TABLES) | judged(FEW_TABLES, margins=True))
@examples(30, 120)
def test_alike_cells_can_be_swapped_in_every_table(case):
    known = informed(case.release, case.table, case.knows, case.policy.against).release
    kinds = alike_cells(known, case.names).ravel()
    seen = {tuple(one) for one in case.view.seen.tolist()}
    for one in range(len(kinds)):
        for other in range(one):
            if kinds[one] == kinds[other]:
                swap = np.arange(len(kinds))
                swap[[one, other]] = other, one
                assert {tuple(np.array(x)[swap].tolist()) for x in seen} == seen


@st.composite
def with_alike_cells(draw):
    """Rates or margins that leave variables out, judged with respondents."""
    shape, largest = draw(st.sampled_from([((2, 2, 2), 7), ((2, 2, 3), 6), ((2, 3), 9)]))
    names = "abc"[: len(shape)]
    domain = Domain({n: [f"{n}{k}" for k in range(s)] for n, s in zip(names, shape, strict=True)})
    counts = draw(tables(domain, largest))
    assume(counts.sum() > 0)
    said = draw(st.sampled_from(["[a]", "[b]", "[b|a]", "[b|a]@1", "[a,b]", "[a]~3", "N"]))
    release = publish(Table(domain, counts), said)
    found = listed(release, largest)
    assume(len(found) <= FEW_TABLES)
    small = draw(rules(domain, [SmallCounts, ExactDisclosure], True))
    others = [draw(rules(domain, [GroupDisclosure, PosteriorChance], True))]
    kept = [small, *(others if draw(st.booleans()) else [])]
    policy = Policy("random", rules=kept, respondent=True)
    return Judged(release, Table(domain, counts), policy, (), found)


@given(with_alike_cells(), st.booleans())
@examples(30, 100)
def test_respondents_in_alike_cells(case, independent):
    candidates = case.tables if independent else [case.table.counts.ravel()]
    ask = unseen if independent else judge
    found = ask(case.table, case.release, case.policy)
    meant = declared(case) if independent else case
    assert found.outcome is overall(any(any_broken(meant, x) for x in candidates))

    def each_by_itself(release, over):
        shape = release.domain.project(over).shape
        return np.arange(math.prod(shape)).reshape(shape)

    asked = ask(case.table, case.release, case.policy, over=case.names)
    quick = [one.to_dict() for one in asked.cells if one.respondent is not None]
    judged = case_of(case.release, case.table, case.policy, independent=independent)
    outsider = Attacker(judged, judged.known, Budget(), sets_first=case.policy.many_values)
    slow = respondents(outsider, case.policy, Budget(), {}, alike=each_by_itself)
    assert not quick or quick == [one.to_dict() for one in slow]
