"""The page of a ledger in a real browser: contrast, keyboard, narrow screens, and no network."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import cellbounds as cb
from cellbounds.ledger import Ledger, NotSafe
from cellbounds.report.ledger_page import ledger_page

PHONE = {"width": 390, "height": 844}

SCRIPT = "<script>document.title='!'</script>"
LONG = "a label that goes on and on until itBecomesOneWordWithoutAnyPlaceToBreakItIntoTwoLines"


def noon():
    return datetime(2026, 3, 1, 12, tzinfo=UTC)


def koch4(folder):
    """Two releases and a refusal."""
    table = cb.datasets.read("koch4")
    zeros = cb.policies.Policy("zeros", rules=[cb.policies.SmallCounts(at_most=3, values=2)])
    ledger = Ledger.create(folder / "koch4.ledger", table, zeros, who="ann", clock=noon)
    for statement in ("[center,status]", "[recovery|center,status]@1"):
        ledger.commit(statement, table=table, who="ann", why="a request")
    with pytest.raises(NotSafe):
        ledger.commit(
            "[center|status,recovery]@1", table=table, who="bob", why="another", record=True
        )
    return ledger, table


def odd(folder):
    """Labels that are long, or look like a script; a later version of the table."""
    domain = cb.Domain({"<b>odd</b>": [SCRIPT, LONG, "é, è"], "y": ["+", "-"]})
    table = cb.Table(domain, [[11, 19], [10, 24], [33, 13]])
    ledger = Ledger.create(folder / "odd.ledger", table, who="<i>eve</i>", clock=noon)
    ledger.commit('["<b>odd</b>"]~10', table=table, who="<i>eve</i>", why="<img src='x'>")
    later = cb.Table(domain, table.counts + 1)
    ledger.grow(later, earlier=table, who="eve", why=LONG)
    both = [table, later]
    ledger.commit("[y]~5", table=both, who="eve", why="again", already_out=True)
    return ledger, both


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """Every page as a file."""
    folder = tmp_path_factory.mktemp("ledgers")
    made = {}
    for story in (koch4, odd):
        ledger, table = story(folder)
        said = {"": ledger_page(ledger, table=table), "-public": ledger_page(ledger, public=True)}
        for which, text in said.items():
            path = folder / f"{story.__name__}{which}.html"
            path.write_text(text, "utf-8")
            made[f"{story.__name__}{which}"] = path
    return made


NAMES = ["koch4", "koch4-public", "odd", "odd-public"]


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_the_history_without_scrolling_sideways(visit, name):
    page = visit(name, PHONE)
    assert page.title().startswith("Ledger: ")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["koch4", "koch4-public", "odd"])
def test_the_history_bars_nobody(visit, name, scheme):
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(visit(name, scheme=scheme))
    assert found.violations_count == 0, found.generate_report()


def test_the_strips_are_walked_with_the_keyboard(visit):
    page = visit("koch4")
    page.locator("table.strips [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    told = page.locator("#v1-detail").inner_text()
    start = "center: 1; status: 1; treatment: 1; recovery: poor; after: entry 3, "
    assert told.startswith(f"{start}[recovery|center,status]@1, N – 16 attainable counts: 0-15")
    page.keyboard.press("ArrowDown")
    assert "recovery: modest; after: entry 3" in page.locator("#v1-detail").inner_text()


def test_no_label_runs_over_the_next_column(visit):
    page = visit("odd")
    for head in page.locator("table.strips tbody th").all():
        assert head.evaluate("one => one.scrollWidth <= one.clientWidth + 1")


def test_labels_and_reasons_in_the_history_stay_text(visit):
    page = visit("odd")
    assert page.title() == "Ledger: <b>odd</b>, y"
    assert page.locator("table.strips tbody th").first.inner_text().startswith(SCRIPT)
    assert page.get_by_text("By <i>eve</i>: <img src='x'>").count() == 1


def test_the_chart_has_a_column_of_colour_for_each_release(visit):
    page = visit("koch4")
    bars = page.locator(".chart rect")
    assert {one.get_attribute("x") for one in bars.all()} == {"0.0", "90.0"}
    colours = {one.evaluate("one => getComputedStyle(one).fill") for one in bars.all()}
    assert len(colours) == 3  # 2 or 3, 4 to 9, 10 to 99 attainable
    assert "rgb(0, 0, 0)" not in colours


def test_paper_has_every_row_of_the_history(visit):
    page = visit("koch4", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    for box in page.locator(".scroll").all():
        assert box.evaluate("one => one.scrollHeight <= one.clientHeight + 1")
    assert not page.locator("nav").is_visible()
