"""Files of tau-ARGUS, rtauargus, sdcTable, GaussSuppression and ACRO, and cell-key tables."""

from __future__ import annotations

import json
from fractions import Fraction

import pandas as pd
import polars as pl
import pytest
from tests.unit import other_tools_files as files

import cellbounds as cb
from cellbounds.data.other_tools.building import STATUSES, Reading
from cellbounds.data.other_tools.formats import FORMATS, read_protected
from cellbounds.data.other_tools.metadata import parse_metadata, read_code_list
from cellbounds.data.other_tools.perturbation_tables import parse_ptable
from cellbounds.data.other_tools.tau_argus import read_records
from cellbounds.data.published import ZERO
from cellbounds.disclosure.policies.intruder import Intruder
from cellbounds.disclosure.published_cells import work_out

TREES = {"V1": files.TREE}
MASKED, TELLING = files.masked_files(), files.telling_files()
ALL = {**MASKED, **TELLING}


def read(folder, name, text=None, **how):
    path = folder / name
    path.write_text(ALL[name] if text is None else text)
    return cb.read_published(path, hierarchies=TREES, **how)


def intervals(published):
    # From the figures alone: the table shows a zero, from which more follows.
    (risk,) = work_out(published, intruder=Intruder(zeros="never")).tables
    return {
        cell.labels: (cell.values.possible.smallest, cell.values.possible.largest)
        for cell in risk.cells
    }


def counts(table):
    return {cell: 0 if entry == ZERO else entry for cell, entry in table.entries.items()}


@pytest.mark.parametrize("name", ALL)
def test_every_type_is_read_as_the_same_table(name, tmp_path):
    published = read(tmp_path, name)
    (table,) = published.tables
    hidden = files.PRIMARY | files.SECONDARY
    assert counts(table) == {cell: None if cell in hidden else n for cell, n in files.CELLS.items()}
    telling = name in TELLING
    assert table.truths == ({cell: files.CELLS[cell] for cell in hidden} if telling else {})
    if telling:
        flags = dict.fromkeys(files.PRIMARY, "primary")
        assert table.flags == flags | dict.fromkeys(files.SECONDARY, "secondary")
        assert "true counts (8 hidden cells)" in str(published)
    assert intervals(published) == files.BOUNDS


@pytest.mark.parametrize("name", TELLING)
def test_stored_values_of_hidden_cells_are_not_used(name, tmp_path):
    before = read(tmp_path, name)
    others = {c: n + 70 if c in files.BOUNDS else n for c, n in files.CELLS.items()}
    after = read(tmp_path, name, files.telling_files(others)[name])
    assert before.tables[0].truths != after.tables[0].truths
    assert before.release.digest == after.release.digest


def test_metadata_name_columns_trees_and_totals(tmp_path):
    path = files.write_tau_argus_with_metadata(tmp_path)
    published = cb.read_published(path)
    (table,) = published.tables
    assert table.variables == ("region", "sex")
    assert table.hierarchies["region"].children("N") == ("N1", "N2")
    assert table.entries["S2", "f"] == ZERO
    assert "'turnover' is a magnitude and is not read" in str(published)
    assert "1 cells that the file leaves out hold nobody" in str(published)
    assert intervals(published) == files.BOUNDS


def test_magnitudes_are_refused_and_the_counts_named(tmp_path):
    path = files.write_tau_argus_with_metadata(tmp_path)
    with pytest.raises(cb.InvalidInput, match=r"'turnover' is a magnitude.*the column 'units'"):
        cb.read_published(path, count="turnover")
    path.write_text(path.read_text().replace(",75", ""))  # whole numbers are no counts either
    with pytest.raises(cb.InvalidInput, match=r"'turnover' is a magnitude.*the column 'units'"):
        cb.read_published(path, count="turnover")
    with pytest.raises(cb.InvalidInput, match=r"magnitude: the counts are in 'Freq'"):
        read(tmp_path, "sdctable.csv", count="turnover")
    text = ALL["values.txt"].replace(".00", ".50")
    with pytest.raises(cb.InvalidInput, match=r"is no count.*type 4, or 5"):
        read(tmp_path, "values.txt", text)


def test_codes_for_what_is_missing_belong_to_the_total(tmp_path):
    path = files.write_tau_argus_with_metadata(tmp_path)
    path.write_text(path.read_text() + '"99";"Total";0,00;0;E\n')
    tree = cb.read_published(path).tables[0].hierarchies["region"]
    assert tree.children(None) == ("N", "S", "99")


def test_a_total_needs_a_line_that_confirms_it(tmp_path):
    path = tmp_path / "frequency.tab"
    path.write_text(ALL["frequency.tab"])
    # Seven codes that do not add up, as N is the sum of two others.
    with pytest.raises(cb.InvalidInput, match="--hierarchy V1=FILE"):
        cb.read_published(path)
    path.write_text('"Total";5;5;S;0;0\n"a";2;2;U;0;0\n"b";3;3;M;0;0\n')
    with pytest.raises(cb.InvalidInput, match="--totals V1=Total"):
        cb.read_published(path)
    assert len(cb.read_published(path, totals={"V1": "Total"}).tables[0].hidden) == 2


def test_a_total_that_contradicts_its_parts_is_named(tmp_path):
    text = ALL["simple.tab"].replace('"N2";"Total";15;15;15', '"N2";"Total";15;16;15')
    with pytest.raises(
        cb.InvalidInput, match=r"the cell \('N2', 'Total'\)|\('N', 'Total'\)"
    ) as caught:
        read(tmp_path, "simple.tab", text)
    assert "16" not in str(caught.value).replace(str(tmp_path), "")


def test_rounded_tables_show_the_rounded_figures(tmp_path):
    lines = (("Total", 50, 48, "S"), ("N", 30, 29, "S"), ("S", 20, 19, "U"))
    text = "".join(
        f'"{code}";{figure}.00;{true};{true}.00;{true}.00;{letter};0.01;0.01\n'
        for code, figure, true, letter in lines
    )
    path = tmp_path / "rounded.tab"
    path.write_text(text)
    (table,) = cb.read_published(path).tables
    assert table.entries == {("Total",): 50, ("N",): 30, ("S",): 20}
    assert not table.truths
    assert any("multiples of 10" in note for note in table.notes)
    assert any("counts behind" in note for note in table.notes)
    path = tmp_path / "rounded.csv"
    path.write_text(
        '"V1","n_Round","n_Orig"\n"Total",50.00,48.00\n"N",30.00,29.00\n"S",20.00,19.00\n'
    )
    (other,) = cb.read_published(path).tables
    assert other.entries == table.entries


def test_statuses_of_all_tools():
    kinds = {}
    for letter, kind in STATUSES.items():
        kinds.setdefault(kind, set()).add(letter)
    assert kinds == {
        "shown": set("SPVZ"),
        "primary": set("UABCF"),
        "secondary": set("MDX"),
        "empty": {"E", "-"},
        "unstated": {"W"},
    }


def test_an_unknown_status_is_named(tmp_path):
    with pytest.raises(cb.InvalidInput, match=r"data line 1: the status 'Q' is not known"):
        read(tmp_path, "sdctable.csv", files.status_csv("sdcStatus", "Quxs"))


@pytest.mark.parametrize("library", [pd.read_csv, pl.read_csv])
def test_frames_of_libraries(library, tmp_path):
    (tmp_path / "gauss.csv").write_text(ALL["gauss.csv"])
    frame = library(tmp_path / "gauss.csv")
    published = cb.read_published(frame, hierarchies=TREES)
    assert intervals(published) == files.BOUNDS


def test_masked_frames_have_no_true_counts(tmp_path):
    frame = pd.DataFrame(
        {"a": ["Total", "x", "y", "z"], "Freq": [9, None, None, 4], "sdcStatus": list("suxs")}
    )
    (table,) = cb.read_published(frame, totals={"a": "Total"}).tables
    assert list(table.entries.values()) == [9, None, None, 4]
    assert not table.truths
    frame.loc[3, "Freq"] = None
    with pytest.raises(cb.InvalidInput, match="says that it is shown"):
        cb.read_published(frame, totals={"a": "Total"})


def test_metadata_of_records(tmp_path):
    (tmp_path / "m.rda").write_text(
        'mun 1 2 99\n <RECODEABLE>\n <TOTCODE> "T"\nsex 4 1\n <RECODEABLE>\none 6 4\n <NUMERIC>\n'
    )
    (tmp_path / "m.asc").write_text("N1 m 1.00\nN2 f 1.00\n")
    assert read_records(tmp_path / "m.asc") == {"mun": ["N1", "N2"], "sex": ["m", "f"]}
    (tmp_path / "m.rda").write_text('<SEPARATOR> ","\nmun 2\n <RECODEABLE>\nw 3\n <WEIGHT>\n')
    (tmp_path / "m.asc").write_text("N1,1\nN2,5\n")
    assert read_records(tmp_path / "m.asc") == {"mun": ["N1", "N2"]}
    (tmp_path / "m.asc").write_text("N1,1\nN2\n")
    with pytest.raises(cb.InvalidInput, match="line 2: 1 fields"):
        read_records(tmp_path / "m.asc")


def test_levels_by_digits_and_several_tags_on_a_line(tmp_path):
    text = (
        'nace\n <RECODABLE> <TOTCODE> "Total"\n <HIERARCHICAL>\n <HIERLEVELS> 1 1\n'
        "n\n <NUMERIC> <SHADOW>\nf\n <FREQUENCY>\n"
    )
    found = parse_metadata(text, "x.rda")
    assert [column.role for column in found.columns] == ["code", "shadow", "frequency"]
    (tmp_path / "d.rda").write_text('<SEPARATOR> ";"\n' + text)
    cells = {"Total": 9, "1": 5, "11": 2, "12": 3, "2": 4}
    (tmp_path / "d.tab").write_text("".join(f'"{c}";{n};{n}\n' for c, n in cells.items()))
    (table,) = cb.read_published(tmp_path / "d.tab").tables
    assert table.hierarchies["nace"].children("1") == ("11", "12")
    assert table.hierarchies["nace"].children(None) == ("1", "2")


def test_code_lists(tmp_path):
    (tmp_path / "r.cdl").write_text(" 1,Groningen\nNr,North, far\n")
    assert read_code_list(tmp_path / "r.cdl") == {"1": "Groningen", "Nr": "North, far"}


def test_acro_totals_are_sums_of_the_shown_cells(tmp_path):
    first, second, third = cb.read_published(files.write_acro(tmp_path)).tables
    assert first.entries["1st", "f", "no"] == "<10"
    assert first.hidden == (("1st", "f", "no"),)
    assert ("1st", "All", "All") not in first.entries  # 90 is the sum of what is shown
    assert ("All", "f", "no") not in first.entries
    assert ("All", "All", "All") not in first.entries
    assert first.entries["2nd", "All", "All"] == 120
    assert first.entries["All", "m", "yes"] == 85
    assert any("3 totals are sums of the cells that are shown" in note for note in first.notes)
    assert any("output_3" in note for note in first.notes)  # means, which are left out
    assert (second.base, second.rounding) == (5, "nearest")
    assert third.variables == ("class", "sex", "saved")
    assert third.entries["1st", "f", "no"] == "<10"
    assert third.entries["2nd", "m", "yes"] == 45
    assert len(third.entries) == 8


def test_acro_zeros_that_do_not_disclose_are_shown(tmp_path):
    files.write_acro(tmp_path)
    (tmp_path / "config.json").write_text('{"safe_threshold": 6, "zeros_are_disclosive": false}')
    first = cb.read_published(tmp_path).tables[0]
    assert first.entries["1st", "f", "no"] == "1-5"
    (tmp_path / "config.json").unlink()
    assert cb.read_published(tmp_path).tables[0].entries["1st", "f", "no"] is None


def test_acro_keeps_totals_that_are_true(tmp_path):
    files.write_acro(tmp_path)
    text = files.ACRO_FILES["output_0_0.csv"].replace("40,90", "40,94")
    (tmp_path / "output_0_0.csv").write_text(text)
    first = cb.read_published(tmp_path).tables[0]
    assert first.entries["1st", "All", "All"] == 94


def test_acro_names_no_file_elsewhere(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    files.write_acro(folder)
    (tmp_path / "secret.csv").write_text("class,no,yes\n1st,5,10\n")
    results = json.loads((folder / "results.json").read_text())
    results["results"]["output_0"]["files"] = [{"name": "../secret.csv"}]
    (folder / "results.json").write_text(json.dumps(results))
    with pytest.raises(cb.InvalidInput, match="not beside it"):
        cb.read_published(folder)


def test_a_format_can_be_forced(tmp_path):
    path = tmp_path / "frame.csv"
    path.write_text("a,n\nTotal,5\nx,2\ny,3\n")
    assert read_protected(path) is None
    (table,) = read_protected(path, Reading(), tool="suppression-frame")
    assert table.entries["x",] == 2
    with pytest.raises(cb.InvalidInput, match=r"no format 'excel'.*tau-argus"):
        read_protected(path, tool="excel")
    assert len({each.name for each in FORMATS}) == len(FORMATS)


def test_perturbation_tables():
    law = parse_ptable(files.PTABLE, "table")
    assert law[1] == {0: Fraction(3, 5), 3: Fraction(2, 5)}
    assert sum(law[2].values()) == 1
    margin = cb.Margin(["a"], [0, 3, 10], noise={"cell key": law})
    assert margin.lower.tolist() == [0, 1, 8]
    assert margin.upper.tolist() == [2, 4, 11]  # beyond 3, differences of -1, 0 and 2
    with pytest.raises(cb.InvalidInput, match="add up to"):
        parse_ptable(files.PTABLE.replace("0.4;2;1", "0.3;2;1"), "table")
    with pytest.raises(cb.InvalidInput, match="every count from 0"):
        parse_ptable("i;j;p\n1;1;1\n", "table")
    with pytest.raises(cb.InvalidInput, match="type 'even' is for magnitudes"):
        parse_ptable("i;j;p;type\n0;0;1;even\n", "table")


def test_noise_of_a_published_table_is_read_from_a_file(tmp_path):
    (tmp_path / "ptable.txt").write_text(files.PTABLE)
    frame = pd.DataFrame({"a": ["x", "y"], "f": [0, 3], "m": [3, 5]})
    published = cb.read_published(frame, noise=tmp_path / "ptable.txt", variables=["a", "sex"])
    (margin,) = published.release.statements
    assert margin.noise.words == "changed by a cell-key table for counts up to 3 and beyond"
    assert cb.attainable(published.release)["y", "m"].possible.smallest == 3


def test_totals_under_cell_keys_need_not_add_up(tmp_path):
    (tmp_path / "ptable.txt").write_text(files.PTABLE)
    lines = "a,f,m,Total\nx,3,0,3\ny,2,3,5\nTotal,5,3,9\n"
    (tmp_path / "t.csv").write_text(lines)
    published = cb.read_published(tmp_path / "t.csv", noise=tmp_path / "ptable.txt")
    trees = published.tables[0].hierarchies
    assert [tree.total for tree in trees.values()] == ["Total", "Total"]
    assert len(published.release.statements) == 4
    (tmp_path / "t.csv").write_text(lines.replace("9", "90"))
    with pytest.raises(cb.InvalidInput, match="called a total but differs"):
        cb.read_published(tmp_path / "t.csv", noise=tmp_path / "ptable.txt")
    cb.read_published(tmp_path / "t.csv", noise={"laplace": "1/2"})


def test_published_hierarchy_files_are_found_beside(tmp_path):
    (tmp_path / "V1.hrc").write_text(files.HRC)
    (tmp_path / "pivot.csv").write_text(ALL["pivot.csv"])
    published = cb.read_published(tmp_path / "pivot.csv")
    assert published.tables[0].hierarchies["V1"] == files.TREE
    assert intervals(published) == files.BOUNDS


def test_files_that_are_only_quoted_are_nobodys(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text('"region","sex","count"\n"N","f","c"\n"N","m",4\n"S","f",":"\n"S","m",2\n')
    assert read_protected(path) is None
    (table,) = cb.read_published(path).tables
    assert table.entries["N", "f"] is None
    (tmp_path / "pivot.csv").write_text(ALL["pivot.csv"])
    assert read_protected(tmp_path / "pivot.csv") is None  # read as any other table
    (forced,) = read_protected(tmp_path / "pivot.csv", Reading(hierarchies=TREES), tool="tau-argus")
    assert len(forced.hidden) == 8


def test_commands_show_attack_and_write(tmp_path, run):
    path = files.write_tau_argus_with_metadata(tmp_path)
    (tmp_path / "with.rda").rename(tmp_path / "meta.rda")
    told = ["--metadata", tmp_path / "meta.rda", "--tool", "tau-argus"]
    code, out, _ = run("show", path, *told, "--write", tmp_path / "out.csv")
    assert code == 0
    assert "counts in 'units'" in out
    assert (tmp_path / "out.csv").read_text().startswith("region,sex,freq,primary,suppressed\n")
    code, out, _ = run("attack", path, *told)
    assert code == 0
    assert "8 counts are hidden" in out
    code, _, err = run("attack", path, "--tool", "acro")
    assert code == 2
    assert "no results.json of ACRO" in err


def test_a_matrix_of_three_variables_has_blocks(tmp_path):
    block = ',"Total","f","m"\n"Total",{},{},{}\n"young",{},{},{}\n"old",{},{},{}\n\n'
    figures = {
        "Total": (20, 9, 11, 8, 4, 4, 12, 5, 7),
        "N": (9, "x", "x", 3, 1, 2, 6, "x", "x"),
        "S": (11, "x", "x", 5, 3, 2, 6, "x", "x"),
    }
    text = "".join(f'Var 1,"{code}"\n{block.format(*some)}' for code, some in figures.items())
    path = tmp_path / "t.csv"
    path.write_text(text, "utf-8")
    [table] = cb.read_published(path).tables
    assert {name: tree.leaves for name, tree in table.hierarchies.items()} == {
        "V1": ("N", "S"),
        "V2": ("young", "old"),
        "V3": ("f", "m"),
    }
    assert table.entries["N", "young", "m"] == 2
    assert len(table.entries) == 27
    assert len(table.hidden) == 8
    path.write_text(text.replace('"young",3,1,2', '"young",3,1'), "utf-8")
    with pytest.raises(cb.InvalidInput, match="the codes across are 3; the file may be cut off"):
        cb.read_published(path)
    path.write_text(text.replace('Var 1,"S"', 'Var 1,"S", Var 2,"T"'), "utf-8")
    with pytest.raises(cb.InvalidInput, match="different numbers of variables"):
        cb.read_published(path)
