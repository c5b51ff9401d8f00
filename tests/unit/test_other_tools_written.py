"""Published tables written for other tools and people, and read again."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit import other_tools_files as files

import cellbounds as cb
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.other_tools.writing import STYLES, hrc_text, to_frame, write_tau_argus
from cellbounds.data.published import UNKNOWN, ZERO, PublishedTable
from cellbounds.statements.printing import printed_table
from cellbounds.statements.published import release_of

SPLITS = [
    {"p": None, "q": None},
    {"p": ["p1", "p2"], "q": None},
    {"p": {"p1": ["p11", "p12"]}, "q": ["q1"]},
]


@st.composite
def tables(draw: st.DrawFn) -> PublishedTable:
    """Tables with consistent counts, of which some are hidden, all totals and subtotals listed."""
    trees = {
        name: Hierarchy(draw(st.sampled_from(SPLITS)), total="Total")
        for name in ("a b", "size")[: draw(st.integers(1, 2))]
    }
    leaves = list(itertools.product(*(tree.leaves for tree in trees.values())))
    inner = {leaf: draw(st.integers(0, 12)) for leaf in leaves}
    entries, flags = {}, {}
    for cell in itertools.product(*(tree.codes for tree in trees.values())):
        below = itertools.product(
            *(tree.leaves_below(code) for tree, code in zip(trees.values(), cell, strict=True))
        )
        count = sum(inner[leaf] for leaf in below)
        kind = draw(st.sampled_from(["shown", "shown", "primary", "secondary"]))
        entries[cell] = count if kind == "shown" else None
        if kind != "shown":
            flags[cell] = kind
    return PublishedTable(where="made", hierarchies=trees, entries=entries, flags=flags)


def same(found: PublishedTable, table: PublishedTable) -> None:
    entries = {cell: 0 if entry == ZERO else entry for cell, entry in found.entries.items()}
    assert entries == dict(table.entries)
    assert found.flags == table.flags
    assert not found.truths


@given(tables())
def test_tau_argus(tmp_path_factory, table: PublishedTable) -> None:
    folder = tmp_path_factory.mktemp("written")
    made = table.write(folder / "table.tab")
    trees = [tree for tree in table.hierarchies.values() if tree.depth > 1]
    assert len(made) == 2 + len(trees)
    (found,) = cb.read_published(folder / "table.tab").tables
    same(found, table)
    assert [tree.parents for tree in found.hierarchies.values()] == [
        tree.parents for tree in table.hierarchies.values()
    ]


@given(tables(), st.sampled_from(STYLES))
def test_frames(tmp_path_factory, table: PublishedTable, style: str) -> None:
    told = {"hierarchies": table.hierarchies}
    path = tmp_path_factory.mktemp("written") / "table.csv"
    table.write(path, style=style)
    (found,) = cb.read_published(path, **told).tables
    same(found, table)
    (framed,) = cb.read_published(to_frame(table, style), **told).tables
    same(framed, table)


@given(tables())
def test_excel_with_marks(tmp_path_factory, table: PublishedTable) -> None:
    path = tmp_path_factory.mktemp("written") / "table.xlsx"
    table.write(path)
    names = list(table.variables)
    told = {"hierarchies": table.hierarchies, "totals": dict.fromkeys(names, "Total")}
    several = {"variables": names} if len(names) > 1 else {}
    # Where hidden counts are 0, nothing else tells that totals are not sums of what is shown.
    (found,) = cb.read_published(path, sums="all", **several, **told).tables
    entries = {cell: 0 if entry == ZERO else entry for cell, entry in found.entries.items()}
    assert entries == dict(table.entries)


@given(tables())
def test_hierarchies(table: PublishedTable) -> None:
    for tree in table.hierarchies.values():
        assert Hierarchy.from_hrc(hrc_text(tree), total="Total") == tree


def test_true_counts_are_written_only_where_an_owner_gives_them(tmp_path) -> None:
    path = tmp_path / "t.tab"
    path.write_text(files.telling_files()["simple.tab"])
    (table,) = cb.read_published(path, hierarchies={"V1": files.TREE}).tables
    assert table.truths
    table.write(tmp_path / "out.tab")
    assert '"N1";"m";x;x;U' in (tmp_path / "out.tab").read_text()
    write_tau_argus(table, tmp_path / "own.tab", truths=table.truths)
    assert '"N1";"m";2;2;U' in (tmp_path / "own.tab").read_text()
    (again,) = cb.read_published(tmp_path / "own.tab").tables
    assert again.truths == table.truths


def test_what_a_status_cannot_say_is_refused(tmp_path) -> None:
    tree = Hierarchy(["x", "y"])
    ranged = PublishedTable(
        where="made", hierarchies={"a": tree}, entries={("x",): "<5", ("y",): 7}
    )
    for name in ("t.tab", "t.csv"):
        with pytest.raises(cb.InvalidInput, match=r"the cell \('x',\) is a range"):
            ranged.write(tmp_path / name)
    ranged.write(tmp_path / "t.xlsx")
    rounded = PublishedTable(where="made", hierarchies={"a": tree}, entries={("x",): 5}, base=5)
    with pytest.raises(cb.InvalidInput, match="no exact counts"):
        rounded.write(tmp_path / "t.tab")
    unsaid = PublishedTable(
        where="made", hierarchies={"a": tree}, entries={("x",): UNKNOWN, ("y",): 7}
    )
    with pytest.raises(cb.InvalidInput, match="unknown"):
        unsaid.write(tmp_path / "t.tab")
    unsaid.write(tmp_path / "t.csv", style="sdctable")
    assert cb.read_published(tmp_path / "t.csv").tables[0].entries == unsaid.entries
    absent = PublishedTable(where="made", hierarchies={"a": tree}, entries={("x",): 5})
    with pytest.raises(cb.InvalidInput, match=r"says nothing of the cell \('y',\)"):
        absent.write(tmp_path / "t.tab")
    with pytest.raises(cb.InvalidInput, match=r"t\.pdf: a published table is written as"):
        unsaid.write(tmp_path / "t.pdf")


def test_what_publish_makes_is_a_printed_table(tmp_path) -> None:
    table = cb.datasets.read("koch4")
    first, second = table.domain.names[:2]
    release = cb.publish(table, f"[{first},{second}]", f"[{first}]")
    printed = printed_table(release)
    assert (
        release_of([printed]).digest
        == cb.publish(table.margin([first, second]), f"[{first},{second}]", f"[{first}]").digest
    )
    release.write(tmp_path / "out.tab")
    (found,) = cb.read_published(tmp_path / "out.tab").tables
    assert found.entries == printed.entries
    release.write(tmp_path / "out.xlsx")
    release.write(tmp_path / "out.csv")


@pytest.mark.parametrize("how", ["[a]", "[a]~5", "[a]<4", "[a]<8~5", "[a]~noise"])
def test_printing_is_the_inverse_of_reading(how: str) -> None:
    table = cb.Table(cb.Domain({"a": ["x", "y", "z"]}), [1, 12, 30])
    noise = {"differences": {"-1": "1/2", "1": "1/2"}} if "noise" in how else None
    release = cb.publish(table, how, noise=noise, rng=3)
    assert release_of([printed_table(release)]).digest == release.digest or "noise" in how
    without = cb.publish(table, how, noise=noise, rng=3, total=False)
    assert release_of([printed_table(without)]).digest == without.digest


def test_rates_have_no_place_in_a_printed_table() -> None:
    table = cb.datasets.read("mp3")
    with pytest.raises(cb.InvalidInput, match=r"publishes \[mp3\|gender\]@1"):
        printed_table(cb.publish(table, "[mp3|gender]@1"))
    with pytest.raises(cb.InvalidInput, match="different rules"):
        printed_table(cb.publish(table, "[mp3]~5", "[gender]"))


@pytest.mark.parametrize("how", ["[mun+,sex+]", "[mun+,sex+]<8~5", "[mun+]~3"])
def test_hierarchies_are_printed_and_read_again(how: str, tmp_path) -> None:
    records = {
        "county": ["N", "N", "S", "S", "S"],
        "mun": ["N1", "N2", "S1", "S2", "S2"],
        "sex": ["f", "m", "f", "m", "f"],
        "count": [3, 12, 7, 9, 22],
    }
    hierarchies = {"mun": ["county", "mun"]}
    table = cb.read_table(pd.DataFrame(records), count="count", hierarchies=hierarchies)
    table = table if "sex" in how else table.margin(["mun"])
    release = cb.publish(table, how)
    printed = printed_table(release)
    assert release_of([printed]).digest == release.digest
    if how == "[mun+,sex+]":
        release.write(tmp_path / "out.tab")
        (found,) = cb.read_published(tmp_path / "out.tab").tables
        assert found.entries == printed.entries
        assert found.hierarchies["mun"].children("N") == ("N1", "N2")
