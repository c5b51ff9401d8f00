"""Hierarchies: codes of a variable as a tree, and its levels as derived variables."""

from __future__ import annotations

import polars
import pytest

import cellbounds as cb
from cellbounds.data.hierarchy import Hierarchy

HRC = "N\n@N1\n@N2\nS\n@S1\n@@S1a\n@@S1b\n@S2\n"
TREE = {"N": ["N1", "N2"], "S": {"S1": ["S1a", "S1b"], "S2": None}}
PAIRS = [("S1a", "S1"), ("S1b", "S1"), ("N1", "N"), ("N2", "N"), ("S1", "S"), ("S2", "S")]


def same(one, other):
    return set(one.parents) == set(other.parents)


def test_every_way_gives_the_same_tree():
    tree = Hierarchy(TREE)
    columns = {
        "region": ["N", "N", "S", "S", "S"],
        "county": ["N1", "N2", "S1", "S1", "S2"],
        "mun": ["N1", "N2", "S1a", "S1b", "S2"],
    }
    assert same(Hierarchy.from_hrc(HRC), tree)
    assert same(Hierarchy.from_hrc(HRC.replace("@", ".")), tree)
    assert same(Hierarchy.from_pairs([*PAIRS, ("N", None), ("S", None)]), tree)
    assert same(Hierarchy.from_columns(columns), tree)
    assert same(Hierarchy.from_prefixes(["N", "N1", "N2", "S", "S1", "S1a", "S1b", "S2"]), tree)
    assert Hierarchy.from_columns(columns).names == ("region", "county")


def test_files(tmp_path):
    (tmp_path / "a.hrc").write_text(HRC, "utf-8")
    pairs = "child,parent\n" + "".join(f"{child},{parent}\n" for child, parent in PAIRS)
    (tmp_path / "b.csv").write_text(f"{pairs}N,\nS,\n", "utf-8")
    (tmp_path / "c.csv").write_text(
        "region,county,mun\nN,N1,N1\nN,N2,N2\nS,S1,S1a\nS,S1,S1b\nS,S2,S2\n", "utf-8"
    )
    for name in ("a.hrc", "b.csv", "c.csv"):
        assert same(Hierarchy.read(tmp_path / name), Hierarchy(TREE)), name


def test_levels_share_out_everybody():
    tree = Hierarchy(TREE, total="Total")
    assert tree.depth == 3
    assert tree.levels() == (
        ("N", "S"),
        ("N1", "N2", "S1", "S2"),
        ("N1", "N2", "S1a", "S1b", "S2"),
    )
    domain = cb.Domain({"mun": tree.leaves}, groupings=tree.groupings("mun"))
    assert all(domain.shares_out(name) for name in domain.groupings)
    assert tree.codes[0] == "Total"
    assert tree.leaves_below("Total") == tree.leaves


def test_the_only_top_of_pairs_is_the_total():
    tree = Hierarchy.from_pairs([*PAIRS, ("N", "All"), ("S", "All")])
    assert tree.total == "All"
    assert tree.children("All") == tree.children(None)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Hierarchy({}), "without codes"),
        (lambda: Hierarchy({"N": ["A"], "S": ["A"]}), "twice"),
        (lambda: Hierarchy({"N": "AB"}), "give a list or a mapping"),
        (lambda: Hierarchy(["a", "b"], names=["x"]), "names"),
        (lambda: Hierarchy.from_pairs([("a", "b"), ("b", "a")]), "below itself|without codes"),
        (lambda: Hierarchy.from_pairs([("a", "b"), ("a", "c"), ("b", None)]), "one place"),
        (lambda: Hierarchy.from_hrc("@N1\n"), "deep"),
        (lambda: Hierarchy.from_hrc("N\n@@N1\n"), "deep"),
        (lambda: Hierarchy.from_hrc("N\nN\n"), "twice"),
        (lambda: Hierarchy.from_hrc(""), "without codes"),
        (lambda: Hierarchy.from_columns({"a": ["x", "y"], "b": ["1", ""]}), "missing"),
        (lambda: Hierarchy.from_columns({"a": ["x", "y"], "b": ["1", "1"]}), "one place"),
        (lambda: Hierarchy.from_hrc("".join("@" * k + f"{k}\n" for k in range(99))), "levels"),
    ],
)
def test_what_is_no_tree_is_refused(make, said):
    with pytest.raises(cb.InvalidInput, match=said):
        make()


PEOPLE = polars.DataFrame(
    {
        "county": ["N", "N", "S", "S", "S"],
        "mun": ["N1", "N2", "S1", "S2", "S1"],
        "sex": ["f", "m", "f", "m", "m"],
    }
)


def test_nested_columns_of_records_become_levels():
    table = cb.read_table(PEOPLE, count=None, hierarchies={"mun": ["county", "mun"]})
    assert table.domain.names == ("mun", "sex")
    assert table.domain.levels("county") == ("N", "S")
    release = cb.publish(table, "[mun+,sex+]")
    assert [one.notation for one in release.statements] == [
        "[mun,sex]",
        "[mun]",
        "[county,sex]",
        "[county]",
        "[sex]",
        "N=5",
    ]


def test_a_column_that_is_not_nested_is_refused():
    crossed = PEOPLE.with_columns(county=polars.Series(["N", "S", "N", "S", "S"]))
    with pytest.raises(cb.InvalidInput, match="one place"):
        cb.read_table(crossed, count=None, hierarchies={"mun": ["county", "mun"]})


def test_plus_keeps_rules_and_leaves_variables_alone():
    table = cb.read_table(PEOPLE, count=None, hierarchies={"mun": ["county", "mun"]})
    release = cb.publish(table, "[mun+,sex]<3", total=False)
    assert [one.notation for one in release.statements] == [
        "[mun,sex]<3",
        "[county,sex]<3",
        "[sex]<3",
    ]
    odd = cb.Table(cb.Domain({"age+": ["a", "b"]}), [1, 2])
    assert cb.publish(odd, "[age+]", total=False).statements[0].variables == ("age+",)
    for text, said in (("[sex|mun+]@1", "in a margin"), ("[age+]", "no variable")):
        with pytest.raises(cb.InvalidInput, match=said):
            cb.publish(table, text)


def test_codes_above_others_in_a_file_of_counts_are_checked_and_left_out():
    lines = [("N", 5), ("N1", 2), ("N2", 3), ("S", 4), ("Total", 9)]
    frame = polars.DataFrame(lines, schema=["place", "count"], orient="row")
    table = cb.read_table(frame, hierarchies={"place": {"N": ["N1", "N2"], "S": None}})
    assert table.total == 9
    assert table.domain.levels("place") == ("N1", "N2", "S")
    wrong = frame.with_columns(count=polars.Series([6, 2, 3, 4, 9]))
    with pytest.raises(cb.InvalidInput, match=r"the cell \('N',\) differs"):
        cb.read_table(wrong, hierarchies={"place": {"N": ["N1", "N2"], "S": None}})
