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


@pytest.fixture
def visit(browser, pages):
    """Open a page by its name; at the end, nothing may have gone wrong or left the file."""
    contexts, troubles = [], []

    def opens(name, viewport=DESKTOP, scheme="light", scripts=True):
        context = browser.new_context(
            viewport=viewport, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        page = context.new_page()
        address = pages[name].as_uri()
        page.on("console", lambda said: troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "request",
            lambda asked: (
                troubles.append(asked.url) if asked.url.split("#")[0] != address else None
            ),
        )
        page.goto(address)
        return page

    yield opens
    for context in contexts:
        context.close()
    assert not troubles
