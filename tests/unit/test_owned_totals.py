"""Totals in the tables of their owner: left out if they are, refused if they may be."""

from __future__ import annotations

import itertools

import pandas
import polars
import pytest

import cellbounds as cb
from cellbounds.data import owned_crosstabs


def with_totals(table, total="Total", mend=None):
    """A tidy frame of a table and all its totals."""
    domain = table.domain
    levels = [domain.levels(name) for name in domain.names]
    rows = []
    for cell in itertools.product(*((*one, total) for one in levels)):
        choices = [
            one if label == total else (label,) for label, one in zip(cell, levels, strict=True)
        ]
        count = sum(table[labels] for labels in itertools.product(*choices))
        rows.append((*cell, count if mend is None else mend(cell, count)))
    return polars.DataFrame(rows, schema=[*domain.names, "count"], orient="row")


CENSUS = cb.datasets.read("delinquent")


@pytest.mark.parametrize("total", ["Total", "TOTAL", "All", "Insgesamt", "Ensemble", "I alt"])
def test_totals_are_not_counted_again(total):
    frame = with_totals(CENSUS, total)
    assert frame["count"].sum() == 4 * CENSUS.total
    assert cb.read_table(frame) == CENSUS
    assert cb.read_table(frame, totals=False).total == 4 * CENSUS.total


def test_two_hundred_and_twenty_nine_people_stay_so(tmp_path, run):
    people = cb.Table(
        cb.Domain({"a": ["x", "y", "z"], "b": ["p", "q"]}), [[50, 60], [30, 9], [80, 0]]
    )
    with_totals(people).write_csv(tmp_path / "t.csv")
    assert cb.read_table(tmp_path / "t.csv").total == 229
    code, out, _ = run("audit", str(tmp_path / "t.csv"), "[a,b]", "--format", "json")
    assert code in (0, 1)
    assert '"N=229"' in out
    code, out, _ = run("audit", str(tmp_path / "t.csv"), "[a]", "--no-totals", "--format", "json")
    assert '"N=916"' in out


def test_of_variables_that_are_summed_over_totals_do_not_count_either():
    assert cb.read_table(with_totals(CENSUS), variables=["county"]) == CENSUS.margin(["county"])


def test_a_total_that_contradicts_its_parts_is_named_without_its_count():
    def mend(cell, count):
        return count + 1000 * (cell == ("Total", "Low"))

    with pytest.raises(cb.InvalidInput, match=r"\('Total', 'Low'\)") as caught:
        cb.read_table(with_totals(CENSUS, mend=mend))
    assert "10" not in str(caught.value)
    assert "--no-totals" in str(caught.value)


def test_a_sum_that_is_not_called_total_is_refused():
    with pytest.raises(cb.InvalidInput, match="--totals county=Everybody"):
        cb.read_table(with_totals(CENSUS, "Everybody"))
    told = {"county": "Everybody", "education": "Everybody"}
    assert cb.read_table(with_totals(CENSUS, "Everybody"), totals=told) == CENSUS


def test_two_totals_or_unknown_ones_are_refused():
    frame = polars.DataFrame({"a": ["Total", "All", "x"], "count": [1, 1, 1]})
    with pytest.raises(cb.InvalidInput, match="are all called totals"):
        cb.read_table(frame)

    for given, said in (({"b": "x"}, "no variable"), ({"a": "z"}, "unknown level")):
        with pytest.raises(cb.InvalidInput, match=said):
            cb.read_table(frame, totals=given)


def test_records_have_no_totals():
    frame = polars.DataFrame({"a": ["Total", "x"]})
    assert cb.read_table(frame, count=None).total == 2


def test_two_equal_levels_are_no_sum():
    frame = polars.DataFrame(
        {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"], "count": [3, 4, 3, 4]}
    )
    assert cb.read_table(frame).total == 14


def test_crosstabs_of_the_owner_are_read_without_their_totals(tmp_path):
    people = pandas.DataFrame({"place": list("NNNSSSS"), "sex": list("fmmffmm")})
    cross = pandas.crosstab(people.place, people.sex, margins=True)
    table = cb.read_table(cross)
    assert table.domain.names == ("place", "sex")
    assert table.counts.tolist() == [[1, 2], [2, 2]]
    cross.to_excel(tmp_path / "c.xlsx")
    cross.to_csv(tmp_path / "c.csv")
    for name in ("c.csv", "c.xlsx"):  # pandas writes no name for what stands in the columns
        assert cb.read_table(tmp_path / name).counts.tolist() == [[1, 2], [2, 2]], name
        assert cb.read_table(tmp_path / name).domain.names == ("place", "column")
    nested = pandas.crosstab(people.place, [people.sex, people.sex.rename("again")])
    assert cb.read_table(nested).total == 7
    hidden = cross.astype(object)
    hidden.loc["N", "f"] = "x"
    with pytest.raises(cb.InvalidInput, match="shows no count"):
        cb.read_table(hidden)
    wrong = cross.copy()
    wrong.loc["All", "f"] = 977
    with pytest.raises(cb.InvalidInput, match="differs from the sum") as caught:
        cb.read_table(wrong)
    assert "977" not in str(caught.value)


def test_variables_of_a_crosstab_get_names(tmp_path, run):
    path = tmp_path / "heads.csv"
    path.write_text("Kreis,m,m,w,w,Total\n,jung,alt,jung,alt,\nA,1,2,3,4,10\nB,5,6,7,8,26\n")
    assert cb.read_table(path).domain.names == ("Kreis", "column 1", "column 2")
    named = cb.read_table(path, variables=["Kreis", "Geschlecht", "Alter"])
    assert named.margin(["Geschlecht"]).counts.tolist() == [14, 22]
    # Its own names choose, as in any table; so do they in another order.
    assert cb.read_table(path, variables=["column 2"]).counts.tolist() == [16, 20]
    swapped = cb.read_table(path, variables=["column 2", "column 1", "Kreis"])
    assert swapped.domain.names == ("column 2", "column 1", "Kreis")
    with pytest.raises(cb.InvalidInput, match="Alter"):
        cb.read_table(path, variables=["Kreis", "Alter"])
    names = "--variables", "Kreis,Geschlecht,Alter"
    code, out, _ = run("audit", str(path), "[Kreis,Geschlecht]", *names)
    assert code == 1 and "Kreis x Geschlecht" in out  # three men live in A


def test_a_total_beside_groups_may_stand_in_the_lower_row(tmp_path):
    path = tmp_path / "lower.csv"
    path.write_text(",m,,w,,\n,jung,alt,jung,alt,Total\nA,1,2,3,4,10\nB,5,6,7,8,26\n")
    assert cb.read_table(path).counts.tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    # Of the last group alone it is not taken for one: the arithmetic says so.
    path.write_text(path.read_text().replace("10", "7").replace("26", "15"))
    with pytest.raises(cb.InvalidInput, match="differs from the sum"):
        cb.read_table(path)
    # Groups of which each has its own are as they were.
    path.write_text(",m,,,w,,\n,jung,alt,Total,jung,alt,Total\nA,1,2,3,3,4,7\nB,5,6,11,7,8,15\n")
    assert cb.read_table(path).counts.tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]


def test_what_is_no_crosstab_keeps_its_error():
    frame = polars.DataFrame({"a": ["x", "y"], "n": [1, 2]})
    with pytest.raises(cb.InvalidInput, match="count"):
        cb.read_table(frame)


def test_large_records_are_not_looked_at_twice(monkeypatch):
    monkeypatch.setattr(owned_crosstabs, "grids_of", None)  # which would be called
    frame = polars.DataFrame({"a": ["x"] * (owned_crosstabs.MOST_ROWS + 1)})
    with pytest.raises(cb.InvalidInput, match="count"):
        cb.read_table(frame)
