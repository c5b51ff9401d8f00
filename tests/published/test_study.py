"""Document 003's questions and document 004's baseline: what is measured, on known tables."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import cellbounds as cb
from cellbounds.papers import pages, study, swapping, worked_releases
from cellbounds.papers.reproduction import reproduce_papers
from counting import Rule, list_tables

CHILDREN = cb.datasets.read("delinquent").counts


def test_what_exact_and_rounded_rates_determine():
    """Exact rates leave one table; two decimals, rounded consistently, none of its counts."""
    exact = study.measured(CHILDREN, None)
    assert exact == study.Measured(1, 1, 4, 4, 6, 6, 6, 6)
    rounded = study.measured(CHILDREN, 2, "consistent")
    assert (rounded.determined, rounded.rows_determined, rounded.small_determined) == (0, 0, 0)


def test_what_is_determined_is_so_in_every_table_that_fits():
    """Small tables: all that fit are listed, from the definitions."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        counts = study.random_counts((2, 3), 20, 1.0, rng)
        if not counts.sum(axis=1).all():
            continue
        rates = [[str(Fraction(int(n), int(row.sum()))) for n in row] for row in counts]
        fitting = np.array(list_tables(rates, 20, Rule(Fraction(0))))
        fixed = (fitting == fitting[0]).all(axis=0)
        seen = study.measured(counts, None)
        small = (counts > 0) & (counts <= 3)
        assert seen.determined == len(fitting) == 1 or (not seen.determined and len(fitting) > 1)
        assert seen.rows_determined == fixed.all(axis=1).sum()
        assert seen.small_determined == (fixed & small).sum()
        spans = fitting.max(axis=0) - fitting.min(axis=0)
        assert seen.narrow == (small & (spans < study.WIDTH)).sum()


def test_linear_bounds_never_say_narrow_of_what_is_wide():
    rng = np.random.default_rng(6)
    for _ in range(20):
        counts = study.random_counts((4, 4), 200, 1.0, rng)
        for digits in (1, 2, None):
            seen = study.measured(counts, digits)
            assert 0 <= seen.missed <= seen.narrow <= seen.small


def test_a_small_study_adds_up(monkeypatch):
    monkeypatch.setattr(study, "SHAPES", ((2, 2), (3, 2)))
    monkeypatch.setattr(study, "PEOPLE", (20, 200))
    settings = list(study.study(3))
    assert len(settings) == 2 * 2 * 2 * 5
    assert all(one.seen.tables == 3 for one in settings)
    assert settings == list(study.study(3))
    assert all(0 <= (one.share("row") or 0) <= 1 for one in settings)


def test_swapping_keeps_both_margins_and_more_swaps_hide_more():
    rng = np.random.default_rng(7)
    hits = []
    for share in (0.0, 0.1, 1.0):
        made = [swapping.swapped(CHILDREN, share, rng) for _ in range(50)]
        assert all((one.sum(axis=0) == CHILDREN.sum(axis=0)).all() for one in made)
        assert all((one.sum(axis=1) == CHILDREN.sum(axis=1)).all() for one in made)
        hits.append(np.mean([(one == CHILDREN).mean() for one in made]))
    assert hits[0] == 1 and hits[0] > hits[1] > hits[2]


def test_at_equal_risk_rates_keep_more():
    seen = list(swapping.tradeoffs(tables=20))
    rates = [one for one in seen if one.kind == "rates" and one.how == "2 decimals"]
    assert len(rates) == len(swapping.PEOPLE)
    for one in rates:
        loss, _ = swapping.swapped_at(one, seen)
        assert 3 * one.rate_loss < loss


def test_every_page_and_figure_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "study", lambda _: study.study(1))
    monkeypatch.setattr(study, "PEOPLE", (30,))
    monkeypatch.setattr(pages, "tradeoffs", lambda: swapping.tradeoffs(2))
    written = pages.write_pages(tmp_path, reproduce_papers())
    assert sorted(path.name for path in written) == sorted(path.name for path in tmp_path.iterdir())
    text = "".join(path.read_text("utf-8") for path in written if path.suffix == ".md")
    for figure in tmp_path.glob("*.svg"):
        assert f"({figure.name})" in text
    assert "cps8.csv" in (tmp_path / "README.md").read_text("utf-8")


def test_releases_that_leave_many_tables_alone_leave_one_together():
    """Document 004's open question, on its own table; each count of tables by another way."""
    seen = {name: (tables, answer) for name, tables, answer in worked_releases.releases_together()}
    rates, margin = worked_releases.RATES, worked_releases.MARGIN
    assert seen[rates][0] == 403
    assert seen[margin][0] == math.prod(math.comb(n + 3, 3) for n in CHILDREN.sum(axis=0).tolist())
    both, answer = seen[f"{rates} and {margin}"]
    fitting = [
        table.counts
        for table in cb.tables(worked_releases.release_of(rates))
        if (table.counts.sum(axis=0) == CHILDREN.sum(axis=0)).all()
    ]
    assert both == len(fitting) == 1
    assert (answer.lower == CHILDREN).all() and (answer.upper == CHILDREN).all()


def test_sums_within_rows_are_those_of_all_tables():
    """All 403 tables of document 004's Table 8."""
    release = worked_releases.release_of(worked_releases.RATES)
    tables = [table.counts for table in cb.tables(release)]
    names = list(cb.datasets.read("delinquent").domain.levels("education"))
    for county, group, _, sharp, values in worked_releases.sums_within_rows():
        row = release.domain.levels("county").index(county)
        own = [names.index(level) for level in worked_releases.GROUPS[group]]
        sums = {int(counts[row, own].sum()) for counts in tables}
        assert (sharp, values) == (f"[{min(sums)}, {max(sums)}]", str(len(sums)))
