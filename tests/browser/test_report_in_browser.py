"""The report in a real browser: keyboard, contrast, narrow screens, and no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.disclosure.auditing import audit
from cellbounds.report.filing import build_report

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def audits() -> Iterator[tuple[str, cb.Table, list[str], dict[str, object]]]:
    yield "two-by-two", cb.datasets.read("mp3"), ["[mp3|gender]@1"], {}
    yield "unsafe", cb.datasets.read("delinquent"), ["[education|county]@2"], {"policy": "strict"}
    long = "a label that goes on and on until itBecomesOneWordWithoutAnyPlaceToBreakItIntoTwoLines"
    labels = {"<b>odd</b>": ["<script>document.title='!'</script>", long, "é, è"], "y": ["+", "-"]}
    odd = cb.Table(cb.Domain(labels), [[1, 9], [0, 4], [3, 3]])
    yield "odd", odd, ['[y|"<b>odd</b>"]@1'], {}
    rng = np.random.default_rng(3)
    three = {"area": [f"area {i}" for i in range(12)], "age": ["young", "old"], "y": ["a", "b"]}
    yield "twelve", cb.Table(cb.Domain(three), rng.poisson(5, (12, 2, 2))), ["[y|area,age]@1"], {}
    shape = (3, 4, 5, 2, 2, 2, 3, 2)
    eight = {f"variable {i}": [f"level {j}" for j in range(n)] for i, n in enumerate(shape)}
    given = ",".join(f'"variable {i}"' for i in range(7))
    yield (
        "eight",
        cb.Table(cb.Domain(eight), rng.poisson(6, shape)),
        [f'["variable 7"|{given}]@2'],
        {},
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """Every report as a file, and one public."""
    folder = tmp_path_factory.mktemp("reports")
    made = {}
    for name, table, said, options in audits():
        found = audit(table, cb.publish(table, *said), **options)
        made[name] = folder / f"{name}.html"
        build_report(found, key=b"key").write(made[name])
    made["public"] = folder / "public.html"
    build_report(found, public=True).write(made["public"])
    return made


@pytest.mark.parametrize("name", ["two-by-two", "unsafe", "odd", "twelve", "eight", "public"])
def test_a_phone_shows_it_without_scrolling_sideways(visit, name):
    page = visit(name, PHONE)
    assert page.title().startswith("Disclosure report: [")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["unsafe", "odd"])
def test_nothing_bars_anybody(visit, name, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = visit(name, scheme=scheme)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_light_and_dark_differ(visit):
    colour = "getComputedStyle(document.body).backgroundColor"
    assert visit("unsafe").evaluate(colour) == "rgb(255, 255, 255)"
    assert visit("unsafe", scheme="dark").evaluate(colour) == "rgb(15, 20, 25)"


def assert_no_row_is_clipped(page):
    for box in page.locator(".scroll").all():
        assert box.evaluate("one => one.scrollHeight <= one.clientHeight + 1")


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
@pytest.mark.parametrize("name", ["unsafe", "eight", "public"])
def test_no_row_is_clipped(visit, name, viewport):
    page = visit(name, viewport)
    assert page.locator(".scroll").count() >= 1
    assert_no_row_is_clipped(page)


def test_the_verdict_and_what_to_do_come_first_and_digests_last(visit):
    page = visit("unsafe")
    assert page.locator("h1").inner_text() == "May [education|county]@2, N=135 be published?"
    sections = [one.get_attribute("id") for one in page.locator("main section").all()]
    assert sections[:3] == ["verdict", "next", "findings"]
    assert sections[-1] == "method"
    top = page.locator("#verdict").bounding_box()
    assert top["y"] + top["height"] < 400
    assert "Do not publish it as it is." in page.locator("#next").inner_text()
    text = page.locator("main").inner_text()
    assert text.index("SHA-256") > text.index("Method and origin")


def test_colour_marks_what_breaks_a_rule_and_each_cell_is_there_once(visit):
    page = visit("unsafe")
    cells = page.locator("table.map td[title]")
    assert cells.count() == 16
    colour = "one => getComputedStyle(one).backgroundColor"
    colours = {}
    for cell in cells.all():
        broken = "breaks a rule" in cell.get_attribute("title")
        colours.setdefault(broken, set()).add(cell.evaluate(colour))
    assert {broken: len(shades) for broken, shades in colours.items()} == {True: 1, False: 1}
    assert colours[True] != colours[False]


def test_findings_are_cards_on_a_phone(visit):
    page = visit("unsafe", PHONE)
    row = page.locator("#findings tbody tr").first
    assert row.evaluate("one => getComputedStyle(one).display") == "block"
    assert row.bounding_box()["width"] <= PHONE["width"]


def focused(page):
    return page.evaluate("document.activeElement.dataset.p")


def test_the_map_is_walked_with_the_keyboard(visit):
    page = visit("unsafe")
    table = page.locator("table.map")
    assert table.get_attribute("role") == "grid"
    table.locator("[tabindex='0']").focus()
    assert focused(page) == "0"
    walk = [
        ("ArrowRight", "1"),
        ("ArrowDown", "5"),
        ("End", "7"),
        ("ArrowRight", "7"),
        ("Home", "4"),
        ("Control+End", "15"),
        ("PageUp", "3"),
        ("Control+Home", "0"),
        ("ArrowUp", "0"),
        ("Control+ArrowDown", "12"),
    ]
    for key, place in walk:
        page.keyboard.press(key)
        assert focused(page) == place, key
    assert table.locator("[tabindex='0']").count() == 1
    told = page.locator("#cell-detail").inner_text()
    assert told == "county: Delta; education: Low – count 12; only 12 is attainable"


def test_the_header_does_not_hide_the_cell_with_the_focus(visit):
    page = visit("eight")
    page.locator("table.map [tabindex='0']").focus()
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    for _ in range(18):
        page.keyboard.press("ArrowUp")
        cell, header = (
            page.locator(f"table.map {what}").bounding_box()
            for what in ("td:focus", "thead tr:last-child th:last-child")
        )
        assert cell["y"] >= header["y"] + header["height"] - 1


def test_details_are_shown_under_the_pointer(visit):
    page = visit("unsafe")
    page.locator("table.map td[title]").nth(1).hover()
    told = page.locator("#cell-detail").inner_text()
    assert told.startswith("county: Alpha; education: Medium – count 1; only 1 is attainable")


def test_keyboard_users_can_skip_to_the_report(visit):
    page = visit("two-by-two")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "report"


def test_every_level_of_an_eight_way_table_is_there(visit):
    page = visit("eight")
    assert page.locator("table.map td[title]").count() == 2880
    last = page.locator("table.map td[title]").last
    last.click()
    labels = page.locator("#cell-detail strong").inner_text()
    assert labels == "; ".join(
        f"variable {i}: level {n - 1}" for i, n in enumerate((3, 4, 5, 2, 2, 2, 3, 2))
    )


def test_it_can_be_read_without_scripts(visit):
    page = visit("unsafe", scripts=False)
    cell = page.locator("table.map td").nth(1)
    assert cell.get_attribute("title").startswith("count 1; only 1 is attainable")
    assert "broken" in cell.inner_text()
    assert page.locator("table.map").get_attribute("role") is None


def test_labels_stay_text(visit):
    page = visit("odd")
    assert page.title().startswith("Disclosure report")
    header = page.locator("table.map tbody th").first
    assert header.inner_text() == "<script>document.title='!'</script>"


def test_paper_has_every_row_and_no_navigation(visit):
    page = visit("eight", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert_no_row_is_clipped(page)
    assert not page.locator("nav").is_visible()
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
