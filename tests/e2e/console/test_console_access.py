"""Everybody can use it: no violation that axe finds, in both themes, and nothing wider than a phone."""

from collections.abc import Iterator
from typing import Final, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, Page, expect

from support.browser import watched_page
from support.console_program import Console

# Each page, and what it shows when it is complete.
PAGES: Final = {
    "#/": ".tree .window .row",
    "#/queue/research": ".why pre",
    "#/queue/nlp": "section[aria-label=Namespaces] table",
    "#/jobs": ".jobs .window .row",
    "#/job/podgroup/default/large": ".events li",
    "#/nodes": ".nodes .window .row",
    "#/whatif?set=queue/vision.weight%3D9": "table.beside",
    "#/history": ".figures figure, .figures .quiet, .figures .problem",
}
WIDTHS: Final = {"phone": 390, "screen": 1400}


@pytest.fixture(params=[(theme, width) for theme in ("light", "dark") for width in WIDTHS])
def context(request: pytest.FixtureRequest, browser: Browser) -> Iterator[BrowserContext]:
    """A browser of one theme and width."""
    theme: Literal["light", "dark"] = request.param[0]
    size = {"width": WIDTHS[request.param[1]], "height": 844}
    made = browser.new_context(viewport=size, color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    yield made
    made.close()


def test_no_page_breaks_a_rule_of_axe_or_is_wider_than_the_screen(
    context: BrowserContext, console: Console
) -> None:
    with watched_page(context) as page:
        page.goto(f"{console.url}/login?with=token")
        expect(page.get_by_label("Bearer token")).to_be_visible()
        found = _broken(page, "login")
        page.goto(console.address)
        for address, complete in PAGES.items():
            page.evaluate("address => { location.hash = address; }", address)
            page.locator(complete).first.wait_for()
            found += _broken(page, address)
    assert not found, "\n".join(found)


def _broken(page: Page, address: str) -> list[str]:
    checked = Axe().run(page).response
    assert len(checked["passes"]) > 10, "axe has not run"
    found = [
        f"{address}: {one['id']} ({one['impact']}): {one['nodes'][0]['html'][:200]}"
        for one in checked["violations"]
    ]
    size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    if not page.evaluate(
        "[...document.querySelectorAll('header')].every(one => one.scrollHeight <= one.offsetHeight)"
    ):
        found.append(f"{address}: the heading is higher than its place")
    if size[0] > size[1]:
        found.append(f"{address}: {size[0]} points wide on a screen of {size[1]}")
    return found
