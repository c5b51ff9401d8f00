"""A domain of 10**12 cells: nothing of its size is made where few variables are named."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.certificates import making
from cellbounds.certificates.verifying import space
from cellbounds.disclosure.policies.posterior_chance import projected
from cellbounds.model.constraints import violations
from cellbounds.model.priors import Uniform
from cellbounds.report.formats import CountedTables, render
from cellbounds.statements.release import combined_release

LEVELS, VARIABLES = 4, 20
NAMES = [f"v{k}" for k in range(VARIABLES)]
CHAIN = [f"[v{k},v{k + 1}]" for k in range(VARIABLES - 1)]


def chained(records, seed=1):
    """Records whose every variable leans on the one before, as counts of occupied cells."""
    rng = np.random.default_rng(seed)
    domain = cb.Domain({name: [f"{name}.{level}" for level in range(LEVELS)] for name in NAMES})
    places = np.empty((records, VARIABLES), dtype=np.int64)
    places[:, 0] = rng.integers(0, LEVELS, records)
    for k in range(1, VARIABLES):
        moved = (rng.random(records) ** 3 * LEVELS).astype(np.int64)
        places[:, k] = (places[:, k - 1] + moved) % LEVELS
    return cb.Table.from_cells(domain, places, np.ones(records, dtype=np.int64))


@pytest.fixture(scope="module")
def table():
    made = chained(3000)
    assert made.domain.size > 10**12
    return made


@pytest.fixture(scope="module")
def chain(table):
    return cb.publish(table, *CHAIN)


def some_cells(table, number, seed=5):
    """Cells of which half hold somebody and half are anywhere."""
    rng = np.random.default_rng(seed)
    places, _ = table.cells()
    held = places[rng.choice(len(places), number // 2, replace=False)]
    anywhere = rng.integers(0, LEVELS, (number - number // 2, VARIABLES))
    return [table.domain.labels(index) for index in np.concatenate([held, anywhere]).tolist()]


def closed_form(table, labels):
    """Dobra and Fienberg's bounds of a chain: cliques less separators, and the least clique."""
    at = dict(zip(NAMES, labels, strict=True))
    cliques = [table.margin([a, b])[at[a], at[b]] for a, b in itertools.pairwise(NAMES)]
    separators = [table.margin([name])[at[name],] for name in NAMES[1:-1]]
    return max(0, sum(cliques) - sum(separators)), min(cliques)


def test_chosen_cells_of_a_chain_of_margins(table, chain):
    cells = some_cells(table, 1000)
    answer = cb.bounds(chain, cells=cells)
    assert answer.method == "parts glued at exact margins"
    assert answer.evidence is cb.Evidence.EXACT
    assert answer.upper.max() > 0
    for labels in (*cells[:8], *cells[-8:]):
        assert answer[labels] == closed_form(table, labels)
        assert answer[labels][0] <= table[labels] <= answer[labels][1]


def test_witnesses_and_sets_of_chosen_cells(table, chain):
    cells = some_cells(table, 12)
    answer, sets = cb.bounds(chain, cells=cells), cb.attainable(chain, cells=cells)
    for labels in cells:
        low, high = answer[labels]
        assert (sets[labels].smallest, sets[labels].largest) == (low, high)
        for at, value in (("lower", low), ("upper", high)):
            witness = answer.witness(*labels, at=at)
            assert witness[labels] == value
            assert witness.total == table.total
            for k in (0, 7, 18):
                pair = NAMES[k], NAMES[k + 1]
                assert witness.margin(pair) == table.margin(pair)
            assert not violations(witness, chain)
    middle = next(labels for labels in cells if answer[labels][1] > 2)
    assert sets.witness(*middle, value=1)[middle] == 1


def test_parts_of_the_domain_and_loose_cells(table, chain):
    """Cells over some of the variables, and over variables that nothing is said about."""
    over = ["v3", "v4", "v5"]
    whole = cb.bounds(chain, over=over)
    small = cb.bounds(cb.publish(table.margin(over), "[v3,v4]", "[v4,v5]"))
    assert np.array_equal(whole.lower, small.lower)
    assert np.array_equal(whole.upper, small.upper)
    release = cb.publish(table, "[v0|v1]@2")
    cells = some_cells(table, 6)
    loose = cb.bounds(release, cells=cells)
    rates = cb.bounds(release, over=["v0", "v1"])
    for labels in cells:
        assert loose[labels] == (0, rates[labels[0], labels[1]][1])
        witness = loose.witness(*labels, at="upper")
        assert witness[labels] == witness.margin(["v0", "v1"])[labels[0], labels[1]]
        assert loose.witness(*labels, at="lower")[labels] == 0


@pytest.mark.parametrize(
    "said",
    [
        ["[v0|v1,v2]@2"],
        ["[v0|v1,v2]"],
        ["[v0,v1]", "[v1,v2]~3"],
        ["[v0|v1]@1", "[v1,v2]<5", "[v2]"],
        ["[v0,v1]", "[v1,v2]", "[v0,v2]"],
        ["N"],
    ],
)
def test_few_variables_are_answered_like_a_small_table(table, said):
    over = ["v2", "v0", "v1"]
    small = table.margin(["v0", "v1", "v2"])
    release, alone = cb.publish(table, *said), cb.publish(small, *said)
    assert not violations(table, release)
    whole, expected = cb.bounds(release, over=over), cb.bounds(alone, over=over)
    assert np.array_equal(whole.lower, expected.lower)
    assert np.array_equal(whole.upper, expected.upper)
    again = cb.bounds(release, over=over, start=table)
    assert np.array_equal(again.lower, expected.lower)
    cells = list(whole.domain.cells())[3:40:7]
    sets, known = cb.attainable(release, over=over, cells=cells), cb.attainable(alone, over=over)
    assert all(sets[cell] == known[cell] for cell in cells)
    witness = whole.witness(*cells[0], at="upper")
    assert witness.domain == table.domain
    assert witness.margin(over)[cells[0]] == whole[cells[0]][1]
    explained = whole.explain(*cells[1])
    assert str(explained) == str(expected.explain(*cells[1]))


def test_violations_are_found_on_margins(table):
    release = cb.publish(table, "[v0|v1]@2", "[v4,v9]", "[v11]~5")
    assert violations(table, release) == []
    other = chained(3000, seed=2)
    assert violations(other, release) == ["[v0|v1]@2", "[v4,v9]", "[v11]~5"]
    assert violations(chained(2999), cb.publish(table, "N")) == ["N=3000"]
    with pytest.raises(cb.InvalidInput, match="contradicts"):
        cb.bounds(release, over=["v0"], start=other)


def test_judging_and_auditing_over_three_variables(table):
    over, small = ["v0", "v1", "v2"], table.margin(["v0", "v1", "v2"])
    said = ["[v0|v1,v2]@2", "[v1,v2]"]
    release, alone = cb.publish(table, *said), cb.publish(small, *said)
    for policy in ("small-counts", "strict", "ons-ls"):
        found = cb.judge(table, release, policy, over=over)
        expected = cb.judge(small, alone, policy, over=over)
        assert found.outcome is expected.outcome
        assert np.array_equal(found.outcomes, expected.outcomes)
    assert cb.judge(None, release, over=over, independent=True).outcome in cb.Outcome
    audited, expected = cb.audit(table, release, over=over), cb.audit(small, alone, over=over)
    assert [cell.count for cell in audited.cells] == small.counts.ravel().tolist()
    assert [cell.values for cell in audited.cells] == [cell.values for cell in expected.cells]
    assert [cell.outcome for cell in audited.cells] == [cell.outcome for cell in expected.cells]


def test_margins_know_how_many_cells_they_are_sums_of(table):
    """A uniform prior over the tables of a huge domain is one over those of a margin, weighted."""
    release = cb.publish(table, "[v0]")
    alone, belief = projected(release, ("v0", "v7"), Uniform())
    assert alone.domain.names == ("v0", "v7")
    assert belief.shape.tolist() == [[LEVELS ** (VARIABLES - 2)] * LEVELS] * LEVELS


def test_designs_and_suggestions_over_three_variables(table):
    over = ["v0", "v1", "v2"]
    small = table.margin(over)
    asked = {"response": "v0", "givens": [["v1", "v2"]], "digits": [1, 2]}
    found, expected = cb.explore(table, **asked), cb.explore(small, **asked)
    assert [one.outcome for one in found.designs] == [one.outcome for one in expected.designs]
    release = cb.publish(table, "[v0,v1,v2]")
    # So large a table is not rerun, the small one alone would be.
    how = {"over": over, "most": 1, "independent": False}
    suggested = cb.suggest(table, release, "strict", **how)
    alone = cb.suggest(small, cb.publish(small, "[v0,v1,v2]"), "strict", **how)
    assert repr(suggested) == repr(alone)
    with pytest.raises(cb.TooMuchWork, match=r"about fewer variables: over=\["):
        cb.safe_margins(table, margins=1)


def test_whole_domains_are_refused_with_a_remedy(table, chain):
    release = cb.publish(table, "[v0|v1,v2]@2")
    named = r"over=\['v0', 'v1', 'v2'\]"
    for ask in (
        lambda: cb.bounds(release),
        lambda: cb.attainable(release),
        lambda: cb.judge(table, release),
        lambda: cb.audit(table, release),
    ):
        with pytest.raises(cb.TooMuchWork, match=named):
            ask()
    with pytest.raises(
        cb.TooMuchWork, match=r"cells=\[\(label, \.\.\.\), \.\.\.\], or about fewer"
    ):
        cb.bounds(chain)
    with pytest.raises(cb.TooMuchWork, match=r"a certificate numbers .* \(v0, v1, v2\)"):
        cb.bounds(release, over=["v0"]).certificate()
    answer = cb.bounds(cb.publish(table.margin(["v0", "v1"]), "[v0|v1]@1"))
    assert answer.certificate()["cells"]


def test_structural_zeros_of_a_huge_table(table):
    domain = table.domain
    empty = next(labels for labels in some_cells(table, 40) if table[labels] == 0)
    places, counts = table.cells()
    known = cb.Table.from_cells(domain, places, counts, structural=[empty])
    with pytest.raises(cb.TooMuchWork, match=r"publish\(table\.margin\(\.\.\.\), \.\.\.\)"):
        cb.publish(known, "[v0]")
    assert cb.publish(known.margin(["v0", "v1"]), "[v0]").statements


def test_notation_and_files_together(table, tmp_path):
    path = tmp_path / "said.toml"
    cb.publish(table, "[v3]").write(path)
    release = combined_release(table, ["[v0|v1]@2", str(path)])
    assert [one.notation for one in release.statements] == ["[v3]", "[v0|v1]@2", "N=3000"]


def test_releases_that_contradict_themselves_name_the_statements(table):
    small = cb.publish(table, "[v0,v1]", "[v1,v2]", "[v5]")
    spoiled = cb.Margin(["v1"], [0, 0, 0, 3000])
    release = cb.Release(table.domain, [*small.statements, spoiled])
    with pytest.raises(cb.InconsistentRelease, match=r"\[v0,v1\] and \[v1\] give different counts"):
        cb.bounds(release, over=["v0", "v1"])


def test_explanations_of_chosen_cells_ask_about_nothing_else(table, chain):
    labels = next(cell for cell in some_cells(table, 20) if closed_form(table, cell)[1] > 0)
    explained = cb.bounds(chain, cells=[labels]).explain(*labels)
    assert (explained.lower, explained.upper) == closed_form(table, labels)
    (blamed,) = explained.upper_blame.statements
    assert blamed in CHAIN
    plain = explained.to_dict()
    assert sum(count for *_, count in plain["upper_witness"]["cells"]) == table.total


@pytest.mark.parametrize("variables", [20, 64])
@pytest.mark.parametrize(
    "ask",
    [
        cb.count_tables,
        lambda release: next(iter(cb.tables(release))),
        cb.estimate_tables,
        cb.posterior,
        lambda release: cb.posterior(release, "multinomial"),
        lambda release: cb.sample(release, 2),
        cb.synthesize,
        lambda release: cb.bounds(
            cb.Release(
                release.domain,
                [*release.statements, cb.Known(release.domain.names, upper=50)],
            ),
            cells=[tuple(release.domain.labels([0] * len(release.domain.names)))],
        ),
    ],
    ids=["count", "tables", "estimate", "uniform", "multinomial", "sample", "synthesize", "prior"],
)
def test_what_needs_every_cell_is_refused_with_a_remedy(ask, variables):
    domain = cb.Domain({f"v{k}": list("abcd") for k in range(variables)})
    table = cb.Table.from_cells(domain, [[0] * variables, [1] * variables], [3, 4])
    with pytest.raises(cb.TooMuchWork, match="fewer variables"):
        ask(cb.publish(table, "[v0|v1]@2"))


@pytest.mark.parametrize("style", ["table", "json", "csv"])
def test_numbers_of_tables_with_thousands_of_digits_are_written(style):
    release = cb.Release(cb.Domain({"a": ["x", "y"]}), [cb.Total(3)])
    said = render(CountedTables(release, 7 * 10**6000 + 3), style).replace(",", "")
    assert "7" + "0" * 5999 + "3" in said
    assert "4" in render(CountedTables(release, 4), style)


def test_certificates_are_made_up_to_the_size_that_is_read():
    assert making.MOST_CELLS == space.MOST_CELLS
