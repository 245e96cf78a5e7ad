"""A browser, and a console over a cluster of Maar's own with work in it."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page

from support.api_connection import GROUPS, ApiConnection, create, items
from support.browser import needs_browser, running_browser, watched_page
from support.console_program import Console, small_organisation
from support.maar_up import MaarUp
from support.until import wait_until


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; its library has an event loop in this thread, which other tests cannot have then."""
    needs_browser()
    with running_browser() as running:
        yield running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MaarUp]:
    """`maar up` with four nodes, queues, jobs that run and one that waits."""
    needs_browser()
    with MaarUp(tmp_path_factory.mktemp("cluster"), "--nodes", "4x8cpu,32Gi") as running:
        with closing(ApiConnection(running.kubeconfig)) as api:
            create(api, small_organisation())
            wait_until("the jobs run", lambda: _phases(api).count("Running") == 3)
        yield running


@pytest.fixture(scope="session")
def console(cluster: MaarUp, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console over that cluster."""
    folder = tmp_path_factory.mktemp("console")
    flags = ("--allow-writes", "--history", str(folder / "history.sqlite"))
    with Console(folder, cluster.kubeconfig, *flags) as running:
        yield running


@pytest.fixture
def api(cluster: MaarUp) -> Iterator[ApiConnection]:
    """The cluster as its administrator reaches it."""
    with closing(ApiConnection(cluster.kubeconfig)) as connection:
        yield connection


@pytest.fixture
def page(browser: Browser, console: Console) -> Iterator[Page]:
    """The start page, opened with the key that the console has printed."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    with watched_page(context) as opened:
        opened.goto(console.address)
        opened.locator(".tree .window .row").first.wait_for()
        yield opened
    context.close()


def _phases(api: ApiConnection) -> list[str]:
    return [one.get("status", {}).get("phase", "") for one in items(api, GROUPS).values()]
