"""`cellbounds serve` in a real browser: exploring by clicking, deciding, keyboard, phone, axe."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "web"))

from servers import PASSWORD, Server, cps, team_ledger

import cellbounds as cb
from cellbounds.papers.wright_smucker_2014 import LINES, disclosed

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
FACTS = ("rows", "columns", "empty", "single", "whole", "zeros", "small")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explored")
    cps().write(folder / "cps.csv")
    cb.datasets.read("delinquent").write(folder / "delinquent.csv")
    return folder


@pytest.fixture(scope="module")
def alone(folder):
    server = Server(folder, "--seconds", "30")
    yield server
    server.end()


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    place, table = team_ledger(tmp_path_factory.mktemp("decided"))
    server = Server(place, "--table", table, "--seconds", "6")
    yield server
    server.end()


def watched(context, server, troubles):
    page = context.new_page()
    page.on(
        "console",
        lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(server.base) else troubles.append(asked.url),
    )
    page.set_default_timeout(20_000)
    return page


@pytest.fixture(scope="module")
def entered(browser, alone):
    """The page of the one user; the link is good once."""
    troubles = []
    context = browser.new_context(viewport=DESKTOP, accept_downloads=True)
    page = watched(context, alone, troubles)
    page.goto(alone.said)
    page.wait_for_url(f"{alone.base}/")
    yield page
    context.close()
    assert not troubles


@pytest.fixture
def page(entered):
    entered.set_viewport_size(DESKTOP)
    entered.emulate_media(color_scheme="light")
    return entered


@pytest.fixture
def logged_in(browser, team):
    """Tabs of people of the team, each in a browser of their own."""
    contexts, troubles = [], []

    def opens(name):
        context = browser.new_context(viewport=DESKTOP)
        contexts.append(context)
        page = watched(context, team, troubles)
        page.goto(f"{team.base}/login")
        page.fill("[name=name]", name)
        page.fill("[name=password]", PASSWORD)
        page.click("main button")
        page.wait_for_url(f"{team.base}/")
        return page

    yield opens
    for context in contexts:
        context.close()
    # A decision that cannot be made is told with the status 409, which the browser notes.
    assert not [said for said in troubles if "409" not in said]


def settled(page):
    """Wait until the answer is there that belongs to what was clicked."""
    page.locator("#bench:not(.htmx-request) #answer > .banner:not(.untold)").wait_for()


def changed(page, act):
    """Click, and wait for the answer; the address changes with it."""
    with page.expect_response(lambda answer: "/choose" in answer.url):
        act()
    settled(page)


def verdict(page):
    return page.locator("#answer > .banner h2").inner_text().split()[0]


def clicked(page, given, responses, merging):
    """Click a design of Table 10 together: roles of variables, then merged levels."""
    table = cps()
    for axis in range(8):
        role = "r" if str(axis + 1) in responses else "g" if str(axis + 1) in given else "x"
        spot = page.locator(f"[id='v0.{axis}.{role}']")
        if not spot.is_checked():
            changed(page, spot.check)
    if page.locator("#levels:not([open])").count():
        page.click("#levels > summary")
    for axis, name in enumerate(table.domain.names):
        levels = table.domain.levels(name)
        groups = merging.get(axis + 1, {})
        for k in range(1, len(levels)):
            group = next((parts for parts in groups.values() if levels[k] in parts), [levels[k]])
            first = min(levels.index(label) for label in group)
            choice = page.locator(f"[id='j{axis}.{k}']")
            if choice.count() and choice.input_value() != str(first):
                changed(page, lambda choice=choice, first=first: choice.select_option(str(first)))


def test_the_designs_of_table_10_by_clicking(page, alone):
    page.goto(f"{alone.base}/table/cps.csv")
    settled(page)
    changed(page, lambda: page.select_option("#d0", ""))
    table = cps()
    for given, responses, merging in LINES:
        clicked(page, given, responses, merging)
        found = [int(page.inner_text(f"#fact-{key}").replace(",", "")) for key in FACTS]
        assert found == disclosed(table, given, responses, merging)
    # They stay side by side, and each has its address.
    assert page.locator("#tried tbody tr").count() >= len(LINES)
    assert page.locator("#tried svg .dot").count() > 5
    address = page.url
    assert parse_qs(urlsplit(address).query)["m"] == ["HoursWorked:0,1,0"]
    page.locator("#undo").click()
    page.wait_for_url(lambda url: url != address)
    page.go_back()
    page.wait_for_url(address)
    settled(page)
    assert int(page.inner_text("#fact-rows").replace(",", "")) == 480


def test_an_unsafe_design_is_made_safe(page, alone, tmp_path):
    page.goto(f"{alone.base}/table/delinquent.csv?s=[education|county]@3")
    settled(page)
    assert verdict(page) == "UNSAFE"
    assert page.locator(".map td.broken").count() == 6
    page.click("#make-safe")
    first = page.locator(".suggestions a").first
    first.wait_for(timeout=90_000)
    first.click()
    settled(page)
    assert verdict(page) == "SAFE"
    with page.expect_download() as taken:
        page.click("text=Release file")
    taken.value.save_as(tmp_path / "release.zip")
    import zipfile

    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path)
    table = cb.datasets.read("delinquent")
    release = cb.read_release(tmp_path / "release.toml")
    assert cb.judge(table, release).outcome.value == "safe"


def test_what_is_out_stands_beside_a_design(logged_in, team):
    cleo = logged_in("cleo")
    cleo.goto(f"{team.base}/table/table?s=[region,ill]&n=0")
    settled(cleo)
    assert verdict(cleo) == "SAFE"
    cleo.locator("#together .banner.unsafe").wait_for(timeout=90_000)
    assert cleo.locator("#blame li").count() == 2


def test_designs_are_told_apart_by_pointing_at_them(page, alone):
    for decimals in (3, 1):
        page.goto(f"{alone.base}/table/delinquent.csv?s=[education|county]@{decimals}")
        settled(page)
    dot = page.locator("#tried svg a", has_text="@3, N: unsafe")
    dot.hover()
    assert "[education|county]@3, N: unsafe, risk 1.000" in dot.locator("title").text_content()
    dot.click()
    page.wait_for_url("**%403*")
    settled(page)
    page.click("#undo")
    page.wait_for_url("**%401*")


def test_a_figure_is_hidden_by_clicking(page, alone):
    page.goto(f"{alone.base}/table/delinquent.csv?s=[county,education]&n=0")
    settled(page)
    assert page.locator(".map td").nth(1).inner_text().split()[:2] == ["1", "1"]
    page.locator(".map td").nth(1).click()
    with page.expect_response(lambda answer: "/hide" in answer.url):
        page.click("#hide-cell")
    page.wait_for_url("**h=0*")
    settled(page)
    assert "1 figure hidden by hand" in page.inner_text(".mapped")
    # Nothing else is known of it now: neither N nor a total.
    assert page.locator(".map td").nth(1).inner_text().split()[1] == "0+"


def test_counts_are_protected(page, alone):
    page.goto(f"{alone.base}/table/delinquent.csv?s=[county,education]")
    settled(page)
    page.click("#make-safe")
    page.locator("#safe .ways li").first.wait_for(timeout=90_000)
    assert page.locator("#safe .ways li").count() == 4
    page.locator("#safe strong", has_text="Hide").click()
    page.wait_for_url("**h=0*")
    settled(page)
    assert verdict(page) == "SAFE"


def dropped(page, alone, file):
    page.goto(f"{alone.base}/")
    page.set_input_files("#file", file)
    page.click("#drop button")


def test_a_crosstab_is_dropped(page, alone, tmp_path):
    file = tmp_path / "crosstab.csv"
    file.write_text("region,f,m,Total\nNorth,12,3,15\nSouth,7,8,15\nTotal,19,11,30\n", "utf-8")
    dropped(page, alone, file)
    settled(page)
    assert "crosstab.csv" in page.inner_text("h1")
    assert page.locator(".roles tbody tr").count() == 2


def test_a_table_protected_elsewhere_is_attacked(page, alone, tmp_path):
    file = tmp_path / "protected.csv"
    file.write_text("region,f,m,Total\nNorth,x,4,6\nSouth,7,8,15\nTotal,9,12,21\n", "utf-8")
    dropped(page, alone, file)
    page.wait_for_url("**/published/**")
    page.locator("text=/known exactly|exactly/").first.wait_for()
    assert "North" in page.inner_text("body")


def test_by_keyboard_alone(page, alone):
    page.goto(f"{alone.base}/table/delinquent.csv?s=[education|county]@3")
    settled(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
        if "d0" in reached:
            break
    assert "d0" in reached
    changed(page, lambda: page.keyboard.type("1"))
    assert verdict(page) == "SAFE"
    # Whoever chose stays where they were.
    assert page.evaluate("document.activeElement.id") == "d0"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, alone, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page.emulate_media(color_scheme=scheme)
    for address in ("", "table/delinquent.csv?s=[education|county]@3", "table/cps.csv"):
        page.goto(f"{alone.base}/{address}")
        if address:
            settled(page)
        found = Axe().run(page)
        assert not found.response["violations"], found.generate_report()


def test_on_a_phone_nothing_is_cut_off(page, alone):
    page.set_viewport_size(PHONE)
    for address in ("", "table/delinquent.csv?s=[education|county]@3", "table/cps.csv"):
        page.goto(f"{alone.base}/{address}")
        if address:
            settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    top = page.locator("#answer > .banner").bounding_box()["y"]
    assert top < page.locator("#design").bounding_box()["y"]


def asked(page, team, statement, why):
    page.goto(f"{team.base}/requests/new")
    page.fill("[name=s] >> nth=0", statement)
    page.fill("[name=why]", why)
    page.click("main button")
    page.wait_for_url("**/requests/*")
    return page.url.rpartition("/")[2].partition("?")[0]


def test_refused_because_of_two_earlier_ones_and_a_safe_variant_approved(logged_in, team):
    ben, cleo = logged_in("ben"), logged_in("cleo")
    number = asked(ben, team, "[region,ill]", "a newspaper")
    assert "WAITING" in ben.inner_text("main")
    assert "UNSAFE" not in ben.content()
    cleo.goto(f"{team.base}/requests/{number}")
    cleo.locator(".banner.unsafe").wait_for(timeout=90_000)
    assert cleo.locator("#blame li").count() == 2
    assert "no fewer past releases do" in cleo.inner_text("#blame")
    # Whatever somebody clicks, what is unsafe is not released.
    cleo.fill("[name=why]", "let us see")
    cleo.click("text=Approve")
    cleo.locator(".problem", has_text="not committed").wait_for(timeout=90_000)
    cleo.click(f"text=Back to request {number}")
    cleo.fill("[name=why]", "gives a small count away with the other two")
    cleo.click("button:has-text('Refuse')")
    cleo.locator(".banner", has_text="REFUSED").wait_for(timeout=90_000)
    assert cleo.locator("#blame li").count() == 2
    ben.goto(f"{team.base}/requests/{number}")
    assert "gives a small count away" in ben.inner_text("main")
    # A variant that is safe, decided by another person than the one who asked.
    safer = asked(ben, team, "[region]", "the same newspaper")
    cleo.goto(f"{team.base}/requests/{safer}")
    cleo.locator(".banner.safe").wait_for()
    assert "[region,ill]" in cleo.inner_text(".diff")
    cleo.fill("[name=why]", "safe with all that is out")
    cleo.click("text=Approve")
    cleo.locator(".banner", has_text="APPROVED").wait_for()
    cleo.goto(f"{team.base}/history")
    cleo.locator("text=safe with all that is out").first.wait_for(timeout=60_000)


def test_axe_finds_nothing_where_it_is_decided(logged_in, team):
    from axe_playwright_python.sync_playwright import Axe

    cleo, ada = logged_in("cleo"), logged_in("ada")
    number = asked(cleo, team, "[region]~10", "a look")
    for page, address, last in (
        (cleo, "requests", "text=Waiting"),
        (cleo, "requests/new", "text=Why it is wanted"),
        (cleo, f"requests/{number}", ".banner.safe"),
        (cleo, "history", "text=What happened"),
        (ada, "people", "text=Add somebody"),
        (ada, f"requests/{number}", "text=WAITING"),
    ):
        page.goto(f"{team.base}/{address}")
        page.locator(last).first.wait_for(timeout=90_000)
        found = Axe().run(page)
        assert not found.response["violations"], found.generate_report()
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
