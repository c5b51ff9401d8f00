"""Audits: what is attainable beside what is there, and the verdict of the policy."""

from __future__ import annotations

import json

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.disclosure import auditing
from cellbounds.disclosure.auditing import NARROW, audit
from cellbounds.disclosure.policies import ExactDisclosure, Outcome, Policy, attacker, judge

UNSAFE = Outcome.UNSAFE
DOMAIN = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})


def cells_of(found):
    return {cell.labels: cell for cell in found.cells}


@pytest.mark.parametrize("seconds", [None, 60.0])
@pytest.mark.parametrize("policy", ["small-counts", "strict", "acro"])
@pytest.mark.parametrize("said", [["[education|county]@1"], ["[county]", "[education|county]@2"]])
def test_an_audit_says_what_judge_says(said, policy, seconds):
    table = cb.datasets.read("delinquent")
    release = cb.publish(table, *said)
    found, judged = audit(table, release, policy, seconds=seconds), judge(table, release, policy)
    assert found.verdict.outcome is judged.outcome
    assert [one.outcome for one in found.verdict.cells] == [one.outcome for one in judged.cells]
    for cell, (labels, values) in zip(found.cells, cb.attainable(release).items(), strict=True):
        assert (cell.labels, str(cell.values)) == (labels, str(values))
        assert cell.outcome is judged.at(*labels)
        assert cell.count == table[labels]
    assert found.start_used
    assert found.table is table


def test_one_answer_serves_cells_and_verdict(monkeypatch):
    asked = []

    def counted(*arguments, **options):
        asked.append(options.get("over"))
        return cb.attainable(*arguments, **options)

    def refused(*_, **__):
        raise AssertionError("bounds are in the answer")

    monkeypatch.setattr(auditing, "attainable", counted)
    monkeypatch.setattr(attacker, "attainable", refused)
    monkeypatch.setattr(attacker, "bounds", refused)
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    for seconds in (None, 60.0):
        asked.clear()
        audit(table, cb.publish(table, "[row]", "[col]"), seconds=seconds)
        assert asked == [("row", "col")]


def test_policies_knowledge_and_independence():
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    release = cb.publish(table, "[col|row]")
    assert audit(table, release).verdict.safe
    known = audit(table, release, knows=[cb.Known(["row"], upper={"a": 5})])
    assert [cell.outcome is UNSAFE for cell in known.cells] == [True, True, False, False]
    assert known.cells[0].values.text() == "1"
    exact = Policy("exact", rules=[ExactDisclosure()])
    assert audit(table, release, exact).verdict.policy is exact
    alone = audit(table, release, independent=True)
    assert not alone.start_used
    assert alone.verdict.independent
    assert all(finding.count is None for finding in alone.verdict.cells)
    assert [cell.count for cell in alone.cells] == [1, 1, 4, 8]


def test_derived_variables_that_only_the_release_knows():
    table = cb.datasets.read("delinquent")
    levels = {"west": ["Alpha", "Beta"], "east": ["Gamma", "Delta"]}
    grouped = table.grouped("region", of="county", levels=levels)
    found = audit(table, cb.publish(grouped, "[education|region]@2"), over=["region", "education"])
    assert found.answer.over == ("region", "education")
    assert [cell.count for cell in found.cells] == np.ravel(
        grouped.margin(["region", "education"]).counts
    ).tolist()


def test_no_time_is_undecided_and_refusals_are_raised():
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    release = cb.publish(table, "[col|row]", "[row|col]")
    spent = audit(table, release, seconds=1e-9)
    assert spent.verdict.outcome is Outcome.UNDECIDED
    assert len(spent.cells) == 4
    wide = cb.publish(table, "[col|row]@18", "[row|col]@18")
    with pytest.raises(cb.TooMuchWork, match="64-bit"):
        audit(table, wide)


def test_an_audit_shows_no_counts_by_accident():
    table = cb.Table(DOMAIN, [[91827, 1], [4, 8]])
    assert "91827" not in repr(audit(table, cb.publish(table, "[col|row]")))


@pytest.mark.parametrize(("count", "unsafe"), [(0, False), (1, True), (3, True), (4, False)])
def test_small_counts_with_one_attainable_value(count, unsafe):
    # Rates and both row sums published: every cell is known.
    table = cb.Table(DOMAIN, [[count, 20], [30, 40]])
    found = audit(table, cb.publish(table, "[col|row]", "[row]"))
    cell = cells_of(found)["a", "x"]
    assert cell.disclosed
    assert (cell.outcome is UNSAFE) is unsafe
    assert found.verdict.safe is not unsafe
    assert cell.count == count


def test_large_counts_may_be_known():
    table = cb.Table(DOMAIN, [[10, 20], [30, 40]])
    found = audit(table, cb.publish(table, "[col|row]", "[row]"))
    assert all(cell.disclosed for cell in found.cells)
    assert found.verdict.safe


def test_small_counts_with_several_values_are_not_given_away():
    table = cb.Table(DOMAIN, [[1, 1], [20, 30]])
    found = audit(table, cb.publish(table, "[col|row]@1"))
    cell = cells_of(found)["a", "x"]
    assert cell.values.size > 1
    assert not cell.disclosed
    assert cell.outcome is not UNSAFE


def test_narrow_cells():
    # 14 = 2 + 12 = 8 + 6: two values each.
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    found = audit(table, cb.publish(table, "[col|row]"))
    assert [cell.values.size for cell in found.cells] == [2, 2, 2, 2]
    assert all(cell.narrow and not cell.disclosed for cell in found.cells)
    assert NARROW == 3
    assert found.verdict.safe


def test_unbounded_cells_are_neither_narrow_nor_disclosed():
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    found = audit(table, cb.publish(table, "[col|row]", total=False))
    assert not any(cell.narrow or cell.disclosed or cell.outcome is UNSAFE for cell in found.cells)


def test_sampling_zeros_count_structural_zeros_do_not():
    table = cb.Table(DOMAIN, [[0, 20], [30, 40]])
    structural = cb.Table(DOMAIN, [[0, 20], [30, 40]], structural=[[True, False], [False, False]])
    zeros = cb.policies.Policy("zeros", rules=[cb.policies.SmallCounts(at_most=3, values=2)])
    sampling = cells_of(audit(table, cb.publish(table, "[col|row]", "[row]"), zeros))["a", "x"]
    assert sampling.outcome is UNSAFE
    assert not sampling.structural
    release = cb.publish(structural, "[col|row]", "[row]")
    known = cells_of(audit(structural, release, zeros))["a", "x"]
    assert known.disclosed
    assert known.structural
    assert known.outcome is not UNSAFE


def test_zero_rows_do_not_count():
    table = cb.Table(DOMAIN, [[0, 0], [30, 40]])
    found = audit(table, cb.publish(table, "[col|row]@2"))
    empty = cells_of(found)["a", "x"]
    assert empty.disclosed
    assert empty.empty_row
    assert empty.outcome is not UNSAFE
    assert not cells_of(found)["b", "x"].empty_row
    assert found.verdict.safe


def test_zero_rows_with_givens_in_another_order():
    domain = cb.Domain({"a": ["a0", "a1"], "b": ["b0", "b1", "b2"], "c": ["c0", "c1"]})
    counts = [[[0, 0], [9, 8], [7, 6]], [[9, 9], [0, 0], [5, 4]]]
    table = cb.Table(domain, counts)
    found = audit(table, cb.publish(table, "[c|b,a]@2"))
    empty = {cell.labels[:2] for cell in found.cells if cell.empty_row}
    assert empty == {("a0", "b0"), ("a1", "b1")}


def test_a_sampling_zero_in_a_filled_row_is_no_zero_row():
    table = cb.Table(DOMAIN, [[0, 20], [30, 40]])
    zeros = cb.policies.Policy("zeros", rules=[cb.policies.SmallCounts(at_most=3, values=2)])
    found = audit(table, cb.publish(table, "[col|row]"), zeros)
    assert cells_of(found)["a", "x"].outcome is UNSAFE


def test_small_row_sums_asked_about():
    # 7 = 1 + 6 only: the lone person of row a is given away by the rates of row b and N.
    table = cb.Table(DOMAIN, [[1, 0], [1, 5]])
    found = audit(table, cb.publish(table, "[col|row]"), over=("row",))
    cells = cells_of(found)
    assert cells["a",].count == 1
    assert cells["a",].outcome is UNSAFE
    assert cells["b",].outcome is not UNSAFE


def test_the_table_must_fit_the_release():
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    other = cb.Table(DOMAIN, [[91827, 1], [4, 8]])
    with pytest.raises(cb.InvalidInput, match=r"contradicts \[col\|row\], N=14") as caught:
        audit(other, cb.publish(table, "[col|row]"))
    assert "91827" not in str(caught.value)


def test_progress_is_told():
    seen = []
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    audit(
        table,
        cb.publish(table, "[col|row]"),
        budget=cb.Budget(progress=lambda done, total: seen.append((done, total))),
    )
    assert seen[-4:] == [(0, 4), (1, 4), (2, 4), (3, 4)]


def test_the_papers_table_is_unsafe_at_two_decimals():
    table = cb.datasets.read("delinquent")
    found = audit(table, cb.publish(table, "[education|county]@2"))
    assert not found.verdict.safe
    assert {cell.labels for cell in found.cells if cell.outcome is UNSAFE} == {
        ("Alpha", "Medium"),
        ("Alpha", "High"),
        ("Alpha", "Very High"),
        ("Gamma", "Low"),
        ("Gamma", "Very High"),
        ("Delta", "Very High"),
    }
    assert audit(table, cb.publish(table, "[education|county]@1")).verdict.safe


def test_digests_of_a_table():
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    same = cb.Table(cb.Domain({"row": ["a", "b"], "col": ["x", "y"]}), np.array([[1, 1], [4, 8]]))
    others = [
        cb.Table(DOMAIN, [[1, 1], [4, 9]]),
        cb.Table(DOMAIN, [[1, 1], [8, 4]]),
        cb.Table(cb.Domain({"row": ["a", "c"], "col": ["x", "y"]}), [[1, 1], [4, 8]]),
        cb.Table(cb.Domain({"col": ["a", "b"], "row": ["x", "y"]}), [[1, 1], [4, 8]]),
        cb.Table(DOMAIN, [[1, 0], [4, 8]]),
        cb.Table(DOMAIN, [[1, 0], [4, 8]], structural=[[False, True], [False, False]]),
        cb.Table(DOMAIN, [[1, 1], [4, 2**80]]),
    ]
    assert table.digest == same.digest
    assert len({table.digest, *(one.digest for one in others)}) == 1 + len(others)
    keyed = {one.keyed_digest(key) for one in (table, others[0]) for key in (b"k", b"l")}
    assert len(keyed) == 4
    assert table.digest not in keyed
    assert table.keyed_digest(b"k") == same.keyed_digest(b"k")
    for key in (b"", "text", None):
        with pytest.raises(cb.InvalidInput, match="secret bytes"):
            table.keyed_digest(key)


def test_an_audit_as_plain_values_is_the_json_of_the_command(run, tmp_path):
    table = cb.datasets.read("delinquent")
    table.write(tmp_path / "t.csv")
    code, out, _ = run("audit", tmp_path / "t.csv", "[education|county]@2", "--format", "json")
    written, plain = json.loads(out), audit(table, cb.publish(table, "[education|county]@2"))
    ours = json.loads(json.dumps(plain.to_dict()))
    assert code == 1
    assert {**ours, "seconds": 0} == {**written, "seconds": 0}


def test_an_audit_as_a_frame_and_in_a_notebook():
    table = cb.datasets.read("delinquent")
    found = audit(table, cb.publish(table, "[education|county]@2"))
    frame = found.to_frame(backend="pandas")
    assert list(frame) == ["county", "education", "count", "lower", "upper", "size", "outcome"]
    assert frame["count"].tolist() == table.counts.ravel().tolist()
    assert (frame["outcome"] == "unsafe").sum() == 6
    page = found._repr_html_()
    assert page.startswith("<table>")
    assert page.index("UNSAFE</td>") < page.index(">SAFE</td>")  # rule-breakers first
    assert (
        repr(found) == "<audit: UNSAFE under the policy small-counts: [education|county]@2, N=135>"
    )
    assert str(found).splitlines()[2].split() == ["Alpha", "Medium", "1", "1", "1", "1", "UNSAFE"]


def test_an_audit_has_its_report(tmp_path):
    table = cb.datasets.read("delinquent")
    found = audit(table, cb.publish(table, "[education|county]@2"))
    found.report(public=True).write(tmp_path / "public.json")
    content = json.loads((tmp_path / "public.json").read_text("utf-8"))
    assert content["view"] == "public"
    assert "internal" not in content
    assert found.report(rng=3).to_dict()["internal"]["input"]["seed"] == 3
