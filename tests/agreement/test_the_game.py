"""The game: an intruder who knows everything but the counts reruns what the owner did.

He lists all tables, publishes each, and lets the same steps decide. Those that lead to the same
release are the tables that are left. Whatever was SAFE must leave every protected count as
uncertain among them as the policy asks. Nothing here uses the library's crowds: what a policy asks
is written down a second time.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions, holds, summed
from cellbounds.disclosure.exploring import explore
from cellbounds.disclosure.policies import SmallCounts
from cellbounds.disclosure.policies.rerunning import Choice, Offer
from cellbounds.disclosure.policies.scenarios import cases_of
from cellbounds.disclosure.suggesting import suggest
from cellbounds.ledger import Ledger
from cellbounds.ledger.judgement import answered
from cellbounds.runtime.budget import UNLIMITED

POLICIES = {
    "two values": SmallCounts(at_most=3, zeros=False, values=2),
    "three values": SmallCounts(at_most=2, zeros=False, values=3),
    "zeros too": SmallCounts(at_most=2, zeros=True, values=3),
    "width": SmallCounts(at_most=3, zeros=False, width=2),
    "above": SmallCounts(at_most=2, zeros=False, protect_above=1),
    "around": SmallCounts(at_most=3, zeros=False, protect_above=1, protect_below=1),
    "not small": SmallCounts(at_most=2, zeros=False, above_threshold=True),
    "above 3": SmallCounts(at_most=3, zeros=False, protect_above=1),
}

RATES = ["nearest", "half-even", "down", "up", "consistent"]

STATEMENTS = [
    "[a]",
    "[a]~2",
    "[a]<3~2",
    "[a]~3",
    "[a,b]~2",
    "[a,b]~3",
    "[a,b]<2",
    "[a,b]<3",
    "[b]<3",
]
STATEMENTS += ["[b|a]@1", "[b|a]@0", "[a|b]@1", "[a,b|]@1", "[b|]@1"]

SOME = settings().max_examples // 16
"""Games in which whole searches are rerun are long."""

SHAPES = st.sampled_from([(2, 2), (2, 2), (1, 3), (2, 3)])


@st.composite
def tables(draw, most=9):
    shape = draw(SHAPES)
    counts = draw(
        st.lists(st.integers(0, 6), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    )
    while sum(counts) > most:
        counts[counts.index(max(counts))] -= 1
    domain = cb.Domain({"a": list("xy")[: shape[0]], "b": list("pqr")[: shape[1]]})
    return cb.Table(domain, np.array(counts).reshape(shape))


@st.composite
def requests(draw):
    texts = draw(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=2, unique=True))
    rounding = draw(st.sampled_from(RATES))
    if rounding == "consistent" and not any("@" in one for one in texts):
        rounding = "nearest"
    return texts, rounding


def like(table):
    """All tables of as many people over the same cells."""
    size, shape = table.counts.size, table.counts.shape
    for flat in compositions(int(table.counts.sum()), size):
        yield cb.Table(table.domain, np.array(flat).reshape(shape))


def published(table, request):
    texts, rounding = request
    return cb.publish(table, *texts, rounding=rounding)


def enough(rule, values, count):
    """Whether a true count keeps what the rule asks, written out."""
    if not (0 if rule.zeros else 1) <= count <= rule.at_most:
        return True
    return all(
        [
            rule.values is None or len(values) >= rule.values,
            rule.width is None or max(values) - min(values) >= rule.width,
            rule.protect_above is None or max(values) >= count + rule.protect_above,
            rule.protect_below is None or min(values) <= max(count - rule.protect_below, 0),
            not rule.above_threshold or max(values) > rule.at_most,
        ]
    )


def exposed(rule, release, table, left):
    """The protected counts that the tables that are left do not hide: cells, and shown margins."""
    names = table.domain.names
    spoken = {frozenset(one.variables) for one in release.statements if one.variables}
    margins = [
        some
        for size in range(1, len(names) + 1)
        for some in itertools.combinations(names, size)
        if size == len(names) or any(set(some) <= one for one in spoken)
    ]
    empty = [np.argwhere(table.margin([name]).counts == 0).ravel().tolist() for name in names]
    for over in margins:
        counts = [summed(release, one.counts, over) for one in left]
        for index in np.ndindex(counts[0].shape):
            rows = [
                level in empty[names.index(name)] for name, level in zip(over, index, strict=True)
            ]
            if any(rows) and any(one.responses for one in release.statements):
                continue  # rows that rates say to be empty are exempt
            values = {int(one[index]) for one in counts}
            true = int(summed(release, table.counts, over)[index])
            if not enough(rule, values, true):
                yield over, index, true, values


def lost(rule, table, release, leads):
    """What is lost to an intruder who keeps the tables for which `leads` says so."""
    left = [other for other in like(table) if leads(other)]
    assert any(np.array_equal(other.counts, table.counts) for other in left)
    return list(exposed(rule, release, table, left))


def policy_of(name):
    return cb.policies.Policy(name, rules=[POLICIES[name]])


@settings(suppress_health_check=list(HealthCheck))
@given(tables(), requests(), st.sampled_from(sorted(POLICIES)))
def test_a_release_that_was_judged(table, request, name):
    policy, release = policy_of(name), published(table, request)
    judge = {}

    def safe(other, theirs):
        key = other.counts.tobytes()
        if key not in judge:
            judge[key] = cb.judge(other, theirs, policy, independent=True).safe
        return judge[key]

    def leads(other):
        theirs = published(other, request)
        return theirs.digest == release.digest and safe(other, theirs)

    if safe(table, release):
        assert not lost(POLICIES[name], table, release, leads)


@settings(max_examples=settings().max_examples // 4, suppress_health_check=list(HealthCheck))
@given(tables(), requests(), requests(), st.sampled_from(sorted(POLICIES)))
def test_releases_that_were_committed_one_after_another(tmp_path_factory, table, one, two, name):
    policy = policy_of(name)
    file = tmp_path_factory.mktemp("game") / "game.ledger"
    ledger = Ledger.create(file, table, policy, who="owner")
    assert ledger.state().independent
    first, second = published(table, one), published(table, two)
    opened = ledger.state()
    if not answered(opened, first, 1, table, UNLIMITED).safe:
        return
    ledger.commit(first, table=table, who="owner", why="first")
    later = ledger.state()

    def leads(other, *, both=True):
        theirs = published(other, one), published(other, two)
        if theirs[0].digest != first.digest or (both and theirs[1].digest != second.digest):
            return False
        if not answered(opened, theirs[0], 1, other, UNLIMITED).safe:
            return False
        return not both or answered(later, theirs[1], 1, other, UNLIMITED).safe

    assert not lost(POLICIES[name], table, first, lambda other: leads(other, both=False))
    if answered(later, second, 1, table, UNLIMITED).safe:
        assert not lost(POLICIES[name], table, ledger.together(), leads)


def explored(table, policy):
    return explore(table, response="b", digits=[0, 1], policy=policy)


@settings(max_examples=SOME, suppress_health_check=list(HealthCheck))
@given(tables(most=6), st.sampled_from(sorted(POLICIES)))
def test_the_best_design(table, name):
    if table.counts.size > 4:
        return
    policy, lists = policy_of(name), {}

    def best(other):
        key = other.counts.tobytes()
        if key not in lists:
            found = explored(other, policy)
            sure = found.best is not None and found.signal.startswith("holds")
            lists[key] = found.best.release.digest if sure else None
        return lists[key]

    chosen = best(table)
    if chosen is not None:
        release = explored(table, policy).best_release()
        rule = POLICIES[name]
        assert not lost(rule, table, release, lambda other: best(other) == chosen)


def suggested(table, text, policy):
    """The releases that are suggested, in order, as digests."""
    asked = cb.publish(table, text)
    found = suggest(table, asked, policy, changes=1, most=3)
    return found, [one.release.digest for one in found]


@settings(max_examples=SOME, suppress_health_check=list(HealthCheck))
@given(
    tables(most=6),
    st.sampled_from(["[b|a]@1", "[a,b]", "[a,b]~2", "[a,b]<2", "[a]"]),
    st.sampled_from(sorted(POLICIES)),
)
def test_what_is_suggested(table, text, name):
    if table.counts.size > 4:
        return
    policy, lists = policy_of(name), {}

    def listed(other):
        key = other.counts.tobytes()
        if key not in lists:
            lists[key] = suggested(other, text, policy)
        return lists[key][1]

    rule = POLICIES[name]
    for place, digest in enumerate(listed(table)):
        release = lists[table.counts.tobytes()][0][place].release
        if release.total.exact is None:
            continue  # tables of any size are left
        assert not lost(rule, table, release, lambda other, sought=digest: sought in listed(other))
        if place == 0:
            assert not lost(
                rule, table, release, lambda other, sought=digest: listed(other)[:1] == [sought]
            )


LINE = cb.Domain({"a": ["x", "y"]})

LISTED = {0: (0, 2), 2: (0,), 3: (0, 2), 4: (1, 2), 5: (0, 1, 2), 6: (0, 2), 7: (0,), 9: (0, 2)}
"""By its first count, what is safe of [a]~3, [a]<3 and [a]~5 for nine people: made up."""


def shown_of(lists, texts, people, policy):
    """What is shown of made-up lists of what is safe, as suggestions do it; and the releases."""
    tables = {first: cb.Table(LINE, [first, people - first]) for first in range(people + 1)}
    releases = {first: [cb.publish(one, text) for text in texts] for first, one in tables.items()}

    def offers(table, until, passed):
        first, found = int(table.counts[0]), []
        for key in lists.get(first, ()):
            if key <= until.rank:
                found.append(Offer(key, key, releases[first][key]))
            if key < until.rank and key not in passed:
                break
        return found, 1

    def cases(table, release):
        return cases_of(release, table, policy, independent=True)

    choice, shown = Choice(offers, cases, UNLIMITED), {first: [] for first in tables}
    for first, table in tables.items():
        listed = [Offer(key, key, releases[first][key]) for key in lists.get(first, ())]
        for place, offer in enumerate(listed):
            asked_of = choice.further if shown[first] else choice.hiding
            answer = asked_of(table, listed, place)
            if answer.hides and (shown[first] or choice.first(table, listed, place)):
                shown[first].append(offer.key)
    return tables, releases, shown


def told_by_taking(lists, texts, people, name):
    """Tables that are given away by which of what is shown somebody takes, whatever he likes.

    The first that is shown is taken by whoever likes it. Who takes a later one passes over all
    that is safe before it, shown or not.
    """
    tables, releases, shown = shown_of(lists, texts, people, policy_of(name))
    for size in range(1, len(texts) + 1):
        for liked in map(set, itertools.combinations(range(len(texts)), size)):
            taken = {one: next((k for k in shown[one] if k in liked), None) for one in tables}
            for first, key in taken.items():
                if key is None:
                    continue
                earlier = itertools.takewhile(lambda one, key=key: one != key, lists[first])
                if key != shown[first][0] and liked & set(earlier):
                    continue
                release = releases[first][key]
                left = [
                    table
                    for one, table in tables.items()
                    if taken[one] == key and releases[one][key].digest == release.digest
                ]
                if list(exposed(POLICIES[name], release, tables[first], left)):
                    yield first, liked, key


def test_a_table_to_which_it_is_not_shown_hides_nobody():
    """3 and 6 of nine were alike in [a]~5, but to the 3 nothing is shown."""
    texts = ["[a]~3", "[a]<3", "[a]~5"]
    lists = {first: list(keys) for first, keys in LISTED.items()}
    assert shown_of(lists, texts, 9, policy_of("above 3"))[2][3] == []
    assert not list(told_by_taking(lists, texts, 9, "above 3"))


@settings(max_examples=settings().max_examples // 4, suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(4, 8), st.sampled_from(sorted(POLICIES)))
def test_whatever_is_taken_of_a_list(data, people, name):
    some = st.sampled_from(["[a]~2", "[a]~3", "[a]~4", "[a]~5", "[a]<3", "[a]<4"])
    texts = data.draw(st.lists(some, min_size=2, max_size=3, unique=True))
    lists = {}
    for first in range(people + 1):
        table = cb.Table(LINE, [first, people - first])
        releases = [cb.publish(table, text) for text in texts]
        safe = [k for k, one in enumerate(releases) if cb.judge(table, one, policy_of(name)).safe]
        lists[first] = [key for key in safe if data.draw(st.integers(0, 3))]
    assert not list(told_by_taking(lists, texts, people, name))


GAMES = [
    ([[1, 1, 3, 2]], "two values", "suppress"),
    pytest.param([[2, 0, 3], [1, 4, 2]], "two values", "suppress", marks=pytest.mark.long),
    pytest.param([[1, 2], [0, 4]], "above", "suppress", marks=pytest.mark.long),
    ([[1, 2, 5]], "two values", "intervals"),
    pytest.param([[1, 2], [3, 5]], "two values", "intervals", marks=pytest.mark.long),
    ([[1, 2], [3, 2]], "two values", "round"),
    ([[1, 4], [3, 2]], "two values", "recode"),
]


@pytest.mark.parametrize(("counts", "name", "method"), GAMES)
def test_what_is_protected(counts, name, method):
    """Nothing is lost to whoever protects every table, and keeps those that end up alike."""
    shape = np.shape(counts)
    domain = cb.Domain({"a": list("xy")[: shape[0]], "b": list("pqrs")[: shape[1]]})
    table, policy, found = cb.Table(domain, counts), policy_of(name), {}
    options = {"base": 3} if method == "round" else {}

    def published_of(other):
        key = other.counts.tobytes()
        if key not in found:
            try:
                done = cb.protect(other, "[a+,b+]", policy=policy, method=method, **options)
            except cb.UnsupportedRelease:
                found[key] = None
            else:
                found[key] = done.release.digest if done.verdict.independent else None
        return found[key]

    done = cb.protect(table, "[a+,b+]", policy=policy, method=method, **options)
    assert done.verdict.safe
    assert done.verdict.independent
    release = done.release

    def leads(other):
        fits = all(holds(said, release, other.counts) for said in release.statements)
        return fits and published_of(other) == release.digest

    assert not lost(POLICIES[name], table, release, leads)


def test_the_first_suggestion_of_the_readme_can_no_longer_be_inverted():
    """Of the 15 tables that fit "suppress 3 of 16", those that led a search there agree on rows."""
    table = cb.datasets.read("delinquent")
    asked = cb.publish(table, "[education|county]@3")
    old = suggest(table, asked, independent=False, most=1)[0]
    assert old.changes[-1].kind == "suppress"
    fitting = list(cb.tables(old.release))
    led = []
    for other in fitting:
        again = suggest(other, cb.publish(other, "[education|county]@3"), independent=False)
        led += [other for one in again if one.release.digest == old.release.digest]
    assert len(fitting) == 15
    assert len(led) == 3
    assert any(np.array_equal(one.counts, table.counts) for one in led)
    # The 3 and the 2 of Gamma and the 2 of Delta are small, and the same in all of them.
    assert {tuple(map(tuple, one.counts[2:].tolist())) for one in led} == {
        ((3, 10, 10, 2), (12, 14, 7, 2))
    }
    shown = suggest(table, asked, changes=1, most=2)
    assert shown and all(one.release.digest != old.release.digest for one in shown)
    assert all(one.verdict.independent and one.verdict.safe for one in shown)


def test_an_eight_that_could_have_been_a_seven():
    """Under opensafely a 7 would be refused, so the figure 8 is an 8, which nobody protects."""
    domain = cb.Domain({"a": ["x", "y"]})
    eight, seven = cb.Table(domain, [8, 30]), cb.Table(domain, [7, 30])
    release = cb.publish(eight, "[a]~2", total=False)
    assert cb.publish(seven, "[a]~2", total=False).digest == release.digest
    assert list(cb.attainable(release)["x"]) == [7, 8]
    kept, refused = (
        cb.judge(table, release, "opensafely", independent=True) for table in (eight, seven)
    )
    assert (kept.outcome.name, refused.outcome.name) == ("SAFE", "UNSAFE")
    assert "2 lead here too" in kept.notes[-1]
    assert {one.outcome.name for one in kept.cells} == {"SAFE"}
    # What depends on the counts says so.
    assert kept.independent and not refused.independent
    assert not cb.judge(None, release, "opensafely", independent=True).safe
