"""Debian's Chromium, driven by Playwright; without either, tests that need it say so."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from support.until import TIMEOUT_S

# Nothing but the page itself: no sandbox for root, no updates, no other network.
_FLAGS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
expect.set_options(timeout=TIMEOUT_S * 1000)
_PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """Where the browser is; empty where there is none."""
    return next((found for name in _PROGRAMS if (found := shutil.which(name))), "")


def needs_browser() -> None:
    """Skip the test unless MAAR_KUBERNETES=required is set; then fail it where there is no browser."""
    if os.environ.get("MAAR_KUBERNETES") != "required":
        pytest.skip("needs a browser, and minutes: make test-kubernetes runs it")
    if not chromium():
        pytest.fail("MAAR_KUBERNETES=required, but there is no Chromium: run make browser")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched_page(context: BrowserContext) -> Iterator[Page]:
    """A page of which no error goes unseen, of a script or of the security policy."""
    page, wrong = context.new_page(), list[str]()
    page.set_default_timeout(TIMEOUT_S * 1000)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if _is_wrong(message.text) else None)
    yield page
    page.close()
    assert not wrong, wrong


def _is_wrong(text: str) -> bool:
    return "Content Security Policy" in text or "Refused to" in text or "Uncaught" in text
