"""Records and variables that change: differencing is caught, nothing is forgotten."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import consistent_tables
from cellbounds.disclosure.policies import GroupDisclosure, Outcome, Policy, SmallCounts
from cellbounds.ledger import Ledger, NotSafe
from cellbounds.ledger.journal import LedgerState, Revision
from cellbounds.ledger.versions import PublishedRelease, informing, joined, stacked, targets_of

DOMAIN = cb.Domain({"a": ["x", "y"], "b": ["u", "v"]})
BEFORE = cb.Table(DOMAIN, [[12, 9], [14, 10]])
AFTER = cb.Table(DOMAIN, [[12, 9], [14, 11]])  # one record more, in (y, v)


def state_for(*tables, policy="small-counts", protected=(), revisions=()):
    domain = tables[0].domain
    return LedgerState(
        domain,
        tables[0].structural,
        tuple(one.digest for one in tables),
        False,
        cb.policies.read(policy) if isinstance(policy, str) else policy,
        False,
        (domain.names, *protected),
        revisions=revisions,
    )


def test_a_subtotal_before_and_after_one_record_more_is_caught(place):
    ledger = Ledger.create(place, BEFORE, who="ann")
    first = ledger.commit("[a]", table=BEFORE, why="spring")
    grown = ledger.grow(AFTER, earlier=BEFORE, why="a late form")
    assert grown.outcome is Outcome.SAFE
    both = [BEFORE, AFTER]
    answer = ledger.ask("[a]", table=both)
    assert answer.outcome is Outcome.UNSAFE
    assert answer.harmful == (first,)
    unsafe = [target.said for target, one in answer.judged if one.outcome is Outcome.UNSAFE]
    assert unsafe == ["the cells of the table in the records added from version 1 to version 2"]
    # Each alone is harmless, and so are figures about other things.
    alone = Ledger.create(f"{place}-2" if "://" not in place else f"{place}2", AFTER, who="ann")
    assert alone.ask("[a]", table=AFTER).outcome is Outcome.SAFE
    assert ledger.ask("[b]", table=both).outcome is Outcome.SAFE
    assert ledger.ask("[a]~5", table=both).outcome is Outcome.SAFE
    with pytest.raises(NotSafe):
        ledger.commit("[a]", table=both, why="autumn")
    ledger.commit("[b]", table=[AFTER, BEFORE], why="autumn, in any order")
    assert ledger.history()[-1].content["version"] == 2
    # The other way round: the old version may not be told of later either.
    assert ledger.ask("[b]", version=1, table=both).outcome is Outcome.UNSAFE
    with pytest.raises(cb.InvalidInput, match="versions 1 to 2"):
        ledger.ask("[b]", version=3, table=both)


def test_many_records_may_be_added_without_harm(place):
    more = cb.Table(DOMAIN, BEFORE.counts + 5)
    ledger = Ledger.create(place, BEFORE, keep_table=True, who="ann")
    ledger.commit("[a]", why="spring")
    ledger.grow(more, why="another county")
    assert ledger.ask("[a]").outcome is Outcome.SAFE
    assert ledger.ask("[a,b]").outcome is Outcome.SAFE


def test_versions_two_steps_apart_are_compared_too(place):
    last = cb.Table(DOMAIN, AFTER.counts + np.array([[1, 0], [0, 0]]))
    ledger = Ledger.create(place, BEFORE, keep_table=True, who="ann")
    ledger.commit("[a,b]", why="1")
    ledger.grow(AFTER, why="2")
    ledger.grow(last, why="3")
    answer = ledger.ask("[a,b]")
    unsafe = {target.over for target, one in answer.judged if one.outcome is Outcome.UNSAFE}
    assert ("added_2_to_3", "a", "b") in unsafe
    assert ledger.verify().intact


def test_three_versions_are_one_table_of_three_layers():
    last = cb.Table(DOMAIN, AFTER.counts + np.array([[2, 0], [1, 0]]))
    tables = [BEFORE, AFTER, last]
    state = state_for(*tables)
    overs = [target.over for target in targets_of(state)]
    parts = ["as_of_1", "as_of_2", None, "added_2", "added_2_to_3", "added_3"]
    assert overs == [("a", "b") if one is None else (one, "a", "b") for one in parts]
    pieces = [
        PublishedRelease.of(cb.publish(one, "[a,b]"), place) for place, one in enumerate(tables, 1)
    ]
    both = joined(state, pieces)
    assert not cb.violations(stacked(state, tables), both)
    middle = cb.bounds(both, over=["as_of_2", "a", "b"])
    assert np.array_equal(middle.lower[0], AFTER.counts)
    assert np.array_equal(middle.upper[0], AFTER.counts)


def test_growth_is_checked(place):
    ledger = Ledger.create(place, BEFORE, who="ann")
    wrong = {
        "holds fewer": cb.Table(DOMAIN, [[11, 9], [14, 11]]),
        "nothing was added": BEFORE,
        "same variables": AFTER.margin(["a"]),
        "other levels": cb.Table(cb.Domain({"a": ["x", "z"], "b": ["u", "v"]}), AFTER.counts),
        "other structural zeros": cb.Table(
            DOMAIN, [[0, 9], [14, 11]], structural=[[True, False], [False, False]]
        ),
    }
    for problem, later in wrong.items():
        with pytest.raises(cb.InvalidInput, match=problem):
            ledger.grow(later, earlier=BEFORE, why="x")
    with pytest.raises(cb.InvalidInput, match="keeps the digest"):
        ledger.grow(AFTER, why="x")
    assert len(ledger.history()) == 1


# Records that were removed, or moved.

LESS = cb.Table(DOMAIN, [[12, 9], [14, 9]])  # one record less, in (y, v)
MOVED = cb.Table(DOMAIN, [[13, 9], [14, 9]])  # one record that moved from (y, v) to (x, u)


def test_one_record_less_is_caught_if_it_is_known_to_be_one(place):
    ledger = Ledger.create(place, BEFORE, keep_table=True, who="ann")
    first = ledger.commit("[a]", why="spring")
    revised = ledger.revise(LESS, removed=1, added=0, why="a form was withdrawn")
    assert revised.outcome is Outcome.SAFE
    assert revised.entry.kind == "revised"
    answer = ledger.ask("[a]")
    assert answer.outcome is Outcome.UNSAFE
    assert answer.harmful == (first,)
    unsafe = [target.said for target, one in answer.judged if one.outcome is Outcome.UNSAFE]
    assert unsafe == ["the cells of the table in the records removed from version 1 to version 2"]
    assert ledger.ask("[b]").outcome is Outcome.SAFE
    assert ledger.ask("[a]~5").outcome is Outcome.SAFE
    with pytest.raises(NotSafe):
        ledger.commit("[a]", why="autumn")
    assert ledger.verify().intact
    assert ledger.export()["entries"][-1]["table_version"] == 2
    assert ledger.table() == LESS


def test_one_record_that_moved_is_caught_if_it_is_known_to_be_one(place):
    ledger = Ledger.create(place, BEFORE, keep_table=True, who="ann")
    ledger.commit("[a]", why="spring")
    ledger.revise(MOVED, removed=1, added=1, why="a correction")
    unsafe = {
        target.over for target, one in ledger.ask("[a]").judged if one.outcome is Outcome.UNSAFE
    }
    assert unsafe == {("removed_2", "a", "b"), ("added_2", "a", "b")}


def test_for_all_that_is_known_everybody_may_have_been_exchanged(place):
    ledger = Ledger.create(place, BEFORE, keep_table=True, who="ann")
    ledger.commit("[a]", why="spring")
    ledger.revise(LESS, why="corrections")
    answer = ledger.ask("[a]")
    assert answer.outcome is Outcome.SAFE
    removed = cb.attainable(answer.together, over=["removed_2", "a"])
    assert set(removed["2", "y"]) == set(range(1, 25))  # 24 before, 23 now
    assert set(removed["2", "x"]) == set(range(22))


def test_a_range_may_be_known(place):
    ledger = Ledger.create(place, BEFORE, keep_table=True, who="ann")
    ledger.commit("[a,b]", why="spring")
    ledger.revise(LESS, removed=(1, 2), added=(0, 1), why="corrections")
    state = ledger.state()
    assert state.revisions == (Revision(2, (1, 2), (0, 1)),)
    answer = ledger.ask("[a,b]")
    assert answer.outcome is Outcome.SAFE  # two counts are attainable everywhere
    _, known = informing(state, [])
    both = cb.Release(answer.together.domain, [*answer.together.statements, *known])
    assert set(cb.attainable(both, over=["removed_2", "a", "b"])["2", "y", "v"]) == {1, 2}
    assert set(cb.attainable(both, over=["removed_2", "a", "b"])["2", "x", "u"]) == {0, 1}


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"removed": 2}, "another number of removed records"),
        ({"added": 1}, "another number of added records"),
        ({"added": (1, None)}, "another number of added records"),
        ({"removed": -1}, "give the number of records"),
        ({"removed": (3, 1)}, "give the number of records"),
        ({"removed": True}, "give the number of records"),
        ({"added": "some"}, "give the number of records"),
        ({"added": (None, 3)}, "give the number of records"),
    ],
)
def test_what_is_known_about_a_revision_is_true(tmp_path, stated, says):
    ledger = Ledger.create(tmp_path / "l", BEFORE, keep_table=True, who="ann")
    with pytest.raises(cb.InvalidInput, match=says):
        ledger.revise(LESS, why="x", **stated)
    assert len(ledger.history()) == 1


def test_growth_and_revisions_follow_each_other(place):
    last = cb.Table(DOMAIN, [[12, 8], [14, 11]])
    ledger = Ledger.create(place, BEFORE, keep_table=True, who="ann")
    ledger.commit("[a,b]", why="1")
    ledger.grow(AFTER, why="2")
    with pytest.raises(cb.InvalidInput, match="ledger revise"):
        ledger.grow(last, why="3")
    ledger.revise(last, removed=1, added=0, why="3")
    targets = [target.over for target, _ in ledger.ask("[a]~5").judged]
    # Everybody was there in version 2, and nobody was added after it.
    parts = ["as_of_1", None, "as_of_3", "added_2", "added_2_to_3", "removed_2_to_3", "removed_3"]
    assert targets == [("a", "b") if one is None else (one, "a", "b") for one in parts]
    unsafe = {one.over for one, two in ledger.ask("[a,b]").judged if two.outcome is Outcome.UNSAFE}
    # That the two changes are one each is known; (x, v) lost one, and (y, v) has one more.
    assert {("removed_3", "a", "b"), ("removed_2_to_3", "a", "b")} <= unsafe
    assert ledger.history()[-1].kind == "revised"


def test_a_revision_on_the_command_line(run, tmp_path):
    place = tmp_path / "l.ledger"
    files = {"before": BEFORE, "less": LESS}
    for name, table in files.items():
        table.write(tmp_path / f"{name}.csv")
    earlier = ("--table", tmp_path / "before.csv")
    run("ledger", "init", place, *earlier, "--who", "ann")
    run("ledger", "commit", place, "[a]", *earlier, "--why", "spring")
    revise = ("ledger", "revise", place, tmp_path / "less.csv", *earlier, "--why", "x")
    code, _, err = run(*revise, "--removed", "one")
    assert code == 2
    assert "--removed 'one'" in err
    code, out, err = run(*revise, "--removed", "1", "--added", "0-0")
    assert code == 0, err
    assert "recorded as entry 3" in out
    both = (*earlier, "--table", tmp_path / "less.csv")
    code, out, _ = run("ledger", "ask", place, "[a]", *both)
    assert code == 1
    assert "records removed from version 1 to version 2" in out
    _, out, _ = run("ledger", "history", place)
    assert "removed: 1, added: 0" in out
    for public in ((), ("--public",)):
        code, out, err = run("ledger", "history", place, "--format", "html", *public)
        assert code == 0, err
        assert "records removed or corrected" in out


KOCH = cb.datasets.read("koch4")
COARSE = ("center", "status", "treatment")


def test_a_finer_table_is_accepted_if_its_margin_matches(place):
    coarse = KOCH.margin(COARSE)
    ledger = Ledger.create(place, coarse, who="ann")
    first = ledger.commit("[center,status]", table=coarse, why="x")
    with pytest.raises(cb.InvalidInput, match="no other"):
        ledger.refine(coarse, why="nothing new")
    other = KOCH.counts.copy()
    other[0, 0, 0, 0] += 1
    with pytest.raises(cb.InvalidInput, match="does not match"):
        ledger.refine(cb.Table(KOCH.domain, other), why="wrong")
    with pytest.raises(cb.InvalidInput, match="refine the ledger first"):
        ledger.ask(cb.publish(KOCH, "[recovery]"), table=coarse)
    assert ledger.refine(KOCH, why="recovery is known now").outcome is Outcome.SAFE
    assert ledger.state().domain == KOCH.domain
    with pytest.raises(cb.InvalidInput, match="no variable 'recovery'"):
        ledger.ask("[recovery]", table=coarse)
    second = ledger.commit("[center,status,recovery]", table=KOCH, why="y")
    assert ledger.state().released == (first, second)
    both = cb.publish(KOCH, *(one.statements[0] for one in (first, second)))
    assert ledger.together().digest == both.digest


def test_cells_of_the_table_as_it_was_stay_protected(place):
    table = cb.Table(cb.Domain({"a": ["x", "y"]}), [2, 30])
    finer = cb.Table(cb.Domain({"b": ["u", "v"], "a": ["x", "y"]}), [[1, 14], [1, 16]])
    ledger = Ledger.create(place, table, keep_table=True, who="ann")
    assert ledger.ask("[a]").outcome is Outcome.UNSAFE
    refined = ledger.refine(finer, why="b")
    assert [target.over for target, _ in refined.judged] == [None, ("a",)]
    alone = cb.judge(finer, cb.publish(finer, "[a]"), over=finer.domain.names)
    assert alone.outcome is Outcome.SAFE
    assert ledger.ask("[a]").outcome is Outcome.UNSAFE
    assert ledger.verify().intact


def test_versions_are_refined_together():
    state = state_for(BEFORE, AFTER)
    whole = stacked(state, [BEFORE, AFTER])
    assert whole.domain.names == ("version", "a", "b")
    assert whole.margin(["a", "b"]) == AFTER
    assert whole.total == AFTER.total


def test_refining_a_ledger_that_grew(tmp_path):
    coarse = [BEFORE.margin(["a"]), AFTER.margin(["a"])]
    ledger = Ledger.create(tmp_path / "l", coarse[0], keep_table=True, who="ann")
    ledger.commit("[a]~5", why="x")
    ledger.grow(coarse[1], why="late")
    with pytest.raises(cb.InvalidInput, match="2 versions"):
        ledger.refine(AFTER, why="b")
    ledger.refine([AFTER, BEFORE], why="b")
    assert ledger.table(version=1) == BEFORE
    assert ledger.ask("[b]").outcome is Outcome.SAFE
    ledger.commit("[b]", version=1, why="y")
    assert ledger.ask("[b]").outcome is Outcome.UNSAFE


def test_names_give_way_to_those_of_the_table():
    domain = cb.Domain({"version": ["1", "2"], "as_of_1": ["u", "v"]})
    tables = [cb.Table(domain, [[5, 6], [7, 8]]), cb.Table(domain, [[5, 6], [7, 9]])]
    state = state_for(*tables)
    release = joined(state, [PublishedRelease.of(cb.publish(tables[0], "[as_of_1]"), 1)])
    assert "version_" in release.domain.names
    assert "as_of_1_" in release.domain.groupings
    assert not cb.violations(stacked(state, tables), release)


def test_group_rules_are_about_the_records_of_a_part():
    rule = GroupDisclosure(given=("a",))
    policy = Policy("both", rules=[SmallCounts(at_most=3, values=2), rule])
    found = targets_of(state_for(BEFORE, AFTER, policy=policy, protected=[("b",)]))
    rules = {target.over: target.policy.rules for target in found}
    assert rules["a", "b"][1] == rule
    assert rules["added_2", "a", "b"][1] == GroupDisclosure(
        responses=("b",), given=("added_2", "a")
    )
    assert len(rules["b",]) == 1
    only = Policy("group", rules=[rule])
    protected = targets_of(state_for(BEFORE, policy=only, protected=[("b",)]))
    assert [target.over for target in protected] == [None]


@st.composite
def revised_tables(draw):
    counts = st.lists(st.integers(0, 4), min_size=4, max_size=4)
    tables = [cb.Table(DOMAIN, np.array(draw(counts)).reshape(2, 2))]
    revisions = []
    for version in range(2, draw(st.integers(2, 4)) + 1):
        change = np.array(draw(counts)).reshape(2, 2)
        if draw(st.booleans()):
            tables.append(cb.Table(DOMAIN, change))
            revisions.append(Revision(version, (0, None), (0, None)))
        else:
            tables.append(cb.Table(DOMAIN, tables[-1].counts + change))
    return tables, tuple(revisions)


@given(revised_tables())
def test_versions_laid_out_as_one_table_are_what_they_were(case):
    tables, revisions = case
    state = state_for(*tables, revisions=revisions)
    whole = stacked(state, tables)
    pieces = [
        PublishedRelease.of(cb.publish(one, "[a,b]"), place) for place, one in enumerate(tables, 1)
    ]
    both = joined(state, pieces)
    assert not cb.violations(whole, both)
    laid = whole.with_domain(both.domain)
    for number, table in enumerate(tables, 1):
        assert np.array_equal(laid.margin([f"as_of_{number}", "a", "b"]).counts[0], table.counts)
    revised = {one.version for one in revisions}
    for number, (one, two) in enumerate(itertools.pairwise(tables), 2):
        more = laid.margin([f"added_{number}", "a", "b"]).counts[0]
        assert np.array_equal(more, np.maximum(two.counts - one.counts, 0))
        if number in revised:
            less = laid.margin([f"removed_{number}", "a", "b"]).counts[0]
            assert np.array_equal(less, np.maximum(one.counts - two.counts, 0))


def test_who_came_last_is_laid_out_as_leaving_first():
    tables = [cb.Table(DOMAIN, [[count, 9], [14, 10]]) for count in (5, 8, 6)]
    known = tuple(Revision(version, (0, None), (0, None)) for version in (2, 3))
    whole = stacked(state_for(*tables, revisions=known), tables)
    stays = dict(zip(whole.domain.levels("version"), whole.counts[:, 0, 0].tolist(), strict=True))
    assert stays == {"1 to 1": 0, "1 to 2": 0, "1": 5, "2 to 2": 2, "2": 1, "3": 0}


# Against brute force: pairs of tables, each with its own release, the later holding the earlier.

STATEMENTS = ["[a]", "[b]", "[a,b]", "[a]~3", "[a,b]<3", "[b|a]@1", "[a|b]", "[a,b|]@1", "N"]


@st.composite
def pairs(draw):
    before = np.zeros((2, 2), dtype=int)
    for _ in range(draw(st.integers(0, 4))):
        before[draw(st.integers(0, 1)), draw(st.integers(0, 1))] += 1
    after = before.copy()
    for _ in range(draw(st.integers(1, 2))):
        after[draw(st.integers(0, 1)), draw(st.integers(0, 1))] += 1
    said = [draw(st.lists(st.sampled_from(STATEMENTS), max_size=2, unique=True)) for _ in "12"]
    return cb.Table(DOMAIN, before), cb.Table(DOMAIN, after), said, draw(st.booleans())


@settings(max_examples=settings().max_examples // 5)
@given(pairs())
def test_two_versions_are_what_pairs_of_tables_are(case):
    before, after, said, prior = case
    state = state_for(before, after)
    releases = []
    for table, statements in zip((before, after), said, strict=True):
        made = list(cb.publish(table, *(statements or ["N"])).statements)
        if prior:
            made.append(cb.Known(["a"], upper={"x": 6}))
            made.append(cb.Linear(["a", "b"], {("x", "u"): 1, ("y", "v"): -1}, lower=-6))
        releases.append(cb.Release(DOMAIN, made))
    both = joined(state, [PublishedRelease.of(releases[0], 1), PublishedRelease.of(releases[1], 2)])
    first, second = (list(consistent_tables(one, 6)) for one in releases)
    found = [(one, two) for one, two in itertools.product(first, second) if (two >= one).all()]
    expected = {
        "as_of_1": [one for one, _ in found],
        "added_2": [two - one for one, two in found],
        None: [two for _, two in found],
    }
    for part, tables in expected.items():
        over = ["a", "b"] if part is None else [part, "a", "b"]
        answer = cb.attainable(both, over=over)
        for index in np.ndindex(2, 2):
            labels = DOMAIN.labels(index)
            cell = answer[labels if part is None else (part[-1], *labels)]
            assert set(cell) == {int(one[index]) for one in tables}


# The same where records were removed too: pairs of tables, and all the records that they can share.


@st.composite
def revised_pairs(draw):
    def table(most):
        counts = np.zeros((2, 2), dtype=int)
        for _ in range(draw(st.integers(0, most))):
            counts[draw(st.integers(0, 1)), draw(st.integers(0, 1))] += 1
        return cb.Table(DOMAIN, counts)

    said = [draw(st.lists(st.sampled_from(STATEMENTS), max_size=2, unique=True)) for _ in "12"]
    before, after = table(3), table(3)
    change = after.counts - before.counts
    exact = [int(np.maximum(one, 0).sum()) for one in (-change, change)]
    known = [draw(st.sampled_from([(0, None), (n, n), (0, n + 1), (n, None)])) for n in exact]
    return before, after, said, Revision(2, *known)


def sharing(one, two):
    """The records that two tables may have in common: at most as many as each has of a kind."""
    most = np.minimum(one, two)
    for counts in itertools.product(*(range(int(n) + 1) for n in most.flat)):
        yield np.array(counts).reshape(most.shape)


@settings(max_examples=settings().max_examples // 5)
@given(revised_pairs())
def test_a_revision_is_what_pairs_of_tables_and_their_common_records_are(case):
    before, after, said, revision = case
    state = state_for(before, after, revisions=(revision,))
    tables = (before, after)
    releases = [
        cb.publish(table, *(statements or ["N"]))
        for table, statements in zip(tables, said, strict=True)
    ]
    both = joined(state, [PublishedRelease.of(releases[0], 1), PublishedRelease.of(releases[1], 2)])
    _, known = informing(state, [])
    informed = cb.Release(both.domain, [*both.statements, *known])
    assert not cb.violations(stacked(state, tables), informed)
    first, second = (list(consistent_tables(one, 6)) for one in releases)
    found = [
        (one, two, one - common, two - common)
        for one, two in itertools.product(first, second)
        for common in sharing(one, two)
        if _within((one - common).sum(), revision.removed)
        and _within((two - common).sum(), revision.added)
    ]
    parts = ("as_of_1", "as_of_2", "removed_2", "added_2")
    for place, part in enumerate(parts):
        if part not in both.domain.groupings:  # nobody was removed or added, and that is known
            assert not any(one[place].any() for one in found)
            continue
        answer = cb.attainable(informed, over=[part, "a", "b"])
        for index in np.ndindex(2, 2):
            cell = answer[(part[-1], *DOMAIN.labels(index))]
            assert set(cell) == {int(one[place][index]) for one in found}


def _within(count, ends):
    low, high = ends
    return low <= count and (high is None or count <= high)
