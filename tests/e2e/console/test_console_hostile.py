"""Names and messages full of HTML are text; a console that loses its API server says so and comes back."""

import json
import signal
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from support.api_connection import QUEUES, ApiConnection, create
from support.browser import needs_browser, watched_page
from support.console_program import Console, queue
from support.maar_up import MaarUp

HOSTILE = '<img src=x onerror="window.taken = 1"><script>window.taken = 1</script>'
ESCAPED = quote(HOSTILE, safe="")
PAGES = (
    "#/",
    "#/jobs",
    "#/nodes",
    "#/whatif",
    "#/history",
    f"#/queue/{ESCAPED}",
    f"#/job/job/default/{ESCAPED}",
)


def renamed(row: dict[str, object]) -> dict[str, object]:
    """A row in which every text is hostile, but for those that other rows refer to."""
    kept = ("parent", "key", "phase")
    return {key: HOSTILE if isinstance(one, str) and key not in kept else one for key, one in row.items()}


@pytest.mark.parametrize("address", PAGES)
def test_names_full_of_html_are_shown_as_they_are(page: Page, address: str) -> None:
    def answer(route: Route) -> None:
        rows = route.fetch().json()
        for topic in ("queues", "jobs", "nodes"):
            # No API server lets such names in; a broken or a hostile one might send them.
            if rows.get(topic):
                rows[topic] = [*rows[topic], renamed(rows[topic][-1])]
        route.fulfill(body=json.dumps(rows), content_type="application/json")

    page.route("**/api/rows*", answer)
    page.route("**/api/events*", lambda route: route.abort())
    page.evaluate("address => { location.hash = address; }", address)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(500)
    assert page.evaluate("window.taken") is None
    assert page.locator("main img, main script").count() == 0
    if address in ("#/", "#/jobs", "#/nodes"):
        expect(page.get_by_text(HOSTILE).first).to_be_attached()


def test_an_event_full_of_html_is_text(page: Page, api: ApiConnection) -> None:
    about = {"kind": "PodGroup", "namespace": "default", "name": "train"}
    about["apiVersion"] = "scheduling.volcano.sh/v1beta1"
    event = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "hostile"}, "involvedObject": about,
        "reason": "Hostile", "message": HOSTILE, "type": "Warning", "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    create(api, [event])
    page.evaluate("location.hash = '#/job/podgroup/default/train'")
    expect(page.get_by_role("region", name="Events").locator("li", has_text="Hostile")).to_contain_text(
        HOSTILE
    )
    assert page.evaluate("window.taken") is None


def test_without_a_session_the_page_is_the_login_and_a_wrong_key_is_refused(
    browser: Browser, console: Console
) -> None:
    context = browser.new_context()
    with watched_page(context) as page:
        page.goto(console.url)
        expect(page.get_by_label("Key")).to_be_visible()
        page.get_by_label("Key").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("not the key")
        page.get_by_label("Key").fill(console.address.partition("key=")[2])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("treegrid", name="Queues")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Key")).to_be_visible()
    context.close()


@pytest.fixture
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MaarUp, Console]]:
    """A cluster of its own, to be stopped, and a console over it."""
    needs_browser()
    folder = tmp_path_factory.mktemp("fragile")
    with MaarUp(folder, "--nodes", "1x8cpu,32Gi") as up, Console(folder, up.kubeconfig) as console:
        yield up, console


def test_a_lost_api_server_is_told_and_it_comes_back(
    browser: Browser, fragile: tuple[MaarUp, Console]
) -> None:
    cluster, console = fragile
    context = browser.new_context()
    with watched_page(context) as page:
        page.goto(console.address)
        page.locator(".tree .window .row").first.wait_for()
        expect(page.locator("#banner")).to_be_hidden()
        cluster.stop(signal.SIGKILL)
        expect(page.locator("#banner")).to_contain_text("API server")
        expect(page.locator("#live")).to_have_text("not connected")
        expect(page.get_by_role("link", name="root")).to_be_visible()  # what was known stays
        cluster.start()
        with closing(ApiConnection(cluster.kubeconfig)) as api:
            create(api, [queue("later")])
            assert api.request("GET", f"{QUEUES}/later").status == 200
        expect(page.get_by_role("link", name="later")).to_be_visible()
        expect(page.locator("#banner")).to_be_hidden()
        expect(page.locator("#live")).to_have_text("live")
    context.close()
