"""What must not change an answer, and what may only narrow it."""

from __future__ import annotations

import itertools
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.runtime import isolation
from listing import listed, sums
from mixtures import Case, cases, margin_cases
from strategies import few


def answers(release, over, **options):
    """Bounds and values by the labels of the cells; None if the release is inconsistent."""
    try:
        answer = cb.bounds(release, over=over, **options)
        values = cb.attainable(release, over=over, **options)
    except cb.InconsistentRelease:
        return None
    domain = release.domain.project(over)
    return {
        frozenset(zip(over, labels, strict=True)): (*answer[labels], list(values[labels]))
        for labels in domain.cells()
    }


def renamed(case: Case, order, levels, names=None, labels=None) -> Case:
    """The same release over a domain with variables and levels in another order or by new names.

    Only for statements about variables of their own (no groupings), laid out as arrays.
    """
    domain = case.release.domain
    names = names or {name: name for name in domain.names}
    labels = labels or (lambda _, label: label)
    turned = {
        names[name]: [labels(name, domain.levels(name)[k]) for k in levels[name]] for name in order
    }
    statements = [moved(statement, levels, names, labels) for statement in case.release.statements]
    release = cb.Release(cb.Domain(turned), statements)
    return Case(release, case.counts, case.largest, tuple(names[name] for name in case.over))


def moved(statement, levels, names, labels):
    if isinstance(statement, cb.Total):
        return statement
    variables = [names[name] for name in statement.variables]
    grid = np.ix_(*(levels[name] for name in statement.variables))

    def keyed(given):
        if not isinstance(given, dict):
            return given
        new = {}
        for key, value in given.items():
            whole = key if isinstance(key, tuple) else (key,)
            fresh = tuple(
                labels(name, label) for name, label in zip(statement.variables, whole, strict=True)
            )
            new[fresh if len(fresh) > 1 else fresh[0]] = value
        return new

    match statement:
        case cb.Margin():
            entries = statement.entries[grid].tolist()
            options = {} if statement.base is None else {"base": statement.base}
            options |= {} if statement.below is None else {"below": statement.below}
            options["rule"] = "interval" if statement.interval else "rounding"
            return cb.Margin(variables, entries, rounding=statement.rounding, **options)
        case cb.Linear():
            weights = statement.coefficients[grid].tolist()
            return cb.Linear(variables, weights, lower=statement.lower, upper=statement.upper)
        case cb.Known():
            known = {
                rule: keyed(getattr(statement, rule))
                for rule in ("lower", "upper", "values")
                if getattr(statement, rule) is not None
            }
            return cb.Known(variables, **known)
        case cb.Conditional():
            responses = [names[name] for name in statement.responses]
            given_names = [names[name] for name in statement.given]
            rates = statement.rates[grid]
            options = {"missing": statement.missing}
            options["rule"] = "interval" if statement.interval else "rounding"
            if statement.eps is not None:
                eps = statement.eps if len(statement.eps) > 1 else statement.eps * rates.size
                eps = np.array(eps, dtype=object).reshape(statement.rates.shape)[grid]
                options |= {"eps": eps.tolist(), "strict": statement.strict}
            elif statement.rounding is not None:
                options |= {"digits": statement.digits, "rounding": statement.rounding}
                rates = np.vectorize(decimal(statement.digits), otypes=[object])(rates)
            return cb.Conditional(responses, given_names, rates=rates.tolist(), **options)
    raise AssertionError(statement)


def decimal(digits: int):
    def text(rate):
        if rate is None:
            return None
        units = int(rate * 10**digits)
        return f"{units // 10**digits}.{units % 10**digits:0{digits}d}" if digits else str(units)

    return text


@st.composite
def turned_cases(draw):
    """A release without groupings, and the same one in another order with other labels."""
    case = draw(cases())
    assume(not case.release.domain.groupings)
    # Where remainders are equal the first column goes up: there the order does matter.
    rates = [one for one in case.release.statements if isinstance(one, cb.Conditional)]
    assume(all(one.intervals.remainders is None for one in rates))
    domain = case.release.domain
    order = draw(st.permutations(domain.names))
    levels = {name: draw(st.permutations(range(len(domain.levels(name))))) for name in order}
    statements = draw(st.permutations(case.release.statements))
    shuffled = Case(cb.Release(domain, statements), case.counts, case.largest, case.over)
    return case, shuffled, order, levels


@few(4)
@given(turned_cases())
def test_order_changes_nothing(drawn):
    case, shuffled, order, levels = drawn
    turned = renamed(shuffled, order, levels)
    assert answers(case.release, case.over) == answers(turned.release, turned.over)


@few(4)
@given(turned_cases())
def test_names_change_nothing(drawn):
    case, _, order, _ = drawn
    plain = {name: list(range(len(case.release.domain.levels(name)))) for name in order}
    names = {name: f"the {name} | [x]" for name in order}
    new = renamed(case, case.release.domain.names, plain, names, lambda name, old: (name, old, 7))
    ours, theirs = answers(case.release, case.over), answers(new.release, new.over)
    if ours is None:
        assert theirs is None
        return
    assert list(ours.values()) == list(theirs.values())


@few(6)
@given(cases(), st.integers(0, 4))
def test_one_level_changes_nothing(case, place):
    """A variable with one level says nothing, wherever it stands, asked for or not."""
    domain = case.release.domain
    levels = {name: domain.levels(name) for name in domain.names}
    names = list(levels)
    names.insert(min(place, len(names)), "z")
    levels["z"] = ("only",)
    wider = cb.Domain({name: levels[name] for name in names}, groupings=domain.groupings)
    release = cb.Release(wider, case.release.statements)
    ours = answers(case.release, case.over)
    theirs = answers(release, ("z", *case.over))
    alone = answers(release, case.over)
    assert alone == ours
    assert (theirs is None) == (ours is None)
    assert ours is None or list(theirs.values()) == list(ours.values())


@few(6)
@given(cases())
def test_more_statements_never_widen(case):
    statements = case.release.statements
    assume(len(statements) > 1)
    everything = answers(case.release, case.over)
    for left_out in statements:
        kept = [one for one in statements if one is not left_out]
        fewer = cb.Release(case.release.domain, kept)
        try:
            less = cb.bounds(fewer, over=case.over)
        except cb.InconsistentRelease:
            assert everything is None
            continue
        if everything is None:
            continue
        for low, high, (lower, upper, _) in zip(
            less.lower.flat, less.upper.flat, everything.values(), strict=True
        ):
            assert low <= lower
            assert high >= upper


@few(3)
@given(cases(closed=False, spoil=False))
def test_the_true_table_is_inside(case):
    assume(not cb.violations(case.table, case.release))
    margin = sums(case.release, case.counts.reshape(1, -1), case.over)[0]
    answer = cb.bounds(case.release, over=case.over)
    assert answer.evidence is cb.Evidence.EXACT
    for low, value, high in zip(answer.lower.flat, margin.tolist(), answer.upper.flat, strict=True):
        assert low <= value <= high
    linear = cb.bounds(case.release, over=case.over, kind="linear")
    assert (linear.lower <= answer.lower).all()
    assert (linear.upper >= answer.upper).all()
    domain = case.release.domain.project(case.over)
    for labels, at in itertools.product(domain.cells(), ("lower", "upper")):
        if answer[labels][at == "upper"] is cb.UNBOUNDED:
            continue
        witness = answer.witness(*labels, at=at)
        assert not cb.violations(witness, case.release)


@few(6)
@given(st.one_of(cases(), margin_cases()))
def test_helpers_change_nothing(case):
    alone = answers(case.release, case.over)
    with ThreadPoolExecutor(2) as executor:
        assert answers(case.release, case.over, budget=cb.Budget(workers=executor)) == alone


def test_processes_change_nothing():
    rng = np.random.default_rng(3)
    domain = cb.Domain({name: ["0", "1", "2"] for name in "abc"})
    table = cb.Table(domain, rng.integers(0, 3, size=(3, 3, 3)))
    release = cb.publish(table, "[a,b]", "[b,c]", "[a,c]~3", "[a|b]@2")
    alone = answers(release, domain.names)
    with ProcessPoolExecutor(2) as executor:
        assert answers(release, domain.names, budget=cb.Budget(workers=executor)) == alone


@few(3)
@given(st.one_of(cases(), margin_cases()), st.sampled_from([1e-9, 1e-4, 1e-3, 3e-3]))
def test_a_budget_is_never_wrong(case, seconds):
    """What is said encloses, what is shown is attained, and nothing else is claimed."""
    tables = listed(case.release, case.largest)
    try:
        answer = cb.bounds(case.release, over=case.over, seconds=seconds)
        values = cb.attainable(case.release, over=case.over, seconds=seconds)
        found = dict(values.items())
    except cb.InconsistentRelease:
        assert not len(tables)
        return
    if not len(tables):
        assert answer.evidence is cb.Evidence.OUTER
        assert all(value is None for value in answer.attained_lower.flat)
        return
    margins = sums(case.release, tables, case.over)
    exact = answer.evidence is cb.Evidence.EXACT
    inner = zip(answer.attained_lower.flat, answer.attained_upper.flat, strict=True)
    outer = zip(answer.lower.flat, answer.upper.flat, strict=True)
    for place, ((low, high), (least, most)) in enumerate(zip(outer, inner, strict=True)):
        column = margins[:, place]
        assert low <= column.min()
        assert high >= column.max()
        for attained in (least, most):
            assert attained is None or attained in column
        assert not exact or (low, high) == (column.min(), column.max())
    for place, one in enumerate(found.values()):
        true = set(margins[:, place].tolist())
        assert set(one.known) <= true
        assert true <= set(one.possible)
        assert one.settled <= (set(one.known) == true)


def test_an_empty_budget_is_refused():
    release = cb.Release(cb.Domain({"a": ["0", "1"]}), [cb.Total(3)])
    for seconds in (0, -1, float("inf"), float("nan"), True, "1"):
        with pytest.raises(cb.InvalidInput):
            cb.bounds(release, seconds=seconds)


STOPPED = """
from ortools.sat.python import cp_model

class Stopped(cp_model.CpSolver):
    def solve(self, model, callback=None):
        self.parameters.max_time_in_seconds = 0
        return super().solve(model, callback)

cp_model.CpSolver = Stopped
from cellbounds.runtime.isolation import serve
serve()
"""
"""A solver whose time is up before it begins."""


def needs_the_solver() -> Case:
    """Most bounds of this release are settled by integer programs only."""
    domain = cb.Domain({"c": ["0", "1", "2"], "d": ["0", "1", "2", "3"]})
    weights = [["1/4", 0, 1], [0, -2, "1/2"], [3, 3, -1], [-1, 2, 1]]
    linear = cb.Linear(["d", "c"], weights, lower=-3, upper=0)
    release = cb.Release(domain, [linear, cb.Total(upper=6)])
    return Case(release, np.zeros((3, 4), dtype=np.int64), 6, ("d", "c"))


@few(3)
@given(st.one_of(cases(), margin_cases()))
@example(needs_the_solver())
def test_a_solver_that_was_stopped_proves_nothing(case):
    tables = listed(case.release, case.largest)
    assume(len(tables))
    margins = sums(case.release, tables, case.over)
    with patch.object(isolation, "CODE", STOPPED):
        answer = cb.bounds(case.release, over=case.over, seconds=60)
    assert (answer.lower.ravel() <= margins.min(axis=0)).all()
    assert (answer.upper.ravel() >= margins.max(axis=0)).all()
    if answer.evidence is cb.Evidence.EXACT:
        assert np.array_equal(answer.lower.ravel(), margins.min(axis=0))
        assert np.array_equal(answer.upper.ravel(), margins.max(axis=0))
