"""*Apply* on the what-if page: it makes the change, and is there only where the console may write."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from support.api_connection import QUEUES, ApiConnection, items
from support.browser import watched_page
from support.console_program import Console
from support.maar_up import MaarUp


@pytest.fixture
def reading_page(browser: Browser, cluster: MaarUp, tmp_path: Path) -> Iterator[Page]:
    """The page of a console that was started without --allow-writes."""
    context = browser.new_context()
    with Console(tmp_path, cluster.kubeconfig) as console, watched_page(context) as page:
        page.goto(console.address)
        page.locator(".tree .window .row").first.wait_for()
        yield page
    context.close()


def ask_for_weight(page: Page, queue: str, weight: int) -> None:
    """Ask what another weight of a queue would do, and wait for the answer."""
    page.evaluate("address => { location.hash = address; }", f"#/whatif?queue={queue}")
    page.get_by_label(f"Weight of {queue}", exact=True).fill(str(weight))
    yaml = page.get_by_role("region", name="What would happen").get_by_label("YAML", exact=True)
    expect(yaml).to_contain_text(f"weight: {weight}")


def weight_of(api: ApiConnection, queue: str) -> int:
    """The weight that the API server has."""
    return int(items(api, QUEUES)[queue]["spec"].get("weight", 1))


def test_apply_changes_the_queue_and_the_page_shows_it(page: Page, api: ApiConnection) -> None:
    asked = list[str]()

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", accept)
    ask_for_weight(page, "team-12", 9)
    assert weight_of(api, "team-12") == 1
    page.get_by_role("button", name="Apply").click()
    changes = page.get_by_role("form", name="Changes")
    expect(changes).to_contain_text("changed Queue team-12: spec.weight=9")
    assert weight_of(api, "team-12") == 9
    assert "queue/team-12.weight=9" in asked[0]  # one sees what one confirms
    expect(changes.get_by_role("group", name="team-12")).to_contain_text("now 9")
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()  # until there is another change
    page.get_by_label("Weight of team-12", exact=True).fill("1")  # back to what it was is a change now
    page.get_by_role("button", name="Apply").click()
    expect(changes).to_contain_text("changed Queue team-12: spec.weight=1")
    assert weight_of(api, "team-12") == 1
    page.evaluate("location.hash = '#/?filter=team-12'")
    expect(page.locator(".tree .window .row[data-key=team-12] > .weight")).to_have_text("1")


def test_apply_that_is_not_confirmed_changes_nothing(page: Page, api: ApiConnection) -> None:
    page.on("dialog", lambda dialog: dialog.dismiss())
    ask_for_weight(page, "team-13", 9)
    page.get_by_role("button", name="Apply").click()
    page.wait_for_timeout(1_000)
    assert weight_of(api, "team-13") == 1


def test_without_a_change_there_is_nothing_to_apply(page: Page) -> None:
    page.evaluate("location.hash = '#/whatif?queue=team-12'")
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()


def test_a_console_that_may_not_write_has_no_apply(reading_page: Page, api: ApiConnection) -> None:
    ask_for_weight(reading_page, "team-14", 9)
    expect(reading_page.get_by_role("button", name="Start over")).to_be_visible()
    expect(reading_page.get_by_role("button", name="Apply")).to_have_count(0)
    expect(reading_page.get_by_role("heading", level=1).locator("..")).to_contain_text("Nothing here changes")
    assert weight_of(api, "team-14") == 1
