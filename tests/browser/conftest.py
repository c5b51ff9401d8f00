"""Chromium, and pages opened in it that may ask the network for nothing."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

DESKTOP = {"width": 1280, "height": 900}


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        # A system package, which `make test` may not always install; CI does not let this pass.
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield running
        running.close()


@pytest.fixture(scope="session")
def tabs(browser):
    """A tab with scripts and one without: opening one costs more than what is shown in it."""
    opened = {}

    def tab(scripts):
        if scripts not in opened:
            opened[scripts] = browser.new_context(java_script_enabled=scripts).new_page()
        return opened[scripts]

    return tab


@pytest.fixture
def visit(tabs, pages):
    """Open a page by its name; at the end, nothing may have gone wrong or left the file."""
    listening, troubles = [], []

    def listens(page, event, heard):
        page.on(event, heard)
        listening.append((page, event, heard))

    def opens(name, viewport=DESKTOP, scheme="light", scripts=True):
        page = tabs(scripts)
        address = pages[name].as_uri()
        leave()
        page.set_viewport_size(viewport)
        page.emulate_media(media="null", color_scheme=scheme)
        page.mouse.move(0, 0)
        listens(page, "console", lambda said: troubles.append(said.text))
        listens(page, "pageerror", lambda error: troubles.append(str(error)))
        listens(
            page,
            "request",
            lambda asked: (
                troubles.append(asked.url) if asked.url.split("#")[0] != address else None
            ),
        )
        page.goto(address)
        return page

    def leave():
        for page, event, heard in listening:
            page.remove_listener(event, heard)
        for page in {page for page, *_ in listening}:
            page.goto("about:blank")
        listening.clear()

    yield opens
    leave()
    assert not troubles
