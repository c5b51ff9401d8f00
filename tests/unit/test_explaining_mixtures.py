"""What is blamed for a bound of margins and mixtures forces it, and all of it is needed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given

import cellbounds as cb
from blaming import statements_of
from cellbounds.results.solution import Query
from cellbounds.solvers.blame import BlameLimits, explain_bounds
from cellbounds.solvers.solve import solve
from listing import listed
from mixtures import cases, margin_cases
from strategies import few

TWO = ["0", "1"]
SMALL = [((3,), 7), ((2, 2), 8), ((2, 3), 6), ((2, 2, 2), 5)]


def bound(release, statements, over, labels, side):
    return cb.bounds(cb.Release(release.domain, statements), over=over)[labels][side]


def check(release, over, labels):
    answer = cb.bounds(release, over=over)
    explained = answer.explain(*labels)
    assert explained.evidence is cb.Evidence.EXACT
    assert explained.method == answer.method
    assert (explained.lower, explained.upper) == answer[labels]
    for value, witness in (
        (explained.lower, explained.lower_witness),
        (explained.upper, explained.upper_witness),
    ):
        if value is cb.UNBOUNDED:
            assert witness is None
            continue
        assert not cb.violations(witness, release)
        assert cb.attainable(cb.Release(release.domain, [exactly(witness)]), over=over)[labels] == {
            value
        }
    for side, value, blame in (
        (0, explained.lower, explained.lower_blame),
        (1, explained.upper, explained.upper_blame),
    ):
        if (side == 0 and value == 0) or value is cb.UNBOUNDED:
            assert blame.statements == blame.figures == ()
            assert blame.smallest
            continue
        chosen = statements_of(release, blame)
        assert bound(release, chosen, over, labels, side) == value
        if not blame.smallest:
            continue  # not decided, which may be where nothing limits the sums
        assert blame.irreducible
        if chosen:
            for fewer in itertools.combinations(release.statements, len(chosen) - 1):
                assert bound(release, fewer, over, labels, side) != value
        check_figures(release, chosen, blame, over, labels, side, value)


def exactly(table):
    return cb.Margin(list(table.domain.names), table.counts)


def check_figures(release, chosen, blame, over, labels, side, value):
    """With the named figures alone the bound stays; without one of them it goes."""
    shown = [figures_of(release, statement, blame) for statement in chosen]
    kept = [
        statement if here is None else withheld(statement, ~here)
        for statement, here in zip(chosen, shown, strict=True)
    ]
    assert bound(release, kept, over, labels, side) == value
    for place, here in enumerate(shown):
        if here is None:
            assert chosen[place].notation in blame.figures
            continue
        for index in np.argwhere(here):
            if is_empty_row(chosen[place], index):
                continue
            fewer = here.copy()
            fewer[tuple(index)] = False
            weaker = [*kept[:place], withheld(chosen[place], ~fewer), *kept[place + 1 :]]
            assert bound(release, weaker, over, labels, side) != value


def is_empty_row(statement, index):
    """A row that holds nobody is one figure, and stays."""
    return isinstance(statement, cb.Conditional) and statement.intervals.zero[index[0]]


def withheld(statement, hidden):
    if isinstance(statement, cb.Conditional):
        hidden = hidden & ~statement.intervals.zero[:, None]
    return statement.withheld(hidden)


def figures_of(release, statement, blame):
    if not isinstance(statement, cb.Conditional | cb.Margin):
        return None
    margin = release.domain.project(statement.variables)
    rates = isinstance(statement, cb.Conditional)
    shape = statement.intervals.low.shape if rates else statement.lower.shape
    shown = np.zeros(shape, dtype=bool)
    for flat, cell in enumerate(margin.cells()):
        figure = f"{statement.notation} at {', '.join(map(str, cell))}: "
        shown.flat[flat] = any(text.startswith(figure) for text in blame.figures)
    return shown


def told_apart(release):
    notations = [one.notation for one in release.statements]
    return len(set(notations)) == len(notations)


@few(6)
@given(cases(shapes=SMALL))
def test_mixtures(case):
    assume(told_apart(case.release))
    assume(len(listed(case.release, case.largest)))
    labels = tuple(case.release.domain.project(case.over).levels(n)[-1] for n in case.over)
    check(case.release, case.over, labels)


@few(10)
@given(margin_cases(shapes=[((2, 2, 2), 6), ((2, 2, 3), 5)]))
def test_margins(case):
    assume(told_apart(case.release))
    assume(len(listed(case.release, case.largest)))
    labels = tuple(case.release.domain.levels(n)[0] for n in case.over)
    check(case.release, case.over, labels)


CUBE = cb.Domain(dict.fromkeys("abc", TWO))


def test_a_margin_alone_is_blamed_for_what_it_forces():
    release = cb.Release(
        CUBE,
        [
            cb.Margin(["a", "b"], [[3, 9], [8, 7]]),
            cb.Margin(["b", "c"], [[5, 6], [8, 8]]),
            cb.Margin(["a", "c"], [[6, 6], [7, 8]]),
        ],
    )
    explained = cb.bounds(release).explain("0", "0", "0")
    assert explained.upper == 3
    assert explained.upper_blame.statements == ("[a,b]",)
    assert explained.upper_blame.figures == ("[a,b] at 0, 0: 3",)
    assert explained.lower == 0
    assert explained.lower_blame.statements == ()
    assert explained.lower_witness["0", "0", "0"] == 0
    text = str(explained)
    assert "at most 3: because of [a,b] (smallest set)" in text
    assert "at least 0: without any statement" in text
    check(release, CUBE.names, ("0", "0", "0"))
    check(release, CUBE.names, ("1", "1", "1"))


def test_blame_is_shared_where_statements_force_together():
    release = cb.Release(
        CUBE,
        [cb.Margin(["a", "b"], [[9, 1], [2, 8]]), cb.Margin(["b", "c"], [[10, 1], [4, 5]])],
    )
    explained = cb.bounds(release).explain("0", "0", "0")
    assert explained.lower == 8
    blame = explained.lower_blame
    assert blame.statements == ("[a,b]", "[b,c]")
    # 9 of which at most 1 is elsewhere, or 10 of which at most 2 are.
    assert blame.figures in (
        ("[a,b] at 0, 0: 9", "[b,c] at 0, 1: 1"),
        ("[a,b] at 1, 0: 2", "[b,c] at 0, 0: 10"),
    )
    check(release, CUBE.names, ("0", "0", "0"))


def test_bounds_without_end_blame_nobody():
    release = cb.Release(CUBE, [cb.Margin(["a"], [">2", None])])
    explained = cb.bounds(release, over=["a"]).explain("0")
    assert explained.upper is cb.UNBOUNDED
    assert explained.upper_witness is None
    assert explained.upper_blame.statements == ()
    assert explained.lower == 3
    assert explained.lower_blame.figures == ("[a] at 0: >2",)
    assert explained.to_dict()["upper"] is None


def test_suppressed_figures_are_never_blamed():
    release = cb.Release(
        cb.Domain({"a": ["0", "1", "2"]}), [cb.Margin(["a"], [None, "<4", 5]), cb.Total(9)]
    )
    explained = cb.bounds(release).explain("0")
    assert (explained.lower, explained.upper) == (1, 4)
    assert len(explained.lower_blame.figures) == 3
    assert not any("at 0" in one for one in explained.lower_blame.figures)
    assert len(explained.upper_blame.statements) == 2
    assert len(explained.upper_blame.figures) == 2
    assert not any("at 1" in one for one in explained.upper_blame.figures)


def test_figures_that_say_nothing_are_never_blamed():
    release = cb.Release(
        cb.Domain({"a": ["0", "1", "2"]}), [cb.Margin(["a"], [None, 3, ">=0"]), cb.Total(5)]
    )
    assert cb.bounds(release).explain("0").upper_blame.figures == ("[a] at 1: 3", "N=5")


def explained_within(limits, release, over, labels):
    def solved(release, over):
        return solve(release, Query("sharp", over))

    solution = solved(release, over)
    solution.settle()
    return explain_bounds(solved, solution, release, over, labels, limits=limits)


def test_many_statements_are_left_out_one_at_a_time():
    release = cb.Release(
        CUBE,
        [
            cb.Margin(["c"], [6, 6]),
            cb.Margin(["a", "b"], [[3, 3], [3, 3]]),
            cb.Known(["a", "b", "c"], upper=3),
        ],
    )
    limits = BlameLimits(statements=2)
    explained = explained_within(limits, release, CUBE.names, ("0", "0", "0"))
    blame = explained.upper_blame
    assert blame.statements == (release.statements[2].notation,)
    assert not blame.smallest
    assert "(irreducible set)" in str(explained)


def test_few_trials_leave_more_figures_and_say_so():
    limits = BlameLimits(work=0)
    domain = cb.Domain({"a": [str(k) for k in range(64)], "b": TWO})
    counts = np.full(64, 2)
    release = cb.Release(domain, [cb.Margin(["a"], counts), cb.Margin(["b"], [100, 28])])
    explained = explained_within(limits, release, domain.names, ("0", "0"))
    assert explained.upper == 2
    assert explained.upper_blame.figures == ("[a] at 0: 2",)
    # Everybody who is elsewhere counts: all 63 figures are needed, more than are tried.
    release = cb.Release(domain, [cb.Margin(["a"], [None, *counts[1:].tolist()]), cb.Total(200)])
    explained = explained_within(limits, release, ("a",), ("0",))
    assert explained.lower == 200 - 126
    assert len(explained.lower_blame.figures) == 64
    assert not explained.lower_blame.irreducible
    assert "too many to try them all" in str(explained)


def test_sums_of_no_cells_need_no_statement():
    domain = cb.Domain(
        {"a": ["0", "1", "2"]}, groupings={"g": cb.Grouping("a", {"x": ["0"], "y": ["1", "2"]})}
    )
    release = cb.Release(domain, [cb.Margin(["a"], [3, 4, 0]), cb.Total(7)])
    blame = cb.bounds(release, over=["g", "a"]).explain("x", "1").upper_blame
    assert (blame.statements, blame.figures) == ((), ())


def test_what_was_not_decided_is_not_called_smallest(monkeypatch):
    release = cb.Release(
        CUBE,
        [cb.Margin(["a", "b"], [["2-9", 1], [2, 8]]), cb.Margin(["b", "c"], [["<9", 1], [4, 5]])],
    )
    answer = cb.bounds(release)
    with monkeypatch.context() as patched:
        patched.setattr("cellbounds.solvers.general.solutions.passes", lambda *_: None)
        patched.setattr(
            "cellbounds.reductions.decomposition.DecomposedSolution.forces", lambda *_: None
        )
        blame = answer.explain("0", "0", "0").upper_blame
    assert not blame.smallest
    assert not blame.irreducible


def test_kinds_without_explanations():
    release = cb.Release(CUBE, [cb.Total(4)])
    with pytest.raises(cb.InvalidInput, match="no explanation"):
        cb.bounds(release, kind="linear").explain("0", "0", "0")
