"""Synthetic tables: what they keep, what is written, what is refused."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.errors import InconsistentRelease, InvalidInput
from cellbounds.model.priors import Multinomial, Poisson, Uniform
from cellbounds.synthetic import Synthetic, synthesize
from cellbounds.synthetic.rounded import nearest_totals
from cellbounds.synthetic.synthesis import usual_prior
from strategies import few

DELINQUENT = cb.datasets.read("delinquent")
MARGINS = cb.publish(DELINQUENT, "[county]", "[education]")


def two_way(counts) -> cb.Table:
    rows, columns = np.shape(counts)
    levels = {"row": [f"r{i}" for i in range(rows)], "col": [f"c{j}" for j in range(columns)]}
    return cb.Table(cb.Domain(levels), counts)


@st.composite
def small_tables(draw) -> cb.Table:
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    cells = draw(st.lists(st.integers(0, 7), min_size=rows * columns, max_size=rows * columns))
    return two_way(np.array(cells).reshape(rows, columns))


def largest_remainder(row: list[int], digits: int) -> list[Fraction]:
    """The rounding rule, written down anew."""
    unit, total = 10**digits, sum(row)
    exact = [Fraction(count * unit, total) for count in row]
    figures = [int(share) for share in exact]
    order = sorted(range(len(row)), key=lambda j: figures[j] - exact[j])
    for column in order[: unit - sum(figures)]:
        figures[column] += 1
    return [Fraction(figure, unit) for figure in figures]


def steps(table: cb.Table, digits: int) -> list[int]:
    """Of each row that holds people, what its sum must be a multiple of."""
    return [
        int(np.lcm.reduce([rate.denominator for rate in largest_remainder(row, digits)]))
        for row in table.counts.tolist()
        if sum(row)
    ]


def reachable(multiples: list[int], most: int) -> list[int]:
    """Every sum of positive multiples, one of each number, up to a limit."""
    sums = {0}
    for step in multiples:
        sums = {a + b for a in sums for b in range(step, most + 1 - a, step)}
    return sorted(sums)


# What the tables keep.


@few(2)
@given(small_tables(), st.integers(0, 2**32 - 1))
def test_every_table_keeps_the_margins(table, seed):
    release = cb.publish(table, "[row]", "[col]")
    made = synthesize(release, copies=4, rng=seed)
    assert len(made) == len(made.tables) == len(list(made)) == 4
    for one in made:
        assert cb.violations(one, release) == []
        assert one.margin(["col"]).counts.tolist() == table.counts.sum(axis=0).tolist()


@given(small_tables().filter(lambda table: table.total > 0), st.integers(0, 2), st.integers(0, 99))
def test_tables_have_exactly_the_rounded_rates_and_the_nearest_total(table, digits, seed):
    made = synthesize(table, "[col|row]", digits=digits, total="nearest", copies=3, rng=seed)
    multiples = steps(table, digits)
    totals = reachable(multiples, table.total + sum(multiples))
    nearest = min(totals, key=lambda total: (abs(total - table.total), total))
    for one in made:
        assert one.total == nearest
        assert cb.violations(one, made.release) == []
        for before, after in zip(table.counts.tolist(), one.counts.tolist(), strict=True):
            if sum(before) == 0:
                assert sum(after) == 0
                continue
            rates = [Fraction(count, sum(after)) for count in after]
            assert rates == largest_remainder(before, digits)


@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 6, 7, 10, 12]), min_size=1, max_size=3),
    st.integers(0, 60),
)
@example([7, 12], 38)  # 31, 33, then 38: the gap above is wider than the one below
def test_nearest_totals_against_brute_force(multiples, around):
    domain = two_way(np.zeros((len(multiples), 2))).domain
    rates = [[Fraction(1, step), Fraction(step - 1, step)] for step in multiples]
    release = cb.Release(domain, [cb.Conditional(["col"], ["row"], rates=rates)])
    totals = reachable(multiples, 200)
    below = max((one for one in totals if one < around), default=None)
    above = min(one for one in totals if one > around)
    assert nearest_totals(release, around) == (below, above)


def test_shares_of_the_whole_table_have_one_row():
    made = synthesize(DELINQUENT, "[county,education|]", digits=2, total="nearest")
    shares = [Fraction(int(count), made[0].total) for count in made[0].counts.flat]
    assert shares == largest_remainder(DELINQUENT.counts.ravel().tolist(), 2)
    assert made[0].total == 100


def test_the_total_is_kept_where_it_can_be():
    table = cb.datasets.read("mp3")
    made = synthesize(table, "[mp3|gender]", digits=1, copies=5)
    assert {one.total for one in made} == {50}
    assert made.rounded.total == "same"
    assert {one.counts.tolist()[0][0] for one in made} <= set(range(3, 28, 3))


def test_margins_beside_the_rates_are_kept():
    table = two_way([[10, 10], [5, 15]])
    made = synthesize(table, ["[col|row]", "[row]"], digits=2, copies=2)
    assert [one.counts.tolist() for one in made] == [[[10, 10], [5, 15]]] * 2
    assert made.kept == ["[col|row] rounded to 2 decimals, then exact", "[row]", "N=40"]


def test_rates_that_contradict_a_margin_beside_them():
    with pytest.raises(InconsistentRelease, match="another number of digits"):
        synthesize(two_way([[1, 2], [5, 15]]), ["[col|row]", "[row]"], digits=1)


def test_omitted_variables_are_drawn():
    trial = cb.datasets.read("koch4")
    made = synthesize(trial, "[recovery|center]", digits=1, total="nearest", copies=2)
    for one in made:
        rates = one.conditional(["recovery"], given=["center"]).tolist()
        assert rates == [
            largest_remainder(row, 1)
            for row in trial.reshape(response=["recovery"], given=["center"]).counts.tolist()
        ]


# Reproducible, and from what prior.


def test_the_same_seed_gives_the_same_tables():
    first, second, other = (synthesize(MARGINS, copies=3, rng=seed) for seed in (5, 5, 6))
    assert first.tables == second.tables
    assert first.tables != other.tables
    assert first.seed == 5
    generated = synthesize(MARGINS, copies=3, rng=np.random.default_rng(5))
    assert generated.seed is None
    assert generated.tables == first.tables


def test_usual_priors():
    assert isinstance(usual_prior(MARGINS), Multinomial)
    without_total = cb.publish(DELINQUENT, "[county]", "[education]", total=False)
    assert usual_prior(without_total) == Poisson(1)
    assert isinstance(usual_prior(cb.publish(DELINQUENT, "[education|county]@2")), Uniform)
    hidden = cb.publish(DELINQUENT, "[county,education]<5", total=False)
    assert isinstance(usual_prior(hidden), Uniform)


def test_an_unsaid_total_gives_the_same_tables_if_margins_fix_it():
    without_total = cb.publish(DELINQUENT, "[county]", "[education]", total=False)
    assert synthesize(without_total, rng=1).tables == synthesize(MARGINS, rng=1).tables


def test_a_prior_may_be_chosen():
    assert isinstance(synthesize(MARGINS, prior="uniform").draws.prior, Uniform)


def test_chains_give_as_many_tables_as_were_asked_for():
    """Chains draw in equal parts, so a few more; no table is where a chain is told to begin."""
    made = synthesize(MARGINS, prior="uniform", copies=5, rng=1, effort=1)
    assert len(made) == len(made.tables) == len(made.to_dict()["counts"]) == 5
    assert all(cb.violations(one, MARGINS) == [] for one in made)
    assert "dependent draws; connected: proven" in str(made)
    assert len({one.counts.tobytes() for one in made}) == 5


# What a person sees.


def test_text_and_plain_values():
    made = synthesize(MARGINS, copies=8, rng=2)
    text = str(made)
    assert text.startswith("8 synthetic tables that keep [county], [education], N=135\n")
    assert "... 2 more copies: to_frame() has them all" in text
    assert "independent exact draws; prior: multinomial; seed 2" in text
    assert repr(made) == "<8 synthetic tables that keep [county], [education], N=135>"
    assert "<caption" in made._repr_html_()
    plain = json.loads(json.dumps(made.to_dict()))
    assert plain["format"] == "cellbounds-synthetic/1"
    assert plain["seed"] == 2
    assert plain["counts"] == [one.counts.tolist() for one in made]
    frame = made.to_frame("pandas")
    assert list(frame.columns) == ["copy", "county", "education", "count"]
    assert len(frame) == 8 * 16
    assert frame["copy"].tolist()[-1] == 8


def test_the_true_total_is_not_told_when_another_was_taken():
    made = synthesize(two_way([[21, 76], [13, 33]]), "[col|row]", digits=1, total="nearest")
    assert made[0].total == 145
    assert "143" not in f"{made}{made!r}{made.to_dict()}"
    assert any("nearest total" in note for note in made.notes)


# Files.


ODD = cb.Domain(
    {
        'a, "quoted" name': ["=1+1", "+x", "-y", "@z", "été, ñ", 'say "hi"'],
        "count": [" leading", "line\nbreak", "carriage\rreturn", "`tick`", "NA", "'"],
    }
)


def test_files_read_back_to_the_same_tables(tmp_path):
    table = cb.Table(ODD, np.arange(36).reshape(6, 6))
    release = cb.publish(table, '["a, ""quoted"" name"]', "[count]")
    made = synthesize(release, copies=3, rng=1)
    written = made.write(tmp_path / "out")
    assert [path.name for path in written] == [
        "synthetic-1.csv",
        "synthetic-2.csv",
        "synthetic-3.csv",
        "README.md",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    for one, path in zip(made, written[:-1], strict=True):
        assert cb.read_table(path, count="count_") == one
    readme = written[-1].read_text(encoding="utf-8")
    assert "`count_`" in readme
    assert "begin like a formula" in readme


label = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00\ufeff"), min_size=1
)


@few(2)
@given(
    st.lists(label, min_size=2, max_size=2, unique=True),
    label.filter(lambda name: name.strip() and name != "other "),
)
def test_any_labels_survive(tmp_path_factory, levels, name):
    table = cb.Table(cb.Domain({name: levels, "other ": ["x", "y"]}), [[1, 2], [3, 4]])
    others = cb.Margin(["other "], [4, 6])
    release = cb.Release(table.domain, [cb.Total(10), cb.Margin([name], [3, 7]), others])
    made = synthesize(release, rng=1)
    path = made.write(tmp_path_factory.mktemp("out"))[0]
    assert cb.read_table(path, count="count_" if name == "count" else "count") == made[0]


def test_the_readme_says_what_was_kept_and_holds_no_count(tmp_path):
    table = two_way([[211, 763], [131, 337]])
    made = synthesize(table, "[col|row]", digits=1, copies=2, total="nearest", rng=4)
    made.write(tmp_path)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    for said in (
        "`[col|row] rounded to 1 decimal, then exact`",
        "`N=1440`",
        "rounded to 1 decimal",
        "seed 4",
        f"cellbounds {cb.__version__}, 2 copies",
        "independent exact draws",
        "must not be inferred",
        "nearest total",
    ):
        assert said in readme
    numbers = set(re.findall("[0-9]+", readme))
    sums = {table.total, *table.counts.sum(axis=0).tolist(), *table.counts.sum(axis=1).tolist()}
    assert not numbers & {str(count) for count in (*table.counts.flat, *sums)}
    assert not re.search("[0-9a-f]{12}", readme)  # nor a digest


def test_other_files_in_the_folder_stay(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    synthesize(MARGINS).write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "README.md",
        "mine.txt",
        "synthetic-1.csv",
    ]


def test_files_of_the_same_name_are_replaced_only_if_asked(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    made = synthesize(MARGINS, copies=2)
    with pytest.raises(InvalidInput, match=r"README\.md already.*overwrite=True \(--overwrite\)"):
        made.write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    made.write(tmp_path, overwrite=True)
    assert (tmp_path / "README.md").read_text().startswith("# Synthetic tables")
    with pytest.raises(InvalidInput, match=r"synthetic-2\.csv, which is none of these"):
        synthesize(MARGINS).write(tmp_path, overwrite=True)


def test_a_failed_move_leaves_everything_as_it_was(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    made = synthesize(MARGINS, copies=2, rng=1)
    made.write(folder)
    before = {path.name: path.read_text() for path in folder.iterdir()}
    replace = Path.replace

    def full(self, target):
        if Path(target) == folder / "README.md" and not self.parent.name.endswith("replaced"):
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InvalidInput, match=r"No space left on device; nothing was changed"):
        synthesize(MARGINS, copies=2, rng=2).write(folder, overwrite=True)
    assert {path.name: path.read_text() for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_cannot_be_written(tmp_path):
    made = synthesize(MARGINS)
    with pytest.raises(InvalidInput, match="cannot be written: No such file"):
        made.write(tmp_path / "missing" / "out")
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InvalidInput, match="is not a folder"):
        made.write(file)
    with pytest.raises(InvalidInput, match="cannot be written"):
        made.write(file / "out")
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("levels", [["", "x"], ["1", 1], ["x\x00", "y"]])
def test_labels_that_files_cannot_hold(tmp_path, levels):
    domain = cb.Domain({"a": levels, "b": ["x", "y"]})
    margins = [cb.Margin(["a"], [2, 1]), cb.Margin(["b"], [1, 2])]
    made = synthesize(cb.Release(domain, margins))
    with pytest.raises(InvalidInput, match="rename"):
        made.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([cb.publish(two_way([[0, 0], [5, 7]]), "[row]", "[col]")], {}),
        ([two_way([[3, 7]]), "[col|row]"], {"digits": 1}),
    ],
    ids=["release", "rates"],
)
def test_the_confidential_table_itself_is_not_written(tmp_path, arguments, options):
    made = synthesize(*arguments, **options)
    assert made.original
    assert "only one table keeps all this: it is the confidential one itself" in made.notes
    with pytest.raises(InvalidInput, match="it is the confidential one itself; keep less"):
        made.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_another_table_that_is_the_only_one_may_be_written(tmp_path):
    made = synthesize(two_way([[2, 9]]), "[col|row]", digits=1, total="nearest", copies=3)
    assert made[0].counts.tolist() == [[2, 8]]
    assert not made.original
    assert "only one table keeps all this: it is the same in every copy" in made.notes
    assert len(made.write(tmp_path / "out")) == 4


# Beside the true table.


def test_a_report_on_margins():
    made = synthesize(MARGINS, copies=3, rng=1)
    report = made.compare(DELINQUENT)
    published, itself = report.disclosures
    assert (published.published, itself.published) == ("synthetic tables", "the table itself")
    assert (published.disclosed, published.unsafe, published.verdict) == (0, 0, "safe")
    assert (itself.disclosed, itself.unsafe, itself.verdict) == (16, 6, "unsafe")
    for match, one in zip(report.matches, made, strict=True):
        same = one.counts == DELINQUENT.counts
        assert (match.cells, match.equal) == (16, int(same.sum()))
        assert (match.small, match.small_equal) == (6, int(same[DELINQUENT.counts <= 3].sum()))
    assert report.utility.copies == ("copy 1", "copy 2", "copy 3")


def test_a_report_for_people_and_programs():
    report = synthesize(DELINQUENT, "[education|county]", digits=1, total="nearest").compare(
        DELINQUENT
    )
    text = str(report)
    assert text.startswith("SAFE under the policy small-counts: the synthetic tables\n")
    assert "rounded rates" in text
    assert "counts that are the true ones" in text
    assert "compared with the true table" in text
    assert repr(report) == "<report on 1 synthetic table, for the owner>"
    assert report._repr_html_().count("<table>") >= 3
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["format"] == "cellbounds-synthetic-report/1"
    assert [one["published"] for one in plain["disclosure"]] == [
        "synthetic tables",
        "rounded rates and N",
        "the table itself",
    ]
    frame = report.to_frame("pandas")
    assert list(frame.columns) == ["published", "measure", "value"]


@few(3)
@given(small_tables().filter(lambda table: table.total > 0), st.integers(0, 2))
def test_the_true_total_is_among_those_that_the_tables_leave_open(table, digits):
    """Somebody who knows the rule excludes every N that has another nearest total."""
    made = synthesize(table, "[col|row]", digits=digits, total="nearest")
    found = made.compare(table).disclosures[0]
    multiples = steps(table, digits)
    totals = reachable(multiples, 4 * (table.total + sum(multiples)))
    left = [
        total
        for total in range(2 * (table.total + sum(multiples)))
        if min(totals, key=lambda one: (abs(one - total), one)) == made[0].total
    ]
    assert table.total in left
    said = [one for one in found.statements if one.startswith("N")]
    exact = left[0] == left[-1]
    assert said == [f"N={left[0]}" if exact else f"N in {left[0]}..{left[-1]}"]


def test_empty_rows_are_no_match():
    made = synthesize(two_way([[0, 0], [5, 5]]), "[col|row]", digits=1)
    assert made.compare(two_way([[0, 0], [5, 5]])).matches[0].cells == 2


def test_a_report_needs_the_table_behind():
    made = synthesize(DELINQUENT, "[education|county]", digits=1, total="nearest")
    other = cb.Table(DELINQUENT.domain, DELINQUENT.counts[::-1])
    with pytest.raises(InvalidInput, match="does not round to the rates"):
        made.compare(other)
    with pytest.raises(InvalidInput, match="contradicts"):
        synthesize(MARGINS).compare(other)
    with pytest.raises(InvalidInput, match="give the true Table"):
        made.compare(MARGINS)


# What is refused.


@pytest.mark.parametrize("copies", [0, -1, 1.5, True, "2"])
def test_copies_are_one_or_more(copies):
    with pytest.raises(
        InvalidInput, match=re.escape(f"copies={copies!r}; give a whole number, 1 or more")
    ):
        synthesize(MARGINS, copies=copies)


@pytest.mark.parametrize("rng", [-1, 1.5, None, True, "seed"])
def test_seeds(rng):
    with pytest.raises(InvalidInput, match=r"give a seed"):
        synthesize(MARGINS, rng=rng)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (["[education|county]"], {}, "digits=None with .*; give the number of decimals"),
        (["[education|county]"], {"digits": -1}, "digits=-1; give a whole number from 0"),
        (["[education|county]"], {"digits": 1.0}, "digits=1.0; give a whole number from 0"),
        (["[education|county]@2"], {"digits": 1}, "digits=1 with .*; say .* once"),
        (["[education,county]"], {"digits": 1}, "says nothing of rates; give a conditional"),
        (["N"], {"digits": 1}, "says nothing of rates; give a conditional"),
        ([[]], {"digits": 1}, "no statement of rates"),
        ([], {"digits": 1}, "a table without a statement"),
        (["[education|county]"], {"digits": 1, "total": "any"}, "total='any'; choose one of"),
        (["[education|city]"], {"digits": 1}, "city"),
        (
            [["[education|county]", "[county]"]],
            {"digits": 1, "total": "nearest"},
            "goes with one statement of rates",
        ),
    ],
)
def test_statements_that_are_refused(arguments, options, said):
    with pytest.raises(InvalidInput, match=said):
        synthesize(DELINQUENT, *arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [([], {"digits": 2}), (["[education|county]"], {}), ([], {"total": "nearest"})],
)
def test_a_release_says_what_is_kept_by_itself(arguments, options):
    with pytest.raises(InvalidInput, match="these go with a table"):
        synthesize(MARGINS, *arguments, **options)


def test_other_sources():
    with pytest.raises(InvalidInput, match="neither a Release nor a Table"):
        synthesize([[1, 2], [3, 4]])


def test_decimals_may_be_written_in_the_statement():
    made = synthesize(cb.datasets.read("mp3"), "[mp3|gender]@1")
    assert isinstance(made, Synthetic)
    assert made.rounded.digits == 1


def test_a_release_without_tables():
    with pytest.raises(InconsistentRelease):
        synthesize(
            cb.Release(
                DELINQUENT.domain, [MARGINS.statements[0], cb.Margin(["education"], [1, 2, 3, 4])]
            )
        )
