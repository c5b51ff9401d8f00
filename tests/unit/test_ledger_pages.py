"""The page of a ledger: what it tells its owner, what outsiders, and what it never tells."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.errors import UnsupportedRelease
from cellbounds.ledger import BrokenChain, Ledger, NotSafe
from cellbounds.report.ledger_page import KINDS, MOST_ROWS, ledger_page

STORIES = {
    "koch4": ["[center,status]", "[recovery|center,status]@1", "[center|status,recovery]@1"],
    "census3": ["[gender]", "[race]", "[race|gender,income]@2"],
}

ZEROS = cb.policies.Policy("zeros", rules=[cb.policies.SmallCounts(at_most=3, values=2)])

PRIMES = [[10007, 10009, 10037], [10039, 10061, 10067]]


class Page(HTMLParser):
    """Tags and texts of a page; every tag that is opened is closed."""

    EMPTY = ("meta", "br", "rect", "line", "polyline")

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.ids, self.cells = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.tags.append((tag, known))
        if "id" in known:
            self.ids.append(known["id"])
        if "data-p" in known:
            self.cells.append([int(known["data-p"]), known["title"], known.get("class"), ""])
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.cells and self.open[-1:] == ["td"] and not self.cells[-1][3]:
            self.cells[-1][3] = data.strip()

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def noon():
    return datetime(2026, 3, 1, 12, tzinfo=UTC)


def opened(folder, table, **options):
    return Ledger.create(folder / "a.ledger", table, who="ann", clock=noon, **options)


def told(folder, name):
    """A story with two releases and a refusal."""
    table = cb.datasets.read(name)
    ledger = opened(folder, table, policy=ZEROS)
    for statement in STORIES[name][:2]:
        ledger.commit(statement, table=table, who="ann", why="a request")
    with pytest.raises(NotSafe):
        ledger.commit(STORIES[name][2], table=table, who="bob", why="a secret plan", record=True)
    return ledger, table


def secret(folder):
    """A ledger of counts that appear nowhere but in the table, with entries of many kinds."""
    domain = cb.Domain({"a": ["x", "y"], "b": ["u", "v", "w"]})
    table = cb.Table(domain, PRIMES)
    ledger = opened(folder, table, protect=[("a",)], independent=False)
    ledger.commit("[a]~5000", table=table, who="ann", why="first reason", total=False)
    ledger.ask("[b]", table=table, record=True, who="ann", why="a question")
    ledger.refuse("[a,b]", table=table, who="bob", why="second reason")
    ledger.set_policy("strict", table=table, who="eve", why="third reason")
    ledger.commit("[b|a]@1", table=table, who="ann", why="fourth reason", total=False)
    return ledger, table


@pytest.mark.parametrize("name", STORIES)
def test_the_owner_sees_what_happened_and_why(tmp_path, name):
    ledger, _ = told(tmp_path, name)
    page = ledger_page(ledger)
    seen = Page(page)
    assert [one for one in seen.ids if one.startswith("entry-")] == [
        f"entry-{number}" for number in (1, 2, 3, 4)
    ]
    assert len(set(seen.ids)) == len(seen.ids)
    links = [one["href"][1:] for one in seen.all("a")]
    assert set(links) <= set(seen.ids)
    assert links.count("entry-2") == links.count("entry-3") == 2  # its state, and the refusal
    for entry in ledger.history():
        assert entry.hash in page
    assert "By bob: a secret plan" in page
    assert "every link of 4 entries holds" in page
    assert ledger.state().digests[0] in page
    assert 'class="verdict unsafe">UNSAFE' in page


@pytest.mark.parametrize("name", STORIES)
def test_every_cell_shows_what_was_attainable_after_each_release(tmp_path, name):
    ledger, table = told(tmp_path, name)
    seen = Page(ledger_page(ledger))
    after = [cb.attainable(ledger.together(until=number)) for number in (2, 3)]
    expected = []
    for place, labels in enumerate(table.domain.cells()):
        for number, answer in enumerate(after):
            values = answer[labels]
            ends = f"{values.smallest}–{values.largest}"
            expected.append((2 * place + number, ends))
    assert [(place, text) for place, _, _, text in seen.cells] == expected
    sizes = [answer[labels].size for labels in table.domain.cells() for answer in after]
    for (_, title, _, _), size in zip(seen.cells, sizes, strict=True):
        assert title.startswith(f"{size} attainable counts: ")
    ((names, levels),) = json.loads(
        next(one["data-names"] for one in seen.all("table") if "data-names" in one)
    )[-1:]
    assert names == "after"
    assert levels == [f"entry {k}, {STORIES[name][k - 2]}, N" for k in (2, 3)]


def test_the_states_count_the_cells_with_few_attainable_counts(tmp_path):
    ledger, table = told(tmp_path, "koch4")
    page = ledger_page(ledger)
    rows = re.findall(r'<tr><th scope="row"><a href="#entry-(\d)">.*?</tr>', page)
    assert rows == ["2", "3"]
    for number in (2, 3):
        sizes = [values.size for _, values in cb.attainable(ledger.together(until=number)).items()]
        line = re.search(rf'<tr><th scope="row"><a href="#entry-{number}">.*?</tr>', page)
        found = [int(one) for one in re.findall(r'class="number">(\d+)<', line[0])]
        upto = [sum(size <= most for size in sizes) for most in (1, 3, 9, 99)]
        assert found == [*upto, table.domain.size]
    assert upto[1] == 2  # so that the test is about something


def test_the_true_counts_are_there_if_the_table_is(tmp_path):
    ledger, table = told(tmp_path, "koch4")
    assert "count 20" not in ledger_page(ledger)
    page = ledger_page(ledger, table=table)
    counts = re.findall(r'class="count">count (\d+)<', page)
    assert [int(one) for one in counts] == table.counts.ravel().tolist()
    assert page.count('<line class="truth"') == table.domain.size
    kept = Ledger.create(tmp_path / "kept.ledger", table, keep_table=True, who="ann")
    kept.commit("[center]", who="ann", why="a request")
    assert "count 20" in ledger_page(kept)
    assert "count 20" not in ledger_page(kept, public=True)


def test_outsiders_see_no_count_refusal_name_or_digest(tmp_path):
    ledger, table = secret(tmp_path)
    owner, public = ledger_page(ledger, table=table), ledger_page(ledger, public=True)
    # The owner's page has them all, so that looking for them means something.
    words = ["ann", "bob", "eve", "reason", "a question", "refused", "asked", "SAFE"]
    words += [*ledger.state().digests, *(entry.hash for entry in ledger.history())]
    words += [str(count) for row in PRIMES for count in row]
    words += ["also protected", "confidential: for the owner only"]
    text = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", public, flags=re.S)
    for word in words:
        assert word in owner
        assert not re.search(rf"\b{re.escape(word)}\b", text), word
    told = ledger.export(public=True)["entries"]
    assert [one for one in Page(public).ids if one.startswith("entry-")] == [
        f"entry-{one['number']}" for one in told
    ]
    for one in told:
        assert one["hash"] in public
    numbers = [str(one["number"]) for one in told if one["kind"] == "released"]
    assert re.findall(r'<th scope="col">entry (\d+)</th>', public) == numbers == ["2", "4"]


def test_the_public_page_is_the_same_for_another_table_with_the_same_releases(tmp_path):
    domain = cb.Domain({"a": ["x", "y"], "b": ["u", "v"]})
    pages = []
    for place, counts in enumerate(([[11, 12], [13, 14]], [[12, 11], [12, 15]])):
        folder = tmp_path / str(place)
        folder.mkdir()
        table = cb.Table(domain, counts)
        ledger = opened(folder, table)
        for statement in ("[a]", "[b]~10"):
            if place:
                ledger.refuse("[a,b]", table=table, who="ann", why="no")
            ledger.commit(statement, table=table, who="ann", why=f"reason {place}")
        pages.append(ledger_page(ledger, public=True))
    assert pages[0] == pages[1]


def test_levels_that_no_release_is_about_stay_inside(tmp_path):
    finer = cb.datasets.read("census3")
    table = finer.margin(["gender", "race"])
    ledger = opened(tmp_path, table)
    ledger.commit("[gender]", table=table, who="ann", why="a request")
    ledger.refine(finer, who="ann", why="incomes")
    level = str(finer.domain.levels("income")[1])
    assert level in ledger_page(ledger)
    public = ledger_page(ledger, public=True)
    assert level not in public
    assert "6 cells of gender, race." in public
    ledger.commit("[income]~10", table=finer, who="ann", why="a request")
    assert level in ledger_page(ledger, public=True)


def test_versions_and_protected_margins_are_followed_each(tmp_path):
    table = cb.Table(cb.Domain({"a": ["x", "y"], "b": ["u", "v"]}), [[11, 19], [10, 24]])
    later = cb.Table(table.domain, table.counts + np.array([[1, 0], [2, 9]]))
    ledger = opened(tmp_path, table, protect=[("a",)])
    ledger.commit("[a]~10", table=table, who="ann", why="a request")
    ledger.grow(later, earlier=table, who="ann", why="a year later")
    both = [table, later]
    ledger.commit("[b]~10", table=both, who="ann", why="a request", already_out=True)
    page = ledger_page(ledger, table=both)
    titles = re.findall(r'<h3 id="v\d-title">(.*?)</h3>', page)
    assert titles[:3] == [
        "The cells of the table in version 1",
        "The cells of the table in version 2",
        "The cells of the table in the records added from version 1 to version 2",
    ]
    assert titles[3] == "[a] in version 1"
    assert len(titles) == 6
    counts = re.findall(r'class="count">count (\d+)<', page)[:12]
    assert [int(one) for one in counts] == [11, 19, 10, 24, 12, 19, 12, 33, 1, 0, 2, 9]
    rows = re.findall(r'<span class="cell"><span>(.*?) <span', page)
    assert rows[:12] == ["x, u", "x, v", "y, u", "y, v"] * 3
    assert "about version 2" in page
    assert "Version 2 of the table." in page
    public = ledger_page(ledger, public=True)
    assert len(re.findall(r'<h3 id="v\d-title">', public)) == 3
    assert "0+" in public  # before the second release nothing limits the later version


def test_of_many_cells_those_that_narrowed_most_are_shown(tmp_path):
    levels = {"a": [f"a{k}" for k in range(13)], "b": [f"b{k}" for k in range(5)]}
    counts = np.full((13, 5), 40)
    counts[6] = 2  # the sums of this row limit its cells far more than anything before
    table = cb.Table(cb.Domain(levels), counts)
    ledger = opened(tmp_path, table)
    ledger.commit("[b]", table=table, who="ann", why="a request")
    ledger.commit("[a]", table=table, who="ann", why="a request")
    page = ledger_page(ledger)
    rows = {place // 2 for place, *_ in Page(page).cells}
    assert len(rows) == MOST_ROWS
    assert set(range(30, 35)) <= rows  # the row a6
    assert "Shown are the 60 cells" in page
    assert "5 more are counted above only" in page


def test_cells_that_hold_nobody_are_not_counted(tmp_path):
    wards = {"sex": ["m", "f"], "ward": ["maternity", "surgery", "none"]}
    zeros = [[True, False, False], [False, False, False]]
    table = cb.Table(cb.Domain(wards), [[0, 12, 0], [7, 3, 0]], structural=zeros)
    ledger = opened(tmp_path, table)
    ledger.commit("[sex|ward]@1", table=table, who="ann", why="r", already_out=True)
    page = ledger_page(ledger)
    assert "6 cells of sex, ward, of which 3 are known to hold nobody" in page
    marks = re.findall(r'<i data-sign="∅"> (.*?)</i>', page)
    assert marks == ["structural zero", "empty row", "empty row"]


def test_labels_names_and_reasons_are_escaped(tmp_path):
    odd = "<script>alert(1)</script>"
    table = cb.Table(cb.Domain({odd: ["<b>x</b>", 'é, "ü"'], "y": ["+", "-"]}), [[9, 8], [7, 6]])
    ledger = opened(tmp_path, table)
    ledger.commit(f'["{odd}"]~10', table=table, who="<i>eve</i>", why="<img src=x>")
    for page in (ledger_page(ledger), ledger_page(ledger, public=True)):
        seen = Page(page)
        assert len(seen.all("script")) == 1
        assert not seen.all("b") and not seen.all("img")
        assert "&lt;script&gt;alert(1)" in page
    assert "&lt;img src=x&gt;" in ledger_page(ledger)


def test_a_new_ledger_says_that_nothing_is_out(tmp_path):
    ledger = opened(tmp_path, cb.datasets.read("mp3"))
    for public in (False, True):
        page = ledger_page(ledger, public=public)
        assert "Nothing is out yet." in page
        Page(page)
    assert "NOTHING IS OUT" in ledger_page(ledger)
    assert "0 RELEASES" in ledger_page(ledger, public=True)


def test_the_page_is_the_same_on_every_run(tmp_path):
    ledger, table = secret(tmp_path)
    for options in ({}, {"table": table}, {"public": True}):
        assert ledger_page(ledger, **options) == ledger_page(ledger, **options)


def test_what_cannot_be_worked_out_is_said(tmp_path):
    ledger, _ = told(tmp_path, "koch4")

    def refuses(*_, **__):
        raise UnsupportedRelease("no method is here")

    page = ledger_page(ledger, solve=refuses)
    assert page.count("not worked out: no method is here") == 4  # two states, and their methods
    assert not Page(page).cells


def test_what_a_budget_leaves_open_is_said(tmp_path):
    ledger, _ = told(tmp_path, "koch4")
    assert "within the budget" not in ledger_page(ledger)
    values = cb.ValueSet([(1, 2, 1)], unknown=[(3, 3, 1)])
    real = cb.attainable
    budgets = []

    class Half:
        def __init__(self, release, budget):
            self._answer, self.method, self.evidence = real(release), "half", real(release).evidence
            budgets.append(budget.left)

        def items(self):
            return [(labels, values) for labels, _ in self._answer.items()]

    page = ledger_page(
        ledger, seconds=8, solve=lambda release, **options: Half(release, options["budget"])
    )
    assert "Not every attainable count was settled within the budget" in page
    assert 'title="not settled: 1-2; perhaps 3' in page
    assert 3 < budgets[0] <= 4 and budgets[0] < budgets[1] <= 8
    line = re.search(r'<tr><th scope="row"><a href="#entry-2">.*?</tr>', page)
    # At most three counts are proven, and nothing is settled.
    assert re.findall(r'class="number">(\d+)<', line[0]) == ["0", "24", "24", "24", "0"]


def meddle(path, table, change):
    """Do what somebody could who has the file."""
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        names = {
            kind: [name for (name,) in file.execute(f"select name from sqlite_master {where}")]
            for kind, where in (
                ("trigger", "where type='trigger'"),
                ("table", "where type='table'"),
            )
        }
        for name in names["trigger"]:
            file.execute(f'drop trigger "{name}"')
        (found,) = [name for name in names["table"] if table in name]
        file.execute(change.format(found))


def test_a_changed_table_is_told(tmp_path):
    table = cb.datasets.read("koch4")
    ledger = opened(tmp_path, table, keep_table=True)
    assert "THE LEDGER WAS CHANGED" not in ledger_page(ledger)
    meddle(tmp_path / "a.ledger", "table", 'delete from "{}"')
    page = ledger_page(ledger)
    assert "THE LEDGER WAS CHANGED" in page
    assert "The table kept with entry 1 is missing or was changed" in page
    assert "every link" not in page


def test_a_broken_chain_has_no_page(tmp_path):
    ledger, _ = told(tmp_path, "koch4")
    change = "update \"{}\" set body = replace(body, 'bob', 'rob')"
    meddle(tmp_path / "a.ledger", "entr", change)
    for public in (False, True):
        with pytest.raises(BrokenChain):
            ledger_page(ledger, public=public)


def test_wrong_arguments_are_refused_with_a_remedy(tmp_path):
    ledger, table = told(tmp_path, "koch4")
    with pytest.raises(cb.InvalidInput, match=r"Ledger\.open"):
        ledger_page(tmp_path / "a.ledger")
    with pytest.raises(cb.InvalidInput, match="True or False"):
        ledger_page(ledger, public="yes")
    with pytest.raises(cb.InvalidInput, match="leave the table out"):
        ledger_page(ledger, public=True, table=table)
    with pytest.raises(cb.InvalidInput, match="seconds"):
        ledger_page(ledger, seconds=0)
    with pytest.raises(cb.InvalidInput, match="digest differs"):
        ledger_page(ledger, table=cb.Table(table.domain, table.counts + 1))


def test_every_kind_of_entry_has_a_sign():
    from cellbounds.ledger.chain import Entry

    assert set(re.findall(r'``"(\w+)"``', Entry.__doc__ or "")) == set(KINDS)
