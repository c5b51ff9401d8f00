"""The site as its readers see it: in Chromium, from the disk, without a network.

``python -m website.looks`` opens pages of build/site on a desktop in the light and on a phone in
the dark, and looks for what axe finds, for pages wider than the screen, for anything that is asked
of a network or goes wrong, and for what search finds. ``--all`` takes every page and look; pictures
of what was seen are in build/looks.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SITE, LOOKS = ROOT / "build/site", ROOT / "build/looks"

PAGES = (
    "index", "start", "pictures", "tutorials/notebook", "protect", "reference/commands/audit",
    "reference/api/verdicts", "reference/schemas", "architecture",
)  # fmt: skip
"""One page of each kind."""

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
FEW = ((DESKTOP, "light"), (PHONE, "dark"))
ALL = (*FEW, (DESKTOP, "dark"), (PHONE, "light"))

SEARCHES = {
    "hidden counts": "published-tables",
    "certificate": "certificates",
    "suppression": "protect",
}
"""What is searched for, and a page that has to be found."""

QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def main() -> int:
    """Look at the pages; the status is 1 if anything is wrong."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--all", action="store_true", help="every page, every look")
    everything = given.parse_args().all
    browsers = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    chromium = next(browsers, None)
    if chromium is None:
        print("no Chromium is installed: nobody looked at the pages")
        return int("Chromium" in os.environ.get("CELLBOUNDS_NEEDS", ""))
    from playwright.sync_api import sync_playwright

    pages = (
        sorted(SITE.rglob("*.html")) if everything else [SITE / f"{name}.html" for name in PAGES]
    )
    LOOKS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        wrong = [
            f"{page.relative_to(SITE)}, {size['width']} {scheme}: {trouble}"
            for size, scheme in (ALL if everything else FEW)
            for page, trouble in _looked_at(browser, pages, size, scheme)
        ]
        wrong += _searched(browser)
        browser.close()
    print("\n".join([*wrong, f"{len(pages)} pages looked at, {len(wrong)} things wrong"]))
    return int(bool(wrong))


def _looked_at(browser: Any, pages: list[Path], size: Any, scheme: str) -> list[tuple[Path, str]]:
    """What is wrong with pages of this size, in these colours."""
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
    tab, axe, wrong = context.new_page(), Axe(), []
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda asked: said.append(asked.url) if _elsewhere(asked.url) else None)
    for page in pages:
        said.clear()
        tab.goto(page.as_uri())
        tab.wait_for_timeout(200)
        found = axe.run(tab, options={"preload": False}).response["violations"]
        wrong += [(page, f"axe {one['id']}: {one['nodes'][0]['html'][:160]}") for one in found]
        if tab.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wrong.append((page, "wider than the screen"))
        wrong += [(page, message) for message in said]
        name = "-".join(page.relative_to(SITE).with_suffix("").parts)
        tab.screenshot(path=LOOKS / f"{name}-{size['width']}-{scheme}.png")
    context.close()
    return wrong


def _elsewhere(address: str) -> bool:
    return not address.startswith((SITE.as_uri(), "data:", "blob:", "about:"))


def _searched(browser: Any) -> list[str]:
    """What search does not find, typed into its field."""
    context = browser.new_context(viewport=DESKTOP, offline=True)
    tab, wrong = context.new_page(), []
    for words, page in SEARCHES.items():
        tab.goto((SITE / "index.html").as_uri())
        tab.fill("input.md-search__input", words)
        try:
            tab.wait_for_selector(f".md-search-result__link[href*='{page}']", timeout=20_000)
        except Exception as problem:  # whatever it was, it was not found
            wrong.append(f"search for {words!r} does not find {page}: {type(problem).__name__}")
        tab.screenshot(path=LOOKS / "search.png")
    context.close()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
