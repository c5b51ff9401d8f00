"""Reports: what they say, who may read what, and that they are written whole or not at all."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
import zipfile
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import numpy as np
import openpyxl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.disclosure.auditing import CellRisk, audit
from cellbounds.disclosure.policies import Policy, SmallCounts
from cellbounds.disclosure.policies.knowledge import informed
from cellbounds.report import filing
from cellbounds.report.filing import SUFFIXES, build_report
from cellbounds.report.pages.content import (
    CellPosteriors,
    ReportLimits,
    columns_of,
    plotted,
    published,
)
from cellbounds.report.pages.page import laid_out
from cellbounds.results import ValueSet
from strategies import few

SCHEMA = json.loads(
    (Path(filing.__file__).parent / "schemas" / "report-1.schema.json").read_text("utf-8")
)

ODD = ["<script>alert(1)</script>", 'Zürich, "Œst" & Söhne', "=1+1", "x" * 300]


def table_of(levels, counts, structural=None):
    return cb.Table(cb.Domain(levels), counts, structural=structural)


def odd_table():
    return table_of({"<b>name</b>": ODD, "y": ["yes", "no"]}, [[1, 9], [0, 4], [3, 3], [2, 17]])


def without_zeros(release):
    """The same figures, as if whoever wrote them down had left the structural zeros unsaid."""
    said = [one for one in release.statements if not isinstance(one, cb.Known)]
    return cb.Release(release.domain, said)


def cases():
    mp3, children = cb.datasets.read("mp3"), cb.datasets.read("delinquent")
    yield "two by two", mp3, ["[mp3|gender]@1"], {}
    yield "unsafe", children, ["[education|county]@2"], {}
    yield "respondents", children, ["[education|county]@2"], {"policy": "strict"}
    yield "independent", children, ["[education|county]@2"], {"independent": True}
    yield "knows", mp3, ["[mp3|gender]@1"], {"knows": [cb.Known(["gender"], lower={"Male": 20})]}
    yield "one way", table_of({"size": ["s", "m", "l"]}, [3, 8, 40]), ["[size|]@1"], {}
    yield "odd labels", odd_table(), ['[y|"<b>name</b>"]@1'], {}
    wards = {"sex": ["m", "f"], "ward": ["maternity", "surgery", "none"]}
    zeros = [[True, False, False], [False, False, False]]
    told = table_of(wards, [[0, 12, 0], [7, 3, 0]], zeros)
    yield "zeros", told, ["[ward]", "[sex|ward]@1"], {}
    squares = {"a": ["x", "y"], "b": ["p", "q"]}
    blocked = table_of(squares, [[0, 4], [6, 3]], [[True, False], [False, False]])
    yield "unsaid zeros", blocked, ["[a]", "[b]"], {}
    yield "unsaid zeros, independent", blocked, ["[a]", "[b]"], {"independent": True}
    yield "shown margin", cb.datasets.read("census3"), ["[gender,race]"], {}
    yield "over a margin", cb.datasets.read("koch4"), ["[center,status]"], {"over": ("center",)}


CASES = {name: (table, said, options) for name, table, said, options in cases()}


@cache
def audited(name, **more):
    """An audit, made once: reports do not change it."""
    table, said, options = CASES[name]
    release = cb.publish(table, *said)
    if name.startswith("unsaid"):
        release = without_zeros(release)
    return audit(table, release, **options, **more)


def texts_of(report, folder):
    """Everything that a report says, in every form."""
    found = {"html": report.to_html(), "csv": report.to_csv()}
    for suffix in SUFFIXES:
        report.write(folder / f"report{suffix}")
    found["json"] = (folder / "report.json").read_text("utf-8")
    with zipfile.ZipFile(folder / "report.xlsx") as book:
        found["xlsx"] = "\n".join(book.read(name).decode("utf-8") for name in book.namelist())
    return found


class Page(HTMLParser):
    """Tags, texts and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "rect", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("rect", "line"):
            assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_every_report_follows_the_schema(name, public):
    report = build_report(audited(name), public=public, key=b"secret", source="/a/b/table.csv")
    said = report.to_dict()
    jsonschema.validate(json.loads(json.dumps(said)), SCHEMA)
    assert report.public is public
    assert ("internal" in said) is not public
    assert Page(report.to_html()).open == []


def test_an_unsafe_release_is_told_to_its_owner_with_reasons():
    found = audited("unsafe")
    said = build_report(found, source="/folder/children.csv").to_dict()["internal"]
    assert said["verdict"]["outcome"] == "unsafe"
    assert said["verdict"]["summary"]["unsafe"] == len(found.verdict.broken) == 6
    assert said["verdict"]["said"].startswith("A rule is broken for certain in 6 places; first")
    first = said["verdict"]["findings"][0]
    assert (first["rule"], first["labels"]) == ("small-counts", ["Alpha", "Medium"])
    assert first["count"] == 1
    marks = {tuple(cell["labels"]): cell["mark"] for cell in said["cells"]}
    assert marks["Alpha", "Medium"] == "broken"
    assert marks["Beta", "Low"] == "exact"
    counts = [cell["count"] for cell in said["cells"]]
    assert counts == found.table.counts.ravel().tolist()
    assert [one["finding"] for one in said["blame"]["findings"]] == list(range(6))
    assert said["blame"]["findings"][0]["statements"] == ["[education|county]@2", "N=135"]
    digest = found.table.digest
    assert said["input"] == {"digest": digest, "source": "children.csv", "seed": None}
    assert 0.9 < said["utility"]["figures"]["share"] <= 1
    assert said["utility"]["posterior_mean_hellinger"] == pytest.approx(0, abs=1e-9)


def test_the_page_shows_what_the_report_says():
    page = Page(build_report(audited("unsafe")).to_html())
    text = " ".join(" ".join(page.texts).split())
    for words in (
        "UNSAFE under the policy small-counts",
        "A rule is broken for certain in 6 places",
        "Do not publish it as it is.",
        "rates of education among those who share county",
        "a true count of at most 3",
        "16 cells: 16 can be worked out exactly",
        "the only attainable count is 1",
        "confidential: for the owner only",
    ):
        assert words in text, words
    titles = [attrs["title"] for attrs in page.all("td") if "title" in attrs]
    assert len(titles) == 16  # each cell once
    assert titles.count("count 15; only 15 is attainable") == 2
    assert "count 1; only 1 is attainable; breaks a rule" in titles


def test_what_was_judged_besides_the_cells_is_told_with_the_margin():
    report = build_report(audited("shown margin"))
    said = report.to_dict()["internal"]["verdict"]
    assert said["margins"] == [["gender", "race"]]
    assert said["besides"] == "[gender,race]"
    (finding,) = said["findings"]
    assert finding["where"] == "[gender,race] Female, Chinese"
    page = report.to_html()
    assert page.count("Judged besides the cells: [gender,race].") == 1
    assert '<th scope="row">[gender,race] Female, Chinese</th>' in page
    alone = build_report(audited("shown margin", over=("gender", "race", "income")))
    told = alone.to_dict()["internal"]["verdict"]
    assert (told["margins"], told["besides"], told["findings"]) == ([], "", [])
    assert "Judged besides" not in alone.to_html()
    assert "Judged besides" not in build_report(audited("shown margin"), public=True).to_html()


@pytest.mark.parametrize("name", CASES)
def test_a_page_is_sound(name):
    page = Page(build_report(audited(name)).to_html())
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)
    for _, attrs in page.tags:
        for what in ("aria-labelledby", "aria-describedby"):
            assert attrs.get(what, ids[0]) in ids
    assert all(attrs["href"][1:] in ids for attrs in page.all("a"))
    assert len(page.all("h1")) == 1
    levels = [int(tag[1]) for tag, _ in page.tags if tag in ("h1", "h2", "h3")]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all("scope" in attrs for attrs in page.all("th"))
    assert not [attrs for _, attrs in page.tags if "src" in attrs or "style" in attrs]
    assert not page.all("link")


def test_labels_are_escaped_everywhere(tmp_path):
    report = build_report(audited("odd labels"))
    page = Page(report.to_html())
    assert len(page.all("script")) == 1
    assert not page.all("b") or "<b>name</b>" in "".join(page.texts)
    assert "<script>alert(1)</script>" in page.texts
    rows = list(csv.reader(io.StringIO(report.to_csv())))
    assert rows[5][0] == "'=1+1"
    report.write(tmp_path / "report.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "report.xlsx")["cells"]
    assert sheet["A6"].value == "=1+1"
    assert sheet["A6"].data_type == "s"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
MARKUP = st.sampled_from(
    ["</td>", "<i>", "&lt;", "' onclick='x", '" title="', "]]>", "<!--", "{{ 7 * 7 }}"]
)


@few(3)
@given(st.lists(st.one_of(TEXT, MARKUP), min_size=4, max_size=4, unique=True))
def test_no_label_changes_the_page(labels):
    def report(first, second, third, fourth):
        table = table_of({"v": [first, second], "w": [third, fourth]}, [[3, 4], [5, 11]])
        return build_report(audit(table, cb.publish(table, "[v]", "[w]")))

    plain, odd = (Page(report(*names).to_html()) for names in ("abcd", labels))
    assert [tag for tag, _ in odd.tags] == [tag for tag, _ in plain.tags]
    assert [list(attrs) for _, attrs in odd.tags] == [list(attrs) for _, attrs in plain.tags]


def test_csv_has_the_cells_and_the_count_for_the_owner_only():
    found = audited("two by two")
    owner = list(csv.DictReader(io.StringIO(build_report(found).to_csv())))
    assert [int(row["count"]) for row in owner] == found.table.counts.ravel().tolist()
    assert [row["outcome"] for row in owner] == ["safe"] * 4
    public = list(csv.DictReader(io.StringIO(build_report(found, public=True).to_csv())))
    assert list(public[0]) == ["gender", "mp3", "lower", "upper", "size", "values", "mark"]
    values = cb.attainable(found.release)["Male", "yes"]
    assert public[0]["values"] == values.text(500)


def test_a_workbook_has_every_sheet(tmp_path):
    build_report(audited("unsafe")).write(tmp_path / "report.xlsx")
    book = openpyxl.load_workbook(tmp_path / "report.xlsx")
    names = ["verdict", "cells", "findings", "statements", "policy", "method"]
    assert book.sheetnames == names
    rows = list(book["findings"].values)
    assert rows[0][-1] == "revealed by"
    assert rows[1][-1] == "[education|county]@2, N=135"
    assert ("verdict", "unsafe") in set(book["verdict"].values)
    build_report(audited("unsafe"), public=True).write(tmp_path / "public.xlsx")
    assert "findings" not in openpyxl.load_workbook(tmp_path / "public.xlsx").sheetnames


# What the public part must not tell


PRIMES = [100_003, 200_003, 300_007, 400_009, 500_009, 600_011]


def test_no_confidential_count_is_in_a_public_report(tmp_path):
    counts = np.array([[*PRIMES[:2], 1], [*PRIMES[2:4], 2], [*PRIMES[4:], 3]])
    table = table_of({"area": ["north", "east", "south"], "kind": ["a", "b", "c"]}, counts)
    wide = Policy("house", rules=[SmallCounts(at_most=3, values=10**7)])
    found = audit(table, cb.publish(table, "[kind|area]@3"), wide)
    assert len(found.verdict.broken) == 3
    secret = [*map(str, PRIMES), table.digest, "north.csv", "broken", "unsafe", "UNSAFE"]
    private = texts_of(build_report(found, source="/x/north.csv"), tmp_path)
    for word in secret:
        assert word in private["html"] + private["json"], word
    for form, text in texts_of(build_report(found, public=True, key=b"key"), tmp_path).items():
        shown = re.sub("<style>.*?</style>", "", text, flags=re.DOTALL)
        told = [word for word in secret if word in shown]
        assert not told, (form, told)


@st.composite
def twins(draw):
    """Two tables with the same release and structural zeros, as different as chance has it."""
    shape = draw(st.sampled_from([(2, 2), (2, 3), (3, 2)]))
    counts = draw(st.lists(st.integers(0, 6), min_size=math.prod(shape), max_size=math.prod(shape)))
    table = table_of(
        {"a": [f"a{i}" for i in range(shape[0])], "b": [f"b{i}" for i in range(shape[1])]},
        np.reshape(counts, shape),
    )
    assume(table.total > 0)
    zeros = draw(st.lists(st.booleans(), min_size=math.prod(shape), max_size=math.prod(shape)))
    zeros = np.reshape(zeros, shape) & (table.counts == 0)
    table = cb.Table(table.domain, table.counts, structural=zeros)
    said = draw(st.sampled_from([["[b|a]@1"], ["[a]", "[b]"], ["[a]~3", "[b|a]@1"]]))
    release = cb.publish(table, *said)
    if draw(st.booleans()):
        release = without_zeros(release)
    others = list(itertools.islice(cb.tables(informed(release, table).release), 6))
    other = draw(st.sampled_from(others))
    return release, table, cb.Table(table.domain, other.counts, structural=zeros)


@few(2)
@given(twins(), st.booleans(), st.sampled_from(["small-counts", "strict"]))
def test_a_public_report_depends_on_the_release_and_structural_zeros_alone(
    pair, independent, policy
):
    release, one, other = pair
    first, second = (
        build_report(audit(table, release, policy, independent=independent), public=True)
        for table in (one, other)
    )
    assert first.to_dict() == second.to_dict()


def sets_of(cells):
    """What is attainable in cells or findings of a report, by their labels."""
    names = ("lower", "upper", "size", "runs", "unknown")
    return {tuple(one["labels"]): [one.get(name) for name in names] for one in cells}


@pytest.mark.parametrize("name", [name for name in CASES if name != "knows"])
def test_the_public_map_agrees_with_the_audit_if_nothing_private_is_known(name):
    said = build_report(audited(name)).to_dict()
    public, internal = said["public"], said["internal"]
    assert sets_of(public["cells"]) == sets_of(internal["cells"])


def test_structural_zeros_are_known_to_the_public():
    for name in ("unsaid zeros", "unsaid zeros, independent"):
        public = build_report(audited(name), public=True).to_dict()["public"]
        cells = {tuple(cell["labels"]): cell for cell in public["cells"]}
        ends = [(cell["lower"], cell["upper"]) for cell in cells.values()]
        assert ends == [(0, 0), (4, 4), (6, 6), (3, 3)]
        assert cells["x", "p"]["mark"] == "structural zero"
        assert public["summary"]["exact"] == 3
        assert public["summary"]["known_empty"] == 1
        assert not public["posteriors"]["cells"]
        assert "structural zeros" in public["method"]["said"]
    found = sets_of(public["verdict"]["findings"])
    assert found
    assert found.items() <= sets_of(public["cells"]).items()


def test_twins_with_structural_zeros_and_private_knowledge(tmp_path):
    levels = {"a": ["x", "y"], "b": ["p", "q", "r"]}
    zeros = [[True, False, False], [False, False, False]]
    one = table_of(levels, [[0, 4, 2], [6, 3, 1]], zeros)
    other = table_of(levels, [[0, 3, 3], [6, 4, 0]], zeros)
    release = without_zeros(cb.publish(one, "[a]", "[b]"))
    knows = [cb.Known(["a", "b"], lower={("x", "r"): 2})]
    reports = []
    for number, (table, more) in enumerate([(one, {}), (other, {}), (one, {"knows": knows})]):
        (tmp_path / str(number)).mkdir()
        found = build_report(audit(table, release, **more), public=True)
        reports.append(texts_of(found, tmp_path / str(number)))
    assert reports[0] == reports[1] == reports[2]
    plots = json.loads(reports[0]["json"])["public"]["posteriors"]["cells"]
    assert len(plots) == 4
    exact = cb.posterior(informed(release, one).release)
    for plot in plots:
        assert plot["mean"] == pytest.approx(exact[tuple(plot["labels"])].mean, rel=1e-5)


def test_twins_have_the_same_public_report_in_every_form(tmp_path):
    one = table_of({"a": ["x", "y"], "b": ["p", "q"]}, [[0, 8], [8, 4]])
    other = table_of({"a": ["x", "y"], "b": ["p", "q"]}, [[4, 4], [4, 8]])
    release = cb.publish(one, "[a]", "[b]")
    wide = Policy("house", rules=[SmallCounts(at_most=1, values=20)])
    reports = []
    for number, table in enumerate((one, other)):
        (tmp_path / str(number)).mkdir()
        found = audit(table, release, wide)
        reports.append(texts_of(build_report(found, public=True), tmp_path / str(number)))
        assert bool(found.verdict.broken) is (table is one)
    assert reports[0] == reports[1]


def test_the_public_part_is_the_same_with_and_without_the_internal_one():
    found = audited("unsafe")
    both = build_report(found, key=b"k").to_dict()["public"]
    assert both == build_report(found, key=b"k", public=True).to_dict()["public"]
    assert both["verdict"]["outcome"] is None
    assert both["provenance"]["keyed_digest"] == found.table.keyed_digest(b"k")


def test_a_verdict_without_the_counts_may_be_told():
    report = build_report(audited("independent"), public=True)
    said = report.to_dict()["public"]
    assert said["verdict"]["outcome"] == "unsafe"
    assert len(said["verdict"]["findings"]) == 6
    assert {"href": "#findings"} in Page(report.to_html()).all("a")
    assert "outcome" in said["cells"][0]
    knowing = audited("knows", independent=True)
    said = build_report(knowing, public=True).to_dict()["public"]
    assert said["verdict"]["outcome"] is None
    assert "outcome" not in said["cells"][0]


def test_private_knowledge_does_not_reach_the_public_part():
    knowing, plain = audited("knows"), audited("two by two")
    assert knowing.cells[0].values != plain.cells[0].values
    said = build_report(knowing).to_dict()
    assert said["public"] == build_report(plain).to_dict()["public"]
    assert said["internal"]["verdict"]["knows"] == ["knowledge of [gender]"]


def leaning(found):
    """The same audit, as if its search had left everything open around the true counts."""
    cells = tuple(
        replace(cell, values=ValueSet([(cell.count, cell.count, 1)], unknown=[(0, 90, 1)]))
        for cell in found.cells
    )
    return replace(found, cells=cells, start_used=True)


def test_open_sets_are_worked_out_without_the_table():
    found = audited("two by two")
    said = build_report(leaning(found), public=True).to_dict()["public"]
    plain = build_report(found, public=True).to_dict()["public"]
    assert said["cells"] == plain["cells"]
    assert said["summary"]["unsettled"] == 0


def test_what_cannot_be_worked_out_again_is_not_shown():
    def refuse(*_, **__):
        raise cb.TooMuchWork("it would take too long")

    limits = ReportLimits(attainable=refuse)
    report = build_report(leaning(audited("two by two")), public=True, limits=limits)
    said = report.to_dict()["public"]
    jsonschema.validate(report.to_dict(), SCHEMA)
    assert said["cells"] == []
    assert said["method"]["said"] == "not worked out: it would take too long"
    assert "Not worked out" in report.to_html() or "not worked out" in report.to_html()
    assert len(report.to_csv().splitlines()) == 1


def test_what_is_worked_out_again_leaves_time_to_write_the_report(monkeypatch):
    def spied(*given, budget, **named):
        left.append(budget.left)
        return cb.attainable(*given, **named)

    left: list[float] = []
    monkeypatch.setattr("cellbounds.runtime.budget.WRITING", 1000.0)
    found, limits = leaning(audited("two by two")), ReportLimits(attainable=spied)
    build_report(found, public=True, limits=limits, seconds=100)
    assert left[0] <= 30


def test_open_sets_are_shown_to_the_owner_as_open():
    report = build_report(leaning(audited("two by two")))
    cells = report.to_dict()["internal"]["cells"]
    assert {cell["mark"] for cell in cells} == {"not settled"}
    assert cells[0]["unknown"] == [[0, 90, 1]]
    jsonschema.validate(json.loads(json.dumps(report.to_dict())), SCHEMA)
    assert "not settled: 15; perhaps 0-90" in report.to_html()


def test_a_report_without_a_table_is_public():
    release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]@1")
    report = build_report(cb.attainable(release), key=b"k")
    said = report.to_dict()
    jsonschema.validate(json.loads(json.dumps(said)), SCHEMA)
    assert report.public
    assert said["public"]["policy"] is None
    assert said["public"]["provenance"]["keyed_digest"] is None
    assert "NOT JUDGED" in report.to_html()


# The same on every run, and a clock only if asked for


def test_the_same_audit_gives_the_same_bytes():
    pages = {build_report(audited.__wrapped__("respondents")).to_html() for _ in range(2)}
    assert len(pages) == 1
    assert "clock" not in build_report(audited("unsafe")).to_dict()["internal"]


def test_every_file_is_the_same_on_every_run(tmp_path, monkeypatch):
    files = []
    for day in (1_000_000_000, 1_700_000_000):
        monkeypatch.setattr("time.time", lambda day=day: float(day))
        report = build_report(audited("unsafe"))
        for suffix in SUFFIXES:
            report.write(tmp_path / f"report{suffix}")
        files.append({suffix: (tmp_path / f"report{suffix}").read_bytes() for suffix in SUFFIXES})
    assert files[0] == files[1]


def test_a_clock_is_said_if_asked_for(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    report = build_report(audited("two by two"), clock=True)
    clock = report.to_dict()["internal"]["clock"]
    assert clock["made"] == "1970-01-02T00:00:00Z"
    assert clock["made"] in report.to_html()
    jsonschema.validate(json.loads(json.dumps(report.to_dict())), SCHEMA)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(cb.InvalidInput, match="SOURCE_DATE_EPOCH is 'yesterday'"):
        build_report(audited("two by two"), clock=True)


# Files and bad input


@pytest.mark.parametrize("name", ["report.txt", "report", "report.pdf"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(cb.InvalidInput, match=r"end its name with \.html, \.json, \.csv or \.xlsx"):
        build_report(audited("two by two")).write(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_path_that_cannot_be_written_leaves_nothing(tmp_path, suffix):
    with pytest.raises(cb.InvalidInput, match="cannot be written"):
        build_report(audited("two by two")).write(tmp_path / "absent" / f"report{suffix}")
    assert not list(tmp_path.iterdir())


def test_endings_may_be_capitals(tmp_path):
    build_report(audited("two by two")).write(tmp_path / "REPORT.HTML")
    assert (tmp_path / "REPORT.HTML").read_text("utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"public": 1}, "public=1"),
        ({"key": "text"}, "the key is no bytes"),
        ({"key": b""}, "the key is no bytes"),
        ({"rng": -1}, "rng=-1"),
        ({"rng": True}, "rng=True"),
        ({"seconds": 0}, "seconds=0"),
    ],
)
def test_bad_arguments_are_refused(arguments, words):
    with pytest.raises(cb.InvalidInput, match=words):
        build_report(audited("two by two"), **arguments)


def test_a_report_needs_an_audit():
    with pytest.raises(cb.InvalidInput, match="give what audit"):
        build_report(None)


# The parts


def test_statements_in_words():
    table = table_of({"a": ["x", "y", "z"], "b": ["p", "q"]}, [[3, 4], [0, 0], [5, 11]])
    grouped = table.grouped("c", of="a", levels={"xy": ["x", "y"], "z": ["z"]})
    release = cb.publish(grouped, "[b|a]@2", "[a,b]<5", "[b]~5", "[c]", rounding="half-even")
    said = published(release)
    words = {one["notation"]: one["meaning"] for one in said["statements"]}
    assert words["[b|a]@2"].endswith(
        "p - 0.005 <= rate <= p + 0.005 if its last digit is even, without the ends if it is odd; "
        "2 of 6 figures are not shown (rows that hold nobody)"
    )
    assert words["[a,b]<5"] == "counts of a, b; 4 of 6 as ranges"
    assert words["[b]~5"].startswith("counts of b; rounded to multiples of 5, half-even: a figure")
    assert words["[b]~5"].endswith(
        "p - 2.5 <= count <= p + 2.5 if p is an even multiple of 5, without the ends if odd; "
        "summed over a"
    )
    assert words["[c]"] == "counts of c; exact; summed over b"
    assert said["derived"] == [
        {"name": "c", "of": "a", "levels": [["xy", ["x", "y"]], ["z", ["z"]]]}
    ]
    open_ended = published(cb.publish(table, "[b|a]", total=False))["statements"]
    assert open_ended[-1]["notation"] == "no N"
    assert "exact fractions" in open_ended[0]["meaning"]
    other = cb.Release(
        table.domain,
        [
            cb.Total(lower=3),
            cb.Known(["a"], lower=1),
            cb.Linear(["b"], {"p": 1, "q": -1}, upper=4),
            cb.Conditional(["b"], ["a"], rates=[["0.5", "0.5"]] * 3, eps="0.1", strict=True),
        ],
    )
    meanings = [one["meaning"] for one in published(other)["statements"]]
    assert meanings[0] == "what is said of the number of people in the table"
    assert meanings[1] == "what is known besides of the counts over a"
    assert meanings[2].endswith("sum <= 4")
    assert "within eps < 1/10" in meanings[3]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.data())
def test_every_cell_has_one_place_on_the_map(shape, data):
    names = [f"v{place}" for place in range(len(shape))]
    levels = {name: [f"{name}-{i}" for i in range(n)] for name, n in zip(names, shape, strict=True)}
    responses = data.draw(st.lists(st.sampled_from(names), unique=True))
    columns = columns_of(cb.Domain(levels), responses)
    made = laid_out(list(levels.items()), columns)
    cells = list(cb.Domain(levels).cells())
    seen = []
    for title, lines in made.groups:
        heads: dict[str, tuple[str, int]] = {}
        covered = [0] * len(made.names)
        for line in lines:
            free = [place for place, left in enumerate(covered) if left == 0]
            assert len(free) == len(line.heads)
            for place, head in zip(free, line.heads, strict=True):
                covered[place], heads[made.names[place]] = head.span, head.text
            covered = [left - 1 for left in covered]
            assert len(made.names) + len(line.places) == made.width
            for column, cell in enumerate(line.places):
                labels = dict(zip(names, cells[cell], strict=True))
                assert all(labels[name] == text for name, text in heads.items())
                assert all(
                    f"{n}: {labels[n]}" in title for n in names if n not in {*heads, *columns}
                )
                for name, tops in made.tops:
                    spread = [head.text for head in tops for _ in range(head.span)]
                    assert spread[column] == labels[name]
                seen.append(cell)
        assert covered == [0] * len(made.names)
    assert sorted(seen) == list(range(len(cells)))


def test_the_response_goes_over_the_columns():
    domain = cb.Domain({"y": ["a", "b"], "x": ["p", "q", "r"]})
    assert columns_of(domain, ["y"]) == ("y",)
    assert columns_of(domain, []) == ("x",)
    assert columns_of(cb.Domain({"x": ["p"]}), ["x"]) == ()
    long = cb.Domain({"a": range(20), "b": range(10), "c": range(3), "d": range(2)})
    assert columns_of(long, []) == ("c", "d")


FEW_DRAWS = ReportLimits(effort=1.0, row_effort=1.0, draws=40, draw_seconds=300.0)


def test_posteriors_that_are_too_much_are_estimated_with_a_seed():
    found = audited("two by two")
    said = build_report(found, public=True, limits=FEW_DRAWS).to_dict()["public"]["posteriors"]
    assert said["said"].startswith("not worked out: ")
    assert said["said"].endswith("(a report with a seed estimates it)")
    assert said["method"] is None
    assert not said["cells"]
    first, second = (
        build_report(found, rng=5, limits=FEW_DRAWS).to_dict()["public"] for _ in range(2)
    )
    assert first == second
    assert first["posteriors"]["said"].startswith("estimated from 40 tables, seed 5: not exact")
    assert first["posteriors"]["cells"]


def test_a_seed_that_may_have_rounded_the_counts_is_not_told(tmp_path):
    limits = FEW_DRAWS
    table, seeds = cb.datasets.read("mp3"), (987_654_321, 123_456_789)
    release = cb.publish(table, "[gender,mp3]~5", count_rounding="random", rng=seeds[0])
    found = audit(table, release)
    texts = [
        texts_of(build_report(found, public=True, rng=seed, limits=limits), tmp_path)
        for seed in seeds
    ]
    assert texts[0] == texts[1]
    assert not [form for form, text in texts[0].items() if str(seeds[0]) in text]
    report = build_report(found, rng=seeds[0], limits=limits)
    said = report.to_dict()
    jsonschema.validate(json.loads(json.dumps(said)), SCHEMA)
    shown = int(release.digest[:8], 16)
    assert said["public"]["provenance"]["seed"] == shown
    assert f"estimated from 40 tables, seed {shown}" in said["public"]["posteriors"]["said"]
    assert said["public"]["posteriors"]["cells"]
    assert said["internal"]["input"]["seed"] == seeds[0]
    owner = texts_of(report, tmp_path)
    assert all(str(seeds[0]) in owner[form] for form in ("html", "json", "xlsx"))
    unseeded = build_report(found, limits=limits).to_dict()
    assert unseeded["public"]["provenance"]["seed"] is None


def test_a_seed_is_told_if_nothing_was_rounded_at_random():
    table = cb.datasets.read("mp3")
    for said in ("[gender,mp3]~5", "[mp3|gender]@1"):
        report = build_report(audit(table, cb.publish(table, said)), rng=11).to_dict()
        assert report["public"]["provenance"]["seed"] == report["internal"]["input"]["seed"] == 11


def test_posteriors_are_of_the_cells_of_the_table():
    said = build_report(audited("over a margin")).to_dict()
    assert said["public"]["over"] == ["center"]
    assert "cells here are those of a margin" in said["public"]["posteriors"]["said"]
    found = audited("two by two")
    plots = build_report(found).to_dict()["public"]["posteriors"]["cells"]
    exact = cb.posterior(found.release)
    for plot in plots:
        one = exact[tuple(plot["labels"])]
        assert plot["mean"] == pytest.approx(one.mean, rel=1e-5)
        assert sum(chance for _, _, chance in plot["bars"]) == pytest.approx(1, abs=1e-4)
        assert plot["bars"][0][0] == one.values[0]
        assert plot["bars"][-1][1] == one.values[-1]


def test_a_single_distribution_that_is_too_much_is_said():
    def refuse(labels):
        raise cb.TooMuchWork("too many steps")

    cells = [CellRisk((label,), cb.ValueSet([(1, 2, 1)])) for label in "abcd"]
    said = plotted(
        CellPosteriors("exact", "sums", refuse), cells, "some cells", ReportLimits(plots=1)
    )
    assert said["left_out"] == 3
    assert said["cells"] == []
    assert said["said"] == "exact; the others are not worked out: too many steps"


def test_blame_is_bounded_and_says_so():
    limits = ReportLimits(blamed=2)
    said = build_report(audited("unsafe"), limits=limits).to_dict()["internal"]["blame"]
    assert len(said["findings"]) == 2
    assert said["said"] == "4 findings more not worked out"
    limits = ReportLimits(blame_cells=3)
    said = build_report(audited("unsafe"), limits=limits).to_dict()["internal"]["blame"]
    assert said["findings"] == []
    assert "more than 3 cells" in said["said"]


def test_a_long_list_of_findings_is_cut_on_the_page_only(tmp_path):
    report = build_report(audited("unsafe"), limits=ReportLimits(findings=4))
    text = " ".join(Page(report.to_html()).texts)
    assert "2 more findings: the JSON and Excel forms of this report have them all." in text
    assert len(report.to_dict()["internal"]["verdict"]["findings"]) == 6


def test_a_large_table_makes_a_small_page():
    shape = (3, 4, 5, 2, 2, 2, 3, 2)
    rng = np.random.default_rng(8)
    levels = {f"variable {i}": [f"level {j}" for j in range(n)] for i, n in enumerate(shape)}
    table = table_of(levels, rng.poisson(6, shape))
    names = ",".join(f'"{name}"' for name in list(levels)[:-1])
    found = audit(table, cb.publish(table, f'["variable 7"|{names}]@2'))
    page = build_report(found).to_html()
    assert page.count("<td") > 2880
    assert len(page.encode()) < 500_000


def test_a_table_too_large_for_a_map_has_its_riskiest_cells_listed():
    report = build_report(audited("unsafe"), limits=ReportLimits(mapped=15, listed=8))
    page = Page(report.to_html())
    assert page.open == []
    assert not [attrs for attrs in page.all("table") if "map" in attrs["class"]]
    text = " ".join(page.texts)
    assert "these are the 8 cells at most risk" in text
    assert text.count("breaks a rule") == 6 + 6 + 1  # each finding and cell, and the legend
    assert len(report.to_dict()["internal"]["cells"]) == 16


def test_reports_do_not_print_what_they_hold():
    found = audited("unsafe")
    assert repr(build_report(found)) == "<report for the owner: [education|county]@2, N=135>"
    assert repr(build_report(found, public=True)).startswith("<public report: ")
    said = build_report(found).to_dict()
    said["public"]["cells"].clear()
    assert build_report(found).to_dict()["public"]["cells"]
